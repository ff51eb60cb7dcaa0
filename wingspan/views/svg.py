"""Pictures as SVG: texts of one width, lines, boxes. They need no font but a monospaced one, and no script."""

from __future__ import annotations

from html import escape

FONT, SIZE, CHAR, ROW = "'DejaVu Sans Mono', Menlo, Consolas, monospace", 15, 9.04, 22
"""The font, its size, how wide a character is and how high a line, in pixels."""
BLACK, GREY, RED, BLUE, PALE = "#000", "#666", "#c44e00", "#0072b2", "#fae3d5"


def text(x: float, y: float, content: str, *, fill: str = BLACK, anchor: str = "start", bold: bool = False) -> str:
    """One line of text; y is that of its baseline."""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" text-anchor="{anchor}"{weight} xml:space="preserve">'
        f"{escape(content, quote=False)}</text>"
    )


def line(
    x: float, y: float, x2: float, y2: float, *, stroke: str = BLACK, dashed: bool = False, arrow: bool = False
) -> str:
    """A straight line, maybe with an arrow head at its end."""
    more = (' stroke-dasharray="4 3"' if dashed else "") + (' marker-end="url(#arrow)"' if arrow else "")
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" stroke-width="1.4"{more}/>'


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
