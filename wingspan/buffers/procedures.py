"""The programs that consumers run: operations of a level composed with the modifiers that take effect with them.

Levels are named by their number (leaf 1). Each function returns linear code, made once. Its docstring gives inputs and
results. z (the fill value), the task, and the extents and numbers of threads that are left open are inputs of all. A
*cursor* is the state of an iteration over a fiber: see `cursor`. Its procedures run in the instance of the fiber.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import InternalError
from wingspan.base.once import Once
from wingspan.buffers.linear import LinearCode, linear
from wingspan.buffers.ops import Const, Expr, Keys, Procedure, Reg, SetReg, fold
from wingspan.buffers.staging import Stager, definitions, extent_register, threads_register
from wingspan.buffers.tower import OPEN, Tower
from wingspan.lang.devices import Device
from wingspan.lang.ir import Operator

ALWAYS = ("z", "task")


# ---------------------------------------------------------------------------------------------------------- registers


def cursor(tower: Tower, number: int) -> tuple[str, ...]:
    """The registers of a cursor: its position, the level's own fields, and the bindings of the late modifiers."""
    fields = tower.levels[tower.depths[number]].cursor
    return ("c.p", *(f"c.{name}" for name in fields), *_binding_registers(tower, tower.use_modifiers(number)))


def entry_registers(tower: Tower, number: int) -> tuple[str, ...]:
    """The registers bound by the modifiers that take effect when a child with this number is entered."""
    return _binding_registers(tower, tower.entry_modifiers(number))


def _binding_registers(tower: Tower, depths: Iterable[int]) -> tuple[str, ...]:
    """For each modifier the position that it was given, if it will be unbound, and the key that it gave, if any.

    The registers of a level's own text begin with a letter, so these never clash.
    """
    names: list[str] = []
    for depth in depths:
        names += [f"{depth}.at"] if unbinds(tower, (depth,)) else []
        names += [f"{depth}.key"] if tower.levels[depth].key else []
    return tuple(names)


def unbinds(tower: Tower, depths: Iterable[int]) -> bool:
    """Whether one of the modifiers has something to do when an update is over."""
    return any("unbind" in definitions(tower.levels[depth].operations) for depth in depths)


def _keys(tower: Tower, depths: Iterable[int]) -> Keys:
    """The keys that bound modifiers have given."""
    levels = ((tower.levels[depth].key, depth) for depth in depths)
    return tuple((tag, Reg(f"{depth}.key")) for tag, depth in levels if tag)


def _registers(names: Iterable[str]) -> tuple[tuple[str, Expr], ...]:
    return tuple((name, Reg(name)) for name in names)


# ---------------------------------------------------------------------------------------------- modifiers on the path


def _bind(stager: Stager, depths: range, above: Keys) -> None:
    """Run the position in register `position` through updating modifiers; results go to `_binding_registers`."""
    for depth in depths:
        level = stager.tower.levels[depth]
        if unbinds(stager.tower, (depth,)):
            stager.out.append(SetReg(f"{depth}.at", Reg("position")))
        _pass_modifier(stager, depth, "bind", (*above, *_keys(stager.tower, range(depths.start, depth))), level.key)


def _bind_read(stager: Stager, depths: range, above: Keys) -> None:
    """Run it through reading modifiers, until it is 0: then everything below is fill."""
    for name in _binding_registers(stager.tower, depths):
        stager.out.append(SetReg(name, Const(0)))

    def onward(depth: int) -> None:
        if depth in depths:
            keys = (*above, *_keys(stager.tower, range(depths.start, depth)))
            _pass_modifier(stager, depth, "bind_read", keys, stager.tower.levels[depth].key)
            _if_found(stager, lambda: onward(depth + 1))

    onward(depths.start)


def _pass_modifier(stager: Stager, depth: int, operation: str, keys: Keys, tag: str) -> None:
    match stager.call(depth, operation, (Reg("position"),), keys):
        case (position,) if not tag:
            stager.out.append(SetReg("position", position))
        case (key, position) if tag:
            key = stager.keep("key", key)
            stager.out += [SetReg("position", position), SetReg(f"{depth}.key", key)]
        case _:
            wanted = "a key and a position" if tag else "a position"
            raise InternalError(f"{stager.tower.levels[depth].name}: {operation} returns {wanted}")


def _unbind(stager: Stager, depths: range, above: Keys) -> None:
    """Unbind bound modifiers, innermost first."""
    for depth in reversed(depths):
        if unbinds(stager.tower, (depth,)):
            keys = (*above, *_keys(stager.tower, range(depths.start, depth)))
            stager.call(depth, "unbind", (Reg(f"{depth}.at"),), keys)


def _if_found(stager: Stager, build: Callable[[], object]) -> None:
    """Emit what `build` emits for a position other than 0, which means all fill."""
    stager.emit_if(fold("!=", Reg("position"), Const(0)), build)


# ------------------------------------------------------------------------------------------------------------- reading


KEPT = 128
"""The number of codes of each kind, for other towers, after which unused ones are forgotten."""


