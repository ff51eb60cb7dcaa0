"""From any input comes a program, a tensor, a result or one of our errors: no other exception, no warning.

Warnings are errors in every test, and every example is small enough to be run to its end.
"""

from __future__ import annotations

import re
from math import prod
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests import places
from proofs_tests.effort import many
from wingspan import Tensor, api
from wingspan.base.errors import Fault, InputError, ParseError, ProgramError
from wingspan.lang import ir
from wingspan.lang.parser import parse
from wingspan.lang.printer import show
from wingspan.tensors.files import read_file
from wingspan.testing.programs import programs

EXAMPLES = {path.stem: path.read_text() for path in sorted(places.EXAMPLES.glob("*.ws"))}
SMALL = sorted(EXAMPLES.keys() - {"karate", "histogram"})
"""The examples that run in no time."""

TOKEN = re.compile(r'"[^"\n]*"|#[^\n]*|[^\W\d]\w*|\d+(?:\.\d+)?|<<\w+>>=|[-+*/&|.=!<>]=|&&|\|\||[ \t]+|\n|.', re.DOTALL)
WORDS = sorted({token for text in EXAMPLES.values() for token in TOKEN.findall(text) if not token.startswith("#")})
ODDITIES = [
    "0", "-1", "1.5", "true", "1e999", "99999999999999999999", "1000000000000000", "_", "÷", "÷ 0", "%", "end", "if x",
    ":t", "[", "]", "(", ")", ";", "\t", "\n  ", "\r", "\u2028", "\ufeff", "\0", "²", "日本", "'", '"', "[1, 2]",
    "[1 2; 3 4]", "Tensor(SparseList(Element(0)))", "Scalar(1)", "cpu(:t, 2)", "dynamic_schedule(0)", "return", ".= 0",
    "<<min>>=",
]  # fmt: skip

OURS = (ParseError, ProgramError, InputError, Fault)


# --------------------------------------------------------------------------------------------------------------- edits


NAME = re.compile(r"[^\W\d]\w*")


OPERATORS = (
    "+",
    "-",
    "*",
    "/",
    "÷",
    "%",
    "<",
    "==",
    "&&",
    "=",
    "+=",
    "-=",
    "*=",
    "<<min>>=",
    "&=",
    "|=",
    ".=",
    ":",
    ",",
)


def kind_of(word: str) -> str:
    """A word may take the place of another one of its kind."""
    if word.isdigit():
        return "number"
    return "operator" if word in OPERATORS else "name" if NAME.fullmatch(word) else ""


@st.composite
def altered(draw: st.DrawFn, text: str) -> str:
    """A text with one name, number or operator replaced by another, so that it may still be a program."""
    pieces = TOKEN.findall(text)
    places = [k for k, piece in enumerate(pieces) if kind_of(piece)]
    if places:
        at = draw(st.sampled_from(places))
        words = [*pieces, *WORDS, *OPERATORS, "0", "4", "2000", "100000000000"]
        pieces[at] = draw(st.sampled_from([word for word in words if kind_of(word) == kind_of(pieces[at])]))
    return "".join(pieces)


@st.composite
def edited(draw: st.DrawFn, text: str, most: int = 3) -> str:
    """A text after a few edits: words altered, or pieces dropped, doubled, swapped, replaced or put in."""
    for _ in range(draw(st.integers(1, most))):
        if draw(st.integers(0, 2)):
            text = draw(altered(text))
            continue
        pieces = draw(st.sampled_from([TOKEN.findall(text), list(text), text.splitlines(keepends=True)]))
        at = draw(st.integers(0, max(0, len(pieces) - 1)))
        end = min(len(pieces), at + draw(st.sampled_from([1, 1, 1, 2, 5])))
        other = draw(st.sampled_from([*WORDS, *ODDITIES]) | st.text(max_size=3))
        other_at = draw(st.integers(0, max(0, len(pieces) - 1)))
        match draw(st.sampled_from(["drop", "double", "swap", "replace", "insert"])):
            case "drop":
                pieces[at:end] = []
            case "double":
                pieces[at:at] = pieces[at:end]
            case "swap" if pieces:
                pieces[at], pieces[other_at] = pieces[other_at], pieces[at]
            case "replace":
                pieces[at:end] = [other]
            case _:
                pieces.insert(at, other)
        text = "".join(pieces)
    return text


examples = st.sampled_from(sorted(EXAMPLES.values())) | programs()


