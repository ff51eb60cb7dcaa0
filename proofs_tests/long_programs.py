"""Programs of any length, and how many calls something makes: what grows faster than the text shows in their number."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

DEFINED = "c{k} = Tensor({form}, 4)\nc{k} .= 0\n"
OPEN = "A{k} = Tensor(Dense(Element(0)))\nb{k} = Tensor(Dense(Element(0)))\nb{k} .= 0\n"
ONE = DEFINED.format(k=0, form="Dense(Element(0))")


def tensors(n: int) -> str:
    """So many tensors, each with an update in one loop."""
    defined = "".join(DEFINED.format(k=k, form="Dense(Element(0))") for k in range(n))
    return f"{defined}for i = parallel(1:4)\n" + "".join(f"c{k}[i] += {k}\n" for k in range(n)) + "end\n"


def statements(n: int) -> str:
    """So many updates of one tensor in one loop."""
    return f"{ONE}for i = parallel(1:4)\n" + "".join(f"c0[i] += {k}\n" for k in range(n)) + "end\n"


def loops(n: int) -> str:
    """So many loops one after another, each with an update of one tensor."""
    return ONE + "".join(f"for i = parallel(1:4); c0[i] += {k}; end\n" for k in range(n))


def loops_and_tensors(n: int) -> str:
    """So many loops one after another, each with an update of a tensor of its own."""
    defined = "".join(DEFINED.format(k=k, form="SparseList(Element(0))") for k in range(n))
    return defined + "".join(f"for i = 1:4; c{k}[i] += {k}; end\n" for k in range(n))


def variables(n: int) -> str:
    """So many variables, each with a value that depends on the one before."""
    return "x0 = 1\n" + "".join(f"x{k} = x{k - 1} + 1\n" for k in range(1, n))


def conditions(n: int) -> str:
    """So many conditions in a loop."""
    return f"{ONE}for i = 1:4\n" + "".join(f"if i > {k % 4}; c0[i] += {k}; end\n" for k in range(n)) + "end\n"


def open_inputs(n: int) -> str:
    """So many tensors without data or extents, each with a loop over it."""
    defined = "".join(OPEN.format(k=k) for k in range(n))
    return defined + "".join(f"for i = _; b{k}[i] += A{k}[i]; end\n" for k in range(n))


LONG: dict[str, Callable[[int], str]] = {
    made.__name__.replace("_", " "): made
    for made in (tensors, statements, loops, loops_and_tensors, variables, conditions, open_inputs)
}


def calls(do: Callable[[Any], Any], given: Any) -> int:
    """The number of function calls, of Python's own functions and of those written in C."""
    count = 0

    def note(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        do(given)
    finally:
        sys.setprofile(before)
    return count
