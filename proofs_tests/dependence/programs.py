"""Programs with one device, and what the level dependence test and the explorer say of them."""

from __future__ import annotations

from textwrap import dedent

from proofs_tests.exploring import verdict
from wingspan import api
from wingspan.dependence import TESTS, Analysis, Report, check


def report(text: str, test: str = "repaired") -> Report:
    return check(api.bind(api.parse(dedent(text))), test)  # type: ignore[arg-type]


def verdicts(text: str) -> tuple[str, ...]:
    """By the printed, the repaired and the exact test, and by exploration."""
    bound = api.bind(api.parse(dedent(text)))
    tests = Analysis(bound.body, bound.symbols)
    return *(tests.verdict(bound.towers, test) for test in TESTS), verdict(bound)


def topics(text: str) -> list[str]:
    return [finding.topic for finding in report(text).findings]


def program(form: str, loops: str, *updates: str, shape: str = "2, 2", n: int = 2) -> str:
    """Updates of one tensor in loops, outermost first; a loop `p on d` is parallel."""
    lines = ["d = cpu(:d, 2)", "e = cpu(:e, 2)", f"T = Tensor({form}, {shape})", "T .= 0"]
    names = loops.split(";")
    for loop in names:
        index, _, device = loop.strip().partition(" on ")
        name, _, r = index.partition("=")
        r = r.strip() or f"1:{n}"
        lines.append(f"for {name.strip()} = {f'parallel({r}, {device})' if device else r}")
    return "\n".join([*lines, *updates, *["end"] * len(names)])
