"""Workspaces of a task for which a bound says that few entries come, as lists that are sorted, instead of bitmaps.

Before a workspace is declared, summed into and read, the lengths of the fibers that are summed are added up. If these
are `FEW` at most, or `MOST` where a bitmap would have many words for each, the terms are appended to a list, each with
its index, and the list is sorted. Otherwise the workspace is given the number of updates to expect: `likely`. ::

                                            bound = 0
                                            while k < m:
                                                bound = bound + the entries that k leads to
                                            if bound <= FEW, or bound <= MOST and bound * WORDS < words:
    declare w                                   n = 0
    while k < m:                                while k < m:
        while q < end:                              while q < end:
            w.val[i] = w.val[i] + x                     keys[n + 1] = i * MOST + n; terms[n + 1] = x; n = n + 1
            …                          →                …
        …                                           …
    freeze w                                    sort keys[1] to keys[n]
    while i != 0:                               for each index i of the keys:
        y = w.val[i]                                y = (fill + its first term) + its second one, …
        …                                           …
                                            else:
                                                w.likely[1] = bound
                                                (as before, where nothing else notes what is likely)

The sums are the same to the bit: keys of one index are in the order of their terms. What neither the list nor anybody
else needs is left out, so the workspace stays as it is, and nobody looks at it: it is the task's own, and nothing else
in the loop's round accesses it. The terms are computed where they were, by the same loads; the list keeps no other
cell's value. Nothing in between may concern other tasks, and nothing that is left out may fault. An index times `MOST`
is no overflow, as the words of a bitmap for such indices would not fit any memory.

It takes a quarter off A·A of p2p-Gnutella31, whose columns have nine entries. Others take the same within 2 %, also
where most columns are counted in vain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from wingspan.base.dataclass import dataclass
from wingspan.lang.registers import FLOAT, INSTANCE, INT, RegisterType
from wingspan.plan import ir as plan
from wingspan.plan import uses
from wingspan.plan.fold import op
from wingspan.plan.ir import Const, Expr, Group, If, Load, Op, Par, Place, Plan, Ref, Reg, Set, Stmt, Store, While, walk
from wingspan.plan.kernels import BitmapLoop, Loop
from wingspan.plan.passes.dead_code import Replace
from wingspan.plan.passes.hoist_bounds_checks import rounds
from wingspan.plan.uses import refs, registers, rename, rewrite, rewrite_outwards, sets_in, with_blocks

FEW, MOST = 16, 32
"""So many terms are sorted, and so many where the bitmap has more than `WORDS` words for each: others take longer."""

WORDS = 16
"""Of so many words for each index that comes, hardly any has two."""

LARGEST = Const(2**31 - 1)
"""The largest value of a cell of 32 bits."""

ONE = Const(1)
SHARED = (
    plan.AtomicLoad
    | plan.AtomicUpdate
    | plan.Swap
    | plan.FetchChunk
    | plan.Acquire
    | plan.Release
    | plan.Child
    | plan.AllocateInstance
    | plan.ReleaseInstance
    | Par
)
Block = tuple[Stmt, ...]


def small_workspaces(made: Plan) -> Plan:
    """The plan whose tasks sum few terms in lists."""
    changing = _Few(made)
    return replace(made, body=changing.around(made.body), groups=(*made.groups, *changing.groups))


@dataclass(frozen=True)
class _Lists:
    """A workspace, and the lists of keys and terms for it."""

    instance: Reg
    val: plan.PlanBuffer
    likely: Ref
    words: Expr
    own: Reg
    group: Group

    def is_small(self, bound: Reg) -> Expr:
        """Whether terms are sorted."""
        sparse = op("and", op("<=", bound, Const(MOST)), op("<", op("*", bound, Const(WORDS)), self.words))
        return op("or", op("<=", bound, Const(FEW)), sparse)

    @property
    def keys(self) -> Ref:
        return Ref(self.group.buffers[0], self.own)

    @property
    def terms(self) -> Ref:
        return Ref(self.group.buffers[1], self.own)

    def reg(self, name: str, type_: RegisterType = INT) -> Reg:
        return Reg(f"{self.own.name} {name}", type_)

    def accesses_workspace(self, s: Stmt) -> bool:
        """Whether a statement, or one inside of it, accesses the workspace."""
        return any(ref.instance == self.instance for each in walk((s,)) for ref in refs(each))


def _has_small_mode(levels: Sequence[plan.PlanBuffer]) -> bool:
    """Whether each of the levels to which these buffers belong says which updates it expects, and has a bit for each
    index.
    """
    depths = {b.depth for b in levels}
    return bool(depths) and all(
        {b.depth for b in levels if b.role == role} == depths for role in ("members", "expected")
    )


class _Few:
    """Changes the regions of a plan, and notes the groups of lists that it adds."""

    def __init__(self, made: Plan) -> None:
        self.made = made
        self.groups: list[Group] = []
        self.count = uses.how_often_read(made)

    def around(self, body: Block) -> Block:
        return tuple(with_blocks(s, self.region if isinstance(s, Par) else self.around) for s in body)

    def region(self, body: Block) -> Block:
        """The body of a parallel region, with lists beside each workspace that can do with them."""
        for s in body:
            if isinstance(s, plan.AllocateInstance) and (lists := self._lists(s)) is not None:
                changed = self._within(body, lists)
                if changed != body:
                    self.groups.append(lists.group)
                    new = plan.AllocateInstance(lists.own, lists.group.id, s.origin)
                    body = (new, *changed, plan.ReleaseInstance(lists.own, s.origin))
        return self.around(body)

    def _lists(self, s: plan.AllocateInstance) -> _Lists | None:
        """The lists of a workspace of doubles, if its levels have a small mode (`buffers.level.Role`)."""
        *levels, val = self.made.groups[s.group].buffers or (None,)
        if val is None or val.width != "f64" or not _has_small_mode(levels):
            return None
        number = len(self.made.groups) + len(self.groups)
        keys = replace(val, name="keys", cell="position", type=INT, width="i64", number=0, group=number, bound=MOST + 1)
        terms = replace(val, name="terms", number=1, group=number, bound=MOST)
        buffers = tuple(replace(b, cells=None, scratch=True) for b in (keys, terms))
        members, expected = (next(b for b in levels if b.role == role) for role in ("members", "expected"))
        own, words = Reg(f"{s.reg.name} few", INSTANCE), members.cells or Const(members.bound)
        return _Lists(s.reg, val, Ref(expected, s.reg), words, own, Group(number, val.tensor, buffers))

    def _within(self, body: Block, lists: _Lists) -> Block:
        """A block in which the statements that access the workspace are guarded by the bound."""
        touching = [k for k, s in enumerate(body) if lists.accesses_workspace(s)]
        if len(touching) != 1:
            return self._guard(body, lists, touching) if touching else body
        (k,) = touching
        inner = with_blocks(body[k], lambda block: self._within(block, lists))
        return (*body[:k], inner, *body[k + 1 :])

    def _guard(self, body: Block, lists: _Lists, touching: list[int]) -> Block:
        segment = body[touching[0] : touching[-1] + 1]
        found = _match(segment, lists)
        if found is None or any(isinstance(s, SHARED) for s in walk(segment)):
            return body
        inside = uses.reads_in(segment)
        outside = {name for name, n in self.count.items() if n > inside[name]}
        bound = lists.reg("bound")
        counting = _slice(found.counting(segment, bound), lambda s: bound in uses.defs(s), frozenset())
        short = _slice(found.listing(segment), lambda s: _does(s, lists), frozenset(outside))
        shared = outside | uses.upward_exposed(segment, set())
        clobbered = any(reg.name in shared for reg in sets_in(counting))
        if not counting or clobbered or any(map(lists.accesses_workspace, short)):
            return body
        counting, short = _clone(counting, "counted", shared), _clone(short, "listed", shared)
        n = Set(lists.reg("count"), Const(0), found.origin)
        store = Store(lists.likely, ONE, op("min", bound, LARGEST), Place(), found.origin)
        choice = If(lists.is_small(bound), (n, *short), (store, *_without(segment, lists.likely)))
        return (*body[: touching[0]], Set(bound, Const(0), found.origin), *counting, choice, *body[touching[-1] + 1 :])


# ------------------------------------------------------------------------------------------------------ what is changed


@dataclass(frozen=True)
class _SumAndRead:
    """The loop that sums into a workspace and the loop that reads it."""

    lists: _Lists
    adding: While
    load: Load
    store: Store
    rounds: Expr
    reading: BitmapLoop
    read: Load
    fill: Const

    @property
    def origin(self) -> plan.Origin:
        """For what is added: the place alone."""
        return replace(self.store.origin, indices=(), ends=())

    def sum(self, x: Expr, term: Expr) -> Op:
        assert isinstance(self.store.value, Op)
        return Op(self.store.value.op, (x, term))

    def counting(self, body: Block, bound: Reg) -> Block:
        """A block that adds up how many terms come."""
        count = Set(bound, op("+", bound, self.rounds), self.origin)
        return rewrite(body, lambda s: (count,) if s is self.adding else None)

    def listing(self, body: Block) -> Block:
        """A block that lists the terms, and reads their sums."""
        made = {id(self.store): self._list_statements, id(self.reading): self._sort_statements}
        return rewrite(body, lambda s: made[id(s)]() if id(s) in made else None)

    def _list_statements(self) -> Iterator[Stmt]:
        keys, terms, n = self.lists.keys, self.lists.terms, self.lists.reg("count")
        at = op("+", n, ONE)
        assert isinstance(self.store.value, Op)
        key = op("+", op("*", self.store.index, Const(MOST)), n)
        yield Store(keys, at, key, Place(), self.store.origin)
        yield Store(terms, at, self.store.value.args[1], Place(), self.store.origin)
        yield Set(n, at, self.origin)

    def _sort_statements(self) -> Iterator[Stmt]:
        keys, terms, n, k = self.lists.keys, self.lists.terms, self.lists.reg("count"), self.lists.reg("next")
        key, i = self.lists.reg("key"), self.lists.reg("index")
        term, total = self.lists.reg("term", FLOAT), self.lists.reg("sum", FLOAT)
        here = self.origin
        take = Load(term, terms, op("+", op("%", key, Const(MOST)), ONE), Place(), here)
        onward = Set(k, op("+", k, ONE), here), Load(key, keys, k, Place(), here)
        same = op("==", op("÷", key, Const(MOST)), i)
        more = While((), same, (take, Set(total, self.sum(total, term), here), *onward))
        head = Set(i, op("÷", key, Const(MOST)), here), take, Set(total, self.sum(self.fill, term), here), *onward, more
        body = tuple(Set(self.read.reg, total, s.origin) if s is self.read else s for s in self.reading.body)
        yield plan.Sort(keys, n, Place(), here)
        yield Store(keys, op("+", n, ONE), Const(-1), Place(), here)
        yield Set(k, ONE, here)
        yield Load(key, keys, ONE, Place(), here)
        yield While((), op("<=", k, n), (*head, *Replace({self.reading.bits.index.name: i}.get, set()).block(body)))


def _match(segment: Block, lists: _Lists) -> _SumAndRead | None:
    """Match the loop that sums into a workspace and the one that reads it; None if there are others."""

    def of_values(s: Stmt) -> bool:
        return any(ref.instance == lists.instance and ref.buffer == lists.val for ref in refs(s))

    stores = [s for s in walk(segment) if isinstance(s, Store) and of_values(s)]
    fills = {s.value for s in stores if isinstance(s.value, Const)}
    added = [s for s in stores if not isinstance(s.value, Const)]
    if (
        len(added) != 1
        or len(fills) != 1
        or any(of_values(s) for s in walk(segment) if not isinstance(s, Load | Store))
    ):
        return None
    store, (fill,) = added[0], fills
    loads = [s for s in walk(segment) if isinstance(s, Load) and of_values(s)]
    match store.value, [s for s in loads if s.index == store.index]:
        case Op(args=(Reg() as x, term)), [load] if load.reg == x and x not in registers(term):
            read = [s for s in loads if s is not load]
        case _:
            return None
    adding = [s for s in walk(segment) if isinstance(s, Loop) and any(each is store for each in walk((s,)))]
    loops = [s for s in walk(segment) if isinstance(s, BitmapLoop) and any(each in read for each in s.body)]
    reading = [s for s in loops if len(read) == 1 and s.bits.index == read[0].index]
    if not adding or not reading or not isinstance(adding[-1], While) or (most := rounds(adding[-1])) is None:
        return None
    if not any(s is load for s in adding[-1].body):
        return None
    return _SumAndRead(lists, adding[-1], load, store, most, reading[0], read[0], fill)


# ---------------------------------------------------------------------------------------------------- what else matters


def _does(s: Stmt, lists: _Lists) -> bool:
    """Whether a statement does something besides setting registers and accessing the workspace."""
    kinds = plan.Check | plan.Compute | plan.Prefetch | Store | plan.Sort
    return isinstance(s, kinds) and not any(ref.instance == lists.instance for ref in refs(s))


def _slice(body: Block, wanted: Callable[[Stmt], bool], names: frozenset[str]) -> Block:
    """The statements of a block that are wanted, and those that set the registers of these names, or what they need."""
    found: Block = ()
    needed: frozenset[str] | None = None
    while needed != names:
        needed = names
        found = _filter(body, wanted, names)
        names |= set(uses.reads_in(found))
    return found


def _filter(body: Block, wanted: Callable[[Stmt], bool], names: frozenset[str]) -> Block:
    def change(s: Stmt) -> Block:
        inside = plan.blocks(s)
        kept = any(inside) if inside else wanted(s) or any(reg.name in names for reg in uses.defs(s))
        return (s,) if kept else ()

    return rewrite_outwards(body, change)


def _without(body: Block, cell: Ref) -> Block:
    """A block without stores to the cell of a buffer that has one."""
    return rewrite(body, lambda s: () if isinstance(s, Store) and s.ref == cell else None)


def _clone(body: Block, name: str, shared: set[str]) -> Block:
    """A copy of a block with registers of its own, but for those that others see."""
    own = [reg for reg in sets_in(body) if reg.name not in shared and " few " not in reg.name]
    return rename(body, {reg: replace(reg, name=f"{reg.name} {name}") for reg in own})  # type: ignore[no-any-return]
