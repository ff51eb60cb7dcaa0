"""Statements that C has code of its own for, each with its meaning in statements that all machines have."""

from __future__ import annotations

from typing import ClassVar

from wingspan.lang.registers import BOOL
from wingspan.plan.fold import op
from wingspan.plan.ir import Const, Expandable, Expr, If, Load, Op, Origin, Place, Ref, Reg, Set, Stmt, Store, While
from wingspan.plan.roles import ir_node, role

ONE = Const(1)

BEYOND = Const(2**62)
"""Larger than any index."""


@ir_node
class Listed:
    """A list of indices in ascending order that nobody writes, and a cursor: `ref[at]` is the next, if `at` < `end`."""

    ref: Ref = role("read")
    at: Reg = role("def", "use")
    end: Expr = role("use")


@ir_node
class Head:
    """A list, and a register with the index of the next entry, as long as there is one."""

    list: Listed = role("part")
    index: Reg = role("def", "use")


class OverTwoLists(Expandable):
    """A statement that goes through two lists, by their cursors."""

    heads: tuple[Head, Head]

    @property
    def lists(self) -> tuple[Listed, Listed]:
        """The two lists."""
        x, y = self.heads
        return x.list, y.list

    @property
    def more(self) -> Expr:
        """The condition that there is an entry at both cursors."""
        x, y = (Op("<", (each.at, each.end)) for each in self.lists)
        return Op("and", (x, y))


@ir_node
class Intersection(OverTwoLists):
    """Run the body for each index `at` that two lists have in common, from where their cursors are to an end.

    `onward` moves both cursors on by one; `seek` moves on the one that is behind `at`, past nothing from there on.
    Nothing else changes the cursors, and nothing reads the `heads` later. So C needs neither: it compares the lists
    block by block (`by_pairs`). That gained a factor of 1.8 to 5.8 in A ∘ B of matrices whose patterns differ, and of
    1.4 in products by inner products.
    """

    heads: tuple[Head, Head] = role("part")
    at: Reg = role("def")
    body: tuple[Stmt, ...] = role("block")
    onward: tuple[Stmt, ...] = role("block")
    seek: tuple[Stmt, ...] = role("block")
    origin: Origin = role("report")

    @property
    def loop(self) -> While:
        """A loop that moves on whichever cursor is behind."""
        i, j = (head.index for head in self.heads)
        same = Op("and", (Op("==", (i, self.at)), Op("==", (j, self.at))))
        farthest = Set(self.at, Op("max", (i, j)), self.origin)
        return While((), self.more, (farthest, If(same, (*self.body, *self.onward), self.seek)))

    def expand(self) -> tuple[Stmt, ...]:
        """The loop."""
        return (self.loop,)

    def by_pairs(self) -> While:
        """A loop that goes from one pair of entries with the same index to the next, as C has it."""
        x, y = self.lists
        load = Load(self.at, x.ref, x.at, Place(), self.origin)
        indices = (Set(head.index, self.at, self.origin) for head in self.heads)
        onward = (Set(each.at, Op("+", (each.at, ONE)), self.origin) for each in (x, y))
        return While((NextPair(self.lists),), self.more, (load, *indices, *self.body, *onward))


@ir_node
class NextPair(Expandable):
    """Move the cursors of two lists on to the next index that both have, or one of them to its end. Only C does that:
    see `Intersection.by_pairs`.
    """

    lists: tuple[Listed, Listed] = role("part")


@ir_node
class Union(OverTwoLists):
    """Run a body for each index `at` that either of two lists has, from where their cursors are to their ends.

    `both`, `in_x` and `in_y` are the bodies for an index that both lists have, or one of them, and `onward_…` move the
    cursors on by one after these. `rest` goes through what is left of either list. Nothing else changes the cursors,
    and nothing reads the `heads` later. `room` asks for what the loop stores, if it runs at all.

    If there are `fills`, `both` does what the other bodies do where these values stand for the elements of a list that
    has no entry at the index. So C need not ask which has one: see `passes.union`.
    """

    heads: tuple[Head, Head] = role("part")
    at: Reg = role("def")
    both: tuple[Stmt, ...] = role("block")
    in_x: tuple[Stmt, ...] = role("block")
    in_y: tuple[Stmt, ...] = role("block")
    onward_both: tuple[Stmt, ...] = role("block")
    onward_x: tuple[Stmt, ...] = role("block")
    onward_y: tuple[Stmt, ...] = role("block")
    rest: tuple[Stmt, ...] = role("block")
    origin: Origin = role("report")
    fills: tuple[Const, Const] | None = None
    room: tuple[Stmt, ...] = role("block", default=())

    @property
    def loop(self) -> While:
        """The loop for as long as both lists have entries."""
        i, j = (head.index for head in self.heads)
        least = Set(self.at, Op("min", (i, j)), self.origin)
        both, in_x, in_y = (*self.both, *self.onward_both), (*self.in_x, *self.onward_x), (*self.in_y, *self.onward_y)
        here = If(Op("==", (j, self.at)), both, in_x)
        return While((), self.more, (least, If(Op("==", (i, self.at)), (here,), in_y)))

    def expand(self) -> tuple[Stmt, ...]:
        """The loop over both lists, and those over the rest of each."""
        asks = (If(self.more, self.room),) if self.room else ()
        return (*asks, self.loop, *self.rest)


