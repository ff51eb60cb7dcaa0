"""Parameters: values that the caller gives to free names, as numbers or as text on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault, InputError, Mistakes, ParseError, ProgramError
from wingspan.lang import algebra, ir, parser


@dataclass(frozen=True)
class Parameters:
    """The caller's numbers, and definitions of devices and schedules."""

    numbers: Mapping[str, ir.Literal]
    definitions: Mapping[str, ir.Define]


def read_parameters(params: Mapping[str, Any], mistakes: Mistakes) -> Parameters:
    """The parameters as trees; one that is neither a number nor a device nor a schedule is a mistake."""
    read: dict[str, ir.Define | ir.Literal] = {}
    for name, value in params.items():
        with mistakes.collecting(spoils=[name, value_of(name)]):
            read[name] = _parse_number(name, value)
    return Parameters(
        {name: e for name, e in read.items() if isinstance(e, ir.Literal)},
        {name: d for name, d in read.items() if isinstance(d, ir.Define)},
    )


def _parse_number(name: str, value: Any) -> ir.Define | ir.Literal:
    """A number, or text as it would stand in a program."""
    value = value.item() if getattr(value, "ndim", None) == 0 else value
    text = algebra.show(value) if isinstance(value, bool | int) else str(value)
    try:
        match parser.parse(f"{name} = {text}", f"parameter {name}").body.statements:
            case (ir.Define(value=ir.Cpu() | ir.ScheduleCall()) as definition,):
                return definition
            case (ir.Set(value=e),):
                return constant(e, "a parameter")
    except (ParseError, ProgramError) as error:
        raise InputError(f"parameter {name}: {error.message}", error.span, fix=f"for example -p {name}=4") from None
    raise InputError(
        f"parameter {name} is no number, no device and no schedule",
        fix=f"for example -p {name}=4, -p '{name}=cpu(:{name}, 2)' or -p '{name}=static_schedule()'",
    )


def constant(e: ir.Expression, noun: str) -> ir.Literal:
    """The value of an expression without names; ProgramError if it has none."""

    def value(e: ir.Expression) -> ir.Value:
        match e:
            case ir.Literal(value=v):
                return algebra.exact(v)
            case ir.Call(op=op, args=args):
                try:
                    return algebra.apply(op, *map(value, args))
                except Fault as fault:
                    message = f"{noun} has no value: {fault.message}"
                    raise ProgramError(message, e.span, fix="use another expression") from None
            case ir.Variable(name=name) | ir.Index(name=name):
                raise ProgramError(
                    f"{noun} must be a constant, and {name} is none", e.span, fix="use numbers and parameters only"
                )
        raise ProgramError(f"{noun} must be a constant", e.span, fix="use numbers and parameters only")

    return ir.Literal(value(e), span=e.span)


def require_integer(e: ir.Expression, noun: str, least: int, most: int | None = None) -> int:
    """The value of a constant that must be an integer of at least `least`, and at most `most`."""
    literal = constant(e, noun)
    have = algebra.show(literal.value)
    if literal.kind != "int" or literal.value < least:
        raise ProgramError(f"{noun} is an integer of at least {least}, not {have}", e.span, fix=f"use {least} or more")
    if most is not None and literal.value > most:
        raise ProgramError(f"{noun} is at most {most}, not {have}", e.span, fix=f"use {most} or less")
    return int(literal.value)


def value_of(name: str) -> str:
    """The subject that is spoiled when a name has no value."""
    return f"the value of {name}"


def values_in(e: ir.Node) -> list[str]:
    """The values of the variables in an expression or a range: what is wrong with it may come from one of them."""
    return [value_of(node.name) for node in e.walk() if isinstance(node, ir.Variable)]


def closest(name: str, known: Iterable[str]) -> list[str]:
    """The known name that is close to the one given, if one is."""
    from difflib import get_close_matches  # only a mistake needs it

    return get_close_matches(name, sorted(known), n=1)


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A question for the remedy, if a known name is close to the one given."""
    close = closest(name, known)
    return f"did you mean {close[0]}?" if close else None