def procedure(make: Callable[..., LinearCode]) -> Once[LinearCode]:
    """Make each code once, and record its arguments. Machine states hold codes, which are compared by identity."""

    @wraps(make)
    def knowing(*args: Any) -> LinearCode:
        return replace(make(*args), made=(made, args))

    made = Once(knowing, KEPT)
    return made


@procedure
def unfurl(tower: Tower, number: int) -> LinearCode:
    """position, start → cursor: begin to read a fiber at the first index from `start` on; position 0: all is fill."""
    stager = Stager(tower)
    depth, late = tower.depths[number], tower.use_modifiers(number)
    keys = _keys(tower, late)

    def read() -> None:
        stager.out.append(SetReg("c.p", Reg("position")))
        stager.call(depth, "unfurl", (), keys)
        from_start = fold(">", Reg("start"), Const(1))
        stager.emit_if(from_start, lambda: stager.call(depth, "seek", (Reg("start"),), keys))

    _bind_read(stager, late, ())
    if late:
        stager.out.append(SetReg("c.p", Const(0)))
        _if_found(stager, read)
    else:
        read()
    return _code("unfurl", tower, ("position", "start"), stager, cursor(tower, number))


def _answer(tower: Tower, number: int, operation: str) -> LinearCode:
    stager = Stager(tower)
    value = stager.value(tower.depths[number], operation, (), _keys(tower, tower.use_modifiers(number)))
    return _code(operation, tower, cursor(tower, number), stager, {"index": value})


def _move(tower: Tower, number: int, operation: str, *given: str) -> LinearCode:
    stager, fields = Stager(tower), cursor(tower, number)
    stager.call(tower.depths[number], operation, tuple(map(Reg, given)), _keys(tower, tower.use_modifiers(number)))
    return _code(operation, tower, (*fields, *given), stager, fields)


@procedure
def index(tower: Tower, number: int) -> LinearCode:
    """cursor → index: the first index from here on that has a child, 0 if there is none."""
    return _answer(tower, number, "index")


@procedure
def stop(tower: Tower, number: int) -> LinearCode:
    """cursor → index: the last one of the stretch that the next child begins, or is in."""
    return _answer(tower, number, "stop")


@procedure
def seek(tower: Tower, number: int) -> LinearCode:
    """cursor, index → cursor: skip everything before the index."""
    return _move(tower, number, "seek", "index")


@procedure
def child(tower: Tower, number: int) -> LinearCode:
    """cursor, index → position (0: fill): descend to read."""
    stager = Stager(tower)
    keys, early = _keys(tower, tower.use_modifiers(number)), tower.entry_modifiers(number - 1)
    position = stager.value(tower.depths[number], "child", (Reg("index"),), keys)
    stager.out.append(SetReg("position", position))
    if early:
        _if_found(stager, lambda: _bind_read(stager, early, keys))
    inputs = (*cursor(tower, number), "index")
    return _code("child", tower, inputs, stager, ["position"], (*keys, *_keys(tower, early)))


@procedure
def next_(tower: Tower, number: int) -> LinearCode:
    """cursor, index → cursor: go past the index after having read up to there."""
    return _move(tower, number, "next", "index")


def drains(tower: Tower, number: int) -> bool:
    """Whether a fiber can forget its children while it is read."""
    return "drain" in definitions(tower.levels[tower.depths[number]].operations)


@procedure
def drain(tower: Tower, number: int) -> LinearCode:
    """cursor, index → cursor: forget the child at the index, which is not read again; `forget` and `next` follow.

    If all children of a fiber are forgotten in this way, one after another, the fiber is as after declaring.
    """
    return _move(tower, number, "drain", "index")


@procedure
def forget(tower: Tower, number: int) -> LinearCode:
    """cursor → cursor: forget that there were children up to where the cursor is, all of which are drained."""
    return _move(tower, number, "forget_passed")


@procedure
def unwrap(tower: Tower) -> LinearCode:
    """position → value: read an element."""
    stager = Stager(tower)
    late = tower.use_modifiers(1)
    stager.out.append(SetReg("value", Reg("z")))
    _bind_read(stager, late, ())

    def read() -> None:
        found = stager.value(len(tower.levels) - 1, "unwrap", (Reg("position"),), _keys(tower, late))
        stager.out.append(SetReg("value", found))

    _if_found(stager, read)
    return _code("unwrap", tower, ("position",), stager, ["value"])


# ------------------------------------------------------------------------------------------------------------ updating


@procedure
def open_(tower: Tower, number: int, op: Operator = "=") -> LinearCode:
    """position, start → cursor: begin to update a fiber, in a phase of ⊕."""
    stager = Stager(tower, op)
    late = tower.use_modifiers(number)
    _bind(stager, late, ())
    stager.out.append(SetReg("c.p", Reg("position")))
    stager.call(tower.depths[number], "open", (), _keys(tower, late))
    return _code("open", tower, ("position", "start"), stager, cursor(tower, number))


