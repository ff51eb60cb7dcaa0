"""From tree to text: `show(node)` is the canonical text of every node.

The text of a surface program parses back to the same tree. Comments are not part of the tree: a program that is
parsed and printed loses them. Run-time forms print in the paper's notation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, cast

from wingspan.lang import ir
from wingspan.lang.algebra import literal
from wingspan.lang.devices import Device, Schedule, Task
from wingspan.lang.functions import TRUE_OR_NOT, VALUES
from wingspan.lang.operators import OPERATORS

INDENT = "    "

OPENS, CLOSES = "\ue000", "\ue001"
"""Around the text of an `ir.Redex`; its task stands between two of the latter. No program has these characters."""

DIGITS = frozenset("0123456789IN")
"""The first characters of numbers without a sign, Inf and NaN among them."""

_PRODUCT, _UNARY, _PRIMARY = OPERATORS["*"].tightness, 7, 8


def show(node: ir.Node | ir.Function) -> str:
    """The canonical text of `node`, without a newline at its end.

    >>> show(ir.Call("*", (ir.Call("+", (ir.Variable("x"), ir.Literal(1))), ir.Literal(0.5))))
    '(x + 1) * 0.5'
    """
    match node:
        case ir.Program(body, returns):
            ending = [f"return {', '.join(returns)}"] if returns else []
            return "\n".join((*lines(body), *ending)) if body.statements else "\n".join(ending)
        case ir.Literal() | ir.Variable() | ir.Index() | ir.Call() | ir.Access() | ir.Unwrap():
            return expression(node)[0]
        case ir.Permissive() | ir.Missing() | ir.IsMissing() | ir.Coalesce() | ir.Plus() | ir.Choice():
            return expression(node)[0]
        case ir.Redex(inside=ir.Variable() | ir.Index() | ir.Call() | ir.Access() | ir.Unwrap() | ir.Choice()):
            return expression(node)[0]
        case ir.Whole() | ir.Range() | ir.Looplet() | ir.Parallel():
            return domain(node)
        case ir.Fiber():
            return fiber(node)
        case ir.Cpu() | ir.ScheduleCall() | ir.TensorCall() | ir.ScalarCall() | ir.Function():
            return definition(node)
        case ir.Format() | ir.Data() | ir.File():
            return definition(node)
        case ir.StorageWidth(name):
            return name
    return "\n".join(lines(node))


# ------------------------------------------------------------------------------------------------------- expressions


def expression(e: ir.Expression | ir.Redex) -> tuple[str, int]:
    """The text of an expression and how tightly its outermost operator binds."""
    match e:
        case ir.Literal(v):
            text = value(v)
            return text, _PRODUCT if "/" in text else _UNARY if text.startswith("-") else _PRIMARY
        case ir.Variable(name) | ir.Index(name):
            return name, _PRIMARY
        case ir.Access(ir.Fiber(tensor, level, 1, ()), subscripts) if level == len(subscripts) + 1:
            return f"{tensor}[{', '.join(map(as_subscript, view_subscripts(e)))}]", _PRIMARY
        case ir.Access(f, subscripts):
            return f"access({', '.join((fiber(f), *map(show, subscripts)))})", _PRIMARY
        case ir.Unwrap(f):
            return simple(e), _PRIMARY
        case ir.Permissive(subscript):
            return f"~{parenthesize(subscript, _UNARY)}", _UNARY
        case ir.Missing():
            return "missing", _PRIMARY
        case ir.IsMissing(missing):
            return f"ismissing({show(missing)})", _PRIMARY
        case ir.Coalesce():
            return f"coalesce({commas(alternatives(e))})", _PRIMARY
        case ir.Choice(condition, then, otherwise):
            return f"ifelse({commas((condition, then, otherwise))})", _PRIMARY
        case ir.Plus(index, ir.Literal(int(by))) if by < 0:
            return expression(ir.Call("-", (ir.Index(index), ir.Literal(-by))))
        case ir.Plus(index, by):
            return expression(ir.Call("+", (ir.Index(index), by)))
        case ir.Redex(inside, who):
            text, tightness = expression(inside)
            return f"{OPENS}{text}{CLOSES}{who}{CLOSES}", tightness
        case ir.Call("-" | "!" | "~" as sign, (operand,)):
            text, tightness = expression(operand)
            # A minus directly on a number would be read as the number's sign.
            number = sign == "-" and isinstance(operand, ir.Literal) and text[0] in DIGITS
            return sign + (f"({text})" if number or tightness < _UNARY else text), _UNARY
        case ir.Call(str(op), args) if op in OPERATORS and (own := OPERATORS[op].tightness) and len(args) > 1:
            first, *rest = args
            left = parenthesize(first, own + 1 if OPERATORS[op].sides else own)
            return f" {op} ".join((left, *(parenthesize(arg, own + 1) for arg in rest))), own
        case ir.Call("pair", (ir.Literal(kind="int" | "float"), ir.Literal(kind="int"))):  # the next step makes it one
            return f"pair({commas(e.args)})", _PRIMARY
        case ir.Call("pair", args):
            return f"({commas(args)})", _PRIMARY
        case ir.Call(op, args):
            return f"{op}({commas(args)})", _PRIMARY


def alternatives(e: ir.Expression) -> Iterable[ir.Expression]:
    """The alternatives of `coalesce`, of which it takes the first that is not missing."""
    while isinstance(e, ir.Coalesce):
        yield e.first
        e = e.otherwise
    yield e


def parenthesize(e: ir.Expression, least: int) -> str:
    """The text of an operand, in parentheses unless it binds at least so tightly."""
    text, tightness = expression(e)
    return text if tightness >= least else f"({text})"


def as_subscript(e: ir.Expression) -> str:
    """A subscript; one that begins with an operator on bits is in parentheses, since ~ lets it leave its axis."""
    text = show(e)
    return f"({text})" if text.startswith("~") and not isinstance(e, ir.Permissive) else text


def commas(nodes: Iterable[ir.Node]) -> str:
    """A list of nodes."""
    return ", ".join(map(show, nodes))


def value(v: Any) -> str:
    """A value as a literal, or what stands in its place as text."""
    return literal(v) if isinstance(v, bool | int | float | Fraction) else str(v)


def view_subscripts(a: ir.Access) -> tuple[ir.Expression, ...]:
    """The subscripts of an access, in which a view of a fiber is written as in the program: `~(i + 1)`."""
    *inner, last = (*a.subscripts,) or (None,)
    if last is None or not (a.fiber.by or a.fiber.open):
        return a.subscripts
    if a.fiber.by and isinstance(last, ir.Index):
        last = ir.Plus(last.name, ir.Literal(cast(int, a.fiber.by)))
    return (*inner, ir.Permissive(last) if a.fiber.open else last)


def fiber(f: ir.Fiber) -> str:
    """`fiber(T,l,p)`, after the position which copy of the level is meant, and how it is viewed: `[~ + 1]`."""
    shift = f" {'-' if f.by < 0 else '+'} {abs(f.by)}" if isinstance(f.by, int) and f.by else ""
    view = f"[{'~' * f.open}{shift}]".replace("[ ", "[") if f.open or shift else ""
    return f"fiber({f.tensor},{f.level},{f.position}{copy(f.instance)}){view}"


def copy(instance: tuple[Any, ...]) -> str:
    """The keys that distinguish copies of a level."""
    return f" in {'.'.join(f'{tag} {key}' for tag, key in instance)}" if instance else ""


# ------------------------------------------------------------------------------------------- ranges and definitions


def domain(r: ir.RangeLike) -> str:
    """The range of a loop."""
    match r:
        case ir.Whole():
            return "_"
        case ir.Range(start, stop):
            return f"{show(start)}:{show(stop)}"
        case ir.Looplet(first, last):
            return f"looplet({first}:{last})"
        case ir.Parallel(inner, dev, sch):
            plain = sch == ir.DEFAULT_SCHEDULE
            if plain and dev == ir.DEFAULT_DEVICE:
                return f"parallel({domain(inner)})"
            return f"parallel({domain(inner)}, {device(dev)}{'' if plain else ', ' + schedule(sch)})"


def device(d: Device | ir.Variable | ir.Cpu) -> str:
    """A device, as written or resolved."""
    return (d.id or f"cpu({d.nthreads})") if isinstance(d, Device) else show(d)


def schedule(h: Schedule | ir.Variable | ir.ScheduleCall) -> str:
    """A schedule, as written or resolved."""
    return str(h) if isinstance(h, Schedule) else show(h)


def function(f: ir.Function) -> str:
    """The declaration of a function."""
    known = f.algebra
    flags = [name for name in TRUE_OR_NOT if getattr(known, name)]
    values = ((name, getattr(known, name)) for name in VALUES)
    properties = ", ".join([*flags, *(f"{name} = {show(e)}" for name, e in values if e is not None)])
    return f"function {f}({', '.join(f.parameters)}{'; ' * bool(properties)}{properties}) = {show(f.body)}"


def definition(d: ir.Definable | ir.Format | ir.Data | ir.File) -> str:
    """The definition of a name, or a part of it."""
    match d:
        case ir.Cpu(name, count, parent):
            parts = [f":{name}"] if name else []
            parts += [show(count), *([parent.name] if parent else [])]
            return f"cpu({', '.join(parts)})"
        case ir.ScheduleCall(kind, step):
            return f"{kind}_schedule({show(step) if step else ''})"
        case ir.TensorCall(layout, extents, data):
            return f"Tensor({commas((layout, *extents, *((data,) if data else ())))})"
        case ir.ScalarCall(init, short):
            return f"{'ShortCircuit' * short}Scalar({show(init)})"
        case ir.Format(name, args):
            return f"{name}({commas(args)})"
        case ir.File(path):
            return f'"{path}"'
        case ir.Function():
            return function(d)
        case ir.Data(1, rows):
            return f"[{commas(rows[0])}]"
        case ir.Data(_, rows):
            text = "; ".join(" ".join(map(show, row)) for row in rows)
            return f"[{text};]" if len(rows) == len(rows[0]) == 1 else f"[{text}]"


# -------------------------------------------------------------------------------------------------------- statements


def lines(s: Any) -> list[str]:
    """The lines of a statement."""
    match s:
        case ir.Block(statements):
            return [line for part in statements for line in lines(part)] or ["skip"]
        case ir.If(condition, body):
            return [f"if {show(condition)}", *indent(body), "end"]
        case ir.For(index, r, body):
            header = f"for {index} = {domain(r)}" + (" do" if isinstance(r, ir.Looplet) else "")
            return [header, *indent(body), "end"]
        case ir.Par(contexts):
            return par(contexts)
        case ir.Context(body, t, store):
            return around("⟨", body, f", {task(t)}, {bindings(store)}⟩")
        case ir.Spawn(body, d, count):
            return around("spawn(", body, f", {device(d)}, {show(count)})")
        case ir.Transfer(tensor, body):
            return around(f"transfer({tensor}, ", body, ")")
        case ir.Worker(index, r, h, body):
            return around(f"worker({index}, {domain(r)}, {h}, ", body, ")")
        case ir.Enter(index, at, reads, updates, body, left):
            fibers = ", ".join(map(fiber, (*reads, *updates)))
            opening = f"enter({index} = {at}, {{{fibers}}}, " if fibers else f"enter({index} = {at}, "
            return around(opening, body, "".join(f"; {simple(each)}" for each in left) + ")" + resume_point(s))
        case ir.Redex(inside, who):
            first, *rest = lines(inside)
            return [*(marked := [f"{OPENS}{first}", *rest])[:-1], f"{marked[-1]}{CLOSES}{who}{CLOSES}"]
    return [simple(s)]


def resume_point(s: Any) -> str:
    """The point where the program of a level rests that a run-time form has begun."""
    return "" if s.frame is None else f" {s.frame}"


def simple(s: Any) -> str:
    """A statement that fits on one line, and how far its level's program has run."""
    text = _simple(s)
    return text + resume_point(s) if hasattr(s, "frame") else text


