"""Several mistakes in one program: the independent ones are told together, those that follow from others not at all."""

from __future__ import annotations

import pytest

from proofs_tests.elaborating import VECTOR, elaborated
from wingspan import api
from wingspan.base.errors import (
    Fault,
    InputError,
    InternalError,
    Mistakes,
    ParseError,
    ProgramError,
    Source,
    Span,
    WingspanError,
)

HEAD = f"c = {VECTOR}, 3)\nc .= 0\n"


def told(text: str, **given) -> list[str]:
    """Line:column and headline of every mistake in a program, in the order in which they are printed."""
    with pytest.raises(WingspanError) as caught:
        elaborated(text, **given)
    assert caught.type in (ParseError, ProgramError, InputError)
    places = ((d.span, d.message) for d in caught.value.diagnostics)
    return [f"{span.line}:{span.column} {message}" if span else message for span, message in places]


# ------------------------------------------------------------------------------------------------------------ together


def test_mistakes_of_all_passes_come_together_in_the_order_of_the_text():
    text = f"""
dev = cpu(:t, 0)
a = Tensor(Dense(Elephant(0)), 3)
c = {VECTOR}, 3)
c .= 0
for i = parallel(1:3, gpu, dynamic_schedule(0))
    c[i, 1] += total
    c[4] += 1
end
x = A[1]
if c[1] > 0
    c .= 0
end
return d
"""
    assert told(text, params={"nt": 2}, inputs={"B": [1]}) == [
        "the program has no parameter nt",
        "the program has no tensor B",
        "1:15 a number of threads is an integer of at least 1, not 0",
        "2:18 there is no format Elephant",
        "5:23 gpu is not a device",
        "5:45 a chunk size is an integer of at least 1, not 0",
        "6:5 c has 1 axis, and here 2 subscripts",
        "6:16 total has no value",
        "7:7 axis 1 of c has extent 3, and here the index 4",
        "9:5 A has no data: it is used before it is declared",
        "11:5 c is declared while it is declared already",
        "13:1 return d: there is no tensor d in the outermost scope",
    ]


def test_statements_that_read_well_but_are_none_come_together():
    text = "x = min(1)\nfor i = 1:3\n    i = 2\n    for i = 1:2\n        skip\n    end\nend\ny += 1\nz² = 1"
    assert told(text) == [
        "1:5 min takes two or more arguments",
        "3:5 i is the index of an enclosing loop",
        "4:9 i is already the index of an enclosing loop",
        "8:3 `+=` updates an element of a tensor, and y is a bare name",
        "9:1 z² is not a name",
    ]


def test_files_that_cannot_be_read_come_together(tmp_path):
    (tmp_path / "t.ws").write_text(f'a = {VECTOR}, "a.npy")\nb = {VECTOR}, "b.txt")\nx = a[1] + b[1] + d[1]\n')
    with pytest.raises(InputError) as caught:
        api.bind(tmp_path / "t.ws", inputs={"d": tmp_path / "d.npy"})
    places = [(d.span.source.name, d.span.line) for d in caught.value.diagnostics if d.span]
    assert places == [(str(tmp_path / "t.ws"), 1), (str(tmp_path / "t.ws"), 2), ("command line", 1)]


def test_the_error_is_rendered_with_an_empty_line_between_its_messages():
    with pytest.raises(ProgramError) as caught:
        elaborated("x = a\ny = b")
    both, first, second = caught.value.render().split("\n\n")
    assert both.startswith("error[input]: the program leaves a, b open\n  fix  ")
    assert first.startswith("error[program]: a has no value\n")
    assert second.startswith("error[program]: b has no value\n")


# ------------------------------------------------------------------------------------------------ nothing that follows

