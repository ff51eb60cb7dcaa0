"""The buffer language, in which the operations of a level are written, and its form for consumers.

A level writes its operations as Python text (`Level.operations`). `staging.Stager` turns one operation of one level of
a concrete tower of levels into the structured statements of this module: calls to the child level are inlined,
extents and operators are constants, and every access to a buffer is a separate statement. The semantics runs the
statements one memory access per step; a compiler prints them. Buffers never move, so growing needs no statement.

The text may use::

    x = e      c.q = e               private registers; c is the cursor of the fiber being iterated, at position c.p
    buf[e]     buf[e] = e            a load; a store; loads happen left to right, none under and / or / if-else
    atomic(buf, e, v)                read, combine with ⊕ and write in one step; the result is made to fit
    look(buf, e)                     a load that does not race with atomic updates
    acquire(buf, e)  release(buf, e) take a lock, waiting until it is free; release it
    child.op(…)  child[k].op(…)      the child's operation, in this instance or in the one with key k
    lvl.op(…)                        another operation of the same level
    if / else, while, pass, return   return only as the last statement
    for k in parallel(a, b): …       each k from a to b, in any order or at once; parallel(a, b, w) if each is w times
                                     the work of one entry
    grain                            how many entries make a piece of work
    check(e, "message {x}")          a fault unless e holds
    sort(buf, n)                     the first n cells in ascending order, in one step
    combine(x, v)                    x ⊕ v;  `overwrites` is true when ⊕ is =
    merge(x, v)                      the values of two copies as one: x ⊕ v, and x + v when ⊕ is -
    fit(x)                           x as a cell of the leaf stores it, at its width; a fault if it cannot
    n, z                             this level's extent; the fill value
    thread(), threads, device        the current thread of the level's device, 0 off it; how many it has; the device
    child.leaf                       whether the child is a leaf
    child.fixed                      whether all fibers of the child have the same size
    + - * //, comparisons, and or not, a if e else b, numbers, True, False
    x | y                            the bits of both words; `bit(k)`, `since(x, k)`, `first(x)`, `rest(x)`,
                                     `count(x)`: see `words`
    same(x, y)                       whether two values are equal bit by bit
    zero, blank                      the value of a cell never written; whether that is an element: 0 is not false

A name that a branch or a loop sets first is not known after it. Parameters and c.p are never set. Anything else is an
`InternalError` when the level is staged.

Iterations of a parallel loop are independent: none accesses a cell that another one writes. Such loops do not nest,
begin no coalesce, and set no register that outlives an iteration. The semantics runs them in ascending order; a
compiler may deal them to the threads of the device whose level is being frozen.

`coalesce(local, global_, task, m, P)` merges copies of a level. Its first three arguments are buffers, which
the operation reads by these names. Processors are numbered from 0 to P - 1, and `lvl[t].buf[e]`, `lvl[t].op(…)` is the
level's copy on processor t, while a plain `buf[e]` is the merged level. `child.coalesce(…)` passes the numbers on.
`child[k].coalesce(…, task', m, P')` goes to the merged child with key k; number t + P·k in task' is the child with key
k of processor t. A level that begins a coalesce numbers its own children by their keys.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from wingspan.base.dataclass import dataclass
from wingspan.lang.devices import Device
from wingspan.lang.ir import Operator
from wingspan.lang.widths import Width, f32
from wingspan.lang.words import FUNCTIONS

# ------------------------------------------------------------------------------------------------------- expressions


@dataclass(frozen=True)
class Const:
    """A number, a truth value, a device or an operator, known when the program is staged."""

    value: Any


@dataclass(frozen=True)
class Reg:
    """A private register."""

    name: str


@dataclass(frozen=True)
class Op:
    """An operator over private values: Python's by its symbol, and `combine` (⊕ itself), `thread`, `select`, `f32`."""

    op: str
    args: tuple[Expr, ...]


Expr = Const | Reg | Op

Keys = tuple[tuple[str, Expr], ...]
"""The path from the instance in which a procedure starts to another: (tag, value), outermost first."""


