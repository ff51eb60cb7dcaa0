"""The buffer language: what it stages, what it refuses, and that all ways to run it agree."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.towers import COUNTS, ByHand, elements_of, thread, tower
from wingspan.base.errors import Fault, InternalError
from wingspan.buffers import procedures
from wingspan.buffers.eager import eager
from wingspan.buffers.frames import Cell, Frame, LockHeld, Memory, advance, start
from wingspan.buffers.linear import linear
from wingspan.buffers.ops import (
    AtomicUpdate,
    Check,
    Const,
    Each,
    Load,
    Op,
    Place,
    Procedure,
    Ref,
    Reg,
    SetReg,
    Sort,
    Store,
    When,
    While,
    fold,
)  # fmt: skip
from wingspan.buffers.staging import Stager
from wingspan.lang.devices import ROOT, Device
from wingspan.levels import Buffer, Modifier, Storage, Tower
from wingspan.levels.element import Element
from wingspan.tensors.cells import Cells
from wingspan.tensors.tensor import Tensor, entries_of, load
from wingspan.testing.formats import tensors


def finish(frame: Frame, memory: Memory) -> Frame:
    """Perform all the accesses that are left."""
    while not frame.has_ended:
        frame = advance(frame, memory)
    return frame


REF = Ref(0, "a")
derandomized = settings(derandomize=True, deadline=None, max_examples=many(60))


def storage(text: str) -> type[Storage]:
    """A storage level with buffers a and b and the cursor field x."""

    @dataclass(frozen=True)
    class Novel(Storage):
        operations = text
        cursor = ("x",)
        buffers = (Buffer("a", "value", "1", ""), Buffer("b", "value", "1", ""))

    return Novel


def staged(text: str, name: str = "f", args=(), op: str = "+", extent: int = 5):
    """The statements and results of one operation of a novel level over an Element."""
    stager = Stager(Tower.of(storage(text)(Element(0)), (extent,)), op)
    results = stager.call(0, name, args, ())
    return stager.out, results


# ------------------------------------------------------------------------------------------------------- what it stages


def test_every_access_is_a_statement_of_its_own():
    """Loads happen left to right, before the store that uses them, each at the place that it is made for."""
    out, results = staged("def f(p, i):\n    a[p] = a[i] + b[a[2]]\n    return b[1]", args=(Reg("P"), Reg("I")))
    a, b, at = Ref(0, "a"), Ref(0, "b"), Place(Reg("P"), Reg("I"))
    assert out == [
        Load("a.1", a, Reg("I"), at),
        Load("a.2", a, Const(2), at),
        Load("b.3", b, Reg("a.2"), at),
        Store(a, Reg("P"), Op("+", (Reg("a.1"), Reg("b.3"))), at),
        Load("b.4", b, Const(1), at),
    ]
    assert results == (Reg("b.4"),)


def test_the_place_of_a_cursor_is_its_position():
    out, _ = staged("def f(c, i):\n    c.x = a[c.p]", args=(Reg("I"),))
    assert out == [Load("a.1", Ref(0, "a"), Reg("c.p"), Place(Reg("c.p"), Reg("I"))), SetReg("c.x", Reg("a.1"))]


def test_what_is_known_is_folded():
    """Extents, operators, constant conditions and the kind of child are decided when the level is staged."""
    text = "def f():\n    if child.leaf and n * 2 - 1 == 9:\n        a[n] = 1 if overwrites else 0\n"
    text += "    else:\n        a[1] = 2"
    assert staged(text)[0] == [Store(Ref(0, "a"), Const(5), Const(0), Place())]
    assert staged(text, op="=")[0] == [Store(Ref(0, "a"), Const(5), Const(1), Place())]
    assert staged(text, extent=4)[0] == [Store(Ref(0, "a"), Const(1), Const(2), Place())]


@derandomized
@given(
    st.sampled_from(["+", "-", "*", "//", "%", "==", "!=", "<", "<=", ">", ">="]), st.integers(-3, 3), st.integers(1, 3)
)
def test_folding_keeps_the_value(op, x, y):
    """Over constants, and where only one side is one."""
    python = {"/": "//"}.get(op, op)
    assert fold(op, Const(x), Const(y)) == Const(eval(f"{x} {python} {y}"))
    for partly in (fold(op, Reg("x"), Const(x)), fold(op, Const(x), Reg("x"))):
        if partly == Reg("x"):
            assert (op, x) in [("+", 0), ("-", 0), ("*", 1)]


def test_branches_and_loops_stay_structured():
    out, _ = staged(
        "def f(p):\n    k = p\n    while a[k] > 0:\n        k = k + 1\n    if k > p:\n        sort(a, k)\n    else:\n"
        '        check(k == p, "{k} is not {p}")\n    atomic(b, k, combine(k, p))',
        args=(Reg("P"),),
    )
    a, at, k = Ref(0, "a"), Place(Reg("P")), Reg("k.1")
    test = (Load("a.2", a, k, at),)
    values = (("k", k), ("p", Reg("P")))
    assert out == [
        SetReg("k.1", Reg("P")),
        While(test, Op(">", (Reg("a.2"), Const(0))), (SetReg("k.1", Op("+", (k, Const(1)))),)),
        When(
            Op(">", (k, Reg("P"))),
            (Sort(a, k, at),),
            (Check(Op("==", (k, Reg("P"))), "{k} is not {p}", values, 0),),
        ),
        AtomicUpdate(Ref(0, "b"), k, "+", Op("combine", (Const("+"), k, Reg("P"))), at),
    ]


def test_calls_of_the_child_lead_to_its_instance():
    """`child[k]` appends a key, and a level without the operation passes checkout on."""
    form = "Shard(dev, Dense(Shard(far, Element(0))))"
    out = procedures.transfer(tower(form, 2), 2, "checkout").procedure.body
    assert out[0] == SetReg("t.1", Op("thread", (Const(Device("dev", 2)), Reg("task"))))
    (when,) = (s for s in out if isinstance(s, When))
    loads = [s for s in when.then if isinstance(s, Load)]
    assert loads[0].ref == Ref(0, "used", ())
    (inner,) = (s for s in when.then if isinstance(s, When))
    assert next(s.ref for s in inner.then if isinstance(s, Load)) == Ref(2, "used", (("dev", Reg("t.1")),))


def test_coalesce_reads_copies_and_writes_the_merged_level():
    """Its lists are the caller's buffers; `lvl[t]` is the copy on processor t, whatever modifiers lie between.

    Below a Shard over 3 threads, processors are numbered t + P·s.
    """
    out = procedures.whole_tensor_code(tower("Merge(dev, Shard(far, Element(0)))"), "freeze", "-").procedure.body
    (*_, alone) = (s for s in out if isinstance(s, When))
    (some,) = (s for s in alone.otherwise if isinstance(s, When))
    (claims,) = (s for s in some.then if isinstance(s, While))
    (values,) = (s for s in some.then if isinstance(s, Each))
    head = [s for s in values.body if isinstance(s, When)][-1]
    lists = [Ref(0, name) for name in ("tasks", "locals", "globals")]
    loads = [s for s in claims.body if isinstance(s, Load)]
    t, claimed = Reg(loads[0].reg), loads[2]
    assert loads[0].ref == lists[0] and loads[1].ref == lists[1]
    assert claimed.ref == Ref(1, "ptr", (("dev", _kept(claims.body, t)),))
    copies = [s.ref.keys for s in head.then if isinstance(s, Load) and s.ref.buffer == "val"]
    (((dev, outer), (far, inner)),) = copies
    assert (dev, far) == ("dev", "far")
    assert isinstance(outer, Op) and isinstance(inner, Op)
    assert (outer.op, outer.args[1], inner.op, inner.args[1]) == ("%", Const(4), "//", Const(4))
    (((_, child), (_, owner)),) = {s.ref.keys for s in head.then if isinstance(s, Store)}
    assert isinstance(child, Reg) and owner == Const(1)


def _kept(body, reg):
    """The register that a value is kept in."""
    return next(Reg(s.reg) for s in body if isinstance(s, SetReg) and s.value == reg)


@pytest.mark.parametrize(("op", "folded"), [("+", "+"), ("-", "+"), ("max", "max")])
def test_copies_are_merged_by_the_operator_and_by_plus_for_minus(op, folded):
    out, _ = staged("def f(p):\n    a[1] = merge(p, 3)\n    b[1] = combine(p, 3)", args=(Reg("P"),), op=op)
    a, b = (s.value for s in out if isinstance(s, Store))
    assert a == Op("combine", (Const(folded), Reg("P"), Const(3)))
    assert b == Op("combine", (Const(op), Reg("P"), Const(3)))


REFUSED = {
    "def f(:": "no Python",
    "x = 1": "functions with names",
    "def f():\n    pass\ndef f():\n    pass": "functions with names",
    "def f():\n    x = 1.5": "`1.5`",
    "def f():\n    x = 'a'": "`'a'`",
    "def f():\n    x = None": "`None`",
    "def f():\n    x = 7 / 2": "`7 / 2`",
    "def f():\n    x = 1 < 2 < 3": "`1 < 2 < 3`",
    "def f():\n    x = 1 in a": "`1 in a`",
    "def f():\n    x = -n": "`-n`",
    "def f():\n    x = abs(n)": r"`abs\(n\)`",
    "def f():\n    x = y = 1": "`x = y = 1`",
    "def f():\n    x = 1\n    x += 1": r"`x \+= 1`",
    "def f():\n    x = n if a[1] else 1": "a load under",
    "def f():\n    x = n > 1 and a[1]": "a load under",
    "def f():\n    while n:\n        pass\n    else:\n        pass": "while n",
    "def f():\n    for k in a:\n        pass": "for k in a",
    "def f(p):\n    if p > 1:\n        return 1": "`return 1`",
    "def f(p):\n    p = p + 1": "`p = …`.*from outside",
    "def f():\n    n = 1": "`n = …`.*from outside",
    "def f():\n    y = x": "`x`.*nothing is called so",
    "def f(p):\n    if p > 1:\n        x = 1\n    y = x": "`x`.*nothing is called so",
    "def f(p):\n    while p > 1:\n        x = 1\n    a[1] = x": "`x`.*nothing is called so",
    "def f():\n    y = threads": "`threads`",
    "def f():\n    y = thread()": "`thread",
    "def f():\n    d[1] = 1": "`d`.*no such buffer",
    "def f():\n    x = d[1]": "`d`.*no such buffer",
    "def f():\n    c.x = 1": "`c.x`.*no fields",
    "def f(c):\n    c.p = 1": "the position of a cursor stays",
    "def f(c):\n    c.y = 1": "`c.y`.*has p, x",
    "def f(c):\n    x = c.y": "`c.y`.*has p, x",
    "def f():\n    child.unheard()": "Element has no operation unheard",
    "def f():\n    child.assemble()": r"Element: assemble takes \(p\), got 0",
    "def f():\n    child.assemble(p=1)": "child.assemble",
    "def f():\n    child[1].assemble(1)": r"`child\[1\]`",
    "def f():\n    a.assemble(1)": "`a`",
    "def f():\n    x = child.declare()": r"`child.declare\(\)`: it returns no value",
    'def f():\n    check(n, "{m}")': "`m`.*nothing is called so",
    "def f():\n    check(n)": r"`check\(n\)`",
    "def f():\n    sort(n)": r"`sort\(n\)`",
    "def f():\n    atomic(a, 1)": "`atomic",
    "def f():\n    acquire(a)": r"`acquire\(a\)`",
    "def f():\n    release(d, 1)": "`d`.*no such buffer",
    "def f():\n    x = lvl[1].a[1]": "there are copies in coalesce only",
    "def f():\n    lvl.unheard()": "Novel has no operation unheard",
    "def f():\n    for k in parallel(1):\n        pass": "for k in parallel",
    "def f():\n    for k in parallel(1, 2, 3, 4):\n        pass": "for k in parallel",
    "def f():\n    for k in parallel(1, 2):\n        for j in parallel(1, 2):\n            pass": "inside of another",
    "def f():\n    for k in parallel(1, 2):\n        child.coalesce(a, a, a, 1, 1)": "inside of a parallel loop",
    "def f():\n    x = 1\n    for k in parallel(1, 2):\n        x = x + k": r"`x = …`: it outlives the iteration",
    "def f():\n    for k in parallel(1, 2):\n        k = 1": r"`k = …`: it outlives the iteration",
    "def f(c):\n    for k in parallel(1, 2):\n        c.x = k": r"`c.x = k`: it outlives the iteration",
    "def f():\n    for k in parallel(1, 2):\n        x = k\n    a[1] = x": "`x`.*nothing is called so",
    "def f():\n    for k in parallel(1, 2):\n        pass\n    a[1] = k": "`k`.*nothing is called so",
    "def f():\n    grain = 1": "`grain = …`.*from outside",
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_staged_is_refused(text):
    """As an InternalError that shows the piece of text."""
    with pytest.raises(InternalError, match=REFUSED[text]):
        staged(text, args=(Reg("P"),) if "f(p)" in text else ())


def test_operations_return_what_their_callers_take():
    novel = storage("def enter(c, i):\n    return 1, 2\ndef child(c, i):\n    pass")
    for make in (procedures.enter, procedures.child):
        with pytest.raises(InternalError, match=r"Novel: (enter|child) returns one value"):
            make(Tower.of(novel(Element(0)), (3,)), 2)

    @dataclass(frozen=True)
    class Loose(Modifier):
        operations = "def bind(p):\n    pass"

    with pytest.raises(InternalError, match="Loose: bind returns a position"):
        procedures.increment(Tower.of(Loose(Element(0)), ()), "+")


# -------------------------------------------------------------------------------------------------------- how it is run


def test_a_lock_is_taken_by_one_task_and_given_back():
    """A second task does not step: `LockHeld` names the cell, the position and the holder, and nothing has changed."""
    locked = tower("Dense(Mutex(Element(0)))", 2)
    code, cells = procedures.increment(locked, "+"), Cells()
    inputs = {"z": 0, "position": 2, "value": 3}
    first = advance(start(code, "T", (), {**inputs, "task": thread("dev", 1)}), cells)
    second = start(code, "T", (), {**inputs, "task": thread("dev", 2)})
    before = dict(cells.values)
    with pytest.raises(LockHeld, match="held by 1") as held:
        advance(second, cells)
    assert (held.value.cell, held.value.position, held.value.holder) == (Cell("T", 1, "lock", (), 2), 2, "1")
    assert cells.values == before
    finish(first, cells)
    finish(second, cells)
    assert cells.values == {Cell("T", 1, "lock", (), 2): 0, Cell("T", 2, "val", (), 2): 6}


class Poisoned:
    """Stands where no later instruction may look."""


def test_starting_takes_the_inputs_by_name():
    code = procedures.increment(tower("Element(0)"), "+")
    given = {"value": 3, "position": 1, "task": ROOT, "z": 0}
    cells = Cells()
    finish(start(code, "T", (), given), cells)
    assert list(cells.values.values()) == [3]
    with pytest.raises(InternalError, match="increment takes"):
        start(code, "T", (), {"z": 0})


def written(form, array, around=lambda frame: frame) -> tuple[dict, dict]:
    """Cells and stored elements of a tensor written access by access; `around` may change the frames at their rests."""

    class Changed(ByHand):
        def run(self, code, instance=(), **inputs):
            frame = around(self.begin(code, instance, **inputs))
            while not frame.has_ended:
                frame = around(advance(frame, self))
            return frame

    h = Changed(tower(form, *array.shape)).whole("declare", "checkout")
    h.update_all(elements_of(array, h.tower.fill)).whole("commit", "freeze")
    return {tuple(cell)[1:]: value for cell, value in h.cells.values.items()}, h.elements()


@derandomized
@given(tensors())
def test_dead_registers_are_blank_and_not_missed(made):
    """Cells and elements do not depend on the registers that are dead by the liveness analysis."""
    form, array = made

    def poison(frame: Frame) -> Frame:
        live = set(frame.code.live[frame.pc])
        assert all(value is None for k, value in enumerate(frame.registers) if k not in live)
        registers = [value if k in live else Poisoned() for k, value in enumerate(frame.registers)]
        return Frame(frame.code, frame.pc, tuple(registers), frame.tensor, frame.instance)

    assert written(form, array, poison) == written(form, array)


@derandomized
@given(tensors())
def test_stepping_and_the_eager_functions_agree(made):
    """Frames that rest at every access, with dead registers blanked, and functions that do neither."""
    form, array = made
    cells, elements = written(form, array)
    tower = Tensor.from_numpy(form, array, devices=COUNTS).tower
    at_once = load(tower, entries_of(array, tower.fill))
    stored = {at: value for at, value in at_once.entries() if at in elements}
    assert stored == elements and len(elements) == at_once.nnz
    if "Dense" not in form:
        assert cells == {tuple(cell)[1:]: value for cell, value in at_once.cells.values.items()}


def test_frames_that_differ_in_dead_registers_only_are_equal():
    """A SparseList's close reads c.q and c.p, and not what the cursor saw before."""
    h = ByHand(tower("SparseList(Element(0))", 3))
    code = procedures.close(h.tower, 2)
    begin = {"c.p": 1, "c.q": 2, "c.end": 0, "c.i": 1}
    first, second = h.begin(code, **begin), h.begin(code, **(begin | {"c.i": 3, "c.end": 9}))
    assert first == second and hash(first) == hash(second)
    assert first != h.begin(code, **(begin | {"c.q": 3}))


