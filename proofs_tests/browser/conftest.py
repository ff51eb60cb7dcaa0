"""Pages in a real browser: Debian's chromium, through playwright."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from proofs_tests.places import ROOT
from proofs_tests.trace.walks import example_document
from wingspan.views.page import page as written

DRIVER = (ROOT / "proofs_tests" / "browser" / "driver.js").read_text("utf-8")
Shown = Callable[..., Any]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium; the tests that need it are skipped where it is not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install 'wingspan[browser]'")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("chromium is not installed: apt-get install chromium, as root")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The page of an example, written once."""
    folder, known = tmp_path_factory.mktemp("pages"), set[str]()

    def make(name: str) -> Path:
        path = folder / f"{name}.html"
        if name not in known:
            path.write_bytes(written(example_document(name)))
            known.add(name)
        return path

    return make


def note_failures(window: Any, wrong: list[str], own: tuple[str, ...]) -> None:
    """Note errors and warnings of scripts, dialogs, and requests to addresses that do not begin as the page's own."""
    window.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    window.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    window.on("request", lambda asked: None if asked.url.startswith(own) else wrong.append(asked.url))
    window.on("dialog", lambda dialog: wrong.append(dialog.message))


@pytest.fixture
def shown(browser: Any, file: Callable[[str], Path]) -> Iterator[Shown]:
    """Opens a page in a window. No script may fail, no dialog may open, nothing but the file may be asked for."""
    contexts: list[Any] = []
    wrong: list[str] = []

    def open_(page: str | Path, address: str = "", width: int = 1400, height: int = 860, **options: Any) -> Any:
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, **options))
        window = contexts[-1].new_page()
        note_failures(window, wrong, ("file:", "blob:"))
        window.add_init_script(DRIVER)
        window.goto(f"{(file(page) if isinstance(page, str) else page).as_uri()}{address}")
        window.wait_for_selector(".wingspan")
        return window

    yield open_
    for context in contexts:
        context.close()
    assert wrong == []
