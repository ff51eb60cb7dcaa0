"""Plans: programs over named growable buffers, which machines run and printers print.

A plan is structured and typed. What it computes with is private to a task: *registers*, each with a type and a name of
its own. What tasks share are *buffers*, and every access to one is a statement of its own. Buffers
belong to *instances*: the copies of a group of levels that shards, isolated fibers and private tensors distinguish.
Buffers never move and need not be grown: a cell never written reads as zero.

A statement describes itself: by the roles of its fields (`plan.roles`), by its printed `form`, where a line of fields
is enough, and by the statements that it stands for, if it is `Expandable` (most of these are in `plan.kernels`).

All numbers are as in the language: positions and indices count from 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from wingspan.base.errors import Span
from wingspan.lang.devices import Device
from wingspan.lang.ir import Value, kind_of
from wingspan.lang.kinds import KINDS
from wingspan.lang.operators import TRUTHS
from wingspan.lang.registers import BOOL, FLOAT, INT, RegisterType
from wingspan.plan.roles import ROLES, ir_node, role

Width = str
"""The memory layout of a cell, as in `lang.widths`; u8 holds flags and truth values, too."""


# --------------------------------------------------------------------------------------------------------- expressions


@ir_node
class Const:
    """A number or a truth value."""

    value: Value

    @property
    def type(self) -> RegisterType:
        return KINDS[kind_of(self.value)].register


@ir_node
class Reg:
    """A private register."""

    name: str
    type: RegisterType = INT


@ir_node
class Op:
    """A private operator that cannot fail: one of `lang.operators.OPERATIONS` that compute.

    Integers wrap around. ÷ and % round down, and their divisor is not 0. `select(c, x, y)` is x if c, else y.
    Arguments of arithmetic and comparisons have one type; `float(x)` is an integer as a double, `f32(x)` a double as
    32 bits hold it. `pair(x, i)` is the word of a pair (`lang.pairs`), `pair_first` and `pair_second` give its parts.
    """

    op: str
    args: tuple[Expr, ...] = role("use")

    @property
    def type(self) -> RegisterType:
        if self.op in TRUTHS:
            return BOOL
        return FLOAT if self.op in ("float", "pair_first") else self.args[-1].type


Expr = Const | Reg | Op


# ------------------------------------------------------------------------------------------------------------- buffers


@ir_node
class PlanBuffer:
    """A growable array of a group of levels: `number` counts the buffers of its group from 0.

    `position`, `index`, … is what its cells hold (`level.Buffer`); the buffer of a variable that tasks share has
    the variable's name as `tensor`, depth -1, the name `variable` and a single cell, 1; a chunk counter likewise.
    """

    tensor: str
    depth: int
    name: str
    cell: str
    type: RegisterType
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
    """the arrangement of the level's buffers (`buffers.level.Arrangement`)"""
    role: str = ""
    """the meaning of this one (`buffers.level.Role`)"""

    @property
    def place(self) -> str:
        """The beginning of the message of a fault at a cell of a level."""
        return f"{self.tensor}, level {self.level} {self.level_name}: "


@ir_node
class Group:
    """Buffers that are made together: those of the levels from below one keyed modifier down to the next.

    The instances of a group with a `parent` are distinguished by a key, within each instance of the parent: `tag` is
    the tag of the key. `private` groups have an instance for each task that asks for one.
    """

    id: int
    tensor: str
    buffers: tuple[PlanBuffer, ...]
    parent: int | None = None
    tag: str = ""
    keys: int = 0
    """keys are less than this; 0 if they are positions, of which there may be any number"""


@ir_node
class Ref:
    """A buffer in an instance. `frozen`: the tensor is in read mode, so that nobody writes here."""

    buffer: PlanBuffer
    instance: Reg = role("use")
    frozen: bool = False


# ---------------------------------------------------------------------------------------------------------- statements


@ir_node
class Origin:
    """The origin of a statement: the source, the operation of a level or the rule, and the loop indices in force."""

    span: Span | None
    operation: str
    indices: tuple[tuple[str, Expr], ...] = role("use", default=())
    prefix: str = ""
    """the beginning of a fault's message"""
    ends: tuple[tuple[str, Expr], ...] = role("use", default=())
    """for those of the indices that stand for several, from themselves on: the last of these"""


