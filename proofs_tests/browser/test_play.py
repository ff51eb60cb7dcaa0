"""The playground in chromium, on a server of its own: everything by keys, fixes as buttons, nothing from elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from proofs_tests.browser.conftest import note_failures
from proofs_tests.browser.firefox import Firefox
from proofs_tests.editing.test_fixes_as_edits import RACE
from wingspan.play.sharing import decode_program, encode_program

pytestmark = pytest.mark.browser
WAIT = 60_000
"""Milliseconds: machines that run tests are busy."""
ATOMIC = RACE.replace("Tensor(Element(0))", "Tensor(Atomic(0))")
Window = Any


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a playground with a file."""
    pytest.importorskip("uvicorn", reason="pip install 'wingspan[play]'")
    path = tmp_path_factory.mktemp("play") / "mine.ws"
    path.write_text(RACE)
    words = [sys.executable, "-m", "wingspan", "play", str(path), "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.fixture
def played(browser: Any, address: str) -> Iterator[Callable[..., Window]]:
    """Opens the playground. No script may fail, no dialog may open, and no other server is asked for anything."""
    contexts: list[Any] = []
    wrong: list[str] = []

    def open_(fragment: str = "", width: int = 1366, height: int = 768, **options: Any) -> Window:
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, **options))
        window = contexts[-1].new_page()
        window.set_default_timeout(WAIT)
        note_failures(window, wrong, (address[: address.index("/", 8)],))
        window.goto(f"{address}{fragment}")
        window.wait_for_selector("body[data-ready]")
        return window

    yield open_
    for context in contexts:
        context.close()
    assert wrong == []


def verdict(window: Window, colour: str) -> str:
    """The verdict once it has a colour."""
    return str(window.wait_for_selector(f"#verdict.{colour}:not(.waiting)").inner_text())


def text_of(window: Window) -> str:
    return str(window.input_value("#editor textarea"))


def test_a_fix_is_a_button_that_edits_the_program_and_can_be_undone(played) -> None:
    window = played()
    assert verdict(window, "bad") == "unsafe: 1 finding in s"
    assert window.inner_text(".line.bad .remark") == "s[] may race when i is parallel on cpu(2)"
    assert window.inner_text(".stroke.error >> nth=0") == "s"
    window.click(".fix >> nth=0")
    assert verdict(window, "good").startswith("safe") and text_of(window) == ATOMIC
    window.keyboard.press("Control+z")
    assert verdict(window, "bad") and text_of(window) == RACE


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (390, 844)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_messages_stand_under_the_lines_and_places_that_they_are_about(played, width, height, scheme) -> None:
    """Below the text of the line, from the place on, and above the text of the next line; while one types."""
    window = played(encode_program("x = 1\ny = A[\nz = 3\nw = (2\n"), width, height, color_scheme=scheme)
    window.focus("#editor textarea")
    for key in ("Control+End", "Backspace", ")", "Enter"):
        window.keyboard.press(key)
    assert verdict(window, "bad")
    window.wait_for_selector(".line.bad[data-line='2'] .remark")
    for bad in window.locator(".line.bad").all():
        number = int(bad.get_attribute("data-line"))
        remark, stroke = (bad.locator(each).first.bounding_box() for each in (".remark", ".stroke"))
        row = window.locator(f".line[data-line='{number}']").bounding_box()
        assert abs(remark["x"] - stroke["x"]) < 2
        assert stroke["y"] + stroke["height"] - 4 < remark["y"]
        assert remark["y"] + remark["height"] < row["y"] + row["height"] + 8
    heights = {box["height"] for line in window.locator(".copy .line").all() if (box := line.bounding_box())}
    area = window.evaluate("parseFloat(getComputedStyle(document.querySelector('#editor textarea')).lineHeight)")
    assert all(abs(height - area) < 0.1 for height in heights)


def test_everything_by_keys(played) -> None:
    """Type a program with a completed format, fix it, explore it, step in its page, and look at its plan."""
    window = played()
    window.focus("#editor textarea")
    window.keyboard.press("Control+a")
    window.keyboard.type("s = Tensor(Ele")
    window.wait_for_selector("#words li[aria-selected=true]")
    window.keyboard.press("Enter")
    window.keyboard.type(")\ns .= 0\nfor i = parallel(1:2)\ns[] += i")
    assert text_of(window) == "s = Tensor(Element(0.0))\ns .= 0\nfor i = parallel(1:2)\n    s[] += i"
    assert verdict(window, "bad").startswith("unsafe")
    window.wait_for_selector(".fix")
    for _ in range(20):
        if window.evaluate("document.activeElement.className") == "fix":
            break
        window.keyboard.press("Tab")
    window.keyboard.press("Enter")
    assert verdict(window, "good") and text_of(window).startswith("s = Tensor(Atomic(0.0))")
    window.keyboard.press("Control+Enter")
    window.wait_for_selector("iframe")
    frame = window.frame_locator("iframe")
    assert frame.locator(".verdict").inner_text() == "safe"
    frame.locator(".choice").first.press("1")
    frame.locator("table.lanes tbody tr[data-step]").first.wait_for()
    window.focus("#tab-steps")
    window.keyboard.press("ArrowRight")
    assert window.inner_text("#report").startswith("safe")


