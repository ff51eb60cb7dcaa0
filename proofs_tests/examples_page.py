"""The table in examples/README.md: which rules each example fires. `python -m proofs_tests.examples_page` writes it.

`make docs` does so. Programs with something open are looked at as `--small` draws it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from proofs_tests.places import EXAMPLES
from proofs_tests.rule_coverage import FIGURE
from wingspan import api
from wingspan.api.small import draw
from wingspan.trace import Trace
from wingspan.trace.coverage import Coverage, coverage

PAGE = EXAMPLES / "README.md"
BEGIN, END = "<!-- the table begins: `make docs` writes it -->\n", "<!-- the table ends -->\n"
MOST_STATES = 60
"""States of each program in which rules are counted, those of one run to its end among them."""


def programs() -> list[Path]:
    """The examples; karate takes too many steps to be a lesson."""
    return [path for path in sorted(EXAMPLES.glob("*.ws")) if path.stem != "karate"]


def covered(path: Path) -> Coverage:
    """The rules that an example fires."""
    program = api.load(path)
    drawn = draw(program)
    bound = api.bind(program, inputs=drawn.inputs, params=drawn.params, threads=drawn.scope if drawn.params else None)
    return coverage(Trace(bound), MOST_STATES)


def table() -> str:
    """Programs by the rules that some fire and some do not, and a line on those that all fire."""
    found = {path: covered(path) for path in programs()}
    every = [rule for rule in FIGURE if all(made.fired[rule] for made in found.values())]
    return "\n".join((f"All of them fire {', '.join(every)}.\n", *_rows(found, [r for r in FIGURE if r not in every])))


def _rows(found: dict[Path, Coverage], rules: list[str]) -> Iterator[str]:
    yield f"| program | {' | '.join(rules)} |"
    yield "|---|" + ":-:|" * len(rules)
    for path, made in found.items():
        yield row(path, made, rules)


def row(path: Path, made: Coverage, rules: list[str]) -> str:
    """A program, and a dot for each of the rules that it fires."""
    dots = " | ".join("●" if made.fired[rule] else "" for rule in rules)
    return f"| [{path.stem}]({path.name}) | {dots} |"


def main() -> None:
    """Write the table into its page."""
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n{table()}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
