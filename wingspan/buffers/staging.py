"""From the text of a level's operations to structured statements, for one tower of levels."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from string import Formatter
from typing import TypeVar

from wingspan.base.errors import InternalError
from wingspan.base.once import Once
from wingspan.buffers import ops
from wingspan.buffers.level import Level
from wingspan.buffers.ops import Const, Expr, Keys, Op, Place, Ref, Reg, Stmt, fold
from wingspan.buffers.tower import OPEN, Tower
from wingspan.lang.algebra import merging
from wingspan.lang.devices import Device
from wingspan.lang.ir import Operator
from wingspan.lang.words import FUNCTIONS

_T = TypeVar("_T")

GRAIN = 4096
"""The entries that justify starting a thread: they take it about 100 µs, and starting it takes about 2 µs, or 20 on a
busy machine.
"""

Copies = Callable[[Expr], Keys]
"""The keys of the copy of a level on a processor, while copies are coalesced."""

OUTLIVES = "it outlives the iteration of a parallel loop that sets it"

OUTSIDE = frozenset({"n", "z", "zero", "blank", "threads", "grain", "overwrites", "copied", "child", "c"})
"""Names whose values come from outside of an operation."""

INHERITED = frozenset({"checkout", "commit"})
"""Operations that a level without instances of its own passes on to its child."""


def extent_register(depth: int) -> str:
    """The register with the extent of the level at a depth, if it is left open; no level's text uses its name."""
    return f"{depth}.n"


def threads_register(depth: int) -> str:
    """The same for the number of threads of the device that gates the level."""
    return f"{depth}.threads"


@Once
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

    def __init__(self, tower: Tower, op: Operator = "=") -> None:
        self.tower = tower
        self.op = op
        self.out: list[Stmt] = []
        self.count = 0
        self.device: Device | None = None
        """the device of the gated level that is being frozen"""
        self.parallel = False
        """whether a parallel loop is being staged"""

    def fresh(self, hint: str) -> str:
        """A register that no other statement uses."""
        self.count += 1
        return f"{hint}.{self.count}"

    def capture(self, build: Callable[[], _T]) -> tuple[_T, tuple[Stmt, ...]]:
        """Run `build`; return its result and the statements that it emits, separated from the others."""
        saved, self.out = self.out, []
        result = build()
        emitted, self.out = tuple(self.out), saved
        return result, emitted

    def emit_if(self, condition: Expr, build: Callable[[], object]) -> None:
        """Emit what `build` emits under a condition, which is decided now if it is a constant."""
        _, then = self.capture(build)
        if isinstance(condition, Const):
            self.out += then if condition.value else ()
        elif then:
            self.out.append(ops.When(condition, then))

    def keep(self, hint: str, value: Expr) -> Reg:
        """A register that holds the value from here on."""
        reg = self.fresh(hint)
        self.out.append(ops.SetReg(reg, value))
        return Reg(reg)

    def call(
        self, depth: int, name: str, args: Iterable[Expr | Ref], keys: Keys, copies: Copies | None = None
    ) -> tuple[Expr, ...]:
        """Inline operation `name` of the level at `depth`, in the instance at `keys`; the values that it returns."""
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
        given = dict(zip(names, values, strict=True))
        around = self.device
        self.device = level.device or around if name == "freeze" else around
        results = _OperationInliner(self, level, depth, given, keys, copies, iterates).run(function.body)
        self.device = around
        return results

    def value(self, depth: int, name: str, args: Iterable[Expr | Ref], keys: Keys) -> Expr:
        """Inline an operation that returns one value."""
        match self.call(depth, name, args, keys):
            case (value,):
                return value
        raise InternalError(f"{self.tower.levels[depth].name}: {name} returns one value")


