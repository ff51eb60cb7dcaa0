"""The grammar figure as immutable trees, in the figure's order.

Metavariables, as in the paper::

    T tensor   F fiber   A access   e expression   x variable   i index   v literal   ⊕ reduction operator
    r range    s statement   D device   h schedule   t task   σ store   C context ⟨s, t, σ⟩

Forms that only the rules produce are marked *run-time*; those that the figure lacks come last.
Source spans take part in neither equality nor hashing; hashes are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import field, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, TypeVar, dataclass_transform

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Mark, Span
from wingspan.lang.devices import Device, Schedule, Task
from wingspan.lang.pairs import Pair as Pair

Value = int | bool | float | Fraction
"""64-bit integers, booleans, and doubles (`float` as written, `Fraction` once computed with: values are exact).

Infinities stay floats, and every NaN is `NAN`. A `Pair` is the integer that it is held in.
"""


class _NotANumber(float):
    """A NaN that containers find equal to itself, also after it went to another process."""

    def __new__(cls) -> _NotANumber:
        return super().__new__(cls, "nan")

    def __reduce__(self) -> str:
        return "NAN"


NAN: float = _NotANumber()

Instance = tuple[tuple[str, int], ...]
"""The instance of a level: (tag, key) for each shard or private copy on the way down, outermost first."""

Shift = Hashable
"""The offset of an index, once it is known: an integer under the rules, an expression while a plan is lowered."""

_T = TypeVar("_T")


_PLAIN = frozenset(
    {
        "str", "int", "bool", "Value", "Instance", "Operator", "Shift",
        "tuple[int, ...]", "tuple[str, ...]", "tuple[Absorbing, ...]", "tuple[Mark, ...]",
    }
)  # fmt: skip
"""The types of parts, as written, that are no nodes and hold none."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def node(cls: type[_T]) -> type[_T]:
    """A dataclass that computes its hash once, and knows its parts by name. Its classes descend from `Term`.

    `names` are those of all parts, `inner` of those that may be nodes or hold some.

    Type checkers take it as frozen. At run time nothing stands in the way of an assignment: a dataclass that forbids it
    takes three times as long to build, and a machine's steps are mostly that.
    """
    made: Any = dataclass(slots=True, unsafe_hash=True)(cls)
    structural = vars(made)["__hash__"]

    def cached_hash(self: Any) -> int:
        try:
            known: int = self._hash
        except AttributeError:
            known = self._hash = structural.method(self)
        return known

    made.__hash__ = cached_hash
    made.names = tuple(f.name for f in fields(made) if f.init and f.name != "span")
    made.inner = tuple(f.name for f in fields(made) if f.name in made.names and f.type not in _PLAIN)
    made.__reduce__ = _reduce(made)
    return made  # type: ignore[no-any-return]


def _reduce(made: Any) -> Callable[[Any], tuple[Any, ...]]:
    """The state to pickle: the parts and the place. Hashes would be wrong in another process."""
    names, placed = made.names, any(f.name == "span" for f in fields(made))

    def reduce(self: Any) -> tuple[Any, ...]:
        parts = tuple([getattr(self, name) for name in names])
        return (_rebuild, (self.span, made, *parts)) if placed and self.span is not None else (made, parts)

    return reduce


def _rebuild(span: Span, kind: Callable[..., Any], *parts: Any) -> Any:
    return kind(*parts, span=span)


@node
class Term:
    """Base of all immutable values of the semantics, with a slot for their hash."""

    _hash: int = field(init=False, compare=False, repr=False)


