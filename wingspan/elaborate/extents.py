"""Extents and ranges: `_` becomes 1:n, and tensors without extents get those that the loops need.

A loop over `_` runs over the axis on which its index stands bare, as `uses` says. If it stands bare on none, the loop
runs as far as the subscripts that have the index lie in their axes. An axis without an extent gets the
largest subscript that the loops produce there, conditions apart. An axis of an input that is left open has the extent
of the loops over `_` that it rules over, a symbol if that is left open too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from wingspan.base.errors import Fault, Mark, Mistakes, ProgramError
from wingspan.base.libraries import isl
from wingspan.buffers.tower import OPEN
from wingspan.elaborate.affine import AffineText, NotAffine
from wingspan.elaborate.inputs import TensorSource, subject
from wingspan.elaborate.parameters import values_in
from wingspan.elaborate.uses import AxisUse, LoopUse, loops_and_uses
from wingspan.lang import algebra, ir
from wingspan.levels import Tower
from wingspan.tensors.tensor import HUGE, SMALLER, room_with, too_large

MOST = 200_000
"""Iterations that are tried out to find the largest subscript."""

Shapes = Mapping[str, list[ir.Expression | None]]
"""The extents of each tensor: a literal, or over symbols, or None while it is unknown."""


def settle_extents(
    body: ir.Statement, sources: Mapping[str, TensorSource], symbols: Collection[str], mistakes: Mistakes
) -> tuple[ir.Statement, dict[str, Tower], dict[str, tuple[ir.Expression, ...]]]:
    """The program without `_`, every tensor's tower, and its extents. A range or an extent that cannot be found is a
    mistake; one that is left open becomes a symbol, beside those that the program has.
    """
    loops, uses = loops_and_uses(body, sources)
    uses_of: dict[str, list[AxisUse]] = {}
    for use in uses:
        uses_of.setdefault(use.tensor, []).append(use)
    shapes = {name: list(source.extents) for name, source in sources.items()}
    inputs = {name: shape for name, shape in shapes.items() if not sources[name].declared}
    inferred = {name: shape for name, shape in shapes.items() if sources[name].declared}
    every = {*symbols, *(_symbol(name, axis).name for name, shape in shapes.items() for axis in range(len(shape)))}
    _ExtentInference(loops, uses_of, shapes, inputs, inferred, every).run()
    _unify_symbols(loops, shapes, sources)
    origins = {name: _origins(name, uses_of.get(name, [])) for name in {**sources, **uses_of}}
    for loop in loops:
        tensors = {use.tensor for use, _ in loop.axes}
        error = _unknown_range(loop) if loop.range is None else _disagreement(loop, shapes)
        if error is not None:
            unknown = [name for name in tensors if loop.range is None and None in shapes.get(name, ())]
            spoils = [loop.key, *unknown] if loop.range is None else []
            mistakes.note(error, *(about for name in tensors for about in origins[name]), spoils=spoils)
    towers: dict[str, Tower] = {}
    for name, source in sources.items():
        with mistakes.collecting(*origins[name], spoils=[name]):
            towers[name] = _tower(source, shapes[name])
    for use in uses:
        if use.tensor in towers:
            for error in _out_of_bounds(use.access, towers[use.tensor], sources[use.tensor]):
                mistakes.note(error, *subject(use.access))
    known = {name: tuple(e for e in shapes[name] if e is not None) for name in towers}
    return _with_ranges(body, iter(loops)), towers, known


def _origins(tensor: str, uses: list[AxisUse]) -> set[str]:
    """The names that a tensor, and the extents inferred from its uses, depend on."""
    found = {tensor}
    for use in uses:
        found.update(subject(use.access), *map(values_in, use.access.subscripts))
        for loop in use.loops.values():
            found.update([loop.key], values_in(loop.node.range))
    return found


def _tower(source: TensorSource, shape: list[ir.Expression | None]) -> Tower:
    """A tensor's tower; ProgramError if an extent is missing, or if the tensor is too large."""
    for axis, extent in enumerate(shape, start=1):
        if extent is None:
            raise ProgramError(
                f"the extent of axis {axis} of {source.name} cannot be inferred from the loops", source.span,
                fix=f"give the extents: {source.name} = Tensor(FORMAT, {', '.join('n' for _ in shape)})",
            )  # fmt: skip
    extents = tuple(int(e.value) if isinstance(e, ir.Literal) else OPEN for e in shape)
    tower = Tower.of(source.root, extents)
    most = HUGE if source.declared else room_with(source.data)
    if OPEN not in extents and tower.full_positions > most:
        raise ProgramError(too_large(source.name, tower, most), source.span, fix=SMALLER)
    return tower


