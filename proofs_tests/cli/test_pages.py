"""Pages: `explore --html`, `step --html` and its key to save one, `demo`; and the files that they write."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import re
import sys
import webbrowser
from functools import cache
from html.parser import HTMLParser
from typing import Any

import pytest

from proofs_tests.effort import few
from proofs_tests.places import EXAMPLES, ROOT
from proofs_tests.trace.walks import LARGE, OPEN, SMALL, example_document
from wingspan import api
from wingspan.explorer.interleaving import parse_interleaving
from wingspan.trace import document, document_of
from wingspan.views.page import MODULES, page, script, style

SUM = str(EXAMPLES / "sum.ws")
LARGEST = 300_000
"""Bytes of a page of 200 states."""


class Parts(HTMLParser):
    """A page as a browser parses it: its elements, and the texts of its title and its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = ["document"]
        self.attributes: dict[str, str | None] = {}
        self.texts: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        given = dict(attrs)
        self.attributes |= given
        if "http-equiv" in given:
            self.attributes[f"content: {given['http-equiv']}"] = given["content"]

    def handle_data(self, data: str) -> None:
        last = self.elements[-1]
        number = self.elements.count(last)
        self.texts[f"{last} {number}"] = self.texts.get(f"{last} {number}", "") + data

    @property
    def trace(self) -> dict[str, Any]:
        """The trace document in it."""
        found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(self.texts["script 1"])))
        return found


@cache
def elements() -> list[str]:
    """The elements of every page, as of one of them."""
    return Parts(page(example_document("sum.ws")).decode()).elements


def test_explore_writes_a_page_of_what_it_has_found(command, tmp_path) -> None:
    """And prints what it prints without."""
    path = tmp_path / "made" / "page.html"
    done = command("explore", SUM, "--html", str(path), "--json")
    assert done.status == 1
    shown = Parts(path.read_text("utf-8")).trace
    assert shown == json.loads(json.dumps(example_document("sum.ws"))) | {"program": shown["program"]}
    assert shown["program"]["name"] == SUM
    assert [each["interleaving"] for each in shown["findings"]] == [race["interleaving"] for race in done.json["races"]]


@pytest.mark.parametrize("strategy", [["--strategy", "dpor"], ["--symmetry"], ["--first"]])
def test_the_page_shows_the_findings_of_any_search(command, tmp_path, strategy) -> None:
    path = tmp_path / "page.html"
    done = command("explore", SUM, "--html", str(path), "--json", *strategy).json
    shown = Parts(path.read_text("utf-8")).trace
    assert [each["interleaving"] for each in shown["findings"]] == [race["interleaving"] for race in done["races"]]
    assert shown["interleavings"] == (None if done["interleavings"] is None else str(done["interleavings"]))
    assert len(shown["states"]) == 13


def test_a_page_replaces_nothing_unless_forced_to(command, tmp_path) -> None:
    path = tmp_path / "page.html"
    path.write_text("mine")
    for verb in (["explore", SUM], ["step", SUM]):
        done = command(*verb, "--html", str(path))
        assert (done.status, path.read_text()) == (2, "mine")
        assert "is there already" in done.err and "--force" in done.err
        assert command(*verb, "--html", str(path), "--force").status in (0, 1)
        assert path.read_text("utf-8").startswith("<!doctype html>")
        path.write_text("mine")


def test_what_is_no_page_is_refused_before_anything_is_searched(command, tmp_path, written) -> None:
    file = written("x = 1", "a.html")
    for words, told in (
        (["explore", SUM, "--html", str(tmp_path / "x.png")], "name a .html file"),
        (["explore", file, "--html", file, "--force"], "the same command uses it"),
        (["step", file, "--html", file, "--force"], "the same command uses it"),
        (["explore", SUM, "--machine", "native", "--html", str(tmp_path / "x.html")], "a plan has none"),
        (["step", SUM, "--machine", "native", "--plain"], "use --machine semantics; of plans, `wingspan replay"),
        (["step", SUM, "--plain", "--html", str(tmp_path / "x.html")], "exclude each other"),
        (
            ["explore", SUM, "--html", str(tmp_path / "g.html"), "--graph", str(tmp_path / "g.html")],
            "the same command",
        ),
    ):
        done = command(*words)
        assert (done.status, done.out) == (2, "")
        assert told in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html"]


