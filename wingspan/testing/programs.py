"""Random programs that bind without inputs and mostly run without a fault, as text.

Every axis has extent n, or an extent that the loops determine, and subscripts lie in 1:n. Each output has one
reduction operator. In the scope that declares a tensor, a statement either reads or updates it. Modifiers may wrap
levels; a tensor with gated modifiers is updated where a task of their device binds the position. Some programs still
fault: a computed subscript exceeds an inferred extent, an ordered level is visited out of order, a lock is taken twice,
or an isolated fiber loaded twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

from wingspan.levels import REGISTRY
from wingspan.levels.base import Gated
from wingspan.testing.formats import BOUNDED, LEAVES, MODIFIERS, STORAGE, fitted, fitting, legal, worth, wrapped

T = TypeVar("T")

OPERATORS = {
    "int": ("=", "+=", "+=", "-=", "*=", "<<min>>=", "<<max>>=", "+%=", "-%=", "*%=", "<<&>>=", "<<|>>=", "<<xor>>="),
    "float": ("=", "+=", "+=", "-=", "*=", "<<min>>=", "<<max>>="),
    "bool": ("=", "&=", "|="),
    "pair": ("=", "<<minby>>=", "<<minby>>=", "<<maxby>>="),
}
LITERALS = {
    "int": ("0", "1", "2", "-1"), "float": ("0.0", "0.5", "1.0", "2"), "bool": ("true", "false"),
    "pair": ("(0.0, 1)", "(0.5, 2)", "(-1.0, -2)", "(Inf, 0)"),
}  # fmt: skip
FILLS = {
    "int": ("0", "0", "1"), "float": ("0.0", "0.0", "0.5"), "bool": ("false", "true"),
    "pair": ("(Inf, 0)", "(Inf, 0)", "(0.0, 0)"),
}  # fmt: skip
WIDTHS = {"int": ("i8", "u8", "i16", "i32"), "float": ("f32",)}
"""Widths of leaves whose cells are narrower than the values that programs compute with."""
NEUTRAL = {"*=": "1", "*%=": "1", "<<&>>=": "-1", "&=": "true", "|=": "false"}
"""The neutral fill value for merging copies by an operator; 0 for operators without one."""
DECLARED = {
    "grown": "function grown(x, y; associative, commutative, identity = 0) = x + y + x * y",
    "twice": "function twice(x, y) = 2 * x - y",
    "larger": "function larger(x, y; associative, commutative, idempotent) = ifelse(y > x, y, x)",
    "other": "function other(p, q; associative, commutative, identity = false) = p != q",
}
FUNCTIONS = {
    "int": ("grown", "twice", "larger", "choose(0)"),
    "float": ("grown", "twice", "larger", "choose(0.0)"),
    "bool": ("other", "choose(false)"),
}
"""Functions of two values of a kind."""
KEEPING = {"int": ("*=", "*%=", "<<choose(0)>>="), "bool": ("&=", "|=", "<<choose(false)>>=")}
"""What updates short-circuit scalars: there is a value that it keeps."""
INDICES = ("i", "j", "k", "l")


@dataclass(frozen=True)
class Options:
    """The ingredients of programs. Repeat a name in `levels` or `leaves` to make it more likely.

    If SparseCOO is among the levels, some matrices have this format. A Pattern is used as a leaf of booleans only.
    """

    levels: tuple[str, ...] = ("Dense", "Dense", "SparseByteMap", "SparseDict", "SparseList")
    leaves: tuple[str, ...] = ("Element", "Element", "Atomic")
    parallel: bool = True
    modifiers: tuple[str, ...] = ("Mutex", "Isolate", "Shard", "Merge")
    modified: int = 6
    """one in this many levels has a modifier without a device; one in half as many tensors has a gated one"""
    depth: int = 3
    statements: int = 3
    extent: int = 3
    least: int = 1
    """the smallest extent"""
    spawning: int = 3
    """one in this many loops is parallel"""
    narrow: int = 0
    """one in this many leaves is narrow; 0: none"""
    shifted: int = 0
    """one in this many reads shifts its subscripts; most of these may leave their axes; 0: none"""
    functions: int = 0
    """one in this many tensors is updated by a function, and one in this many operators is one; 0: none"""
    pairs: int = 0
    """one in this many tensors that are returned holds pairs; 0: none"""
    guarded: int = 0
    """one in this many reads of integers is under a condition on an index, and of an axis of another extent; 0: none"""
    missing: int = 0
    """one in this many operators is `coalesce` or `ismissing` around what may be missing; 0: none"""
    searches: int = 0
    """one in this many loops is serial and only updates a ShortCircuitScalar, so that it may end early; 0: none"""


def is_gated(name: str) -> bool:
    """Whether a modifier names a device, and admits only its tasks."""
    return issubclass(REGISTRY[name], Gated)


@dataclass(frozen=True)
class Tensor:
    """A tensor of the program; `inferred` says whether its extents are."""

    name: str
    rank: int
    kind: str
    op: str = ""
    inferred: bool = False
    form: str = ""
    gates: tuple[tuple[int, str], ...] = ()
    """(a, D): the loop over subscript a runs on D; (0, D): the update itself does"""


@dataclass(frozen=True)
class Place:
    """The scope of a statement: indices (True if the ranges of their loops are static), variables, tensors, devices."""

    indices: tuple[tuple[str, bool], ...] = ()
    on: tuple[str, ...] = ()
    """the device that each of the loops runs on"""
    variables: tuple[tuple[str, str], ...] = ()
    reads: tuple[Tensor, ...] = ()
    updates: tuple[Tensor, ...] = ()
    around: tuple[str, ...] = ()
    depth: int = 0


@dataclass
class Writer:
    """Writes one program; `draw` is Hypothesis's."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    options: Options
    n: int = 2
    updated: set[str] = field(default_factory=set)
    inferred: set[str] = field(default_factory=set)
    workspaces: list[Tensor] = field(default_factory=list)
    short: list[Tensor] = field(default_factory=list)

    def pick(self, items: Sequence[T]) -> T:
        chosen: T = items[self.draw(st.integers(0, len(items) - 1))] if len(items) > 1 else items[0]
        return chosen

    def chance(self, one_in: int) -> bool:
        return bool(self.draw(st.integers(0, one_in - 1)) == one_in - 1)

    @property
    def beside(self) -> int:
        """The extent of an axis that is only read under conditions."""
        return self.n - 1 or 2

    # -- the program

    def program(self) -> str:
        self.n = self.draw(st.integers(self.options.least, self.options.extent))
        inputs = [Tensor("A", 2, self.pick(("int", "int", "float"))), Tensor("v", 1, "int"), Tensor("r", 1, "int")]
        inputs += [Tensor("m", 1, "bool")] if self.chance(3) else []
        given = [*inputs, *([Tensor("u", 1, "int")] if self.options.guarded else [])]
        outputs = [self.output(name) for name in self.pick(("C", "Cd", "CdS", "dS", "C", "d"))]
        lines = [f"{t.name} .= {self.start(t)}" for t in outputs]
        modes = dict.fromkeys((t.name for t in outputs), "update")
        here = Place()
        for _ in range(self.draw(st.integers(1, self.options.statements))):
            updates = tuple(t for t in outputs if not self.chance(3))
            place = replace(here, updates=updates, reads=(*inputs, *(t for t in outputs if t not in updates)))
            made, here = self.statement(place)
            lines += made
            lines += self.by_hand(outputs, made, modes)
        text = "\n".join(lines)
        declared = [line for name, line in DECLARED.items() if re.search(rf"\b{name}\b", text)]
        head = [
            *declared,
            *self.devices(),
            *map(self.data, given),
            *map(self.definition, (*outputs, *self.workspaces)),
            *(f"{q.name} = ShortCircuitScalar({FILLS[q.kind][0]})" for q in self.short),
        ]
        return "\n".join((*head, *lines, "return " + ", ".join(t.name for t in outputs)))

    def by_hand(self, outputs: Sequence[Tensor], made: list[str], modes: dict[str, str]) -> list[str]:
        """Freeze or thaw an output by hand where that is allowed."""
        text = "\n".join(made)
        for t in outputs:
            if f"{t.name}[" in text:
                modes[t.name] = "update" if any(line.lstrip().startswith(f"{t.name}[") for line in made) else "read"
        if not self.chance(4):
            return []
        t = self.pick(outputs)
        verb = {"update": "freeze", "read": "thaw"}[modes[t.name]]
        modes[t.name] = {"freeze": "read", "thaw": "update"}[verb]
        return [f"{verb}({t.name})"]

    def devices(self) -> list[str]:
        if not self.options.parallel:
            return []
        threads = (self.pick(("1", "2", "3")) for _ in range(2))
        return [f"dev = cpu(:t, {next(threads)})", f"dev2 = cpu({next(threads)}, dev)"]

    def output(self, name: str) -> Tensor:
        pairs = self.options.pairs and self.chance(self.options.pairs)
        kind = "pair" if pairs else self.pick(("int", "int", "float", "bool"))
        rank = {"C": 2, "d": 1, "S": 0}[name]
        return self.deciding(self.stored(Tensor(name, rank, kind, self.operator(kind), self.chance(2)), "dev"))

    def operator(self, kind: str) -> str:
        """What updates a tensor of a kind."""
        if kind in FUNCTIONS and self.options.functions and self.chance(self.options.functions):
            return f"<<{self.pick(FUNCTIONS[kind])}>>="
        return self.pick(OPERATORS[kind])

    def start(self, t: Tensor) -> str:
        """The value that a tensor is declared with."""
        if "Pattern" in t.form:
            return "false"
        if "Merge(" in t.form and not self.chance(6):
            return NEUTRAL.get(t.op, FILLS[t.kind][0])
        return self.pick(LITERALS[t.kind]) if self.chance(4) else FILLS[t.kind][0]

    def deciding(self, t: Tensor) -> Tensor:
        """Record a tensor if its extents are inferred."""
        if t.inferred:
            self.inferred.add(t.name)
        return t

    def definition(self, t: Tensor) -> str:
        extents = "" if t.inferred and t.name in self.updated else f", {self.n}" * t.rank
        return f"{t.name} = Tensor({t.form}{extents})"

    def stored(self, t: Tensor, device: str = "") -> Tensor:
        """A tensor, whose format may have levels that only tasks of the device, or of one nested in it, may update."""
        gated = [name for name in self.options.modifiers if is_gated(name) and self.options.parallel]
        gates: dict[int, str] = {}
        if device and gated and self.chance(max(self.options.modified // 2, 1)):
            first = self.pick(range(1, t.rank + 2))
            gates[first] = device
            if device == "dev" and first > 1 and t.rank > 1 and self.chance(2):
                gates[1] = "dev2"
        leaf, fill = self.pick(self.leaves(t)), self.pick(FILLS[t.kind])
        if t.kind in WIDTHS and self.options.narrow and self.chance(self.options.narrow):
            fill = f"{fill}, {self.pick(WIDTHS[t.kind])}"
        text = f"{leaf}({fill})" if leaf != "Pattern" else "Pattern()"
        needs: dict[int, str] = {}
        together = "SparseCOO" in self.options.levels and t.rank == 2 and not gates and self.chance(4)
        for number in (1, 3) if together else range(1, t.rank + 2):
            if number > 1 and together:
                text = f"SparseCOO(2, {text})"
            elif number > 1:
                text = f"{self.level(self.options.levels, text)}({text})"
            inner = text = self.wrapped(text)
            if number in gates and (bound := self.gate(gated, gates[number], text)) != text:
                text = self.gate(gated, gates[number], bound) if self.chance(8) else bound
                inner = text = self.wrapped(text)
                late = number > t.rank or inner.startswith(("Mutex(", "Isolate(Mutex("))
                needs[number - 1 if late else number] = gates[number]
        joining = [op for op in OPERATORS[t.kind] if op != "=" and (op, leaf) != ("&=", "Pattern")]
        op = self.pick(joining) if "Merge(" in text and t.op == "=" else t.op
        return replace(t, op=op if not self.chance(8) else t.op, form=text, gates=tuple(needs.items()))

    def level(self, among: Sequence[str], text: str) -> str:
        """A storage level that can hold a format."""
        name = self.pick(among)  # most can; asking all of them would take longer than writing the rest of the program
        return name if legal(f"{name}({text})") else self.pick(fitting(among, text))

    def leaves(self, t: Tensor) -> Sequence[str]:
        """The leaves that a tensor may have."""
        held = (
            t.kind == "bool"
            and t.rank
            and t.op in OPERATORS["bool"]
            and t.op != "&="
            and fitting(self.options.levels, "Pattern()")
        )
        return [leaf for leaf in self.options.leaves if held or leaf != "Pattern"]

    def gate(self, gated: Sequence[str], device: str, text: str) -> str:
        """A format in a modifier that admits only tasks of the device, if one fits."""
        fitting = [form for form in (f"{name}({device}, {text})" for name in gated) if legal(form)]
        return self.pick(fitting) if fitting else text

    def wrapped(self, text: str) -> str:
        """A format, now and then in a modifier without a device."""
        free = [name for name in self.options.modifiers if not is_gated(name)]
        return f"{self.pick(free)}({text})" if free and self.chance(self.options.modified) else text

    def data(self, t: Tensor) -> str:
        choices = {"int": ("0", "1", "2", "0"), "float": ("0.0", "0.5", "2.0", "0.0"), "bool": ("true", "false")}[
            t.kind
        ]
        choices = tuple(str(k + 1) for k in range(self.n)) if t.name == "r" else choices
        n = self.beside if t.name == "u" else self.n
        rows = [[self.pick(choices) for _ in range(n)] for _ in range(n if t.rank == 2 else 1)]
        form = f"Element({FILLS[t.kind][0]})"
        bounded = [] if t.name == "r" else [level for level in BOUNDED if level in self.options.levels]
        storage = (*STORAGE, *bounded)
        if t.kind == "bool" and "Pattern" in self.options.leaves and self.chance(3):
            form = "Pattern()"
        together = t.rank == 2 and self.chance(8)
        for number in range(0 if not together else 2, t.rank + 1):
            level = "SparseCOO(2, " if together else f"{self.level(storage, form)}(" if number else ""
            form = f"{level}{form})" if level else form
            if self.options.modifiers and self.options.parallel and self.chance(8):
                name = self.pick(self.options.modifiers)
                inner = f"{name}({'dev, ' * is_gated(name)}{form})"
                form = inner if legal(inner) else form
        array = np.array([[worth(text) for text in row] for row in rows])
        kept = fitted(form, array if t.rank == 2 else array[0], FILLS[t.kind][0])
        written = [[str(x).lower() for x in row] for row in kept.reshape(-1, n).tolist()]
        text = ", ".join(written[0]) if t.rank == 1 else "; ".join(map(" ".join, written))
        return f"{t.name} = Tensor({form}, [{text}{';' if t.rank == 2 and n == 1 else ''}])"

    # -- statements

    def statement(self, here: Place) -> tuple[list[str], Place]:
        """The lines of a statement, and the place of the next one."""
        loops = ["for"] * (12 if here.depth == 0 and self.options.spawning == 1 else 4)
        kinds = ["update", "update", "set", *loops, "if"] if here.depth < self.options.depth else ["update"]
        match self.pick(kinds):
            case "for" if self.options.searches and self.chance(self.options.searches):
                return self.search(here)
            case "for":
                return self.loop(here), here
            case "if":
                inner = replace(here, depth=here.depth + 1)
                return [f"if {self.expression(here, 'bool')}", *self.body(inner), "end"], here
            case "update" if (line := self.update(here)) is not None:
                return [line], here
        kind = self.pick(("int", "float", "bool"))
        return self.bound(here, kind, self.expression(here, kind))

    def bound(self, here: Place, kind: str, value: str) -> tuple[list[str], Place]:
        """The line that gives the variable of a kind a value, and the place of the next statement."""
        name = f"x{kind[0]}"
        variables = here.variables if (name, kind) in here.variables else (*here.variables, (name, kind))
        return [f"{name} = {value}"], replace(here, variables=variables)

    def search(self, here: Place) -> tuple[list[str], Place]:
        """A loop or two that update one short-circuit scalar, which is bound to a variable then."""
        kind = self.pick(("int", "bool"))
        q = Tensor(f"q{len(self.short)}", 0, kind, self.pick(KEEPING[kind]))
        self.short.append(q)
        start = self.start(q) if self.chance(4) else NEUTRAL.get(q.op, FILLS[kind][0])
        lines, inner, ends = [f"{q.name} .= {start}"], here, ["end"]
        for index in INDICES[len(here.indices) : len(here.indices) + self.pick((1, 1, 2))]:
            stop, told = self.range(inner)
            lines.append(f"for {index} = {stop}")
            inner = replace(inner, indices=(*inner.indices, (index, told)), on=(*inner.on, ""))
        ends *= len(lines) - 1
        update = f"{q.name}[] {q.op} {self.expression(inner, kind)}"
        guarded = [f"if {self.expression(inner, 'bool')}", update, "end"] if self.chance(3) else [update]
        made, after = self.bound(here, kind, f"{q.name}[]")
        return [*lines, *guarded, *ends, *made], after

    def body(self, here: Place) -> list[str]:
        lines = []
        w: Tensor | None = None
        if here.depth <= 2 and self.chance(3):
            kind = self.pick(("int", "float"))
            name, rank = f"w{len(self.workspaces)}", self.pick((1, 1, 0))
            inside = {(): "dev", ("dev",): "dev2"}.get(here.around, "")
            w = self.stored(Tensor(name, rank, kind, self.operator(kind), self.chance(3)), inside)
            self.workspaces.append(self.deciding(w))
            lines.append(f"{w.name} .= {self.start(w) if 'Merge(' in w.form else self.pick(LITERALS[kind])}")
        for _ in range(self.draw(st.integers(1, self.options.statements))):
            place = here
            if w is not None:
                reading = self.chance(2)
                place = replace(
                    here, reads=(*here.reads, w) if reading else here.reads,
                    updates=here.updates if reading else (*here.updates, w, w),
                )  # fmt: skip
            made, after = self.statement(place)
            here = replace(here, variables=after.variables)
            lines += made
        return ["    " + line for line in lines]

    def loop(self, here: Place) -> list[str]:
        index = INDICES[len(here.indices)]
        ends, told = self.range(here)
        header, around = self.domain(here)
        inner = replace(
            here, indices=(*here.indices, (index, told)), on=(*here.on, *(around[-1:] or ("",))),
            around=around, depth=here.depth + 1,
        )  # fmt: skip
        body = self.body(inner)
        if ends == f"1:{self.n}" and self.whole(index, "\n".join(body)) and self.chance(2):
            ends = "_"
        return [f"for {index} = {header.replace('RANGE', ends)}", *body, "end"]

    def whole(self, index: str, body: str) -> bool:
        """Whether the index stands bare on an axis of an input, and no tensor with inferred extents is near."""
        bare = any(text in body for text in (f"A[{index}, ", f", {index}]", f"v[{index}]", f"r[{index}]"))
        return bare and not any(f"{name}[" in body for name in self.inferred)

    def range(self, here: Place) -> tuple[str, bool]:
        """The ends of a range, and whether they are static."""
        n = self.n
        choices = [(f"1:{n}", True)] * 5 + [(f"2:{n}", True), (f"{n}:1", True), ("1:r[1]", False)]
        for index, told in here.indices:
            choices += [(f"1:{index}", told), (f"{index}:{n}", told), (f"1:r[{index}]", False)]
        return self.pick(choices)

    def domain(self, here: Place) -> tuple[str, tuple[str, ...]]:
        """A range with RANGE in the place of its ends, and the devices around the loop's body."""
        waiting = any(D not in here.around for t in here.updates for _, D in t.gates)
        serial = self.chance(4) if waiting else not self.chance(self.options.spawning)
        if not self.options.parallel or len(here.around) == 2 or serial:
            return "RANGE", here.around
        schedule = self.pick(("", ", static_schedule()", ", dynamic_schedule(1)", ", dynamic_schedule(2)"))
        device = {(): "dev", ("dev",): "dev2"}.get(here.around, "cpu(2)")
        device = device if not self.chance(8 if waiting else 4) else "cpu(2)"
        if device == "cpu(2)" and not schedule:
            return "parallel(RANGE)", (*here.around, device)
        return f"parallel(RANGE, {device}{schedule})", (*here.around, device)

    def update(self, here: Place) -> str | None:
        """An update of a tensor whose gates admit it here; None if there is none."""
        if not here.updates:
            return None
        t = self.pick(here.updates)
        target = self.gated(here, t) if t.gates else self.access(here, t, pure=t.inferred)
        if target is None:
            return None
        self.updated.add(t.name)
        return f"{target} {t.op} {self.expression(here, t.kind)}"

    # -- expressions

    def access(self, here: Place, t: Tensor, pure: bool = False, depth: int = 1) -> str:
        """An element; the last subscripts tend to be those of the outer loops. `pure`: with static subscripts."""
        indices = [index for index, told in here.indices if told or not pure]
        if self.chance(2) and len(indices) >= t.rank:
            chosen = indices[: t.rank] if self.chance(2) else indices[len(indices) - t.rank :]
            return f"{t.name}[{', '.join(reversed(chosen))}]"
        given = [self.subscript(here, indices, pure, depth, t.inferred and not pure) for _ in range(t.rank)]
        return f"{t.name}[{', '.join(given)}]"

    def gated(self, here: Place, t: Tensor) -> str | None:
        """An element of a gated tensor, root first: the loop over each subscript runs on the device of its gate.

        A subscript that is not the index of a loop inside the previous one gets a loop around the statement.
        """
        gates = dict(t.gates)
        innermost = here.around[-1] if here.around else ""
        if gates.get(0, innermost) != innermost:
            return None
        last, subscripts = -1, []
        names = [index for index, _ in here.indices]
        for axis in range(t.rank, 0, -1):
            wanted = gates.get(axis)
            loops = [
                index for k, (index, told) in enumerate(here.indices)
                if k > last and (told or not t.inferred) and wanted in (None, here.on[k])
            ]  # fmt: skip
            if wanted in (None, innermost) and not (loops and self.chance(2)):
                e = self.subscript(here, loops, t.inferred, 1, False)
            elif loops:
                e = self.pick(loops)
            else:
                return None
            last = names.index(e) if e in names else len(names)
            subscripts.append(e)
        return f"{t.name}[{', '.join(reversed(subscripts))}]"

    def read(self, here: Place, t: Tensor) -> str:
        """An element, with a replacement where subscripts leave their axes."""
        if here.indices and t.kind == "int" and self.options.guarded and self.chance(self.options.guarded):
            i = self.pick(here.indices)[0]
            return f"ifelse({i} <= {self.beside}, u[{i}], {self.pick(LITERALS['int'])})"
        if not (t.rank and here.indices and self.options.shifted and self.chance(self.options.shifted)):
            return self.access(here, t)
        given = [self.shifted(here) for _ in range(t.rank)]
        if not any(e.startswith("~") for e in given):
            return f"{t.name}[{', '.join(given)}]"
        choices: tuple[str, ...] = (*LITERALS[t.kind], FILLS[t.kind][0])
        # subscripts that are loaded would be searched for, which only happens where the access is missing
        same = [other for other in here.reads if other.kind == t.kind and other.rank and not other.inferred]
        z = self.pick(choices) if not same or self.chance(4) else self.access(here, self.pick(same), depth=0)
        return f"coalesce({t.name}[{', '.join(given)}], {z})"

    def shifted(self, here: Place) -> str:
        """A subscript that usually may leave its axis. If so, it is an index, perhaps with an offset."""
        i, j = (self.pick(here.indices)[0] for _ in range(2))
        if self.chance(4):
            return self.pick((i, i, f"{i} - 1", "1"))
        k = self.pick((1, 1, 2, 3))
        shifts = (f"{i} - {k}", f"{i} + {k}", f"{k} + {i}", f"{i} + {j} - {self.n}", f"{i} - {j} + {k}", f"{j} - {i}")
        return self.pick((f"~{i}", f"~{i}", *(f"~({e})" for e in shifts), f"~(2 * {i} - 1)", f"~{k}", f"~v[{i}]"))

    def subscript(self, here: Place, indices: list[str], pure: bool, depth: int, computed: bool) -> str:
        """A subscript in 1:n; not a constant if `computed`."""
        n = self.n
        choices = [str(self.pick(range(1, n + 1)))]
        if computed:
            choices = [f"r[{choices[0]}]"]
        for i in indices:
            choices += [i, i, i, f"{n + 1} - {i}", f"{i} % {n} + 1", f"min({i} + 1, {n})", f"max({i} - 1, 1)"]
        if pure:
            choices += [f"{i} - {i} % 2 + 1" for i in indices]
        elif depth:
            loaded = self.access(here, Tensor("r", 1, "int"), depth=0)
            choices += [loaded, loaded, f"{loaded} % {n} + 1"]
        return self.pick(choices)

    def expression(self, here: Place, kind: str, depth: int = 2) -> str:
        leaves = [lambda: self.pick(LITERALS[kind])]
        kinds = ("int", "float") if kind == "float" else (kind,)
        tensors = [t for t in here.reads if t.kind in kinds]
        leaves += [lambda: self.read(here, self.pick(tensors))] * 3 if tensors else []
        variables = [name for name, k in here.variables if k in kinds]
        leaves += [lambda: self.pick(variables)] if variables else []
        part = {"float": "first", "int": "second"}.get(kind)
        held = [t for t in here.reads if t.kind == "pair"]
        leaves += [lambda: f"{part}({self.read(here, self.pick(held))})"] if part and held else []
        if kind in ("int", "float") and here.indices:
            leaves.append(lambda: self.pick(here.indices)[0])
        if depth == 0 or self.chance(2):
            return self.pick(leaves)()
        if kind == "pair":
            return f"({self.expression(here, 'float', depth - 1)}, {self.expression(here, 'int', depth - 1)})"
        if self.options.functions and self.chance(self.options.functions):
            x, y = (self.expression(here, kind, depth - 1) for _ in range(2))
            return f"{self.pick(FUNCTIONS[kind])}({x}, {y})"
        if self.options.missing and self.chance(self.options.missing):
            return self.settled(here, kind)
        a = self.expression(here, "int" if kind == "bool" else kind, depth - 1)
        b = self.expression(here, "int" if kind == "bool" else kind, depth - 1)
        if kind == "bool":
            op = self.pick(("<", "<=", "==", "!=", ">"))
            truth = op in ("==", "!=") and self.chance(4)  # which counts as a number there
            return f"({a} {op} {self.expression(here, 'bool', depth - 1) if truth else b})"
        bits = ("&", "|", "⊻", ">>", "<<", "+%", "-%", "*%") if kind == "int" else ("/",)
        match self.pick(("+", "-", "*", "*", "min", "max", "÷", "%", *bits)):
            case "min" | "max" as f:
                return f"{f}({a}, {b})"
            case "÷" | "%" | "/" | ">>" | "<<" as op:
                return f"({a}) {op} 2"
            case "⊻":
                return f"(~{a} ⊻ {b})"
            case op:
                return f"({a} {op} {b})"

    def settled(self, here: Place, kind: str) -> str:
        """A value, or the answer whether there is one, of what may be missing."""
        first = self.perhaps(here, "int" if kind == "float" and self.chance(2) else kind)
        if kind == "bool" and self.chance(2):
            return f"ismissing({first})"
        others = [self.perhaps(here, kind)] if self.chance(3) else []
        return f"coalesce({', '.join((first, *others, self.known(here, kind)))})"

    def perhaps(self, here: Place, kind: str, depth: int = 2) -> str:
        """An expression that may be missing."""
        known = self.known(here, kind)
        leaves = [f"ifelse({self.known(here, 'bool')}, {known}, missing)", "missing"]
        among = [t for t in here.reads if t.kind == kind and t.rank and not t.inferred]
        if among and here.indices:
            t = self.pick(among)
            shifts = (self.pick(("", "", " - 1", " + 1", " + 2")) for _ in range(t.rank))
            leaves += [f"{t.name}[{', '.join(f'~({self.pick(here.indices)[0]}{k})' for k in shifts)}]"] * 4
        if depth == 0 or self.chance(2):
            return self.pick(leaves)
        inner = self.perhaps(here, kind, depth - 1)
        parts = [
            f"ifelse({self.known(here, 'bool')}, {inner}, {known})",
            f"ifelse(ismissing({inner}), {known}, missing)",
        ]
        if kind == "bool":
            return self.pick((*parts, f"!{inner}", f"({inner} && {known})"))
        return self.pick((*parts, f"({inner} + {known})", f"({known} - {inner})", f"max({inner}, {known})"))

    def known(self, here: Place, kind: str) -> str:
        """A value that is not missing, without a search."""
        among = [t for t in here.reads if t.kind == kind and t.rank and not t.inferred]
        leaves = [self.pick(LITERALS[kind])]
        leaves += [self.access(here, self.pick(among), depth=0)] if among else []
        leaves += [f"{self.pick(here.indices)[0]} > 1"] if kind == "bool" and here.indices else []
        return self.pick(leaves)


@st.composite
def programs(draw: Any, options: Options = Options()) -> str:
    """Draws texts of programs."""
    return Writer(draw, options).program()


@st.composite
def meetings(draw: st.DrawFn, storage: Sequence[str] = STORAGE, modifiers: Sequence[str] = MODIFIERS) -> str:
    """Draws programs with two tasks, some nested, which access one tensor of any format in one or two statements."""
    nested = draw(st.integers(0, 3)) == 0
    among = [modifier for modifier in modifiers if "far" not in modifier or nested]
    form = wrapped(draw, f"{draw(st.sampled_from(LEAVES))}(0)", among, 1)
    rank = draw(st.integers(0, 2))
    for _ in range(rank):
        form = wrapped(draw, f"{draw(st.sampled_from(fitting(storage, form)))}({form})", among, 1)
    op = draw(st.sampled_from(["+=", "+=", "=", "<<max>>="]))
    inner = draw(st.sampled_from(["", "", "for i = 1:1\n"]))
    choices = ["k", "k", "1", "3 - k", *(["i"] * 3 if inner else [])]
    subscripts = st.lists(st.sampled_from(choices), min_size=rank, max_size=rank).map(", ".join)
    update = subscripts.map(lambda at: f"C[{at}] {op} k")
    body = "\n".join(draw(st.lists(update | st.sampled_from(["x = k", "x = x + 1"]), min_size=1, max_size=2)))
    around = "for l = parallel(1:1, far)\n" if nested else ""
    ends = "end\n" * (1 + nested + bool(inner))
    return (
        f"dev = cpu(:dev, 2)\nfar = cpu(:far, 1)\nC = Tensor({form}{', 2' * rank})\nC .= 0\nx = 0\n"
        f"for k = parallel(1:2, dev)\n{around}{inner}{body}\n{ends}return C"
    )
