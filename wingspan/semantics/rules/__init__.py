"""The inference rules, one function each, named as in the paper's figure of the semantics.

A rule takes a configuration focused on its redex and the memory, and gives the next configuration, or None if a
premise does not hold. Rules tagged `figure=False` are the administrative ones that the figure omits.
"""

from wingspan.semantics.rules import administrative, parallel, scoping, serial, tensor
from wingspan.semantics.rules.registry import ALL, Rule, rules_for

__all__ = ["ALL", "Rule", "administrative", "parallel", "rules_for", "scoping", "serial", "tensor"]
