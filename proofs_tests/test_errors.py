"""Errors in Python say what the command line says: the mistake, its place, and what to write instead."""

from __future__ import annotations

import pickle
import subprocess
import sys
import traceback

import pytest

from proofs_tests.places import EXAMPLES
from wingspan import ParseError, api
from wingspan.base.errors import InternalError, Source, Span, WingspanError

UNCLOSED = "for i = _\n    y[i] += x[i\nend\n"
OPEN = str(EXAMPLES / "spadd.ws")


def error_of(text: str) -> WingspanError:
    with pytest.raises(WingspanError) as raised:
        api.parse(text, "a.ws")
    return raised.value


def test_the_text_of_an_error_has_place_source_and_fix() -> None:
    assert str(error_of("x = (1")).splitlines()[:3] == [
        "error[syntax]: this bracket is never closed", "  a.ws:1:5", "    1 │ x = (1",
    ]  # fmt: skip
    misspelt = str(error_of("for i = 1:2\n    x[i] ++= 1\nend"))
    assert "  a.ws:2:" in misspelt and "\n  fix  " in misspelt


def test_several_mistakes_are_all_in_the_text() -> None:
    with pytest.raises(WingspanError) as raised:
        api.bind(OPEN, params={"nt": 2})
    assert [line for line in str(raised.value).splitlines() if line.startswith("error")] == [
        "error[input]: the program leaves sch, A, B open",
        "error[program]: sch is not a schedule",
        "error[input]: A has no data: it is used before it is declared",
        "error[input]: B has no data: it is used before it is declared",
    ]


def test_an_error_from_another_process_has_the_same_text() -> None:
    error = error_of(UNCLOSED)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_traceback_of_python_ends_with_the_text() -> None:
    code = f"import wingspan; wingspan.parse({UNCLOSED!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-5:] == [
        "wingspan.ParseError: error[syntax]: this bracket is never closed",
        "  <program>:2:14",
        "    2 │     y[i] += x[i",
        "      │              ^",
        "  fix  add the missing ]",
    ]


def test_a_notebook_shows_the_line_of_the_caller_and_the_text() -> None:
    """Without the frames of the package in between."""
    try:
        api.parse(UNCLOSED, "a.ws")  # the call
    except ParseError as error:
        first, *others = error._render_traceback_()
        number = traceback.extract_tb(error.__traceback__)[0].lineno
    assert first == f'api.parse(UNCLOSED, "a.ws")  # the call  # line {number}'
    assert others == str(error_of(UNCLOSED)).splitlines()


def test_a_notebook_shows_an_error_that_was_never_raised() -> None:
    error = ParseError("no", Span(Source("a.ws", "x"), 1, 1, 1, 2))
    assert error._render_traceback_() == str(error).splitlines()


def test_a_defect_of_ours_keeps_its_traceback_in_a_notebook() -> None:
    try:
        raise InternalError("no rule applies")
    except InternalError as error:
        text = "".join(error._render_traceback_())
    assert "Traceback" in text and "test_errors.py" in text and "no rule applies" in text


@pytest.mark.parametrize("verb", ["explore", "run"])
def test_a_program_with_open_inputs_is_told_to_draw_tiny_ones_first(command, verb: str) -> None:
    done = command(verb, OPEN)
    assert done.status == 2 and done.err.startswith(
        "error[input]: the program leaves nt, sch, A, B open\n"
        "  fix  give each of them, or draw tiny ones: --small, or small=2 in Python\n\n"
        "error[program]: nt has no value\n"
    )


def test_what_is_open_is_not_listed_where_something_else_is_wrong_or_one_thing_is_missing() -> None:
    for text, first in [
        ("x = a\ny = b[\n", "syntax"), ("x = a\ny = b\nc[1] = 1\n", "program"),
        ("x = a", "program"), ("x = A[1]", "input"),
    ]:  # fmt: skip
        with pytest.raises(WingspanError) as raised:
            api.bind(api.parse(text))
        assert raised.value.diagnostics[0].topic == first and "leaves" not in raised.value.message


def test_mistakes_in_arguments_come_first() -> None:
    """Users have written them last: the program may be as it should be."""
    with pytest.raises(WingspanError) as raised:
        api.run(OPEN, inputs={"D": [[1.0]]})
    assert raised.value.message == "the program has no tensor D"


def test_a_parameter_given_as_a_tensor_is_told_its_place() -> None:
    with pytest.raises(WingspanError) as raised:
        api.run(OPEN, nt=2)
    assert (raised.value.message, raised.value.fix) == (
        "the program has no tensor nt", "nt is no tensor; give a parameter as -p nt=…, in Python by params=",
    )  # fmt: skip


def test_run_takes_inputs_by_name_like_a_kernel() -> None:
    params = {"nt": 2, "sch": "static_schedule()"}
    A, B = [[1.0, 0.0], [2.0, 3.0]], [[0.0, 4.0], [0.0, 5.0]]
    by_name = api.run(OPEN, params=params, engine="semantics", A=A, inputs={"B": B})
    assert by_name.tensors["C"].to_numpy().tolist() == [[1, 4], [2, 8]]