@ir_node
class Bits:
    """A bitmap, and a cursor: `index` is that of a bit of a word, 0 at the end, `rest` has the bits after it, and there
    are `before` indices before those of the word.
    """

    members: Ref = role("ref")
    index: Reg = role("def", "use")
    rest: Reg = role("def", "use")
    before: Reg = role("def", "use")


@ir_node
class BitmapLoop(Expandable):
    """Run the body for each index of a bitmap, from where its cursor is to the end.

    `onward` moves on to the first bit of the rest, or to the next word if there is none.
    """

    bits: Bits = role("part")
    body: tuple[Stmt, ...] = role("block")
    onward: tuple[Stmt, ...] = role("block")
    origin: Origin = role("report")

    @property
    def loop(self) -> While:
        """A loop with a round for each index."""
        return While((), Op("!=", (self.bits.index, Const(0))), (*self.body, *self.onward))

    def expand(self) -> tuple[Stmt, ...]:
        """The loop."""
        return (self.loop,)


Loop = While | Intersection | Union | BitmapLoop
"""Statements that run blocks of theirs again and again, and are the loops of the lowering."""


@ir_node
class UnionBlocks(Expandable):
    """Go through two lists to their ends, in the order of their indices, or do nothing.

    The body is run for each index `at` that either of them has; the elements that `loads` load are then those of the
    entries, or for a list that has none the value beside it. Loops after it go through what is left of both lists. C
    has code of its own for it, or does nothing, where processors lack what that takes.
    """

    lists: tuple[Listed, Listed] = role("part")
    at: Reg = role("def")
    loads: tuple[tuple[Load, Const], ...] = role("part")
    body: tuple[Stmt, ...] = role("block")
    origin: Origin = role("report")

    def expand(self) -> tuple[Stmt, ...]:
        """A loop over the entries."""
        x, y = self.lists
        here = self.origin
        heads: list[Stmt] = []
        indices: list[Reg] = []
        for name, each in zip("xy", self.lists, strict=True):
            index = Reg(f"{self.at.name} in {name}")
            load = Load(index, each.ref, each.at, Place(), here)
            heads.append(If(Op("<", (each.at, each.end)), (load,), (Set(index, BEYOND, here),)))
            indices.append(index)
        body: list[Stmt] = [*heads, Set(self.at, Op("min", tuple(indices)), here)]
        for load, fill in self.loads:
            index = indices[load.index != x.at]
            body.append(If(Op("==", (index, self.at)), (load,), (Set(load.reg, fill, here),)))
        body += self.body
        for index, each in zip(indices, self.lists, strict=True):
            body.append(If(Op("==", (index, self.at)), (Set(each.at, Op("+", (each.at, ONE)), here),)))
        more = (Op("<", (each.at, each.end)) for each in (x, y))
        return (While((), Op("or", tuple(more)), tuple(body)),)


@ir_node
class Runs:
    """A list of runs of indices in ascending order that nobody writes, and a cursor in the rest of one: `index` to
    `last`, of the run `left[at]` to `right[at]`, if `at` < `end`.
    """

    left: Ref = role("read")
    right: Ref = role("read")
    at: Reg = role("def", "use")
    end: Expr = role("use")
    index: Reg = role("def", "use")
    last: Reg = role("def", "use")

    def onward(self, here: Origin) -> tuple[Stmt, ...]:
        """Move on to the next run."""
        load = Load(self.index, self.left, self.at, Place(), here), Load(self.last, self.right, self.at, Place(), here)
        return Set(self.at, Op("+", (self.at, ONE)), here), If(Op("<", (self.at, self.end)), load)


