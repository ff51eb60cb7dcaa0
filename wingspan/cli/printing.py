"""Verbs that print what a program is compiled to."""

from __future__ import annotations

from typing import Any

import click

from wingspan import api
from wingspan.base.errors import InputError
from wingspan.cli.group import main
from wingspan.cli.options import on_program
from wingspan.console import show_result
from wingspan.plan.show import show as show_plan
from wingspan.views import json as data
from wingspan.views.view import Invocation


@main.command()
@on_program
@click.option("--passes", is_flag=True, help="List the passes, and the number of statements after each.")
@click.option("--after", metavar="PASS", help="Print the plan after this pass; `draft` is before all.")
def plan(invocation: Invocation, as_json: bool, passes: bool, after: str | None) -> None:
    """Print the plan that the program in FILE is compiled to.

    Each line of the program is above the statements that come from it.
    """
    if passes or after is not None:
        _passes(invocation, as_json, after)
        return
    text = api.plan(invocation.runnable, **invocation.binding)
    show_result(as_json, lambda: data.plan(text), lambda: text)


def _passes(invocation: Invocation, as_json: bool, after: str | None) -> None:
    """The stages of a plan as a table, or the plan at one of them."""
    stages = {stage.name: stage for stage in api.passes(invocation.runnable, **invocation.binding)}
    if after is not None and after not in stages:
        raise InputError(f"there is no pass {after}", fix=f"use {', '.join(stages)}")
    if after is not None:
        text = show_plan(stages[after].plan)
        show_result(as_json, lambda: data.plan(text), lambda: text)
    else:
        wide = max(map(len, stages))
        table = "\n".join(f"{s.name:{wide}}  {s.statements:5}  {s.about}" for s in stages.values())
        show_result(as_json, lambda: data.passes([*stages.values()]), lambda: table)


@main.command("emit-c")
@on_program
@click.option(
    "-o", "folder", default=".", type=click.Path(), metavar="DIR", help="Where to write.  [default: the current folder]"
)
@click.option("--main", is_flag=True, help="Add a main function that runs on the current inputs.")
@click.option("--unsafe", is_flag=True, help="Even if the level dependence test does not accept the program.")
@click.option("--force", is_flag=True, help="Replace files that wingspan did not write, too.")
def emit_c(invocation: Invocation, as_json: bool, folder: str, **options: Any) -> None:
    """Write the plan of the program in FILE as C.

    The headers that it includes are written, too. Its second line says how to compile it.
    """
    paths = [str(path) for path in api.emit_c(invocation.runnable, folder, **options, **invocation.binding)]
    show_result(as_json, lambda: {"files": paths}, lambda: "\n".join(paths))
