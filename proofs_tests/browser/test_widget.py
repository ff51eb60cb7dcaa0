"""The widget in chromium and Firefox, as a notebook shows it: two of them beside other text."""

from __future__ import annotations

import json
import shutil
from base64 import b64encode
from pathlib import Path
from random import Random
from string import Template
from typing import Any

import pytest

import wingspan
from proofs_tests.browser.firefox import Firefox
from proofs_tests.places import EXAMPLES, ROOT

pytestmark = pytest.mark.browser
HOST = Template((ROOT / "proofs_tests" / "browser" / "host.html").read_text("utf-8"))
AT = "document.querySelector('{} .node[aria-current]').dataset.state"
WAY = "document.querySelector('{} .way').textContent"


@pytest.fixture
def made() -> Any:
    return wingspan.step(EXAMPLES / "dependent.ws", "1*3")


@pytest.fixture
def host(made: Any, tmp_path: Path) -> Path:
    """A page that does with the widget what a notebook does."""
    path = tmp_path / "host.html"
    text = HOST.substitute(
        style=made._css,
        script=json.dumps(made._esm).replace("</", "<\\/"),
        packed=b64encode(made.packed).decode(),
        start=made.interleaving,
    )
    path.write_text(text, "utf-8")
    return path


def test_the_browser_and_python_walk_together(shown, host, made) -> None:
    """A click sets the model, once; a value set by Python is shown; both are in the same state."""
    window, random = shown(host), Random(1)
    window.wait_for_function("window.ready")
    assert window.evaluate(WAY.format("#one")) == "1*3" and window.evaluate(WAY.format("#two")) == "-"
    assert window.evaluate("models.map(({ saved }) => saved)") == [0, 0]
    for step in range(1, 16):
        buttons = window.locator("#one .choice, #one .number, #one .node").all()
        buttons[random.randrange(len(buttons))].dispatch_event("click")
        told = window.evaluate("models[0].get('interleaving')")
        made.interleaving = told
        assert window.evaluate(WAY.format("#one")) == told
        assert made.state is None or window.evaluate(AT.format("#one")) == str(made.state)
        assert window.evaluate("models[0].saved") <= step
        made.state = random.randrange(len(made.trace["states"]))
        window.evaluate("way => models[0].change('interleaving', way)", made.interleaving)
        assert window.evaluate(AT.format("#one")) == str(made.state)
    assert window.evaluate("models[1].saved") == 0 and window.evaluate(WAY.format("#two")) == "-"


def test_a_widget_hears_its_own_keys_only_and_leaves_the_page_alone(shown, host) -> None:
    """Keys are heard where the focus is; nothing else of the notebook changes; a widget that is closed is gone."""
    window = shown(host)
    window.wait_for_function("window.ready")
    window.keyboard.press("1")
    assert window.evaluate("models.map((model) => model.get('interleaving'))") == ["1*3", "-"]
    window.locator("#two h1").click()
    window.keyboard.press("2")
    window.keyboard.press("2")
    window.keyboard.press("b")
    assert window.evaluate("models.map((model) => model.get('interleaving'))") == ["1*3", "2"]
    assert window.evaluate("[location.hash, getComputedStyle(document.body).margin]") == ["", "8px"]
    assert window.evaluate("document.querySelectorAll('[data-lm-suppress-shortcuts]').length") == 2
    names = window.evaluate("[...document.querySelectorAll('[id]')].map(({ id }) => id)")
    assert len(names) == len(set(names))
    window.evaluate("close[1]()")
    window.evaluate("models[1].change('interleaving', '1')")
    assert window.evaluate("[document.querySelector('#two').childElementCount, models[1].saved]") == [0, 3]
    assert window.locator("#one .choice").count() == 2


@pytest.mark.parametrize("width", [1500, 1000, 640, 360])
def test_a_widget_fits_into_its_cell(shown, host, width) -> None:
    """By the width of the cell, not of the window."""
    window = shown(host, "", 1700, 860)
    window.wait_for_function("window.ready")
    window.evaluate("width => (document.querySelector('#one').style.width = `${width}px`)", width)
    frame = window.locator("#one .wingspan").bounding_box()
    assert frame is not None and frame["width"] <= width
    assert window.evaluate("document.querySelector('#one .wingspan').scrollWidth") <= width
    columns = window.evaluate(
        "getComputedStyle(document.querySelector('#one main')).gridTemplateColumns.split(' ').length"
    )
    assert columns == (3 if width >= 1200 else 2 if width >= 768 else 1)


def test_firefox_shows_the_widget_too(host) -> None:
    path = shutil.which("firefox-esr") or shutil.which("firefox")
    if path is None:
        pytest.skip("firefox is not installed: apt-get install firefox-esr, as root")
    with Firefox(path) as window:
        window.tell("WebDriver:Navigate", url=host.as_uri())
        window.tell("WebDriver:SetTimeouts", implicit=30_000)
        window.tell("WebDriver:FindElement", using="css selector", value="#two .choice")
        window.evaluate("document.querySelector('#one .choice').click()")
        assert window.evaluate("return [models[0].get('interleaving'), models[0].saved]") == ["1*4", 1]
        window.evaluate("models[0].change('interleaving', '2,1')")
        assert window.evaluate(f"return {WAY.format('#one')}") == "2,1"
