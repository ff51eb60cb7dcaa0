"""The words of random programs: a new operator, function, kind of value or schedule is added here, for all writers.

New levels and modifiers are added to `wingspan.testing.formats`.
"""

from __future__ import annotations

from wingspan.api.small import SCHEDULES

UPDATES = {
    "int": ("=", "+=", "+=", "-=", "*=", "<<min>>=", "<<max>>=", "+%=", "-%=", "*%=", "<<&>>=", "<<|>>=", "<<xor>>="),
    "float": ("=", "+=", "+=", "-=", "*=", "<<min>>=", "<<max>>="),
    "bool": ("=", "&=", "|="),
    "pair": ("=", "<<minby>>=", "<<minby>>=", "<<maxby>>="),
}
"""The updates of elements, by their kind."""
OPERATORS = {
    "int": ("+", "-", "*", "*", "min", "max", "÷", "%", "&", "|", "⊻", ">>", "<<", "+%", "-%", "*%", "gcd"),
    "float": ("+", "-", "*", "*", "min", "max", "÷", "%", "/"),
}
"""The binary operators on numbers, by their kind."""
COMPARISONS = ("<", "<=", "==", "!=", ">")
LITERALS = {
    "int": ("0", "1", "2", "-1"), "float": ("0.0", "0.5", "1.0", "2"), "bool": ("true", "false"),
    "pair": ("(0.0, 1)", "(0.5, 2)", "(-1.0, -2)", "(Inf, 0)"),
}  # fmt: skip
FILLS = {
    "int": ("0", "0", "1"), "float": ("0.0", "0.0", "0.5"), "bool": ("false", "true"),
    "pair": ("(Inf, 0)", "(Inf, 0)", "(0.0, 0)"),
}  # fmt: skip
WIDTHS = {"int": ("i8", "u8", "i16", "i32"), "float": ("f32",)}
"""Widths of leaves whose cells are narrower than the values that programs compute with."""
NEUTRAL = {"*=": "1", "*%=": "1", "<<&>>=": "-1", "&=": "true", "|=": "false"}
"""The neutral fill value for merging copies by an operator; 0 for operators without one."""
DECLARED = {
    "grown": "function grown(x, y; associative, commutative, identity = 0) = x + y + x * y",
    "twice": "function twice(x, y) = 2 * x - y",
    "larger": "function larger(x, y; associative, commutative, idempotent) = ifelse(y > x, y, x)",
    "other": "function other(p, q; associative, commutative, identity = false) = p != q",
}
FUNCTIONS = {
    "int": ("grown", "twice", "larger", "choose(0)"),
    "float": ("grown", "twice", "larger", "choose(0.0)"),
    "bool": ("other", "choose(false)"),
}
"""Functions of two values of a kind. The order of updates by `twice` matters."""
KEEPING = {"int": ("*=", "*%=", "<<choose(0)>>="), "bool": ("&=", "|=", "<<choose(false)>>=")}
"""The updates of short-circuit scalars: each has a value that it cannot change."""
SCHEDULED = ("", *(f", {schedule}" for schedule in SCHEDULES))
"""The schedule of a parallel loop, after its device."""


def declarations(text: str) -> list[str]:
    """The functions that a program calls or updates by, declared."""
    return [line for name, line in DECLARED.items() if f"{name}(" in text or f"<<{name}>>" in text]