@ir_node
class Place:
    """The position and the index that an access is made for, if it is made for one; reports classify races by them."""

    position: Expr | None = role("use", default=None)
    index: Expr | None = role("use", default=None)


@ir_node
class Expandable:
    """A statement that stands for others. Machines run these; C may have code of its own for it."""

    def expand(self) -> tuple[Stmt, ...]:
        """The statements that it stands for."""
        raise NotImplementedError


@ir_node
class Set:
    """reg = value"""

    form: ClassVar[str] = "{reg} = {value}"
    reg: Reg = role("def")
    value: Expr = role("use")
    origin: Origin = role("report")


@ir_node
class Compute:
    """reg = op(args), an operator of `lang.operators.FAILING`, or a fault"""

    form: ClassVar[str] = "{reg} = {operation}, checked"
    reg: Reg = role("def")
    op: str
    args: tuple[Expr, ...] = role("use")
    origin: Origin = role("report")

    @property
    def operation(self) -> Op:
        """The operator over its operands."""
        return Op(self.op, self.args)


@ir_node
class Load:
    """reg = ref[index]"""

    form: ClassVar[str] = "{reg} = {ref}[{index}]"
    reg: Reg = role("def")
    ref: Ref = role("read")
    index: Expr = role("use")
    place: Place = role("report")
    origin: Origin = role("report")


@ir_node
class AtomicLoad:
    """reg = ref[index], while tasks may update the cell: no pass does it earlier, later, or less often."""

    form: ClassVar[str] = "atomic {reg} = {ref}[{index}]"
    reg: Reg = role("def")
    ref: Ref = role("read")
    index: Expr = role("use")
    place: Place = role("report")
    origin: Origin = role("report")


@ir_node
class Store:
    """ref[index] = value"""

    form: ClassVar[str] = "{ref}[{index}] = {value}"
    ref: Ref = role("write")
    index: Expr = role("use")
    value: Expr = role("use")
    place: Place = role("report")
    origin: Origin = role("report")
    sure: bool = False
    """whether a `Reserve` has asked if the cell may be written"""


@ir_node
class Reserve(Expandable):
    """Make sure that the cells up to ref[index] may be written: what C asks before a loop rather than at each store."""

    form: ClassVar[str] = "room for {ref}[{index}]"
    ref: Ref = role("write")
    index: Expr = role("use")
    origin: Origin = role("report")

    def expand(self) -> tuple[Stmt, ...]:
        """No statement: every store asks by itself."""
        return ()


@ir_node
class AtomicUpdate:
    """ref[index] = ref[index] ⊕ value in one step; ⊕ is one of `lang.operators.ATOMIC`. Integers fault on overflow.

    If there are `times`, an integer of at least 1, ⊕ is + or -, and the step does so many updates at once.
    """

    ref: Ref = role("update")
    index: Expr = role("use")
    op: str
    value: Expr = role("use")
    place: Place = role("report")
    origin: Origin = role("report")
    times: Expr | None = role("use", default=None)

    @property
    def signed_times(self) -> Expr | None:
        """The factor of `value` before it is added, if it has one."""
        if self.times is None or self.op == "+":
            return self.times
        return Op("-", (Const(0), self.times))


@ir_node
class Swap:
    """reg = ref[index]; if that is `old` to the bit, ref[index] = value, all in one step (compare and exchange).

    By it a cell is updated with a function: the new value is made aside, and made anew if another task was faster.
    """

    form: ClassVar[str] = "swap {reg} = {ref}[{index}], {value} there if it is {old}"
    reg: Reg = role("def")
    ref: Ref = role("update")
    index: Expr = role("use")
    old: Expr = role("use")
    value: Expr = role("use")
    place: Place = role("report")
    origin: Origin = role("report")


@ir_node
class FetchChunk:
    """reg = ref[1], and ref[1] = reg + step if reg ≤ stop, in one step: a task takes the next chunk of a loop."""

    form: ClassVar[str] = "claim {reg} = {ref}[1], up to {stop} by {step}"
    reg: Reg = role("def")
    ref: Ref = role("update")
    stop: Expr = role("use")
    step: Expr = role("use")
    origin: Origin = role("report")


@ir_node
class Acquire:
    """Take the lock ref[index], once it is free."""

    form: ClassVar[str] = "acquire {ref}[{index}]"
    ref: Ref = role("update")
    index: Expr = role("use")
    place: Place = role("report")
    origin: Origin = role("report")


