"""The widget of notebooks, without a browser: its two traits, its JavaScript, and what is said where it cannot be."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from random import Random

import pytest

import wingspan
from proofs_tests.effort import few
from proofs_tests.places import EXAMPLES
from proofs_tests.trace.walks import SMALL, example_document
from wingspan import InputError
from wingspan.trace import Session, Trace
from wingspan.trace.memory import show_contents
from wingspan.views.page import page, script, style
from wingspan.views.widget import StepWidget

DEPENDENT = EXAMPLES / "dependent.ws"


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Widgets stay alive until they are closed."""
    yield
    StepWidget.close_all()


def widget(name: str = "dependent.ws", interleaving: str = "-") -> StepWidget:
    """The widget of an example."""
    return StepWidget(example_document(name), interleaving)


@pytest.mark.parametrize("name", few(SMALL[::3], 3))
def test_interleaving_and_state_lead_to_each_other(name: str) -> None:
    """After any steps the state is the one that a session reaches; a state that is set is reached by a shortest way."""
    random, made, trace = Random(name), widget(name), Trace(EXAMPLES / name)
    by_number = {}
    for _ in range(6):
        session = Session(trace)
        if not session.folded:
            session.fold()
        for _ in range(random.randrange(12)):
            if session.choices:
                session.choose(random.choice(session.choices).key)
        made.interleaving = session.interleaving
        assert (made.state is None) == (session.end == "fault")
        if session.node is not None:
            shown = {
                made.trace["cells"][cell]["name"]: value for cell, value in made.trace["states"][made.state]["cells"]
            }
            assert shown == {str(cell): show_contents(value) for cell, value in session.state.heap.items()}
            by_number[made.state] = len(session.moves)
    for number, steps in by_number.items():
        made.state = 0
        assert made.interleaving == "-"
        made.state = number
        again = Session(trace)
        again.go(made.interleaving)
        assert len(again.moves) <= steps and made.state == number


def test_what_cannot_be_set_is_one_message_and_changes_nothing() -> None:
    made = widget(interleaving="1*3")
    for trait, value, told in (
        ("interleaving", "1,9", "step 2 names task 9, which cannot step; tasks that can: 1, 2"),
        ("interleaving", "1;2", "not a task path"),
        ("state", 32, "there is no state 32: states are 0 to 31"),
        ("state", -1, "there is no state -1"),
        ("state", None, "there is no state None"),
    ):
        with pytest.raises(InputError, match=re.escape(told)):
            setattr(made, trait, value)
        assert (made.interleaving, made.trace["states"][made.state]["reads"][0]["value"]) == ("1*3", "0")
    with pytest.raises(InputError, match="names task 7"):
        widget(interleaving="7")


def test_a_fault_has_no_state() -> None:
    made = widget("quiz_append_out_of_order.ws")
    (fault,) = [each for each in made.trace["findings"] if each["kind"] == "fault"][:1]
    made.interleaving = fault["interleaving"]
    assert made.state is None
    made.state = 0
    assert made.interleaving == "-"


def test_those_who_observe_a_trait_hear_of_each_change_once() -> None:
    """As a notebook that grades an exercise does."""
    made, heard = widget(), []
    made.observe(lambda change: heard.append((change["name"], change["new"])), ["interleaving", "state"])
    made.interleaving = "1,1,2"
    assert sorted(heard) == [("interleaving", "1*2,2"), ("state", made.state)]


def test_it_is_made_from_the_very_script_of_the_page() -> None:
    """All of the page's modules, one export that anywidget asks for, and the document that the page has."""
    made = wingspan.step(DEPENDENT)
    text = page(made.trace).decode()
    assert script() in text and made._esm.startswith(script()) and made._css == style()
    assert re.findall(r"^export default (.*);$", made._esm, re.M) == ["{ render }"]
    assert "import {" not in made._esm
    assert json.loads(gzip.decompress(made.packed)) == json.loads(json.dumps(example_document("dependent.ws")))
    assert {"packed", "interleaving"} <= set(made.keys) and "state" not in made.keys
    assert re.fullmatch(r"<StepWidget .*dependent\.ws: 32 states, at ->", repr(made))


def test_the_style_of_a_widget_leaves_the_notebook_alone() -> None:
    """Each rule is about what is below the element that it is drawn into."""
    selectors = re.findall(r"^([^\s@}/*][^{]*)\{", style(), re.M)
    assert selectors and all(each.startswith(".wingspan") for each in selectors)


def test_without_anywidget_one_message_names_the_extra() -> None:
    """And everything else of the package works."""
    code = (
        "import sys; sys.modules['anywidget'] = None\n"
        "import wingspan\n"
        "program = wingspan.parse('x = 1')\n"
        "try: wingspan.step(program)\n"
        "except wingspan.InputError as error: print(error.message, '|', error.fix)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == (
        "wingspan.step needs anywidget, which is not installed | install it: pip install 'wingspan[jupyter]'; "
        "`wingspan step FILE --html OUT` writes the same as a page\n"
    )
