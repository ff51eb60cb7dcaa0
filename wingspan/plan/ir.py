"""Plans: programs over named growable buffers, which machines run and printers print.

A plan is structured and typed. What it computes with is private to a task: *registers*, each with a type and a name of
its own. What tasks share are *buffers*, and every access to one is a statement of its own. Buffers
belong to *instances*: the copies of a group of levels that shards, isolated fibers and private tensors distinguish.
Buffers never move and need not be grown: a cell never written reads as zero.

All numbers are as in the language: positions and indices count from 1.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any, Literal, TypeVar, dataclass_transform

from wingspan.base.errors import Span
from wingspan.lang import words
from wingspan.lang.algebra import greatest, least, wrapped
from wingspan.lang.devices import Device
from wingspan.lang.ir import WRAPPING, Value, kind_of
from wingspan.lang.pairs import Pair, maxby
from wingspan.lang.widths import f32

Type = Literal["int", "float", "bool", "instance"]
"""64-bit integers, doubles, truth values; instances are held in registers only."""

Width = str
"""How a cell is laid out in memory, as in `lang.widths`; u8 holds flags and truth values, too."""


_T = TypeVar("_T")


@dataclass_transform(frozen_default=True)
def part(cls: type[_T]) -> type[_T]:
    """A dataclass that type checkers take as frozen. At run time it is not: one that is takes much longer to build."""
    return dataclass(unsafe_hash=True)(cls)


# --------------------------------------------------------------------------------------------------------- expressions


@part
class Const:
    """A number or a truth value."""

    value: Value

    @property
    def type(self) -> Type:
        return kind_of(self.value)  # type: ignore[return-value]


@part
class Reg:
    """A private register."""

    name: str
    type: Type = "int"


@part
class Op:
    """A private operator that cannot fail, of `OPERATORS`.

    Integers wrap around. ÷ and % round down, and their divisor is not 0. `select(c, x, y)` is x if c, else y.
    Arguments of arithmetic and comparisons have one type; `float(x)` is an integer as a double, `f32(x)` a double as
    32 bits hold it. `pair(x, i)` is the word of a pair (`lang.pairs`), `pair_first` and `pair_second` give its parts.
    """

    op: str
    args: tuple[Expr, ...]

    @property
    def type(self) -> Type:
        if self.op in TRUTHS:
            return "bool"
        return "float" if self.op in ("float", "pair_first") else self.args[-1].type


Expr = Const | Reg | Op

TRUTHS = frozenset({"==", "!=", "<", "<=", ">", ">=", "and", "or", "not", "same", "alike"})
PAIRS: dict[str, Callable[..., Any]] = {
    "pair": lambda x, i: int(Pair.of(x, i)), "pair_first": lambda p: Pair(p).first,
    "pair_second": lambda p: Pair(p).second, "maxby": maxby,
}  # fmt: skip
"""What the operators on the words of pairs compute; `minby` is `min`."""

OPERATORS = (
    TRUTHS
    | words.FUNCTIONS.keys()
    | PAIRS.keys()
    | WRAPPING
    | {"&", "|", "⊻", "+", "-", "*", "÷", "%", "min", "max", "abs", "neg", "select", "float", "f32", "muladd"}
)
"""Over integers and doubles alike, but for ÷, %, &, |, ⊻, those that wrap and those of `lang.words`, which are of
integers, and abs, neg, same, alike, f32 and muladd, which are of doubles. Those of `PAIRS` are of words; `pair` is of a
double and an integer.
"""


def muladd(x: Any, n: Any, v: Any) -> Any:
    """x + n·v: of doubles that are finite, the nearest double."""
    if not isinstance(x, float):
        return x + n * v
    try:
        return float(Fraction(x) + Fraction(n) * Fraction(v))
    except (ValueError, OverflowError):  # not finite, or it will not be; n·v alone may be beyond all doubles
        return x + (n * v if isfinite(x) else v if n else 0.0)


COMPUTES: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "÷": operator.floordiv, "%": operator.mod,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "and": operator.and_, "or": operator.or_, "not": operator.not_,
    "min": least, "max": greatest, "abs": abs, "neg": operator.neg,
    "select": lambda c, x, y: x if c else y, "float": float, "f32": f32, "muladd": muladd,
    "&": operator.and_, "|": operator.or_, "⊻": operator.xor,
    "+%": lambda x, y: wrapped(x + y), "-%": lambda x, y: wrapped(x - y), "*%": lambda x, y: wrapped(x * y),
    **words.FUNCTIONS, **PAIRS,
}  # fmt: skip
"""What the operators compute, where integers may be of any size and divisors are not 0."""

FAILING = frozenset({"+", "-", "*", "neg", "abs", "muladd", "÷", "%", "<<", ">>", "/", "isqrt", "int"})
"""The operators of `Compute`. + - * neg abs: of integers, and overflow is a fault. muladd(x, n, v) is x + n·v for
integers; it is a fault if that is no 64-bit integer, whatever n·v is. ÷ % of integers or doubles and / of doubles: a
divisor of 0 is. << >> of integers: a negative count is, and overflow of <<. isqrt: a negative integer is. int(x): a
double that is no 64-bit integer is.
"""


# ------------------------------------------------------------------------------------------------------------- buffers


@part
class Buffer:
    """A growable array of a group of levels: `number` counts the buffers of its group from 0.

    `position`, `index`, … is what its cells hold (`level.Buffer`); the buffer of a variable that tasks share has
    the variable's name as `tensor`, depth -1, the name `variable` and a single cell, 1; a chunk counter likewise.
    """

    tensor: str
    depth: int
    name: str
    cell: str
    type: Type
    width: Width
    number: int
    group: int
    level: int = 0
    level_name: str = ""
    bound: int = 0
    """cells that it may have in a run without races, 0 if that is not known"""
    hashed: bool = False
    """whether so few of its cells are in use that they are kept in a hash table"""
    own: bool = False
    """whether of all threads of the level's device only thread t touches cell t"""
    scratch: bool = False
    """whether it is room for coalesce, which says nothing of a tensor in read mode"""
    assigned: bool = False
    """whether no run without races reads a cell that it has not written"""
    cells: Expr | None = None
    """if the bound is an extent or a number of threads that is left open, or a product of such: that, where all cells
    may be had at once
    """
    whole: bool = False
    """whether it holds the elements of a tensor that is Dense throughout: whoever declares that writes all cells"""
    pairs: bool = False
    """whether its cells are the words of pairs (`lang.pairs`)"""
    layout: str = ""
    """how the level arranges its buffers (`buffers.level.Arrangement`)"""
    role: str = ""
    """what is known of this one (`buffers.level.Role`)"""

    @property
    def place(self) -> str:
        """What the message of a fault at a cell of a level begins with."""
        return f"{self.tensor}, level {self.level} {self.level_name}: "


