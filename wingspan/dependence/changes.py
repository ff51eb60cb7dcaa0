"""Changes of a program as written: another format of a tensor, another range of a loop, nothing parallel at all.

Loops are known by their numbers in the order of the text, which no change alters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from wingspan.base.dataclass import dataclass
from wingspan.dependence.findings import Report
from wingspan.lang import ir
from wingspan.lang.printer import show
from wingspan.levels import usual
from wingspan.levels.base import Gated
from wingspan.levels.registry import REGISTRY


def single_changes(tree: ir.Program, report: Report) -> Iterator[ir.Program]:
    """The program with each single change that concerns what the report found.

    No format helps a variable, or makes the last of several writers the same one: there only loops are changed.
    """
    fixable = {f.tensor for f in report.findings if f.topic not in ("variable", "order-dependence")}
    disordered = {f.tensor for f in report.findings if f.topic in ("order", "overlap")}
    named = {(f.loop.index, f.loop.span) for f in report.findings if f.loop}
    for T in formats(tree):
        if T in fixable:
            yield from _other_formats(tree, T)
        if T in disordered:
            yield from _with_hashed_levels(tree, T)
    for loop in headers(tree):
        if loop.parallel and ((loop.node.index, loop.node.span) in named or any(map(loop.updates, fixable))):
            yield from _other_ranges(tree, loop)
    for T in dict.fromkeys(f.tensor for f in report.findings if f.topic == "gate"):
        yield from _on_its_device(tree, T)


# ------------------------------------------------------------------------------------------------- formats as written

Layers = tuple[ir.Format, ...]
"""The levels of a format, root first, each without the one that it wraps."""


def formats(tree: ir.Program) -> dict[str, Layers]:
    """The levels of every tensor that the program defines, by its name."""
    found = {s.name: _layers(s.value) for s in tree.body.statements if isinstance(s, ir.Define)}
    return {name: layers for name, layers in found.items() if layers}


def _layers(value: ir.Definable) -> Layers:
    """The levels of a tensor; none of anything else."""
    if isinstance(value, ir.ScalarCall):
        return (ir.Format(usual.LEAF, (value.init,)),)
    found: list[ir.Format] = []
    form = value.format if isinstance(value, ir.TensorCall) else None
    while form is not None:
        found.append(ir.Format(form.name, tuple(a for a in form.args if not isinstance(a, ir.Format))))
        form = next((a for a in form.args if isinstance(a, ir.Format)), None)
    return tuple(found)


def is_modifier(layer: ir.Format) -> bool:
    """Whether it wraps a level and has no axis of its own."""
    return REGISTRY[layer.name].modifier


def with_formats(tree: ir.Program, changed: Mapping[str, Layers]) -> ir.Program:
    """The program with other formats for some of its tensors."""

    def change(s: ir.Statement) -> ir.Statement:
        if not isinstance(s, ir.Define) or s.name not in changed or _layers(s.value) == changed[s.name]:
            return s
        *outer, form = changed[s.name]
        for layer in reversed(outer):
            form = ir.Format(layer.name, (*layer.args, form))
        value = s.value if isinstance(s.value, ir.TensorCall) else ir.TensorCall(form)
        return replace(s, value=replace(value, format=form))

    return _with_statements(tree, *map(change, tree.body.statements))


def _with_statements(tree: ir.Program, *statements: ir.Statement) -> ir.Program:
    return replace(tree, body=replace(tree.body, statements=statements))


def _other_formats(tree: ir.Program, T: str) -> Iterator[ir.Program]:
    """A tensor with all, all but one or none of its modifiers; and then with one put anywhere, or the leaf Atomic.

    Atomic counts as a modifier of Element.
    """
    layers = formats(tree)[T]
    fewer = [(*layers[:k], *layers[k + 1 :]) for k, layer in enumerate(layers) if is_modifier(layer)]
    for base in dict.fromkeys((layers, *fewer, without_modifiers(layers))):
        yield with_formats(tree, {T: base})
        yield from with_modifiers(tree, T, base)


def without_modifiers(layers: Layers) -> Layers:
    """A format without its modifiers, Atomic among them."""
    return (*(layer for layer in layers[:-1] if not is_modifier(layer)), _plain_leaf(layers[-1]))


def _plain_leaf(leaf: ir.Format) -> ir.Format:
    return ir.Format(usual.LEAF, leaf.args) if leaf.name == usual.ATOMIC else leaf


def with_modifiers(tree: ir.Program, T: str, base: Layers) -> Iterator[ir.Program]:
    """A tensor in a format with the leaf Atomic, and with one modifier put anywhere.

    The devices of modifiers are those of the parallel loops in which the tensor is updated.
    """
    if base[-1].name == usual.LEAF:
        yield with_formats(tree, {T: (*base[:-1], ir.Format(usual.ATOMIC, base[-1].args))})
    more = [(tree, ir.Format(name, ())) for name in usual.UNGATED]
    for loop in headers(tree):
        if loop.parallel and loop.updates(T):
            device, named = _with_name(tree, loop)
            more += [(named, ir.Format(name, (device,))) for name in usual.GATED]
    for defined, modifier in more:
        for k in range(len(base)):
            yield with_formats(defined, {T: (*base[:k], modifier, *base[k:])})


def extends(large: Layers, small: Layers) -> bool:
    """Whether a format is another one with further modifiers, or with a leaf that is Atomic."""
    if not large or not small:
        return large == small
    same = large[0] == small[0] or (large[0].name, small[0].name) == (usual.ATOMIC, usual.LEAF)
    return (same and extends(large[1:], small[1:])) or (is_modifier(large[0]) and extends(large[1:], small))


def _with_hashed_levels(tree: ir.Program, T: str) -> Iterator[ir.Program]:
    """A tensor with one of its levels that are filled in ascending order replaced by SparseDict, which is not.

    A SparseCOO becomes a SparseDict for each of its axes.
    """
    layers = formats(tree)[T]
    for k, layer in enumerate(layers):
        if REGISTRY[layer.name].once:
            axes = next((int(n.value) for n in layer.args if isinstance(n, ir.Literal)), 1)
            yield with_formats(tree, {T: (*layers[:k], *[ir.Format(usual.ANY_ORDER, ())] * axes, *layers[k + 1 :])})


# --------------------------------------------------------------------------------------------------- loops as written


@dataclass(frozen=True)
class Header:
    """The header of a loop as written: the number of the loop, and the numbers of those around it."""

    number: int
    node: ir.For
    around: tuple[int, ...]

    @property
    def parallel(self) -> ir.Parallel | None:
        """Its range, if the loop is parallel."""
        return self.node.range if isinstance(self.node.range, ir.Parallel) else None

    @property
    def serial(self) -> ir.Whole | ir.Range | None:
        """Its range, if the loop is serial."""
        return self.node.range if isinstance(self.node.range, ir.Whole | ir.Range) else None

    def updates(self, tensor: str) -> bool:
        """Whether the tensor is updated in the loop."""
        return any(updated and a.fiber.tensor == tensor for a, updated in ir.accesses(self.node))


def headers(tree: ir.Program) -> list[Header]:
    """The headers of all loops, in the order of the text."""
    found: list[Header] = []

    def visit(s: ir.Statement, around: tuple[int, ...]) -> None:
        match s:
            case ir.Block(statements=statements):
                for each in statements:
                    visit(each, around)
            case ir.If(body=body):
                visit(body, around)
            case ir.For(body=body):
                found.append(Header(number := len(found), s, around))
                visit(body, (*around, number))

    visit(tree.body, ())
    return found


def header_text(loop: Header, loops: Sequence[Header]) -> str:
    """The header of a loop as text, with its line as a comment if there are others over its index."""
    text = show(ir.For(loop.node.index, loop.node.range, ir.SKIP)).splitlines()[0]
    alike = sum(other.node.index == loop.node.index for other in loops)
    return f"{text}  # line {loop.node.span.line}" if alike > 1 and loop.node.span else text


def with_ranges(tree: ir.Program, changed: Mapping[int, ir.RangeLike]) -> ir.Program:
    """The program with other ranges for some of its loops, by their numbers."""
    numbers = count()

    def change(s: ir.Statement) -> ir.Statement:
        match s:
            case ir.Block(statements):
                return replace(s, statements=tuple(map(change, statements)))
            case ir.If(body=body):
                return replace(s, body=change(body))
            case ir.For(range=r, body=body):
                return replace(s, range=changed.get(next(numbers), r), body=change(body))
        return s

    return _with_statements(tree, *map(change, tree.body.statements))


def with_device(tree: ir.Program, device: ir.Cpu) -> tuple[ir.Variable, ir.Program]:
    """A name for a device, and the program with its definition: after that of its parent, or first."""
    used = {getattr(node, field, "") for node in tree.walk() for field in ("name", "index", "tensor", "id")}
    name = next(name for k in count(1) if (name := f"dev{k if k > 1 else ''}") not in used)
    define = ir.Define(name, replace(device, id=device.id or name))
    defined = [s.name if isinstance(s, ir.Define) else None for s in tree.body.statements]
    at = defined.index(device.parent.name) + 1 if device.parent else 0
    return ir.Variable(name), _with_statements(tree, *tree.body.statements[:at], define, *tree.body.statements[at:])


def _with_name(tree: ir.Program, loop: Header) -> tuple[ir.Variable, ir.Program]:
    """The name of a parallel loop's device, and the program where it has that name."""
    device = loop.parallel.device if loop.parallel else None
    if not isinstance(device, ir.Cpu):
        assert isinstance(device, ir.Variable)
        return device, tree
    name, defined = with_device(tree, device)
    same = [
        other
        for other in headers(tree)
        if other.number == loop.number or (device.id and other.parallel and other.parallel.device == device)
    ]
    return name, with_ranges(defined, {o.number: replace(o.parallel, device=name) for o in same if o.parallel})


