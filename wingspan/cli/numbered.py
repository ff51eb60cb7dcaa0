"""Interleavings that are named by what they lead to: --race N and --result N."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from wingspan import api
from wingspan.api.binding import Runnable
from wingspan.api.exploring import FAR
from wingspan.base.errors import InputError
from wingspan.views import progress
from wingspan.views.paint import spinner
from wingspan.views.view import Invocation

F = TypeVar("F", bound=Callable[..., Any])
NUMBER = click.IntRange(min=1)


def by_number(verb: F) -> F:
    """Adds the two options to a verb."""
    race = click.option("--race", type=NUMBER, metavar="N", help="Race N of explore, by its interleaving.")
    result = click.option("--result", type=NUMBER, metavar="N", help="Result N of explore, by its interleaving.")
    return race(result(verb))


def one_of(interleaving: str | None, race: int | None, result: int | None) -> None:
    """A UsageError if more than one interleaving is named."""
    if sum(each is not None for each in (interleaving, race, result)) > 1:
        raise click.UsageError("--interleaving, --race and --result exclude each other.")


def explore_far(program: Runnable, watches: Sequence[str], machine: str = "semantics") -> api.Exploration:
    """The findings of an exploration of FAR states, in which steps that may change what is watched are visible."""
    with spinner(progress.searching, sys.stderr) as tell:
        return api.explore(program, machine=machine, max_states=FAR, progress=tell, watch=watches)


def resolve_interleaving(
    exploration: api.Exploration, invocation: Invocation, race: int | None, result: int | None
) -> str:
    """The interleaving of a race, of a result, or of the first finding."""
    try:
        return exploration.interleaving(race=race, result=result)
    except InputError as error:
        raise InputError(error.message, fix=f"see `{invocation.explore()}`") from None
