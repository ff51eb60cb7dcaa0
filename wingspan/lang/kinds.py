"""The kinds of values: of elements, of variables and of what expressions give. `widths` are what cells make of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wingspan.lang.ir import Value
from wingspan.lang.pairs import Pair


@dataclass(frozen=True)
class Kind:
    """A kind of value."""

    name: str
    word: str
    """its name in messages"""
    full: str
    """the same, where it matters how many bits it has"""
    python: Callable[[Any], Value]
    """from what arrays and machines hold to a value in Python"""
    zero: Value
    """what a cell holds that was never written"""
    fill: str
    """a fill value, for examples of leaves"""
    narrow: str
    """the same with a width, if there are several"""
    register: str
    """the type of registers that hold it"""
    c: str
    """C's type of such a register"""
    cell: str
    """the type of a cell of shared memory that holds it, which ends the names of C functions"""


KINDS = {
    kind.name: kind
    for kind in (
        Kind("int", "integer", "64-bit integer", int, 0, "0", "0, u8", "int", "int64_t", "i64"),
        Kind("float", "double", "double", float, 0.0, "0.0", "0.0, f32", "float", "double", "f64"),
        Kind("bool", "boolean", "boolean", bool, False, "false", "false", "bool", "bool", "u8"),
        Kind("pair", "pair", "pair", Pair, Pair(0), "(Inf, 0)", "(Inf, 0)", "int", "int64_t", "i64"),
    )
}
