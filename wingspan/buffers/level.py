"""The definition of a level format: its buffers, its operations and its stability.

A *storage level* holds the fibers of one axis, a *leaf* holds the elements, and a *modifier* wraps the level below it
and has no axis of its own. A format is a tower of levels, root first; each level has a *depth* in its tower (0 is the
root's outermost modifier) and a *number* (1 is the leaf; a modifier has the number of the level that it wraps).

Operations, in the buffer language (P: number of fibers, p, q: positions, i: an index, c: a cursor)::

    every level   declare()  assemble(p)  freeze(P)  thaw(P)            checkout()  commit()  passed on if not defined
                  coalesce(local, global_, task, m, P)  if it can be merged: for k = 1:m, fiber local[k] of the copy on
                                                 processor task[k] is merged into fiber global_[k], in ascending order
                                                 of global_; global_[m+1] = 0. Copies are frozen, this level updating
    storage       reading   unfurl(c)  seek(c, i)  child(c, i) → q, 0 if none   next(c, i)
                            drain(c, i)  forget_passed(c)  before next, if defined, where the fiber is not read again
                            index(c) → the first index from here on that has a child, 0 if none; not if `lookup`
                            stop(c) → the last index of the stretch that index(c) is in; if the level has stretches
                  updating  open(c)    enter(c, i) → q                exit(c, i)   if something below was written
                            close(c)
                  equal(p, q) → whether two fibers have equal elements; of levels that may be below runs, leaves too
                  copy(p, q)     make fiber q equal to fiber p; of the same levels
                  is_fill(p) → whether a fiber is all fill      truncate(P)  forget the fibers after P; of the same
                                 levels, if fibers vary in size. All four are then asked for in read mode, and
                                 copy(p, q) for ascending q < p, where fibers before q are as they are to be
    leaf          unwrap(p) → v        look(p) → v  the same in update mode, if it differs there
                  increment(p, v) [→ whether something was written; always, if it returns nothing]
                  adopt(t, p, q, first)  if it can be merged: element q takes the value of p in the copy on processor t;
                                         unless that is the first, it combines it with its value from those before
    modifier      bind(p) → [key,] q   bind_read(p) → [key,] q, q = 0 if the fiber is all fill
                  unbind(p)            if there is something to do when the update is over

Arrays of entries become buffers and vice versa in bulk, by methods in Python, if a format defines them::

    pack     of a leaf: fibers, values → buffers
             of a storage level: fibers, n, sizes, indices, below → buffers, fibers
             of a modifier: fibers → buffers, and (key, fibers) for each instance, which take the fibers in their order
    unpack   of a leaf: find, positions → values       of a storage level: find, n, positions → children
             of a modifier: find, positions → what lies inside, for each instance

They reproduce what `declare`, updates in ascending order by thread 1 and `freeze` leave in the buffers, except for
zeros, and what the reading operations find there. `stored` has the types. Positions and indices count from 0.

A modifier takes effect (`bind`) when the loop over its parent's index reaches a position, and until that iteration ends
(`unbind`); around the root, and if it or one around it has `bind_on_use`, when its fiber is unfurled or its element
updated, and until that is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Literal, Self

from wingspan.base.dataclass import dataclass
from wingspan.base.libraries import np
from wingspan.buffers.discipline import NONE, ONE_AT_A_TIME, Dependence, Discipline, Support
from wingspan.buffers.stored import Below, Buffers, Children, Fibers, Find, Inside, Stored, Unusual
from wingspan.buffers.traits import Identity, Traversal, UpdateOrder, derive
from wingspan.lang.algebra import show
from wingspan.lang.devices import Device
from wingspan.lang.ir import Value, kind_of
from wingspan.lang.widths import USUAL, Width

Arrangement = Literal["", "all", "values", "pointers", "runs", "stretches", "coordinates", "words", "copies"]
"""The arrangement of a level's buffers.

- `all`: it has none, and the child of index i of fiber p is (p - 1)·n + i; `values`: an array of elements;
- `pointers`: pointers and indices as SciPy has them; `coordinates`: those of several axes, likewise;
- `words`: a bit for each index, `tbl`, and one for each word that is not 0, `top`; the child is (p - 1)·n + i;
- `runs`: the ends of runs as Arrow has them; `stretches`: both ends;
- `copies`: an instance for each thread.
"""

FIBER = "fiber"
"""The tag of the keys of instances that hold a single fiber each."""


Role = Literal["", "members", "expected", "summary"]
"""The meaning, to plans, of a buffer of a level that has a bitmap.