def test_step_writes_a_page_that_begins_where_it_would(command, tmp_path, monkeypatch) -> None:
    """After an interleaving, where a race is about to happen, or where `s` was pressed."""
    for words, start in ((["--interleaving", "1,2"], "1,2"), (["--race", "1"], "1"), ([], "-")):
        path = tmp_path / "page.html"
        assert command("step", SUM, *words, "--html", str(path), "--force").status == 0
        assert Parts(path.read_text("utf-8")).attributes["data-start"] == start
    saved = tmp_path / "saved.html"
    lines = f"1\n2\ns {saved}\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode()), "utf-8"))
    assert f"{saved} is written" in command("step", SUM, "--plain").out
    assert Parts(saved.read_text("utf-8")).attributes["data-start"] == "1,2"


def test_demo_writes_the_page_of_the_first_example_and_opens_it(command, tmp_path, monkeypatch) -> None:
    opened: list[str] = []

    def browse(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", browse)
    done = command("demo")
    (address,) = opened
    assert address.startswith("file:///") and address.endswith("/sum.html")
    assert done.out.startswith(f"{address.removeprefix('file://')}: ")
    folder = tmp_path / "new"
    done = command("demo", str(folder), "--no-browser", "--json")
    assert (done.json, len(opened)) == (
        {"schema": 1, "file": str(folder / "sum.html"), "opened": False}, 1,
    )  # fmt: skip
    first, fixed = (Parts((folder / f"{name}.html").read_text("utf-8")) for name in ("sum", "sum_atomic"))
    assert (first.trace["verdict"], fixed.trace["verdict"]) == ("race", "safe")
    assert first.attributes["href"] == "sum_atomic.html" and fixed.attributes["href"] == "sum.html"
    assert "is there already" in command("demo", str(folder), "--no-browser").err


def test_what_the_demonstration_says_of_its_programs_is_so() -> None:
    """The order of steps that it asks for exists, and the fix is one that `check` finds."""
    results = example_document("sum.ws")["results"]
    assert sorted(result["values"]["s"] for result in results) == [3, 4, 7]
    assert "s = Tensor(Atomic(0))" in [advice.change for advice in api.check(EXAMPLES / "sum.ws").advice]
    fixed = (EXAMPLES / "sum.ws").read_text().replace("s = Tensor(Element(0))", "s = Tensor(Atomic(0))")
    assert fixed.splitlines()[1:] == (EXAMPLES / "sum_atomic.ws").read_text().splitlines()[1:]


HOSTILE = """
# </script><script>alert(1)</script> <!-- ]]> & &amp; " ' ` ${x} \u202e \U0001f600 é \x1b[0m \\
x = 1
"""


def test_no_text_of_a_program_is_taken_for_markup() -> None:
    made = Parts(page(document(api.parse(HOSTILE, "</title><b>&\"'.ws")), "</div>\"'").decode())
    assert made.elements == elements()
    assert made.trace["program"]["text"] == HOSTILE.splitlines()
    assert made.texts["title 1"].strip() == "</title><b>&\"'.ws: wingspan"
    assert made.attributes["data-start"] == "</div>\"'"


def test_the_policy_of_a_page_allows_its_script_and_its_style_sheet_alone() -> None:
    """By the digests of the texts that a browser takes for them; nothing stands in attributes."""
    text = page(document(api.parse(HOSTILE, "a.ws"))).decode()
    made = Parts(text)
    assert made.elements.index("meta") < made.elements.index("style")
    policy = dict(part.split(" ", 1) for part in str(made.attributes["content: Content-Security-Policy"]).split("; "))
    digests = [
        f"'sha256-{base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()}'"
        for found in (r'<script type="module">(.*?)</script>', "<style>(.*?)</style>")
        for inside in re.findall(found, text, re.DOTALL)
    ]
    assert policy == {
        "default-src": "'none'", "script-src": digests[0], "style-src": digests[1],
        "base-uri": "'none'", "form-action": "'none'",
    }  # fmt: skip
    assert not [name for name in made.attributes if name == "style" or name.startswith("on")]


@pytest.mark.parametrize("name", few([*SMALL, *OPEN], 2))
def test_pages_are_small(name) -> None:
    """All of an example with 341 states or fewer, as it is and by its hundreds of states."""
    trace = document(EXAMPLES / name, max_states=200, **OPEN.get(name, {}))
    assert len(page(trace)) < LARGEST


def test_the_modules_of_the_page_fit_into_one() -> None:
    """No name stands for two things, nothing is imported that another file does not export, nothing ends the script."""
    sources = {name: (ROOT / "wingspan/views/page" / f"{name}.js").read_text("utf-8") for name in MODULES}
    named = [
        name
        for text in sources.values()
        for name in re.findall(r"^(?:export )?(?:const|let|function|class) (\w+)", text, re.M)
    ]
    assert sorted(named) == sorted(set(named))
    for name, text in sources.items():
        for names, other in re.findall(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', text, re.M):
            assert MODULES.index(other) < MODULES.index(name)
            for each in names.split(","):
                assert re.search(rf"^export (?:const|function|class) {each.strip()}\b", sources[other], re.M)
    assert "import " not in script() and "</script" not in script() and "</style" not in style()
    assert not re.search(
        r"https?:|@import|url\(|innerHTML|eval\(", script().replace("http://www.w3.org/2000/svg", "") + style()
    )


def colours(style_sheet: str) -> list[dict[str, tuple[float, ...]]]:
    """The colours of each theme by their names, as parts of red, green and blue."""
    themes: list[dict[str, tuple[float, ...]]] = []
    for block in re.findall(r"\{([^{}]*--paper: [^{}]*)\}?", style_sheet):
        found = re.findall(r"--(\w+): #([0-9a-f]{6});", block)
        themes.append({name: tuple(int(text[k : k + 2], 16) / 255 for k in (0, 2, 4)) for name, text in found})
    return themes


def luminance(colour: tuple[float, ...]) -> float:
    """WCAG 2.2, relative luminance."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """WCAG 2.2, contrast ratio."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


TASKS = [f"t{number}" for number in range(7)]
CHIPS = ["r1", "r2", "r3", "r4", "good", "bad", "accent"]
ON_GROUNDS = [
    (text, ground) for text in ("ink", "soft", "accent", "bad", "good", *TASKS) for ground in ("paper", "press")
] + [("ink", "ground"), ("soft", "ground"), ("bad", "ground"), ("inked", "written")]


def test_colours_have_a_contrast_that_can_be_read() -> None:
    """4.5 to 1, as WCAG 2.2 AA asks of text; light, dark and in print."""
    themes = colours(style())
    assert len(themes) == 3
    for theme in themes:
        assert set(theme) >= {*TASKS, "paper", "ink"}
        pairs = ON_GROUNDS + ([("on", chip) for chip in (*TASKS, *CHIPS)] if "r1" in theme else [])
        for text, ground in pairs:
            assert contrast(theme[text], theme[ground]) >= 4.5, (text, ground)


def test_a_page_of_a_large_program_has_the_ways_to_what_was_found(tmp_path) -> None:
    """And the states nearest to them: from each on the way every task can go on, by a step that is on the page."""
    found = api.explore(EXAMPLES / "quiz_cousin_race.ws", strategy="graph")
    trace = document_of(found, max_states=250)
    assert not trace["complete"]
    assert len(page(trace)) < LARGEST
    on_the_way = {number for finding in trace["findings"] for number in finding["states"]}
    for number in on_the_way:
        for place in trace["states"][number]["enabled"]:
            edge = trace["edges"][place]
            assert edge["target"] is not None or edge["fault"] is not None


@pytest.mark.deep
def test_a_page_of_a_program_beyond_its_bounds_leads_to_all_that_was_found() -> None:
    """3,658 states, with the bounds that a page has: 1,000 of them, and a way to each of 18 results and to the race."""
    found = api.explore(api.parse(LARGE), strategy="graph")
    trace: Any = document_of(found)
    assert found.verdict.complete and found.verdict.states == 3658
    assert (len(trace["states"]), trace["complete"], len(trace["results"])) == (1000, False, 18)
    assert len(page(trace)) < LARGEST
    for number, result in enumerate(trace["results"]):
        here = 0
        for task in parse_interleaving(result["interleaving"]):
            edges = [trace["edges"][place] for place in trace["states"][here]["enabled"]]
            (here,) = [edge["target"] for edge in edges if trace["steps"][edge["step"]]["task"] == task]
        assert trace["states"][here]["result"] == number
    (race,) = trace["findings"]
    assert any(trace["states"][number]["races"] for number in race["states"])
