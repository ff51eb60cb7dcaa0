"""Bad input, item by item: what the command line says, letter by letter, and that it ends with exit status 2."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from wingspan import cli
from wingspan.base.errors import Mark, Source, Span, excerpt
from wingspan.levels.registry import REGISTRY

BANNER = "%%MatrixMarket matrix coordinate real general\n"
DECLARED = "c = Tensor(Dense(Element(0)), 3)\nc .= 0\n"
FROM_FILE = 'A = Tensor(Dense(SparseList(Element(0.0))), "A.mtx")\nx = A[1, 1]\n'


@dataclass(frozen=True)
class Bad:
    """A program, the options that it is run with, the files beside it, and what is said of them."""

    program: str | bytes
    options: list[str]
    files: dict[str, str]
    said: str


ITEMS = {
    "unknown name": Bad(DECLARED + "c[1] += total\n", [], {}, """
        error[program]: total has no value
          p.ws:3:9
            3 │ c[1] += total
              │         ^^^^^
          fix  assign it before, or give it as a parameter: -p total=…
    """),
    "unknown format": Bad("c = Tensor(Dense(Giraffe(0)), 3)\nc .= 0\nc[1] += 1\n", [], {}, f"""
        error[format]: there is no format Giraffe
          p.ws:1:18
            1 │ c = Tensor(Dense(Giraffe(0)), 3)
              │                  ^^^^^^^
          fix  use one of {', '.join(sorted(REGISTRY))}
    """),
    "no number of axes": Bad("c = Tensor(SparseCOO(Element(0)), 3, 3)\nc .= 0\nc[1, 1] += 1\n", [], {}, """
        error[format]: SparseCOO takes a number of axes, 2 to 16, and a format
          p.ws:1:12
            1 │ c = Tensor(SparseCOO(Element(0)), 3, 3)
              │            ^^^^^^^^^^^^^^^^^^^^^
          fix  for example SparseCOO(2, Element(0.0))
    """),
    "no axes": Bad("c = Tensor(SparseCOO(0, Element(0)), 3)\nc .= 0\nc[1] += 1\n", [], {}, """
        error[format]: SparseCOO takes a number of axes, 2 to 16, and a format
          p.ws:1:12
            1 │ c = Tensor(SparseCOO(0, Element(0)), 3)
              │            ^^^^^^^^^^^^^^^^^^^^^^^^
          fix  for example SparseCOO(2, Element(0.0))
    """),
    "axes of a level that has one": Bad("c = Tensor(Dense{2}(Element(0)), 3, 3)\nc .= 0\nc[1, 1] += 1\n", [], {}, """
        error[syntax]: Dense takes no number of axes
          p.ws:1:12
            1 │ c = Tensor(Dense{2}(Element(0)), 3, 3)
              │            ^^^^^
          fix  write Dense(…)
    """),
    "misspelt format": Bad("c = Tensor(Dense(Elment(0)), 3)\nc .= 0\nc[1] += 1\n", [], {}, """
        error[format]: there is no format Elment
          p.ws:1:18
            1 │ c = Tensor(Dense(Elment(0)), 3)
              │                  ^^^^^^
          fix  did you mean Element?
    """),
    "device without a name in a format": Bad("c = Tensor(Merge(cpu(2), Element(0)))\nc .= 0\n", [], {}, """
        error[format]: the device of Merge is one that has a name, since loops run on it too
          p.ws:1:18
            1 │ c = Tensor(Merge(cpu(2), Element(0)))
              │                  ^^^^^^
          fix  dev = cpu(:t, 2), then Merge(dev, …) and parallel(_, dev)
    """),
    "unknown device": Bad(DECLARED + "for i = parallel(_, dev)\n    c[i] += 1\n", [], {}, """
        error[program]: dev is not a device
          p.ws:3:21
            3 │ for i = parallel(_, dev)
              │                     ^^^
          fix  define it (dev = cpu(2)) or give it: -p 'dev=cpu(2)'
    """),
    "unknown schedule": Bad(
        "dev = cpu(:t, 2)\n" + DECLARED + "for i = parallel(_, dev, sch)\n    c[i] += 1\n", [], {}, """
        error[program]: sch is not a schedule
          p.ws:4:26
            4 │ for i = parallel(_, dev, sch)
              │                          ^^^
          fix  define it (sch = static_schedule()) or give it: -p 'sch=static_schedule()'
    """),
    "wrong arity of a function": Bad("x = min(1)\n", [], {}, """
        error[syntax]: min takes two or more arguments
          p.ws:1:5
            1 │ x = min(1)
              │     ^^^^^^
          fix  min(a, b)
    """),
    "wrong arity of a device": Bad("dev = cpu(:t, 2, 3)\nx = 1\n", [], {}, """
        error[syntax]: a device takes a number of threads
          p.ws:1:18
            1 │ dev = cpu(:t, 2, 3)
              │                  ^
          fix  cpu(2), cpu(:t, 2) or cpu(:t, 2, parent)
    """),
    "wrong arity of a format": Bad("c = Tensor(Dense(Element(0), Element(0)), 3)\nc .= 0\n", [], {}, """
        error[format]: Dense takes one format
          p.ws:1:12
            1 │ c = Tensor(Dense(Element(0), Element(0)), 3)
              │            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          fix  for example Dense(Element(0.0))
    """),
    "subscript count against rank": Bad(DECLARED + "c[1, 2] += 1\n", [], {}, """
        error[program]: c has 1 axis, and here 2 subscripts
          p.ws:3:1
            1 │ c = Tensor(Dense(Element(0)), 3)
              │ ────────────────────────────────
            3 │ c[1, 2] += 1
              │ ^^^^^^^
          fix  write one subscript for each axis
    """),
    "extents that disagree": Bad(
        DECLARED + "v = Tensor(Dense(Element(0)), [1, 2])\nfor i = _\n    c[i] += v[i]\n", [], {}, """
        error[program]: i runs over axis 1 of c, which has extent 3, and over axis 1 of v, which has 2
          p.ws:5:13
            5 │     c[i] += v[i]
              │     ────
              │             ^^^^
          fix  give the range: for i = 1:2, or access v under a condition on i
    """),
    "a constant index out of bounds": Bad(DECLARED + "c[4] += 1\n", [], {}, """
        error[program]: axis 1 of c has extent 3, and here the index 4
          p.ws:3:3
            1 │ c = Tensor(Dense(Element(0)), 3)
              │ ────────────────────────────────
            3 │ c[4] += 1
              │   ^
          fix  use an index from 1 to 3
    """),
    "a constant index out of bounds, read": Bad(
        "v = Tensor(Dense(Element(0)), [1, 2])\nif 1 > 2\n    x = v[2 - 2]\n", [], {}, """
        error[program]: axis 1 of v has extent 2, and here the index 0
          p.ws:3:11
            1 │ v = Tensor(Dense(Element(0)), [1, 2])
              │ ─────────────────────────────────────
            3 │     x = v[2 - 2]
              │           ^^^^^
          fix  use an index from 1 to 2
    """),
    "a device nested in itself": Bad(
        "dev = cpu(:t, 2)\nfor i = parallel(1:2, dev)\n    for j = parallel(1:2, dev)\n        x = j\n", [], {}, """
        error[program]: a loop on dev stands inside another one on it
          p.ws:3:27
            3 │     for j = parallel(1:2, dev)
              │                           ^^^
          fix  use a second device for the inner loop
    """),
    "chunk size below 1": Bad("for i = parallel(1:2, cpu(2), dynamic_schedule(0))\n    x = i\n", [], {}, """
        error[program]: a chunk size is an integer of at least 1, not 0
          p.ws:1:48
            1 │ for i = parallel(1:2, cpu(2), dynamic_schedule(0))
              │                                                ^
          fix  use 1 or more
    """),
    "thread count below 1": Bad("dev = cpu(:t, 1 - 1)\nx = 1\n", [], {}, """
        error[program]: a number of threads is an integer of at least 1, not 0
          p.ws:1:15
            1 │ dev = cpu(:t, 1 - 1)
              │               ^^^^^
          fix  use 1 or more
    """),
    "thread count below 1, a parameter": Bad("dev = cpu(:t, nt)\nx = 1\n", ["-p", "nt=-1"], {}, """
        error[program]: a number of threads is an integer of at least 1, not -1
          p.ws:1:15
            1 │ dev = cpu(:t, nt)
              │               ^^
          fix  use 1 or more
    """),
    "a missing .mtx": Bad(FROM_FILE, [], {}, """
        error[input]: A.mtx: no such file
          p.ws:1:45
            1 │ A = Tensor(Dense(SparseList(Element(0.0))), "A.mtx")
              │                                             ^^^^^^^
          fix  write the path of a file that is there
    """),
    "a missing .mtx, bound": Bad("x = A[1, 1]\n", ["-i", "A=A.mtx"], {}, """
        error[input]: A.mtx: no such file
          command line:1:6
            1 │ -i A=A.mtx
              │      ^^^^^
          fix  write the path of a file that is there
    """),
    "a truncated .mtx": Bad(FROM_FILE, [], {"A.mtx": BANNER + "2 2 2\n1 1 5\n"}, """
        error[input]: A.mtx: not a .mtx file in order: its header announces 2 entries, and 1 follow
          p.ws:1:45
            1 │ A = Tensor(Dense(SparseList(Element(0.0))), "A.mtx")
              │                                             ^^^^^^^
          fix  correct it, or write it again by scipy.io.mmwrite
    """),
    "a non-numeric .mtx": Bad(FROM_FILE, [], {"A.mtx": BANNER + "2 2 1\n1 1 five\n"}, """
        error[input]: A.mtx: not a .mtx file in order: line 3 is `1 1 five`, and should be `row column number`
          p.ws:1:45
            1 │ A = Tensor(Dense(SparseList(Element(0.0))), "A.mtx")
              │                                             ^^^^^^^
          fix  correct it, or write it again by scipy.io.mmwrite
    """),
    "a complex .mtx": Bad(FROM_FILE, [], {"A.mtx": BANNER.replace("real", "complex") + "2 2 1\n1 1 5 0\n"}, """
        error[input]: A.mtx: its numbers are complex
          p.ws:1:45
            1 │ A = Tensor(Dense(SparseList(Element(0.0))), "A.mtx")
              │                                             ^^^^^^^
          fix  write their real parts, or their absolute values
    """),
    "a .mtx with an index out of range": Bad(FROM_FILE, [], {"A.mtx": BANNER + "2 2 1\n3 1 5\n"}, """
        error[input]: A.mtx: not a .mtx file in order: line 3: row 3 is not in 1:2
          p.ws:1:45
            1 │ A = Tensor(Dense(SparseList(Element(0.0))), "A.mtx")
              │                                             ^^^^^^^
          fix  correct it, or write it again by scipy.io.mmwrite
    """),
    "an input bound twice": Bad("x = A[1, 1]\n", ["-i", "A=A.mtx", "-i", "A=B.mtx"], {}, """
        error[input]: A is given twice
          command line:1:15
            1 │ -i A=A.mtx -i A=B.mtx
              │    ───────
              │               ^^^^^^^
          fix  keep one of the two
    """),
    "an input bound twice, by the program": Bad(FROM_FILE, ["-i", "A=A.mtx"], {"A.mtx": BANNER + "1 1 1\n1 1 5\n"}, """
        error[input]: A takes no input: the program gives it data
          p.ws:1:1
            1 │ A = Tensor(Dense(SparseList(Element(0.0))), "A.mtx")
              │ ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          fix  leave one of them out
    """),
    "an input not bound at all": Bad("x = A[1, 1]\n", [], {}, """
        error[input]: A has no data: it is used before it is declared
          p.ws:1:5
            1 │ x = A[1, 1]
              │     ^^^^^^^
          fix  bind it (-i A=FILE), give it data (Tensor(…, [1, 2])), or declare it (A .= 0)
    """),
    "an input of the wrong rank": Bad("x = A[1]\n", ["-i", "A=A.mtx"], {"A.mtx": BANNER + "1 2 1\n1 1 5\n"}, """
        error[input]: A has 1 axis, the input 2
          p.ws:1:5
            1 │ x = A[1]
              │     ^^^^
          fix  define A with a format of 2 axes, or bind another input
    """),
    "an input of the wrong type": Bad(
        "A = Tensor(Dense(Dense(Element(0))))\nx = A[1, 1]\n", ["-i", "A=A.mtx"],
        {"A.mtx": BANNER + "1 1 1\n1 1 0.5\n"}, """
        error[input]: A: 0.5 is not a 64-bit integer, which Dense(Dense(Element(0))) stores
          p.ws:1:1
            1 │ A = Tensor(Dense(Dense(Element(0))))
              │ ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          fix  use another format for A, or other data
    """),
    "an empty file": Bad("", [], {}, """
        error[syntax]: the program is empty
          p.ws:1:1
            1 │
              │ ^
          fix  write a statement, such as x = 1
    """),
    "not UTF-8": Bad(b"x = 1\ny = x # caf\xe9\n", [], {}, """
        error[input]: p.ws: not UTF-8 text
          p.ws:2:12
            2 │ y = x # caf�
              │            ^
          fix  save the program as UTF-8
    """),
    "UTF-16": Bad("x = 1\n".encode("utf-16"), [], {}, """
        error[input]: p.ws: UTF-16 text, not UTF-8 text
          fix  save it as UTF-8
    """),
    "packed by gzip": Bad(b"\x1f\x8b\x08\x00", [], {}, """
        error[input]: p.ws: packed by gzip, not UTF-8 text
          fix  unpack it: gunzip FILE.gz
    """),
    "nested 10,000 deep": Bad("x = " + "(" * 10_000 + "1" + ")" * 10_000, [], {}, f"""
        error[syntax]: this is nested more than 100 deep
          p.ws:1:105
            1 │ …{'(' * 120}…
              │                                                              ^
          fix  split it; x = … names a part of an expression
    """),
    "nested 2,000 deep, blocks": Bad("".join(f"if {n} > 0\n" for n in range(2000)) + "end\n" * 2000, [], {}, """
        error[syntax]: this is nested more than 100 deep
          p.ws:100:4
            100 │ if 99 > 0
                │    ^^
          fix  split it; x = … names a part of an expression
    """),
    "a literal beyond 64 bits": Bad("x = 9223372036854775808\n", [], {}, """
        error[syntax]: this integer does not fit 64 bits
          p.ws:1:5
            1 │ x = 9223372036854775808
              │     ^^^^^^^^^^^^^^^^^^^
          fix  write it as a double, 1e30, or choose a smaller one
    """),
}  # fmt: skip


@pytest.mark.parametrize("verb", ["run", "explore"])
@pytest.mark.parametrize("item", ITEMS)
def test_one_message_says_what_and_where_and_what_to_write_instead(item, verb, tmp_path, monkeypatch, capsys):
    """On standard error, with the exit status 2, and without a traceback."""
    bad = ITEMS[item]
    monkeypatch.chdir(tmp_path)
    Path("p.ws").write_bytes(bad.program if isinstance(bad.program, bytes) else bad.program.encode())
    for name, text in bad.files.items():
        Path(name).write_text(text)
    with pytest.raises(SystemExit) as ended:
        cli.main([verb, "p.ws", *bad.options], prog_name="wingspan")
    out, err = capsys.readouterr()
    assert err == textwrap.dedent(bad.said).strip("\n") + "\n"
    assert (ended.value.code, out) == (2, "")


def test_a_long_line_is_shown_around_the_mark():
    """120 characters of it, and the mark under its own one, also after characters that take two columns or none."""
    for before in ("1 + " * 100, "界1 + " * 100, "e\u0301 + " * 100):
        text = f"x = {before}nn + {'1 + ' * 100}1"
        span = Span(Source("p.ws", text), 1, text.index("nn") + 1, 1, text.index("nn") + 3)
        shown, carets = excerpt([Mark(span, primary=True)])
        line, stroke = shown.partition("│ ")[2], carets.partition("│ ")[2]
        assert line.startswith("…") and line.endswith("…") and len(line) == 122
        shown_before = line[: line.index("nn")]
        columns = len(shown_before) + shown_before.count("界") - shown_before.count("\u0301")
        assert stroke == " " * columns + "^^"


def test_what_cannot_be_printed_is_shown_as_one_character():
    source = Source("p.ws", "x\u200b\x1b[31m = nn")
    assert excerpt([Mark(Span(source, 1, 11, 1, 13), primary=True)]) == ["    1 │ x��[31m = nn", "      │           ^^"]
