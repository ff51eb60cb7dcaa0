"""Functions of NumPy as operators of the language, and the refusal of those that lazy arrays lack."""

from __future__ import annotations

from wingspan.base.errors import InputError
from wingspan.base.libraries import np

OPERATORS = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/", np.floor_divide: "÷", np.remainder: "%",
    np.bitwise_and: "&", np.bitwise_or: "|", np.bitwise_xor: "⊻", np.left_shift: "<<", np.right_shift: ">>",
    np.less: "<", np.less_equal: "<=", np.greater: ">", np.greater_equal: ">=", np.equal: "==", np.not_equal: "!=",
    np.negative: "-", np.absolute: "abs", np.invert: "~",
}  # fmt: skip
"""NumPy's functions behind Python's operators, as operators of the language."""


IRRATIONAL = {
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "asin", "asinh",
    "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "exp", "exp2", "expm1", "hypot", "log", "log10", "log1p",
    "log2", "logaddexp", "logaddexp2", "sin", "sinh", "sqrt", "std", "tan", "tanh",
}  # fmt: skip
"""Functions of NumPy whose values are seldom rationals."""

BY_VALUE = {
    "argpartition", "argsort", "partition", "searchsorted", "sort", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values",
}  # fmt: skip
"""Functions of NumPy that need elements in the order of their values."""


class UnsupportedFunction(InputError, AttributeError, TypeError):
    """A function of NumPy that lazy arrays lack."""


def missing_function(name: str) -> UnsupportedFunction:
    """The one refusal of a function of NumPy: why it is missing, and what to write instead."""
    reason = ""
    if name in IRRATIONAL:
        reason = ": the rules and the reference compute exact rationals, and its values are seldom any"
    elif name in BY_VALUE:
        reason = ": no loop of the language takes elements in the order of their values"
    fix = f"compute it, and go on with NumPy: numpy.{name}(numpy.asarray(x))"
    return UnsupportedFunction(f"lazy arrays have no {name}{reason}", fix=fix)
