"""Fibers that a loop over a list is going to open, fetched into the cache some rounds before.

An index of the list leads to a fiber that may lie anywhere, and its first cells are rarely in the cache when the loop
opens it. Which fibers come next is in the list. ::

    while q < end:                                  while q < end:
        k = idx[q]                                      k = idx[q]
        p = ptr[k]                                      p = ptr[k]
                                         →              if q + 8 < stop:
                                                            prefetch ptr[idx[q + 8]]
                                                            prefetch val[ptr[idx[q + 4]]]
        while p < ptr[k + 1]:                           while p < ptr[k + 1]:
            … val[p] …                                      … val[p] …
            p = p + 1                                       p = p + 1
        q = q + 1                                       q = q + 1

What it changes are loops that move on by one each round, load an index there, and have inner loops that begin at a
position which is loaded from where the index leads. Left alone are fibers that lie one after the other, cells that the
inner loop does not move on from, and rows of dense matrices, whose place is computed from the index: processors come
to these early enough, and MTTKRP over rows of 8 or 32 elements took 3 to 8 % longer. Where registers keep the sums of
some columns (`Tile`), there is less to do until the next row is needed, so its part is fetched: MTTKRP of FB15K237 with
32 columns took a tenth less.

It is right since a `Prefetch` reads nothing and never fails, and no value is kept for the later round, which loads all
anew. The loads that find out where it goes

- are of cells that no statement of the plan writes;
- take place if all conditions hold under which the later round makes them, and nothing may fail before it does;
- read a list before its end only: up to there all indices may be read, even if the loop ends earlier.

`stop` is `end`, or where the loop around goes through fibers that lie one after the other, the end of the last of them
(`_Beyond`): what lies between belongs to fibers to come. So short ones are prefetched, too.

It gained up to 15 % of products of sparse matrices, most where columns are short, 12 % of those with a sparse vector,
and 5 % of sparse MTTKRP by rows; none of the matrices measured took longer by more than 1 %. To ask for each distance
by itself costs more than what is not prefetched at the end: 1 to 4 % where it gains nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from wingspan.base.dataclass import dataclass
from wingspan.plan import ir as plan
from wingspan.plan.fold import op
from wingspan.plan.ir import Check, Const, Expr, If, Load, Op, Place, Plan, PlanBuffer, Ref, Reg, Set, Stmt, While, walk
from wingspan.plan.kernels import BitmapLoop, Intersection, Tile, Union
from wingspan.plan.uses import defs, reads, registers, sets_in, with_blocks, written_refs

DISTANCE = 8
"""The rounds to fetch ahead for a load at an index; half as many for a load that depends on it, and so on."""

LINE = 8
"""Doubles that are fetched at once."""

ONE = Const(1)
BOUNDS = ("<", "<=")


def prefetch(made: Plan) -> Plan:
    """The plan whose loops over lists fetch the fibers that they are going to open."""
    buffers = frozenset(ref.buffer for s in walk(made.body) for ref in written_refs(s))
    return replace(made, body=_Pass(buffers).block(made.body, None, None))


@dataclass(frozen=True)
class _Counted:
    """A loop that runs once for each number before another one."""

    counter: Reg
    past: Expr
    varying: frozenset[Reg]

    @classmethod
    def of(cls, loop: While, beyond: _Beyond | None) -> _Counted | None:
        """Match a counting loop; it counts to the end of the last fiber if it is about fibers side by side."""
        varying, cursors = frozenset(sets_in((loop,))), _cursors(loop)
        match loop:
            case While(test=(), condition=Op(op=name, args=(Reg() as counter, end)), body=(*_, Set(reg=last))):
                if name in BOUNDS and last == counter in cursors and not varying & set(registers(end)):
                    if beyond:
                        return cls(counter, beyond.stop.reg, varying | beyond.varying)
                    return cls(counter, op("+", end, ONE) if name == "<=" else end, varying)
        return None


@dataclass(frozen=True)
class _Pass:
    """Goes through a plan in which these buffers are written."""

    written: frozenset[PlanBuffer]

    def block(self, body: tuple[Stmt, ...], later: _Later | None, around: _Counted | None) -> tuple[Stmt, ...]:
        """A block of the loop that `later` is about; `around` is it, too, if the block runs in each of its rounds."""
        out: list[Stmt] = []
        for k, s in enumerate(body):
            match s:
                case While():
                    out += later.fetches(s) if later else ()
                    out += self.loop(s, body[:k], around)
                case Intersection() | Union() | BitmapLoop():
                    out += later.fetches(s.loop) if later else ()
                    out.append(with_blocks(s, lambda inner: self.block(inner, None, None)))
                case Tile(body=(While() as loop,)):
                    *before, changed = self.loop(loop, body[:k], around, s.front)
                    out += [*before, replace(s, body=(changed,))]
                case If(condition=condition, then=then, otherwise=otherwise):
                    same = around if around and not around.varying & set(registers(condition)) else None
                    yes, no = (later.branch(condition), later.branch(op("not", condition))) if later else (None, None)
                    out.append(If(condition, self.block(then, yes, same), self.block(otherwise, no, same)))
                case _:
                    out.append(with_blocks(s, lambda inner: self.block(inner, None, None)))
            if later:
                later.advance_past(s)
        return tuple(out)

    def loop(self, s: While, before: tuple[Stmt, ...], around: _Counted | None, front: Reg | None = None) -> list[Stmt]:
        """A loop, that of a `Tile` if there is a `front`, and before it the end of the list, if that is needed."""
        beyond = _beyond(s, before, around, self.written) if around else None
        later = _Later.of(s, self.written, beyond, front)
        changed = replace(s, body=self.block(s.body, later, _Counted.of(s, beyond)))
        needed = beyond and any(beyond.stop.reg.name in reads(each) for each in walk((changed,)))
        return [beyond.stop, changed] if beyond and needed else [changed]


def _cursors(loop: While) -> frozenset[Reg]:
    """The registers that every round of a loop increases by one, and nothing else in it sets."""
    counts = sets_in((loop,))
    steps = (s.reg for s in loop.body if isinstance(s, Set) and s.value == op("+", s.reg, ONE))
    return frozenset(reg for reg in steps if counts[reg] == 1)


@dataclass(frozen=True)
class _Beyond:
    """The end of the last fiber that a loop is about, as the loop around goes through one after the other."""

    stop: Load
    condition: Expr
    """the loop's own, for the fiber at hand"""
    instead: Expr
    """the same for all of them"""
    varying: frozenset[Reg]
    """the registers whose values depend on the fiber"""


