"""The rules that a program fires, beside a report."""

from __future__ import annotations

from textwrap import wrap

from wingspan.semantics.rules import ALL
from wingspan.trace.coverage import Coverage
from wingspan.views.values import count, digits

WIDTH, COLUMNS = 80, 3


def coverage(coverage: Coverage) -> str:
    """The rules that are fired with how often, in columns, and those that are not."""
    size = sum(1 for rule in ALL.values() if rule.figure)
    where = f"all {count(coverage.states, 'state')}" if coverage.all else f"{count(coverage.states, 'state')} of more"
    fired = {name: digits(times) for name, times in coverage.fired.items() if times}
    never = [name for name, times in coverage.fired.items() if not times and ALL[name].figure]
    names, numbers = max(map(len, fired), default=0), max(map(len, fired.values()), default=0)
    cells = [f"  {name:<{names}}  {times:>{numbers}}" for name, times in fired.items()]
    rows = -(-len(cells) // COLUMNS)
    lines = ["   ".join(cells[row::rows]) for row in range(rows)]
    left = wrap(f"never: {', '.join(never)}", WIDTH - 4, initial_indent="  ", subsequent_indent="         ")
    head = f"coverage: {coverage.figure} of the figure's {size} rules, from {where}; in so many steps:"
    return "\n".join([head, *lines, *(left if never else [])])