- `members`: a bit for each index, in words of 64, positions · ⌈n/64⌉ of them: the children that have been written.
- `expected`: cell 1 has the number of updates that are announced when the level is declared; 0 if none are.
- `summary`: cell 1 is stored when the level is declared: 1 if a summary of `members` is made by freezing alone.

A level with the first two has a *small mode*. Where few updates are expected of a workspace, plans keep a list of its
keys and values beside it (`plan.passes.small_workspaces`). Plans list the members before they go through them
(`plan.passes.scan_bitmap`), if the level says how its cursors do (`WordCursor`).
"""


@dataclass(frozen=True)
class IndexList:
    """A list of the indices of a fiber in ascending order, which a cursor c goes through.

    As long as c.at < c.end, the first index from here on is buffer[c.at], and c.index holds it. `next` adds 1 to c.at,
    and loads the next index, if there is one.
    """

    buffer: str
    at: str
    index: str
    keyed: bool = False
    """whether the list has keys, (p - 1)·n + i for index i of fiber p"""


@dataclass(frozen=True)
class RunEnds:
    """The buffers with the first and the last index of each run; the child of a run is at its position.

    A cursor c of a fiber that is read has c.i to c.last of run c.q, if c.q < c.end; `next` past c.last goes on to the
    next run. Of a fiber that is updated, c.q is the run to come, c.first the first one, and c.i the last index so far:
    `exit` appends c.i to c.last, unless that is adjacent to the run before and has an equal child; then it prolongs it.
    """

    left: str
    right: str


@dataclass(frozen=True)
class WordCursor:
    """The fields of a cursor that goes through a bitmap, the buffer `members` (see `Role`), bit by bit.

    c.index is the index at hand, 0 at the end, c.rest has the bits of its word after it, and there are c.before indices
    before those of the word. `next` takes the first bit from c.rest, and goes on to another word if there is none.
    """

    index: str
    rest: str
    before: str


@dataclass(frozen=True)
class Buffer:
    """A growable array of a level. Cells never written read as zero, like fresh memory; buffers never move."""

    name: str
    cell: Literal["position", "index", "value", "flag", "bits", "thread", "count", "lock"]
    length: str
    meaning: str
    hashed: bool = False
    """whether so few of its cells are in use that an engine keeps them in a hash table"""
    own: bool = False
    """whether cell t is accessed only by thread t, of all tasks of the level's device"""
    role: Role = ""
    """its meaning to plans"""
    assigned: bool = False
    """whether cells are read only after they were written, so memory of an earlier run need not be cleared"""


LISTS = (
    Buffer("locals", "position", "fibers", "what coalesce hands to the child as `local`"),
    Buffer("globals", "position", "fibers + 1", "what coalesce hands to the child as `global_`"),
    Buffer("tasks", "thread", "fibers", "what coalesce hands to the child as `task`"),
    Buffer("sums", "count", "fibers + 1", "the entries of the fibers before, and the number of these fibers"),
    Buffer("first", "position", "pieces + 1", "the fiber with whose group a piece of work begins"),
    Buffer("least", "index", "pieces + 1", "the index of that group from which it begins"),
    Buffer("starts", "count", "pieces + 1", "how many entries of copies are before the piece"),
    Buffer("news", "count", "pieces + 1", "how many entries of the merged level are before the piece"),
    Buffer("members", "position", "entries of copies", "the fibers of a group that have entries"),
    Buffer("here", "position", "entries of copies", "how far coalesce has come in each of them"),
    Buffer("ahead", "index", "entries of copies", "the index that is there"),
)
"""Room for coalesce, which every level with a child has beside its own buffers."""

COUNTS = (
    Buffer("kids", "count", "pieces + 1", "how many children of the merged level are before the piece"),
    Buffer("pairs", "count", "pieces + 1", "how many children of copies are to become these"),
)
"""Room for coalesce in levels whose entries are stretches."""

WRITTEN = Buffer("written", "flag", "positions", "1: the element was set by =, since the phase began, in this copy")
"""An additional buffer of a leaf that has copies. Only = needs it: see `Merge`."""


