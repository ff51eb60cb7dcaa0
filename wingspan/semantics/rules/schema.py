"""Rules as their docstrings draw them: premises over a line, the conclusion below. As text, as LaTeX, and filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from wingspan.base.dataclass import dataclass
from wingspan.base.docstrings import docstring
from wingspan.semantics.rules.registry import Rule

_LINE = re.compile(r"─{3,}")


@dataclass(frozen=True)
class RuleCase:
    """One case of a rule: the premises over a line, and below it the lines of the conclusion."""

    premises: tuple[str, ...]
    below: tuple[str, ...]

    @property
    def conclusion(self) -> str:
        """The conclusion in one line."""
        return " ".join(self.below)


@dataclass(frozen=True)
class Schema:
    """A rule as drawn: its picture, its cases (nearly always one), and what is said beside it."""

    drawing: str
    cases: tuple[RuleCase, ...]
    note: str

    def case(self, terms: Mapping[str, str]) -> RuleCase:
        """Of several cases, each of which begins with a premise `m = …`, the one in which that holds."""
        if len(self.cases) == 1:
            return self.cases[0]
        return next(case for case in self.cases if fill(case.premises[0], terms) == f"{terms['m']} = {terms['m']}")


@cache
def schema(rule: Rule) -> Schema:
    """The rule as its docstring draws it."""
    drawing, _, note = docstring(rule.apply).partition("\n\n")
    lines = drawing.splitlines()
    bar = next(k for k, line in enumerate(lines) if _LINE.search(line))
    spans = [found.span() for found in _LINE.finditer(lines[bar])]
    ends = [start for start, _ in spans[1:]] + [len(drawing)]
    cases = []
    for (start, _), end in zip(spans, ends, strict=True):
        above, below = ([line[start:end].strip() for line in part] for part in (lines[:bar], lines[bar + 1 :]))
        premises = [premise for line in above for premise in re.split(r"\s{2,}", line) if premise]
        cases.append(RuleCase(tuple(premises), tuple(line for line in below if line)))
    return Schema(drawing, tuple(cases), " ".join(note.split()))


def fill(text: str, terms: Mapping[str, str]) -> str:
    """A schema with terms in place of metavariables and phrases; longer ones first, and what is put in stays.

    >>> fill("⟨assign(access(F), ⊕, e), t, σ⟩", {"F": "fiber(c,1,3)", "⊕": "+", "e": "1"})
    '⟨assign(access(fiber(c,1,3)), +, 1), t, σ⟩'
    >>> fill("looplet(a+1:b), σ[a_chunk ↦ a′]", {"a": "1", "a+1": "2", "b": "4"})
    'looplet(2:4), σ[a_chunk ↦ a′]'
    """
    if not terms:
        return text
    names = "|".join(map(re.escape, sorted(terms, key=len, reverse=True)))
    return re.sub(rf"(?<![\w′])(?:{names})(?![\w′…])", lambda found: terms[found[0]], text)


# --------------------------------------------------------------------------------------------------------------- LaTeX

SYMBOLS = {
    "⟨": r"\langle ", "⟩": r"\rangle ", "→*": r"\rightarrow^{*} ", "→": r"\rightarrow ", "⇒": r"\Rightarrow ",
    "↦": r"\mapsto ", "σ": r"\sigma ", "⊕": r"\oplus ", "≤": r"\leq ", "∈": r"\in ", "∉": r"\notin ", "‖": r"\| ",
    "…": r"\ldots ", "⌊": r"\lfloor ", "⌋": r"\rfloor ", "{": r"\{", "}": r"\}", "|": r"\mid ", "′": "'", "∪": r"\cup ",
    "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$", "_": r"\_", "^": r"\hat{}", "~": r"\sim ", "÷": r"\div ",
    "\\": r"\setminus ", "·": r"\cdot ", "×": r"\times ", "≠": r"\neq ",
}  # fmt: skip
_SMALL = {"₁": "1", "₂": "2", "ₖ": "k", "ₘ": "m", "ₙ": "n"}
_WORDS = frozenset(
    [
        "access",
        "assign",
        "call",
        "checkout",
        "child",
        "close",
        "commit",
        "cursor",
        "declare",
        "device",
        "do",
        "dom",
        "dynamic",
        "end",
        "enter",
        "false",
        "fiber",
        "finish",
        "for",
        "freeze",
        "if",
        "ifelse",
        "increment",
        "kind",
        "leave",
        "looplet",
        "max",
        "min",
        "mode",
        "nthreads",
        "parallel",
        "parent",
        "payload",
        "read",
        "skip",
        "spawn",
        "static",
        "step",
        "task",
        "thaw",
        "threadid",
        "transfer",
        "true",
        "undeclared",
        "unfurl",
        "unwrap",
        "update",
        "worker",
    ]
)
"""The words of the language and of the rules; other words are plain English."""

TOKEN = re.compile(
    r"(?P<word>for all|[A-Za-z][a-z']+)|(?P<name>[A-Za-zσ])(?:_(?P<below>[a-z]+)|(?P<small>[₁₂ₖₘₙ]))?"
    r"|(?P<gap>\s+)|(?P<symbol>→\*|.)"
)
"""The parts of a formula: words of several letters, metavariables with a subscript, blanks, and signs."""


WIDE = 52
"""Longer rows of a formula are broken, so that it fits a slide."""


def latex(case: RuleCase) -> str:
    """A case for LaTeX's mathematics (amsmath), KaTeX and MathJax."""
    return rf"\frac{{{premises(case.premises)}}}{{{conclusion(case.below)}}}"