def test_a_click_on_a_line_marks_what_came_of_it_and_back(played) -> None:
    window = played(encode_program(ATOMIC))
    verdict(window, "good")
    window.click("#compile")
    window.wait_for_selector("#code .row")
    window.click("#code section[aria-label=C] .row:has-text('ws_atomic') >> nth=0")
    marked = {row.strip() for row in window.locator("#code .row.marked").all_inner_texts()}
    assert "atomic s.val[1] += val" in marked and any("ws_atomic_i64" in row for row in marked)
    assert window.get_attribute(".line.marked", "data-line") == "6"
    window.click("#editor textarea", position={"x": 80, "y": 117})
    assert [row.strip() for row in window.locator("#code .row.marked").all_inner_texts()][:2] == [
        "# 4 │ s .= 0", "s.val[1] = 0",
    ]  # fmt: skip


def test_inputs_are_tables_that_can_be_changed(played) -> None:
    window = played(encode_program("y = Tensor(Element(0))\ny .= 0\nfor i = _\n  y[] += x[i]\nend\n"))
    verdict(window, "good")
    window.click("#explore")
    cell = window.wait_for_selector("#inputs input >> nth=0")
    assert cell.get_attribute("aria-label") == "x[1]"
    cells = window.locator("#inputs input")
    count = cells.count()
    cells.nth(0).fill("40")
    cells.nth(0).press("Tab")
    rest = sum(int(cells.nth(k).input_value()) for k in range(1, count))
    window.locator("#report pre").filter(has_text=f"y = {40 + rest}\n").wait_for(state="attached")


def test_formatting_keeps_comments_and_can_be_undone_as_one_edit(played) -> None:
    text = "# a\nx=1 # b\ny = 2\n"
    window = played(encode_program(text))
    verdict(window, "good")
    window.click("#format")
    window.wait_for_selector(".line:has-text('x = 1  # b')", state="attached")
    assert text_of(window) == "# a\nx = 1  # b\ny = 2\n"
    window.keyboard.press("Control+z")
    assert text_of(window) == text
    window.fill("#editor textarea", "for i = 1:3; c[i] += 1; end # why")
    window.click("#format")
    window.wait_for_selector(".line:has-text('end  # why')", state="attached")
    assert text_of(window) == "for i = 1:3\n    c[i] += 1\nend  # why\n"


def test_lines_are_numbered_and_coloured_as_they_stand_after_edits_in_the_middle(played) -> None:
    """Only lines that differ are drawn anew; all together they are those of the text."""
    window = played(encode_program("a = 1\nb = 2\nc = 3\n"))
    window.click("#editor textarea", position={"x": 80, "y": 55})
    for keys in (
        ["End", "Enter", "x"],
        ["Enter", "Backspace", "Backspace", "Backspace"],
        ["ArrowUp", "Home", "Delete"],
    ):
        for key in keys:
            window.keyboard.press(key)
        drawn = window.locator(".copy .line").evaluate_all(
            "found => found.map((line) => [line.dataset.line, line.textContent])"
        )
        assert drawn == [[str(k), line] for k, line in enumerate(text_of(window).split("\n"), start=1)]


def test_the_address_holds_the_program(played) -> None:
    text = '# é 𝔻 "quotes" <b>\nx = 1\n'
    window = played(encode_program(text))
    assert text_of(window) == text
    window.fill("#editor textarea", ATOMIC)
    verdict(window, "good")
    window.wait_for_url(lambda url: decode_program(url) == ATOMIC)
    window.click("#share")
    said = window.wait_for_selector("#said:has-text('wingspan play')").inner_text()
    assert decode_program(re.search(r"'(.*)'", said)[1]) == ATOMIC  # type: ignore[index]
    window.reload()
    window.wait_for_selector("body[data-ready]")
    assert text_of(window) == ATOMIC


