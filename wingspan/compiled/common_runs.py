"""Runs that two lists have in common as C: 16 at once (`plan/passes/common_runs.py`, `common_runs.h`)."""

from __future__ import annotations

from collections.abc import Iterator

from wingspan.compiled.expressions import FunctionContext, offset
from wingspan.compiled.lexical import indent
from wingspan.compiled.registers import declare
from wingspan.lang.widths import WIDTHS
from wingspan.plan.ir import Check, Compute, Expr, Load, Op, Ref, Reg, Set, Store
from wingspan.plan.kernels import CommonRuns
from wingspan.plan.ranges import Range, range_of

LARGEST = "int64_t"
"""The type of integers that may be as large as those of the language."""


def print_common_runs(around: FunctionContext, s: CommonRuns, wait: str) -> list[str]:
    """Goes on while both lists have the same runs, unless it is to `wait`; or does nothing."""
    text, (x, y), into = around.text, s.lists, s.into
    runs, made, failed, ends, taken = map(around.names.new, ("runs", "made", "failed", "ends", "taken"))
    x_left, x_right, y_left, y_right = (_cells(around, ref, z.at) for z in (x, y) for ref in (z.left, z.right))
    width, cells = into.element.buffer.width, _cells(around, into.element, into.at)
    left, both = [f"{text(z.end)} - {text(z.at)}" for z in (x, y)], f"{x_left}, {x_right}, {y_left}, {y_right}"
    follows = f"{text(into.first)} < {text(into.at)}"
    more = [f"{each} >= WS_FEW_RUNS" for each in left]
    more += [f"{text(x.index)} == {text(y.index)}", f"{text(x.last)} == {text(y.last)}"]
    more += [f"*({x_left}) == {text(x.index)}", f"*({y_left}) == {text(y.index)}"]
    more.append(f"({x_right})[WS_FEW_RUNS - 1] == ({y_right})[WS_FEW_RUNS - 1]")
    inner = [
        f"const int64_t {runs} = ws_min_i64(ws_min_i64({left[0]}, {left[1]}), WS_RUN_LANES);",
        *_elements(around, s, runs, made, failed),
        f"uint32_t {ends} = ws_equal_lanes_{width}({made}, {follows} ? ({cells})[-1] : {made}[0]);",
        f"{ends} &= ws_adjacent({x_left}, {x_right}, {runs}, {follows} ? {text(into.index)} : WS_NOWHERE);",
        f"{ends} |= ws_set_lanes({failed}) | ~ws_common_runs({both}, {runs}, {text(s.last)});",
        f"const int64_t {taken} = ws_runs_before({ends});",
        *(
            f"ws_copy_runs({_cells(around, to, into.at)}, {of}, {taken});"
            for to, of in ((into.left, x_left), (into.right, x_right))
        ),
        f"ws_write_lanes_{width}({cells}, {made}, {taken});",
        f"if ({taken} > 0) {text(into.index)} = ({x_right})[{taken} - 1];",
        *(f"{text(reg)} += {taken};" for reg in (into.at, x.at, y.at)),
    ]
    for z, first, last in ((x, x_left, x_right), (y, y_left, y_right)):
        inner.append(f"if ({text(z.at)} < {text(z.end)}) {text(z.index)} = *({first}), {text(z.last)} = *({last});")
    inner.append(f"if ({taken} < WS_FEW_RUNS) {wait} = WS_WAITS;")
    lines = [f"while ({' && '.join([f'{wait} == 0', *more])}) {{", *indent(inner), "}"]
    return ["#if WS_RUN_LANES", f"if ({wait} > 0) {wait}--;", *lines, "#endif"]


def _elements(around: FunctionContext, s: CommonRuns, runs: str, made: str, failed: str) -> list[str]:
    """The elements of some runs, computed side by side in integers as small as will do, and whether that failed."""
    names, text, integer = around.names, around.text, _integer(s)
    lane, before, each = names.new("lane"), [], []

    def declare_lane(reg: Reg) -> str:
        return f"const {integer} {names.register(reg)}" if reg.type.is_integer else f"const {declare(names, reg)}"

    loads = [part for part in s.body if isinstance(part, Load)]
    for load in loads:
        width, named = load.ref.buffer.width, names.new(f"{names.register(load.reg)}_of")
        before.append(f"{WIDTHS[width].c} {named}[WS_RUN_LANES];")
        before.append(f"ws_read_lanes_{width}({named}, {_cells(around, load.ref, load.index)}, {runs});")
        each.append(f"{declare_lane(load.reg)} = {named}[{lane}];")
    each.append(f"{failed}[{lane}] = 0;")
    for part in s.body:
        match part:
            case Check(condition=condition):
                each.append(f"{failed}[{lane}] |= !({text(condition)});")
            case Compute(reg=reg, op=op, args=args) if integer != LARGEST:
                each.append(f"{declare_lane(reg)} = {text(Op(op, args))};")
            case Compute(reg=reg):
                each += [f"{declare(names, reg)} = {reg.type.c_zero};", f"{failed}[{lane}] |= !{around.success(part)};"]
            case Set(reg=reg, value=value):
                each.append(f"{declare_lane(reg)} = {text(value)};")
            case Store(value=value):
                each.append(f"{made}[{lane}] = {text(value)};")
    loop = f"for (int {lane} = 0; {lane} < WS_RUN_LANES; {lane}++) {{"
    before += [f"{WIDTHS[s.into.element.buffer.width].c} {made}[WS_RUN_LANES];", f"uint8_t {failed}[WS_RUN_LANES];"]
    return [*before, "WS_SIDE_BY_SIDE", loop, *indent(each), "}"]


def _integer(s: CommonRuns) -> str:
    """A type for the integers that a body computes: the largest, unless all that it works with fits a smaller one."""
    ranges: dict[str, Range] = {}
    found: list[Range] = []
    for part in s.body:
        match part:
            case Load(reg=reg, ref=ref):
                if reg.type.is_integer:
                    holds = WIDTHS[ref.buffer.width].range
                    ranges[reg.name] = (holds[0], holds[-1])
                    found.append(ranges[reg.name])
                continue
            case Compute(op=op, args=args):
                e: Expr = Op(op, args)
                if op not in ("+", "-", "*"):
                    return LARGEST
            case Set(value=e) | Store(value=e) | Check(condition=e):
                pass
        found += (range_of(each, ranges) for each in _integers(e))
        if isinstance(part, Set | Compute) and part.reg.type.is_integer:
            ranges[part.reg.name] = range_of(e, ranges)
    fitting = (bits for bits in (16, 32) if all(-(2 ** (bits - 1)) <= x <= y < 2 ** (bits - 1) for x, y in found))
    bits = next(fitting, None)
    return LARGEST if bits is None else f"int{bits}_t"


def _integers(e: Expr) -> Iterator[Expr]:
    """The integers that an expression is computed from, and itself, if it is one."""
    if e.type.is_integer:
        yield e
    if isinstance(e, Op):
        for arg in e.args:
            yield from _integers(arg)


def _cells(around: FunctionContext, ref: Ref, at: Expr) -> str:
    """The address of the cells of a buffer from one on."""
    return f"{around.cell_name(ref.instance, ref.buffer)} + {offset(at, around.names)}"
