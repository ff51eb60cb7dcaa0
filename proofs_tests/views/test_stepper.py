"""The stepper on a terminal of 80 columns and 24 lines: what is shown after which keys."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from textual._styles_cache import StylesCache

from proofs_tests.effort import few
from proofs_tests.places import EXAMPLES
from proofs_tests.trace.walks import SMALL
from wingspan.base.errors import InputError
from wingspan.trace import Session, Trace
from wingspan.views.stepper import cut, following, mark_redexes, memory, program, rule, screen, so_far, status
from wingspan.views.stepper_app import Stepper

SIZE = (80, 24)
PIECE = re.compile(r'<text class="[^"]*" x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>')


def session(name: str = "dependent.ws", interleaving: str = "-") -> Session:
    """A session of an example, after some steps."""
    made = Session(Trace(EXAMPLES / name))
    made.go(interleaving)
    return made


def pictures(walk: Session, *groups: str, size: tuple[int, int] = SIZE, save=None) -> list[str]:
    """The SVG of the terminal after each group of keys; a key of several letters is a name of Textual's."""

    async def run() -> list[str]:
        app, found = Stepper(walk, save), []
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            for group in groups:
                for key in group.split():
                    await pilot.press(key)
                    await pilot.pause()
                found.append(app.export_screenshot())
        return found

    try:
        return asyncio.run(run())
    finally:
        StylesCache.get_inner_outer.cache_clear()  # which keeps the lines of all widgets that there ever were


def shown(walk: Session, *groups: str, size: tuple[int, int] = SIZE, save=None) -> Iterator[list[str]]:
    """The lines of the terminal after each group of keys."""
    return map(lines_of, pictures(walk, *groups, size=size, save=save))


def lines_of(picture: str) -> list[str]:
    """The lines of a terminal in SVG."""
    rows: dict[float, list[tuple[float, str]]] = {}
    for x, y, text in PIECE.findall(picture):
        rows.setdefault(float(y), []).append((float(x), html.unescape(text).replace("\xa0", " ")))
    cell = 12.2
    lines = []
    for _, pieces in sorted(rows.items()):
        line = ""
        for x, text in sorted(pieces):
            line = line.ljust(round(x / cell)) + text
        lines.append(line.rstrip())
    return lines


def holds(lines: list[str], *texts: str) -> None:
    """Each text stands in some line."""
    for text in texts:
        assert any(text in line for line in lines), f"{text!r} is not in\n" + "\n".join(lines)


def lacks(lines: list[str], *texts: str) -> None:
    """None does."""
    for text in texts:
        assert not any(text in line for line in lines), f"{text!r} is in\n" + "\n".join(lines)


def test_all_panes_fit_into_80_columns_and_24_lines() -> None:
    """The program with each task's place, steps, memory with readers, the rule filled in, and the race."""
    (lines,) = shown(session(), "1 1 1 2")
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    holds(
        lines, "program", "so far", "next", "memory", "rule",
        "6      c[i - i % 2 + 1] += 1", "◀1 ◀2",
        "3  1    reads c.val[3] = 0", "4    2  reads c.val[3] = 0",
        "1  RACE  Assign  writes c.val[3] = 1", "2  RACE  Assign  writes c.val[3] = 1",
        "c.val  1 0 0 0 0", "▲ c.val[3]: task 1 has read 0", "▲ c.val[3]: task 2 has read 0",
        "σ1 {i ↦ 2", "⟨increment(fiber(c,1,3), +, 1), task", "F = fiber(c,1,3),  ⊕ = +,  e = 1",
        "5 of 32 states seen, 1 result ahead", "q quit",
    )  # fmt: skip


def test_what_a_step_wrote_is_marked_and_a_lost_update_is_told() -> None:
    first, _, lines = shown(session(), "1 1", "1 2 1", "2", size=(120, 40))
    holds(first, "c.val  [1] 0 0 0 0")
    holds(lines, "c.val  1 0 [1] 0 0", "LOST overwrites step 5 with a value computed from step", "4's read")


def test_keys_go_back_and_ahead() -> None:
    walk = session()
    pictures(walk, "1 2 b")
    assert walk.interleaving == "1"
    race, result, last, _ = shown(walk, "x", "r", "r", "left backspace")
    holds(race, "RACE")
    holds(result, "finished: c = [1, 0, ")
    holds(last, "no other result lies ahead: go back first")
    assert walk.end == ""