def _other_ranges(tree: ir.Program, loop: Header) -> Iterator[ir.Program]:
    """A parallel loop dealt statically, serial, or with another one of its nest parallel instead."""
    r = loop.parallel
    assert r is not None
    yield with_ranges(tree, {loop.number: replace(r, schedule=ir.DEFAULT_SCHEDULE)})
    yield _without_idle(with_ranges(tree, {loop.number: r.range}), r.device)
    for other in headers(tree):
        if other.serial and (other.number in loop.around or loop.number in other.around):
            yield with_ranges(tree, {loop.number: r.range, other.number: replace(r, range=other.serial)})


def _without_idle(tree: ir.Program, device: object) -> ir.Program:
    """The program without the modifiers of a device, unless a loop runs on it: nothing else could update the levels."""
    if any(loop.parallel and loop.parallel.device == device for loop in headers(tree)):
        return tree
    kept = {T: tuple(layer for layer in layers if device not in layer.args) for T, layers in formats(tree).items()}
    return with_formats(tree, kept)


def _on_its_device(tree: ir.Program, T: str) -> Iterator[ir.Program]:
    """A serial loop around the tensor's updates run on a device that gates one of its levels."""
    for layer in formats(tree).get(T, ()):
        if issubclass(REGISTRY[layer.name], Gated):
            (device,) = layer.args
            assert isinstance(device, ir.Variable)
            for loop in headers(tree):
                if loop.serial and loop.updates(T):
                    parallel = ir.Parallel(loop.serial, device, ir.DEFAULT_SCHEDULE)
                    yield with_ranges(tree, {loop.number: parallel})


def sequential(tree: ir.Program) -> ir.Program:
    """The program without anything parallel: loops serial, no modifiers, no devices and schedules."""
    ranges = {loop.number: loop.parallel.range for loop in headers(tree) if loop.parallel}
    without = with_formats(tree, {T: without_modifiers(layers) for T, layers in formats(tree).items()})
    kept = [
        s
        for s in without.body.statements
        if not (isinstance(s, ir.Define) and isinstance(s.value, ir.Cpu | ir.ScheduleCall))
    ]
    return with_ranges(_with_statements(without, *kept), ranges)