def test_a_register_is_dead_before_it_is_written():
    """Also if it is written in a loop, and read after it."""
    load = Load("x", REF, Const(1), Place())
    loop = While((load,), Op("<", (Reg("x"), Const(3))), (Store(REF, Const(1), Const(5), Place()),))
    code = linear(Procedure("f", ("x", "y"), (loop,), (("x", Reg("x")), ("y", Reg("y")))), tower("Element(0)"))
    begin = start(code, "T", (), {"x": 1, "y": 2})
    assert begin == start(code, "T", (), {"x": 7, "y": 2}) != start(code, "T", (), {"x": 1, "y": 3})
    assert finish(begin, Cells()).result() == {"x": 5, "y": 2}


EXPRESSIONS = st.recursive(
    st.integers(-3, 3).map(Const) | st.sampled_from("xyz").map(Reg),
    lambda below: st.builds(
        lambda op, parts: Op("combine", (Const(op), *parts)) if op == "min" else Op(op, tuple(parts)),
        st.sampled_from(["+", "-", "*", "min"]),
        st.lists(below, min_size=2, max_size=2),
    ),
    max_leaves=6,
)
CONDITIONS = st.builds(lambda op, x, y: Op(op, (x, y)), st.sampled_from(["<", "==", ">="]), EXPRESSIONS, EXPRESSIONS)


