"""Hypothesis strategies: whole surface programs as trees, in the shape that the parser gives them.

That shape: a block inside a loop or an `if` has two statements or more (one stands for itself, none are `skip`),
a name is an index exactly where a loop binds it, definitions stand at the top level.
"""

from __future__ import annotations

from hypothesis import strategies as st

from wingspan.lang import ir
from wingspan.lang.functions import TRUE_OR_NOT, VALUES, choose, function
from wingspan.lang.operators import OPERATORS, PARTS, REDUCTIONS
from wingspan.lang.pairs import SECONDS, Pair

TENSORS = ("A", "B", "C", "w", "Ω", "T_1")
VARIABLES = ("x", "y", "n", "_t", "größe", "endless", "fortune", "i", "j")
INDICES = ("i", "j", "k", "l", "forward", "ι")
DEVICES = ("dev", "dev1", "D")
SCHEDULES = ("sch", "h")
FORMATS = ("Dense", "SparseList", "SparseDict", "Shard", "Merge", "Mutex", "Unheard")

BINARY = sorted(symbol for symbol, op in OPERATORS.items() if op.tightness)


integers = st.integers(-(2**63), 2**63 - 1)
doubles = st.floats(allow_nan=False, allow_infinity=False)
literals = st.builds(ir.Literal, st.one_of(st.booleans(), integers, st.integers(0, 9), doubles))
pairs = st.builds(lambda x, i: ir.Literal(Pair.of(x, i)), st.floats(), st.integers(SECONDS[0], SECONDS[-1]))


def accesses(bound: tuple[str, ...], depth: int) -> st.SearchStrategy[ir.Access]:
    """Accesses of rank 0 to 3 to root fibers."""
    subscripts = st.lists(expressions(bound, depth - 1), max_size=3).map(tuple)
    return st.builds(lambda t, s: ir.Access(ir.Fiber(t, len(s) + 1), s), st.sampled_from(TENSORS), subscripts)


def expressions(bound: tuple[str, ...], depth: int = 3) -> st.SearchStrategy[ir.Expression]:
    """Expressions inside loops over the indices `bound`."""
    free = [name for name in VARIABLES if name not in bound]
    leaves: list[st.SearchStrategy[ir.Expression]] = [literals, st.builds(ir.Variable, st.sampled_from(free))]
    if bound:
        leaves.append(st.builds(ir.Index, st.sampled_from(bound)))
    if depth <= 0:
        return st.one_of(leaves)
    below = st.deferred(lambda: expressions(bound, depth - 1))
    return st.one_of(
        *leaves,
        st.deferred(lambda: accesses(bound, depth)),
        st.builds(lambda op, e: ir.Call(op, (e,)), st.sampled_from(("-", "!", "~", "isqrt", "abs")), below),
        st.builds(lambda op, a, b: ir.Call(op, (a, b)), st.sampled_from(BINARY), below, below),
        pairs,
        st.builds(made_pair, below, below),
        st.builds(lambda op, e: ir.Call(op, (e,)), st.sampled_from(sorted(PARTS)), below),
        st.builds(ir.Call, st.sampled_from(("min", "max")), st.lists(below, min_size=2, max_size=4).map(tuple)),
    )


def made_pair(x: ir.Expression, i: ir.Expression) -> ir.Call:
    """(x, i); a part of x if both are literals, since the parser makes one literal of them."""
    both = isinstance(x, ir.Literal) and isinstance(i, ir.Literal)
    return ir.Call("first", (x,)) if both else ir.Call("pair", (x, i))


def cpus(bound: tuple[str, ...] = ()) -> st.SearchStrategy[ir.Cpu]:
    parents = st.none() | st.builds(ir.Variable, st.sampled_from(DEVICES))
    return st.builds(ir.Cpu, st.sampled_from(("", "t", "d1", "end")), expressions(bound, 1), parents)


def schedule_calls(bound: tuple[str, ...] = ()) -> st.SearchStrategy[ir.ScheduleCall]:
    dynamic = st.builds(ir.ScheduleCall, st.just("dynamic"), expressions(bound, 1))
    return st.just(ir.ScheduleCall("static")) | dynamic


def ranges(bound: tuple[str, ...]) -> st.SearchStrategy[ir.Whole | ir.Range | ir.Parallel]:
    ends = expressions(bound, 2)
    plain = st.just(ir.Whole()) | st.builds(ir.Range, ends, ends)
    devices = st.one_of(
        st.just(ir.DEFAULT_DEVICE), cpus(bound), st.builds(ir.Variable, st.sampled_from((*DEVICES, *bound)))
    )
    schedules = schedule_calls(bound) | st.builds(ir.Variable, st.sampled_from(SCHEDULES))
    return plain | st.builds(ir.Parallel, plain, devices, schedules)


formats: st.SearchStrategy[ir.Format] = st.recursive(
    st.builds(lambda name, z: ir.Format(name, (z,)), st.sampled_from(("Element", "Atomic")), literals | pairs)
    | st.just(ir.Format("Pattern", ())),
    lambda inner: st.builds(
        ir.Format,
        st.sampled_from(FORMATS),
        st.lists(
            inner | cpus() | literals | st.builds(ir.Variable, st.sampled_from(DEVICES)), min_size=1, max_size=3
        ).map(tuple),
    ),
    max_leaves=5,
)


