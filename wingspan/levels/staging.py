"""From the text of a level's operations to structured statements, for one tower of levels."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from string import Formatter
from typing import TypeVar

from wingspan.errors import InternalError
from wingspan.levels.base import Level, Tower
from wingspan.levels.buffer_ops import (
    Atomic,
    Check,
    Const,
    Expr,
    Keys,
    Load,
    Op,
    Place,
    Ref,
    Reg,
    SetReg,
    Sort,
    Stmt,
    Store,
    When,
    While,
    fold,
)  # fmt: skip

_T = TypeVar("_T")

INHERITED = frozenset({"checkout", "commit"})
"""Operations that a level without instances of its own passes on to its child."""


@cache
def definitions(text: str) -> Mapping[str, ast.FunctionDef]:
    """The operations in the text of a level, by name."""
    try:
        body = ast.parse(textwrap.dedent(text)).body
    except SyntaxError as error:
        raise InternalError(f"operations that are no Python: {error}") from None
    found: dict[str, ast.FunctionDef] = {}
    for item in body:
        if not isinstance(item, ast.FunctionDef) or item.name in found:
            raise InternalError(f"operations are functions with names of their own, not `{ast.unparse(item)}`")
        found[item.name] = item
    return found


class Stager:
    """Collects the statements of one procedure while operations are inlined into it."""

    def __init__(self, tower: Tower, op: str = "=") -> None:
        self.tower = tower
        self.op = op
        self.out: list[Stmt] = []
        self.count = 0

    def fresh(self, hint: str) -> str:
        """A register that no other statement uses."""
        self.count += 1
        return f"{hint}.{self.count}"

    def nested(self, build: Callable[[], _T]) -> tuple[_T, tuple[Stmt, ...]]:
        """What `build` returns, and the statements that it emits, apart from the others."""
        saved, self.out = self.out, []
        result = build()
        emitted, self.out = tuple(self.out), saved
        return result, emitted

    def when(self, condition: Expr, build: Callable[[], object]) -> None:
        """Emit what `build` emits under a condition, which is decided now if it is a constant."""
        _, then = self.nested(build)
        if isinstance(condition, Const):
            self.out += then if condition.value else ()
        elif then:
            self.out.append(When(condition, then))

    def keep(self, hint: str, value: Expr) -> Reg:
        """A register that holds the value from here on."""
        reg = self.fresh(hint)
        self.out.append(SetReg(reg, value))
        return Reg(reg)

    def call(self, depth: int, name: str, args: Iterable[Expr], keys: Keys) -> tuple[Expr, ...]:
        """Inline operation `name` of the level at `depth`; the values it returns."""
        level = self.tower.levels[depth]
        function = definitions(level.operations).get(name)
        if function is None:
            if name not in INHERITED:
                raise InternalError(f"{level.name} has no operation {name}")
            return () if level.leaf else self.call(depth + 1, name, (), keys)
        names = [a.arg for a in function.args.args if a.arg != "c"]
        values = tuple(args)
        if len(names) != len(values):
            raise InternalError(f"{level.name}: {name} takes ({', '.join(names)}), got {len(values)} values")
        iterates = len(names) < len(function.args.args)
        return _Inliner(self, level, depth, dict(zip(names, values, strict=True)), keys, iterates).run(function.body)

    def value(self, depth: int, name: str, args: Iterable[Expr], keys: Keys) -> Expr:
        """Inline an operation that returns one value."""
        match self.call(depth, name, args, keys):
            case (value,):
                return value
        raise InternalError(f"{self.tower.levels[depth].name}: {name} returns one value")


_BINARY: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


class _Inliner:
    """One inlined call: the level it belongs to, the values of its names, its instance and its place."""

    def __init__(
        self, stager: Stager, level: Level, depth: int, given: Mapping[str, Expr], keys: Keys, iterates: bool
    ) -> None:
        self.stager, self.level, self.depth, self.keys = stager, level, depth, keys
        self.given = frozenset(given)
        self.fields = ("p", *level.cursor) if iterates else ()
        self.names = {n: stager.keep(n, v) if isinstance(v, Op) else v for n, v in given.items()}
        self.place = Place(Reg("c.p") if iterates else self.names.get("p"), self.names.get("i"))

    def refuse(self, node: ast.AST | str, why: str = "it is not in the language") -> InternalError:
        """The error for a piece of text that cannot be staged."""
        text = node if isinstance(node, str) else ast.unparse(node)
        return InternalError(f"{self.level.name}: cannot stage `{text}`: {why}")

    def run(self, body: list[ast.stmt]) -> tuple[Expr, ...]:
        """Emit the body; the values of its final return."""
        *before, last = body
        self.block(before)
        match last:
            case ast.Return(value=ast.Tuple(elts=items)):
                return tuple([self.expression(item) for item in items])
            case ast.Return(value=ast.expr() as value):
                return (self.expression(value),)
        self.statement(last)
        return ()

    # -- statements

    def statement(self, s: ast.stmt) -> None:
        emit = self.stager.out.append
        match s:
            case ast.Pass():
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.assign(name, value)
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="c"), attr=field)], value=value):
                if field == "p":
                    raise self.refuse(s, "the position of a cursor stays")
                emit(SetReg(self.field(field), self.expression(value)))
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=buffer), slice=index)], value=value):
                at = self.expression(index)
                emit(Store(self.ref(buffer), at, self.expression(value), self.place))
            case ast.If(test=test, body=then, orelse=otherwise):
                self.when(self.expression(test), then, otherwise)
            case ast.While(test=test, body=body, orelse=[]):
                condition, before = self.stager.nested(lambda: self.expression(test))
                emit(While(before, condition, self.inner(body)))
            case ast.Expr(value=ast.Call(keywords=[]) as call):
                self.invoke(call)
            case _:
                raise self.refuse(s)

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def inner(self, body: list[ast.stmt]) -> tuple[Stmt, ...]:
        """The statements of a branch or a loop. Names that it sets first may never be set, so they end with it."""
        known = dict(self.names)
        _, emitted = self.stager.nested(lambda: self.block(body))
        self.names = known
        return emitted

    def when(self, condition: Expr, then: list[ast.stmt], otherwise: list[ast.stmt]) -> None:
        if isinstance(condition, Const):
            self.stager.out += self.inner(then if condition.value else otherwise)
        else:
            self.stager.out.append(When(condition, self.inner(then), self.inner(otherwise)))

    def assign(self, name: str, value: ast.expr) -> None:
        """A name keeps one register for the whole operation, so that branches and loops may set it again."""
        if name in self.given or name in ("n", "z", "threads", "overwrites", "child", "c"):
            raise self.refuse(f"{name} = …", f"{name} has its value from outside")
        given = self.expression(value)
        known = self.names.get(name)
        if isinstance(known, Reg):
            self.stager.out.append(SetReg(known.name, given))
        else:
            self.names[name] = self.stager.keep(name, given)

    def invoke(self, call: ast.Call) -> None:
        """A call that stands as a statement."""
        emit = self.stager.out.append
        match call:
            case ast.Call(func=ast.Attribute(value=target, attr=name), args=args):
                keys = self.instance(target)
                values = [self.expression(a) for a in args]
                self.stager.call(self.depth + 1, name, values, keys)
            case ast.Call(func=ast.Name(id="check"), args=[condition, ast.Constant(value=str(message))]):
                names = [field for _, field, _, _ in Formatter().parse(message) if field is not None]
                shown = tuple((name, self.name(name)) for name in names)
                emit(Check(self.expression(condition), message, shown, self.depth))
            case ast.Call(func=ast.Name(id="atomic"), args=[ast.Name(id=buffer), index, value]):
                at = self.expression(index)
                given = self.expression(value)
                emit(Atomic(self.ref(buffer), at, self.stager.op, given, self.place))
            case ast.Call(func=ast.Name(id="sort"), args=[ast.Name(id=buffer), count]):
                emit(Sort(self.ref(buffer), self.expression(count), self.place))
            case _:
                raise self.refuse(call)

    def instance(self, target: ast.expr) -> Keys:
        """The keys of the instance of the child that a call goes to."""
        if self.level.leaf:
            raise self.refuse(target, "a leaf has no child")
        match target:
            case ast.Name(id="child"):
                return self.keys
            case ast.Subscript(value=ast.Name(id="child"), slice=key) if self.level.device is not None:
                return (*self.keys, (self.level.key, self.expression(key)))
        raise self.refuse(target)

    # -- expressions

    def expression(self, e: ast.expr) -> Expr:
        match e:
            case ast.Constant(value=bool() | int() as value):
                return Const(value)
            case ast.Name(id=name):
                return self.name(name)
            case ast.Attribute(value=ast.Name(id="c"), attr=field):
                return Reg(self.field(field))
            case ast.Attribute(value=ast.Name(id="child") as child, attr="leaf"):
                self.instance(child)
                return Const(self.stager.tower.levels[self.depth + 1].leaf)
            case ast.Subscript(value=ast.Name(id=buffer), slice=index):
                at = self.expression(index)
                reg = self.stager.fresh(buffer)
                self.stager.out.append(Load(reg, self.ref(buffer), at, self.place))
                return Reg(reg)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return fold(_BINARY[type(op)], self.expression(left), self.expression(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return fold(_COMPARE[type(op)], self.expression(left), self.expression(right))
            case ast.BoolOp(op=op, values=values):
                return self.private(e, "and" if isinstance(op, ast.And) else "or", values)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return fold("not", self.expression(operand))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.private(e, "select", [test, body, orelse])
            case ast.Call(func=ast.Name(id="combine"), args=[x, v], keywords=[]):
                return Op(f"combine {self.stager.op}", (self.expression(x), self.expression(v)))
            case ast.Call(func=ast.Name(id="thread"), args=[], keywords=[]) if self.level.device is not None:
                return Op("thread", (Const(self.level.device), Reg("task")))
        raise self.refuse(e)

    def private(self, e: ast.expr, op: str, parts: list[ast.expr]) -> Expr:
        """An expression whose parts are not all evaluated, and so may not access memory."""
        values, emitted = self.stager.nested(lambda: [self.expression(part) for part in parts])
        if emitted:
            raise self.refuse(e, "a load under and / or / if-else")
        return fold(op, *values)

    def name(self, name: str) -> Expr:
        if name in self.names:
            return self.names[name]
        match name:
            case "n" if not self.level.leaf and not self.level.modifier:
                return Const(self.stager.tower.extent(self.depth))
            case "z":
                return Reg("z")
            case "threads" if self.level.device is not None:
                return Const(self.level.device.nthreads)
            case "overwrites":
                return Const(self.stager.op == "=")
        raise self.refuse(name, "nothing is called so here")

    def field(self, field: str) -> str:
        if field not in self.fields:
            raise self.refuse(f"c.{field}", f"the cursor has {', '.join(self.fields) or 'no fields here'}")
        return f"c.{field}"

    def ref(self, buffer: str) -> Ref:
        if all(known.name != buffer for known in self.level.buffers):
            raise self.refuse(buffer, "the level has no such buffer")
        return Ref(self.depth, buffer, self.keys)