def _simple(s: Any) -> str:
    match s:
        case ir.Set(name, e):
            return f"{name} = {show(e)}"
        case ir.Define(_, ir.Function() as f):
            return definition(f)
        case ir.Define(name, d):
            return f"{name} = {definition(d)}"
        case ir.Assign(access, op, e):
            sign = OPERATORS[op].update if isinstance(op, str) else f"<<{op}>>="
            return f"{show(access)} {sign} {show(e)}"
        case ir.Assert(condition):
            return f"assert({show(condition)})"
        case ir.Skip():
            return "skip"
        case ir.Declare(tensor, init, "=", ()):
            return f"{tensor} .= {show(init)}"
        case ir.Declare(tensor, init, op, extents):
            return f"declare({', '.join((tensor, show(init), *map(str, (op, *extents))))})"
        case ir.Freeze(tensor, op):
            return f"freeze({tensor}{f', {op}' if op else ''})"
        case ir.Thaw(tensor, op):
            return f"thaw({tensor}{f', {op}' if op else ''})"
        case ir.Increment(f, op, e):
            return f"increment({fiber(f)}, {op}, {show(e)})"
        case ir.Unfurl(f):
            return f"unfurl({fiber(f)})"
        case ir.Unwrap(f):
            return f"unwrap({fiber(f)})"
        case ir.Leave(f, at, child, bound):
            kept = "".join(f", {name}={value(held)}" for name, held in bound)
            return f"leave({fiber(f)}, {at}{f', {fiber(child)}' if child else ''}{kept})"
        case ir.Finish(f):
            return f"finish({fiber(f)})"
        case ir.Checkout(tensor, level, mode, t, instance):
            return f"checkout({tensor}, {level}{copy(instance)}, {mode}, {task(t)})"
        case ir.Commit(tensor, level, mode, t, instance):
            return f"commit({tensor}, {level}{copy(instance)}, {mode}, {task(t)})"
    raise TypeError(f"not a node: {s!r}")