@procedure
def enter(tower: Tower, number: int, op: Operator = "=") -> LinearCode:
    """cursor, index → position, cursor, bindings of the child's modifiers: make the child exist, to update it."""
    stager = Stager(tower, op)
    keys, early = _keys(tower, tower.use_modifiers(number)), tower.entry_modifiers(number - 1)
    position = stager.value(tower.depths[number], "enter", (Reg("index"),), keys)
    stager.out.append(SetReg("position", position))
    _bind(stager, early, keys)
    fields = cursor(tower, number)
    results = ("position", *fields, *entry_registers(tower, number - 1))
    return _code("enter", tower, (*fields, "index"), stager, results, (*keys, *_keys(tower, early)))


@procedure
def leave(tower: Tower, number: int, written: bool, op: Operator = "=") -> LinearCode:
    """cursor, index, bindings of the child's modifiers → cursor: end the update of the child at the index."""
    stager = Stager(tower, op)
    keys = _keys(tower, tower.use_modifiers(number))
    _unbind(stager, tower.entry_modifiers(number - 1), keys)
    if written:
        stager.call(tower.depths[number], "exit", (Reg("index"),), keys)
    fields = cursor(tower, number)
    return _code("leave", tower, (*fields, "index", *entry_registers(tower, number - 1)), stager, fields)


@procedure
def close(tower: Tower, number: int, op: Operator = "=") -> LinearCode:
    """cursor → nothing: end the update of a fiber."""
    stager = Stager(tower, op)
    late = tower.use_modifiers(number)
    stager.call(tower.depths[number], "close", (), _keys(tower, late))
    _unbind(stager, late, ())
    return _code("close", tower, cursor(tower, number), stager, ())


@dataclass(frozen=True)
class Visit:
    """The procedures of one visit that updates a fiber, in the order in which they run; the inner two for each index.

    What is inside of a child happens between its `enter` and its `leave`. The rules take them from here, and so does
    the proof.
    """

    open: Callable[..., LinearCode]
    enter: Callable[..., LinearCode]
    leave: Callable[..., LinearCode]
    close: Callable[..., LinearCode]


VISIT = Visit(open_, enter, leave, close)


@procedure
def increment(tower: Tower, op: Operator) -> LinearCode:
    """position, value → written, if not always: update an element."""
    stager = Stager(tower, op)
    late = tower.use_modifiers(1)
    _bind(stager, late, ())
    written = stager.call(len(tower.levels) - 1, "increment", (Reg("position"), Reg("value")), _keys(tower, late))
    _unbind(stager, late, ())
    return _code("increment", tower, ("position", "value"), stager, dict(zip(("written",), written, strict=False)))


@procedure
def unwrap_updated(tower: Tower, op: Operator) -> LinearCode:
    """position → value: read an element in a phase of ⊕, of a tower that is `readable_while_updated`.

    Modifiers take effect as for an update: who reads under a lock holds it.
    """
    stager = Stager(tower, op)
    late, leaf = tower.use_modifiers(1), len(tower.levels) - 1
    _bind(stager, late, ())
    operation = "look" if "look" in definitions(tower.leaf.operations) else "unwrap"
    found = stager.value(leaf, operation, (Reg("position"),), _keys(tower, late))
    stager.out.append(SetReg("value", found))
    _unbind(stager, late, ())
    return _code("unwrap_updated", tower, ("position",), stager, ["value"])


# --------------------------------------------------------------------------------------------------------- all of it


@procedure
def whole_tensor_code(tower: Tower, operation: str, op: Operator = "=") -> LinearCode:
    """→ nothing: `declare`, `freeze` or `thaw` all of a tensor, in a phase of ⊕."""
    stager = Stager(tower, op)
    if operation == "declare":
        stager.call(0, "declare", (), ())
        stager.call(0, "assemble", (Const(1),), ())
    else:
        stager.call(0, operation, (Const(1),), ())
    return _code(operation, tower, (), stager, ())


@procedure
def transfer(tower: Tower, number: int, operation: str, op: Operator = "=") -> LinearCode:
    """→ nothing: `checkout` or `commit` the levels from this number down, with the modifiers not yet in effect."""
    stager = Stager(tower, op)
    stager.call(tower.use_modifiers(number).start, operation, (), ())
    return _code(operation, tower, (), stager, ())


def open_extents(tower: Tower) -> dict[str, int]:
    """The registers with the extents that are left open, and the number of the axis of each, from 0."""
    storage = [depth for depth, level in enumerate(tower.levels) if not level.leaf and not level.modifier]
    return {extent_register(d): tower.numbers[d] - 2 for d in storage if tower.extent(d) == OPEN}


def open_threads(tower: Tower) -> dict[str, Device]:
    """The registers with the numbers of threads that are left open, and the device of each."""
    devices = {threads_register(d): level.device for d, level in enumerate(tower.levels)}
    return {name: device for name, device in devices.items() if device is not None and device.open}


def _code(
    name: str,
    tower: Tower,
    inputs: tuple[str, ...],
    stager: Stager,
    results: Iterable[str] | dict[str, Expr],
    keys: Keys = (),
) -> LinearCode:
    given = tuple(results.items()) if isinstance(results, dict) else _registers(results)
    inputs = (*ALWAYS, *open_extents(tower), *open_threads(tower), *inputs)
    procedure = Procedure(name, inputs, tuple(stager.out), given, keys)
    return linear(procedure, tower)
