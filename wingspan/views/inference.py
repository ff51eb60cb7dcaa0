"""Inferences drawn: rules as their docstrings have them, and the derivation of a step. As text, LaTeX and SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from wingspan.base.dataclass import dataclass
from wingspan.semantics.rules import Rule
from wingspan.semantics.rules.schema import conclusion, formula, latex, premises, schema
from wingspan.trace.derivation import Derivation, Inference
from wingspan.views import svg

WIDTH = 80

PACKAGES = "% needs amsmath"
PREMISES = r" \\ "
"""Between premises; mathpartir puts as many beside each other as fit."""

# -------------------------------------------------------------------------------------------------------------- as text


def rules_text(rules: Sequence[Rule]) -> str:
    """Rules as they are drawn; one that is too wide with its premises below each other."""
    return "\n\n".join("\n".join((rule.name, "", *_drawn(rule), *_note(rule))) for rule in rules)


def _drawn(rule: Rule) -> Iterator[str]:
    drawn = schema(rule)
    lines = drawn.drawing.splitlines()
    if max(map(len, lines)) <= WIDTH:
        yield from lines
        return
    for number, case in enumerate(drawn.cases):
        yield from [""] * (number > 0)
        yield from stack(case.premises, case.below, WIDTH - 2, indent="  ")


def _note(rule: Rule) -> list[str]:
    note = schema(rule).note
    return ["", *wrap(note, WIDTH)] if note else []


def stack(premises: Sequence[str], below: Sequence[str], width: int, indent: str = "") -> list[str]:
    """Premises over a line over the lines of the conclusion."""
    over = [line for premise in premises for line in wrap(premise, width, subsequent_indent="    ")]
    under = [
        line
        for number, part in enumerate(below)
        for line in wrap(part, width, initial_indent="  " * bool(number), subsequent_indent="    ")
    ]
    return [indent + line for line in (*over, "─" * max(map(len, [*over, *under])), *under)]


def derivation_text(derivation: Derivation) -> str:
    """The inferences below each other, the name of each beside its line."""
    lines = [derivation.title, ""]
    for inference in derivation.inferences:
        drawn = stack(inference.premises, inference.below, WIDTH)
        bar = next(number for number, line in enumerate(drawn) if line.startswith("─"))
        drawn[bar] = f"{drawn[bar][: WIDTH - 1 - len(inference.name)]} {inference.name}"
        lines += drawn
    return "\n".join([*lines, *([""] if derivation.note else []), *wrap(derivation.note, WIDTH)])


# ------------------------------------------------------------------------------------------------------------- as LaTeX


def rules_latex(rules: Sequence[Rule]) -> str:
    """Displayed formulas, to be pasted or read by \\input."""
    shown = ((rule.name, latex(case)) for rule in rules for case in schema(rule).cases)
    return "\n".join((PACKAGES, *(rf"\[ {formula} \tag*{{\textsc{{{name}}}}} \]" for name, formula in shown)))


def rules_mathpartir(rules: Sequence[Rule]) -> str:
    """Rules as papers set them, by mathpartir, which breaks the premises where a page ends."""
    shown = (
        rf"\inferrule*[right={rule.name}]{{{PREMISES.join(map(formula, case.premises))}}}{{{conclusion(case.below)}}}"
        for rule in rules
        for case in schema(rule).cases
    )
    return "\n".join((f"{PACKAGES}, mathpartir", r"\begin{mathpar}", "\n\\and\n".join(shown), r"\end{mathpar}"))


def derivation_latex(derivation: Derivation) -> str:
    """One formula: each inference over the next."""
    whole = ""
    for inference in derivation.inferences:
        above = whole or premises(inference.premises)
        whole = rf"\dfrac{{{above}}}{{{conclusion(inference.below)}}}\;\textsc{{{inference.name}}}"
    return f"{PACKAGES}\n% {derivation.title}\n\\[ {whole} \\]"


# --------------------------------------------------------------------------------------------------------------- as SVG

BESIDE = " " * 8
"""Between premises in one row; two ems in Times."""
MARGIN, LABEL, PAD = 16, 10, 5
"""Pixels: around the picture, between a line and its name, and by which a line is longer on each side."""


def rules_svg(rules: Sequence[Rule]) -> str:
    """All rules in one picture, below each other."""
    drawn = (Inference(rule.name, case.premises, case.below) for rule in rules for case in schema(rule).cases)
    return _pile([_block([each]) for each in drawn], ", ".join(rule.name for rule in rules))


def derivation_svg(derivation: Derivation) -> str:
    """The inferences, each conclusion over the line of the next."""
    return _pile([_block(derivation.inferences)], derivation.title)


@dataclass(frozen=True)
class _Block:
    """Parts of a picture, drawn from (0, 0) on."""

    width: float
    height: float
    parts: list[str]


def _pile(blocks: Sequence[_Block], title: str) -> str:
    """Blocks below each other."""
    y, parts = float(MARGIN), []
    for block in blocks:
        parts.append(f'<g transform="translate({MARGIN} {y:.0f})">' + "\n".join(block.parts) + "</g>")
        y += block.height + svg.ROW
    width = max((block.width for block in blocks), default=0) + 2 * MARGIN
    return svg.picture(width, y - svg.ROW + MARGIN, title, *parts)


def _block(inferences: Sequence[Inference]) -> _Block:
    """Inferences over one another, around one axis; the name of each at the right of its line."""
    rows = [[_premise_rows(each), _lines(each.below)] for each in inferences]
    widths = [max(map(svg.formula_width, (*above, *below)), default=0) + 2 * PAD for above, below in rows]
    axis, widest = max(widths) / 2, max(widths)
    parts, y = [], 0.0
    for number, (inference, (above, below)) in enumerate(zip(inferences, rows, strict=True)):
        for row in above:
            y += svg.ROW
            parts.append(svg.formula(axis - svg.formula_width(row) / 2, y - 7, row))
        bar = widths[number] if above or number == 0 else max(widths[number - 1 : number + 1])
        y += 1
        parts.append(svg.line(axis - bar / 2, y, axis + bar / 2, y))
        parts.append(svg.text(axis + bar / 2 + LABEL, y + 5, inference.name, fill=svg.BLUE, bold=True))
        left = axis - max(map(svg.formula_width, below)) / 2
        for row in below:
            y += svg.ROW
            parts.append(svg.formula(left, y - 4, row))
        y += 2
    label = max(svg.CHAR * len(each.name) for each in inferences)
    return _Block(widest + LABEL + label * 1.1, y + 4, parts)


def _premise_rows(inference: Inference) -> list[str]:
    """Premises beside each other, as many as fit."""
    rows: list[str] = []
    for premise in inference.premises:
        if rows and len(rows[-1]) + len(premise) + len(BESIDE) <= WIDTH:
            rows[-1] += f"{BESIDE}{premise}"
        else:
            rows.append(premise)
    return rows


def _lines(below: Sequence[str]) -> list[str]:
    """The lines of a conclusion, later ones indented."""
    rows = [row for line in below for row in wrap(line, WIDTH)]
    return [row if number == 0 else f"  {row}" for number, row in enumerate(rows)]