def _beyond(loop: While, before: tuple[Stmt, ...], around: _Counted, written: frozenset[PlanBuffer]) -> _Beyond | None:
    """The end of the last fiber, if neighbouring cells of a buffer bound fibers and the loop around counts these."""
    match loop.condition:
        case Op(op="<", args=(Reg() as cursor, Reg() as end)) if not loop.test:
            begin = _last(cursor, before)
        case _:
            return None
    first = _last(begin.value, before) if isinstance(begin, Set) and isinstance(begin.value, Reg) else None
    last = _last(end, before)
    match first, last:
        case Load(ref=ref, index=here), Load(ref=same, index=there) if ref == same:
            listed = ref.buffer.cell == "position" and ref.buffer not in written and not ref.buffer.hashed
            if listed and ref.instance not in around.varying and (here, there) == (around.counter, op("+", here, ONE)):
                stop = Load(Reg(f"{cursor.name} stop"), ref, around.past, Place(), last.origin)
                return _Beyond(stop, loop.condition, op("<", cursor, stop.reg), around.varying)
    return None


def _last(reg: Reg, before: tuple[Stmt, ...]) -> Stmt | None:
    """The last definition of a register."""
    return next((s for s in reversed(before) if reg in sets_in((s,))), None)


# ------------------------------------------------------------------------------------------------------ a later round


@dataclass(frozen=True)
class _Loaded:
    """A load that a later round makes: of a cell that nobody writes, under conditions that are known before."""

    made: Load
    index: Expr
    path: tuple[Expr, ...]

    def in_round(self, rounds: int) -> Reg:
        """The register for what is loaded so many rounds ahead."""
        return Reg(f"{self.made.reg.name} {rounds} ahead", self.made.reg.type)