def premises(texts: Sequence[str]) -> str:
    """Premises in LaTeX, in rows that are not too wide."""
    rows: list[list[str]] = []
    for text in texts:
        if rows and sum(map(len, rows[-1])) + len(text) <= WIDE:
            rows[-1].append(text)
        else:
            rows.append([text])
    return _array("c", r" \\ ", [r" \qquad ".join(map(formula, row)) for row in rows])


def conclusion(lines: Sequence[str]) -> str:
    """The lines of a conclusion in LaTeX; long ones in several rows."""
    return _array("l", r" \\ \quad ", [formula(row) for line in lines for row in _broken(line)])


def _broken(line: str) -> Iterator[str]:
    """Rows of a line, none too wide if it can be broken before an arrow or a bar, or after a semicolon."""
    row = ""
    for piece in re.split(r" (?=→|‖|↦ access)|(?<=;) ", line):
        if row and len(row) + len(piece) > WIDE:
            yield row
            row = piece
        else:
            row = f"{row} {piece}" if row else piece
    yield row


def _array(side: str, gap: str, rows: Sequence[str]) -> str:
    return rf"\begin{{array}}{{{side}}} {gap.join(rows)} \end{{array}}" if len(rows) > 1 else "".join(rows)


def formula(text: str) -> str:
    r"""A schema in LaTeX.

    >>> print(formula("⟨mode(F), t, σ⟩ → update(⊕)"))
    \langle \texttt{mode}(F), t, \sigma \rangle  \rightarrow \ \texttt{update}(\oplus )
    >>> print(formula("σ_g[i_chunk ↦ j+c], Fₘ in s, the copy"))
    \sigma _{g}[i_{chunk}\ \mapsto  j+c], F_{m}\ \text{in}\ s,\ \text{the}\ \text{copy}
    """
    made = []
    for found in TOKEN.finditer(text):
        before, after = text[: found.start()], text[found.end() :]
        match found.lastgroup:
            case "word":
                font = "texttt" if found[0] in _WORDS else "text"
                made.append(rf"\{font}{{{found[0]}}}")
            case "gap":
                made.append("\\ " if re.search(r"[a-z]{2}$", before) or re.match(r"[a-z]{2}", after) else " ")
            case "symbol":
                made.append(SYMBOLS.get(found[0], found[0]))
            case _:
                below = found["below"] or _SMALL.get(found["small"] or "", "")
                made.append(SYMBOLS.get(found["name"], found["name"]) + (f"_{{{below}}}" if below else ""))
    return "".join(made)