# -------------------------------------------------------------------------------------------------------- statements


@dataclass(frozen=True)
class Ref:
    """A buffer: the depth of its level in the tower, its name, and the keys that lead to its instance."""

    depth: int
    buffer: str
    keys: Keys = ()


@dataclass(frozen=True)
class Place:
    """The position and the index that an access is made for, if any; reports classify races by them."""

    position: Expr | None = None
    index: Expr | None = None


@dataclass(frozen=True)
class SetReg:
    """reg = value"""

    reg: str
    value: Expr


@dataclass(frozen=True)
class Load:
    """reg = ref[index]"""

    reg: str
    ref: Ref
    index: Expr
    place: Place


@dataclass(frozen=True)
class AtomicLoad:
    """reg = ref[index], also while tasks update the cell atomically"""

    reg: str
    ref: Ref
    index: Expr
    place: Place


@dataclass(frozen=True)
class Store:
    """ref[index] = value"""

    ref: Ref
    index: Expr
    value: Expr
    place: Place


@dataclass(frozen=True)
class AtomicUpdate:
    """ref[index] = ref[index] ⊕ value, in one step; a fault if the width of a leaf's cells cannot hold the result"""

    ref: Ref
    index: Expr
    op: Operator
    value: Expr
    place: Place
    width: Width | None = None


@dataclass(frozen=True)
class Acquire:
    """Take the lock ref[index], once it is free."""

    ref: Ref
    index: Expr
    place: Place


@dataclass(frozen=True)
class Release:
    """Release the lock ref[index]."""

    ref: Ref
    index: Expr
    place: Place


@dataclass(frozen=True)
class Sort:
    """Sort the cells 1 to count, in one step."""

    ref: Ref
    count: Expr
    place: Place


@dataclass(frozen=True)
class Check:
    """A fault with this message unless the condition holds; `{x}` in the message stands for a value."""

    condition: Expr
    message: str
    values: tuple[tuple[str, Expr], ...]
    depth: int


@dataclass(frozen=True)
class When:
    """if condition: then, else: otherwise"""

    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()


@dataclass(frozen=True)
class While:
    """Run `test`; while the condition holds, run the body and the test again."""

    test: tuple[Stmt, ...]
    condition: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Each:
    """for reg = start:stop, with independent iterations; at once, if `pays` holds, on the threads of the device."""

    reg: str
    start: Expr
    stop: Expr
    body: tuple[Stmt, ...]
    pays: Expr
    device: Device | None

    def in_order(self) -> tuple[Stmt, ...]:
        """The same, one iteration after another."""
        k = Reg(self.reg)
        step = SetReg(self.reg, fold("+", k, Const(1)))
        return SetReg(self.reg, self.start), While((), fold("<=", k, self.stop), (*self.body, step))


Stmt = SetReg | Load | AtomicLoad | Store | AtomicUpdate | Acquire | Release | Sort | Check | When | While | Each


@dataclass(frozen=True)
class Procedure:
    """A staged operation: its inputs, its body, its final values, and the keys of the instance of these values."""

    name: str
    inputs: tuple[str, ...]
    body: tuple[Stmt, ...]
    results: tuple[tuple[str, Expr], ...] = ()
    keys: Keys = ()


# ----------------------------------------------------------------------------------------------------------- folding

COMPUTES: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "|": operator.or_, "f32": f32, **FUNCTIONS,
    "not": operator.not_, "and": lambda *a: all(a), "or": lambda *a: any(a), "select": lambda c, a, b: a if c else b,
}  # fmt: skip
"""The results of the private operators."""


def fold(op: str, *args: Expr) -> Expr:
    """An operator over expressions, folded if all of them are constants."""
    if all(isinstance(a, Const) for a in args):
        return Const(COMPUTES[op](*(a.value for a in args if isinstance(a, Const))))
    match op, args:
        case (("+" | "-"), (x, Const(value=0))):
            return x
        case "*", (x, Const(value=1)) | (Const(value=1), x):
            return x
    return Op(op, args)