@node
class Node(Term):
    """Base of all trees: the place in the source, outside of equality, and the parts."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)
    _accesses: tuple[tuple[Access, bool], ...] = field(init=False, compare=False, repr=False)

    names: ClassVar[tuple[str, ...]]
    inner: ClassVar[tuple[str, ...]]

    def children(self) -> Iterator[Node]:
        """The nodes directly below this one, in reading order."""
        for name in self.inner:
            value = getattr(self, name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                yield from [item for item in value if isinstance(item, Node)]

    def walk(self) -> Iterator[Node]:
        """This node and all below it, a parent before its children."""
        stack: list[Node] = [self]
        while stack:
            top = stack.pop()
            yield top
            if top.inner:
                stack.extend(reversed(list(top.children())))

    @property
    def source_name(self) -> str:
        """The name of the source, by the first node that has a place in one; `program` if none has."""
        return next((node.span.source.name for node in self.walk() if node.span is not None), "program")

    def map(self, change: Callable[[Any], Any]) -> Any:
        """This tree with every node replaced by what `change` makes of it, children before their parent.

        Parts in which nothing changes are kept as they are.
        """
        return change(self.map_children(lambda child: child.map(change)))

    def map_children(self, change: Callable[[Any], Any]) -> Any:
        """This node with what `change` makes of each child; the node itself if nothing changes."""
        changed: dict[str, Any] = {}
        for name in self.inner:
            value = getattr(self, name)
            if isinstance(value, Node):
                made: Any = change(value)
                if made is not value:
                    changed[name] = made
            elif isinstance(value, tuple):
                items = tuple([change(item) if isinstance(item, Node) else item for item in value])
                if any([a is not b for a, b in zip(value, items, strict=True)]):
                    changed[name] = items
        if not changed:
            return self
        return type(self)(**{name: changed.get(name, getattr(self, name)) for name in self.names}, span=self.span)


# ---------------------------------------------------------------------------------------------- fibers and accesses


@node
class Fiber(Node):
    """fiber(T, l, p): the fiber at position p of level l, the leaf being level 1.

    The surface program names root fibers only (position 1). `instance` distinguishes copies of one level: the keys
    that shards, isolated fibers and private copies add on the way down (*run-time*).

    A *view* of a fiber that a loop reads has at index i what the fiber has at i + `by`. If it is `open`, it goes on
    beyond the ends of the fiber's axis, and is all fill there (*run-time*).
    """

    tensor: str
    level: int
    position: int = 1
    instance: Instance = ()
    by: Shift = 0
    open: bool = False


@node
class Access(Node):
    """access(F, i…): the subscripts from the leaf-most to the root-most, as written in `T[i, j]`."""

    fiber: Fiber
    subscripts: tuple[Expression, ...]


# ------------------------------------------------------------------------------------------------------- expressions


def kind_of(value: Value) -> str:
    """`bool`, `int`, `float` or `pair`, the types of a tensor's elements."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "pair" if isinstance(value, Pair) else "int"
    return "float"


@node
class Literal(Node):
    """v. `kind` keeps 0, 0.0 and false apart, which Python holds equal."""

    value: Value
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        self.kind = kind_of(self.value)  # type: ignore[misc]
        if type(self.value) is float and self.value != self.value:
            self.value = NAN  # type: ignore[misc]


@node
class Variable(Node):
    """x"""

    name: str


@node
class Index(Node):
    """i, the index of an enclosing loop"""

    name: str


@node
class Algebra(Term):
    """Equations of ⊕ that hold wherever both sides have a value. Ours: the paper takes it for granted."""

    associative: bool = False
    """(x ⊕ y) ⊕ z = x ⊕ (y ⊕ z)"""
    commutative: bool = False
    """x ⊕ y = y ⊕ x"""
    idempotent: bool = False
    """x ⊕ x = x"""
    identity: Literal | None = None
    """e with x ⊕ e = x = e ⊕ x; of `-` only the first holds"""
    annihilator: Literal | None = None
    """a with x ⊕ a = a = a ⊕ x"""
    first: bool = False
    """x ⊕ y = x unless x is the identity"""


@node
class Function(Term):
    """f(x…) = e over its parameters alone, and what is declared of it (ours): an operator of `Call` and of `Assign`.

    It is no node, and so no part of the trees that use it: its parameters are no names of the program.
    """

    name: str
    parameters: tuple[str, ...]
    body: Expression
    algebra: Algebra = Algebra()
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        return self.name


Operator = str | Function
"""A built-in operator, by its sign or name (see `lang.operators`), or a function of the program."""


@node
class Call(Node):
    """call(⊗, e…). `-e` is a call of `-` with one argument."""

    op: Operator
    args: tuple[Expression, ...]


@node
class Unwrap(Node):
    """unwrap(F): the value of a leaf (*run-time*), with the suspended program of its level."""

    fiber: Fiber
    frame: Hashable = None


@node
class Permissive(Node):
    """~e, a subscript that may lie outside of its axis; the access is missing then"""

    subscript: Expression


@node
class Missing(Node):
    """missing: no value"""


@node
class IsMissing(Node):
    """ismissing(e): whether e has no value. Once elaborated, e is an access with ~, which may leave an axis."""

    operand: Expression


@node
class Coalesce(Node):
    """coalesce(e, e₁): e, or e₁ where e is missing. Once elaborated, e is an access with ~."""

    first: Expression
    otherwise: Expression


@node
class Plus(Node):
    """i + e, the subscript of an access that the loop over i enters; e has one value in that loop (*elaborated*)"""

    index: str
    by: Expression


@node
class Choice(Node):
    """ifelse(e, e₁, e₂): e₁ if e is true, else e₂; the other one is not evaluated"""

    condition: Expression
    then: Expression
    otherwise: Expression
    whole: bool = field(default=False, compare=False)
    """whether both values are known to be integers"""


Expression = (
    Literal | Variable | Index | Call | Access | Unwrap | Permissive | Missing | IsMissing | Coalesce | Plus | Choice
)


# ------------------------------------------------------------------------------------------------------------ ranges


