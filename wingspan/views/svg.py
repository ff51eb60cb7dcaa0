"""Pictures as SVG: texts, formulas, lines, boxes. They load no font, and need no script.

Texts are monospaced. Formulas are in the Times that a reader has; each is stretched to the width that it has here, so
that lines and labels fit whatever the font is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from wingspan.semantics.rules.schema import TOKEN

FONT, SIZE, CHAR, ROW = "'DejaVu Sans Mono', Menlo, Consolas, monospace", 15, 9.04, 22
"""The font, its size, how wide a character is and how high a line, in pixels."""
SERIF, SERIF_SIZE = "'Times New Roman', 'Liberation Serif', Tinos, 'Nimbus Roman', Times, serif", 17
"""The font of formulas, and its size in pixels."""
BLACK, GREY, RED, BLUE, PALE = "#000", "#666", "#c44e00", "#0072b2", "#fae3d5"


def text(x: float, y: float, content: str, *, fill: str = BLACK, anchor: str = "start", bold: bool = False) -> str:
    """One line of text; y is that of its baseline."""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" text-anchor="{anchor}"{weight} xml:space="preserve">'
        f"{escape(content, quote=False)}</text>"
    )


def formula(x: float, y: float, content: str) -> str:
    """One line of mathematics: single letters are italic, what follows a `_` is a subscript."""
    length = f'textLength="{formula_width(content):.1f}" lengthAdjust="spacingAndGlyphs"'
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-family="{SERIF}" font-size="{SERIF_SIZE}" {length} xml:space="preserve">'
        f"{''.join(_style_tokens(content))}</text>"
    )


def _style_tokens(content: str) -> Iterator[str]:
    """The tokens of a formula, as SVG."""
    lowered = False
    for token in TOKEN.finditer(content):
        up = f' dy="-{DROP}"' if lowered else ""
        name, below, lowered = token["name"], token["below"], token["below"] is not None
        full = escape(token[0].removesuffix(f"_{below}"), quote=False)
        style = ' font-style="italic"' if name else ""
        yield f"<tspan{style}{up}>{full}</tspan>" if style or up else full
        if below:
            yield f'<tspan font-size="{SMALLER:.0%}" dy="{DROP}">{below}</tspan>'


def formula_width(content: str) -> float:
    """The width of a formula, in pixels."""
    return SERIF_SIZE * sum(map(_token_width, TOKEN.finditer(content)))


def _token_width(token: re.Match[str]) -> float:
    below = token["below"] or ""
    return sum(map(_width, token[0].removesuffix(f"_{below}"))) + SMALLER * sum(map(_width, below))


SMALLER, DROP = 0.75, 4
"""The size of a subscript, by that of its line, and by how many pixels it is lower."""
_WIDTHS = (
    (0.26, " .,"), (0.29, "/:;ijlt'′₁₂ₖₘₙ"), (0.34, "()[]Ifrs|-⟨⟩"), (0.45, "acez{}?J"), (0.6, "+<=>_SPσ⊕≤≥"),
    (0.69, "ABCELRTZF∈∉∪"), (0.73, "DGHKNOQUVXYw"), (0.8, "mMW"), (1.0, "→⇒↦…‖─"),
)  # fmt: skip
"""Widths of characters in Times, in ems; all others have half an em, as the digits."""


def _width(character: str) -> float:
    return next((width for width, characters in _WIDTHS if character in characters), 0.5)


def line(
    x: float,
    y: float,
    x2: float,
    y2: float,
    *,
    stroke: str = BLACK,
    dashed: bool = False,
    wide: bool = False,
    arrow: bool = False,
) -> str:
    """A straight line, maybe with an arrow head at its end."""
    more = (' stroke-dasharray="4 3"' if dashed else "") + (' marker-end="url(#arrow)"' if arrow else "")
    width = 2.8 if wide else 1.4
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" stroke-width="{width}"{more}/>'
    )


def box(x: float, y: float, width: float, height: float, *, stroke: str = BLACK, fill: str = "#fff") -> str:
    """A rectangle with round corners."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4" fill="{fill}" '
        f'stroke="{stroke}" stroke-width="1.4"/>'
    )


def picture(width: float, height: float, title: str, *parts: str) -> str:
    """A whole picture, on white; the title is for those who cannot see it."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" font-family="{FONT}" font-size="{SIZE}">'
    )
    arrow = (
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z"/></marker></defs>'
    )
    about = f"<title>{escape(title, quote=False)}</title>"
    white = f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>'
    return "\n".join((head, about, arrow, white, *parts, "</svg>"))
