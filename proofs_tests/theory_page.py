"""The data files of docs/theory.md, from what bench/theory.py and bench/soundness.py count, and the tables of the page.

python -m proofs_tests.theory_page      writes the tables anew, from the data files
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from proofs_tests import soundness
from proofs_tests.generated import DATA, rewrite, rows_of, table
from proofs_tests.places import ROOT
from proofs_tests.soundness import JUDGES, REASONED, TRUTHS
from proofs_tests.theory import Tally
from wingspan import api
from wingspan.dependence import TESTS

PAGE = ROOT / "docs" / "theory.md"
SCOPES, FAILURES = DATA / "theory.csv", DATA / "theory-failures.csv"
SHAPES, REASONS = DATA / "soundness.csv", DATA / "soundness-reasons.csv"
OUTCOMES = ("accepted-bad", "accepted-safe", "rejected-safe", "rejected-bad")


def surprising(tally: Tally) -> bool:
    """Whether a sound test accepted what is not safe, or oracle and explorer disagree."""
    sound = ("repaired", "exact")
    unsound = any(tally.count(test, "accepted-bad") or tally.explored.get(test) for test in sound)
    return unsound or bool(tally.disagreements)


# ----------------------------------------------------------------------------------------------------------- data files


def scope_rows(scopes: str, totals: Mapping[str, Tally], programs: Mapping[str, int]) -> list[dict[str, object]]:
    """A row for each scope and test. `programs` is the size of each scope, also where a part of it is judged."""
    return [
        {
            "scopes": scopes,
            "scope": name,
            "test": test,
            "programs": programs[name],
            "judged": tally.programs,
            **{outcome: tally.count(test, outcome) for outcome in OUTCOMES},
            "explored": tally.explored.get("programs", 0),
            "explored: cut": tally.explored.get("cut", 0),
            "explored: bad": tally.explored.get("bad", 0),
            "explored: oracle disagrees": tally.explored.get("disagree", 0),
            "explored: accepted-bad": tally.explored.get(test, 0),
        }
        for name, tally in totals.items()
        for test in TESTS
    ]


def failure_rows(scopes: str, totals: Mapping[str, Tally]) -> list[dict[str, object]]:
    """A row for each class of failure of each test: how many programs, and the smallest of them."""
    total = Tally()
    for tally in totals.values():
        total.add(tally)
    keys = sorted((TESTS.index(key.split(", ")[0]), key) for key in total.failures)
    return [
        {
            "scopes": scopes,
            **dict(zip(("test", "outcome", "class"), key.split(", ", 2), strict=True)),
            "programs": total.failures[key],
            "smallest program": str(api.parse(total.examples[key][-1])).rstrip(),
        }
        for _, key in keys
    ]


def shape_rows(totals: Mapping[str, soundness.Tally]) -> list[dict[str, object]]:
    """A row for each shape of random programs and test."""
    columns = [(outcome, found) for outcome in ("accepted", "rejected") for found in TRUTHS]
    return [
        {"shape": name, "test": test, **{f"{a} {b}": tally.count(test, a, b) for a, b in columns}}
        for name, tally in totals.items()
        for test in JUDGES
    ]


def reason_rows(totals: Mapping[str, soundness.Tally]) -> list[dict[str, object]]:
    """A row for each reason to reject and test: how many of the programs are bad, and how many are safe.

    Programs whose search is cut, or that fault because of values alone, are left out.
    """
    counts: Counter[str] = Counter()
    for tally in totals.values():
        counts.update(tally.reasons)
    reasons = sorted({key.split(", ")[1] for key in counts})
    return [
        {"rejected for": reason, "test": test, **{f: counts[f"{test}, {reason}, {f}"] for f in ("bad", "safe")}}
        for reason in reasons
        for test in REASONED
    ]


# --------------------------------------------------------------------------------------------------- tables of the page


Rows = Sequence[Mapping[str, str]]
NAMES = {"full": "Dense, SparseList, SparseByteMap, SparseDict", "levels": "runs, blocks, bands, coordinates"}
"""The storage levels of the two sets of scopes."""


def small_scopes(rows: Rows) -> str:
    """All scopes of a set added up, for each test."""
    of_explored = ["cut", "oracle disagrees", "accepted-bad"]
    heads = ["levels", "test", "programs", *OUTCOMES, "explored", *(f"of these {name}" for name in of_explored)]
    columns = ["judged", *OUTCOMES, "explored", *(f"explored: {name}" for name in of_explored)]
    return table(heads, _summed(rows, ("scopes", "test"), columns, NAMES))


def failures(rows: Rows) -> str:
    """The number of programs that each test accepts or rejects in vain, by class of failure without the level."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        found[_kind(row["class"])][f"{row['test']}: {row['outcome']}"] += int(row["programs"])
    heads = [f"{test}: {outcome}" for test in TESTS for outcome in ("accepted-bad", "rejected-safe")]
    heads = [head for head in heads if any(counts[head] for counts in found.values())]
    return table(
        ["class", *heads], ([name, *(counts[head] for head in heads)] for name, counts in sorted(found.items()))
    )


def _kind(name: str) -> str:
    """A class of failure without the level."""
    return name.partition(" in ")[0].partition(" at ")[0]


def shapes(rows: Rows) -> str:
    """All shapes added up, for each test."""
    columns = [column for column in rows[0] if column not in ("shape", "test")]
    return table(["test", *columns], _summed(rows, ("test",), columns))


def reasons(rows: Rows) -> str:
    """Reasons to reject, with those that name a level together, and the share of safe programs."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        name = "level-dependence" if " at " in row["rejected for"] else row["rejected for"]
        for each in (name, "all"):
            found[each].update({f"{row['test']} {truth}": int(row[truth]) for truth in ("bad", "safe")})
    heads = [f"{test}: {head}" for test in REASONED for head in ("bad", "safe", "safe of all")]
    lines = []
    for name in sorted(found, key=lambda name: (name == "all", name)):
        pairs = [(found[name][f"{test} bad"], found[name][f"{test} safe"]) for test in REASONED]
        lines.append([name, *(cell for bad, safe in pairs for cell in (bad, safe, _percent(safe, bad + safe)))])
    return table(["rejected for", *heads], lines)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def _summed(
    rows: Rows, by: Sequence[str], columns: Sequence[str], names: Mapping[str, str] | None = None
) -> Iterable[list[object]]:
    """The sums of columns over rows that agree in others, whose values stand first, once each."""
    sums: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for row in rows:
        sums[tuple(row[key] for key in by)].update({column: int(row[column]) for column in columns})
    last = ""
    for key, counts in sums.items():
        first = "" if len(key) > 1 and key[0] == last else (names or {}).get(key[0], key[0])
        last = key[0]
        yield [first, *key[1:], *(counts[column] for column in columns)]


TABLES: Mapping[str, Callable[[], str]] = {
    "small scopes": lambda: small_scopes(rows_of(SCOPES)),
    "failures": lambda: failures(rows_of(FAILURES)),
    "random programs": lambda: shapes(rows_of(SHAPES)),
    "reasons": lambda: reasons(rows_of(REASONS)),
}
"""The generated parts of the page, by name."""


def write_page() -> None:
    """Rewrite the tables of the page from the data files."""
    rewrite(PAGE, {name: make() for name, make in TABLES.items()})


if __name__ == "__main__":
    write_page()
