"""Names resolved: each name has one meaning, and devices, schedules and parameters take the place of theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from wingspan.elaborate.devices import Devices, schedule
from wingspan.elaborate.parameters import constant, did_you_mean, read_parameters, whole
from wingspan.errors import InputError, Mark, ProgramError, Span
from wingspan.lang import algebra, ir
from wingspan.lang.devices import SERIAL, Device


@dataclass(frozen=True)
class Names:
    """The program without definitions and parameters, its literals exact."""

    body: ir.Statement
    tensors: Mapping[str, ir.Define]
    """the definitions of tensors; extents are literals"""
    devices: Mapping[str, Device]
    """by the name that formats use"""
    returns: tuple[str, ...]
    all: frozenset[str]
    """every name that the program uses"""


def resolve_names(tree: ir.Program, params: Mapping[str, Any], threads: int | None) -> Names:
    """Resolve all names but those of tensors. ProgramError for an unknown one, InputError for an idle parameter."""
    if threads is not None and not (isinstance(threads, int) and threads >= 1):
        raise InputError(f"a device has at least 1 thread, not {threads}", fix="--threads 1")
    given = read_parameters(params)
    definitions = _definitions(tree, given.definitions)
    meanings = _meanings(tree, definitions)
    parts: tuple[ir.Node, ...] = (tree, *given.definitions.values())
    _check_parameters(params, parts, meanings)
    for part in parts:
        _check_references(part, definitions)
    resolver = _Resolver(definitions, meanings, given.numbers, threads)
    top = _Place(SERIAL, (), set())
    body = resolver.block(tuple(s for s in tree.body.statements if not isinstance(s, ir.Define)), top)
    tensors = {
        name: _with_extents(d, resolver)
        for name, d in definitions.items()
        if isinstance(d.value, ir.TensorCall | ir.ScalarCall)
    }
    return Names(body, tensors, resolver.devices.all(), tree.returns, frozenset(meanings))


# ------------------------------------------------------------------------------------------------- what names stand for

DEFINED = {ir.Cpu: "a device", ir.ScheduleCall: "a schedule", ir.TensorCall: "a tensor", ir.ScalarCall: "a tensor"}


def _definitions(tree: ir.Program, given: Mapping[str, ir.Define]) -> dict[str, ir.Define]:
    found: dict[str, ir.Define] = {}
    for s in tree.body.statements:
        if isinstance(s, ir.Define):
            if s.name in found:
                first = found[s.name].span
                raise ProgramError(
                    f"{s.name} is defined twice", s.span, marks=(Mark(first),) if first else (),
                    fix="give one of the two another name",
                )  # fmt: skip
            found[s.name] = s
    for name in given:
        if name in found:
            raise InputError(f"{name} is no parameter: the program defines it", found[name].span, fix="leave it out")
    return found | dict(given)


def _meanings(tree: ir.Program, definitions: Mapping[str, ir.Define]) -> dict[str, str]:
    """What each name stands for; ProgramError if a name stands for two things. An index may be a variable elsewhere."""
    found: dict[str, tuple[str, Span | None]] = {}
    for name, what, span in _bindings(tree, definitions):
        known, first = found.setdefault(name, (what, span))
        if known != what and {known, what} != {"a variable", "an index"}:
            raise ProgramError(
                f"{name} is {known} and {what}", span, marks=(Mark(first),) if first else (),
                fix="give one of the two another name",
            )  # fmt: skip
        if what == "a variable":
            found[name] = (what, span)
    parameters = {n.name: "a parameter" for n in tree.walk() if isinstance(n, ir.Variable)}
    return parameters | {name: what for name, (what, _) in found.items()}


def _bindings(tree: ir.Program, definitions: Mapping[str, ir.Define]) -> Iterator[tuple[str, str, Span | None]]:
    """Each name where its form tells what it stands for."""
    for name, definition in definitions.items():
        yield name, DEFINED[type(definition.value)], definition.span
    for node in tree.walk():
        match node:
            case ir.Access(fiber=ir.Fiber(tensor=name) as root):
                yield name, "a tensor", root.span
            case ir.Declare(tensor=name) | ir.Freeze(tensor=name) | ir.Thaw(tensor=name):
                yield name, "a tensor", node.span
            case ir.Set(name=name):
                yield name, "a variable", node.span
            case ir.For(index=name):
                yield name, "an index", node.span


def _check_parameters(params: Mapping[str, Any], parts: tuple[ir.Node, ...], meanings: Mapping[str, str]) -> None:
    """InputError for a parameter that the program does not ask for."""
    asked = {n.name for part in parts for n in part.walk() if isinstance(n, ir.Variable)}
    free = {name for name in asked if meanings.get(name, "a parameter") == "a parameter"}
    for name in params:
        if meanings.get(name) in ("a tensor", "a variable", "an index"):
            raise InputError(f"{name} is no parameter: it is {meanings[name]} of the program", fix="leave it out")
        if name not in asked:
            fix = did_you_mean(name, free) or (f"it has {', '.join(sorted(free))}" if free else "leave it out")
            raise InputError(f"the program has no parameter {name}", fix=fix)


def _check_references(tree: ir.Node, definitions: Mapping[str, ir.Define]) -> None:
    """ProgramError where a name does not stand for the device or the schedule that its place asks for."""

    def check(node: ir.Node | None, kind: type, example: str) -> None:
        if not isinstance(node, ir.Variable):
            return
        definition = definitions.get(node.name)
        if definition is not None and isinstance(definition.value, kind):
            return
        what = DEFINED[kind]
        if definition is not None:
            message = f"{node.name} is not {what}, it is {DEFINED[type(definition.value)]}"
            raise ProgramError(message, node.span, fix=f"define {what}: {example}")
        known = [name for name, d in definitions.items() if isinstance(d.value, kind)]
        fix = f"define it ({node.name} = {example}) or give it: -p '{node.name}={example}'"
        raise ProgramError(f"{node.name} is not {what}", node.span, fix=did_you_mean(node.name, known) or fix)

    for node in tree.walk():
        match node:
            case ir.Parallel(device=device, schedule=h):
                check(device if isinstance(device, ir.Node) else None, ir.Cpu, "cpu(2)")
                check(h if isinstance(h, ir.Node) else None, ir.ScheduleCall, "static_schedule()")
            case ir.Cpu(parent=parent):
                check(parent, ir.Cpu, "cpu(2)")


def _with_extents(definition: ir.Define, resolver: _Resolver) -> ir.Define:
    value = definition.value
    if not isinstance(value, ir.TensorCall):
        return definition
    extents = tuple(ir.Literal(whole(resolver.constant(e), "an extent", 0), span=e.span) for e in value.extents)
    return replace(definition, value=replace(value, extents=extents))


# ----------------------------------------------------------------------------------------------------- the replacement


@dataclass(frozen=True)
class _Place:
    """Where a statement stands: on which device, in which loops, and with which variables bound so far."""

    device: Device
    loops: tuple[str, ...]
    bound: set[str]

    def inner(self, device: Device, *index: str) -> _Place:
        return _Place(device, (*self.loops, *index), set(self.bound))


class _Resolver:
    """Replaces names from the outermost scope inwards."""

    def __init__(
        self,
        definitions: Mapping[str, ir.Define],
        meanings: Mapping[str, str],
        numbers: Mapping[str, ir.Literal],
        threads: int | None,
    ) -> None:
        self.definitions, self.meanings, self.numbers = definitions, meanings, numbers
        self.devices = Devices(definitions, self.constant, threads)

    def block(self, statements: tuple[ir.Statement, ...], here: _Place) -> ir.Block:
        return ir.Block(tuple(self.statement(s, here) for s in statements))

    def scope(self, body: ir.Statement, here: _Place) -> ir.Statement:
        return self.block(body.statements, here) if isinstance(body, ir.Block) else self.statement(body, here)

    def statement(self, s: ir.Statement, here: _Place) -> ir.Statement:
        match s:
            case ir.For(index=index, range=r, body=body):
                if index in here.loops:
                    raise ProgramError(
                        f"{index} is already the index of an enclosing loop", s.span, fix="choose another name"
                    )
                changed, device = self.range(r, here)
                return ir.For(index, changed, self.scope(body, here.inner(device, index)), span=s.span)
            case ir.If(condition=e, body=body):
                return ir.If(self.expression(e, here), self.scope(body, here.inner(here.device)), span=s.span)
            case ir.Set(name=name, value=e):
                made = ir.Set(name, self.expression(e, here), span=s.span)
                here.bound.add(name)
                return made
            case ir.Assign(access=access, op=op, value=e):
                return ir.Assign(self.expression(access, here), op, self.expression(e, here), span=s.span)
            case ir.Declare(tensor=T, init=e):
                value = constant(self.expression(e, here), f"the value that {T} is declared with")
                return ir.Declare(T, value, span=s.span)
        return s

    def range(self, r: ir.RangeLike, here: _Place) -> tuple[ir.RangeLike, Device]:
        match r:
            case ir.Range(start=a, stop=b):
                return ir.Range(self.expression(a, here), self.expression(b, here), span=r.span), here.device
            case ir.Parallel(range=inner, device=d, schedule=h):
                changed, _ = self.range(inner, here)
                assert isinstance(changed, ir.Range | ir.Whole) and isinstance(d, ir.Variable | ir.Cpu)
                device = self.devices.use(d, here.device)
                call = self.definitions[h.name].value if isinstance(h, ir.Variable) else h
                assert isinstance(call, ir.ScheduleCall)
                return ir.Parallel(changed, device, schedule(call, self.constant), span=r.span), device
        return r, here.device

    def constant(self, e: ir.Expression) -> ir.Expression:
        """An expression of a definition: outside of all scopes, where no variable is bound."""
        for node in e.walk():
            if isinstance(node, ir.Variable) and self.meanings.get(node.name) == "a variable":
                raise ProgramError(
                    f"{node.name} is a variable, and definitions use numbers and parameters only", node.span,
                    fix=f"leave its assignment out, and give it as a parameter: -p {node.name}=…",
                )  # fmt: skip
        made: ir.Expression = self.expression(e, _Place(SERIAL, (), set()))
        return made

    def expression(self, e: ir.Expression, here: _Place) -> Any:
        def resolve(node: ir.Node) -> ir.Node:
            match node:
                case ir.Variable(name=name) if name not in here.bound:
                    return self.free(name, node.span)
                case ir.Index(name=name) if name not in here.loops:
                    return self.free(name, node.span)
                case ir.Literal(value=value, kind="float"):
                    return ir.Literal(algebra.exact(value), span=node.span)
            return node

        return e.map(resolve)

    def free(self, name: str, span: Span | None) -> ir.Literal:
        """The value of a name that no scope around it binds."""
        match self.meanings.get(name, "a parameter"):
            case "a parameter" if name in self.numbers:
                return ir.Literal(self.numbers[name].value, span=span)
            case "a parameter":
                variables = [known for known, what in self.meanings.items() if what in ("a variable", "an index")]
                fix = did_you_mean(name, variables) or f"assign it before, or give it as a parameter: -p {name}=…"
                raise ProgramError(f"{name} has no value", span, fix=fix)
            case "a tensor":
                raise ProgramError(f"{name} is a tensor, not a number", span, fix=f"read an element: {name}[…]")
            case "an index":
                raise ProgramError(f"{name} has a value only inside of its loop", span, fix="move this into the loop")
            case "a variable":
                fix = f"assign it before, in this scope or in one around it: {name} = 0"
                raise ProgramError(f"{name} has no value here", span, fix=fix)
            case what:
                raise ProgramError(f"{name} is {what}, not a number", span, fix="use a number or a parameter")
