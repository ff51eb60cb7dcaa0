"""The refusal of a file that its format does not allow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wingspan import InputError
from wingspan.tensors.files import read_file


def refused(path: Path, message: str, **options: Any) -> None:
    """By one message that names the file, what is wrong, and what to do."""
    with pytest.raises(InputError) as raised:
        read_file(path, **options)
    text = raised.value.render()
    assert raised.value.message.startswith(f"{path}: ") and message in text and "\n  fix  " in text, text