def _out_of_bounds(access: ir.Access, tower: Tower, source: TensorSource) -> Iterator[ProgramError]:
    """The mistakes in constant subscripts; an extent that is left open is as large as they need."""
    marks = (Mark(source.span),) if source.span and source.span != access.span else ()
    for axis, (e, extent) in enumerate(zip(access.subscripts, tower.shape, strict=False), start=1):
        if any(isinstance(node, ir.Access | ir.Variable | ir.Index) for node in e.walk()):
            continue
        try:
            index = evaluate(e, {})
        except Fault:
            continue
        fix = f"use an index from 1 to {extent}" if extent > 0 else "indices count from 1, to the extent"
        if ir.kind_of(index) != "int":
            yield ProgramError(f"a subscript is an integer, not {algebra.show(index)}", e.span, fix=fix)
        elif index < 1 or (index > extent != OPEN):
            has = "an extent that is left open" if extent == OPEN else f"extent {extent}"
            message = f"axis {axis} of {source.name} has {has}, and here the index {index}"
            yield ProgramError(message, e.span, marks=marks, fix=fix)


class _ExtentInference:
    """Finds the ranges and extents that follow from others, and looks again only at what more is known of by then."""

    def __init__(
        self,
        loops: list[LoopUse],
        uses: Mapping[str, list[AxisUse]],
        shapes: Shapes,
        inputs: Shapes,
        inferred: Shapes,
        symbols: Collection[str],
    ) -> None:
        self.loops, self.uses, self.shapes, self.symbols = loops, uses, shapes, symbols
        self.inputs, self.inferred = inputs, inferred
        self.over: dict[str, set[int]] = {}
        """the loops whose index stands bare on an axis of a tensor, by their numbers"""
        for k, loop in enumerate(loops):
            for use, _ in loop.axes:
                self.over.setdefault(use.tensor, set()).add(k)
        self.around: dict[int, set[str]] = {}
        """the tensors without extents that are used in a loop"""
        numbers = {id(loop): k for k, loop in enumerate(loops)}
        for name in inferred:
            for use in uses.get(name, []):
                for loop in use.loops.values():
                    self.around.setdefault(numbers[id(loop)], set()).add(name)
        self.order = {name: k for k, name in enumerate(inferred)}
        self.to_range = set(range(len(loops)))
        self.to_share: set[int] = set()
        self.to_extend = set(inferred)
        self.to_open = deque(inputs)

    def run(self) -> None:
        """Find all that there is."""
        while (
            self.range_loops()
            or self.share_extents()
            or self.extend_axes()
            or self.open_axis()
            or self.close_axes()
            or self.range_by_subscripts()
        ):
            pass

    def range_loops(self) -> bool:
        """Give a range to the loops over `_` whose index stands bare on an axis of known extent."""
        some, self.to_range, progress = sorted(self.to_range), set(), False
        for k in some:
            loop = self.loops[k]
            if loop.range is None:
                found = [_extent(self.shapes, use, axis) for use, axis in loop.ruling or loop.following]
                known = sorted((e for e in found if e is not None), key=lambda e: not isinstance(e, ir.Literal))
                if known:
                    loop.range = ir.Range(ir.Literal(1), known[0])
                    loop.ruling = loop.ruling or loop.following
                    progress = True
                    self.to_share.add(k)
                    self.to_extend |= self.around.get(k, set())
        return progress

    def range_by_subscripts(self) -> bool:
        """Give a range to the loops over `_` whose index stands bare nowhere: where all of its subscripts lie in their
        axes.
        """
        progress = False
        for k, loop in enumerate(self.loops):
            if loop.range is None and loop.is_implicit and not loop.axes:
                loop.range = self.within_axes(loop)
                if loop.range is not None:
                    progress = True
                    self.to_extend |= self.around.get(k, set())
        return progress

    def within_axes(self, loop: LoopUse) -> ir.Range | None:
        """The indices for which all subscripts that a loop's index is in lie in their axes; None if these are no range,
        or if a subscript has something else in it, or an axis no extent.
        """
        index, text, inside = loop.node.index, AffineText([loop.node.index], {}), []
        here = [use for uses in self.uses.values() for use in uses if use.loops.get(index) is loop]
        subscripts = [(use, axis, e) for use in here for axis, e in enumerate(use.access.subscripts)]
        for use, axis, e in subscripts:
            if _has(e, index):
                n = _extent(self.shapes, use, axis)
                if not isinstance(n, ir.Literal):
                    return None
                try:
                    inside.append(f"1 <= {text.number(e)} <= {n.value}")
                except NotAffine:
                    return None
        if not inside:
            return None
        found = isl.Set(f"{{ [{text.names[index]}] : {' and '.join(inside)} }}")
        if found.is_empty():
            return ir.Range(ir.Literal(1), ir.Literal(0))
        if not found.is_bounded():
            return None
        first, last = (int(end.get_num_si()) for end in (found.dim_min_val(0), found.dim_max_val(0)))
        whole = isl.Set(f"{{ [i] : {first} <= i <= {last} }}")
        return ir.Range(ir.Literal(first), ir.Literal(last)) if whole.is_subset(found) else None

    def share_extents(self) -> bool:
        """Give the extent of the loops over `_` to the open axes of inputs: those that rule over one agree."""
        some, self.to_share = sorted(self.to_share), set()
        for loop in (self.loops[k] for k in some):
            for use, axis in (*loop.ruling, *loop.following):
                shape = self.inputs.get(use.tensor, [])
                if loop.range and len(shape) == len(use.access.subscripts) and shape[axis] is None:
                    self.set_extent(use.tensor, axis, loop.range.stop)
        return bool(self.to_range)

    def extend_axes(self) -> bool:
        """Give an extent to axes whose subscripts are all known; updates decide, reads only where there are none."""
        some, self.to_extend = sorted(self.to_extend, key=self.order.__getitem__), set()
        for name in some:
            self.extend(name)
        return bool(self.to_range)

    def close_axes(self) -> bool:
        """Give an extent to axes that are updated over their own whole length, too: their other updates decide."""
        return any([self.extend(name, closing=True) for name in self.inferred])

    def extend(self, name: str, closing: bool = False) -> bool:
        """Give an extent to the axes of a tensor; if `closing`, leave out the loops over `_` that follow it."""
        shape, progress = self.inferred[name], False
        here = [use for use in self.uses.get(name, []) if len(use.access.subscripts) == len(shape)]
        here = [use for use in here if use.updated] or here
        for axis, extent in enumerate(shape):
            if extent is None and here:
                inside = [use for use in here if not isinstance(use.access.subscripts[axis], ir.Permissive)]
                if closing:
                    inside = [use for use in inside if not _follows(use, axis)]
                found = [_largest(use.access.subscripts[axis], use.loops, self.symbols) for use in inside]
                largest = [e for e in found if e is not None]
                if found and len(largest) == len(found):
                    self.set_extent(name, axis, _maximum(largest) or _symbol(name, axis))
                    progress = True
        return progress

    def open_axis(self) -> bool:
        """Make the extent of the first axis of an input that is left open a symbol."""
        while self.to_open:
            shape = self.inputs[self.to_open[0]]
            if None in shape:
                axis = shape.index(None)
                self.set_extent(self.to_open[0], axis, _symbol(self.to_open[0], axis))
                return True
            self.to_open.popleft()
        return False

    def set_extent(self, tensor: str, axis: int, extent: ir.Expression) -> None:
        """Record the extent of an axis and wake the loops that depend on it."""
        self.shapes[tensor][axis] = extent
        self.to_range |= self.over.get(tensor, set())