@node
class Whole(Node):
    """`_`: the whole axis on which the loop's index stands bare"""


@node
class Range(Node):
    """a:b, both ends included"""

    start: Expression
    stop: Expression


@node
class Looplet(Node):
    """looplet(a:b): a range whose fibers have been unfurled (*run-time*)

    `absorbed`: so many of the scalars at which its loop ends are known to hold what no update changes.
    """

    start: int
    stop: int
    fibers: tuple[Fiber, ...] = ()
    absorbed: int = 0


@node
class Parallel(Node):
    """parallel(r, D, h). As written, the device and the schedule may be names or definitions."""

    range: Whole | Range
    device: Device | Variable | Cpu
    schedule: Schedule | Variable | ScheduleCall


RangeLike = Whole | Range | Looplet | Parallel


# -------------------------------------------------------------------------------------------------------- statements


@node
class Block(Node):
    """s₁; s₂; …"""

    statements: tuple[Statement, ...]


@node
class If(Node):
    """if(e, s)"""

    condition: Expression
    body: Statement


@node
class Par(Node):
    """C₁ ‖ C₂ ‖ … (*run-time*)"""

    contexts: tuple[Any, ...]


@node
class Context(Node):
    """⟨s, t, σ⟩ inside a program: a local scope (*run-time*)"""

    body: Statement
    task: Task
    store: Any


@node
class Set(Node):
    """x = e"""

    name: str
    value: Expression


@node
class Assign(Node):
    """assign(A, ⊕, e)"""

    access: Access
    op: Operator
    value: Expression


@node
class Assert(Node):
    """assert(e): a fault unless e is true (ours)"""

    condition: Expression

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The expressions whose values a fault reports: the arguments of its outermost operator, or all of it."""
        return self.condition.args if isinstance(self.condition, Call) else (self.condition,)

    def with_operand(self, k: int, value: Expression) -> Assert:
        """The assertion with another expression as operand k."""
        if not isinstance(self.condition, Call):
            return replace(self, condition=value)
        args = (*self.condition.args[:k], value, *self.condition.args[k + 1 :])
        return replace(self, condition=replace(self.condition, args=args))


@node
class Skip(Node):
    """skip"""


@node
class Increment(Node):
    """increment(F, ⊕, e) (*run-time*), with the suspended program of its level"""

    fiber: Fiber
    op: Operator
    value: Literal
    frame: Hashable = None


@node
class Unfurl(Node):
    """unfurl(F) (*run-time*), with the suspended program of its level"""

    fiber: Fiber
    start: int
    frame: Hashable = None


@node
class Declare(Node):
    """declare(T, z, ⊕, n…), written `T .= z`; elaboration fills in ⊕, and leaves n… to the tensor's tower"""

    tensor: str
    init: Expression
    op: Operator = "="
    extents: tuple[int, ...] = ()
    frame: Hashable = None


@node
class Freeze(Node):
    """freeze(T, ⊕)"""

    tensor: str
    op: Operator = ""
    frame: Hashable = None


@node
class Thaw(Node):
    """thaw(T, ⊕)"""

    tensor: str
    op: Operator = ""
    frame: Hashable = None


@node
class Spawn(Node):
    """spawn(s, D, e) (*run-time*)"""

    body: Statement
    device: Device
    count: Expression


@node
class Transfer(Node):
    """transfer(T, s) (*run-time*)"""

    tensor: str
    body: Statement


@node
class Absorbing(Term):
    """A condition on x under which no update changes it: x ⊕ y = x for all y, for x = `value`, or for all others.

    Ours, not the paper's.
    """

    tensor: str
    value: Literal
    others: bool = False


@node
class For(Node):
    """for i = r do s end

    If there are scalars in `absorbed`, the body updates nothing else, and the loop ends once none of them would change
    any more (*elaborated*, ours).
    """

    index: str
    range: RangeLike
    body: Statement
    absorbed: tuple[Absorbing, ...] = ()


@node
class Worker(Node):
    """worker(i, r, h, s) (*run-time*); the range has been evaluated"""

    index: str
    range: Range
    schedule: Schedule
    body: Statement


@node
class Checkout(Node):
    """checkout(T, l, m, t) (*run-time*), of the fibers in one instance of level l"""

    tensor: str
    level: int
    mode: str
    task: Task
    instance: Instance = ()
    frame: Hashable = None


@node
class Commit(Node):
    """commit(T, l, m, t) (*run-time*), of the fibers in one instance of level l"""

    tensor: str
    level: int
    mode: str
    task: Task
    instance: Instance = ()
    frame: Hashable = None


# ------------------------------------------------------------------------------ administrative forms (not in figure)


