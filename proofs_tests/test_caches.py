"""The folder of what one process leaves for the next, as the conventions of the system have it."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from wingspan.base.caches import cache_path


@pytest.mark.parametrize("home", ["/home/somebody", "/", "", None])
@pytest.mark.parametrize("caches", [None, "", "  ", "/elsewhere", "below/here", "~/caches"])
def test_the_folder_is_that_of_platformdirs(
    monkeypatch: pytest.MonkeyPatch, caches: str | None, home: str | None
) -> None:
    monkeypatch.delenv("WINGSPAN_CACHE", raising=False)
    for name, value in (("XDG_CACHE_HOME", caches), ("HOME", home)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert cache_path() == platformdirs.user_cache_path("wingspan").absolute()


def test_a_folder_that_is_named_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINGSPAN_CACHE", "here")
    assert cache_path() == Path("here").absolute()