def indent(s: Any) -> list[str]:
    """The lines of a statement, one step to the right."""
    return [INDENT + line for line in lines(s)]


def around(opening: str, body: Any, closing: str) -> list[str]:
    """A statement between two texts: on its line if it has one, else indented on lines of its own."""
    inside = lines(body)
    if len(inside) == 1:
        return [opening + inside[0] + closing]
    return [opening.rstrip(), *(INDENT + line for line in inside), closing.removeprefix(", ")]


def par(contexts: tuple[Any, ...]) -> list[str]:
    """C₁ ‖ C₂ ‖ …, each but the first on lines of its own if one of them has several."""
    parts = [lines(context) for context in contexts]
    if all(len(part) == 1 for part in parts):
        return [" ‖ ".join(part[0] for part in parts)]
    first, *rest = parts
    return [*first, *(("‖ " if i == 0 else "  ") + line for part in rest for i, line in enumerate(part))]


def task(t: Task) -> str:
    """A task by its path."""
    return str(t).removeprefix("the ")


def term(held: Any) -> str:
    """The term of a metavariable or of a name in a store: a tree, several of them, a task, a device, a value."""
    match held:
        case ir.Node():
            return show(held)
        case tuple():
            return ", ".join(map(term, held))
        case Task():
            return task(held)
        case Device():
            return device(held)
    return value(held)


def bindings(store: Any) -> str:
    """A store as `{i ↦ 1, x ↦ 2.0}`, its keys in order."""
    if not isinstance(store, Mapping):
        return str(store)
    pairs = sorted((show(key) if isinstance(key, ir.Node) else str(key), term(bound)) for key, bound in store.items())
    return "{" + ", ".join(f"{key} ↦ {text}" for key, text in pairs) + "}"