@part
class Group:
    """Buffers that are made together: those of the levels from below one keyed modifier down to the next.

    The instances of a group with a `parent` are distinguished by a key, within each instance of the parent: `tag` is
    the tag of the key. `private` groups have an instance for each task that asks for one.
    """

    id: int
    tensor: str
    buffers: tuple[Buffer, ...]
    parent: int | None = None
    tag: str = ""
    keys: int = 0
    """keys are less than this; 0 if they are positions, of which there may be any number"""


@part
class Ref:
    """A buffer in an instance. `frozen`: the tensor is in read mode, so that nobody writes here."""

    buffer: Buffer
    instance: Reg
    frozen: bool = False


# ---------------------------------------------------------------------------------------------------------- statements


@part
class Origin:
    """Where a statement comes from: the source, the operation of a level or the rule, and the loop indices in force."""

    span: Span | None
    operation: str
    indices: tuple[tuple[str, Expr], ...] = ()
    prefix: str = ""
    """what the message of a fault begins with"""
    ends: tuple[tuple[str, Expr], ...] = ()
    """for those of the indices that stand for several, from themselves on: the last of these"""


@part
class Place:
    """The position and the index that an access is made for, if it is made for one; reports classify races by them."""

    position: Expr | None = None
    index: Expr | None = None


@part
class Set:
    """reg = value"""

    reg: Reg
    value: Expr
    origin: Origin


@part
class Compute:
    """reg = op(args), an operator of `FAILING`, or a fault"""

    reg: Reg
    op: str
    args: tuple[Expr, ...]
    origin: Origin


@part
class Load:
    """reg = ref[index]"""

    reg: Reg
    ref: Ref
    index: Expr
    place: Place
    origin: Origin


@part
class Store:
    """ref[index] = value"""

    ref: Ref
    index: Expr
    value: Expr
    place: Place
    origin: Origin
    sure: bool = False
    """whether a `Room` has asked if the cell may be written"""


@part
class Room:
    """Make sure that the cells up to ref[index] may be written: what C asks before a loop rather than at each store."""

    ref: Ref
    index: Expr
    origin: Origin


