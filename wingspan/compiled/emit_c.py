"""Plans as C: one readable file on runtime.h and program.h, with a function for each parallel region and nest of loops.

The file trusts that tasks do not race, which `wingspan check` finds out: it looks where cells lie once for each
instance, and checks only whether those that it writes have room. Read-only inputs lie where their owner has them; the
indices and pointers of a last SparseList count from 0 there, as SciPy's do.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from wingspan.compiled.expressions import SUFFIX, constant, expression, offset, told
from wingspan.compiled.registers import TYPES, Declared, Names, declared, mentions, useful, within
from wingspan.errors import InternalError, Span, visible
from wingspan.lang.ir import REDUCTIONS
from wingspan.plan import ir as plan
from wingspan.plan.ir import Buffer, Expr, Group, Load, Par, Plan, Ref, Reg, Stmt, Type, Width, parts, walk
from wingspan.plan.passes.room import whole
from wingspan.plan.pipeline import for_c
from wingspan.plan.show import show
from wingspan.plan.uses import refs, registers, sets, with_blocks

CELLS: dict[Width, str] = {"i64": "int64_t", "i32": "int32_t", "u8": "uint8_t", "f64": "double"}
WIDTHS: dict[Width, str] = {"i64": "WS_I64", "i32": "WS_I32", "u8": "WS_U8", "f64": "WS_F64"}
ATOMS = dict(zip(REDUCTIONS, ("SET", "ADD", "SUB", "MUL", "MIN", "MAX", "AND", "OR"), strict=False))
READING = (plan.Load, plan.Prefetch, plan.Meet)
"""Statements that write no cell."""
COMPUTES = {"+": "add", "-": "sub", "*": "mul", "÷": "div", "%": "mod", "/": "over", "neg": "neg", "abs": "abs"}
ROOM = Path(__file__).parent
HEADERS = {
    "runtime.h": ROOM.parent / "runtime" / "runtime.h",
    **{name: ROOM / name for name in ("program.h", "meet.h")},
}
"""What a printed file includes, and where it is: the team of threads is that of the register machine."""

PRINTED = "Printed by wingspan"
"""Begins the first line of each file that is printed, and of the headers."""
COMPILE = ("cc", "-std=gnu11", "-O3", "-march=native", "-fwrapv", "-ffp-contract=off", "-pthread")


@dataclass(frozen=True)
class Site:
    """A place where a run may fail. In the message {0}, {1}, … stand for values of these types: see program.h."""

    span: Span | None
    message: str
    types: str
    statement: Stmt | None = field(default=None, compare=False)
    """the first statement that fails there"""


def emit_c(made: Plan, name: str = "program", main: bool = False) -> str:
    """A plan as a C file, to be called `name`.c. With a `main`, it reads inputs, if any, from `name`.inputs.

    No text of the program and no name gets out of the comment or the string that it is printed in.
    """
    return Printer(for_c(made)).file(name, main, identity(made))


def with_sites(made: Plan, racy: bool = False) -> tuple[str, Sequence[Site], Sequence[Group]]:
    """A plan as a C file, the places where a run of it may fail, by their numbers, and the groups that it has then.

    `racy`: tasks may race. Each access to a buffer is checked then, and made as the run orders accesses.
    """
    printer = Printer(made, racy) if racy else Printer(for_c(made))
    return printer.file("program", False, identity(made)), list(printer.sites), printer.plan.groups


def together(plans: Iterable[Plan]) -> tuple[str, list[tuple[Sequence[Site], Sequence[Group]]]]:
    """Plans as one C file, whose array `ws_bodies` has what runs each; where each may fail, and the groups it has then.

    What such a file includes, the compiler reads once: for a small plan alone that takes longer than the plan.
    """
    names = Names()
    bodies: list[str] = []
    about: list[tuple[Sequence[Site], Sequence[Group]]] = []
    lines = ['#include "program.h"', "", "const ws_program ws_printed; // there are no sessions", ""]
    for k, made in enumerate(plans):
        printer = Printer(for_c(made), names=names)
        bodies.append(f"ws_body_{k}")
        lines += printer.code(bodies[-1])
        about.append((list(printer.sites), printer.plan.groups))
    lines.append(f"const ws_body ws_bodies[] = {{{', '.join(bodies)}}};")
    return "\n".join(lines) + "\n", about


def identity(made: Plan) -> int:
    """What tells programs apart whose buffers, statements, ranges or extents differ."""
    lines = [line for line in show(made).splitlines() if not line.lstrip().startswith("#")]  # no text of the program
    lines += (str([b.bound for b in group.buffers]) for group in made.groups)
    return int.from_bytes(sha256("\n".join(lines).encode()).digest()[:8], "little")


def read_only(made: Plan) -> frozenset[str]:
    """The inputs that a plan does not write."""
    writes = (s for s in walk(made.body) if hasattr(s, "ref") and not isinstance(s, Load | plan.Prefetch))
    written = {s.ref.buffer.tensor for s in writes}
    return frozenset(made.inputs) - written


def columns(group: Group) -> bool:
    """Whether a tensor has levels, of which those that need buffers are SparseLists."""
    if not group.buffers:  # of a leaf that stores nothing
        return False
    *lists, leaf = group.buffers
    of_list = all(b.level_name == "SparseList" for b in lists)
    return group.parent is None and leaf.level_name in ("Element", "Atomic") and of_list


def borrowed(made: Plan) -> frozenset[str]:
    """The inputs that C reads where their owners have them."""
    roots = {g.tensor: g for g in reversed(made.groups) if g.parent is None}
    return frozenset(name for name in read_only(made) if columns(roots[name]))


def from_zero(b: Buffer) -> bool:
    """Whether a cell of a read-only input in columns holds a number that counts from 0."""
    return b.name in ("ptr", "idx")


def sizes(body: Iterable[Stmt]) -> set[Reg]:
    """The registers that tell how many cells buffers have that are written somewhere in a block."""
    written = {s.ref.buffer for s in walk(tuple(body)) if isinstance(s, plan.Store)}
    return {reg for b in written if (most := whole(b)) is not None for reg in registers(most)}


@dataclass
class Printer:
    """Writes the C of one plan. Printers of one file share their names."""

    plan: Plan
    racy: bool = False
    names: Names = field(default_factory=Names)
    functions: list[str] = field(default_factory=list)
    sites: dict[Site, int] = field(default_factory=dict)
    cell_names: dict[tuple[Reg, int], str] = field(default_factory=dict)
    room_names: dict[tuple[Reg, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.plan = replace(self.plan, body=_own(self.plan.body))
        self.borrowed = frozenset() if self.racy else borrowed(self.plan)
        roots = {g.tensor: g for g in reversed(self.plan.groups) if g.parent is None}
        self.useful = useful(self.plan) | sizes(self.plan.body)
        self.roots = {reg: roots[name] for name, reg in self.plan.roots if reg in self.useful}
        self.parameters = {reg: k for k, (_, reg) in enumerate(self.plan.parameters) if reg in self.useful}
        ends = {reg for e in self.plan.ends for reg in registers(e)} | self.roots.keys() | self.parameters.keys()
        every = mentions(self.plan.body)

        def shared(s: Stmt, body: tuple[Stmt, ...]) -> set[Reg]:
            return mentions(body).keys() & ((every - mentions((s,))).keys() | ends)

        self.apart = {
            id(s): _ordered((shared(s, s.body) & self.useful | sizes(s.body) | set(s.joined)) - {s.task})
            for s in walk(self.plan.body)
            if isinstance(s, Par)
        }
        self.apart |= {id(s): _ordered(shared(s, (s,)) & self.useful | sizes((s,))) for s in nests(self.plan.body)}
        """the registers that each parallel region, and each nest of loops, shares with what is around it"""

    # ------------------------------------------------------------------------------------------------------------ file

    def file(self, name: str, main: bool, identity: int) -> str:
        """A file of this plan alone."""
        code = self.code("root")
        variables, types = [name for name, _ in self.plan.variables], [e.type for e in self.plan.ends]
        lines = [*self._head(name, main), *self._groups(), *code, *self._tables(variables, types, identity)]
        if main:
            inputs = _text(f"{name}.inputs") if self.plan.inputs else "NULL"
            lines += ["int main(int argc, char **argv) {", f"    return ws_main(argc, argv, {inputs});", "}"]
        return "\n".join(lines) + "\n"

    def code(self, root: str) -> list[str]:
        """The functions of the plan, the one called `root` last, which runs it."""
        ends = [reg for e in self.plan.ends for reg in registers(e)]
        body = Function(self, self.plan.body, (*self.roots, *self.parameters), ends)
        lines = [f"const int64_t {self.names.register(reg)} = values[{k}].i;" for reg, k in self.parameters.items()]
        lines += [f"ws_instance *const {self.names.register(r)} = {_root(g)};" for r, g in self.roots.items()]
        for reg in self.roots:
            lines.append(f"WS_TRY({self.names.register(reg)}, {self.site(None, '')});")
            lines += body.cells(reg)
        lines += body.lines()
        for k, e in enumerate(self.plan.ends):
            lines.append(f"values[{k}].{'f' if e.type == 'float' else 'i'} = {expression(e, self.names)};")
        head = [f"static void {root}(ws_task *t, void *frame) {{", "    ws_value *const values = frame;"]
        return [*self.functions, *head, "    (void)t, (void)values;", *_indented(lines), "}", ""]

    def _head(self, name: str, main: bool) -> Iterator[str]:
        at = f"./{name}" if name.startswith("-") else name
        how = [*COMPILE, f"{at}.c", "-lm", "-o", at] if main else [*COMPILE, "-shared", "-fPIC", f"{at}.c", "-lm", "-o"]
        yield _comment(f"{PRINTED}. It includes program.h, meet.h and runtime.h, and is compiled by")
        yield _comment(shlex.join(how if main else [*how, f"{at}.so"]))
        yield from ('#include "program.h"', "")

    def _groups(self) -> Iterator[str]:
        for g in self.plan.groups:
            yield f"static const ws_shape shapes_{g.id}[] = {{"
            for b in g.buffers:
                about = "shared" if b.depth < 0 else f"{b.name}, level {b.level} {b.level_name}"
                shape = f"{{{WIDTHS[b.width]}, {constant(b.hashed)}, {constant(b.bound)}, {constant(b.assigned)}}}"
                yield f"    {shape}, {_comment(f'{b.tensor}: {about}')}"
            yield from ("};", "")

    def _tables(self, variables: list[str], types: list[Type], identity: int) -> Iterator[str]:
        yield "static const ws_group groups[] = {"
        for g in self.plan.groups:
            parent = -1 if g.parent is None else g.parent
            shape = f".keys = {g.keys}, .buffers = {len(g.buffers)}, .shapes = shapes_{g.id}"
            yield f"    {{.parent = {parent}, {shape}}},"
        yield from ("};", "", "static const ws_title titles[] = {")
        for g in self.plan.groups:
            buffers = ", ".join(_text(b.name) for b in g.buffers)
            output = constant(g.tensor in self.plan.outputs)
            tag = _text(g.tag)
            yield f"    {{{_text(g.tensor)}, {tag}, (const char *[]){{{buffers}}}, {output}}},"
        yield from ("};", "", "static const ws_site sites[] = {")
        for site in self.sites:
            where = f"{site.span.source.name}:{site.span.line}:{site.span.column}" if site.span else ""
            yield f'    {{{_text(where)}, {_text(site.message)}, "{site.types}"}},'
        yield from ("};", "")
        named = ", ".join([*(_text(name) for name in variables), "NULL"])
        yield f"static const char *const variables[] = {{{named}}};"
        kinds = "".join(kind[0] for kind in types)
        count = len(self.plan.groups)
        tables = f'groups, titles, {count}, sites, root, variables, "{kinds}"'
        yield f"const ws_program ws_printed = {{{tables}, UINT64_C({identity:#x})}};"

    def site(self, span: Span | None, message: str, types: str = "", statement: Stmt | None = None) -> int:
        """The number of a place where the run may fail, with a message about values of these types: see program.h."""
        return self.sites.setdefault(Site(span, message, types, statement), len(self.sites))


def _root(group: Group) -> str:
    return f"ws_root(t, {group.id})"


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" if line else line for line in lines]


# ----------------------------------------------------------------------------------------------------------- functions


class Function:
    """Writes the body of a C function: the root task's, or a parallel region's."""

    def __init__(self, printer: Printer, body: tuple[Stmt, ...], given: tuple[Reg, ...], ends: Iterable[Reg]) -> None:
        self.printer, self.names, self.body = printer, printer.names, body
        own = {id(s) for s in body if isinstance(s, plan.While)}
        self.apart = {k: shared for k, shared in printer.apart.items() if k not in own}
        """what is in functions apart, without the nest that this one may be"""
        self.declared: Declared = declared(body, given, ends, self.apart)
        self.used: dict[Reg, dict[Buffer, set[str]]] = {}
        """for each instance the buffers that are accessed here, and whether cells are read, written or more"""
        for s in within(body, self.apart):
            if not (isinstance(s, Load) and s.reg not in printer.useful):
                kinds = {plan.Store: "write", plan.Room: "write"} | dict.fromkeys(READING, "read")
                for ref in refs(s):
                    how = "write" if _brief(s) else kinds.get(type(s), "more")
                    self.used.setdefault(ref.instance, {}).setdefault(ref.buffer, set()).add(how)
        self.line: Span | None = None
        self.loops = 0
        """the loops around the statement that is being written: what stops a run is noticed between two of them"""

    def lines(self) -> list[str]:
        """All statements, after the variables that no statement declares."""
        printed = {reg for s in within(self.body, self.apart) if not isinstance(s, plan.Set | Load) for reg in sets(s)}
        first = [reg for reg in self.declared.first if reg in self.printer.useful | printed]
        zeros = [f"{_declare(self.names, reg)} = {_zero(reg)};" for reg in first]
        unknown = [line for reg in self.declared.first if reg.type == "instance" for line in self.unknown(reg)]
        return [*zeros, *unknown, *self.block(self.body)]

    def block(self, body: tuple[Stmt, ...]) -> list[str]:
        lines: list[str] = []
        for s in body:
            made = self.statement(s)
            if made and self.printer.racy and isinstance(s, plan.Access):
                made = ["WS_YIELD;", *made]
            lines += [*self.source(s), *made] if made else []
        return lines

    def source(self, s: Stmt) -> Iterator[str]:
        """The source line of a statement, if the one before came from another."""
        origin = getattr(s, "origin", None)
        span: Span | None = origin.span if origin else None
        if span is not None and (self.line is None or self.line.line != span.line):
            self.line = span
            yield _comment(f"{span.line} │ {span.source.line(span.line).strip()}")

    # --------------------------------------------------------------------------------------------------------- buffers

    def cells(self, x: Reg, declared: bool = True) -> Iterator[str]:
        """Where the cells of an instance lie that this function accesses; variables for that, or new values of them."""
        instance = self.names.register(x)
        for b, how in self.accessed(x):
            cells = self.cell_name(x, b)
            yield f"{f'{self.pointer(b)}const ' if declared else ''}{cells} = WS_CELLS({instance}, {b.number});"
            if "write" in how and (most := whole(b)) is not None:
                yield f"WS_ALL({instance}, {b.number}, {self.text(most)}, {self.printer.site(None, '')});"
            elif "write" in how:
                room = self.room_name(x, b)
                yield f"{'uint64_t ' if declared else ''}{room} = WS_HAS({instance}, {b.number});"

    def unknown(self, x: Reg) -> Iterator[str]:
        """The variables for that while it is not known which instance it is."""
        for b, how in self.accessed(x):
            yield f"{self.pointer(b)}{self.cell_name(x, b)} = NULL;"
            if "write" in how and whole(b) is None:
                yield f"uint64_t {self.room_name(x, b)} = 0;"

    def accessed(self, x: Reg) -> list[tuple[Buffer, set[str]]]:
        """The buffers of an instance whose cells this function reads and writes unchecked, by itself."""
        if self.printer.racy:
            return []
        used = sorted(self.used.get(x, {}).items(), key=lambda item: item[0].number)
        return [(b, how) for b, how in used if not b.hashed and how != {"more"}]

    def pointer(self, b: Buffer) -> str:
        return f"const {CELLS[b.width]} *restrict " if self.borrowed(b) else f"{CELLS[b.width]} *"

    def borrowed(self, b: Buffer) -> bool:
        """Whether a buffer of an input lies where its owner has it."""
        return b.tensor in self.printer.borrowed

    def cell_name(self, x: Reg, b: Buffer) -> str:
        """What the cells of a buffer of an instance are called."""
        made, group = self.printer.cell_names, self.printer.plan.groups[b.group]
        if (x, b.number) not in made:
            level = b.level if sum(other.name == b.name for other in group.buffers) > 1 else ""
            made[x, b.number] = self.names.new(f"{self.names.register(x)}_{'cell' if b.depth < 0 else b.name}{level}")
        return made[x, b.number]

    def room_name(self, x: Reg, b: Buffer) -> str:
        """What the number of cells that may be written is called."""
        made = self.printer.room_names
        if (x, b.number) not in made:
            made[x, b.number] = self.names.new(f"{self.cell_name(x, b)}_cells")
        return made[x, b.number]

    def buffer(self, ref: Ref) -> str:
        return f"&{self.names.register(ref.instance)}->buffers[{ref.buffer.number}]"

    # ------------------------------------------------------------------------------------------------------ statements

    def statement(self, s: Stmt) -> list[str]:
        match s:
            case plan.When(condition=condition, then=then, otherwise=otherwise):
                yes, no = self.block(then), self.block(otherwise)
                lines = [f"if ({self.text(condition)}) {{", *_indented(yes)]
                return [*lines, *(["} else {", *_indented(no)] if no else []), "}"] if yes or no else []
            case plan.While() if id(s) in self.apart:
                return self.nest(s)
            case plan.While(test=test, condition=condition, body=body):
                before = ["WS_GO_ON;"] if self.loops else []
                stops = ["WS_GO_ON;"] if _waits(s) else []
                self.loops += 1
                match test:
                    case ():
                        head, inner = f"while ({self.text(condition)}) {{", self.block(body)
                    case (plan.Meet(lists=(x, y)),):
                        meeting = self.names.new("meeting")
                        before.append(f"ws_meeting {meeting} = {{0}};")
                        head, inner = f"while ({self.meets(meeting, x, y)}) {{", self.block(body)
                    case _:
                        leave = f"if (!({self.text(condition)})) break;"
                        head, inner = "for (;;) {", [*self.block(test), leave, *self.block(body)]
                self.loops -= 1
                return [*before, head, *_indented([*stops, *inner]), "}"]
            case Par():
                return self.par(s)
            case plan.Set(reg=reg, value=value):
                return [f"{self.to(s, reg)} = {self.text(value)};"] if reg in self.printer.useful else []
            case plan.Load(reg=reg):
                return [f"{self.to(s, reg)} = {self.load(s)};"] if reg in self.printer.useful else []
            case plan.Store():
                return self.store(s)
            case plan.Room():
                return [self.fails("WS_ASK", self.room(s), s)]
            case plan.Prefetch(ref=ref, index=index):
                cells = self.cell_name(ref.instance, ref.buffer)
                return [f"__builtin_prefetch(&{cells}[{offset(index, self.names)}]);"]
            case plan.Compute(reg=reg, op=op, args=args):
                return self.compute(s, reg, op, args)
            case plan.Check(condition=condition, message=message, values=values):
                numbered = message.format(**{name: f"{{{k}}}" for k, (name, _) in enumerate(values)})
                return [self.fails("WS_REQUIRE", self.text(condition), s, numbered, tuple(e for _, e in values))]
            case plan.Child(reg=reg, group=group, parent=parent, key=key):
                found = f"ws_child(t, {group}, {self.names.register(parent)}, {self.text(key)})"
                return self.instance(s, reg, found)
            case plan.Fresh(reg=reg, group=group):
                return self.instance(s, reg, f"ws_fresh(t, {group})")
            case plan.Drop(reg=reg):
                return [f"ws_drop(t, {self.names.register(reg)});"]
        return self.access(s)

    def text(self, e: Expr) -> str:
        return expression(e, self.names)

    def to(self, s: Stmt, reg: Reg) -> str:
        """The variable that a statement sets, declared if it is set for the first time."""
        if reg in self.declared.at.get(id(s), ()):
            constant = reg in self.declared.constant
            return f"const {_declare(self.names, reg)}" if constant else _declare(self.names, reg)
        return self.names.register(reg)

    def address(self, s: Stmt, reg: Reg) -> tuple[list[str], str]:
        """The same for a statement that sets it by its address."""
        name = self.names.register(reg)
        return [f"{_declare(self.names, reg)};"] if reg in self.declared.at.get(id(s), ()) else [], f"&{name}"

    def fails(self, macro: str, success: str, s: Stmt, message: str = "", values: tuple[Expr, ...] = ()) -> str:
        """Leave unless something succeeds."""
        origin = s.origin  # type: ignore[union-attr]
        site = self.printer.site(origin.span, origin.prefix + message, "".join(e.type[0] for e in values), s)
        return f"{macro}({', '.join([success, str(site), *(told(e, self.names) for e in values)])});"

    def instance(self, s: Stmt, reg: Reg, found: str) -> list[str]:
        name, declared = self.names.register(reg), reg in self.declared.at.get(id(s), ())
        lines = [f"{'ws_instance *const ' if declared else ''}{name} = {found};", self.fails("WS_TRY", name, s)]
        return [*lines, *self.cells(reg, declared)]

    def load(self, s: Load) -> str:
        b = s.ref.buffer
        if b.hashed:
            return f"ws_hash_load({self.buffer(s.ref)}, {self.text(s.index)})"
        if self.printer.racy:
            return f"ws_load_{b.width}({self.buffer(s.ref)}, {self.text(s.index)}, t->run->order)"
        cell = f"{self.cell_name(s.ref.instance, b)}[{offset(s.index, self.names)}]"
        return f"(int64_t){cell} + 1" if self.borrowed(b) and from_zero(b) else cell

    def meets(self, meeting: str, x: plan.Listed, y: plan.Listed) -> str:
        """Moves on to what two lists have in common, if they do; one may count from 0, and the other from 1."""
        lists = []
        for each in (x, y):
            cells = self.cell_name(each.ref.instance, each.ref.buffer)
            lists.append(f"{cells}, &{self.names.register(each.at)}, {self.text(each.end)}")
        shift = self.borrowed(x.ref.buffer) - self.borrowed(y.ref.buffer)
        return f"ws_meet(&{meeting}, {', '.join(lists)}, {shift})"

    def store(self, s: plan.Store) -> list[str]:
        b, value = s.ref.buffer, self.text(s.value)
        if b.hashed:
            success = f"ws_hash_store(t, {self.buffer(s.ref)}, {self.text(s.index)}, {value})"
            return [self.fails("WS_TRY", success, s)]
        if self.printer.racy:
            stored = f"{self.buffer(s.ref)}, {self.text(s.index)}, {value}, t->run->order"
            return [self.fails("WS_TRY", f"ws_store_{b.width}(t, {stored})", s)]
        cells = self.cell_name(s.ref.instance, b)
        asked = s.sure or whole(b) is not None
        made = [] if asked else [self.fails("WS_ROOM", self.room(s), s)]
        return [*made, f"{cells}[{offset(s.index, self.names)}] = {value};"]

    def room(self, s: plan.Store | plan.Room) -> str:
        """The arguments of what asks whether there is room for a cell."""
        x, b = s.ref.instance, s.ref.buffer
        return f"{self.room_name(x, b)}, {self.names.register(x)}, {b.number}, {self.text(s.index)}"

    def compute(self, s: plan.Compute, reg: Reg, op: str, args: tuple[Expr, ...]) -> list[str]:
        kind = SUFFIX[args[0].type]
        function = f"ws_{op}" if op in ("isqrt", "int") else f"ws_{COMPUTES[op]}_{kind}"
        before, to = self.address(s, reg)
        success = f"{function}({', '.join([*map(self.text, args), to])})"
        message = f"{op} is not defined for {' and '.join(f'{{{k}}}' for k in range(len(args)))}"
        return [*before, self.fails("WS_DEFINED", success, s, message, args)]

    def access(self, s: Stmt) -> list[str]:
        match s:
            case plan.Atomic(ref=ref, index=index, op=op, value=value):
                told = f"{self.text(index)}, WS_{ATOMS[op]}, {self.text(value)}"
                call = f"ws_atomic_{ref.buffer.width}(t, {self.buffer(ref)}, {told})"
                origin = s.origin
                message = f"{origin.prefix}{op} is not defined for {{0}} and {{1}}"
                site = self.printer.site(origin.span, message, "II", s)
                return [f"WS_TRY({call}, {site});"]
            case plan.Claim(reg=reg, ref=ref, stop=stop, step=step):
                before, to = self.address(s, reg)
                call = f"ws_claim(t, {self.buffer(ref)}, {self.text(stop)}, {self.text(step)}, {to})"
                return [*before, self.fails("WS_TRY", call, s)]
            case plan.Acquire(ref=ref, index=index):
                return [self.fails("WS_TRY", f"ws_acquire(t, {self.buffer(ref)}, {self.text(index)})", s)]
            case plan.Release(ref=ref, index=index):
                return [f"ws_release(t, {self.buffer(ref)}, {self.text(index)});"]
            case plan.Sort(ref=ref, count=count) if _brief(s):
                return [f"ws_sort_few_i64({self.cell_name(ref.instance, ref.buffer)}, (uint64_t)({self.text(count)}));"]
            case plan.Sort(ref=ref, count=count):
                return [self.fails("WS_TRY", f"ws_sort(t, {self.buffer(ref)}, {self.text(count)})", s)]
        raise InternalError(f"not a statement of a plan: {s}")

    # --------------------------------------------------------------------------------------------------------- regions

    def nest(self, s: plan.While) -> list[str]:
        """A nest of loops as a function, for whose registers compilers have room; here, it is called."""
        given, name = self.printer.apart[id(s)], self.names.new("nest")
        left = [reg for reg in given if any(reg in sets(each) for each in walk((s,)))]
        self.printer.functions += Part(self.printer, (s,), name, given, left).function()
        frame = ", ".join(f".{x} = {x}" for x in map(self.names.register, given))
        shared = self.names.new(f"{name}_shared")
        lines = [f"struct {name} {shared} = {{{frame}}};", f"{name}(t, &{shared});", "WS_GO_ON;"]
        lines += (f"{x} = {shared}.{x};" for x in map(self.names.register, left))
        return lines if s.test else [f"if ({self.text(s.condition)}) {{", *_indented(lines), "}"]

    def par(self, s: Par) -> list[str]:
        """A parallel region as a function; here, its tasks are given the registers that it reads, all in one struct."""
        given = self.printer.apart[id(s)]
        name = self.names.new("region")
        self.printer.functions += Part(self.printer, s.body, name, given, s.joined, s.task).function()
        frame = ", ".join(f".{x} = {x}" for x in map(self.names.register, given))
        shared = self.names.new(f"{name}_shared")
        run = self.fails("WS_TRY", f"ws_par(t, {self.text(s.tasks)}, {name}, &{shared}, 0)", s)
        joined = (f"{self.to(s, reg)} = {shared}.ws_{self.names.register(reg)};" for reg in s.joined)
        return [f"struct {name} {shared} = {{{frame}}};", run, *joined]


class Part(Function):
    """Writes a function for a parallel region, or for a nest of loops: its variables are not those of others."""

    def __init__(
        self,
        printer: Printer,
        body: tuple[Stmt, ...],
        name: str,
        given: tuple[Reg, ...],
        left: Sequence[Reg],
        task: Reg | None = None,
    ) -> None:
        super().__init__(printer, body, given if task is None else (*given, task), ())
        self.name, self.given, self.left, self.task = name, given, left, task

    def function(self) -> list[str]:
        """The struct with what it is given, and what it does; registers that are `left` are put back there.

        Tasks share a struct. What they leave are truth values, each in a second field, true if it is true for one.
        """
        left = [self.names.register(reg) for reg in self.left]
        fields = [_declare(self.names, reg) for reg in self.given] + [f"bool ws_{x}" for x in left if self.task]
        lines = [f"struct {self.name} {{", *(f"    {field};" for field in fields), "};", ""]
        inner = [f"struct {self.name} *const f = frame;", "(void)t, (void)f;"]
        for reg in self.given:
            inner.append(f"{_declare(self.names, reg)} = f->{self.names.register(reg)};")
            inner += self.cells(reg)
        if self.task in self.printer.useful:
            inner.append(f"const int64_t {self.names.register(self.task)} = t->number;")
        inner += self.lines()
        back = "if ({0}) __atomic_store_n(&f->ws_{0}, true, __ATOMIC_RELAXED);" if self.task else "f->{0} = {0};"
        inner += map(back.format, left)
        apart = "" if self.task else "__attribute__((noinline)) "
        head = f"static {apart}void {self.name}(ws_task *t, void *frame) {{"
        return [*lines, head, *_indented(inner), "}", ""]


def nests(body: tuple[Stmt, ...], chunked: bool = False, looped: bool = False) -> Iterator[plan.While]:
    """The loops that are functions of their own: those with loops in them that are inside of another, and outermost.

    A function of many loops has more variables than there are registers, and compilers keep the wrong ones in memory:
    the product of sparse matrices takes 15 % longer in one function. A function that is called for each fiber costs
    more than it gains where fibers are short: MTTKRP takes 1.4 times as long. So one is called for each row, or, if
    rows have no loops inside of each other, for each chunk of them.
    """
    for s in body:
        if isinstance(s, plan.While):
            height = _height(s)
            if (looped and 2 <= height < PARALLEL) or (chunked and height == 2):
                yield s
                continue
        chunks = isinstance(s, plan.While) and any(isinstance(x, plan.Claim) for x in s.test)
        for block in parts(s):
            if isinstance(s, Par):
                yield from nests(block)
            else:
                yield from nests(block, chunked or chunks, looped or (isinstance(s, plan.While) and not chunks))


BRIEF = 64
"""Numbers are sorted in place, by insertion, in a buffer that has room for no more."""

PARALLEL = 1000
"""The height of a parallel region, more than that of any nest of loops."""


def _brief(s: Stmt) -> bool:
    """Whether a statement sorts so few numbers that C does so where it stands."""
    return isinstance(s, plan.Sort) and s.ref.buffer.width == "i64" and 0 < s.ref.buffer.bound <= BRIEF


def _own(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """A block without the plain form of statements that C has code of its own for."""
    out: list[Stmt] = []
    for s in body:
        if isinstance(s, plan.Meet):
            out += [replace(s, plain=())] if s.lists else _own(s.plain)
        else:
            out.append(with_blocks(s, _own))
    return tuple(out)


def _height(s: Stmt) -> int:
    """How many loops are inside of each other in a statement."""
    inside = max((_height(x) for block in parts(s) for x in block), default=0)
    return inside + PARALLEL * isinstance(s, Par) + isinstance(s, plan.While)


def _text(value: str) -> str:
    r"""A string of C, without trigraphs.

    >>> print(_text('a "b" \\ ??/ \n'))
    "a \"b\" \\ \?\?/ \\n"
    """
    return '"' + re.sub(r'["\\?]', r"\\\g<0>", visible(value)) + '"'


def _comment(text: str) -> str:
    """A comment to the end of the line, which no backslash or trigraph for one continues on the next."""
    line = f"// {visible(text)}".rstrip()
    return f"{line} ." if line.endswith(("\\", "??/")) else line


def _ordered(regs: Iterable[Reg]) -> tuple[Reg, ...]:
    """In an order in which they can be declared: what tells how large buffers are before the instances of these."""
    return tuple(sorted(regs, key=lambda reg: (reg.type == "instance", reg.name, reg.type)))


def _declare(names: Names, reg: Reg) -> str:
    kind = TYPES[reg.type]
    return f"{kind}{'' if kind.endswith('*') else ' '}{names.register(reg)}"


def _zero(reg: Reg) -> str:
    return {"float": "0.0", "bool": "false", "instance": "NULL"}.get(reg.type, "0")


def _waits(s: plan.While) -> bool:
    """Whether a loop waits for others, or takes its share of what there is to do."""
    return any(isinstance(x, plan.Claim | plan.Acquire | Par) for x in walk((*s.test, *s.body)))
