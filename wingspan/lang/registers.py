"""The types of registers: what machines compute with. `kinds` are what programs make of their contents."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from struct import Struct
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.lang.ir import Value


@dataclass(frozen=True, eq=False)
class ValueType:
    """A set of values, as others ask about it: none decides by its name."""

    name: str
    python: Callable[[Any], Value]
    """from what arrays and machines hold to a value in Python"""

    @property
    def zero(self) -> Value:
        """The value of a register or a cell that was never written."""
        return self.python(0)

    @property
    def is_integer(self) -> bool:
        """Whether values are integers as they stand: 64 bits, whose arithmetic wraps around."""
        return self.python is int

    @property
    def is_double(self) -> bool:
        """Whether values are doubles, whose arithmetic rounds."""
        return self.python is float

    @property
    def is_boolean(self) -> bool:
        """Whether values are true or false, as conditions are."""
        return self.python is bool

    @property
    def is_number(self) -> bool:
        """Whether a value is a number as it stands."""
        return self.is_integer or self.is_double

    @property
    def has_nan(self) -> bool:
        """Whether a value may differ from itself."""
        return self.is_double

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True, eq=False, repr=False)
class RegisterType(ValueType):
    """A type of registers. There is one object of each."""

    word: Struct
    """the layout of its word in a file of registers"""
    c: str
    """C's type of a variable"""
    cell: str
    """the type of a cell of shared memory that holds its values, which ends the names of C functions"""
    member: str
    """the member of a `ws_value` that holds its values"""

    @property
    def is_instance(self) -> bool:
        """Whether values stand for instances, which means nothing outside of a run."""
        return self is INSTANCE

    @property
    def c_zero(self) -> str:
        """Zero in C."""
        return "NULL" if self.is_instance else repr(self.zero).lower()

    @property
    def letter(self) -> str:
        """The letter that stands for the type where C writes values in messages and results."""
        return self.name[0]

    @property
    def arithmetic(self) -> str:
        """The first word of the names of the engine's instructions on its values."""
        return "float" if self.is_double else "int"

    @property
    def equality(self) -> str:
        """The operation that compares what two registers hold; NaN is like NaN."""
        return "alike" if self.has_nan else "=="

    @property
    def bit_equality(self) -> str:
        """The operation that compares what two registers hold to the bit."""
        return "same" if self.has_nan else "=="

    def pack(self, value: Value) -> bytes:
        """The word that holds a value."""
        return self.word.pack(value if self.is_double else int(value))

    def unpack(self, words: bytes, at: int = 0) -> Value:
        """The value in a word of a register file, or of the results of compiled C."""
        return self.python(*self.word.unpack_from(words, 8 * at))

    def __repr__(self) -> str:
        return self.name.upper()

    def __reduce__(self) -> str:
        return repr(self)


INT = RegisterType("int", int, Struct("<q"), "int64_t", "i64", "i")
FLOAT = RegisterType("float", float, Struct("<d"), "double", "f64", "f")
BOOL = RegisterType("bool", bool, Struct("<q"), "bool", "u8", "i")
INSTANCE = RegisterType("instance", index, Struct("<q"), "ws_instance *", "", "i")
"""Instances, by their numbers: they are held in registers only."""