@dataclass
class _Later:
    """The effects of a later round of a loop up to some statement, as far as they follow from cursors and loads.

    It is given by expressions over registers that the loop does not change, its cursors, and registers that stand for
    the later round's loads.
    """

    cursors: frozenset[Reg]
    varying: frozenset[Reg]
    written: frozenset[PlanBuffer]
    beyond: _Beyond | None
    front: Reg | None
    """if the loop goes through rows, the first column of these that it does"""
    known: dict[Expr, Expr]
    loads: dict[Reg, _Loaded] = field(default_factory=dict)
    """by the registers that stand for them, in the order of the plan"""
    path: tuple[Expr, ...] = ()
    """the conditions under which it comes here"""
    sure: bool = True
    """whether it does, if they hold"""
    fetched: set[tuple[Ref, Expr]] = field(default_factory=set)

    @classmethod
    def of(cls, loop: While, written: frozenset[PlanBuffer], beyond: _Beyond | None, front: Reg | None) -> _Later:
        """The facts that hold on entry to a later round's body, with the loads that a round makes for the next one."""
        cursors = _cursors(loop)
        later = cls(cursors, frozenset(sets_in((loop,))), written, beyond, front, {reg: reg for reg in cursors})
        match loop.body:
            case (*_, If(condition=c, then=then, otherwise=())) if all(isinstance(s, Load | Set) for s in then):
                later.enter(c)
                later.block(then)
        later.block(loop.test)
        later.enter(loop.condition)
        return later

    def value(self, e: Expr) -> Expr | None:
        """The later value of an expression, None if it is unknown."""
        unknown = (reg in self.varying and reg not in self.known for reg in registers(e))
        return None if any(unknown) else _substitute(e, self.known)

    def enter(self, condition: Expr) -> None:
        """The later round goes on under a condition."""
        value = self.value(condition)
        if isinstance(value, Op | Reg):
            self.path = (*self.path, value)
            self.known[value] = Const(True)
        else:
            self.sure = self.sure and value is not None and bool(value.value)

    def branch(self, condition: Expr) -> _Later:
        """The later round in a branch; loads are distinguished, and cells are fetched once, in all of them."""
        made = replace(self, known=dict(self.known))
        made.enter(condition)
        return made

    def block(self, body: tuple[Stmt, ...]) -> None:
        """The later round comes past some statements."""
        for s in body:
            self.advance_past(s)

    def advance_past(self, s: Stmt) -> None:
        """The later round comes past a statement."""
        value = self.result(s)
        for each in walk((s,)):
            self.sure = self.sure and not isinstance(each, Check | plan.Compute | plan.AtomicUpdate | plan.Swap)
            for reg in defs(each):
                self.known.pop(reg, None)
        if value is not None and isinstance(s, Set | Load):
            self.known[s.reg] = value

    def result(self, s: Stmt) -> Expr | None:
        """The value that a statement gives its register, None if it is unknown."""
        if isinstance(s, Set):
            return self.value(s.value)
        if isinstance(s, Load) and self.sure and self.reaches(s.ref) and s.ref.buffer not in self.written:
            index, stands = self.value(s.index), Reg(f"{s.reg.name} ahead", s.reg.type)
            if index is not None and self.is_in_range(index) and stands not in self.loads:
                self.loads[stands] = _Loaded(s, index, self.path)
                return stands
        return None

    def is_in_range(self, index: Expr) -> bool:
        """Whether an index is not given by cursors, or by one before the end of its list."""
        before = (c.args[0] for c in self.path if isinstance(c, Op) and self.ends(c))
        return index in before or not self.cursors & set(registers(index))

    def ends(self, condition: Expr) -> bool:
        """Whether a condition only says that a cursor is before an end: then it holds for all rounds before, too."""
        match condition:
            case Op(op=name, args=(Reg() as cursor, end)) if name in BOUNDS and cursor in self.cursors:
                return not (self.cursors | self.loads.keys()) & set(registers(end))
        return False

    def reaches(self, ref: Ref) -> bool:
        """Whether it is known where the cells of a buffer lie."""
        return not ref.buffer.hashed and ref.instance not in self.varying

    # ------------------------------------------------------------------------------------------------ what is fetched

    def fetches(self, inner: While) -> tuple[Stmt, ...]:
        """Prefetches of the first cells of a loop in the later round; the condition to check first is outermost."""
        first = replace(self, known=dict(self.known), sure=False)
        found = list(first.accesses((*inner.test, *inner.body), frozenset(sets_in((inner,)))))
        found += [(ref, op("+", e, Const(LINE))) for ref, e in found if self.front]
        goals = [goal for goal in dict.fromkeys(found) if self.is_from_list(goal[1]) and goal not in self.fetched]
        if not goals or any(self.known.get(reg) != reg for reg in self.cursors):
            return ()
        self.fetched.update(goals)
        deepest = max(self.depth(e) for _, e in goals)
        loads = self.required_loads(e for _, e in goals)
        goals += [(x.made.ref, x.index) for x in loads]
        beyond = self.beyond if self.beyond and not self.own(self.beyond, goals, loads) else None
        made: tuple[Stmt, ...] = ()
        for depth in range(deepest, 0, -1):
            before = self.required_loads(e for _, e in goals if self.depth(e) < depth)
            asked = {c for x in before for c in x.path if self.ends(c)}
            made = self.ahead([goal for goal in goals if self.depth(goal[1]) == depth], depth, asked, beyond, made)
        return made

    def accesses(self, body: tuple[Stmt, ...], moving: frozenset[Reg]) -> Iterator[tuple[Ref, Expr]]:
        """The cells that a loop loads in its first round, of those that it moves on from."""
        for s in body:
            if isinstance(s, If):
                for block in (s.then, s.otherwise):
                    yield from replace(self, known=dict(self.known)).accesses(block, moving)
            elif isinstance(s, Load) and self.reaches(s.ref) and moving & set(registers(s.index)):
                index = self.value(s.index)
                yield from [] if index is None else [(s.ref, index)]
            self.advance_past(s)

    def depth(self, e: Expr) -> int:
        """The number of dependent loads behind an expression's value."""
        return max((1 + self.depth(self.loads[reg].index) for reg in registers(e) if reg in self.loads), default=0)

    def required_loads(self, values: Iterable[Expr]) -> list[_Loaded]:
        """The loads that it takes to find values, in order."""
        found: set[Reg] = set()
        waiting = [reg for e in values for reg in registers(e)]
        while waiting:
            reg = waiting.pop()
            if reg in self.loads and reg not in found:
                found.add(reg)
                waiting += (r for e in (self.loads[reg].index, *self.loads[reg].path) for r in registers(e))
        return [x for reg, x in self.loads.items() if reg in found]

    def is_from_list(self, e: Expr) -> bool:
        """Whether a value is loaded from where an index leads, of a list that the loop goes through."""
        lists = (x.index for x in self.required_loads([e]) if x.made.ref.buffer.cell == "index")
        deep = self.depth(e) > (0 if self.front else 1)
        return deep and any(not self.depth(at) and self.cursors & set(registers(at)) for at in lists)

    def ahead(
        self,
        goals: list[tuple[Ref, Expr]],
        depth: int,
        asked: set[Expr],
        beyond: _Beyond | None,
        nearer: tuple[Stmt, ...],
    ) -> tuple[Stmt, ...]:
        """Prefetches of the cells of a depth, then of those nearer; conditions in `asked` hold."""
        loads, rounds = self.required_loads(e for _, e in goals), DISTANCE // depth
        steps: list[_Loaded | Expr] = []
        for x in loads:
            steps += [*(c for c in x.path if c not in steps and c not in asked and not self.holds(c)), x]
        if beyond:
            steps = [beyond.instead if step == beyond.condition else step for step in steps]
        then: dict[Expr, Expr] = {reg: op("+", reg, Const(rounds)) for reg in self.cursors}
        then |= {reg: x.in_round(rounds) for reg, x in self.loads.items()}
        made = (*(plan.Prefetch(ref, _substitute(e, then), loads[0].made.origin) for ref, e in goals), *nearer)
        for step in reversed(steps):
            if isinstance(step, _Loaded):
                index = _substitute(step.index, then)
                made = (replace(step.made, reg=step.in_round(rounds), index=index, place=Place()), *made)
            else:
                made = (If(_substitute(step, then), made),)
        return made

    def holds(self, condition: Expr) -> bool:
        """Whether a condition of a load, which holds here now, does so in every round in which the loop comes here."""
        other = self.varying | self.loads.keys() | (self.beyond.varying if self.beyond else frozenset())
        return not other & set(registers(condition))

    def own(self, beyond: _Beyond, goals: list[tuple[Ref, Expr]], loads: list[_Loaded]) -> bool:
        """Whether cells depend on something that differs for later fibers of the loop around."""
        values = [e for _, e in goals] + [e for x in loads for e in (x.index, *x.path) if e != beyond.condition]
        named = {reg for e in values for reg in registers(e)} - self.cursors
        named |= {ref.instance for ref in (*(ref for ref, _ in goals), *(x.made.ref for x in loads))}
        return not (named - {self.front}).isdisjoint(beyond.varying)


def _substitute(e: Expr, by: Mapping[Expr, Expr]) -> Expr:
    """An expression with parts of it replaced."""
    made = op(e.op, *(_substitute(a, by) for a in e.args)) if isinstance(e, Op) else e
    return by.get(made, made)
