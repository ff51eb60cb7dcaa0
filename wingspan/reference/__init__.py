"""The sequential result of a program over dense arrays: the oracle that everything else is compared with.

It knows neither levels nor tasks nor rules, so that it cannot share their mistakes. Parallel loops run in the order of
their indices. Values are exact: integers of 64 bits that fault on overflow, and fractions for doubles. Inf, -Inf and
NaN follow IEEE 754.

Zero times Inf or NaN is NaN, unless the zero is a literal or an element that is not stored: then it is zero. The
reference is given which elements inputs store. What other tensors store depends on their formats: where that decides
the result, the reference gives up (`Undecided`).

A format may hold only some tensors. At the end of the scope that declares a tensor, the reference asks whether its
format holds what was written, and faults if not.
"""

from wingspan.reference.evaluator import Formats, ReferenceResults, Undecided, evaluate
from wingspan.reference.values import INT_MAX, INT_MIN, exact, show, single

__all__ = ["INT_MAX", "INT_MIN", "Formats", "ReferenceResults", "Undecided", "evaluate", "exact", "show", "single"]
