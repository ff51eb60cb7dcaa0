"""The kinds of values: of elements, of variables and of what expressions give. `widths` are what cells make of them."""

from __future__ import annotations

from collections.abc import Iterable

from wingspan.base.dataclass import dataclass
from wingspan.lang.pairs import Pair
from wingspan.lang.registers import BOOL, FLOAT, INT, RegisterType, ValueType


@dataclass(frozen=True, eq=False)
class Kind(ValueType):
    """A kind of value."""

    word: str
    """its name in messages"""
    full: str
    """the same, where it matters how many bits it has"""
    fill: str
    """a fill value, for examples of leaves"""
    narrow: str
    """the same with a width, if there are several"""
    register: RegisterType
    """the type of registers that hold it"""

    @property
    def is_packed(self) -> bool:
        """Whether machines and arrays hold a word that stands for a value."""
        return self.register.name != self.name


KINDS = {
    kind.name: kind
    for kind in (
        Kind("int", int, "integer", "64-bit integer", "0", "0, u8", INT),
        Kind("float", float, "double", "double", "0.0", "0.0, f32", FLOAT),
        Kind("bool", bool, "boolean", "boolean", "false", "false", BOOL),
        Kind("pair", Pair, "pair", "pair", "(Inf, 0)", "(Inf, 0)", INT),
    )
}


def promote(kinds: Iterable[Kind]) -> Kind:
    """The kind of what is computed of numbers: doubles if one is a double."""
    return KINDS["float" if any(kind.is_double for kind in kinds) else "int"]
