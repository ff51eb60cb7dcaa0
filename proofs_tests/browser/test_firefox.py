"""The page in Firefox is the page in chromium."""

from __future__ import annotations

import shutil

import pytest

from proofs_tests.browser.conftest import DRIVER
from proofs_tests.browser.firefox import Firefox

pytestmark = pytest.mark.browser
KEYS = "1112x12?b?rbb"


def test_firefox_shows_what_chromium_shows(shown, file) -> None:
    """After each of some keys; dark, since it was asked to be; nothing of it can fail unseen."""
    path = shutil.which("firefox-esr") or shutil.which("firefox")
    if path is None:
        pytest.skip("firefox is not installed: apt-get install firefox-esr, as root")
    window = shown("dependent.ws", color_scheme="dark")
    with Firefox(path) as other:
        other.tell("WebDriver:Navigate", url=f"{file('dependent.ws').as_uri()}#1")
        other.evaluate(f"window.wrong = []; addEventListener('error', (event) => wrong.push(event.message)); {DRIVER}")
        other.tell("WebDriver:SetTimeouts", implicit=30_000)
        other.tell("WebDriver:FindElement", using="css selector", value=".wingspan tr[data-step]")
        other.evaluate("seen.press('b')")
        for key in KEYS:
            window.evaluate("key => seen.press(key)", key)
            other.evaluate("seen.press(arguments[0])", key)
            assert other.evaluate("return seen.state()") == window.evaluate("seen.state()")
            assert other.evaluate("return seen.faint()") == []
        assert (
            other.evaluate("return getComputedStyle(document.querySelector('.pane')).backgroundColor")
            == "rgb(20, 23, 28)"
        )
        assert other.evaluate("return performance.getEntriesByType('resource').length") == 0
        assert other.evaluate("return document.documentElement.scrollWidth <= innerWidth")
        assert other.evaluate("return wrong") == []
