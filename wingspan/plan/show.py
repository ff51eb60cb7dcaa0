"""A plan as text, with the lines of the program that its statements come from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from string import Formatter

from wingspan.base.errors import Span
from wingspan.lang import algebra
from wingspan.lang.operators import COMPUTES, TRUTHS
from wingspan.plan import ir as plan
from wingspan.plan import kernels
from wingspan.plan.ir import Const, Expr, Op, Plan, Ref, Reg, Stmt, blocks

INFIX = frozenset(name for name in COMPUTES if not name.isidentifier()) | TRUTHS - {"not"}


def show(made: Plan) -> str:
    """The buffers of a plan and its statements, each under the source line that it comes from."""
    return "\n".join([*_buffers(made), "", *_Printer().block(made.body, 0)])


def _buffers(made: Plan) -> Iterator[str]:
    for group in made.groups:
        if group.tensor and group.parent is not None:
            keys = f"at most {group.keys} of them" if group.keys else "one for each position"
            yield f"instances of {group.tensor} by {group.tag}: {keys}"
        for b in group.buffers:
            if b.depth < 0:
                yield f"  {b.tensor}: {b.width}, shared"
            else:
                hashed = ", hashed" if b.hashed else ""
                yield f"  {b.tensor}.{b.name}: {b.width}, level {b.level} {b.level_name}{hashed}"


class _Printer:
    """Writes statements line by line."""

    def __init__(self) -> None:
        self.line: Span | None = None

    def block(self, body: tuple[Stmt, ...], depth: int) -> list[str]:
        lines: list[str] = []
        for s in body:
            lines += self.source(s, depth)
            lines += ["    " * depth + line for line in self.statement(s, depth)]
        return lines

    def source(self, s: Stmt, depth: int) -> list[str]:
        """The source line of a statement, if the one before came from another."""
        origin = getattr(s, "origin", None)
        span: Span | None = origin.span if origin else None
        if span is None or (self.line is not None and self.line.line == span.line):
            return []
        self.line = span
        return ["    " * depth + f"# {span.line} │ {span.source.line(span.line).strip()}"]

    def statement(self, s: Stmt, depth: int) -> list[str]:
        if form := getattr(s, "form", None):
            head = "".join([before + _field(getattr(s, name)) if name else before for before, name in _pieces(form)])
            return [head, *(line for block in blocks(s) for line in self.inner(block))]
        match s:
            case plan.If(condition=c, then=then, otherwise=otherwise):
                lines = [f"if {text(c)}:", *self.inner(then)]
                return [*lines, "else:", *self.inner(otherwise)] if otherwise else lines
            case plan.While(test=test, condition=c, body=body):
                if not test:
                    return [f"while {text(c)}:", *self.inner(body)]
                return ["loop:", *self.inner(test), f"    break unless {text(c)}", *self.inner(body)]
            case kernels.Intersection(lists=lists, at=at, body=body, onward=onward, seek=seek):
                lines = [*self.inner((*body, *onward)), "else:", *self.inner(seek)]
                return [f"intersect{_lists(lists)}, index {at.name}:", *lines]
            case kernels.BitmapLoop(bits=bits, body=body, onward=onward):
                return [f"each index {bits.index.name} of {_array(bits.members)}:", *self.inner((*body, *onward))]
            case kernels.Union(lists=lists, at=at):
                lines = [*self.inner((*s.both, *s.onward_both)), "x alone:", *self.inner((*s.in_x, *s.onward_x))]
                lines += ["y alone:", *self.inner((*s.in_y, *s.onward_y)), "rest:", *self.inner(s.rest)]
                room = ["room:", *self.inner(s.room)] if s.room else []
                return [*room, f"unite{_lists(lists)}, index {at.name}:", *lines]
            case kernels.UnionBlocks(lists=lists, at=at, loads=loads, body=body):
                lines = [f"{x.reg.name} = {cell(x.ref, x.index)}, or {text(fill)}" for x, fill in loads]
                lines = [*(f"    {line}" for line in lines), *self.inner(body)]
                return [f"unite blocks of{_lists(lists)}, index {at.name}:", *lines]
            case kernels.CommonRuns(lists=lists, into=into, body=body, last=last):
                runs = " and ".join(f"{cell(x.left, x.at)} up to {text(x.end)}" for x in lists)
                appended = f"appended at {cell(into.left, into.at)}, to index {text(last)}"
                return [f"common runs of {runs}, {appended}:", *self.inner(body)]
            case kernels.ScanBitmap(ref=ref, count=count, word=word, before=before, condition=c, onward=onward):
                index = f"{text(before)} + {text(Const(1))} + k for each bit k of {text(word)}"
                return [f"unpack while {text(c)}:", f"    {cell(ref, count)} on: {index}", *self.inner(onward)]
            case plan.Par(device=device, task=task, body=body, joined=joined, tasks=tasks):
                suffix = f", joined {', '.join(r.name for r in joined)}" if joined else ""
                return [f"parallel {task.name} = 1:{text(tasks)} on {device}{suffix}:", *self.inner(body)]
            case plan.AtomicUpdate(ref=ref, index=index, op=op, value=value, times=times):
                often = "" if times is None else f", {text(times)} times"
                return [f"atomic {cell(ref, index)} {op}= {text(value)}{often}"]
            case plan.Check(condition=c, message=message, values=values):
                suffix = "".join(f", {name} = {text(value)}" for name, value in values)
                return [f'check {text(c)}, "{message}"{suffix}']
        raise AssertionError(s)

    def inner(self, body: tuple[Stmt, ...]) -> list[str]:
        return self.block(body, 1) or ["    pass"]


def _lists(lists: tuple[kernels.Listed, ...]) -> str:
    return ",".join(f" {cell(each.ref, each.at)} up to {text(each.end)}" for each in lists)


@cache
def _pieces(form: str) -> list[tuple[str, str | None]]:
    """The form of a statement as texts, each with the name of the field or the property that follows it, if any."""
    return [(before, name) for before, name, _, _ in Formatter().parse(form)]


def _field(value: object) -> str:
    """The value of a field that is no block."""
    match value:
        case Const() | Reg() | Op():
            return text(value)
        case Ref():
            return _array(value)
    return str(value)


def cell(ref: Ref, index: Expr) -> str:
    """A cell of a buffer."""
    return f"{_array(ref)}[{text(index)}]"


def _array(ref: Ref) -> str:
    """A buffer; the instance is named if it is not the tensor's only one."""
    b = ref.buffer
    instance = "" if ref.instance.name == f"root {b.tensor}" else f"⟨{ref.instance.name}⟩"
    name = b.tensor if b.depth < 0 else f"{b.tensor}.{b.name}"
    return f"{name}{instance}"


def text(e: Expr) -> str:
    """An expression."""
    match e:
        case Const(value=value):
            return algebra.show(value)
        case Reg(name=name):
            return name
        case Op(op=op, args=(x, y)) if op in INFIX:
            return " ".join((_operand(x), op, _operand(y)))
        case Op(op="not", args=(x,)):
            return f"not {_operand(x)}"
        case Op(op=op, args=args):
            return f"{op}({', '.join(map(text, args))})"
    raise AssertionError(e)


def _operand(e: Expr) -> str:
    return f"({text(e)})" if isinstance(e, Op) and (e.op in INFIX or e.op == "not") else text(e)
