"""The report of the level dependence test, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wingspan.base.errors import Diagnostic, Mark, Span, notes
from wingspan.dependence import Advice, Finding, Iteration, Report, SafetyProof, Witness
from wingspan.dependence.findings import promise
from wingspan.lang import ir
from wingspan.levels.base import Dependence
from wingspan.views.terminal import MOST, align, count_rest, first_few, table
from wingspan.views.values import count, in_order, task
from wingspan.views.view import CheckReport

PRINTED = "Algorithm 1 as the paper prints it accepts programs that race: do not rely on it"
REFUSED = "what it does not accept may be safe, too"

WIDEST = 48
"""Longer accesses are cut in headlines and tables."""

ONE_TASK = ("order", "overlap", "deadlock")
"""The topics that two iterations of one task are enough for."""

TITLES = {
    "level-dependence": "{who} may race{when}",
    "gate": "{who} may be updated outside of the device of {level}",
    "claim": "{who} may bring two threads to one position of {level}{when}",
    "order": "{who} may visit a fiber of {level} out of order, or twice{when}",
    "overlap": "{who} may visit a fiber of {level} while a visit of it goes on",
    "deadlock": "{who} may wait for a lock for ever{when}",
    "variable": "the variable {tensor} may race{when}",
    "order-dependence": "the result of {who} depends on which task is first{when}",
    "merge": "copies of {tensor} may be merged to a result that differs from the sequential result",
}
"""The headline of each topic."""


def check(check_report: CheckReport) -> str:
    """The verdict and all that it rests on, parts separated by empty lines."""
    return f"{verdict(check_report)}\n{advice(check_report)}"


def verdict(check_report: CheckReport) -> str:
    """The verdict with its findings or proofs: the part of the text that is known before advice is searched for."""
    report = check_report.report
    headline = f"{report.verdict}  {check_report.invocation.name}: {_summary(check_report)}"
    if report.verdict == "safe":
        return "\n\n".join([headline, *_proofs(check_report)])
    return "\n\n".join(
        [headline, *first_few(check_report.messages, "finding", lambda found: _message(found, check_report))]
    )


def advice(check_report: CheckReport) -> str:
    """The rest of the text: the best advice as a note on the findings, all of it, and what the verdict covers."""
    report = check_report.report
    if report.verdict == "safe":
        below, ranked = [], _advice(FURTHER, report.advice)
    else:
        below = [("fix", report.advice[0].change)] if report.advice else []
        below += [] if report.symbols else [("see", check_report.invocation.explore())]
        none = HELPLESS if report.advice_complete else f"advice: none; {_why_incomplete(report)}"
        ranked = [] if len(report.advice) == 1 else _advice(CURES, report.advice) or [none]
    return "\n".join([*notes(below), "", "\n\n".join([*ranked, _reach(report)])])


def _why_incomplete(report: Report) -> str:
    """The reason why the search for advice was not complete, and what to do for more."""
    if report.advice_ended == "interrupted":
        return "the search was interrupted"
    steps = count(report.budget.steps, "step")
    return f"the search was cut short after {steps}: --budget {report.budget.larger} searches further"


def refusal(check_report: CheckReport, verb: str) -> str:
    """The refusal to run a program: the findings, and what may be done."""
    messages = first_few(check_report.messages, "finding", lambda found: _message(found, check_report))
    by_rules = "--engine semantics runs it under the rules, and " if verb == "run" else ""
    ways = [("fix", f"see {check_report.invocation.check()} for fixes"), ("note", f"{by_rules}--unsafe runs it anyway")]
    return "\n\n".join([*messages, "\n".join(align(ways))])


def _summary(check_report: CheckReport) -> str:
    if check_report.report.verdict != "safe":
        tensors = dict.fromkeys(found.tensor for found in check_report.report.findings)
        return f"{count(len(check_report.messages), 'finding')} in {', '.join(tensors)}"
    if any(isinstance(node, ir.Parallel) for node in check_report.program.walk()):
        return "every parallel loop is supported by its formats"
    return "it has no parallel loop"


def _reach(report: Report) -> str:
    """The scope of the verdict."""
    accepted = PRINTED if report.test == "printed" else promise([str(each) for each in report.partial])
    worth = accepted if report.verdict == "safe" else REFUSED
    notes = [("test", f"{report.test}: {worth}")]
    if report.alike:
        notes.append(("alike", f"{count(report.alike, 'more place')} of the program, each like four of those compared"))
    if not report.advice_complete and (report.advice or report.verdict == "safe"):
        notes.append(("advice", _why_incomplete(report)))
    if report.symbols:
        notes.append(("open", f"{', '.join(report.symbols)}; the verdict holds for all that they can be"))
    return "\n".join(align(notes))


# ----------------------------------------------------------------------------------------------------------- findings


def _message(group: Sequence[Finding], check_report: CheckReport) -> str:
    """One message on findings that differ in their levels only."""
    return diagnostic(group, check_report).render()


def diagnostic(group: Sequence[Finding], check_report: CheckReport) -> Diagnostic:
    """The message on findings that differ in their levels only, as data."""
    first = group[0]
    seen = next((found for found in reversed(_sort_findings(group)) if found.witness), first)
    label = _both(seen.witness, seen, check_report) if seen.witness else ""
    notes = _levels(group) if first.topic == "level-dependence" else _reasons(group)
    marks = (*_other(first), *_loop(group, check_report))
    return Diagnostic("error", first.topic, title(group, check_report), first.access, label, marks, tuple(notes))


def title(group: Sequence[Finding], check_report: CheckReport) -> str:
    """The headline of a message."""
    first, loop = group[0], group[0].loop
    when = f" when {loop.index} is parallel on {check_report.device(loop)}" if loop else ""
    return TITLES[first.topic].format(who=_tasks(first), when=when, level=_level(first), tensor=first.tensor)


def _tasks(finding: Finding) -> str:
    """The accesses, with their lines if they read the same."""
    if finding.access is None:
        return finding.tensor
    if finding.other is None or finding.other == finding.access:
        return _short(finding.access)
    spans = (finding.access, finding.other)
    alike = finding.access.text == finding.other.text
    return " and ".join(f"{_short(span)} (line {span.line})" if alike else _short(span) for span in spans)


def _short(span: Span) -> str:
    """A source text that fits into a headline; the excerpt shows it as a whole."""
    return span.text if len(span.text) <= WIDEST else f"{span.text[: WIDEST - 1]}…"


def _level(finding: Finding) -> str:
    return (
        finding.tensor if finding.level is None else f"level {finding.level} {finding.level_name} of {finding.tensor}"
    )


def _both(witness: Witness, finding: Finding, check_report: CheckReport) -> str:
    """Two iterations in which it happens, or may; of a fiber or a level at which of its levels, of an element not."""
    one, other = (_task(at, check_report) for at in (witness.first, witness.second))
    where = witness.element + (f" at level {finding.level}" if ":" in witness.element else "")
    if any(finding.reads) and finding.topic != "deadlock":
        return _read_and_updated(witness, finding, one, other, where)
    does = "use" if finding.topic == "variable" or any(finding.reads) else "update"
    if one == other:
        return f"e.g. {one} {f'{does}s' if witness.certain else f'may {does}'} {where} twice"
    alone = witness.first.task == witness.second.task
    link, then = (
        ("and then", "") if alone and finding.topic in ONE_TASK else ("and", ", on two tasks if there are more")
    )
    both = f"e.g. {one} {link} {other} {'' if witness.certain else 'may '}both {does} {where}"
    return both + (then if alone else "")


def _read_and_updated(witness: Witness, finding: Finding, one: str, other: str, where: str) -> str:
    """Two iterations, of which one reads what the other one updates."""
    may, does = (
        ("", {True: "reads", False: "updates"}) if witness.certain else ("may ", {True: "read", False: "update"})
    )
    first, second = (may + does[reads] for reads in finding.reads)
    on = ", on two tasks if there are more" if witness.first.task == witness.second.task else ""
    return f"e.g. {one} {first} {where}, which {other} {second}{on}"


def _task(at: Iteration, check_report: CheckReport) -> str:
    return task(at.task, list(check_report.written_facts(dict(at.indices)).items()))


def _other(finding: Finding) -> list[Mark]:
    return [Mark(finding.other, "the other access")] if finding.other and finding.other != finding.access else []


def _loop(group: Sequence[Finding], check_report: CheckReport) -> list[Mark]:
    """The index of the loop to blame, unless its line is shown already."""
    first = group[0]
    header = first.loop.span if first.loop else None
    if first.loop is None or header is None or header.line in {s.line for s in (first.access, first.other) if s}:
        return []
    start = header.column + len(header.text) - len(header.text.removeprefix("for").lstrip())
    index = replace(header, column=start, end_line=header.line, end_column=start + len(first.loop.index))
    return [Mark(index, f"this loop carries the dependence{_direction(group, check_report)}")]


def _direction(group: Sequence[Finding], check_report: CheckReport) -> str:
    """The direction of the dependence on each loop; `*` where the levels differ."""
    signs: dict[str, set[str]] = {}
    for found in group:
        for index, sign in check_report.written_facts(found.direction).items():
            signs.setdefault(index, set()).add(sign)
    on = [f"{sign if not others else '*'} on {index}" for index, (sign, *others) in signs.items()]
    return f": direction {', '.join(on)}" if on else ""


def _levels(group: Sequence[Finding]) -> list[tuple[str, str]]:
    """Both sides of W ⊆ S at each level where it fails."""
    ranked = _sort_findings(group)
    sides = [[f"needs {_set(found.required)}", f"supports {_set(found.stability)}"] for found in ranked]
    rows = table([[found.level_name, *side] for found, side in zip(ranked, sides, strict=True)], 0)
    return [(f"level {found.level}", row.strip()) for found, row in zip(ranked, rows, strict=True)]


def _sort_findings(group: Sequence[Finding]) -> list[Finding]:
    """The findings from the root to the leaf."""
    return sorted(group, key=lambda found: -(found.level or 0))


def _set(kinds: frozenset[Dependence]) -> str:
    return f"{{{', '.join(in_order(kinds))}}}"


def _reasons(group: Sequence[Finding]) -> list[tuple[str, str]]:
    return [("why", reason) for reason in dict.fromkeys(found.reason for found in group)]


# -------------------------------------------------------------------------------------------------- proofs and advice

FURTHER = "these loops could be parallel, too, one at a time:"
CURES = "advice: the test accepts the program with any one of these changes"
HELPLESS = "advice: none; with each change that was tried the test still finds something"


def _advice(title: str, advice: Sequence[Advice]) -> list[str]:
    """The changes, cheapest first."""
    if not advice:
        return []
    width = max(len("cost"), *(len(str(one.cost)) for one in advice))
    lines = [title, f"  {'cost':>{width}}  change"]
    for one in advice[:MOST]:
        first, *rest = one.change.splitlines()
        lines.append(f"  {one.cost:>{width}}  {first}")
        lines += [f"  {'':>{width}}  {line}" for line in rest]
    return ["\n".join([*lines, *count_rest(len(advice) - MOST, "change", "  ")])]


def _proofs(check_report: CheckReport) -> list[str]:
    """The proofs that parallel loops are safe: disproofs of the dependences that a level lacks."""
    loops: dict[Span | None, dict[tuple[str, str], None]] = {}
    for proof in check_report.report.proofs:
        loops.setdefault(proof.loop.span, {})[_pair(proof), proof.reason] = None
    parts = []
    for header, reasons in sorted(loops.items(), key=lambda item: item[0].line if item[0] else 0):
        title = f"{header.text}  (line {header.line})" if header else "a parallel loop"
        shown = list(reasons)[:MOST]
        rows = [[pair if k == 0 else "", each] for pair, reason in shown for k, each in enumerate(reason.split("; "))]
        parts.append("\n".join([title, *table(rows, 0), *count_rest(len(reasons) - MOST, "proof", "  ")]))
    return parts


def _pair(proof: SafetyProof) -> str:
    spans = dict.fromkeys(_short(span) for span in (proof.access, proof.other) if span)
    return ", ".join(spans) or proof.tensor
