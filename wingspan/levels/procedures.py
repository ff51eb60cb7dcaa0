"""The programs that consumers run: operations of a level composed with the binding of the modifiers below it.

Levels are named by their number (leaf 1). Each function returns linear code, made once. Its docstring gives inputs and
results; z (the fill value) and the task are inputs of all.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from wingspan.errors import InternalError
from wingspan.levels.base import Tower
from wingspan.levels.buffer_ops import Const, Expr, Keys, Procedure, Reg, SetReg, fold
from wingspan.levels.linear import Code, linear
from wingspan.levels.staging import Stager

ALWAYS = ("z", "task")


def cursor(tower: Tower, number: int) -> tuple[str, ...]:
    """The registers of a cursor at a level: its position and the level's own fields."""
    return ("c.p", *(f"c.{name}" for name in tower.levels[tower.depths[number]].cursor))


def _registers(names: Iterable[str]) -> tuple[tuple[str, Expr], ...]:
    return tuple((name, Reg(name)) for name in names)


def _bind(stager: Stager, number: int, position: Expr, operation: str) -> tuple[Expr, Keys]:
    """Run a position through the modifiers around a level: where it ends up, and the keys met on the way."""
    keys: Keys = ()
    for depth in stager.tower.modifiers(number):
        level = stager.tower.levels[depth]
        match stager.call(depth, operation, (position,), keys):
            case (position,):
                pass
            case (key, position):
                keys = (*keys, (level.key, key))
            case _:
                raise InternalError(f"{level.name}: {operation} returns a position, or a key and a position")
    return position, keys


@cache
def unfurl(tower: Tower, number: int) -> Code:
    """position, start → cursor: begin to read a fiber at the first index from `start` on.

    The root fiber is bound first; its cursor has position 0 if it is all fill.
    """
    stager = Stager(tower)
    depth = tower.depths[number]

    def read() -> None:
        stager.call(depth, "unfurl", (), keys)
        from_start = fold(">", Reg("start"), Const(1))
        stager.when(from_start, lambda: stager.call(depth, "seek", (Reg("start"),), keys))

    keys = _at(stager, number, "bind_read")
    stager.when(_found("c.p") if keys else Const(True), read)
    return _code("unfurl", tower, ("position", "start"), stager, cursor(tower, number), keys)


@cache
def open_(tower: Tower, number: int) -> Code:
    """position, start → cursor: begin to update a fiber. The root fiber is bound first."""
    stager = Stager(tower)
    keys = _at(stager, number, "bind")
    stager.call(tower.depths[number], "open", (), keys)
    return _code("open", tower, ("position", "start"), stager, cursor(tower, number), keys)


def _found(position: str) -> Expr:
    """Whether a position is one: 0 says that all is fill."""
    return fold("!=", Reg(position), Const(0))


def _at(stager: Stager, number: int, operation: str) -> Keys:
    """Set c.p to the position of a fiber, binding it if it is the root."""
    position: Expr = Reg("position")
    keys: Keys = ()
    if number == stager.tower.rank + 1:
        position, keys = _bind(stager, number, position, operation)
    stager.out.append(SetReg("c.p", position))
    return keys


@cache
def index(tower: Tower, number: int) -> Code:
    """cursor → index: the first index from here on that has a child, 0 if there is none."""
    stager = Stager(tower)
    value = stager.value(tower.depths[number], "index", (), ())
    stager.out.append(SetReg("index", value))
    return _code("index", tower, cursor(tower, number), stager, ["index"])


@cache
def child(tower: Tower, number: int) -> Code:
    """cursor, index → position (0: fill): descend to read."""
    stager = Stager(tower)
    position = stager.value(tower.depths[number], "child", (Reg("index"),), ())
    stager.out.append(SetReg("position", position))
    if not tower.modifiers(number - 1):
        return _code("child", tower, (*cursor(tower, number), "index"), stager, ["position"])
    keys: Keys = ()

    def descend() -> None:
        nonlocal keys
        bound, keys = _bind(stager, number - 1, Reg("position"), "bind_read")
        keys = tuple((tag, stager.keep("key", key)) for tag, key in keys)
        stager.out.append(SetReg("position", bound))

    stager.when(_found("position"), descend)
    return _code("child", tower, (*cursor(tower, number), "index"), stager, ["position"], keys)


@cache
def enter(tower: Tower, number: int) -> Code:
    """cursor, index → position, cursor: make the child exist, to update it."""
    stager = Stager(tower)
    position = stager.value(tower.depths[number], "enter", (Reg("index"),), ())
    position, keys = _bind(stager, number - 1, position, "bind")
    stager.out.append(SetReg("position", position))
    fields = cursor(tower, number)
    return _code("enter", tower, (*fields, "index"), stager, ("position", *fields), keys)


@cache
def step(tower: Tower, number: int, operation: str) -> Code:
    """cursor, index → cursor: `next` after reading the child at index, `exit` after having written below it."""
    stager = Stager(tower)
    stager.call(tower.depths[number], operation, (Reg("index"),), ())
    fields = cursor(tower, number)
    return _code(operation, tower, (*fields, "index"), stager, fields)


@cache
def close(tower: Tower, number: int) -> Code:
    """cursor → nothing: end the update of a fiber."""
    stager = Stager(tower)
    stager.call(tower.depths[number], "close", (), ())
    return _code("close", tower, cursor(tower, number), stager, ())


@cache
def unwrap(tower: Tower) -> Code:
    """position → value: read a leaf, bound first if it is the root."""
    stager = Stager(tower)
    keys = _at(stager, 1, "bind_read")
    stager.out.append(SetReg("value", Reg("z")))

    def read() -> None:
        stager.out.append(SetReg("value", stager.value(len(tower.levels) - 1, "unwrap", (Reg("c.p"),), keys)))

    stager.when(_found("c.p"), read)
    return _code("unwrap", tower, ("position",), stager, ["value"])


@cache
def increment(tower: Tower, op: str) -> Code:
    """position, value → nothing: update a leaf, bound first if it is the root."""
    stager = Stager(tower, op)
    keys = _at(stager, 1, "bind")
    stager.call(len(tower.levels) - 1, "increment", (Reg("c.p"), Reg("value")), keys)
    return _code("increment", tower, ("position", "value"), stager, ())


@cache
def whole(tower: Tower, operation: str) -> Code:
    """→ nothing: `declare`, `freeze` or `thaw` all of a tensor."""
    stager = Stager(tower)
    if operation == "declare":
        stager.call(0, "declare", (), ())
        stager.call(0, "assemble", (Const(1),), ())
    else:
        stager.call(0, operation, (Const(1),), ())
    return _code(operation, tower, (), stager, ())


@cache
def transfer(tower: Tower, number: int, operation: str) -> Code:
    """→ nothing: `checkout` or `commit` the levels from this number down; at the root its modifiers too."""
    stager = Stager(tower)
    stager.call(0 if number == tower.rank + 1 else tower.depths[number], operation, (), ())
    return _code(operation, tower, (), stager, ())


def _code(
    name: str, tower: Tower, inputs: tuple[str, ...], stager: Stager, results: Iterable[str], keys: Keys = ()
) -> Code:
    procedure = Procedure(name, (*ALWAYS, *inputs), tuple(stager.out), _registers(results), keys)
    return linear(procedure, tower)