@part
class Atomic:
    """ref[index] = ref[index] ⊕ value in one step; ⊕ is one of `lang.ir.REDUCTIONS`. Integers fault on overflow.

    If there are `times`, an integer of at least 1, ⊕ is + or -, and the step does so many updates at once.
    """

    ref: Ref
    index: Expr
    op: str
    value: Expr
    place: Place
    origin: Origin
    times: Expr | None = None

    @property
    def signed(self) -> Expr | None:
        """What `value` is multiplied by before it is added, if it is."""
        if self.times is None or self.op == "+":
            return self.times
        return Op("-", (Const(0), self.times))


@part
class Swap:
    """reg = ref[index]; if that is `old` to the bit, ref[index] = value, all in one step (compare and exchange).

    By it a cell is updated with a function: the new value is made aside, and made anew if another task was faster.
    """

    reg: Reg
    ref: Ref
    index: Expr
    old: Expr
    value: Expr
    place: Place
    origin: Origin


@part
class Claim:
    """reg = ref[1], and ref[1] = reg + step if reg ≤ stop, in one step: a task takes the next chunk of a loop."""

    reg: Reg
    ref: Ref
    stop: Expr
    step: Expr
    origin: Origin


@part
class Acquire:
    """Take the lock ref[index], once it is free."""

    ref: Ref
    index: Expr
    place: Place
    origin: Origin


@part
class Release:
    """Give the lock ref[index] back."""

    ref: Ref
    index: Expr
    place: Place
    origin: Origin


@part
class Sort:
    """Sort the cells 1 to count of ref, ascending, in one step."""

    ref: Ref
    count: Expr
    place: Place
    origin: Origin


@part
class Prefetch:
    """Have ref[index] in the cache soon, if there is such a cell. This reads nothing, and never fails."""

    ref: Ref
    index: Expr
    origin: Origin


@part
class Check:
    """A fault with this message unless the condition holds; `{x}` in the message stands for a value."""

    condition: Expr
    message: str
    values: tuple[tuple[str, Expr], ...]
    origin: Origin


@part
class When:
    """if condition: then, else: otherwise"""

    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()


@part
class While:
    """Run `test`; while the condition holds, run the body and the test again."""

    test: tuple[Stmt, ...]
    condition: Expr
    body: tuple[Stmt, ...]
    apart: bool = False
    """whether no round accesses a cell that another one writes, so that rounds may run at once"""
    rounds: Expr | None = None
    """at most so many, by the registers before the loop, where the lowering knows that"""


@part
class Listed:
    """A list of indices in ascending order that nobody writes, and a cursor: `ref[at]` is the next, if `at` < `end`."""

    ref: Ref
    at: Reg
    end: Expr


@part
class Meet:
    """Move the cursors of a loop on, past no index at which all of its fibers have a child, and at least one of them.

    `plain` are the statements that do so. If there are two `lists`, these move on to the next index that both have, or
    one of them to its end, and C has code of its own for that.
    """

    plain: tuple[Stmt, ...]
    lists: tuple[Listed, ...] = ()


@part
class Unite:
    """Go through two lists to their ends, in the order of their indices, or do nothing.

    The body is run for each index `at` that either of them has; the elements that `loads` load are then those of the
    entries, or for a list that has none the value beside it. Loops after it go through what is left of both lists. C
    has code of its own for it, or does nothing, where processors lack what that takes.
    """

    lists: tuple[Listed, Listed]
    at: Reg
    loads: tuple[tuple[Load, Const], ...]
    body: tuple[Stmt, ...]
    origin: Origin


@part
class Runs:
    """A list of runs of indices in ascending order that nobody writes, and a cursor in the rest of one: `index` to
    `last`, of the run `left[at]` to `right[at]`, if `at` < `end`.
    """

    left: Ref
    right: Ref
    at: Reg
    end: Expr
    index: Reg
    last: Reg

    @property
    def regs(self) -> tuple[Reg, ...]:
        """The registers that move on."""
        return self.at, self.index, self.last


@part
class Appended:
    """A list of runs that grows: `at` is the next one, `first` that of the fiber, `index` the last index so far."""

    left: Ref
    right: Ref
    at: Reg
    first: Expr
    index: Reg


@part
class Coincide:
    """Go on through two lists of runs, as long as the rests of their runs are the same and none is beyond the index
    `last`, or up to any place before.

    For each run the `loads` load elements of the lists, the body computes an element and stores it, and the run is
    appended to a list, where it prolongs the run before it if it is adjacent and their elements are `equal`.
    C has code of its own for it, which compares 16 runs at once, or does nothing where processors lack what that takes.
    """

    lists: tuple[Runs, Runs]
    into: Appended
    loads: tuple[Load, ...]
    body: tuple[Stmt, ...]
    equal: str
    last: Expr
    origin: Origin

    @property
    def element(self) -> Store:
        """What stores the element."""
        last = self.body[-1]
        assert isinstance(last, Store)
        return last