def test_a_key_that_does_not_fit_says_what_does() -> None:
    seven, back = shown(session(), "7", "b")
    holds(seven, "7 is no step that can be taken here: choose 1, 2")
    holds(back, "this is the first state")


def test_invisible_steps_are_shown_one_by_one_when_asked_for() -> None:
    walk = session()
    (single,) = shown(walk, "i 1 1 n", size=(120, 40))
    assert walk.left > 0
    (together,) = shown(walk, "i", size=(120, 40))
    holds(single, "·    1    ScopeExit", "n  task 1  Block")
    lacks(together, "·    1    ScopeExit")


def test_the_configuration_is_a_screen_of_its_own() -> None:
    configuration, closed = shown(session(), "1 c", "c")
    holds(configuration, "⟨increment(fiber(c,1,1), +, 1) @1", "c closes it")
    holds(closed, "so far")


def test_a_step_is_hidden_until_it_is_predicted() -> None:
    """Neither the next steps nor, once a task is chosen, the rule say what it does; then both do, with the score."""
    walk = session()
    hidden, asked, right, no, _ = shown(
        walk, "question_mark", "1", "A s s i g n space 0 enter", "2 C a l l enter", "1 escape"
    )
    holds(hidden, "1  ?", "2  ?")
    lacks(hidden, "RACE", "reads c.val[1]")
    holds(asked, "task 1 steps: which rule, and which value")
    holds(right, "right: Assign reads c.val[1] = 0")
    holds(no, "no: Assign reads c.val[3] = 0")
    assert (walk.right, walk.guesses, walk.asked, walk.interleaving) == (2, 4, None, "1,2")


def test_it_saves_what_its_owner_writes(tmp_path: Path) -> None:
    saved: dict[str, str] = {}

    def save(path: str, picture: Callable[[], str]) -> str:
        if path == "b":
            raise InputError("b: not here")
        saved[path] = picture()
        return f"{path} is written"

    written, refused, left = shown(session(), "1 s a full_stop s v g enter", "s b enter", "s escape", save=save)
    holds(written, "a.svg is written")
    assert saved["a.svg"].startswith("<svg") and "so&#160;far" in saved["a.svg"]
    holds(refused, "b: not here")
    holds(left, "so far")


def test_the_same_keys_give_the_same_picture() -> None:
    assert pictures(session(), "1 2 c") == pictures(session(), "1 2 c")


@pytest.mark.parametrize("size", [(60, 18), (160, 50)])
def test_any_terminal_shows_the_next_steps(size) -> None:
    (lines,) = shown(session(), "1", size=size)
    holds(lines, "1  ", "2  ", "next")


@pytest.mark.parametrize("name", few(list(SMALL), 6))
def test_panes_of_every_example_are_as_wide_as_they_may_be(name) -> None:
    """From the start to the end of a run, in 38 columns and in 80."""
    for width in (38, 80):
        walk = session(name)
        while not walk.end:
            for pane in (program, so_far, memory, rule, following):
                lines = pane(walk, width)
                assert lines and max(map(len, lines)) <= width, pane
            assert mark_redexes(walk)
            walk.choose(walk.choices[-1].key)
        assert following(walk, width)[-1].strip()
        assert all(len(line) <= width for line in screen(walk, width))


def test_deadlocks_and_faults_end_a_run_with_their_reason() -> None:
    walk = session("quiz_deadlock_two_locks.ws", "1*3,2*3")
    while not walk.end:
        walk.choose(walk.choices[0].key)
    assert walk.end == "deadlock"
    holds(following(walk, 80), "waits for the lock of")
    walk = session("quiz_overflow.ws", "1,2")
    while not walk.end:
        walk.choose(walk.choices[0].key)
    assert walk.end == "fault"
    holds(following(walk, 80), "overflow")


def test_inputs_come_last_in_memory_and_only_states_are_counted_that_were_looked_at() -> None:
    """A long program: what lies ahead is not known."""
    walk = session("karate.ws")
    tensors = [line.partition(".")[0] for line in memory(walk, 80) if re.match(r"[ABCw]\.", line)]
    assert tensors == sorted(tensors, key=lambda tensor: tensor in ("A", "B"))
    assert re.fullmatch(r"1 of more than \d+ states seen", status(walk))


def test_cells_around_a_change_are_shown_of_a_long_buffer() -> None:
    walk = session("quiz_cousin_race.ws")
    walk.to_result()
    for line in memory(walk, 24):
        assert len(line) <= 24
    assert cut("abc", 2) == "a…"
