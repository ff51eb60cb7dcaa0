"""Derivations of steps: the rule, filled in, and the rules that make it a step of all tasks together."""

from __future__ import annotations

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError
from wingspan.semantics.derived import DerivedStep
from wingspan.semantics.rules import ALL
from wingspan.semantics.rules.schema import fill, schema
from wingspan.trace.session import Session

CONTEXT = "context"
"""The name of the inference from a redex to the configuration around it: it is no rule of the figure."""


@dataclass(frozen=True)
class Inference:
    """Premises over a line, the conclusion below it, and the name of the rule."""

    name: str
    premises: tuple[str, ...]
    below: tuple[str, ...]


@dataclass(frozen=True)
class Derivation:
    """The inferences, innermost first: each concludes the last premise of the next. `title` says which step it is."""

    title: str
    inferences: tuple[Inference, ...]
    note: str


def derive_last_step(session: Session) -> Derivation:
    """Derive the last visible step of a session."""
    if not session.moves:
        raise InputError("an interleaving without steps has no last step", fix="name a task, as in --interleaving 1")
    step = session.moves[-1].step
    if not step.conclusion:
        raise InputError("the last step faults, so no rule derives it", fix="leave it out of the interleaving")
    return Derivation(f"step {len(session.moves)} of {session.interleaving}: {step.rule}", *_inferences(step))


def _inferences(step: DerivedStep) -> tuple[tuple[Inference, ...], str]:
    """The rule of a step, its context, and ParLeft or ParRight for each task that it was spawned by."""
    premises = tuple(f"{each.instance}{'' if each.shown else ' (not yet)'}" for each in step.premises)
    made = [Inference(step.rule, premises, (step.conclusion,))]
    path = step.task.split(".") if step.task else []
    note = ""
    for depth in range(len(path), 0, -1):
        child, parent = (f"task {'.'.join(path[:n]) or '0'}" for n in (depth, depth - 1))
        name, C = ("ParLeft", "C₁") if path[depth - 1] == "1" else ("ParRight", "C₂")
        drawn = schema(ALL[name]).cases[0]
        premise = fill(drawn.premises[0], {"t": parent})
        made.append(Inference(CONTEXT, (), (premise,)))
        made.append(Inference(name, (), tuple(fill(line, {"t": parent}) for line in drawn.below)))
        note += f"{C} under {parent} is the configuration of {child}, with what steps in its place. "
    return tuple(made), note.strip()