@dataclass(frozen=True)
class Cost:
    """Estimated times, in updates of a dense element (`bench/parallelize.py --costs`), and the rank among remedies."""

    visit: float = 0.0
    """of a visit of a fiber, or of an update if it is around the leaf; of a level that does not store all indices, of a
    visit of a child
    """
    met: float = 0.0
    """longer if another thread has just used it"""
    merged: float = 150.0
    """for one element of one copy that is merged"""
    sorted: float = 0.0
    """of each visit of an isolated fiber, for each element that it has: it is sorted at its end"""
    remedy: int = 0


_LISTED = (Traversal.ENTRY_LIST, Traversal.BLOCK_LIST, Traversal.RUN_LIST)
_BLOCKS, _RUNS = (Traversal.BLOCKS, Traversal.BLOCK_LIST), (Traversal.RUNS, Traversal.RUN_LIST)
_STRETCHES = dict.fromkeys(_BLOCKS, "block") | dict.fromkeys(_RUNS, "run")
_TURNS: dict[UpdateOrder, frozenset[Dependence]] = {
    UpdateOrder.ONE_INDEX: frozenset({"node"}),
    UpdateOrder.CONTIGUOUS: NONE,
}


@dataclass(frozen=True)
class Level:
    """A level of a tower. The class defines the format, the fields one use of it."""

    leaf: ClassVar[bool] = False
    modifier: ClassVar[bool] = False
    several_axes: ClassVar[bool] = False
    """whether the format is written with a number of axes, 2 or more"""
    cost: ClassVar[Cost] = Cost()
    """the level's share of the estimated time of a program, and its price in advice"""
    buffers: ClassVar[tuple[Buffer, ...]] = ()
    operations: ClassVar[str] = ""
    lists: ClassVar[tuple[Buffer, ...]] = ()
    """room for coalesce beside `LISTS`"""
    cursor: ClassVar[tuple[str, ...]] = ()
    """the fields of the cursor c, beside the position p"""
    traversal: ClassVar[Traversal] = Traversal.ENTRIES
    order: ClassVar[UpdateOrder] = UpdateOrder.ANY
    identity: ClassVar[Identity] = Identity.ENTERED
    lookup: ClassVar[bool] = derive(lambda level: level.traversal is Traversal.LOOKUP)
    """whether every index has a child whose position is computed, so there is nothing to step through"""
    stretch: ClassVar[Literal["", "run", "block"]] = derive(lambda level: _STRETCHES.get(level.traversal, ""))
    """the kind of an entry that stands for a stretch of indices"""
    dense_cursor: ClassVar[bool] = derive(lambda level: level.traversal in _LISTED)
    """whether the entries are a list through which the cursor counts"""
    once: ClassVar[bool] = derive(lambda level: level.order is UpdateOrder.APPEND)
    """whether an update may visit each fiber only once in a phase, and its indices only in ascending order"""
    turns: ClassVar[frozenset[Dependence]] = derive(lambda level: _TURNS.get(level.order, ONE_AT_A_TIME))
    """the dependences that are harmless to a level that is not `once` if tasks take turns in its fibers"""
    assembles: ClassVar[bool] = derive(lambda level: level.identity not in (Identity.ENTERED, Identity.ALL))
    """whether a child exists only once something below it has been written; the iteration then has a dirty flag"""
    may_be_empty: ClassVar[bool] = derive(lambda level: not level.assembles or level.identity is Identity.SPANNED)
    """whether a fiber may have children below which nothing was written"""
    full: ClassVar[bool] = derive(lambda level: level.identity in (Identity.ALL, Identity.BITMAP))
    """whether every index takes room, stored or not"""
    zeros: ClassVar[bool] = derive(lambda level: level.identity is Identity.BITMAP)
    """whether cells of a leaf right below may be read although they were never written, as 0"""
    shared_child: ClassVar[bool] = derive(lambda level: level.identity is Identity.FIBER)
    """whether indices of a fiber have one child in common, so that only one of them is updated at a time"""
    numbers_arrivals: ClassVar[bool] = derive(
        lambda level: level.identity is Identity.NUMBERED or level.discipline is Discipline.CLAIM
    )
    """whether children, or fibers that a modifier wraps, get the positions 1, 2, … as they are first entered"""
    bind_on_use: ClassVar[bool] = derive(lambda level: level.discipline is not None and level.discipline.locks)
    """whether a modifier takes effect, with those inside, only when its fiber is unfurled or element updated"""
    readable_while_updated: ClassVar[bool] = False
    """whether statements that update a tensor may read it, too: where its elements are does not depend on updates"""
    listing: ClassVar[IndexList | None] = None
    """the list that a cursor of this very class goes through in read mode, if it is one; see `index_list`"""
    runs: ClassVar[RunEnds | None] = None
    """the ends of the runs of this very class, which its cursors go through and append to; see `run_ends`"""
    joins_frozen: ClassVar[bool] = False
    """of a level of runs: whether those whose children vary in size are joined when they are frozen"""
    words: ClassVar[WordCursor | None] = None
    """the fields of a cursor of this very class that goes through a bitmap; see `word_cursor`"""
    continues: ClassVar[bool] = False
    """whether the level lists the same entries as the one above, both being parts of one format; the position of a
    fiber is then that of its first entry
    """
    discipline: ClassVar[Discipline | None] = None
    """of a modifier: how it protects the fibers that it wraps. The dependence test refuses one that does not say so"""
    arrangement: ClassVar[Arrangement] = ""
    """the arrangement of this very class's buffers, for those who read or write them in place; see `layout`"""
    figure: ClassVar[frozenset[Dependence]] = NONE
    """the row of the figure "stability", for this very class; of a modifier, `Discipline.adds`"""

    @property
    def name(self) -> str:
        """The name that programs use."""
        return type(self).__name__

    @property
    def key(self) -> str:
        """The tag of the keys that distinguish the instances below a modifier; empty if there is only one."""
        if self.discipline is Discipline.INSTANCE:
            return FIBER
        return "" if self.device is None else self.device.id

    @property
    def device(self) -> Device | None:
        """The device that gates the level, if any."""
        return None

    @property
    def layout(self) -> Arrangement:
        """The arrangement of the buffers; "" of a derived class, which may use them differently."""
        return self.arrangement if "arrangement" in vars(type(self)) else ""

    @property
    def index_list(self) -> IndexList | None:
        """The list that a cursor goes through; None for a derived class, whose operations may differ."""
        return self.listing if "listing" in vars(type(self)) else None

    @property
    def run_ends(self) -> RunEnds | None:
        """The ends of runs; None for a derived class, whose operations may differ."""
        return self.runs if "runs" in vars(type(self)) else None

    @property
    def word_cursor(self) -> WordCursor | None:
        """The fields of a cursor through a bitmap; None for a derived class, whose operations may differ."""
        return self.words if "words" in vars(type(self)) else None

    @property
    def has_fixed_size(self) -> bool:
        """Whether all fibers have the same size, so that they can be compared while they are updated."""
        return True

    @property
    def packs(self) -> bool:
        """Whether the class itself has `pack` and `unpack`; a derived class may use the buffers differently."""
        return {"pack", "unpack"} <= vars(type(self)).keys()

    def stability(self) -> frozenset[Dependence]:
        """The dependences that the level supports, by the stability figure; for a modifier, those that it adds to S."""
        return NONE

    @property
    def support(self) -> Support:
        """The support of a storage level or leaf by itself."""
        return Support(self.stability(), self.turns, self.once)

    @property
    def printed_stability(self) -> frozenset[Dependence]:
        """The row of the figure "stability": nothing for a level that it does not name, be it derived."""
        return self.figure if "figure" in vars(type(self)) else NONE

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Leaf(Level):
    """A leaf of a tower: its fill value also sets the type of the elements.

    Without a width, cells have 64 bits, or are truth values. The fill value must fit a cell.
    """

    fill: Value
    width: Width = None  # type: ignore[assignment]

    leaf = True
    cost = Cost(merged=50.0)
    implied: ClassVar[bool] = False
    """whether the existence of a child is all that is known of an element"""
    fits: ClassVar[bool] = False
    """whether its text stores values through `fit`, so that it may take a width"""
    kinds: ClassVar[tuple[str, ...]] = ("int", "float", "bool", "pair")
    """the types of the elements that it takes"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", self.width or USUAL[kind_of(self.fill)])
        object.__setattr__(self, "fill", self.width.round_to_width(self.fill))

    @property
    def kind(self) -> str:
        """int, float, bool or pair: in Python 0, 0.0 and False are equal, leaves are not."""
        return self.width.kind

    def pack(self, fibers: Fibers, values: np.ndarray) -> Buffers:
        """The buffers if the positions of the fibers have these values, and all others the fill value."""
        raise Unusual

    def unpack(self, find: Find, positions: np.ndarray) -> np.ndarray:
        """The values at some positions."""
        raise Unusual

    def __str__(self) -> str:
        return f"{self.name}({show(self.fill)}{f', {self.width}' if self.width.narrow else ''})"


@dataclass(frozen=True)
class Storage(Level):
    """A level with an axis: it iterates over indices and has children."""

    child: Level

    cost = Cost(visit=0.5)
    readable_while_updated: ClassVar[bool] = derive(lambda level: level.lookup and level.identity is Identity.ALL)

    @classmethod
    def around(cls, child: Level, axes: int) -> Self:
        """The level around another one; `axes` are those of a format that may have several."""
        return cls(child)

    @property
    def axes(self) -> int:
        """The number of axes of the format that begins with this level."""
        return 1

    @property
    def has_fixed_size(self) -> bool:
        return self.identity is Identity.ALL and self.child.has_fixed_size

    @property
    def numbers_indices(self) -> bool:
        """Whether it has a number for each index of each fiber, stored or not."""
        return self.full or any("positions ·" in buffer.length for buffer in self.buffers)

    def pack(
        self, fibers: Fibers, n: int, sizes: np.ndarray, indices: np.ndarray, below: Below
    ) -> tuple[Buffers, Fibers]:
        """The contents of the buffers if the visited fibers have this many children each, at these indices; and the
        children.

        The indices ascend in each fiber, fiber after fiber, and are below the extent n. Children that are equal may
        have one position.
        """
        raise Unusual

    def unpack(self, find: Find, n: int, positions: np.ndarray) -> Children:
        """The children of some fibers. If the buffers are not in order, it may return any."""
        raise Unusual

    def disorder(self, find: Find, n: int, positions: np.ndarray) -> str | None:
        """The broken invariant of some fibers, by fiber and entry, unless their children already show it.

        These are all fibers that have children. A level that `continues` finds buffers of the level above, too.
        """
        return None

    def __str__(self) -> str:
        return f"{self.name}({self.child})"


@dataclass(frozen=True)
class Modifier(Level):
    """A level without an axis, around another."""

    child: Level

    modifier = True
    readable_while_updated: ClassVar[bool] = derive(lambda level: level.bind_on_use)

    @property
    def has_fixed_size(self) -> bool:
        return self.child.has_fixed_size

    def stability(self) -> frozenset[Dependence]:
        return self.discipline.adds if self.discipline else NONE

    def protect(self, support: Support, nearest: bool) -> Support:
        """The support of a level inside, with this modifier; `nearest`: it wraps this very level, not one above."""
        return support.within(self.discipline, self.stability(), nearest) if self.discipline else support

    def pack(self, fibers: Fibers) -> tuple[Buffers, Iterable[tuple[int | None, Fibers]]]:
        """The contents of the buffers if these fibers are visited; and the key and the fibers of each instance below.

        The visited fibers of the instances are those of this level, in the same order.
        """
        raise Unusual

    def unpack(self, find: Find, positions: np.ndarray) -> Iterator[Inside]:
        """The places of some fibers, without those that are all fill."""
        raise Unusual

    def claims(self, find: Find) -> tuple[Stored, Stored] | None:
        """The fiber of each position in the instance of the thread that has it, 0 if there is none, and that thread,
        both counted from 1; None if instances are no threads' own.
        """
        return None

    def disorder(self, find: Find, positions: np.ndarray) -> str | None:
        """The broken invariant of some fibers, by fiber."""
        return None

    def __str__(self) -> str:
        return f"{self.name}({self.child})"


@dataclass(frozen=True)
class Gated(Modifier):
    """A modifier that only tasks of one device may update, each thread in an instance of its own."""

    on: Device

    @property
    def device(self) -> Device:
        return self.on

    def __str__(self) -> str:
        return f"{self.name}({self.on}, {self.child})"
