"""Update sites: every access to a tensor in update mode, with the loops, the scope and the phases around it.

Such an access updates an element, or reads one of a tensor that the same statement of its scope updates, too. What is
only read in read mode is no site: nothing changes it meanwhile.

Programs are looked at after concordization: every subscript is the bare index of a loop, and the loops nest as the
levels do. What an inserted loop `s = e:e` stands for is known by its range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from itertools import count

from wingspan.base.dataclass import dataclass
from wingspan.lang import ir
from wingspan.lang.devices import Device, Schedule

AFFINE = frozenset({"+", "-", "*", "÷", "%", "min", "max"})
"""The operators of subscripts and bounds that are looked into; any other value is unknown."""


@dataclass(frozen=True, eq=False)
class EnclosingLoop:
    """A loop: its index, and its bounds over the indices of outer loops and symbols; None for one that is loaded."""

    node: ir.For
    start: ir.Expression | None
    stop: ir.Expression | None

    @property
    def index(self) -> str:
        """The name of its index, which no loop around it has."""
        return self.node.index

    @property
    def parallel(self) -> bool:
        """Whether its iterations are dealt to tasks."""
        return isinstance(self.node.range, ir.Parallel)

    @property
    def device(self) -> Device | None:
        """The device of a parallel loop."""
        r = self.node.range
        return r.device if isinstance(r, ir.Parallel) and isinstance(r.device, Device) else None

    @property
    def schedule(self) -> Schedule | None:
        """The schedule of a parallel loop."""
        r = self.node.range
        return r.schedule if isinstance(r, ir.Parallel) and isinstance(r.schedule, Schedule) else None

    @property
    def spawns(self) -> bool:
        """Whether two of its iterations may run at the same time."""
        return self.device is not None and self.device.nthreads > 1

    @property
    def constants(self) -> tuple[int | None, int | None]:
        """Its bounds as far as they are numbers."""
        return _constant(self.start), _constant(self.stop)

    @property
    def value(self) -> ir.Expression | None:
        """The index of a loop with a single iteration, if it is affine."""
        return self.start if self.start is not None and self.start == self.stop else None


def _constant(e: ir.Expression | None) -> int | None:
    return e.value if isinstance(e, ir.Literal) and isinstance(e.value, int) else None


@dataclass(frozen=True, eq=False)
class Life:
    """A tensor from its declaration (an input: from the start) to the end of the scope that declares it."""

    tensor: str
    depth: int
    """the number of loops around the declaration"""
    z: ir.Expression | None
    """the declared value; None for an input"""
    operators: list[ir.Operator]
    """the ⊕ of each phase, added by the walk when it reaches the phase"""


@dataclass(frozen=True, eq=False)
class UpdateSite:
    """A statement `T[i, j] ⊕= e`, or an access that reads T in update mode, and the loops around, outermost first."""

    node: ir.Assign | ir.Access
    loops: tuple[EnclosingLoop, ...]
    life: Life
    symbols: Mapping[str, int]
    """the number of loops around the statement that gives a symbol its value; 0 for the symbols not listed"""
    conditions: tuple[ir.Expression | None, ...] = ()
    """the conditions around the statement; None for one that is not known"""
    order: int = 0
    """its place in the text"""
    phase: int = 0
    """the number of earlier declarations and thaws of the tensor"""

    @property
    def tensor(self) -> str:
        """T"""
        return self.life.tensor

    @property
    def reads(self) -> bool:
        """Whether it only reads an element."""
        return isinstance(self.node, ir.Access)

    @property
    def access(self) -> ir.Access:
        """The access itself."""
        return self.node.access if isinstance(self.node, ir.Assign) else self.node

    @property
    def op(self) -> ir.Operator:
        """⊕, empty if it only reads."""
        return self.node.op if isinstance(self.node, ir.Assign) else ""

    @property
    def value(self) -> ir.Expression | None:
        """e, None if it only reads."""
        return self.node.value if isinstance(self.node, ir.Assign) else None

    @cached_property
    def subscripts(self) -> tuple[str, ...]:
        """The indices f_1 … f_m, leaf-most first."""
        return tuple(e.name for e in self.access.subscripts if isinstance(e, ir.Index))

    @property
    def rank(self) -> int:
        """m"""
        return len(self.subscripts)

    def position(self, number: int) -> tuple[int, ...]:
        """The loops that decide on the fiber's position at the level with this number: those over f_m … f_number."""
        return tuple(self.loop(name) for name in reversed(self.subscripts[number - 1 :]))

    def loop(self, index: str) -> int:
        """The number of the loop with this index."""
        return self._numbers[index]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The loops by their indices; of one index the outermost."""
        return {self.loops[k].index: k for k in reversed(range(len(self.loops)))}

    def unfurls(self, number: int) -> int:
        """The loop that unfurls the level with this number: the one over f_{number-1}; past the last for a leaf."""
        return self.loop(self.subscripts[number - 2]) if number > 1 else len(self.loops)


@dataclass(frozen=True, eq=False)
class VariableUse:
    """A statement that reads or assigns a variable, and the loops around it; `depth` stand around its first value."""

    name: str
    node: ir.Node
    assigned: bool
    loops: tuple[EnclosingLoop, ...]
    depth: int
    symbols: Mapping[str, int]
    conditions: tuple[ir.Expression | None, ...] = ()


@dataclass
class Sites:
    """The updates and the uses of variables of a program, in the order of the text."""

    updates: list[UpdateSite] = field(default_factory=list)
    uses: list[VariableUse] = field(default_factory=list)


def collect(body: ir.Statement) -> Sites:
    """The sites of a concordant program with explicit lifecycles."""
    walk = _SiteCollector()
    walk.block(body, _VariableScope((), {}, {}, ()))
    return walk.sites


@dataclass
class _VariableScope:
    """A place in the program: loops and conditions around it, the lives that have begun, and what variables hold."""

    loops: tuple[EnclosingLoop, ...]
    lives: dict[str, Life]
    variables: dict[str, tuple[int, ir.Expression | None]]
    """the loops around the variable's first value, and its value, None if it is unknown"""
    conditions: tuple[ir.Expression | None, ...]


