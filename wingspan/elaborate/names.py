"""Names resolved: each name has one meaning, and devices, schedules and parameters take the place of theirs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InputError, Mark, Mistakes, ProgramError, Span
from wingspan.elaborate.devices import ANY, Devices, name_of, schedule
from wingspan.elaborate.parameters import (
    Parameters,
    closest,
    constant,
    did_you_mean,
    read_parameters,
    require_integer,
    value_of,
    values_in,
)
from wingspan.lang import algebra, ir
from wingspan.lang.devices import SERIAL, STATIC, Device, thread_count

ELSEWHERE = {
    "True": "true", "False": "false", "inf": "Inf", "nan": "NaN", "None": "missing", "nothing": "missing",
}  # fmt: skip
"""The names of other languages, with ours."""


@dataclass(frozen=True)
class NameTable:
    """The program without definitions and parameters, its literals exact; what is mistaken is left as it was."""

    body: ir.Statement
    tensors: Mapping[str, ir.Define]
    """the definitions of tensors; extents are literals, or over symbols"""
    devices: Mapping[str, Device]
    """by the name that formats use"""
    returns: tuple[str, ...]
    all: frozenset[str]
    """every name that the program uses"""
    symbols: tuple[str, ...]
    """the free names that stay, each for a number or a schedule that is left open"""

    @property
    def short(self) -> frozenset[str]:
        """The tensors that are defined as short-circuit scalars."""
        return frozenset(T for T, d in self.tensors.items() if isinstance(d.value, ir.ScalarCall) and d.value.short)


def resolve_names(
    tree: ir.Program, params: Mapping[str, Any], threads: int | None, mistakes: Mistakes, symbolic: bool = False
) -> NameTable:
    """Resolve all names but those of tensors. An idle parameter is a mistake, and so is an unknown name, except that a
    parameter without a value is a symbol if the program is bound symbolically.
    """
    if threads is not None:
        threads = thread_count(threads)
    given = read_parameters(params, mistakes)
    definitions = _definitions(tree, given.definitions, mistakes)
    meanings = _meanings(tree, definitions, mistakes)
    asked = _undefined_names(tree, given)
    free = [name for name in asked if meanings.get(name, "a parameter") == "a parameter"]
    _check_parameters(params, tree, asked, free, meanings, mistakes)
    symbols = tuple(name for name in free if name not in given.numbers) if symbolic else ()
    for part in (tree, *given.definitions.values()):
        _check_references(part, definitions, symbols, mistakes)
    resolver = _Resolver(definitions, meanings, given.numbers, symbols, threads, mistakes)
    top = _Context(SERIAL, (), set())
    body = resolver.block(tuple(s for s in tree.body.statements if not isinstance(s, ir.Define)), top)
    tensors = {
        name: resolver.with_extents(d)
        for name, d in definitions.items()
        if isinstance(d.value, ir.TensorCall | ir.ScalarCall)
    }
    return NameTable(body, tensors, resolver.devices.all(), tree.returns, frozenset(meanings), symbols)


# ------------------------------------------------------------------------------------------------- what names stand for

DEFINED = {
    ir.Cpu: "a device", ir.ScheduleCall: "a schedule", ir.TensorCall: "a tensor", ir.ScalarCall: "a tensor",
    ir.Function: "a function",
}  # fmt: skip


def _definitions(tree: ir.Program, parameters: Mapping[str, ir.Define], mistakes: Mistakes) -> dict[str, ir.Define]:
    definitions: dict[str, ir.Define] = {}
    for s in tree.body.statements:
        if isinstance(s, ir.Define) and definitions.setdefault(s.name, s) is not s:
            first, fix = definitions[s.name].span, "give one of the two another name"
            error = ProgramError(f"{s.name} is defined twice", s.span, marks=(Mark(first),) if first else (), fix=fix)
            mistakes.note(error, s.name, spoils=[s.name])
    return {**parameters, **definitions}


def _meanings(tree: ir.Program, definitions: Mapping[str, ir.Define], mistakes: Mistakes) -> dict[str, str]:
    """The meaning of each name; two meanings are a mistake. An index may be a variable elsewhere."""
    found: dict[str, tuple[str, Span | None]] = {}
    for name, what, span in _bindings(tree, definitions):
        known, first = found.setdefault(name, (what, span))
        if known != what and {known, what} != {"a variable", "an index"}:
            error = ProgramError(
                f"{name} is {known} and {what}", span, marks=(Mark(first),) if first else (),
                fix="give one of the two another name",
            )  # fmt: skip
            mistakes.note(error, name, spoils=[name, value_of(name)])
        if what == "a variable":
            found[name] = (what, span)
    parameters = {n.name: "a parameter" for n in tree.walk() if isinstance(n, ir.Variable)}
    return parameters | {name: what for name, (what, _) in found.items()}


def _bindings(tree: ir.Program, definitions: Mapping[str, ir.Define]) -> Iterator[tuple[str, str, Span | None]]:
    """Each name whose form shows what it stands for."""
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


def _undefined_names(tree: ir.Program, parameters: Parameters) -> list[str]:
    """The names that the program, or a definition given to it, asks the meaning of."""
    parts: tuple[ir.Node, ...] = (tree, *parameters.definitions.values())
    return list(dict.fromkeys(n.name for part in parts for n in part.walk() if isinstance(n, ir.Variable)))


def _check_parameters(
    params: Mapping[str, Any],
    tree: ir.Program,
    asked: list[str],
    free: list[str],
    meanings: Mapping[str, str],
    mistakes: Mistakes,
) -> None:
    """A parameter that the program does not ask for is a mistake."""
    written = {s.name: s.span for s in tree.body.statements if isinstance(s, ir.Define)}
    for name in params:
        if name in written:
            message = f"{name} is no parameter: the program defines it"
            mistakes.note(InputError(message, written[name], fix="leave it out"), name)
        elif meanings.get(name) in ("a tensor", "a variable", "an index"):
            message = f"{name} is no parameter: it is {meanings[name]} of the program"
            mistakes.note(InputError(message, fix="leave it out"), name)
        elif name not in asked:
            fix = did_you_mean(name, free) or (f"it has {', '.join(sorted(free))}" if free else "leave it out")
            meant = closest(name, free)
            error = InputError(f"the program has no parameter {name}", fix=fix)
            mistakes.note(error, name, spoils=[*meant, *map(value_of, meant)])


def _check_references(
    tree: ir.Node, definitions: Mapping[str, ir.Define], symbols: Collection[str], mistakes: Mistakes
) -> None:
    """A name must stand for the device or the schedule that its place asks for; a schedule may be left open."""

    def check(node: ir.Node | None, kind: type, example: str) -> None:
        if not isinstance(node, ir.Variable) or (kind is ir.ScheduleCall and node.name in symbols):
            return
        definition = definitions.get(node.name)
        if definition is not None and isinstance(definition.value, kind):
            return
        what = DEFINED[kind]
        if definition is not None:
            message = f"{node.name} is not {what}, it is {DEFINED[type(definition.value)]}"
            error = ProgramError(message, node.span, fix=f"define {what}: {example}")
            mistakes.note(error, node.name, spoils=[f"{node.name} as {what}"])
            return
        known = [name for name, d in definitions.items() if isinstance(d.value, kind)]
        fix = f"define it ({node.name} = {example}) or give it: -p '{node.name}={example}'"
        error = ProgramError(f"{node.name} is not {what}", node.span, fix=did_you_mean(node.name, known) or fix)
        mistakes.note(error, node.name, spoils=[node.name])

    for node in tree.walk():
        match node:
            case ir.Parallel(device=device, schedule=h):
                check(device if isinstance(device, ir.Node) else None, ir.Cpu, "cpu(2)")
                check(h if isinstance(h, ir.Node) else None, ir.ScheduleCall, "static_schedule()")
            case ir.Cpu(parent=parent):
                check(parent, ir.Cpu, "cpu(2)")
            case ir.Format(args=(ir.Variable() as device, ir.Format())):
                check(device, ir.Cpu, "cpu(2)")


# ----------------------------------------------------------------------------------------------------- the replacement


@dataclass(frozen=True)
class _Context:
    """The context of a statement: its device, the loops around it, and the variables bound so far.

    The device is None inside of a loop on one that is mistaken.
    """

    device: Device | None
    loops: tuple[str, ...]
    bound: set[str]

    def inner(self, device: Device | None, *index: str) -> _Context:
        return _Context(device, (*self.loops, *index), set(self.bound))


class _Resolver:
    """Replaces names from the outermost scope inwards."""

    def __init__(
        self,
        definitions: Mapping[str, ir.Define],
        meanings: Mapping[str, str],
        numbers: Mapping[str, ir.Literal],
        symbols: Collection[str],
        threads: int | None,
        mistakes: Mistakes,
    ) -> None:
        self.definitions, self.meanings, self.numbers, self.mistakes = definitions, meanings, numbers, mistakes
        self.symbols = symbols
        changing = [name for name, meant in meanings.items() if meant in ("a variable", "an index")]
        self.constant = _Context(SERIAL, tuple(changing), set(changing))
        """the context of definitions: names that change are left as they are"""
        self.devices = Devices(definitions, self.count, threads, mistakes)
        self.schedules = dict.fromkeys(symbols, ANY) | {
            name: schedule(d.value, self.count)
            for name, d in definitions.items()
            if isinstance(d.value, ir.ScheduleCall)
        }

    def block(self, statements: tuple[ir.Statement, ...], here: _Context) -> ir.Block:
        return ir.Block(tuple(self.statement(s, here) for s in statements))

    def scope(self, body: ir.Statement, here: _Context) -> ir.Statement:
        return self.block(body.statements, here) if isinstance(body, ir.Block) else self.statement(body, here)

    def statement(self, s: ir.Statement, here: _Context) -> ir.Statement:
        match s:
            case ir.For(index=index, range=r, body=body):
                if index in here.loops:
                    message = f"{index} is already the index of an enclosing loop"
                    self.mistakes.note(ProgramError(message, s.span, fix="choose another name"))
                changed, device = self.range(r, here)
                return ir.For(index, changed, self.scope(body, here.inner(device, index)), span=s.span)
            case ir.If(condition=e, body=body):
                return ir.If(self.expression(e, here), self.scope(body, here.inner(here.device)), span=s.span)
            case ir.Assert(condition=e):
                return ir.Assert(self.expression(e, here), span=s.span)
            case ir.Set(name=name, value=e):
                made = ir.Set(name, self.expression(e, here), span=s.span)
                here.bound.add(name)
                return made
            case ir.Assign(access=access, op=op, value=e):
                return ir.Assign(self.expression(access, here), op, self.expression(e, here), span=s.span)
            case ir.Declare(tensor=T, init=e):
                value, init = self.expression(e, here), ir.Literal(0)
                with self.mistakes.collecting(*values_in(value)):
                    init = value if self.open(value) else constant(value, f"the value that {T} is declared with")
                return ir.Declare(T, init, span=s.span)
        return s

    def range(self, r: ir.RangeLike, here: _Context) -> tuple[ir.RangeLike, Device | None]:
        match r:
            case ir.Range(start=a, stop=b):
                return ir.Range(self.expression(a, here), self.expression(b, here), span=r.span), here.device
            case ir.Parallel(range=inner, device=d, schedule=h):
                changed, _ = self.range(inner, here)
                assert isinstance(changed, ir.Range | ir.Whole)
                assert isinstance(d, ir.Variable | ir.Cpu) and isinstance(h, ir.Variable | ir.ScheduleCall)
                device = self.device(d, here.device)
                step = self.schedules.get(h.name, STATIC) if isinstance(h, ir.Variable) else schedule(h, self.count)
                return ir.Parallel(changed, device or SERIAL, step, span=r.span), device
        return r, here.device

    def device(self, d: ir.Variable | ir.Cpu, around: Device | None) -> Device | None:
        """The device of a loop; None if it or one around it is mistaken."""
        if around is not None and (isinstance(d, ir.Cpu) or d.name in self.devices.cpus):
            loops = f"loops on {name_of(d)}"
            with self.mistakes.collecting(name_of(d), loops, spoils=[loops]):
                return self.devices.use(d, around)
        return None

    def with_extents(self, definition: ir.Define) -> ir.Define:
        """A tensor's definition, its extents as literals, or over symbols if they are left open."""
        value = definition.value
        if not isinstance(value, ir.TensorCall):
            return definition
        extents = [self.require_integer(e, "an extent", 0) for e in value.extents]
        known = tuple(e for e in extents if e is not None)
        if len(known) < len(extents):
            self.mistakes.spoiled.add(definition.name)
            known = ()
        return replace(definition, value=replace(value, extents=known))

    def count(self, e: ir.Expression, noun: str, most: int | None) -> int | None:
        """A number of threads, or a chunk size; None if it is mistaken or left open."""
        number = self.require_integer(e, noun, 1, most)
        return int(number.value) if isinstance(number, ir.Literal) else None

    def require_integer(self, e: ir.Expression, noun: str, least: int, most: int | None = None) -> ir.Expression | None:
        """An integer in a definition, which no variable and no index has a part in: a literal, or the expression itself
        if it is left open, or None if it is mistaken.
        """
        made: ir.Expression = self.expression(e, self.constant)
        if self.open(made):
            return made
        with self.mistakes.collecting(*values_in(made)):
            return ir.Literal(require_integer(made, noun, least, most), span=e.span)
        return None

    def open(self, e: ir.Expression) -> bool:
        """Whether a constant is left open: its value depends on symbols, and on nothing else."""
        needed = [node for node in e.walk() if isinstance(node, ir.Variable | ir.Index | ir.Access)]
        return bool(needed) and all(isinstance(node, ir.Variable) and node.name in self.symbols for node in needed)

    def expression(self, e: ir.Expression, here: _Context) -> Any:
        def resolve(node: ir.Node) -> ir.Node:
            match node:
                case ir.Variable(name=name) if name not in here.bound:
                    return self.free(name, node)
                case ir.Index(name=name) if name not in here.loops:
                    return self.free(name, node)
                case ir.Literal(value=value, kind="float"):
                    return ir.Literal(algebra.exact(value), span=node.span)
            return node

        return e.map(resolve)

    def free(self, name: str, node: ir.Node) -> ir.Node:
        """The value of a name that no scope around it binds. A name without a value stays, and is reported once, unless
        it is a symbol.
        """
        if name in self.symbols:
            return node
        if name in self.numbers and self.meanings.get(name, "a parameter") == "a parameter":
            return ir.Literal(self.numbers[name].value, span=node.span)
        message, fix = self.no_value(name)
        self.mistakes.note(ProgramError(message, node.span, fix=fix), name, value_of(name), spoils=[value_of(name)])
        return node

    def no_value(self, name: str) -> tuple[str, str]:
        """Headline and remedy."""
        match self.meanings.get(name, "a parameter"):
            case "a parameter":
                variables = [known for known, what in self.meanings.items() if what in ("a variable", "an index")]
                fix = did_you_mean(name, variables) or f"assign it before, or give it as a parameter: -p {name}=…"
                if name in ELSEWHERE and name not in variables:
                    fix = f"write {ELSEWHERE[name]}"
                return f"{name} has no value", fix
            case "a tensor":
                return f"{name} is a tensor, not a number", f"read an element: {name}[…]"
            case "an index":
                return f"{name} has a value only inside of its loop", "move this into the loop"
            case "a variable":
                fix = f"assign it before, in this scope or in one around it: {name} = 0"
                return f"{name} has no value here", fix
            case what:
                return f"{name} is {what}, not a number", "use a number or a parameter"
