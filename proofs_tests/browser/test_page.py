"""The page in chromium: it agrees with `replay`, sessions and `explore --graph`, and everybody can use it."""

from __future__ import annotations

import importlib
import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from random import Random
from typing import Any

import pytest

from proofs_tests.cli.test_pages import HOSTILE
from proofs_tests.places import EXAMPLES
from proofs_tests.trace.walks import LARGE, OPEN, SMALL
from proofs_tests.views.showing import of_terminal
from proofs_tests.views.test_same_everywhere import PROGRAMS, bind
from wingspan import api
from wingspan.base.errors import InputError, visible
from wingspan.explorer import replay
from wingspan.results.listing import listing
from wingspan.results.outcome import Outcome
from wingspan.results.words import VERBS, describe_access
from wingspan.trace import Session, Trace, document
from wingspan.trace.memory import show_contents
from wingspan.views.page import page

pytestmark = pytest.mark.browser
WALKS = 2
CLICKS = (".choice", ".choice", ".choice", ".node", ".chip", ".number")
"""The elements to click at random: tasks most of all, states of the graph, results and findings, steps so far."""
DEPENDENT = "dependent.ws"


def bound(name: str) -> Any:
    return api.bind(EXAMPLES / name, **OPEN.get(name, {}))


@pytest.mark.parametrize("name", [*SMALL, "spadd.ws"])
def test_what_is_clicked_is_what_replay_shows(shown, command, name) -> None:
    """Lanes, memory, lost updates and results after any clicks are those of `replay --json` of what is shown."""
    window, random = shown(name), Random(name)
    if window.locator("[data-key='do invisible']").is_checked():
        window.keyboard.press("i")
    semantics = api.semantics(bound(name))
    for _ in range(WALKS):
        for _ in range(random.randrange(1, 25)):
            window.evaluate("([what, at]) => seen.click(what, at)", [random.choice(CLICKS), random.random()])
        seen = window.evaluate("seen.state()")
        run = replay(semantics, seen["interleaving"], finish=False)
        steps = [step for step in run if step.visible]
        assert (run.mismatch, seen["hash"]) == (None, seen["interleaving"])
        assert seen["lanes"] == [
            [str(number), step.task or "0", "; ".join(map(describe_access, step.footprint)) or step.rule]
            for number, step in enumerate(steps, start=1)
        ]
        if name not in OPEN:
            told = command("replay", str(EXAMPLES / name), "--interleaving", seen["interleaving"], "--json").json
            agrees(seen, told, len(steps))
        if run.end != "fault":
            assert dict(seen["memory"]) == {str(cell): show_contents(value) for cell, value in run.state.heap.items()}
        assert seen["ended"][:1] == ([] if run.end == "stopped" else seen["ended"][:1])
        assert all(text.startswith(str(run.end)) for text in seen["ended"])
        if run.end == "finished":
            outcome = semantics.outcome(run.state)
            assert isinstance(outcome, Outcome) and seen["ended"][0].startswith(f"finished {listing(outcome)}")


def as_json(value: str) -> str:
    """A value that the page shows, as JSON has it: Inf is a text there, and a pair an array."""
    return re.sub(r"-?Inf|NaN", r'"\g<0>"', value).replace("(", "[").replace(")", "]")


def agrees(seen: dict[str, Any], told: dict[str, Any], steps: int) -> None:
    """Compare a page with `replay --json`; the run there continues to its end."""
    visible_ones = [step for step in told["steps"] if step["visible"]]
    for (_, task, does), step in zip(seen["lanes"], visible_ones[:steps], strict=True):
        assert task == step["task"]
        accesses = [f"{VERBS[each['operation']]} {each['cell']}" for each in step["touches"]]
        values = [each["value"] for each in step["touches"] if each["operation"] not in ("acquire", "release")]
        assert re.sub(r" = [^;]*", "", does) == ("; ".join(accesses) or step["rule"])
        assert [json.loads(as_json(value)) for value in re.findall(r" = ([^;]*)", does)] == values
    lost = [(number, step["lost"]) for number, step in enumerate(visible_ones[:steps], start=1) if step["lost"]]
    assert seen["lost"] == [
        f"LOST step {number} overwrites step {each['written']} with a value computed from step {each['read']}'s read"
        for number, each in lost
    ]