def statements(depth: int):
    simple = st.one_of(
        st.builds(SetReg, st.sampled_from("xyz"), EXPRESSIONS),
        st.builds(Load, st.sampled_from("xyz"), st.just(REF), EXPRESSIONS, st.just(Place())),
        st.builds(Store, st.just(REF), EXPRESSIONS, EXPRESSIONS, st.just(Place())),
        st.builds(AtomicUpdate, st.just(REF), EXPRESSIONS, st.just("+"), EXPRESSIONS, st.just(Place())),
        st.builds(Sort, st.just(REF), st.integers(0, 3).map(Const), st.just(Place())),
    )
    if depth == 0:
        return st.lists(simple, max_size=4).map(tuple)
    below = statements(depth - 1)
    count = Op("<", (Reg(f"k{depth}"), Const(3)))
    up = SetReg(f"k{depth}", Op("+", (Reg(f"k{depth}"), Const(1))))
    loop = st.builds(lambda test, body: While(test, count, (up, *body)), statements(0), below)
    return st.lists(simple | st.builds(When, CONDITIONS, below, below) | loop, max_size=4).map(tuple)


@settings(derandomize=True, deadline=None, max_examples=many(200))
@given(statements(2))
def test_random_procedures_run_alike_in_every_way(body):
    """Frames step by step, frames at once, and the eager functions: the same results and cells."""
    inputs = {"z": 1, "task": ROOT, "x": 2, "y": -1, "k1": 0, "k2": 0}
    procedure = Procedure("f", tuple(inputs), body, (("x", Reg("x")), ("y", Reg("y"))), (("dev", Reg("z")),))
    code = linear(procedure, tower("Element(0)"))
    slowly = Cells()
    frame = finish(start(code, "T", (), inputs), slowly)
    cells: dict = {}
    results, instance = eager(code)(cells, "T", (), *inputs.values())
    assert (tuple(frame.result().values()), frame.final_instance(), slowly.values) == (results, instance, cells)


