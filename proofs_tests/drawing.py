"""A drawing as SVG: texts in proportional letters, lines and boxes, in colours for light and for dark pages."""

from __future__ import annotations

from html import escape

STYLE = """
svg { font: 14px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
  --ink: #1f2328; --soft: #59636e; --paper: #ffffff; --pale: #eef1f5; --line: #8c959f;
  --one: #0b57b0; --two: #9a4a00; --bad: #b3112a; }
@media (prefers-color-scheme: dark) { svg {
  --ink: #e6e8eb; --soft: #a3abb5; --paper: #16191d; --pale: #262b31; --line: #727a84;
  --one: #7db3ff; --two: #f0a35e; --bad: #ff8a8a; } }
text { fill: var(--ink); } .soft { fill: var(--soft); } .bold { font-weight: 600; } .small { font-size: 12px; }
.one { fill: var(--one); } .two { fill: var(--two); } .bad { fill: var(--bad); }
rect { fill: var(--paper); stroke: var(--line); } rect.page { stroke: none; } rect.pale { fill: var(--pale); }
rect.one { stroke: var(--one); stroke-width: 2; fill: var(--pale); }
rect.two { stroke: var(--two); stroke-width: 2; fill: var(--pale); }
rect.bad { stroke: var(--bad); stroke-width: 2; fill: var(--pale); }
line, path { stroke: var(--line); stroke-width: 1.5; fill: none; } .dashed { stroke-dasharray: 4 3; }
line.one { stroke: var(--one); stroke-width: 2.5; } line.two { stroke: var(--two); stroke-width: 2.5; }
marker path { fill: var(--soft); stroke: none; }
"""
ARROW = (
    '<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" orient="auto" '
    'markerUnits="userSpaceOnUse"><path d="M0 0 8 4 0 8z"/></marker>'
)


class Drawing:
    """Parts of a drawing, in the order in which they are laid over one another. `kind` are classes of the style."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.size = (width, height)
        self.title = title
        self.parts: list[str] = []

    def text(self, x: float, y: float, content: str, kind: str = "", anchor: str = "start") -> None:
        """One line of text, with its blanks; y is that of its baseline."""
        shown = escape(content, quote=False).replace("  ", "\u00a0\u00a0")
        self.parts.append(f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}" text-anchor="{anchor}">{shown}</text>')

    def box(self, x: float, y: float, width: float, height: float, kind: str = "") -> None:
        """A rectangle with round corners."""
        self.parts.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="5" class="{kind}"/>'
        )

    def cell(self, x: float, y: float, content: str, kind: str = "", width: float = 40) -> None:
        """A box around a text; x and y are those of its middle."""
        self.box(x - width / 2, y - 15, width, 30, kind)
        self.text(x, y + 5, content, anchor="middle")

    def line(self, x: float, y: float, x2: float, y2: float, kind: str = "", arrow: bool = False) -> None:
        """A straight line, maybe with an arrow head at its end."""
        end = ' marker-end="url(#arrow)"' if arrow else ""
        self.parts.append(f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" class="{kind}"{end}/>')

    def svg(self) -> str:
        """The whole picture, on paper of its own; the title is for those who cannot see it."""
        width, height = self.size
        return "\n".join(
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
                f'width="{width:.0f}" height="{height:.0f}" role="img">',
                f"<title>{escape(self.title, quote=False)}</title>",
                f"<style>{STYLE}</style>",
                f"<defs>{ARROW}</defs>",
                f'<rect width="{width:.0f}" height="{height:.0f}" class="page"/>',
                *self.parts,
                "</svg>\n",
            )
        )