@ir_node
class Release:
    """Give the lock ref[index] back."""

    form: ClassVar[str] = "release {ref}[{index}]"
    ref: Ref = role("update")
    index: Expr = role("use")
    place: Place = role("report")
    origin: Origin = role("report")


@ir_node
class Sort:
    """Sort the cells 1 to count of ref, ascending, in one step."""

    form: ClassVar[str] = "sort {ref}[1:{count}]"
    ref: Ref = role("update")
    count: Expr = role("use")
    place: Place = role("report")
    origin: Origin = role("report")


@ir_node
class Prefetch(Expandable):
    """Have ref[index] in the cache soon, if there is such a cell. This reads nothing, and never fails."""

    form: ClassVar[str] = "prefetch {ref}[{index}]"
    ref: Ref = role("ref")
    index: Expr = role("use")
    origin: Origin = role("report")

    def expand(self) -> tuple[Stmt, ...]:
        """No statement: it is a hint to processors."""
        return ()


@ir_node
class Check:
    """A fault with this message unless the condition holds; `{x}` in the message stands for a value."""

    condition: Expr = role("use")
    message: str
    values: tuple[tuple[str, Expr], ...] = role("use")
    origin: Origin = role("report")


@ir_node
class If:
    """if condition: then, else: otherwise"""

    condition: Expr = role("use")
    then: tuple[Stmt, ...] = role("block")
    otherwise: tuple[Stmt, ...] = role("block", default=())


@ir_node
class While:
    """Run `test`; while the condition holds, run the body and the test again."""

    test: tuple[Stmt, ...] = role("block")
    condition: Expr = role("use")
    body: tuple[Stmt, ...] = role("block")
    apart: bool = False
    """whether no round accesses a cell that another one writes, so that rounds may run at once"""
    rounds: Expr | None = role("use", default=None)
    """at most so many, by the registers before the loop, where the lowering knows that"""


@ir_node
class Child:
    """reg = the instance of `group` with this key within the instance `parent`; it is made if it is not there."""

    form: ClassVar[str] = "{reg} = instance {key} of {parent}"
    reg: Reg = role("def")
    group: int
    parent: Reg = role("use")
    key: Expr = role("use")
    origin: Origin = role("report")


@ir_node
class AllocateInstance:
    """reg = an instance of `group` that is this task's own. It holds what the task's last one held, or zeros."""

    form: ClassVar[str] = "{reg} = an instance of this task's own"
    reg: Reg = role("def")
    group: int
    origin: Origin = role("report")


@ir_node
class ReleaseInstance:
    """The task has done with an instance that it got by `AllocateInstance`."""

    form: ClassVar[str] = "drop {reg}"
    reg: Reg = role("use")
    origin: Origin = role("report")


@ir_node
class Par:
    """Tasks run the body, each with a copy of all registers, `task` being 1, 2, …; then the run goes on.

    They are as many as the device has threads, or `count`, which is at most that and at least 1; it is given if the
    number of threads is left open.

    The registers `joined`, truth values, are true after it if they are true at the end of one of the tasks; what else
    the tasks have done to registers is lost.
    """

    device: Device
    task: Reg = role("def")
    body: tuple[Stmt, ...] = role("block")
    joined: tuple[Reg, ...] = role("def", "yield")
    origin: Origin = role("report")
    count: Expr | None = role("use", default=None)

    @property
    def tasks(self) -> Expr:
        """The number of tasks."""
        return self.count or Const(self.device.nthreads)


Access = Load | AtomicLoad | Store | AtomicUpdate | Swap | FetchChunk | Acquire | Release | Sort
Stmt = Set | Compute | Access | Check | If | While | Child | AllocateInstance | ReleaseInstance | Par | Expandable


@ir_node
class Plan:
    """A program for machines. `roots` are the registers, set from the start, with the root instance of each tensor.

    A shared variable's group has a root too, if the root task binds it, and is otherwise made by `AllocateInstance`.
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


def blocks(s: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """The blocks inside of a statement."""
    return tuple([getattr(s, name) for name in ROLES[type(s)].blocks])


def walk(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """All statements, those inside of a statement after it."""
    waiting = list(reversed(body))
    while waiting:
        s = waiting.pop()
        yield s
        for name in reversed(ROLES[type(s)].blocks):
            waiting += reversed(getattr(s, name))