@ir_node
class Appended:
    """A list of runs that grows: `at` is the next one, `first` that of the fiber, `index` the last index so far, and
    the element of each run is in the same cell of `element`.
    """

    left: Ref = role("write")
    right: Ref = role("write")
    element: Ref = role("update")
    at: Reg = role("def", "use")
    first: Expr = role("use")
    index: Reg = role("def", "use")

    def append(self, run: Runs, here: Origin) -> tuple[Stmt, ...]:
        """Append a run whose element is stored already; prolong the last one if that is adjacent and equal to it."""
        kind, name = self.element.buffer.type, self.at.name
        before, now, equal = Reg(f"{name} before", kind), Reg(f"{name} now", kind), Reg(f"{name} goes on", BOOL)
        last = Op("-", (self.at, ONE))
        look = (
            Load(before, self.element, last, Place(), here),
            Load(now, self.element, self.at, Place(), here),
            Set(equal, Op(kind.equality, (before, now)), here),
        )
        append = (
            Store(self.left, self.at, run.index, Place(), here),
            Store(self.right, self.at, run.last, Place(), here),
            Set(self.at, Op("+", (self.at, ONE)), here),
        )
        adjacent = Op("==", (Op("+", (self.index, ONE)), run.index))
        longer = Store(self.right, last, run.last, Place(), here)
        return (
            Set(equal, Const(False), here),
            If(Op("<", (self.first, self.at)), look),
            If(Op("and", (equal, adjacent)), (longer,), append),
            Set(self.index, run.last, here),
        )


@ir_node
class CommonRuns(Expandable):
    """Go on through two lists of runs, as long as the rests of their runs are the same and none is beyond the index
    `last`, or up to any place before.

    For each run the body computes an element and stores it, and the run is appended to a list. Such a round of a loop
    is one of all that `While.rounds` counts.
    """

    lists: tuple[Runs, Runs] = role("part")
    into: Appended = role("part")
    body: tuple[Stmt, ...] = role("block")
    last: Expr = role("use")
    origin: Origin = role("report")

    def expand(self) -> tuple[Stmt, ...]:
        """A loop over the runs."""
        x, y = self.lists
        ahead = Op("and", (Op("<", (x.at, x.end)), Op("<", (y.at, y.end))))
        same = Op("and", (Op("==", (x.index, y.index)), Op("==", (x.last, y.last))))
        within = Op("<=", (x.last, self.last))
        onward = *self.into.append(x, self.origin), *x.onward(self.origin), *y.onward(self.origin)
        return (While((), Op("and", (ahead, Op("and", (same, within)))), (*self.body, *onward)),)


@ir_node
class ScanBitmap(Expandable):
    """Append the indices of a bitmap to a list, word by word, or do nothing.

    While the condition holds: ref[count + 1] = before + k + 1 and count = count + 1 for each bit k of the word, from
    the lowest on; then run `onward`, which goes to the next word. C has special code for the bits, or does nothing if
    the processor lacks the instructions. The list has room for 64 cells more than there are indices.
    """

    ref: Ref = role("write")
    count: Reg = role("def", "use")
    word: Expr = role("use")
    before: Expr = role("use")
    condition: Expr = role("use")
    onward: tuple[Stmt, ...] = role("block")
    origin: Origin = role("report")

    def expand(self) -> tuple[Stmt, ...]:
        """A loop over the words, and in it one over the bits."""
        left = Reg(f"{self.count.name} left")
        here, after = self.origin, op("+", self.count, ONE)
        index = op("+", op("+", self.before, Op("first", (left,))), ONE)
        store = Store(self.ref, after, index, Place(), here)
        onward = Set(self.count, after, here), Set(left, Op("rest", (left,)), here)
        bits = While((), Op("!=", (left, Const(0))), (store, *onward))
        return (While((), self.condition, (Set(left, self.word, here), bits, *self.onward)),)


@ir_node
class Tile(Expandable):
    """Run a loop, the only statement of the body, whose innermost loop runs `lane` from `front` to `last`, if at all.

    `front` is `first`. But the rounds may be run for some lanes before they are for the others, as each stores to a
    cell of its own: before each time, the registers `carried` from round to round are what they were. C keeps these
    cells in registers, as many as there are, and leaves the other lanes to the loop, with `front` moved on.
    """

    form: ClassVar[str] = "tile {front} from {first} to {last}:"
    front: Reg = role("def")
    first: Expr = role("use")
    last: Expr = role("use")
    lane: Reg = role("local")
    carried: tuple[Reg, ...] = role("local")
    body: tuple[Stmt, ...] = role("block")
    origin: Origin = role("report")

    def expand(self) -> tuple[Stmt, ...]:
        """The whole loop, if there is a lane."""
        return Set(self.front, self.first, self.origin), If(Op("<=", (self.front, self.last)), self.body)
