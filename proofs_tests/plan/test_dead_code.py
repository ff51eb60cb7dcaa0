"""Parts that a plan omits because they are certain: registers that pass values on, and checks of subscripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from operator import add, floordiv, mod, mul, neg, sub
from textwrap import dedent
from typing import Any

from hypothesis import HealthCheck, example, given, settings

from proofs_tests.effort import EFFORT, due, many
from proofs_tests.plan.test_looplets import touches
from wingspan import api
from wingspan.base.errors import Fault, InputError
from wingspan.explorer.machine import Blocked
from wingspan.native.assemble import assemble
from wingspan.native.code import operate
from wingspan.native.machine import Native
from wingspan.plan import ir as plan
from wingspan.plan import pipeline
from wingspan.plan.fold import op
from wingspan.plan.ir import Const, Expr, Op, Plan, Reg
from wingspan.plan.passes.dead_code import dead_code
from wingspan.plan.ranges import ANY, Range, apply, range_of
from wingspan.testing import Options, programs

SETTINGS = settings(derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))

SMALL = (-3, -1, 0, 1, 2, 4)
BINARY: dict[str, Callable[[int, int], int]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "min": min,
    "max": max,
    "÷": floordiv,
    "%": mod,
}


def test_ranges_hold_all_values() -> None:
    """Of every operator over all small ranges."""
    ranges = [(a, b) for a in SMALL for b in SMALL if a <= b]
    for name, function in BINARY.items():
        for (a, b), (c, d) in product(ranges, ranges):
            low, high = apply(name, (a, b), (c, d))
            values = [function(x, y) for x in range(a, b + 1) for y in range(c, d + 1) if y or name not in "÷%"]
            assert all(low <= value <= high for value in values), (name, (a, b), (c, d))
    for a, b in ranges:
        low, high = apply("neg", (a, b))
        assert all(low <= neg(x) <= high for x in range(a, b + 1))


def test_a_range_beyond_64_bits_is_no_range() -> None:
    """Registers wrap around."""
    for name, most in product(("+", "*"), (ANY, (2**62, 2**62))):
        assert apply(name, most, most) == ANY


REGISTERS: dict[str, Range] = {"x": (-2, 2), "y": (1, 3)}


LEAVES: list[Expr] = [*map(Const, range(-2, 4)), *map(Reg, REGISTERS)]


def pairs(one: Iterable[Expr], other: Iterable[Expr]) -> Iterator[Expr]:
    """Every operator over arguments of two kinds; divisors are positive numbers."""
    for name, args in product(BINARY, product(one, other)):
        if name not in "÷%" or (isinstance(args[1], Const) and args[1].value > 0):
            yield Op(name, args)


def value(e: Expr, registers: dict[str, int]) -> Any:
    """The value of an expression over the registers."""
    match e:
        case Const(value=held):
            return held
        case Reg(name=name):
            return registers[name]
        case Op(op=name, args=args):
            return operate(name, [value(a, registers) for a in args])


def folded(e: Expr) -> Expr:
    """The expression written again with all that is certain worked out."""
    return op(e.op, *map(folded, e.args)) if isinstance(e, Op) else e


def test_what_is_worked_out_now_is_what_a_run_works_out() -> None:
    """Expressions of two or three numbers and registers: ranges hold their values, writing them again changes none."""
    small = list(pairs(LEAVES, LEAVES))
    chosen = [Op("select", (Op("<", (Reg("x"), Reg("y"))), e, Const(1))) for e in small[::7]]
    for e in (*small, *chosen, *list(pairs(small, LEAVES))[:: 3 if EFFORT <= 1 else 1]):
        low, high = range_of(e, REGISTERS)
        again = folded(e)
        for x, y in product(range(-2, 3), range(1, 4)):
            held = value(e, {"x": x, "y": y})
            assert low <= held <= high, e
            assert value(again, {"x": x, "y": y}) == held, e


READ_IN_VAIN = """
    A = Tensor(SparseList(Dense(Element(0))), [1;])
    r = Tensor(Dense(Element(0)), [1])
    if (true)
        for i = 1:r[1]
            xi = A[i, i]
        end
    end
"""
"""The reads of `A` are removed, and so is the register with the index that only they report."""


def test_tidying_changes_no_result(monkeypatch: Any) -> None:
    """Random programs with two tasks, one after the other: the same accesses, outcome or fault, in fewer statements."""
    seen: Counter[str] = Counter()
    made: list[Plan] = []

    def record_and_remove(raw: Plan) -> Plan:
        made.append(raw)
        return dead_code(raw)

    before = pipeline.PASSES[: pipeline.PASSES.index(dead_code)]
    monkeypatch.setattr(pipeline, "PASSES", (*before, record_and_remove))

    @settings(SETTINGS, max_examples=many(40))
    @given(programs(Options(depth=2, statements=2, spawning=2)))
    def compare(text: str) -> None:
        bound = api.bind(api.parse(text))
        made.clear()
        try:
            tidied = pipeline.lower(bound)
        except InputError:
            return
        one, other = (Native(assemble(each), bound) for each in (made[0], tidied))
        (accesses, expected), (after, end) = touches(one), touches(other)
        assert accesses == after
        if isinstance(expected, Fault | Blocked):
            assert isinstance(end, type(expected)) and str(end) == str(expected)
        else:
            assert other.outcome(end) == one.outcome(expected)
        counts = [sum(1 for _ in plan.walk(machine.code.plan.body)) for machine in (one, other)]
        assert counts[1] <= counts[0]
        seen["shorter"] += counts[1] < counts[0]

    compare()
    assert seen["shorter"] > due(25)


def test_a_tidy_plan_is_tidy() -> None:
    """Tidying again changes nothing: no register is left that only passes on another or a constant."""

    @settings(SETTINGS, max_examples=many(25))
    @given(programs(Options(depth=2, statements=2)))
    @example(READ_IN_VAIN)
    def check(text: str) -> None:
        try:
            made = pipeline.lower(api.bind(api.parse(text)))
        except InputError:
            return
        assert dead_code(made) == made

    check()


def test_a_task_looks_up_its_own_copies_once() -> None:
    """Before all else: those of its own thread, not those that the program tells by other keys."""
    text = """
        dev = cpu(:t, 2)
        C = Tensor(Dense(Shard(dev, SparseList(Element(0)))), 3, 4)
        D = Tensor(Dense(Isolate(Dense(Element(0)))), 3, 4)
        C .= 0
        D .= 0
        for j = parallel(1:4, dev, dynamic_schedule(1))
            for i = 1:3
                C[i, j] = i + j
            end
            for i = 1:3
                D[i, j] += i
            end
        end
    """
    made = pipeline.lower(api.bind(api.parse(dedent(text))))
    (par,) = (s for s in plan.walk(made.body) if isinstance(s, plan.Par))
    inside = [s for s in plan.walk(par.body) if isinstance(s, plan.Child)]
    own = [s for s in inside if s.key == par.task]
    assert own == [par.body[0]] and len(inside) > 1
