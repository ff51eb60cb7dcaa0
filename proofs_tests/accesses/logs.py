"""A racing program, and files of logs."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

DEPENDENT = Path("examples/dependent.ws")


def saved(rows: Any) -> bytes:
    """The file that NumPy saves."""
    file = BytesIO()
    np.save(file, np.array(rows))
    return file.getvalue()