@settings(derandomize=True, deadline=None, max_examples=many(300))
@given(st.text() | st.text(st.sampled_from("".join(WORDS) + "\n ;#")) | examples.flatmap(lambda text: edited(text, 6)))
def test_any_text_is_a_program_or_a_parse_error(text):
    """A program reads back from its canonical text; an error lies inside of the text and says what to write instead."""
    try:
        program = parse(text)
    except ParseError as error:
        for diagnostic in error.diagnostics:
            assert diagnostic.span is not None
            assert 1 <= diagnostic.span.line <= len(text.splitlines()) + 1
            assert [key for key, _ in diagnostic.notes] == ["fix"], diagnostic.message
            assert "^" in diagnostic.render()
    else:
        assert parse(show(program)) == program


# --------------------------------------------------------------------------------------------------------------- files

FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern", "complex")
SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


@st.composite
def matrix_market(draw: st.DrawFn) -> str:
    """A file of any kind that is in order, or nearly so."""
    form, field, symmetry = (draw(st.sampled_from(kinds)) for kinds in (("coordinate", "array"), FIELDS, SYMMETRIES))
    field = "integer" if symmetry == "skew-symmetric" and field == "unsigned-integer" else field
    rows = draw(st.integers(0, 4))
    columns = rows if symmetry != "general" else draw(st.integers(0, 4))
    number = {
        "integer": st.integers(-9, 9).map(str), "unsigned-integer": st.integers(0, 9).map(str), "pattern": st.just(""),
        "complex": st.tuples(st.floats(-9, 9), st.floats(-9, 9)).map(lambda z: f"{z[0]} {z[1]}"),
    }.get(field, st.floats(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9).map(repr))  # fmt: skip
    lower = {"general": 0, "skew-symmetric": 2}.get(symmetry, 1)
    places = [(i, j) for j in range(1, columns + 1) for i in range(1, rows + 1) if not lower or i - j >= lower - 1]
    if form == "coordinate":
        places = draw(st.lists(st.sampled_from(places), max_size=6)) if places else []
        body = [f"{i} {j} {draw(number)}".rstrip() for i, j in places]
        size = f"{rows} {columns} {len(places)}"
    else:
        body = [draw(number) for _ in places]
        size = f"{rows} {columns}"
    comments = draw(st.sampled_from(["", "% a comment\n", "%\n%\n"]))
    return f"%%MatrixMarket matrix {form} {field} {symmetry}\n{comments}{size}\n" + "".join(
        f"{line}\n" for line in body
    )


def read(folder: Path, data: bytes) -> Tensor | None:
    """The tensor that a program gets from a file with these bytes; None if it is refused as it should be."""
    path = folder / "A.mtx"
    path.write_bytes(data)
    program = api.parse("x = A[1, 1]\nreturn A", "p.ws")
    try:
        return api.bind(program, inputs={"A": path}).inputs["A"]
    except (InputError, ProgramError) as error:
        assert all(diagnostic.message and diagnostic.notes for diagnostic in error.diagnostics), error.render()
        return None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@settings(derandomize=True, deadline=None, max_examples=many(300))
@given(
    data=st.binary(max_size=80) | st.binary(max_size=60).map(lambda b: b"%%MatrixMarket matrix coordinate real " + b)
)
def test_any_bytes_as_mtx_are_a_tensor_or_an_input_error(folder, data):
    tensor = read(folder, data)
    assert tensor is None or len(tensor.shape) == 2


NUMBERS = ["0", "-1", "2", "1.5", "1e400", "nan", "x", "", "1000000000000000", "99999999999999999999", "4 4", "\0", "%"]


@st.composite
def spoiled(draw: st.DrawFn) -> bytes:
    """A Matrix Market file after a few edits, most of them of its numbers."""
    text = draw(matrix_market())
    for _ in range(draw(st.integers(1, 3))):
        words = re.split(r"(\s+)", text)
        at = draw(st.integers(0, len(words) - 1))
        match draw(st.sampled_from(["replace", "replace", "drop", "double", "cut"])):
            case "replace":
                words[at] = draw(st.sampled_from([*NUMBERS, *FIELDS, *SYMMETRIES, "array", "coordinate"]))
            case "drop":
                words[at : at + 2] = []
            case "double":
                words[at:at] = words[at : at + 2]
            case "cut":
                words[at:] = []
        text = "".join(words)
    return text.encode()


@settings(derandomize=True, deadline=None, max_examples=many(500))
@given(data=spoiled())
def test_a_spoiled_mtx_is_a_tensor_or_an_input_error(folder, data):
    tensor = read(folder, data)
    assert tensor is None or len(tensor.shape) == 2


