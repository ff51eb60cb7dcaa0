"""The kinds of values: of elements, of variables and of what expressions give. `widths` are what cells make of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wingspan.base.dataclass import dataclass
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
    """the value of a cell that was never written"""
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

    @property
    def is_number(self) -> bool:
        """Whether a value is a number as it stands."""
        return self.python in (int, float)

    @property
    def is_packed(self) -> bool:
        """Whether machines and arrays hold a word that stands for a value."""
        return self.register != self.name

    @property
    def has_nan(self) -> bool:
        """Whether a value may differ from itself."""
        return self.python is float


KINDS = {
    kind.name: kind
    for kind in (
        Kind("int", "integer", "64-bit integer", int, 0, "0", "0, u8", "int", "int64_t", "i64"),
        Kind("float", "double", "double", float, 0.0, "0.0", "0.0, f32", "float", "double", "f64"),
        Kind("bool", "boolean", "boolean", bool, False, "false", "false", "bool", "bool", "u8"),
        Kind("pair", "pair", "pair", Pair, Pair(0), "(Inf, 0)", "(Inf, 0)", "int", "int64_t", "i64"),
    )
}