@part
class Unpack:
    """Append the indices of a bitmap to a list, word by word, or do nothing.

    While the condition holds: ref[count + 1] = before + k + 1 and count = count + 1 for each bit k of the word, from
    the lowest on; then run `onward`, which goes to the next word. C has special code for the bits, or does nothing if
    the processor lacks the instructions. The list has room for 64 cells more than there are indices.
    """

    ref: Ref
    count: Reg
    word: Expr
    before: Expr
    condition: Expr
    onward: tuple[Stmt, ...]
    origin: Origin


@part
class Tile:
    """Run a loop, the only statement of the body, whose innermost loop runs `lane` from `front` to `last`, if at all.

    `front` is `first`. But the rounds may be run for some lanes before they are for the others, as each stores to a
    cell of its own: before each time, the registers `carried` from round to round are what they were. C keeps these
    cells in registers, as many as there are, and leaves the other lanes to the loop, with `front` moved on.
    """

    front: Reg
    first: Expr
    last: Expr
    lane: Reg
    carried: tuple[Reg, ...]
    body: tuple[Stmt, ...]
    origin: Origin


@part
class Child:
    """reg = the instance of `group` with this key within the instance `parent`; it is made if it is not there."""

    reg: Reg
    group: int
    parent: Reg
    key: Expr
    origin: Origin


@part
class Fresh:
    """reg = an instance of `group` that is this task's own. It holds what the task's last one held, or zeros."""

    reg: Reg
    group: int
    origin: Origin


@part
class Drop:
    """The task has done with an instance that it got by `Fresh`."""

    reg: Reg
    origin: Origin


@part
class Par:
    """Tasks run the body, each with a copy of all registers, `task` being 1, 2, …; then the run goes on.

    They are as many as the device has threads, or `count`, which is at most that and at least 1; it is given if the
    number of threads is left open.

    The registers `joined`, truth values, are true after it if they are true at the end of one of the tasks; what else
    the tasks have done to registers is lost.
    """

    device: Device
    task: Reg
    body: tuple[Stmt, ...]
    joined: tuple[Reg, ...]
    origin: Origin
    count: Expr | None = None

    @property
    def tasks(self) -> Expr:
        """The number of tasks."""
        return self.count or Const(self.device.nthreads)


Access = Load | Store | Atomic | Swap | Claim | Acquire | Release | Sort
Nested = When | While | Meet | Unite | Coincide | Unpack | Tile
Stmt = Set | Compute | Access | Room | Prefetch | Check | Nested | Child | Fresh | Drop | Par


@part
class Plan:
    """A program for machines. `roots` are the registers, set from the start, with the root instance of each tensor.

    A shared variable's group has a root too, if the root task binds it, and is otherwise made by `Fresh`.
    `parameters` are the registers, set from the start as well, with what is left open: extents, numbers of threads and
    chunk sizes. One plan serves all of them.
    """

    groups: tuple[Group, ...]
    roots: tuple[tuple[str, Reg], ...]
    body: tuple[Stmt, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    variables: tuple[tuple[str, Expr], ...] = ()
    """the variables of the outermost scope that are bound at the end, and what they are then"""
    whole: tuple[tuple[str, Expr], ...] = ()
    """for those of them that hold doubles, but stand for integers if a truth value is true: that"""
    fills: tuple[tuple[str, Expr], ...] = ()
    """the fill value that each output ends with: a number or a register"""
    parameters: tuple[tuple[str, Reg], ...] = ()

    @property
    def ends(self) -> tuple[Expr, ...]:
        """The expressions that matter at the end of a run: of variables, whether they are whole, and fill values."""
        return tuple(e for _, e in (*self.variables, *self.whole, *self.fills))


BLOCKS: dict[type, tuple[str, ...]] = {
    When: ("then", "otherwise"), While: ("test", "body"), Meet: ("plain",), Unite: ("body",), Coincide: ("body",),
    Unpack: ("onward",), Tile: ("body",), Par: ("body",),
}  # fmt: skip
"""The names of the blocks inside of statements that have some."""


def parts(s: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """The blocks inside of a statement."""
    names = BLOCKS.get(type(s))
    return tuple([getattr(s, name) for name in names]) if names else ()


def walk(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """All statements, those inside of a statement after it."""
    waiting = list(reversed(body))
    while waiting:
        s = waiting.pop()
        yield s
        if type(s) in BLOCKS:
            for block in reversed(parts(s)):
                waiting += reversed(block)
