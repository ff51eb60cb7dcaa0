"""Makes a case on which engines differ smaller, by edits of its program and its inputs (delta debugging).

Hypothesis simplifies what it has drawn, so it keeps what is always drawn: devices that no loop names, modifiers, axes
of extent 2. The edits here know programs: they drop definitions, statements, modifiers and operands, make loops serial,
and reduce extents and elements, as long as the engines differ in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from wingspan import api
from wingspan.api.small import axes
from wingspan.base.errors import WingspanError
from wingspan.lang import ir
from wingspan.levels import REGISTRY
from wingspan.levels.base import Modifier
from wingspan.testing.cases import Case, accepted
from wingspan.testing.open_inputs import open_inputs

TRIES = 500
"""The largest number of smaller cases that are tried."""

MOST = 32
"""The elements of an array with more are left as they are."""

Edit = Callable[[Case], Iterator[Case]]
"""The cases that are smaller by one edit of a kind."""


def reduce_case(case: Case, differs: Callable[[Case], bool], tries: int = TRIES) -> Case:
    """The smallest case that is reached by single edits after each of which the engines still differ.

    `differs` must be False of a program that cannot be bound, since an edit may drop the value of a variable.
    A program that the level dependence test accepts stays one, so that it has one result whatever the schedule. Others
    lose only definitions, extents and elements, since any other edit may bring a race.
    """
    is_safe = accepted(str(case.program))
    edits: list[Edit] = [drop_definitions, reduce_extents, reduce_inputs, simplify_elements]
    if is_safe:
        edits.insert(1, simplify_statements)
    tried = {repr(case)}

    def find_smaller(edit: Edit, case: Case) -> Case | None:
        """The first smaller case on which the engines differ, of those that were not tried."""
        for smaller in edit(case):
            text = repr(smaller)
            if text not in tried and len(tried) <= tries:
                tried.add(text)
                if (not is_safe or accepted(str(smaller.program))) and differs(smaller):
                    return smaller
        return None

    again = True
    while again:
        again = False
        for edit in edits:
            while smaller := find_smaller(edit, case):
                case, again = smaller, True
    return case


# ------------------------------------------------------------------------------------------------------------- programs


def drop_definitions(case: Case) -> Iterator[Case]:
    """Without one of the names that the program defines and does not use, its declaration and its place in `return`.

    If nothing else is returned, another tensor is.
    """
    tree = case.program.tree
    names = {node.name: node.value for node in tree.walk() if isinstance(node, ir.Define)}
    tensors = [name for name, value in names.items() if isinstance(value, ir.TensorCall | ir.ScalarCall)]
    for name in names:
        less = tree.map(partial(_without, name))
        if name in _names_in_use(less):
            continue
        returns = tuple(other for other in tree.returns if other != name)
        others = [(other,) for other in tensors if other != name]
        for some in others if tree.returns and not returns else [returns]:
            yield from _with_tree(case, replace(less, returns=some))
    for name in tree.returns if len(tree.returns) > 1 else ():
        yield from _with_tree(case, replace(tree, returns=tuple(other for other in tree.returns if other != name)))


def _names_in_use(tree: ir.Program) -> set[str]:
    """The names of tensors that are accessed, and of devices, schedules, functions and parameters."""
    found = {access.fiber.tensor for access, _ in ir.accesses(tree)}
    for node in tree.walk():
        match node:
            case ir.Variable(name=name):
                found.add(name)
            case ir.Call(op=op) | ir.Assign(op=op):
                found.add(op.name if isinstance(op, ir.Function) else op.strip("<>="))
    return found


def _without(name: str, node: Any) -> Any:
    """A block without the statements that define a name, or only declare, freeze or thaw it."""

    def is_about(statement: ir.Node) -> bool:
        match statement:
            case ir.Define(name=about) | ir.Declare(tensor=about) | ir.Freeze(tensor=about) | ir.Thaw(tensor=about):
                return about == name
        return False

    if isinstance(node, ir.Block):
        return replace(node, statements=tuple(each for each in node.statements if not is_about(each)))
    return node


def simplify_statements(case: Case) -> Iterator[Case]:
    """With one statement, modifier, operand or loop less, or with a loop that is serial."""
    for tree in _rewritten(case.program.tree, _with_one_part_less):
        yield from _with_tree(case, tree)


def _with_one_part_less(node: ir.Node) -> Iterator[ir.Node]:
    match node:
        case ir.Block(statements=statements):
            for k in range(len(statements)):
                yield replace(node, statements=statements[:k] + statements[k + 1 :])
        case ir.If(body=body):
            yield body
        case ir.For(index=index, range=within, body=body):
            yield body.map(lambda inner: ir.Literal(1) if inner == ir.Index(index) else inner)
            if isinstance(within, ir.Parallel):
                yield replace(node, range=within.range)
        case ir.Parallel(schedule=schedule) if schedule != ir.DEFAULT_SCHEDULE:
            yield replace(node, schedule=ir.DEFAULT_SCHEDULE)
        case ir.Format(name=name, args=args) if issubclass(REGISTRY[name], Modifier):
            yield from (arg for arg in args if isinstance(arg, ir.Format))
        case ir.Call(args=operands):
            yield from operands
            for k, operand in enumerate(operands):
                if not isinstance(operand, ir.Literal):
                    yield replace(node, args=(*operands[:k], ir.Literal(1), *operands[k + 1 :]))
        case ir.Choice(then=then, otherwise=otherwise):
            yield from (then, otherwise)
        case ir.Coalesce(first=first, otherwise=otherwise):
            yield from (first, otherwise)


def _rewritten(node: Any, change: Callable[[ir.Node], Iterator[ir.Node]]) -> Iterator[Any]:
    """The tree with one of its nodes replaced in one of the ways that `change` knows, nodes further up first."""
    yield from change(node)
    for name in node.inner:
        value = getattr(node, name)
        if isinstance(value, ir.Node):
            yield from (replace(node, **{name: other}) for other in _rewritten(value, change))
        elif isinstance(value, tuple):
            for k, item in enumerate(value):
                if isinstance(item, ir.Node):
                    for other in _rewritten(item, change):
                        yield replace(node, **{name: (*value[:k], other, *value[k + 1 :])})


def _with_tree(case: Case, tree: ir.Program) -> Iterator[Case]:
    """The case with another program, and the inputs that it still has; none if there is no such program."""
    try:
        program = replace(api.parse(str(replace(case.program, tree=tree))), folder=case.program.folder)
        names = [name for name, _ in open_inputs(program)]
    except WingspanError:
        return
    if set(names) <= set(case.inputs):
        yield Case(program, {name: case.inputs[name] for name in names})


# -------------------------------------------------------------------------------------------------------------- extents


def reduce_extents(case: Case) -> Iterator[Case]:
    """With one of the numbers that the program has as extents and bounds replaced by 1, or by one less."""
    tree = case.program.tree
    for extent in sorted({n for node in tree.walk() for n in _extents(node) if n > 1}, reverse=True):
        for less in dict.fromkeys((1, extent - 1)):
            yield from _with_tree(case, tree.map(partial(_with_extent, extent, less)))


def _extents(node: ir.Node) -> Iterator[int]:
    match node:
        case ir.TensorCall(extents=extents, data=data):
            yield from (int(e.value) for e in extents if isinstance(e, ir.Literal) and e.kind == "int")
            if isinstance(data, ir.Data):
                yield from (len(data.rows), len(data.rows[0]))[2 - data.rank :]
        case ir.Range(stop=ir.Literal(value=value, kind="int")):
            yield int(value)


def _with_extent(extent: int, less: int, node: Any) -> Any:
    """A node with a smaller extent where it has this one."""

    def number(e: Any) -> Any:
        return ir.Literal(less) if e == ir.Literal(extent) else e

    match node:
        case ir.TensorCall(extents=extents, data=data):
            if isinstance(data, ir.Data):
                rows = [row[:less] if len(row) == extent else row for row in data.rows]
                data = replace(data, rows=tuple(rows[:less] if data.rank == 2 and len(rows) == extent else rows))
            return replace(node, extents=tuple(map(number, extents)), data=data)
        case ir.Range(start=start, stop=stop):
            return replace(node, start=number(start), stop=number(stop))
    return node


def reduce_inputs(case: Case) -> Iterator[Case]:
    """With all axes of inputs that have one extent cut to 1, or by one, at either end."""
    names = axes(case.program.tree)
    extents = {names.get((name, k), (name, k)): n for name, x in case.inputs.items() for k, n in enumerate(x.shape)}
    for key, extent in extents.items():
        for part in [slice(1), slice(-1, None), slice(-1), slice(1, None)] if extent > 1 else []:
            cut = {
                name: _dense(x)[
                    tuple(part if names.get((name, k), (name, k)) == key else slice(None) for k in range(x.ndim))
                ]
                for name, x in case.inputs.items()
            }
            yield Case(case.program, cut)


# ------------------------------------------------------------------------------------------------------------- elements


def simplify_elements(case: Case) -> Iterator[Case]:
    """With one input as a plain array, or with one of its elements the fill value, or 1."""
    for name, tower in open_inputs(case.program):
        array = case.inputs[name]
        plain = np.ascontiguousarray(_dense(array)) if array.ndim else array
        if scipy.sparse.issparse(array) or not array.flags.c_contiguous:
            yield Case(case.program, {**case.inputs, name: plain})
        for at in np.ndindex(plain.shape) if plain.size <= MOST and not plain.dtype.names else ():
            for value in (tower.fill, 1):
                if plain[at] == value:
                    break
                changed = plain.copy()
                changed[at] = value
                yield Case(case.program, {**case.inputs, name: changed})


def _dense(array: Any) -> Any:
    return array.toarray() if scipy.sparse.issparse(array) else array