@node
class Enter(Node):
    """At a new index: descend into the loop's fibers (Payload, Child), run the body, leave them (*run-time*)."""

    index: str
    at: int
    reads: tuple[Fiber, ...]
    updates: tuple[Fiber, ...]
    body: Statement
    left: tuple[Statement, ...] = ()
    frame: Hashable = None


@node
class Leave(Node):
    """At the end of an index: advance a cursor that was read, or leave the child that was updated (*run-time*).

    `bound` is what the child's modifiers keep until then.
    """

    fiber: Fiber
    at: int
    child: Fiber | None = None
    bound: tuple[tuple[str, Hashable], ...] = ()
    frame: Hashable = None


@node
class Finish(Node):
    """At the end of a loop: close a fiber that was updated (*run-time*)."""

    fiber: Fiber
    frame: Hashable = None


@node
class Redex(Node):
    """The term that a task reduces next, marked for the printer; no rule has it"""

    inside: Any
    task: str


# ------------------------------------------------------------------------------------------------------- definitions


@node
class Cpu(Node):
    """`cpu(:id, n)` or `cpu(:id, n, parent)`; a device without a name has the empty id, `cpu(n)`"""

    id: str
    nthreads: Expression
    parent: Variable | None = None


@node
class ScheduleCall(Node):
    """`static_schedule()` or `dynamic_schedule(c)`"""

    kind: str
    step: Expression | None = None


@node
class StorageWidth(Node):
    """The width of a leaf's cells as written: `u8`"""

    name: str


@node
class Format(Node):
    """A format as written: a level's name and its arguments, `Dense(Shard(dev, Element(0.0)))`"""

    name: str
    args: tuple[Format | Variable | Literal | StorageWidth | Cpu, ...]


@node
class Data(Node):
    """A vector `[1, 2, 3]` (one row, rank 1) or a matrix literal `[1 2; 3 4]` (rank 2, row by row)"""

    rank: int
    rows: tuple[tuple[Literal, ...], ...]


@node
class File(Node):
    """Data in a file, its path relative to the program"""

    path: str


@node
class TensorCall(Node):
    """`Tensor(FORMAT)`, `Tensor(FORMAT, 3, 4)`, `Tensor(FORMAT, [1 2; 3 4])`, `Tensor(FORMAT, "file.mtx")`"""

    format: Format
    extents: tuple[Expression, ...] = ()
    data: Data | File | None = None


@node
class ScalarCall(Node):
    """`Scalar(0.0)`: a tensor of rank 0; `ShortCircuitScalar(0.0)`: one whose loops may end early (ours)"""

    init: Literal
    short: bool = False


Definable = Cpu | ScheduleCall | TensorCall | ScalarCall | Function


@node
class Define(Node):
    """A name for a device, a schedule, a tensor or a function: `dev = cpu(:t, 2)`, `function f(x, y) = x + y`"""

    name: str
    value: Definable


Statement = (
    Block | If | Par | Context | Set | Assign | Assert | Skip | Increment | Unfurl | Declare | Freeze | Thaw
    | Spawn | Transfer | For | Worker | Checkout | Commit | Define
    | Enter | Leave | Finish
)  # fmt: skip


@node
class Program(Node):
    """A whole file: its statements in order and the tensors that it returns; its span is that of `return`.

    `notes`: parts of its text that have no effect.
    """

    body: Block
    returns: tuple[str, ...] = ()
    notes: tuple[Mark, ...] = field(default=(), compare=False, repr=False)


SKIP = Skip()

DEFAULT_DEVICE = Cpu("", Literal(2))
"""The device of `parallel(r)`: two threads."""

DEFAULT_SCHEDULE = ScheduleCall("static")
"""The schedule of `parallel(r)` and `parallel(r, D)`."""


def seq(*statements: Statement) -> Statement:
    """s₁; s₂; … flattened, without skips: a single statement stands for itself, nothing at all is skip."""
    flat: list[Statement] = []
    for s in statements:
        if isinstance(s, Block):
            flat += s.statements
        elif not isinstance(s, Skip):
            flat.append(s)
    if not flat:
        return SKIP
    return flat[0] if len(flat) == 1 else Block(tuple(flat))


def accesses(s: Node) -> tuple[tuple[Access, bool], ...]:
    """The accesses in s in the order of the text, those in subscripts too, each with whether it is updated.

    The answer is kept in the node, not by its value: equal terms stand in different places.
    """
    try:
        return s._accesses
    except AttributeError:
        s._accesses = found = tuple(_accesses(s))  # type: ignore[misc]
        return found


def _accesses(s: Node) -> list[tuple[Access, bool]]:
    found: list[tuple[Access, bool]] = []
    below: Iterable[Node] = s.children()
    if isinstance(s, Assign):
        found.append((s.access, True))
        below = (*s.access.subscripts, s.value)
    elif isinstance(s, Access):
        found.append((s, False))
    for part in below:
        found += accesses(part)
    return found