def alike(columns: int) -> st.SearchStrategy[tuple[tuple[ir.Literal, ...], ...]]:
    """Rows of one length and one kind of element."""

    def rows(values: st.SearchStrategy[ir.Value]) -> st.SearchStrategy[tuple[tuple[ir.Literal, ...], ...]]:
        row = st.lists(st.builds(ir.Literal, values), min_size=columns, max_size=columns).map(tuple)
        return st.lists(row, min_size=1, max_size=3).map(tuple)

    return st.one_of(rows(st.booleans()), rows(integers), rows(doubles), rows(pairs.map(lambda p: p.value)))


vectors = st.integers(0, 4).flatmap(alike).map(lambda rows: ir.Data(1, rows[:1]))
matrices = st.integers(1, 4).flatmap(alike).map(lambda rows: ir.Data(2, rows))
files = st.builds(ir.File, st.sampled_from(("a.mtx", "data/karate.mtx", "# end (.tns")))

definables = st.one_of(
    cpus(),
    schedule_calls(),
    st.builds(ir.ScalarCall, literals),
    st.builds(ir.TensorCall, formats, st.lists(expressions((), 1), max_size=3).map(tuple)),
    st.builds(ir.TensorCall, formats, st.just(()), vectors | matrices | files),
)


@st.composite
def statements(draw: st.DrawFn, bound: tuple[str, ...] = (), depth: int = 3) -> ir.Statement:
    """One statement inside loops over the indices `bound`."""
    tensors = st.sampled_from(TENSORS)
    free = [name for name in VARIABLES if name not in bound]
    kinds = ["set", "assign", "skip", "declare", "freeze", "thaw"] + (["for", "for", "if"] if depth else [])
    match draw(st.sampled_from(kinds)):
        case "set":
            return ir.Set(draw(st.sampled_from(free)), draw(expressions(bound)))
        case "assign":
            return ir.Assign(draw(accesses(bound, 3)), draw(st.sampled_from(REDUCTIONS)), draw(expressions(bound)))
        case "declare":
            return ir.Declare(draw(tensors), draw(expressions(bound, 1)))
        case "freeze":
            return ir.Freeze(draw(tensors))
        case "thaw":
            return ir.Thaw(draw(tensors))
        case "for":
            index = draw(st.sampled_from([name for name in INDICES if name not in bound]))
            return ir.For(index, draw(ranges(bound)), draw(bodies((*bound, index), depth - 1)))
        case "if":
            return ir.If(draw(expressions(bound)), draw(bodies(bound, depth - 1)))
    return ir.SKIP


@st.composite
def bodies(draw: st.DrawFn, bound: tuple[str, ...], depth: int) -> ir.Statement:
    made = draw(st.lists(statements(bound, depth), min_size=1, max_size=3))
    return made[0] if len(made) == 1 else ir.Block(tuple(made))


top_level = st.builds(ir.Define, st.sampled_from((*TENSORS, *DEVICES, *SCHEDULES)), definables) | statements()

programs: st.SearchStrategy[ir.Program] = st.builds(
    ir.Program,
    st.lists(top_level, min_size=1, max_size=4).map(lambda made: ir.Block(tuple(made))),
    st.lists(st.sampled_from(TENSORS), max_size=2).map(tuple),
)


@st.composite
def functions(draw: st.DrawFn, known: tuple[ir.Function, ...] = ()) -> ir.Function:
    """A function that may call others, with anything declared of it."""
    parameters = draw(st.sampled_from((("x", "y"), ("y", "größe"), ("x",))))

    def change(node: ir.Node) -> ir.Node:
        match node:
            case ir.Variable() | ir.Access():
                return ir.Variable(parameters[len(str(node)) % len(parameters)])
            case ir.Call(op="max", args=(x, y)) if known:
                return ir.Choice(ir.Call("<", (x, y)), ir.Call(known[0], (x, y)[: len(known[0].parameters)]), y)
        return node

    flags = st.sets(st.sampled_from(TRUE_OR_NOT)).map(lambda names: dict.fromkeys(sorted(names), True))
    values = st.dictionaries(st.sampled_from(VALUES), literals, max_size=2)
    properties = {**draw(flags), **draw(values)} if len(parameters) == 2 else {}
    name = draw(st.sampled_from([name for name in ("f", "g", "h_1") if name not in {f.name for f in known}]))
    return function(name, parameters, properties, draw(expressions((), 2)).map(change), None)


@st.composite
def with_functions(draw: st.DrawFn) -> ir.Program:
    """A program that declares two functions, calls them in place of max, and updates by them in place of min."""
    first = draw(functions())
    second = draw(functions((first,)))
    binary = [f for f in (first, second, choose(draw(literals))) if len(f.parameters) == 2]

    def change(node: ir.Node) -> ir.Node:
        match node:
            case ir.Call(op="max", args=args) if len(args) == 2:
                return ir.Call(draw(st.sampled_from(binary)), args)
            case ir.Assign(access=access, op="min" | "+", value=value):
                return ir.Assign(access, draw(st.sampled_from(binary)), value)
        return node

    program = draw(programs)
    changed = program.body.map(change)
    declared = tuple(ir.Define(f.name, f) for f in (first, second))
    return ir.Program(ir.Block((*declared, *changed.statements)), program.returns)


programs_with_functions: st.SearchStrategy[ir.Program] = with_functions()
