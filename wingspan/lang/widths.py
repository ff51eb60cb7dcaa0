"""Storage widths: what a cell of a leaf holds, and what it makes of a value that is stored there.

Programs compute with 64-bit integers, doubles and truth values, whatever the width. Only a store knows of it: an
integer that does not fit is a fault, and a double is rounded to f32.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.lang.ir import Value
from wingspan.lang.kinds import KINDS
from wingspan.lang.pairs import single


@dataclass(frozen=True)
class Width:
    """A storage width."""

    name: str
    """its name in programs, if they may use it"""
    kind: str
    """int, float, bool or pair: what its cells hold"""
    dtype: str
    """NumPy's name of the type"""
    c: str
    """the type of a cell in C"""

    @property
    def narrow(self) -> bool:
        """Whether there are values of its kind that it does not hold."""
        return self not in USUAL.values()

    @property
    def cell(self) -> str:
        """The type of a cell of shared memory of this width."""
        return self.name if self.narrow else KINDS[self.kind].register.cell

    @property
    def rounds(self) -> bool:
        """Whether a store rounds."""
        return self.narrow and KINDS[self.kind].is_double

    @property
    def range(self) -> range:
        """The integers that it holds."""
        bits = int(self.name[1:])
        return range(2**bits) if self.name[0] == "u" else range(-(2 ** (bits - 1)), 2 ** (bits - 1))

    def holds(self, value: Value) -> bool:
        """Whether a value of its kind may be stored."""
        return not KINDS[self.kind].is_integer or value in self.range

    def round_to_width(self, value: Any) -> Any:
        """The value of a cell after storing a value that fits."""
        return f32(value) if self.rounds else value

    def __str__(self) -> str:
        return self.name


USUAL = {
    "int": Width("i64", "int", "int64", "int64_t"),
    "float": Width("f64", "float", "float64", "double"),
    "bool": Width("bool", "bool", "bool", "uint8_t"),
    "pair": Width("pair", "pair", "int64", "int64_t"),
}
"""By kind, the width of leaves that are given none."""

NARROW = {
    width.name: width
    for width in (
        *(Width(f"{sign}{n}", "int", f"{name}{n}", f"{name}{n}_t") for sign, name in (("u", "uint"), ("i", "int"))
          for n in (8, 16, 32)),
        Width("f32", "float", "float32", "float"),
    )
}  # fmt: skip
"""The widths that programs may ask for."""

WIDTHS = {width.name: width for width in (*USUAL.values(), *NARROW.values())}
BY_DTYPE = {width.dtype: width for width in WIDTHS.values() if not KINDS[width.kind].is_packed}
"""The widths of numbers and truth values."""


def f32(x: Any) -> Any:
    """The nearest value of 32 bits, ties to even, of a double or a rational.

    A double beyond the largest of them becomes infinite; a rational stays as it is, as one does that is beyond the
    largest double.
    """
    if isinstance(x, float) or x == 0:
        return single(x) if isinstance(x, float) and x == x else x
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, -126) - 23)
    near = round(x / unit) * unit
    return near if abs(near) < 2**128 else x