def by_hand(text: str) -> dict[tuple[int, int], float]:
    """The elements of a Matrix Market file that is in order, read by the format's definition."""
    banner, *lines = [line for line in text.splitlines() if not line.startswith("% ") and line != "%"]
    _, _, form, _, symmetry = banner.split()
    (rows, columns, *_), *body = [[float(word) for word in line.split()] for line in lines]
    if form == "array":
        first = {"general": lambda j: 1, "skew-symmetric": lambda j: j + 1}.get(symmetry, lambda j: j)
        places = [(i, j) for j in range(1, int(columns) + 1) for i in range(first(j), int(rows) + 1)]
        entries = [(i, j, value) for (i, j), (value,) in zip(places, body, strict=True)]
    else:
        entries = [(int(i), int(j), value[0] if value else 1.0) for i, j, *value in body]
    found: dict[tuple[int, int], float] = {}
    for i, j, value in entries:
        found[i, j] = found.get((i, j), 0) + value
        if i != j and symmetry != "general":
            found[j, i] = found.get((j, i), 0) + (-value if symmetry == "skew-symmetric" else value)
    return found


@settings(derandomize=True, deadline=None, max_examples=many(200))
@given(text=matrix_market())
def test_an_mtx_in_order_is_read_as_the_format_says(folder, text):
    """Refused are complex ones, and arrays of patterns, which have no values."""
    (folder / "A.mtx").write_text(text)
    refused = " complex " in text or " array pattern " in text
    try:
        data = read_file(folder / "A.mtx")
    except InputError:
        assert refused
        return
    assert not refused
    dense = data.toarray() if scipy.sparse.issparse(data) else data
    expected = np.zeros(dense.shape)
    for (i, j), value in by_hand(text).items():
        expected[i - 1, j - 1] = value
    np.testing.assert_allclose(dense, expected, rtol=1e-12)


def test_headers_that_announce_more_than_there_is_cost_nothing(folder):
    """Neither room nor time: a thousand times the memory of a large machine is announced here. Rows are sparse."""
    huge = "1000000000000000"
    rows = read(folder, f"%%MatrixMarket matrix coordinate real general\n{huge} 2 1\n{huge} 1 5\n".encode())
    assert rows is not None and list(rows.entries()) == [((int(huge), 1), 5)]
    for line in (f"2 2 {huge}", f"2 {huge} 1", f"{huge} {huge} 1", f"{huge} {huge} {huge}", f"0 {huge} 0"):
        assert read(folder, f"%%MatrixMarket matrix coordinate real general\n{line}\n1 1 5\n".encode()) is None
    assert read(folder, f"%%MatrixMarket matrix array real general\n{huge} {huge}\n1\n".encode()) is None


# ------------------------------------------------------------------------------------------------------------- results


class TooLong(Exception):
    """A run that takes more steps than a test has time for."""


STEPS = 3_000
ELEMENTS = 3_000


def bounded(done: int, left: int) -> None:
    if done > STEPS:
        raise TooLong


def inputs_of(tree: ir.Program, seed: int) -> dict[str, np.ndarray]:
    """A small random array for every tensor that a program reads and has no data for."""
    random = np.random.default_rng(seed)
    declared = {node.tensor for node in tree.walk() if isinstance(node, ir.Declare)}
    defined = {s.name: s.value for s in tree.body.statements if isinstance(s, ir.Define)}
    held = {name for name, d in defined.items() if not isinstance(d, ir.TensorCall) or d.data is not None}
    return {
        access.fiber.tensor: random.integers(0, 3, (3,) * len(access.subscripts))
        for access, _ in reversed(ir.accesses(tree.body))
        if access.fiber.tensor not in declared | held
    }


PARAMETERS = {"nt": 2, "sch": "static_schedule()"}


@settings(derandomize=True, deadline=None, max_examples=many(500))
@given(st.sampled_from(SMALL).flatmap(lambda name: edited(EXAMPLES[name])), st.integers(0, 99))
def test_a_random_edit_of_an_example_gives_a_result_or_one_of_our_errors(text, seed):
    """From the text to the result of the rules, and of the reference where the rules came to an end in time."""
    try:
        program = api.parse(text, "p.ws")
        names = {node.name for node in program.tree.walk() if isinstance(node, ir.Variable)}
        params = {name: value for name, value in PARAMETERS.items() if name in names}
        bound = api.bind(program, inputs=inputs_of(program.tree, seed), params=params)
        if sum(prod(tower.shape) for tower in bound.towers.values()) > ELEMENTS:
            return
        by_rules = api.run(bound, progress=bounded, engine="semantics")
        by_reference = api.run(bound, engine="reference")
    except TooLong:
        return
    except OURS as error:
        assert error.render().startswith("error[")
        return
    assert by_rules.tensors.keys() == by_reference.tensors.keys()