class _SiteCollector:
    def __init__(self) -> None:
        self.sites = Sites()
        self.symbols: dict[str, int] = {}
        self.updating: set[str] = set()
        """the tensors in update mode, as far as the walk has come"""
        self.fresh = count(1)

    def block(self, s: ir.Statement, around: _VariableScope) -> None:
        """A scope; what it assigns to a variable from outside is known inside only until a loop goes round again."""
        here = _VariableScope(around.loops, dict(around.lives), dict(around.variables), around.conditions)
        for each in s.statements if isinstance(s, ir.Block) else (s,):
            self.statement(each, here)
            for name in here.variables.keys() & around.variables.keys():
                around.variables[name] = here.variables[name]

    def statement(self, s: ir.Statement, here: _VariableScope) -> None:
        match s:
            case ir.Declare(tensor=T, init=init, op=op):
                here.lives[T] = Life(T, len(here.loops), init, [op])
                self.updating.add(T)
            case ir.Thaw(tensor=T, op=op):  # in the scope that declares T: without a declaration, that of the inputs
                here.lives.setdefault(T, Life(T, 0, None, [])).operators.append(op)
                self.updating.add(T)
            case ir.Freeze(tensor=T):
                self.updating.discard(T)
            case ir.Assert(condition=condition):
                self.read(condition, here)
            case ir.Set(value=value):
                self.read(value, here)
                self.assign(s, here)
            case ir.Assign(access=access, value=value):
                self.add(s, access, here)  # loops unfurl fibers in the order of the text
                for e in (value, *access.subscripts):
                    self.read(e, here)
            case ir.If(condition=condition, body=body):
                self.read(condition, here)
                self.forget_inside(body, here)
                known = self.value(condition, here, frozenset({"==", "!=", "<", "<=", ">", ">=", "&&"}))
                conditions = (*here.conditions, known)
                self.block(body, _VariableScope(here.loops, here.lives, here.variables, conditions))
                self.forget_after(body, here)
            case ir.For(range=r, body=body):
                self.read(r, here)
                inner = r.range if isinstance(r, ir.Parallel) else r
                assert isinstance(inner, ir.Range)
                loop = EnclosingLoop(s, self.value(inner.start, here), self.value(inner.stop, here))
                self.forget_inside(body, here)
                self.block(body, _VariableScope((*here.loops, loop), here.lives, here.variables, here.conditions))
                self.forget_after(body, here)

    def assign(self, s: ir.Set, here: _VariableScope) -> None:
        depth, _ = here.variables.get(s.name, (len(here.loops), None))
        self.sites.uses.append(VariableUse(s.name, s, True, here.loops, depth, self.symbols, here.conditions))
        value = self.value(s.value, here)
        here.variables[s.name] = (depth, self.fresh_symbol(s.name, here) if value is None else value)

    def fresh_symbol(self, name: str, here: _VariableScope) -> ir.Variable:
        """A symbol for the unknown value of a variable, which lasts until it is assigned to."""
        made = ir.Variable(f"{name} {next(self.fresh)}")
        self.symbols[made.name] = len(here.loops)
        return made

    def forget_inside(self, body: ir.Statement, here: _VariableScope) -> None:
        """Before a loop, forget every variable that its body assigns: it may run again."""
        for name in _assigned_variables(body) & here.variables.keys():
            here.variables[name] = (here.variables[name][0], None)

    def forget_after(self, body: ir.Statement, here: _VariableScope) -> None:
        """After a loop or a branch, forget every variable that its body assigns: each has a new symbol as its value."""
        for name in _assigned_variables(body) & here.variables.keys():
            here.variables[name] = (here.variables[name][0], self.fresh_symbol(name, here))

    def add(self, node: ir.Assign | ir.Access, access: ir.Access, here: _VariableScope) -> None:
        """Add an access in update mode."""
        life, order = here.lives[access.fiber.tensor], len(self.sites.updates)
        phase = len(life.operators)
        self.sites.updates.append(UpdateSite(node, here.loops, life, self.symbols, here.conditions, order, phase))

    def read(self, e: ir.Node, here: _VariableScope) -> None:
        for access, _ in ir.accesses(e):
            if access.fiber.tensor in self.updating:
                self.add(access, access, here)
        for node in e.walk():
            if isinstance(node, ir.Variable) and node.name in here.variables:
                depth = here.variables[node.name][0]
                self.sites.uses.append(
                    VariableUse(node.name, node, False, here.loops, depth, self.symbols, here.conditions)
                )

    def value(self, e: ir.Expression, here: _VariableScope, more: frozenset[str] = frozenset()) -> ir.Expression | None:
        """An expression over indices and symbols; None if part of it is loaded or has another operator."""
        match e:
            case ir.Literal(kind="int") | ir.Index():
                return e
            case ir.Variable(name=name):
                return here.variables[name][1] if name in here.variables else e
            case ir.Call(op=op, args=args) if op in AFFINE | more:
                made = [self.value(a, here, more) for a in args]
                known = tuple(a for a in made if a is not None)
                return ir.Call(op, known, span=e.span) if len(known) == len(made) else None
        return None


def _assigned_variables(body: ir.Statement) -> set[str]:
    return {node.name for node in body.walk() if isinstance(node, ir.Set)}
