"""Bodies that do the same at every index of a stretch: they are run once, and what they add is added many times.

    for i = a:b                                v = R.val[q]
        s[] += R[i]                     →      s[] += (b - a + 1)·v
        C[i] = R[i]                            C[a:b] = v
    end

A body is invariant if it mentions the index only where runs have it: as the last subscript of a fiber that it reads,
in which one child stands for all these indices, or of one that it updates, which is given the end of the run. Such an
update is done once, for each index has a child of its own. No other fiber may be one that the loop updates and the body
mentions, since the rules go down into that at each index. Any other update is repeated. One by an operator that is
associative and idempotent, as `=`, `min`, `max`, `&&` and `||` are, leaves what the first leaves. For + and - there is
`muladd`: x + k·v moves in one direction as k grows, so one of n single steps overflows if and only if x + n·v does.
Sums that wrap are x + n·v modulo 2⁶⁴, if the cell holds all that they can be on the way. Others are done n times: a
product may overflow on the way to something that fits, and sums that are rounded at each store to f32 would be rounded
once.

A body that reads a tensor in update mode is not invariant: what it reads changes from index to index. So no statement
reads what another one updates, and all of a phase use one operator. But if an element is updated in turn,
by several statements or in a loop, v and w become v, v, w, w. That is the same only if any order is, and none overflows
where another one does not: for sums that wrap. What a body declares is its own, so what it updates of that is not
repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

from wingspan.lang import ir
from wingspan.lang.algebra import INT64, repeatable
from wingspan.lang.terms import declared_tensors, mentions
from wingspan.levels.base import Leaf
from wingspan.plan import ir as plan
from wingspan.plan.fold import op
from wingspan.plan.ir import Const, Expr
from wingspan.plan.lowering.inline import ADDING, SUMMING
from wingspan.plan.lowering.phase import Loop, Phase
from wingspan.plan.lowering.scope import Repetition, SharedBinding
from wingspan.plan.lowering.state import LoweringState
from wingspan.plan.ranges import range_of


def repetition(state: LoweringState, phase: Phase, times: Expr) -> Repetition | None:
    """The repetition of a body that may be run once for many indices of a loop; None if it may not."""
    most = _most(state, phase.loop)
    repeated = (*(r.most for r in state.repetitions), most)
    if prod(repeated) not in INT64 or not _steady(state, phase):
        return None
    if not all(repeatable(state.handle(a.tensor).op) for a in phase.loop.absorbed):
        return None  # the loop may end between two of the updates
    runs, updates = _runs(state, phase), [F for F in phase.updates if mentions(phase.body, F)]
    if not runs.issuperset(updates):
        return None
    apart = frozenset(F.tensor for F in updates)
    own = declared_tensors(phase.body)
    for access, updated in ir.accesses(phase.body):
        T = access.fiber.tensor
        again = updated and T not in own and not _ends_in(access, phase.loop.name)
        if again and (T in apart or not _visited_again(state, access) or _in_turn(state, phase.body, T)):
            return None
    return Repetition(times, most, len(state.scopes), apart)


def _most(state: LoweringState, loop: Loop) -> int:
    """The largest extent of the fibers: the indices of a loop over a stretch of one of them are among its indices.

    Beyond a view that goes on outside of its axis there may be as many as the loop has.
    """
    if any(F.open for F in loop.cursors):
        least, greatest = state.builder.ranges[loop.index.name]
        return max(greatest - least + 1, 0)
    return max(range_of(state.extent_of(F), state.builder.ranges)[1] for F in loop.cursors)


def _runs(state: LoweringState, phase: Phase) -> set[ir.Fiber]:
    """The fibers in which one child stands for many indices."""
    return {F for F in (*phase.reads, *phase.updates) if state.level(F).stretch == "run"}


def _ends_in(access: ir.Access, index: str) -> bool:
    return access.subscripts[-1:] == (ir.Index(index),)


def _steady(state: LoweringState, phase: Phase) -> bool:
    """Whether a body mentions the index only where runs have it, and nothing else that changes as the loop runs."""
    runs, index = _runs(state, phase), phase.loop.name
    if any(state.is_updating(access.fiber) for access, updated in ir.accesses(phase.body) if not updated):
        return False
    free = 0
    for node in phase.body.walk():
        match node:
            case ir.Access(fiber=F) if F in runs and _ends_in(node, index):
                free -= 1
            case ir.Index(name=name) if name == index:
                free += 1
            case ir.For(range=ir.Parallel()):
                return False
            case ir.Set(name=name) if state.find(name) is not None:
                return False
            case ir.Variable(name=name) if isinstance(state.find(name), SharedBinding):
                return False
    return free == 0


def _visited_again(state: LoweringState, access: ir.Access) -> bool:
    """Whether the rules can reach an element once more: no level takes each fiber or index only once."""
    tower = state.tower(access.fiber)
    levels = (tower.levels[tower.depths[number]] for number in range(2, access.fiber.level + 1))
    return not any(level.once or level.stretch for level in levels)


def _in_turn(state: LoweringState, body: ir.Statement, tensor: str) -> bool:
    """Whether the body updates an element several times in a way that repeating each update by itself may change."""
    updates = list(_updates(body, tensor, frozenset()))
    first, symbol = updates[0][0].access.fiber, updates[0][0].op
    if repeatable(symbol) or (symbol in SUMMING and not state.tower(first).leaf.width.narrow):
        return False
    return len(updates) > 1 or any(
        not loops <= {e.name for e in s.access.subscripts if isinstance(e, ir.Index)} for s, loops in updates
    )


def _updates(s: ir.Node, tensor: str, loops: frozenset[str]) -> Iterator[tuple[ir.Assign, frozenset[str]]]:
    """The updates of a tensor, and the loops around each in s, without those of one iteration."""
    if isinstance(s, ir.Assign) and s.access.fiber.tensor == tensor:
        yield s, loops
    if isinstance(s, ir.For) and not (isinstance(s.range, ir.Range) and s.range.start == s.range.stop):
        loops |= {s.index}
    for child in s.children():
        yield from _updates(child, tensor, loops)


def repeat_count(state: LoweringState, tensor: str) -> Expr:
    """The repeat count of an update of a tensor."""
    innermost = max(k for k, scope in enumerate(state.scopes) if tensor in scope.handles)
    often = (r.times for r in state.repetitions if innermost < r.scopes and tensor not in r.apart)
    made: Expr = Const(1)
    for each in often:
        made = op("*", made, each)
    return made


def update(state: LoweringState, F: ir.Fiber, symbol: ir.Operator, write: Callable[[Expr | None], None]) -> None:
    """Update an element, as often as its body is repeated; `write` does so once, or by + and - so many times."""
    often, builder = repeat_count(state, F.tensor), state.builder
    if repeatable(symbol) or often == Const(1):
        write(None)
    elif _at_once(state.tower(F).leaf, symbol):
        write(often)
    else:
        done, origin = builder.fresh("done"), builder.origin(None, "Assign")

        def once() -> None:
            write(None)
            builder.set(done, op("+", done, Const(1)), origin)

        builder.set(done, Const(0), origin)
        builder.emit(plan.While((), op("<", done, often), builder.block(once)))


def _at_once(leaf: Leaf, symbol: ir.Operator) -> bool:
    """Whether many updates of an element of this leaf may be one."""
    if leaf.layout != "values":
        return False
    return (symbol in ADDING and not leaf.width.rounds) or (symbol in SUMMING and not leaf.width.narrow)