FOLLOWING = {
    "an unknown name, once": ("x = a + a\nc[a] += a\nfor i = 1:a\n    c[i] += 1\nend\nx = c[a]", [
        "3:5 a has no value",
    ]),
    "an unknown device, once": (
        "a = Tensor(Dense(Shard(gpu, Element(0))), 3)\na .= 0\nfor i = parallel(_, gpu)\n    a[i] += 1\nend\n"
        "e = cpu(2, gpu)\nfor i = parallel(1:2, gpu); for j = parallel(1:2, e); x = j; end; end",
        ["3:24 gpu is not a device"],
    ),
    "a tensor in the place of a device": (
        "a = Tensor(Merge(c, Element(0)))\na .= 0\na[] += 1",
        ["3:18 c is not a device, it is a tensor"],
    ),
    "a loop on an unknown device": (
        "e = cpu(2)\nfor i = parallel(1:2, gpu); for j = parallel(1:2, e); x = j; end; end\n"
        "for i = parallel(1:2); for j = parallel(1:2, e); x = j; end; end",
        ["4:23 gpu is not a device"],
    ),
    "a device spawned from an unknown one": (
        "e = cpu(2, gpu)\nfor i = parallel(1:2, e); x = i; end",
        ["3:12 gpu is not a device"],
    ),
    "a schedule used twice": (
        "s = dynamic_schedule(0)\n" + "for i = parallel(1:2, cpu(2), s); x = i; end\n" * 2,
        ["3:22 a chunk size is an integer of at least 1, not 0"],
    ),
    "a name defined twice": (f"a = cpu(2)\na = {VECTOR}, 3)\na .= 0\nfor i = parallel(_, a)\n    a[i] += 1\nend", [
        "4:1 a is defined twice",
    ]),
    "a name for two things": ("c = 1\nx = c\nc[1] += c", ["3:1 c is a tensor and a variable"]),
    "a definition that failed": (
        "a = Tensor(Dense(Elephant(0)))\na .= 0\nfor i = _\n    a[i] += 1\nend\n"
        "a[7, 8] += 1\nx = a[0]\na .= 0\nreturn a",
        ["3:18 there is no format Elephant"],
    ),
    "an input that is missing": ("for i = _\n    c[i] += B[i]\nend\nx = B[9]\nreturn B, c", [
        "4:13 B has no data: it is used before it is declared",
    ]),
    "an extent without a value": (f"a = {VECTOR}, n)\na .= 0\nfor i = _\n    a[i] += 1\nend\nx = a[9]", [
        "3:31 n has no value",
    ]),
    "extents that depend on a range without a value": (
        f"a = {VECTOR})\nb = {VECTOR})\na .= 0\nb .= 0\n"
        "for i = 1:n\n    a[i + 1] += 1\nend\nfor i = _\n    b[i] += a[i]\nend",
        ["7:11 n has no value"],
    ),
    "extents that depend on a range that cannot be inferred": (
        f"a = {VECTOR})\na .= 0\nfor i = _\n    a[i + 1] += 1\nend\nx = a[3]",
        ["5:1 the range of i cannot be inferred: i stands bare on no axis"],
    ),
    "a wrong number of subscripts, once": ("c[1, 1] += 1\nfor i = _\n    c[i, 2] += 1\nend", [
        "3:1 c has 1 axis, and here 2 subscripts",
    ]),
    "an undeclared tensor, once": (f"a = {VECTOR}, 3)\nif 1 > 2\n    a .= 0\nend\nx = a[1]\ny = a[2]", [
        "7:5 a is used where it is not declared",
    ]),
    "a value to declare with": (f"a = {VECTOR}, 3)\na .= B[1]\na[1] += 1", [
        "4:6 the value that a is declared with must be a constant",
    ]),
    "a device nested in itself": (
        "e = cpu(2)\n"
        "for i = parallel(1:2, e); for j = parallel(1:2, e); for k = parallel(1:2, e); x = k; end; end; end",
        ["4:49 a loop on e stands inside another one on it"],
    ),
    "devices with one identity": (
        "e = cpu(:t, 2)\nf = cpu(:t, 2)\nfor i = parallel(1:2, e); for j = parallel(1:2, f); x = j; end; end",
        ["4:5 two devices are called :t"],
    ),
    "devices spawned from each other": ("e = cpu(:e, 2, f)\nf = cpu(:f, 2, e)\ng = cpu(2, f)", [
        "3:5 e is spawned from itself",
    ]),
}  # fmt: skip


@pytest.mark.parametrize("case", FOLLOWING)
def test_what_follows_from_a_mistake_is_not_told(case):
    text, expected = FOLLOWING[case]
    assert told(HEAD + text) == expected


def test_a_parameter_or_an_input_with_a_slip_in_its_name_is_one_mistake():
    assert told("x = count", params={"cuont": 3}) == ["the program has no parameter cuont"]
    assert told("x = count", params={"count": "a b"}) == ["1:11 parameter count: `b` cannot stand here"]
    assert told("x = weights[1]", inputs={"wieghts": [1]}) == ["the program has no tensor wieghts"]


def test_mistakes_about_one_name_in_two_statements_are_both_told():
    """Only what may follow is left out: two constants out of bounds are two mistakes."""
    assert told(HEAD + "c[4] += 1\nc[0] += 1\nc[1, 2] += 1\nc[] += 1") == [
        "3:3 axis 1 of c has extent 3, and here the index 4",
        "4:3 axis 1 of c has extent 3, and here the index 0",
        "5:1 c has 1 axis, and here 2 subscripts",
        "6:1 c has 1 axis, and here 0 subscripts",
    ]


def test_two_loops_over_one_index_are_told_apart():
    text = f"v = {VECTOR}, [1, 2])\nfor i = _\n    x = i\nend\nfor i = _\n    c[i] += v[i]\nend"
    assert told(HEAD + text) == [
        "4:1 the range of i cannot be inferred: i stands bare on no axis",
        "8:13 i runs over axis 1 of c, which has extent 3, and over axis 1 of v, which has 2",
    ]


# ----------------------------------------------------------------------------------------------------------- collector


def test_the_collector_keeps_the_kind_of_the_first_error_and_all_messages():
    source = Source("p.ws", "one\ntwo\n")
    mistakes = Mistakes()
    with mistakes.collecting():
        raise ProgramError("second", Span(source, 2, 1, 2, 4))
    mistakes.note(InputError("nowhere"))
    mistakes.note(ParseError("first", Span(source, 1, 1, 1, 4)))
    with pytest.raises(InputError) as caught:
        mistakes.raise_all()
    assert [d.message for d in caught.value.diagnostics] == ["nowhere", "first", "second"]


@pytest.mark.parametrize("defect", [ZeroDivisionError(), InternalError("no rule applies"), Fault("out of bounds")])
def test_the_collector_lets_what_is_no_mistake_pass(defect):
    mistakes = Mistakes()
    with pytest.raises(type(defect)), mistakes.collecting():
        raise defect
    mistakes.raise_all()