def test_markup_in_a_program_stays_text(played) -> None:
    window = played(encode_program('x = "<img src=x onerror=alert(1)>" # </script><script>alert(2)</script>\n'))
    assert verdict(window, "bad")
    assert window.locator("#editor img, #problems img, #problems script").count() == 0


def test_the_exploration_is_exported_as_one_file(played, tmp_path) -> None:
    window = played()
    window.click("#explore")
    with window.expect_download() as found:
        window.click("#export")
    found.value.save_as(tmp_path / "page.html")
    assert found.value.suggested_filename == "mine.html"
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!doctype html>")


def test_an_endless_search_can_be_stopped_and_the_page_goes_on(played) -> None:
    window = played(encode_program("s = Tensor(Element(0))\ns .= 0\nfor i = 1:1000000000000\n  s[] += 1\nend\n"))
    verdict(window, "good")
    window.click("#explore")
    window.click("#stop")
    window.wait_for_selector("#said:has-text('stopped')")
    window.fill("#editor textarea", RACE)
    assert verdict(window, "bad") == "unsafe: 1 finding in s"


def test_quiz_and_lessons_can_be_chosen(played) -> None:
    window = played()
    window.select_option("#choose", label="quiz_node_race.ws")
    assert text_of(window).startswith("# Two threads sum a vector.")
    window.click("#about summary")
    assert window.inner_text("#about details p").startswith("race: Both iterations update the one element of s")
    window.select_option("#choose", label="tower.ws")
    assert window.inner_text("#about > p").startswith("Lesson 3.") and window.locator("#about details").is_hidden()


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (390, 844), (683, 384)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_off_and_texts_can_be_read(played, width: int, height: int, scheme: str) -> None:
    """The page is no wider than the window, the parts are all in reach, and each text has a contrast of 4.5."""
    window = played(width=width, height=height, color_scheme=scheme)
    window.wait_for_selector(".fix")
    assert window.evaluate("document.documentElement.scrollWidth") <= width
    for selector in ("#explore", "#share", ".fix >> nth=3", "#tab-code", "#problems li"):
        window.locator(selector).scroll_into_view_if_needed()
        box = window.locator(selector).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["y"] + box["height"] <= height + 1
    window.click("#explore")
    frame, panel = (window.wait_for_selector(each).bounding_box() for each in ("iframe", "#steps"))
    assert panel["height"] - 4 <= frame["height"] <= panel["height"]
    for element, found in window.evaluate(CONTRASTS).items():
        assert found >= 4.5, (element, found)


CONTRASTS = """() => {
  const channel = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const parsed = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parsed(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = {};
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || /TEXTAREA|OPTION|SCRIPT/.test(element.tagName)) continue;
    const [a, b] = [light(parsed(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
    found[`${element.tagName}.${element.className}#${element.id}`] = (a + 0.05) / (b + 0.05);
  }
  return found;
}"""


def test_ten_windows_have_their_verdicts(played) -> None:
    windows = [played(encode_program(f"{RACE}# {k}\n")) for k in range(10)]
    for window in windows:
        window.click("#explore")
    assert [verdict(window, "bad") for window in windows] == ["unsafe: 1 finding in s"] * 10
    for window in windows:
        window.wait_for_selector("iframe")


def test_firefox_checks_fixes_and_explores(address: str) -> None:
    path = shutil.which("firefox-esr") or shutil.which("firefox")
    if path is None:
        pytest.skip("firefox is not installed: apt-get install firefox-esr, as root")
    with Firefox(path) as firefox:
        firefox.tell("WebDriver:Navigate", url=address)
        firefox.tell("WebDriver:SetTimeouts", script=WAIT, implicit=WAIT, pageLoad=WAIT)
        fix = firefox.tell("WebDriver:FindElement", using="css selector", value=".fix")["value"]
        firefox.tell("WebDriver:ElementClick", id=next(iter(fix.values())))
        firefox.tell("WebDriver:FindElement", using="css selector", value="#verdict.good")
        assert firefox.evaluate("return document.querySelector('#editor textarea').value") == ATOMIC
        explore = firefox.tell("WebDriver:FindElement", using="css selector", value="#explore")["value"]
        firefox.tell("WebDriver:ElementClick", id=next(iter(explore.values())))
        frame = firefox.tell("WebDriver:FindElement", using="css selector", value="iframe")["value"]
        firefox.tell("WebDriver:SwitchToFrame", element=next(iter(frame.values())))
        firefox.tell("WebDriver:FindElement", using="css selector", value=".wingspan .verdict")
        assert firefox.evaluate("return document.querySelector('.verdict').textContent") == "safe"
