"""Fixtures of the tests of compiled programs."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for compiled programs."""
    monkeypatch.setenv("WINGSPAN_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"