def _unify_symbols(
    loops: list[LoopUse], shapes: dict[str, list[ir.Expression | None]], sources: Mapping[str, TensorSource]
) -> None:
    """Make one symbol of those of inputs that must agree, though only a tensor without extents ties them."""
    inputs = {name: shape for name, shape in shapes.items() if not sources[name].declared}
    opened = [e for name, shape in inputs.items() for axis, e in enumerate(shape) if e == _symbol(name, axis)]
    first: dict[ir.Node, ir.Expression] = {e: e for e in opened if e is not None}
    for loop in loops:
        fixed = [first.get(e) for _, _, e in _known_extents(loop, shapes)]
        met = [e for e in first if e in fixed]
        first |= {e: met[0] for e, known in first.items() if known in met}
    if any(e != known for e, known in first.items()):
        for shape in shapes.values():
            shape[:] = [e and e.map(lambda node: first.get(node, node)) for e in shape]
        for loop in loops:
            loop.range = loop.range and loop.range.map(lambda node: first.get(node, node))


def _symbol(tensor: str, axis: int) -> ir.Variable:
    """The symbol of the extent of an axis that is left open; no program has this name."""
    return ir.Variable(f"extent {axis + 1} of {tensor}")


def _extent(shapes: Shapes, use: AxisUse, axis: int) -> ir.Expression | None:
    """The extent of an axis, as far as it is known."""
    shape = shapes.get(use.tensor, ())
    return shape[axis] if len(shape) == len(use.access.subscripts) else None


