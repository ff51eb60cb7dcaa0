"""Registers of plans as C variables: their names, and where a function declares them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import field

from wingspan.base.dataclass import dataclass
from wingspan.lang.registers import RegisterType
from wingspan.plan import ir as plan
from wingspan.plan import kernels
from wingspan.plan.ir import If, Par, Reg, Stmt, While, blocks, walk
from wingspan.plan.uses import defs, registers, uses, yields

KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof bool
true false nullptr constexpr alignas alignof static_assert thread_local int64_t int32_t uint64_t uint8_t
t f frame values told main linux unix bounds errno stdin stdout stderr fabs exp log sin cos tan pow sqrt floor ceil
round abs index time read write free malloc y0 y1 yn j0 j1 jn gamma signal select kill sleep pause
"""
RESERVED = frozenset(KEYWORDS.split())
"""The identifiers of C, of its headers and of the printed functions."""

MACRO = re.compile(r"[A-Z][A-Z0-9_]{2,}|(?:PRI|SCN|[LPM]_|sa_|si_|st_|sv_|sigev_|sched_|math_).*")
"""The form of the names of macros in C's headers: such a macro would be put in for a variable that is called so."""


class Names:
    """Valid C names, each given once."""

    def __init__(self) -> None:
        self._taken = set(RESERVED)
        self._given: dict[tuple[str, RegisterType], str] = {}

    def register(self, reg: Reg) -> str:
        """The variable that a register is."""
        key = reg.name, reg.type
        if key not in self._given:
            self._given[key] = self.new(reg.name)
        return self._given[key]

    def new(self, hint: str) -> str:
        """A name much like the hint."""
        stem = re.sub(r"[^0-9A-Za-z]+", "_", hint).strip("_") or "x"
        stem = f"x{stem}" if stem[0].isdigit() or stem.lower().startswith("ws_") else stem
        stem = f"{stem}_" if MACRO.fullmatch(stem) else stem
        name, count = stem, 1
        while name in self._taken:
            count += 1
            name = f"{stem}_{count}"
        self._taken.add(name)
        return name


def declare(names: Names, reg: Reg) -> str:
    """The declaration of the variable that a register is."""
    c = reg.type.c
    return f"{c}{'' if c.endswith('*') else ' '}{names.register(reg)}"


def in_declaration_order(regs: Iterable[Reg]) -> tuple[Reg, ...]:
    """In an order in which they can be declared: sizes of buffers before the instances that have these."""
    return tuple(sorted(regs, key=lambda reg: (reg.type.is_instance, reg.name, reg.type.name)))


def reads(s: Stmt) -> Iterator[Reg]:
    """The registers that a statement itself reads, blocks inside of it apart."""
    return (reg for e in uses(s) for reg in registers(e))


def mentions(body: tuple[Stmt, ...]) -> Counter[Reg]:
    """The numbers of reads and definitions of each register in a block."""
    return Counter(reg for s in walk(body) for reg in (*reads(s), *defs(s)))


def useful(made: plan.Plan) -> frozenset[Reg]:
    """The registers that are read, but for setting others that are not: messages say less in C than in reports."""
    needs: dict[Reg, list[Reg]] = {}
    waiting = [reg for e in made.ends for reg in registers(e)]
    for s in walk(made.body):
        if isinstance(s, plan.Set | plan.Load):
            needs.setdefault(s.reg, []).extend(reads(s))
        else:
            waiting += reads(s)
        waiting += yields(s)
    found: set[Reg] = set()
    while waiting:
        if (reg := waiting.pop()) not in found:
            found.add(reg)
            waiting += needs.get(reg, ())
    return frozenset(found)


@dataclass
class Declared:
    """The places where a function declares its variables."""

    first: tuple[Reg, ...] = ()
    """at its beginning, with the value zero"""
    at: dict[int, list[Reg]] = field(default_factory=lambda: defaultdict(list))
    """at the statement, by its `id`, that sets them first"""
    constant: set[Reg] = field(default_factory=set)
    """the registers that are set once"""


def place_declarations(
    body: tuple[Stmt, ...], given: Iterable[Reg], ends: Iterable[Reg], apart: Mapping[int, tuple[Reg, ...]]
) -> Declared:
    """Place the declarations of a body's registers that are not `given`; `ends` are read after the body.

    `apart` are those that what is a function of its own, by the `id` of its statement, shares with what is around it.
    """
    made, homes, ends = Declared(), _Homes(apart), frozenset(ends)
    counts = Counter(reg for s in within(body, apart) for reg in defs(s))
    counts.update(reg for s in within(body, apart) for reg in apart.get(id(s), ()) for _ in range(2))
    first = []
    named = {reg for s in within(body, apart) for reg in homes.own(s)} | ends
    for reg in sorted(named - set(given), key=lambda reg: (reg.name, reg.type.name)):
        home = homes.home(reg, (body,), reg in ends)
        if home is None:
            first.append(reg)
        else:
            made.at[id(home)].append(reg)
            if counts[reg] == 1 and not isinstance(home, kernels.Tile):
                made.constant.add(reg)
    made.first = tuple(first)
    return made


def within(body: tuple[Stmt, ...], apart: Container[int]) -> Iterator[Stmt]:
    """All statements of a function, without those of the functions apart."""
    for s in body:
        yield s
        if id(s) not in apart:
            for block in blocks(s):
                yield from within(block, apart)


class _Homes:
    """Looks for the statements where variables can be declared."""

    def __init__(self, apart: Mapping[int, tuple[Reg, ...]]) -> None:
        self._apart = apart
        self._users: dict[int, dict[Reg, list[Stmt]]] = {}

    def own(self, s: Stmt) -> set[Reg]:
        """The registers that a statement itself needs."""
        if id(s) in self._apart:
            return {*self._apart[id(s)], *(reads(s) if isinstance(s, Par) else ())}
        return {*reads(s), *defs(s)}

    def users(self, block: tuple[Stmt, ...]) -> dict[Reg, list[Stmt]]:
        """The statements of a block that need each register, themselves or in blocks inside of them."""
        found = self._users.get(id(block))
        if found is None:
            found = self._users[id(block)] = {}
            for s in block:
                inside = () if id(s) in self._apart else blocks(s)
                for reg in self.own(s).union(*map(self.users, inside)):
                    found.setdefault(reg, []).append(s)
        return found

    def home(self, reg: Reg, among: tuple[tuple[Stmt, ...], ...], late: bool) -> Stmt | None:
        """The statement that sets a register before all that read it, in blocks with all of these; None if none does.

        The blocks run one after the other. `late`: whether it is read after them, too.
        """
        using = [s for block in among for s in self.users(block).get(reg, ())]
        if not using:
            return None
        if id(using[0]) in self._apart:
            return None
        match using[0]:
            case While(test=test, condition=condition, body=inner) if test and len(using) == 1 and not late:
                before = reg in self.users(test)
                return self.home(reg, (test, inner), False) if before or reg not in registers(condition) else None
            case If() | While() | kernels.ScanBitmap() | kernels.Tile() as s if (
                len(using) == 1 and not late and reg not in self.own(s)
            ):
                holding = tuple(block for block in blocks(s) if reg in self.users(block))
                return self.home(reg, holding, False) if len(holding) == 1 else None
            case kernels.UnionBlocks(body=inner) | kernels.CommonRuns(body=inner) as s if len(using) == 1 and not late:
                return self.home(reg, (inner,), False) if reg not in self.own(s) else s
            case kernels.Tile(front=front) as s if reg == front and len(using) == 1:
                return s
            case s if not blocks(s) and reg in defs(s) and reg not in set(reads(s)):
                return s
        return None
