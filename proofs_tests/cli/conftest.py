"""The command as one types it, and a folder with programs and what is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from proofs_tests.cli.typed import PARAMETERS, RACY


@pytest.fixture
def wingspan(command):
    """As one types it."""
    return command


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with files that are no programs, and one that is."""
    monkeypatch.chdir(tmp_path)
    Path("empty.ws").write_text("")
    Path("latin.ws").write_bytes(b"c = 1 # caf\xe9\n")
    Path("broken.ws").write_text("for i = \n    y[i] += x[i\nend\n")
    Path("binary.ws").write_bytes(bytes(range(256)))
    Path("good.ws").write_text(PARAMETERS)
    Path("racy.ws").write_text(Path(RACY).read_text())
    Path("folder.ws").mkdir()
    np.save("A.npy", np.array([1, 2]))
    np.save("text.npy", np.array(["a"]))
    return tmp_path