def _follows(use: AxisUse, axis: int) -> bool:
    """Whether a subscript is the index of a loop that has no range, and that no other tensor gives one."""
    e = use.access.subscripts[axis]
    if not isinstance(e, ir.Index) or use.loops[e.name].range is not None:
        return False
    return all(ruling.tensor == use.tensor for ruling, _ in use.loops[e.name].ruling)


def _has(e: ir.Node, index: str) -> bool:
    """Whether an index is in a subscript, other than in those of what it reads; not with ~, which bounds nothing."""
    if isinstance(e, ir.Access | ir.Permissive):
        return False
    return e == ir.Index(index) or any(_has(child, index) for child in e.children())


def _maximum(subscripts: list[ir.Expression]) -> ir.Expression | None:
    """The largest of an axis's largest subscripts; None if that is left open."""
    numbers = [e.value for e in subscripts if isinstance(e, ir.Literal)]
    if len(numbers) == len(subscripts):
        return ir.Literal(max(numbers))
    first = subscripts[0]
    closed = not any(isinstance(node, ir.Index) for node in first.walk())
    return first if closed and all(e == first for e in subscripts) else None


def _largest(e: ir.Expression, loops: Mapping[str, LoopUse], symbols: Collection[str]) -> ir.Expression | None:
    """The largest value of a subscript over its loops, 0 if there is none; None if it cannot be inferred (yet).

    If it depends on symbols, it is the subscript itself, or for the index of a loop 1:n, n.
    """
    needed = _needed_names(e, loops, symbols)
    if needed is None:
        return None
    r = loops[e.name].range if isinstance(e, ir.Index) else None
    if not set(needed).isdisjoint(symbols):
        return r.stop if r and r.start == ir.Literal(1) else e
    if isinstance(e, ir.Index) and needed == [e.name]:
        return ir.Literal(_last_iteration(loops[e.name]))
    largest = 0
    for values in _iterations(needed, loops, {}, iter(range(MOST))):
        if values is None:
            return None
        try:
            value = evaluate(e, values)
        except Fault:
            continue
        if isinstance(value, int) and not isinstance(value, ir.Pair):
            largest = max(largest, value)
    return ir.Literal(largest)


def _last_iteration(loop: LoopUse) -> int:
    """The last iteration of a loop whose range depends on no index, 0 if there is none."""
    assert loop.range is not None
    try:
        start, stop = evaluate(loop.range.start, {}), evaluate(loop.range.stop, {})
    except Fault:
        return 0
    return max(0, stop) if isinstance(start, int) and isinstance(stop, int) and start <= stop else 0


