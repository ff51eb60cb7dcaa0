"""The registry of rules, by the redexes that they may match."""

from __future__ import annotations

from collections.abc import Callable

from wingspan.base.dataclass import dataclass
from wingspan.semantics.config import Config
from wingspan.semantics.memory import RuleMemory

Apply = Callable[[Config, RuleMemory], Config | None]


@dataclass(frozen=True)
class Rule:
    """A rule: its name, whether the figure has it, its redexes, and its function, whose docstring draws it."""

    name: str
    figure: bool
    redexes: tuple[type, ...]
    apply: Apply


ALL: dict[str, Rule] = {}
_BY_REDEX: dict[type, list[Rule]] = {}


def rule(name: str, *redexes: type, figure: bool = True) -> Callable[[Apply], Apply]:
    """Register a function as the rule `name` for redexes of the given types."""

    def register(apply: Apply) -> Apply:
        made = ALL[name] = Rule(name, figure, redexes, apply)
        for redex in redexes:
            _BY_REDEX.setdefault(redex, []).append(made)
        return apply

    return register


def rules_for(redex: object) -> list[Rule]:
    """The rules to try, in the order of their definition."""
    return _BY_REDEX.get(type(redex), [])