_BINARY: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.BitOr: "|"}
_ACCESSES: dict[str, type[ops.Acquire] | type[ops.Release] | type[ops.Sort]] = {
    "acquire": ops.Acquire, "release": ops.Release, "sort": ops.Sort,
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


class _OperationInliner:
    """One inlined call: its level, the values of its names, its instance, its copies and its place."""

    def __init__(
        self,
        stager: Stager,
        level: Level,
        depth: int,
        given: Mapping[str, Expr | Ref],
        keys: Keys,
        copies: Copies | None,
        iterates: bool,
    ) -> None:
        self.stager, self.level, self.depth, self.keys, self.copies = stager, level, depth, keys, copies
        self.given = frozenset(given)
        self.fields = ("p", *level.cursor) if iterates else ()
        self.buffers = {n: v for n, v in given.items() if isinstance(v, Ref)}
        self.names: dict[str, Expr] = {
            n: stager.keep(n, v) if isinstance(v, Op) else v for n, v in given.items() if not isinstance(v, Ref)
        }
        self.place = Place(Reg("c.p") if iterates else self.names.get("p"), self.names.get("i"))
        self.kept: Set[str] = frozenset()
        """the names that the current parallel loop may not set"""

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
                if self.stager.parallel:
                    raise self.refuse(s, OUTLIVES)
                emit(ops.SetReg(self.field(field), self.expression(value)))
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=buffer), slice=index)], value=value):
                at = self.expression(index)
                emit(ops.Store(self.ref(buffer), at, self.expression(value), self.place))
            case ast.If(test=test, body=then, orelse=otherwise):
                self.emit_if(self.expression(test), then, otherwise)
            case ast.While(test=test, body=body, orelse=[]):
                condition, before = self.stager.capture(lambda: self.expression(test))
                emit(ops.While(before, condition, self.inner(body)))
            case ast.For(
                target=ast.Name(id=name),
                iter=ast.Call(func=ast.Name(id="parallel"), args=[start, stop, *weight], keywords=[]),
                body=body,
                orelse=[],
            ) if len(weight) < 2:
                self.emit_parallel_loop(name, [self.expression(e) for e in (start, stop, *weight)], body)
            case ast.Expr(value=ast.Call(keywords=[]) as call):
                self.invoke(call)
            case _:
                raise self.refuse(s)

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def inner(self, body: list[ast.stmt]) -> tuple[Stmt, ...]:
        """The statements of a branch or a loop. Names that it sets first may be unset after it, so they end with it."""
        known = dict(self.names)
        _, emitted = self.stager.capture(lambda: self.block(body))
        self.names = known
        return emitted

    def emit_parallel_loop(self, name: str, values: list[Expr], body: list[ast.stmt]) -> None:
        """A parallel loop; the values are its ends, and the work of an iteration."""
        if self.stager.parallel:
            raise self.refuse(f"for {name} in parallel(…)", "it is inside of another one")
        start, stop = (self.stager.keep("end", e) if isinstance(e, Op) else e for e in values[:2])
        count = fold("+", fold("-", stop, start), Const(1))
        pays = fold(">", fold("*", count, *values[2:] or [Const(1)]), Const(GRAIN))
        known, k = dict(self.names), self.stager.fresh(name)
        self.names[name] = Reg(k)
        self.stager.parallel, self.kept = True, frozenset(self.names)
        emitted = self.inner(body)
        self.stager.parallel, self.kept, self.names = False, frozenset(), known
        self.stager.out.append(ops.Each(k, start, stop, emitted, pays, self.stager.device))

    def emit_if(self, condition: Expr, then: list[ast.stmt], otherwise: list[ast.stmt]) -> None:
        if isinstance(condition, Const):
            self.stager.out += self.inner(then if condition.value else otherwise)
        else:
            self.stager.out.append(ops.When(condition, self.inner(then), self.inner(otherwise)))

    def assign(self, name: str, value: ast.expr) -> None:
        """A name keeps one register for the whole operation, so branches and loops may set it again."""
        if name in self.given or name in OUTSIDE:
            raise self.refuse(f"{name} = …", f"{name} has its value from outside")
        if name in self.kept:
            raise self.refuse(f"{name} = …", OUTLIVES)
        given = self.expression(value)
        known = self.names.get(name)
        if isinstance(known, Reg):
            self.stager.out.append(ops.SetReg(known.name, given))
        else:
            self.names[name] = self.stager.keep(name, given)

    def invoke(self, call: ast.Call) -> None:
        """A call as a statement."""
        emit = self.stager.out.append
        match call:
            case ast.Call(func=ast.Attribute()):
                self.call(call)
            case ast.Call(func=ast.Name(id="check"), args=[condition, ast.Constant(value=str(message))]):
                names = [field for _, field, _, _ in Formatter().parse(message) if field is not None]
                shown = tuple((name, self.name(name)) for name in names)
                emit(ops.Check(self.expression(condition), message, shown, self.depth))
            case ast.Call(func=ast.Name(id="atomic"), args=[ast.Name(id=buffer), index, value]):
                at = self.expression(index)
                given = self.expression(value)
                width = self.stager.tower.width if self.narrow(buffer) else None
                emit(ops.AtomicUpdate(self.ref(buffer), at, self.stager.op, given, self.place, width))
            case ast.Call(func=ast.Name(id="fit"), args=[x]):
                self.fit(x)
            case ast.Call(func=ast.Name(id=access), args=[ast.Name(id=buffer), at]) if access in _ACCESSES:
                emit(_ACCESSES[access](self.ref(buffer), self.expression(at), self.place))
            case _:
                raise self.refuse(call)

    def call(self, call: ast.Call) -> tuple[Expr, ...]:
        """A call of an operation of the child, or of this level; the values that it returns."""
        assert isinstance(call.func, ast.Attribute)
        cursor = [a for a in call.args if self.fields and isinstance(a, ast.Name) and a.id == "c"]
        name, given = call.func.attr, [self.argument(a) for a in call.args if a not in cursor]
        if name == "coalesce" and self.stager.parallel:
            raise self.refuse(call, "it is inside of a parallel loop")
        match call.func.value:
            case ast.Name(id="lvl"):
                return self.stager.call(self.depth, name, given, self.keys, self.copies)
            case ast.Subscript(value=ast.Name(id="lvl"), slice=processor):
                return self.stager.call(self.depth, name, given, self.copy(processor))
            case target:
                keys, copies = self.child(target)
                return self.stager.call(
                    self.depth + 1, name, given, keys, copies if name in ("coalesce", "adopt") else None
                )

    def argument(self, e: ast.expr) -> Expr | Ref:
        """A value or a buffer that is passed on."""
        match e:
            case ast.Name(id=name) if name not in self.names and (name in self.buffers or self.owns(name)):
                return self.ref(name)
        return self.expression(e)

    def child(self, target: ast.expr) -> tuple[Keys, Copies | None]:
        """The instance of the child that a call goes to, and the place of the child's copies."""
        if self.level.leaf:
            raise self.refuse(target, "a leaf has no child")
        match target:
            case ast.Name(id="child"):
                return self.keys, self.copies
            case ast.Subscript(value=ast.Name(id="child"), slice=key) if self.level.key:
                tag, copies, keys = self.level.key, self.copies, self.keys
                if copies is None:
                    return (*keys, (tag, self.expression(key))), lambda t: (*keys, (tag, t))
                P, above = self.name("P"), copies
                return (
                    (*keys, (tag, self.expression(key))),
                    lambda t: (*above(fold("%", t, P)), (tag, fold("//", t, P))),
                )
        raise self.refuse(target)

    def copy(self, processor: ast.expr) -> Keys:
        """The instance of this level on a processor."""
        if self.copies is None:
            raise self.refuse("lvl[…]", "there are copies in coalesce only")
        return self.copies(self.expression(processor))

    # -- expressions

    def expression(self, e: ast.expr) -> Expr:
        match e:
            case ast.Constant(value=bool() | int() as value):
                return Const(value)
            case ast.Name(id=name):
                return self.name(name)
            case ast.Attribute(value=ast.Name(id="c"), attr=field):
                return Reg(self.field(field))
            case ast.Attribute(value=ast.Name(id="child"), attr="leaf") if not self.level.leaf:
                return Const(self.stager.tower.levels[self.depth + 1].leaf)
            case ast.Attribute(value=ast.Name(id="child"), attr="fixed") if not self.level.leaf:
                return Const(self.stager.tower.levels[self.depth + 1].has_fixed_size)
            case ast.Subscript(value=ast.Name(id=buffer), slice=index):
                return self.load(self.ref(buffer), index)
            case ast.Subscript(
                value=ast.Attribute(value=ast.Subscript(value=ast.Name(id="lvl"), slice=processor), attr=buffer),
                slice=index,
            ):
                return self.load(replace(self.ref(buffer), keys=self.copy(processor)), index)
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
                return Op("combine", (Const(self.stager.op), self.expression(x), self.expression(v)))
            case ast.Call(func=ast.Name(id="merge"), args=[x, v], keywords=[]):
                return Op("combine", (Const(merging(self.stager.op)), self.expression(x), self.expression(v)))
            case ast.Call(func=ast.Name(id="fit"), args=[x], keywords=[]):
                return self.fit(x)
            case ast.Call(func=ast.Name(id="look"), args=[ast.Name(id=buffer), index], keywords=[]):
                return self.load(self.ref(buffer), index, ops.AtomicLoad)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
                if len(args) != FUNCTIONS[name].__code__.co_argcount:
                    raise self.refuse(e, f"{name} takes another number of values")
                return fold(name, *(self.expression(a) for a in args))
            case ast.Call(func=ast.Attribute(), keywords=[]):
                results = self.call(e)
                if len(results) != 1:
                    raise self.refuse(e, "it returns no value, or several")
                return results[0]
            case ast.Call(func=ast.Name(id="thread"), args=[], keywords=[]) if self.level.device is not None:
                return Op("thread", (Const(self.level.device), Reg("task")))
        raise self.refuse(e)

    def fit(self, e: ast.expr) -> Expr:
        """A value as a cell of the leaf stores it, after a check that it fits."""
        width, value = self.stager.tower.width, self.expression(e)
        if width.rounds:
            return fold("f32", value)
        if not width.narrow:
            return value
        value = self.stager.keep("value", value) if isinstance(value, Op) else value
        least, most = Const(width.range[0]), Const(width.range[-1])
        fits = fold("and", fold("<=", least, value), fold("<=", value, most))
        self.stager.out.append(ops.Check(fits, f"{{value}} does not fit {width}", (("value", value),), self.depth))
        return value

    def narrow(self, buffer: str) -> bool:
        """Whether a buffer of this level holds elements that are narrower than computed values."""
        return self.stager.tower.width.narrow and any(
            known.name == buffer and known.cell == "value" for known in self.level.buffers
        )

    def load(self, ref: Ref, index: ast.expr, how: type[ops.Load | ops.AtomicLoad] = ops.Load) -> Reg:
        """A register with the content of a cell."""
        at = self.expression(index)
        reg = self.stager.fresh(ref.buffer)
        self.stager.out.append(how(reg, ref, at, self.place))
        return Reg(reg)

    def private(self, e: ast.expr, op: str, parts: list[ast.expr]) -> Expr:
        """An expression whose parts are not all evaluated, and so may not access memory."""
        values, emitted = self.stager.capture(lambda: [self.expression(part) for part in parts])
        if emitted:
            raise self.refuse(e, "a load under and / or / if-else")
        return fold(op, *values)

    def name(self, name: str) -> Expr:
        if name in self.names:
            return self.names[name]
        match name:
            case "n" if not self.level.leaf and not self.level.modifier:
                extent = self.stager.tower.extent(self.depth)
                return Reg(extent_register(self.depth)) if extent == OPEN else Const(extent)
            case "z":
                return Reg("z")
            case "zero":
                return Const(0.0 if self.stager.tower.kind == "float" else 0)
            case "blank":
                return Const(self.stager.tower.kind != "bool")
            case "threads" if (device := self.level.device) is not None:
                return Reg(threads_register(self.depth)) if device.open else Const(device.nthreads)
            case "device" if self.level.device is not None:
                return Const(self.level.device)
            case "grain":
                return Const(GRAIN)
            case "overwrites":
                return Const(self.stager.op == "=")
            case "copied" if self.level.leaf:
                return Const(self.stager.tower.has_copies)
        raise self.refuse(name, "nothing is called so here")

    def field(self, field: str) -> str:
        if field not in self.fields:
            raise self.refuse(f"c.{field}", f"the cursor has {', '.join(self.fields) or 'no fields here'}")
        return f"c.{field}"

    def ref(self, buffer: str) -> Ref:
        if buffer in self.buffers:
            return self.buffers[buffer]
        if not self.owns(buffer):
            raise self.refuse(buffer, "the level has no such buffer")
        return Ref(self.depth, buffer, self.keys)

    def owns(self, buffer: str) -> bool:
        return any(known.name == buffer for known in self.stager.tower.buffers(self.depth))