@pytest.mark.parametrize("task", [thread("dev", 1), ROOT])
def test_faults_are_the_same_in_every_way(task):
    """The message tells tensor, level number and level, and the values in braces."""
    code = procedures.increment(tower("Shard(dev, Element(0))"), "=")
    owned = Cells()
    finish(start(code, "T", (), {"z": 0, "task": thread("dev", 2), "position": 1, "value": 3}), owned)
    inputs = {"z": 0, "task": task, "position": 1, "value": 4}
    with pytest.raises(Fault) as stepping:
        finish(start(code, "T", (), inputs), owned)
    with pytest.raises(Fault) as at_once:
        eager(code)(owned.values, "T", (), *inputs.values())
    assert stepping.value.message == at_once.value.message
    assert at_once.value.message.startswith("T, level 1 Shard: position 1 ")


def test_a_sort_is_one_step_over_the_first_cells():
    cells = Cells()
    values = random.Random(1).sample(range(50), 6)
    code = linear(Procedure("f", (), (Sort(REF, Const(5), Place()),)), tower("Element(0)"))
    frame = start(code, "T", (), {})
    for k, value in enumerate(values, 1):
        cells.values[frame_cell(k)] = value
    assert advance(frame, cells).has_ended
    assert [cells.values[frame_cell(k)] for k in range(1, 7)] == [*sorted(values[:5]), values[5]]


def frame_cell(offset):
    return Cell("T", 0, "a", (), offset)