def _needed_names(e: ir.Expression, loops: Mapping[str, LoopUse], symbols: Collection[str]) -> list[str] | None:
    """The indices that an expression depends on, through ranges too, outermost first, and the symbols.

    None if a range is unknown, or if memory is read.
    """
    names: set[str] = set()
    pending: list[ir.Node] = [e]
    while pending:
        for node in pending.pop().walk():
            match node:
                case ir.Variable(name=name) if name in symbols:
                    names.add(name)
                case ir.Access() | ir.Variable():
                    return None
                case ir.Index(name=name) if name not in names:
                    names.add(name)
                    r = loops[name].range
                    if r is None:
                        return None
                    pending.append(r)
    return [*(name for name in loops if name in names), *sorted(names - loops.keys())]


def _iterations(
    names: list[str], loops: Mapping[str, LoopUse], values: dict[str, int], tries: Iterator[int]
) -> Iterator[dict[str, int] | None]:
    """The values of indices, loop by loop; None when the tries are used up."""
    if not names:
        yield values
        return
    first, *rest = names
    r = loops[first].range
    assert r is not None
    try:
        start, stop = evaluate(r.start, values), evaluate(r.stop, values)
    except Fault:
        return
    if isinstance(start, int) and isinstance(stop, int):
        for value in range(start, stop + 1):
            if next(tries, None) is None:
                yield None
            yield from _iterations(rest, loops, {**values, first: value}, tries)


def evaluate(e: ir.Expression, values: Mapping[str, int]) -> ir.Value:
    """The value of an expression over loop indices."""
    match e:
        case ir.Literal(value=value):
            return algebra.exact(value)
        case ir.Index(name=name):
            return values[name]
        case ir.Call(op=op, args=args):
            return algebra.apply(op, *(evaluate(a, values) for a in args))
    raise Fault(f"not a function of the loop indices: {e}")


def _unknown_range(loop: LoopUse) -> ProgramError:
    index = loop.node.index
    why = f"no tensor that {index} subscripts has a known extent" if loop.axes else f"{index} stands bare on no axis"
    return ProgramError(f"the range of {index} cannot be inferred: {why}", loop.node.span, fix=f"for {index} = 1:n")


def _disagreement(loop: LoopUse, shapes: Shapes) -> ProgramError | None:
    """The axes that rule over a loop over `_` must agree."""
    index = loop.node.index
    fixed = [(use, axis, int(e.value)) for use, axis, e in _known_extents(loop, shapes) if isinstance(e, ir.Literal)]
    for use, axis, extent in fixed[1:]:
        first, where, wanted = fixed[0]
        if extent != wanted:
            one, other = first.access.span, use.access.span
            end = max if index in use.guards else min  # what is guarded may be accessed up to any extent
            fix = f"give the range: for {index} = 1:{end(extent, wanted)}"
            if index not in use.guards:
                shorter = use if extent < wanted else first
                fix += f", or access {shorter.tensor} under a condition on {index}"
            return ProgramError(
                f"{index} runs over axis {where + 1} of {first.tensor}, which has extent {wanted}, "
                f"and over axis {axis + 1} of {use.tensor}, which has {extent}",
                other,
                marks=(Mark(one),) if one and one != other else (),
                fix=fix,
            )
    return None


def _known_extents(loop: LoopUse, shapes: Shapes) -> Iterator[tuple[AxisUse, int, ir.Expression]]:
    """The axes that rule over a loop over `_`, with their extents."""
    for use, axis in loop.ruling if loop.is_implicit else ():
        extent = _extent(shapes, use, axis)
        if extent is not None:
            yield use, axis, extent


def _with_ranges(s: ir.Statement, loops: Iterator[LoopUse]) -> ir.Statement:
    match s:
        case ir.Block(statements=statements):
            return ir.Block(tuple(_with_ranges(each, loops) for each in statements), span=s.span)
        case ir.If(condition=condition, body=body):
            return ir.If(condition, _with_ranges(body, loops), span=s.span)
        case ir.For(index=index, range=r, body=body):
            known = next(loops).range
            if known is None:
                return ir.For(index, r, _with_ranges(body, loops), span=s.span)
            changed = replace(r, range=known) if isinstance(r, ir.Parallel) else known
            return ir.For(index, changed, _with_ranges(body, loops), span=s.span)
    return s
