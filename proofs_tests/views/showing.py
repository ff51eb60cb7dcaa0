"""Facts that are shown where a session stands: read from panes, from plain text, and from a document as a page does."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from wingspan.trace import Session
from wingspan.views import stepper, stepper_plain

WIDTH = 100_000
"""No line is cut or wrapped."""
Facts = dict[str, Any]
END = re.compile(r"^(finished|deadlock|fault): (.*)")


def of_terminal(session: Session) -> Facts:
    """The facts in the panes of the terminal."""
    steps = [line for line in stepper.so_far(session, WIDTH) if session.moves and "LOST" not in line]
    memory = stepper.memory(session, WIDTH)
    first, *rest = stepper.rule(session, WIDTH)
    following = stepper.following(session, WIDTH)
    choices = [re.fullmatch(r"(\S+)  (?:task (\S+)  )?(RACE  )?([A-Z]\w*)(?:  (.*))?", line) for line in following]
    applied = re.fullmatch(r"(\w+)  task (\S+)(?:  (.*))?", first)
    return {
        "standing": {
            task: number
            for number, line in enumerate(stepper.program(session, WIDTH), start=1)
            for task in re.findall(r"◀(\S+)", line)
        },
        "steps": [
            (re.findall(r"[\d.]+", lane)[0], does)
            for lane, does in re.findall(r"^ *\d+  ([│\d. ]+?) +([A-Za-z].*)", "\n".join(steps), re.MULTILINE)
        ],
        "lost": [line.split("LOST ")[1] for line in stepper.so_far(session, WIDTH) if "LOST" in line],
        "reads": [line.removeprefix("▲ ") for line in memory if line.startswith("▲")],
        "memory": cells(memory),
        "applied": (*(part or "" for part in applied.groups()), squeezed(rest)) if applied else None,
        "choices": [(each[2] or each[1], each[4], each[5] or "", bool(each[3])) for each in choices if each],
        "ended": ends(following),
    }


def of_plain(session: Session) -> Facts:
    """The facts that the plain stepper says."""
    panes = {name: list(stepper_plain.PANES[name](session)) for name in "ptmu"}
    steps = re.findall(r"^step \d+, task (\S+): ([A-Z]\w*) ?(.*?)(?:, line .*)?$", "\n".join(panes["t"]), re.MULTILINE)
    applied = re.match(r"rule (\w+), task ([\d.]+)(?:, (.*))?", panes["u"][0])
    following = "\n".join(stepper_plain.following(session))
    choices = re.findall(r"^([\d.]+): (?:task (\S+) )?([A-Z]\w*) ?(.*?)(, RACE with .*)?$", following, re.MULTILINE)
    return {
        "standing": {
            task: int(number)
            for number, _, places in re.findall(r"^(\d+)  (.*)  \((task .*)\)$", "\n".join(panes["p"]), re.MULTILINE)
            for task in places.removeprefix("task ").split(", task ")
        },
        "steps": [(task, does or rule) for task, rule, does in steps],
        "lost": re.findall(r"^LOST: step \d+ (.*)", "\n".join(panes["t"]), re.MULTILINE),
        "reads": re.findall(r"^(.*: task \S+ has read .*)", "\n".join(panes["m"]), re.MULTILINE),
        "memory": cells(panes["m"]),
        "applied": (*(part or "" for part in applied.groups()), squeezed(panes["u"][1:])) if applied else None,
        "choices": [(task or key, rule, does, bool(race)) for key, task, rule, does, race in choices],
        "ended": ends(following.splitlines()),
    }


def of_document(found: Any, tasks: Iterable[str]) -> Facts:
    """The facts that a page looks up in a document after steps of these tasks."""
    taken: list[Any] = []
    lost: list[str] = []
    view = found["views"][0]
    for task in tasks:
        state = found["states"][view["state"]]
        (number,) = (k for k, edge in enumerate(state["enabled"]) if step_of(found, edge)["task"] == (task or "0"))
        edge = found["edges"][state["enabled"][number]]
        onward, words = view["next"].get(str(number), [edge["target"], None])
        if words is not None:
            places = [edge["step"] for edge in taken]
            numbered = [len(places) - places[::-1].index(each) if isinstance(each, int) else each for each in words]
            lost.append("".join(map(str, numbered)))
        taken.append(edge)
        before, view = view, None if onward is None else found["views"][onward]
    shown = view or before
    state, reads = found["states"][shown["state"]], [found["reads"][place] for place in shown["reads"]]
    last = [found["steps"][place] for place in ([taken[-1]["step"], *taken[-1]["then"]] if taken else found["begin"])]
    written = {access["cell"] for step in last for access in step["accesses"] if access["writes"]}
    memory: dict[str, list[tuple[int, str]]] = {}
    for place, held in state["cells"]:
        cell = found["cells"][place]
        row = memory.setdefault(f"{cell['tensor']}.{cell['buffer']}{cell['copy']}", [])
        row.append((cell["offset"], f"[{held}]" if place in written else held))
    edges = [found["edges"][place] for place in state["enabled"]]
    next_steps = [(found["steps"][edge["step"]], bool(edge["raced"])) for edge in edges]
    step = found["steps"][taken[-1]["step"]] if taken else last[-1] if last else None
    return {
        "standing": {
            each["task"]: each["at"][0] for each in (*(step for step, _ in next_steps), *state["waiting"]) if each["at"]
        },
        "steps": [(each["task"], each["text"] or each["rule"]) for each in (found["steps"][e["step"]] for e in taken)],
        "lost": lost,
        "reads": [read["text"] for read in reads],
        "memory": {name: " ".join(held for _, held in sorted(row)) for name, row in memory.items()},
        "applied": (*(step[name] for name in ("rule", "task", "place")), filled_in(step)) if step else None,
        "choices": [(step["task"], step["rule"], step["text"], race) for step, race in next_steps if view],
        "ended": ("fault", taken[-1]["fault"]) if view is None else state["end"] and tuple(state["end"].values()),
    }


def step_of(found: Any, edge: int) -> Any:
    """The step of an edge of a document."""
    return found["steps"][found["edges"][edge]["step"]]


def filled_in(step: Any) -> str:
    """The rule of a step of a document, as `squeezed` leaves it."""
    return squeezed([*(instance for _, instance, _ in step["premises"]), step["conclusion"]])


def ends(lines: Iterable[str]) -> tuple[str, str] | None:
    """The end of a run, if it has ended."""
    return next(((found[1], found[2]) for found in map(END.match, lines) if found), None)


def cells(lines: Iterable[str]) -> dict[str, str]:
    """The lines of buffers: `c.val` to `1 0 [1] 0 0`."""
    rows = (re.fullmatch(r"([A-Za-z]\w*\.\w+\S*?) +(.*)", line) for line in lines if ": " not in line)
    return {row[1]: row[2] for row in rows if row}


def squeezed(lines: Iterable[str]) -> str:
    """The premises and the conclusion of a rule that is filled in, without what only arranges them; none of a fault."""
    text = re.sub(r"premise(, not yet shown)?: |conclusion: |\(not yet\)|─+\n", "", "\n".join(lines))
    if text.startswith("fault:"):
        return ""
    return re.sub(r"\s", "", re.split(r"\n\n|\n[^⟨\s\d]{1,2} = |\nas drawn", text)[0])
