"""The stepper on a terminal: the panes of a session side by side, in 80 columns and 24 lines or more."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from wingspan.base.errors import InputError
from wingspan.trace.session import Session
from wingspan.views.stepper import (
    KEYS,
    WRITTEN,
    assess,
    following,
    locate_redexes,
    memory,
    program,
    rule,
    so_far,
    standing,
    status,
)

STYLES = (
    (r"\bRACE\b|\bLOST\b|^fault:|^deadlock:", "bold white on #a03000"),
    (r"◀[\d.]+", "bold black on #56b4e9"),
    (WRITTEN, "reverse"),
    (r"^finished:", "bold green"),
    (r"▲.*", "bold #e69f00"),
)
"""Colours; each repeats what the text says already."""

Panes = dict[str, Callable[[Session, int], list[str]]]
LEFT: Panes = {"program": program, "so far": so_far, "next": following}
RIGHT: Panes = {"memory": memory, "rule": rule}
NAMES = {"?": "question_mark", "b": "b,left,backspace", "n": "n,right,space"}
"""Textual's names of some keys, with further keys for the same action."""
HELP = "b back  x race  r result  i invisible  ? predict  c config  s save  q quit"


def _id(title: str) -> str:
    return title.partition(":")[0].replace(" ", "-")


def _screen_text(title: str, session: Session, lines: list[str]) -> int | None:
    """The line of a pane that should be seen, from 0: where a task stands, the last step, what was written."""
    match title:
        case "program":
            return min(standing(session), default=1) - 1
        case "so far":
            return len(lines)
        case "memory":
            return next((number for number, line in enumerate(lines) if re.search(WRITTEN, line)), 0)
        case "rule":
            return 0
    return None


class Pane(VerticalScroll):
    """One pane: a title and lines, which scroll."""

    can_focus = False

    def __init__(self, title: str) -> None:
        super().__init__(Static(id="text"), id=_id(title))
        self.border_title = title

    def show(self, lines: list[str], at: int | None = None) -> None:
        """Other lines, so scrolled that line `at` can be seen, counted from 0; as before if that is None."""
        text = Text("\n".join(lines), no_wrap=True)
        for pattern, style in STYLES:
            text.highlight_regex(f"(?m){pattern}", style)
        self.query_one(Static).update(text)
        if at is not None:
            self.scroll_to(y=max(at - self.size.height // 2, 0) if at < len(lines) - 1 else len(lines), animate=False)


class Asking(ModalScreen[str | None]):
    """A line to write, under a question; None if it is given up."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "give_up", "cancel")]

    def __init__(self, question: str) -> None:
        super().__init__()
        self.question = question

    def compose(self) -> ComposeResult:
        with Vertical(id="asking"):
            yield Static(self.question, markup=False)
            yield Input()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)

    def action_give_up(self) -> None:
        self.dismiss(None)


class Configuration(ModalScreen[None]):
    """The whole configuration, redexes reversed; any key but those that scroll closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,c,q,b", "dismiss", "close")]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session

    def compose(self) -> ComposeResult:
        lines, redexes = locate_redexes(self.session)
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line) + 1)
        text = Text("\n".join(lines), no_wrap=True)
        for at in redexes:
            text.stylize("reverse", starts[at.line] + at.column, starts[at.end_line] + at.end_column)
        pane = VerticalScroll(Static(text), id="configuration")
        pane.border_title = "configuration: what each task reduces next is reversed"
        pane.border_subtitle = "c closes it"
        yield pane


class Stepper(App[None]):
    """The application. `save` writes a file, or says in an InputError why it cannot."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *((digit, f"obey('{digit}')", "") for digit in "0123456789"),
        *((NAMES.get(key, key), f"obey('{key}')", name) for key, (name, _) in KEYS.items()),
        ("c", "configuration", ""),
        ("s", "save_as", ""),
        ("q", "quit", ""),
    ]
    CSS = """
    Horizontal { height: 1fr; }
    Vertical { width: 1fr; }
    Pane { border: round $foreground 60%; border-title-color: $foreground; border-title-style: bold; }
    Pane { scrollbar-size: 1 1; }
    Pane Static { width: auto; }
    #program { height: 4fr; } #so-far { height: 4fr; } #next { height: 3fr; }
    #memory { height: 4fr; } #rule { height: 7fr; }
    #message { height: 1; text-style: bold; } #keys { height: 1; }
    Asking, Configuration { align: center middle; }
    #asking { width: 76; height: auto; border: round $warning; background: $surface; padding: 0 1; }
    #configuration { width: 100%; height: 100%; border: round $foreground 60%; background: $surface; }
    #configuration { border-title-color: $foreground; border-title-style: bold; border-subtitle-color: $foreground; }
    #configuration Static { width: auto; }
    """

    def __init__(self, session: Session, save: Callable[[str, Callable[[], str]], str]) -> None:
        super().__init__()
        self.session, self.save = session, save

    def compose(self) -> ComposeResult:
        with Horizontal():
            with Vertical():
                yield from map(Pane, LEFT)
            with Vertical():
                yield from map(Pane, RIGHT)
        yield Static(id="message", markup=False)
        yield Static(HELP, id="keys", markup=False)

    def on_mount(self) -> None:
        self.title = self.session.trace.source.name
        self.call_after_refresh(self.draw)

    def on_resize(self, event: Resize) -> None:
        self.call_after_refresh(self.draw)

    def draw(self, message: str = "") -> None:
        """Show where the session stands, and below it what there is to say, or how much has been seen."""
        session = self.session
        for title, drawn in (LEFT | RIGHT).items():
            pane = self.screen_stack[0].query_one(f"#{_id(title)}", Pane)
            hidden = title == "rule" and session.asked is not None
            lines = ["hidden until you have predicted it"] if hidden else drawn(session, max(pane.size.width - 1, 20))
            pane.show(lines, _screen_text(title, session, lines))
        self.screen_stack[0].query_one("#message", Static).update(message or status(session))

    def action_obey(self, key: str) -> None:
        """Do what a key of KEYS says; any other is a task."""
        self.attempt(lambda: KEYS[key][1](self.session) if key in KEYS else self.session.choose(key))
        if self.session.asked is not None:
            self.push_screen(Asking(" ".join(following(self.session, 1000))), self.predict)

    def action_configuration(self) -> None:
        self.push_screen(Configuration(self.session))

    def action_save_as(self) -> None:
        self.push_screen(
            Asking("save as: .txt for the interleaving, .svg for a picture, .html for a page"), self.save_page
        )

    def attempt(self, action: Callable[[], object]) -> None:
        """Do something, and show what came of it."""
        try:
            made = action()
        except InputError as error:
            self.draw(error.message)
        else:
            self.draw(made if isinstance(made, str) else "")

    def predict(self, text: str | None) -> None:
        """A prediction, or none: then the step is not taken."""
        if text is None:
            self.session.asked = None
            self.draw()
        else:
            self.attempt(lambda: assess(self.session.answer(text)))

    def save_page(self, path: str | None) -> None:
        """A name for a file, or none."""
        if path is not None:
            self.attempt(lambda: self.save(path, self.export_screenshot))
