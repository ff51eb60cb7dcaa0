"""The rules: the figure's names are all there, each fires somewhere, and the page of rules shows them as they are."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from proofs_tests import places
from proofs_tests.exploring import explored
from proofs_tests.rule_coverage import FIGURE, FIRED, table
from wingspan.explorer import states
from wingspan.semantics.config import Config
from wingspan.semantics.memory import RuleMemory
from wingspan.semantics.rules import ALL, registry
from wingspan.semantics.rules.__main__ import document

EVERYTHING = """
    dev = cpu(:dev, 2)
    A = Tensor(SparseList(Element(0)), [0, 2, 3])
    C = Tensor(Dense(Shard(dev, SparseList(Element(0)))))
    y = Tensor(Dense(Atomic(0)), 3)
    w = Tensor(SparseByteMap(Element(0)))
    some = ShortCircuitScalar(false)
    first = ShortCircuitScalar(0)
    C .= 0
    y .= 0
    some .= false
    first .= 0
    for i = _
        some[] |= A[i] > 1
        first[] <<choose(0)>>= A[i]
    end
    x = 0
    for j = parallel(1:3, dev, dynamic_schedule(2))
        w .= 0
        for i = _
            w[i] += A[i] * A[j]
        end
        for i = _
            C[i, j] = w[i]
        end
        x = j
        z = coalesce(A[~(j + 1)], 5)
        z = x + 1
        z = z + 1
        if z > 3
            y[j] += z
        end
    end
    for i = parallel(1:3)
        y[i] += 1
    end
    freeze(y)
    y[1] += A[3] - A[2] + y[2]
    for i = 2:1
        x = i
    end
    assert(x > 0)
"""
"""A program that reaches every rule."""


def test_the_figure_and_the_registry_have_the_same_names() -> None:
    assert sorted(FIGURE) == sorted(rule.name for rule in ALL.values() if rule.figure)
    assert len(FIGURE) == 24


def test_every_rule_fires(monkeypatch: pytest.MonkeyPatch) -> None:
    """One small program reaches all the rules, the administrative ones too."""
    monkeypatch.setattr(states, "offers_local_steps", lambda machine: False)  # ParRight is about whole states
    before = Counter(FIRED)
    explored(EVERYTHING)
    assert (FIRED - before).keys() == ALL.keys()


def test_a_rule_that_never_fired_stands_out() -> None:
    """The table has the figure's rules in its order, then the others, and says how many fired."""
    lines = list(table(Counter(dict.fromkeys(ALL, 1234)) - Counter(Thaw=1234)))
    assert tuple(line.split()[0] for line in lines[:24]) == FIGURE
    assert all(line.endswith("1 234  not in the figure") for line in lines[24:-1])
    assert [line for line in lines if "never" in line] == ["Thaw                never"]
    assert lines[-1] == f"{len(ALL) - 1} of {len(ALL)} rules fired"


def test_the_page_of_rules_is_up_to_date() -> None:
    """docs/rules.md is what `make docs` writes."""
    page = places.ROOT / "docs" / "rules.md"
    assert page.read_text(encoding="utf-8") == document()


def test_every_rule_is_drawn() -> None:
    """Each docstring has a rule line between premises and conclusion."""
    assert [rule.name for rule in ALL.values() if "───" not in (rule.apply.__doc__ or "")] == []


def test_at_most_one_rule_applies_to_a_redex(monkeypatch: pytest.MonkeyPatch) -> None:
    """The premises exclude each other, so that the order in which rules are tried means nothing."""
    several: list[list[str]] = []

    def alone(rule: registry.Rule, others: list[registry.Rule]) -> registry.Rule:
        def apply(C: Config, μ: RuleMemory) -> Config | None:
            probes = [RuleMemory(μ.heap, μ.facts, list(μ.outer)) for _ in others]
            after = rule.apply(C, μ)
            if after is not None:
                for probe in probes:
                    probe.premise = μ.premise
                found = [other.name for other, probe in zip(others, probes, strict=True) if other.apply(C, probe)]
                if found:
                    several.append([rule.name, *found])
            return after

        return replace(rule, apply=apply)

    for redex, rules in list(registry._BY_REDEX.items()):
        wrapped = [alone(rule, [other for other in rules if other is not rule]) for rule in rules]
        monkeypatch.setitem(registry._BY_REDEX, redex, wrapped)
    monkeypatch.setattr(states, "offers_local_steps", lambda machine: False)
    explored(EVERYTHING, threads=2)
    assert several == []