KEYS = ("b", "b", "x", "r")


@pytest.mark.parametrize("name", SMALL[::2])
def test_keys_do_what_they_do_in_the_stepper(shown, name) -> None:
    """Tasks, back, to a race, to a result: the page and a session stand at the same place, and have read the same."""
    window, random, session = shown(name), Random(name), Session(Trace(bound(name)))
    keys = {"b": session.back, "x": session.to_race, "r": session.to_result}
    for _ in range(20):
        key = random.choice([*KEYS, *(choice.key for choice in session.choices for _ in range(4))])
        window.evaluate("key => seen.press(key)", key)
        try:
            keys[key]() if key in keys else session.choose(key)
        except InputError as error:
            assert key in keys
            assert window.evaluate("seen.state()")["message"].startswith(error.message.partition(" lies")[0])
        seen = window.evaluate("seen.state()")
        assert seen["interleaving"] == session.interleaving
        assert seen["choices"] == [f"task {choice.task or '0'}" for choice in session.choices]
        assert seen["races"] == sum(bool(choice.racing) for choice in session.choices)
        assert seen["reads"] == [f"▲ {read.text}" for read in session.reads.by_task]
        assert [text for text in seen["lost"]] == [
            f"LOST step {number} {move.lost.text}" for number, move in enumerate(session.moves, start=1) if move.lost
        ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_page_shows_what_the_terminal_shows(shown, tmp_path, monkeypatch, name) -> None:
    """After every step of random runs, and on the way back; in the second run, with invisible steps one by one.

    The plain stepper shows the same, as is tested there.
    """
    monkeypatch.setattr(importlib.import_module("wingspan.trace.document"), "MOMENTS", 10_000)
    program, path = bind(name), tmp_path / "page.html"
    path.write_bytes(page(document(program)))
    window, trace = shown(path), Trace(program)
    for seed in range(WALKS):
        session, random = Session(trace), Random(seed)
        if seed:
            session.fold()
            window.evaluate("seen.press('i')")
        assert of_page(window) == of_terminal(session)
        while session.choices:
            key = random.choice(session.choices).key
            session.choose(key)
            window.evaluate("key => seen.press(key)", key)
            assert of_page(window) == of_terminal(session)
        while session.moves or (not session.folded and session.left < len(session.invisible)):
            session.back()
            window.evaluate("seen.press('b')")
            assert of_page(window) == of_terminal(session)


def of_page(window: Any) -> dict[str, Any]:
    """The facts on a page, in the form of those in `of_terminal`."""
    seen = window.evaluate("seen.state()")
    memory: dict[str, str] = {}
    for cell, held in seen["memory"]:
        if found := re.fullmatch(r"([A-Za-z]\w*\.\w+.*)\[\d+\]", cell):
            memory[found[1]] = f"{memory.get(found[1], '')} {f'[{held}]' if cell in seen['written'] else held}".strip()
    applied = seen["applied"]
    ends = seen["ended"][0].partition(" ") if seen["ended"] else None
    return {
        "standing": dict(seen["standing"]),
        "steps": [(task, does) for _, task, does in seen["lanes"]],
        "lost": [text.split(" ", 3)[3] for text in seen["lost"]],
        "reads": [text.removeprefix("▲ ") for text in seen["reads"]],
        "memory": memory,
        "applied": applied and (*applied[:3], re.sub(r"not yet|\s", "", applied[3])),
        "choices": [(task.removeprefix("task "), rule, does, race) for task, rule, does, race in seen["offered"]],
        "ended": ends and (ends[0], re.sub(r" (not )?the sequential result$", "", ends[2])),
    }


@pytest.mark.parametrize(
    "name", [DEPENDENT, "quiz_deadlock_two_locks.ws", "quiz_shard_claimed_twice.ws", "quiz_sibling_race.ws"]
)
def test_the_states_that_clicks_lead_to_are_those_of_the_graph(shown, name) -> None:
    """Each with as many tasks that can step, and its end; and as many as `explore --graph` draws."""
    found = shown(name).evaluate("seen.all()")
    graph = api.explore(bound(name), strategy="graph", graph=True).verdict.graph
    assert graph is not None
    able = Counter(edge.source for edge in graph.edges)
    ends = {True: "finished", False: ""}
    assert Counter((choices, (ended or [""])[0].partition(" ")[0]) for _, (_, choices, ended) in found) == Counter(
        (able[number], "deadlock" if node.waiting and not able[number] else ends[node.outcome is not None])
        for number, node in enumerate(graph.nodes)
    )
    assert len(found) == len({number for number, _ in found}) == len(graph.nodes)


def test_predictions_are_judged_as_in_the_stepper(shown) -> None:
    window, session = shown(DEPENDENT), Session(Trace(bound(DEPENDENT)))
    window.keyboard.press("?")
    session.predict()
    assert window.locator(".choice .what").all_inner_texts() == ["?", "?"]
    for task, rule, value in (("1", "Assign", "0"), ("1", "Assign", "7"), ("2", "Call", "0"), ("2", "Block", "9")):
        window.keyboard.press(task)
        session.choose(task)
        assert "Hidden" in window.locator(".pane.rule").inner_text()
        window.keyboard.type(rule)
        window.keyboard.press("Tab")
        window.keyboard.type(value)
        window.keyboard.press("Enter")
        session.answer(f"{rule} {value}")
        seen = window.evaluate("seen.state()")
        assert (seen["score"], seen["interleaving"]) == (
            f"{session.right} of {session.guesses} right",
            session.interleaving,
        )


def test_expressions_that_are_watched_follow_the_walk(shown, tmp_path) -> None:
    """As the document has them, in memory and where a state is pointed at; a rule as drawn fits into its pane.

    Writing the declaration takes five steps, as c is watched.
    """
    made, path = document(EXAMPLES / DEPENDENT, watches=["c[3] == 1", "i"]), tmp_path / "watched.html"
    path.write_bytes(page(made))
    window = shown(path)
    for key in "000001112":
        window.keyboard.press(key)
    assert window.locator(".pane.memory .watched").all_inner_texts() == ["c[3] == 1: false", "i: i has no value"]
    window.keyboard.press("2")
    assert window.locator(".pane.memory .watched").first.inner_text() == "c[3] == 1: true"
    window.locator(".node[aria-current]").focus()
    assert window.locator(".about .watched").first.inner_text() == "c[3] == 1: true"
    drawing = window.locator("pre.drawing")
    assert drawing.evaluate("each => each.scrollWidth <= each.clientWidth")


def test_the_address_names_the_step(shown) -> None:
    """A link leads to its step; another address in the same window leads on."""
    window = shown(DEPENDENT, "#1*3,2")
    assert window.evaluate("seen.state()")["interleaving"] == "1*3,2"
    window.keyboard.press("1")
    window.wait_for_function("location.hash === '#1*3,2,1'")
    window.evaluate("location.hash = '#2*2'")
    window.wait_for_function("seen.state().interleaving === '2*2'")


@pytest.mark.parametrize(
    ("address", "way", "told"),
    [
        ("#9", "-", "step 1 names task 9, which cannot step; tasks that can: 1, 2"),
        ("#hm", "-", "hm is no interleaving"),
        ("#%E0%A4%A", "-", "%E0%A4%A is no interleaving"),
        ("#%", "-", "% is no interleaving"),
        ("#1,%00%E2%80%AE", "-", r"1,\x00\u202e is no interleaving"),
        ("#1*0", "-", "1*0 is no interleaving"),
        ("#1,2,1.1,7", "1,2", "step 3 names task 1.1, which cannot step"),
        ("#" + "9" * 1000, "-", f"step 1 names task {'9' * 40}…, which cannot step"),
        ("#" + "x" * 100_000, "-", f"{'x' * 40}… is no interleaving"),
        ("#" + "1*999999," * 10_000 + "1", "1*4", "step 5 names task 1, which cannot step"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_an_address_that_names_no_step_is_explained(shown, address, way, told) -> None:
    """Also in a window that is open: it goes as far as the address leads, and no script fails."""
    window = shown(DEPENDENT, address)
    seen = window.evaluate("seen.state()")
    assert seen["interleaving"] == way and told in seen["message"]
    window.evaluate("location.hash = '#2'")
    window.wait_for_function("seen.state().interleaving === '2'")
    window.evaluate("address => (location.hash = address)", address)
    window.wait_for_function("told => seen.state().message.includes(told)", arg=told)


FORBIDDEN = """async () => {
  const found = [];
  addEventListener("securitypolicyviolation", ({ effectiveDirective }) => found.push(effectiveDirective));
  const script = document.createElement("script");
  script.textContent = "window.ran = 'a script'";
  const image = document.createElement("img");
  image.src = "data:,";
  const element = document.createElement("p");
  element.setAttribute("style", "color: red");
  element.setAttribute("onclick", "window.ran = 'a handler'");
  const sheet = document.createElement("style");
  sheet.textContent = "p { color: red }";
  document.body.append(script, image, element, sheet);
  element.click();
  await fetch("https://example.org").catch(() => {});
  await new Promise((done) => setTimeout(done));
  return [[...new Set(found)].sort(), window.ran ?? null, element.style.color];
}"""


def test_the_policy_of_a_page_forbids_all_that_the_page_does_without(browser, file) -> None:
    """Markup that were to get in could neither act nor ask for anything."""
    window = browser.new_page()
    window.goto(file(DEPENDENT).as_uri())
    window.wait_for_selector(".wingspan")
    found, ran, colour = window.evaluate(FORBIDDEN)
    window.close()
    assert (ran, colour) == (None, "")
    assert found == ["connect-src", "img-src", "script-src-attr", "script-src-elem", "style-src-attr", "style-src-elem"]


FRAMES: dict[str, Callable[[str], str]] = {
    "file": lambda path: f'src="{path}"',
    "srcdoc": lambda path: f'srcdoc="{escape(Path(path).read_text("utf-8"))}"',
    "data": lambda path: f'src="data:text/html;base64,{b64encode(Path(path).read_bytes()).decode()}"',
    "sandbox": lambda path: f'sandbox="allow-scripts" srcdoc="{escape(Path(path).read_text("utf-8"))}"',
}
"""The ways in which notebooks and sites put a page into another one."""


@pytest.mark.parametrize("kind", FRAMES)
def test_a_page_works_in_a_frame(shown, file, tmp_path, kind) -> None:
    host = tmp_path / "host.html"
    frame = f'<iframe width="1200" height="700" {FRAMES[kind](str(file(DEPENDENT)))}></iframe>'
    host.write_text(f'<!doctype html><meta charset="utf-8"><p class="wingspan">a notebook</p>{frame}', "utf-8")
    inside = shown(host).frame_locator("iframe")
    inside.locator(".choice").first.click()
    assert inside.locator(".way").inner_text() == "1"
    inside.locator(".choice").nth(1).click()
    assert inside.locator(".way").inner_text() == "1,2"


def test_the_keyboard_alone_is_enough(shown) -> None:
    """Tab reaches all that can be pressed; after Enter the next press needs no Tab; arrows move in the graph."""
    window = shown(DEPENDENT)
    wanted = "button, input, select, summary, a[href], .inside"
    count = window.locator(wanted).evaluate_all("all => all.filter(each => each.checkVisibility()).length")
    reached = set()
    for _ in range(count + 5):
        window.keyboard.press("Tab")
        reached.add(window.evaluate(f"[...document.querySelectorAll('{wanted}')].indexOf(document.activeElement)"))
    assert len(reached - {-1}) == count
    window.locator(".choice").first.focus()
    for _ in range(3):
        window.keyboard.press("Enter")
    assert window.evaluate("seen.state()")["interleaving"] == "1*3"
    window.locator(".node[aria-current]").focus()
    assert window.locator(".about").is_visible()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        window.keyboard.press(key)
    assert window.evaluate("seen.state()")["interleaving"].startswith("1*3,")
    assert len(window.evaluate("seen.state()")["lanes"]) == 5
    window.keyboard.press("Home")
    assert window.evaluate("seen.state()")["interleaving"] == "-"
    window.keyboard.press("c")
    assert "⟨" in window.locator("pre.configuration").inner_text()
    assert window.locator("pre.configuration mark").count() == 2


def test_all_has_a_role_and_a_name(shown) -> None:
    """As the browser tells them to a screen reader."""
    window = shown(DEPENDENT, "#1*3,2,1,2")
    session = window.context.new_cdp_session(window)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    told = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]
    pressed = {"button", "checkbox", "textbox", "combobox", "link", "region", "navigation"}
    assert [role for role, name in told if role in pressed and not name.strip()] == []
    assert {"heading", "banner", "main", "navigation", "table", "columnheader", "rowheader", "status", "list"} <= {
        role for role, _ in told
    }
    names = {name for _, name in told}
    assert {"dependent.ws", "program", "memory", "states", "results", "so far", "rule"} <= names
    assert "2 task 2 Assign reads c.val[5] = 0" in names
    assert "go to result 2" in names and any("result 2: c = [1, 0, 1, 0, 1]" in name for name in names)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [DEPENDENT, "quiz_deadlock_two_locks.ws", "quiz_cousin_race.ws"])
def test_every_text_has_enough_contrast(shown, name, scheme) -> None:
    """4.5 to 1 against what is behind it, wherever the walk stands."""
    window = shown(name, color_scheme=scheme)
    for keys in ("", "x", "1", "2", "r", "i", "?", "b", "1"):
        for key in keys:
            window.keyboard.press(key)
        assert window.evaluate("seen.faint()") == []
    assert window.evaluate("getComputedStyle(document.querySelector('.pane')).backgroundColor") == (
        "rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 28)"
    )


SEEN = """(selector) => [...document.querySelectorAll(selector)].every((each) => {
    const box = each.getBoundingClientRect();
    const frame = each.closest(".inside").getBoundingClientRect();
    return frame.top <= box.top && box.bottom <= Math.min(frame.bottom, innerHeight) + 0.1;
})"""
"""Whether the elements are seen whole in their panes, without scrolling."""


@pytest.mark.parametrize("name", [DEPENDENT, "quiz_sibling_race.ws", "spadd.ws", "spgemm_gustavson.ws"])
def test_inferences_are_seen_whole_on_a_small_laptop(shown, tmp_path, name) -> None:
    """In 1366×768 pixels, after each of the first steps."""
    if name == "spgemm_gustavson.ws":
        (tmp_path / "small.html").write_bytes(page(document(api.bind(EXAMPLES / name, small=2))))
    window = shown(name if name != "spgemm_gustavson.ws" else tmp_path / "small.html", "", 1366, 768)
    conclusions = 0
    for step in range(10):
        conclusions += window.locator(".conclusion").count()
        assert window.evaluate(SEEN, ".pane.rule .applied, .pane.rule .inference"), step
        window.evaluate("(at) => seen.click('.choice', at)", (step * 0.37) % 1)
    assert conclusions > 5


def test_a_telephone_shows_memory_beside_the_choices_and_speaks_of_no_keys(shown) -> None:
    window = shown(DEPENDENT, "", 390, 844, has_touch=True, is_mobile=True)
    assert window.inner_text(".message") == "Choose a task."
    for _ in range(3):
        window.locator(".choice").first.tap()
    box = window.locator(".pane.memory .tree").bounding_box()
    assert box is not None and box["y"] + box["height"] <= 844 and window.evaluate("scrollY") == 0
    assert not any(key.is_visible() for key in window.locator("kbd").all())


@pytest.mark.parametrize("name", [DEPENDENT, "spadd.ws"])
def test_results_and_findings_are_seen_whole_on_a_small_laptop(shown, name) -> None:
    assert shown(name, "", 1366, 768).evaluate(SEEN, ".pane.results tbody tr, .pane.results li")


@pytest.mark.parametrize(("width", "height"), [(1750, 1075), (1400, 860), (1280, 720), (700, 430), (360, 640)])
@pytest.mark.parametrize("name", [DEPENDENT, "spadd.ws"])
def test_the_page_fits_into_any_window(shown, name, width, height) -> None:
    """At 80, 100 and 200 % of 1400 by 860, on a small projector and a telephone, without scrolling sideways."""
    window = shown(name, "#1*2,2", width, height)
    assert window.evaluate("document.documentElement.scrollWidth") <= width
    for pane in window.locator("main .pane").all():
        box = pane.bounding_box()
        assert box is not None and box["width"] > 150 and box["height"] > 40
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
    if width >= 1200:
        assert window.evaluate("document.documentElement.scrollHeight") <= height


@pytest.mark.parametrize(("name", "way"), [(DEPENDENT, "1*3,2,1,2"), ("quiz_cousin_race.ws", "1*2,2,1*4,2*10,1")])
def test_a_state_pointed_at_and_the_handout_show_the_memory_of_the_pane(shown, name, way) -> None:
    """The tree and the buffers of a tensor that changes; what is pointed at lies inside of the window."""
    window = shown(name, f"#{way}")
    window.locator(".node[aria-current]").hover()
    here, pane = window.locator(".about"), window.locator(".memory .tensor").first
    box = here.bounding_box()
    assert box is not None and box["x"] >= 0 and box["y"] >= 0
    assert box["x"] + box["width"] <= 1400 and box["y"] + box["height"] <= 860
    last = window.locator(".handout > table > tbody > tr").last
    for part in (".tree", ".buffers"):
        held = pane.locator(part).all_text_contents()
        assert here.locator(part).all_text_contents() == [text.replace(" written", "") for text in held]
        assert last.locator(part).all_text_contents() == held
    assert pane.locator(".tree .held").count() > 0


def test_print_is_a_handout_with_a_row_for_each_step(shown) -> None:
    """In black on white, whatever the window has; all on some pages."""
    window = shown(DEPENDENT, "#1*3,2,1,2", color_scheme="dark")
    data = window.pdf()
    assert data.startswith(b"%PDF") and 1 <= len(re.findall(rb"/Type\s*/Page\b", data)) <= 3
    window.emulate_media(media="print")
    rows = window.locator(".handout > table > tbody > tr")
    assert rows.count() == 6 and not window.locator("main").is_visible()
    last = rows.nth(5).inner_text()
    assert all(text in last for text in ("writes c.val[3] = 1", "LOST", "⟨increment(fiber(c,1,3), +, 1), task 2, σ⟩"))
    assert rows.nth(5).locator(".tree .held").all_inner_texts() == ["1", "0", "1", "0", "0"]
    assert rows.nth(5).locator(".tree .written .held").all_inner_texts() == ["1"]
    assert window.evaluate("seen.faint()") == []


def test_programs_are_text_whatever_they_hold(shown, tmp_path) -> None:
    path = tmp_path / "hostile.html"
    path.write_bytes(page(document(api.parse(HOSTILE, "</title><b>&.ws"))))
    window = shown(path)
    lines = window.locator("main ol.program code").all_text_contents()
    assert lines == [visible(line) for line in HOSTILE.splitlines()]
    assert window.locator("script").count() == 2
    assert window.title() == "</title><b>&.ws: wingspan"


def test_a_page_that_has_not_all_states_says_so(shown, tmp_path) -> None:
    """And how to go on where it ends."""
    path = tmp_path / "cut.html"
    path.write_bytes(page(document(EXAMPLES / "quiz_cousin_race.ws", max_states=200)))
    window = shown(path)
    assert "more states than this page" in window.locator("p.cut").inner_text()
    assert edges_out(window)
    assert not shown("quiz_cousin_race.ws").locator("p.cut").count()


def test_the_page_of_a_large_program_leads_to_each_result(shown, tmp_path) -> None:
    """Of 3,658 states it has 1,000, and says so; each result can be gone to, whatever lies on the way."""
    path = tmp_path / "large.html"
    path.write_bytes(page(document(api.parse(LARGE))))
    window = shown(path)
    assert "which has 1000" in window.locator("p.cut").inner_text()
    results = window.locator("tr[data-result]")
    assert results.count() == 18 and window.locator(".node").count() == 1000
    for number in range(18):
        values = results.nth(number).locator("code").inner_text()
        results.nth(number).locator("button").click()
        assert values in window.locator(".ended").inner_text()
    window.keyboard.press("Home")
    assert window.evaluate("seen.state()")["interleaving"] == "-" and edges_out(window)


def edges_out(window: Any) -> bool:
    """Whether some walk leaves the page, and is told how to go on."""
    for _ in range(40):
        leaving: Iterable[Any] = window.locator(".choice", has_text="leaves this page").all()
        for button in leaving:
            button.click()
            return "wingspan step" in window.locator(".ended").inner_text()
        window.evaluate("seen.click('.node.cut', 0.5)")
    return False
