"""Plans as C functions: one for the root task, one for each parallel region, one for each nest of loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from wingspan.base.errors import InternalError, Span
from wingspan.compiled.common_runs import print_common_runs
from wingspan.compiled.expressions import c_value, expression, offset
from wingspan.compiled.lanes import LaneWriter
from wingspan.compiled.lexical import comment, indent
from wingspan.compiled.memory_plan import memory_plan, sorts_few
from wingspan.compiled.printing import Printing
from wingspan.compiled.registers import declare, within
from wingspan.lang.operators import OPERATIONS, OPERATORS
from wingspan.lang.widths import WIDTHS
from wingspan.plan import ir as plan
from wingspan.plan import kernels
from wingspan.plan.ir import Expr, Load, Par, PlanBuffer, Ref, Reg, Stmt, Width, walk
from wingspan.plan.passes.hoist_bounds_checks import full_capacity
from wingspan.plan.passes.tile import row
from wingspan.plan.uses import defs, sets_in

CELLS: dict[Width, str] = {name: width.c for name, width in WIDTHS.items()}


class FunctionWriter:
    """Writes the body of a C function: the root task's, or a parallel region's."""

    def __init__(
        self,
        printing: Printing,
        body: tuple[Stmt, ...],
        given: tuple[Reg, ...],
        ends: Iterable[Reg],
        nullable: Iterable[Reg] = (),
    ) -> None:
        self.printing, self.names, self.body = printing, printing.names, body
        own = {id(s) for s in body if isinstance(s, plan.While | kernels.Tile)}
        self.apart = {k: shared for k, shared in printing.apart.items() if k not in own}
        """the nests in functions apart, without the one that this function may be"""
        self.memory = memory_plan(printing, body, given, ends, self.apart, nullable)
        self.line: Span | None = None
        self.lanes: LaneWriter | None = None
        """the loop over lanes that is being written for several of these at once"""
        self.loops = 0
        """the loops around the statement that is being written: what stops a run is noticed between two of them"""
        self.waits = ""
        """the number of times that runs are not to be compared side by side, as few were in common"""

    def lines(self) -> list[str]:
        """All statements, after the variables that no statement declares."""
        printed = {reg for s in within(self.body, self.apart) if not isinstance(s, plan.Set | Load) for reg in defs(s)}
        first = [reg for reg in self.memory.declared.first if reg in self.printing.useful | printed]
        zeros = [f"{declare(self.names, reg)} = {reg.type.c_zero};" for reg in first]
        unknown = [line for reg in self.memory.declared.first for line in self.unknown(reg)]
        if any(isinstance(s, kernels.CommonRuns) for s in within(self.body, self.apart)):
            self.waits = self.names.new("wait")
            zeros += ["#if WS_RUN_LANES", f"int64_t {self.waits} = 0;", "#endif"]
        return [*zeros, *unknown, *self.block(self.body)]

    def block(self, body: tuple[Stmt, ...]) -> list[str]:
        lines: list[str] = []
        for s in body:
            made = self.statement(s)
            if made and self.printing.racy and isinstance(s, plan.Access):
                made = ["WS_YIELD;", *made]
            lines += [*self.source(s), *made] if made else []
        return lines

    def source(self, s: Stmt) -> Iterator[str]:
        """The source line of a statement, if the one before came from another."""
        origin = getattr(s, "origin", None)
        span: Span | None = origin.span if origin else None
        if span is not None and (self.line is None or self.line.line != span.line):
            self.line = span
            yield comment(f"{span.line} │ {span.source.line(span.line).strip()}")

    # --------------------------------------------------------------------------------------------------------- buffers

    def cells(self, x: Reg, declared: bool = True) -> Iterator[str]:
        """Variables, or new values of them, for the addresses of an instance's cells that this function accesses."""
        instance = self.names.register(x)
        for pointer in self.memory.pointers.get(x, ()):
            b = pointer.buffer
            cells = self.cell_name(x, b)
            yield f"{f'{self.pointer(b)}const ' if declared else ''}{cells} = WS_CELLS({instance}, {b.number});"
            if pointer.reserve == "all":
                yield self.all(Ref(b, x))
            elif pointer.reserve == "one by one":
                room = self.room_name(x, b)
                yield f"{'uint64_t ' if declared else ''}{room} = WS_HAS({instance}, {b.number});"

    def all(self, ref: Ref) -> str:
        """Asks for all cells of such a buffer."""
        most, site = full_capacity(ref.buffer), self.printing.site(None, "")
        assert most is not None
        return f"WS_ALL({self.names.register(ref.instance)}, {ref.buffer.number}, {self.text(most)}, {site});"

    def unknown(self, x: Reg) -> Iterator[str]:
        """The variables for that while it is not known which instance it is."""
        for pointer in self.memory.pointers.get(x, ()):
            yield f"{self.pointer(pointer.buffer)}{self.cell_name(x, pointer.buffer)} = NULL;"
            if pointer.reserve == "one by one":
                yield f"uint64_t {self.room_name(x, pointer.buffer)} = 0;"

    def pointer(self, b: PlanBuffer) -> str:
        return f"const {CELLS[b.width]} *restrict " if self.is_borrowed(b) else f"{CELLS[b.width]} *"

    def is_borrowed(self, b: PlanBuffer) -> bool:
        """Whether a buffer of an input lies where its owner has it."""
        return b.tensor in self.printing.borrowed

    def base(self, b: PlanBuffer) -> int:
        """The difference between a number that counts from 1 and its cell: 1 if the buffer counts from 0."""
        return int((b.group, b.number) in self.printing.zero_based)

    def cell_name(self, x: Reg, b: PlanBuffer) -> str:
        """The C name of the cells of a buffer of an instance."""
        made, group = self.printing.cell_names, self.printing.plan.groups[b.group]
        if (x, b.number) not in made:
            level = b.level if sum(other.name == b.name for other in group.buffers) > 1 else ""
            made[x, b.number] = self.names.new(f"{self.names.register(x)}_{'cell' if b.depth < 0 else b.name}{level}")
        return made[x, b.number]

    def room_name(self, x: Reg, b: PlanBuffer) -> str:
        """The C name of the number of cells that may be written."""
        made = self.printing.room_names
        if (x, b.number) not in made:
            made[x, b.number] = self.names.new(f"{self.cell_name(x, b)}_cells")
        return made[x, b.number]

    def buffer(self, ref: Ref) -> str:
        return f"&{self.names.register(ref.instance)}->buffers[{ref.buffer.number}]"

    # ------------------------------------------------------------------------------------------------------ statements

    def statement(self, s: Stmt) -> list[str]:
        match s:
            case plan.If(condition=condition, then=then, otherwise=otherwise):
                yes, no = (self.branch(s, block) for block in (then, otherwise))
                lines = [f"if ({self.text(condition)}) {{", *indent(yes)]
                return [*lines, *(["} else {", *indent(no)] if no else []), "}"] if yes or no else []
            case plan.While() | kernels.Tile() if id(s) in self.apart:
                return self.nest(s)
            case plan.While() if self.lanes is not None and s is self.lanes.loop:
                return self.lanes.rounds()
            case plan.While(test=test, condition=condition, body=body) as s:
                before = ["WS_GO_ON;"] if self.loops else []
                stops = ["WS_GO_ON;"] if _waits(s) else []
                self.loops += 1
                match test:
                    case ():
                        head, inner = f"while ({self.text(condition)}) {{", self.block(body)
                        before += ["WS_APART"] if s.apart else []
                    case (kernels.NextPair(lists=(x, y)),):
                        matches = self.names.new("matches")
                        before.append(f"ws_matches {matches} = {{0}};")
                        head, inner = f"while ({self.next_pair(matches, x, y)}) {{", self.block(body)
                    case _:
                        leave = f"if (!({self.text(condition)})) break;"
                        head, inner = "for (;;) {", [*self.block(test), leave, *self.block(body)]
                self.loops -= 1
                return [*before, head, *indent([*stops, *inner]), "}"]
            case kernels.UnionBlocks():
                return self.union(s)
            case kernels.CommonRuns():
                return print_common_runs(self, s, self.waits)
            case kernels.ScanBitmap():
                return self.scan_bitmap(s)
            case kernels.Tile():
                return self.tile(s)
            case Par():
                return self.par(s)
            case plan.Set(reg=reg) if self.lanes is not None and reg == self.lanes.unread:
                return []
            case plan.Set(reg=reg, value=value):
                return [f"{self.to(s, reg)} = {self.text(value)};"] if reg in self.printing.useful else []
            case plan.Load(reg=reg):
                return [f"{self.to(s, reg)} = {self.load(s)};"] if reg in self.printing.useful else []
            case plan.Store():
                return self.store(s)
            case plan.Reserve():
                return [self.fails("WS_ASK", self.reserve_arguments(s), s)]
            case plan.Prefetch(ref=ref, index=index):
                cells = self.cell_name(ref.instance, ref.buffer)
                return [f"__builtin_prefetch(&{cells}[{offset(index, self.names)}]);"]
            case plan.Compute(op=op, args=args):
                return self.compute(s, op, args)
            case plan.Check(condition=condition, message=message, values=values):
                numbered = message.format(**{name: f"{{{k}}}" for k, (name, _) in enumerate(values)})
                return [self.fails("WS_REQUIRE", self.text(condition), s, numbered, tuple(e for _, e in values))]
            case plan.Child(reg=reg, group=group, parent=parent, key=key):
                found = f"ws_child(t, {group}, {self.names.register(parent)}, {self.text(key)})"
                return self.instance(s, reg, found)
            case plan.AllocateInstance(reg=reg, group=group):
                return self.instance(s, reg, f"ws_fresh(t, {group})")
            case plan.ReleaseInstance(reg=reg):
                return [f"ws_drop(t, {self.names.register(reg)});"]
        return self.access(s)

    def branch(self, s: plan.If, block: tuple[Stmt, ...]) -> list[str]:
        reserved = self.memory.deferred.get((id(s), block is s.then), ())
        return [*map(self.all, reserved), *self.block(block)]

    def text(self, e: Expr) -> str:
        return expression(e, self.names)

    def to(self, s: Stmt, reg: Reg) -> str:
        """The variable that a statement sets, declared if it is set for the first time."""
        if reg in self.memory.declared.at.get(id(s), ()):
            constant = reg in self.memory.declared.constant
            return f"const {declare(self.names, reg)}" if constant else declare(self.names, reg)
        return self.names.register(reg)

    def address(self, s: Stmt, reg: Reg) -> tuple[list[str], str]:
        """The same for a statement that sets it by its address."""
        name = self.names.register(reg)
        return [f"{declare(self.names, reg)};"] if reg in self.memory.declared.at.get(id(s), ()) else [], f"&{name}"

    def fails(self, macro: str, success: str, s: Stmt, message: str = "", values: tuple[Expr, ...] = ()) -> str:
        """Leave unless something succeeds."""
        origin = s.origin  # type: ignore[union-attr]
        site = self.printing.site(origin.span, origin.prefix + message, "".join(e.type.letter for e in values), s)
        return f"{macro}({', '.join([success, str(site), *(c_value(e, self.names) for e in values)])});"

    def instance(self, s: Stmt, reg: Reg, found: str) -> list[str]:
        name, declared = self.names.register(reg), reg in self.memory.declared.at.get(id(s), ())
        lines = [f"{'ws_instance *const ' if declared else ''}{name} = {found};", self.fails("WS_TRY", name, s)]
        return [*lines, *self.cells(reg, declared)]

    def load(self, s: Load) -> str:
        b = s.ref.buffer
        if b.hashed:
            return f"ws_hash_load({self.buffer(s.ref)}, {self.text(s.index)})"
        if self.printing.racy:
            return f"ws_load_{b.width}({self.buffer(s.ref)}, {self.text(s.index)}, t->run->order)"
        cell = f"{self.cell_name(s.ref.instance, b)}[{offset(s.index, self.names)}]"
        return f"(int64_t){cell} + 1" if self.base(b) else cell

    def next_pair(self, matches: str, x: kernels.Listed, y: kernels.Listed) -> str:
        """Moves on to what two lists have in common, if they do; one may count from 0, and the other from 1."""
        lists = []
        for each in (x, y):
            cells = self.cell_name(each.ref.instance, each.ref.buffer)
            lists.append(f"{cells}, &{self.names.register(each.at)}, {self.text(each.end)}")
        shift = self.base(x.ref.buffer) - self.base(y.ref.buffer)
        return f"ws_next_pair(&{matches}, {', '.join(lists)}, {shift})"

    def union(self, s: kernels.UnionBlocks) -> list[str]:
        """Goes through what either of two lists has; the elements of a block are laid out side by side before."""
        union, entry, lists, more, elements, each = self.names.new("both"), self.names.new("entry"), [], [], [], []
        for listed in s.lists:
            cells = self.cell_name(listed.ref.instance, listed.ref.buffer)
            at, end = self.names.register(listed.at), self.text(listed.end)
            lists.append(f"{cells}, {at}, {end}, {self.base(listed.ref.buffer)}")
            more.append(f"{at} < {end}")
        for load, fill in s.loads:
            b, named = load.ref.buffer, self.names.new(f"{self.names.register(load.reg)}_of")
            first = f"{self.cell_name(load.ref.instance, b)} + {offset(load.index, self.names)}"
            has = f"{union}.{'x' if load.index == s.lists[0].at else 'y'}, {union}.n"
            elements.append(f"{CELLS[b.width]} {named}[WS_UNION_BLOCK];")
            elements.append(f"ws_spread_{b.width}({named}, {first}, {has}, {self.text(fill)});")
            each.append(f"{self.to(s, load.reg)} = {named}[{entry}];")
        if s.at in self.printing.useful:
            each.append(f"{self.to(s, s.at)} = {union}.at[{entry}];")
        onward = (f"{self.names.register(x.at)} += {union}.in_{name};" for x, name in zip(s.lists, "xy", strict=True))
        inner = [f"ws_union {union};", f"ws_union_block(&{union}, {', '.join(lists)});", *elements]
        inner += [
            f"for (int64_t {entry} = 0; {entry} < {union}.n; {entry}++) {{",
            *indent([*each, *self.block(s.body)]),
            "}",
            *onward,
        ]
        return ["#if WS_UNION_BLOCK", "do {", *indent(inner), f"}} while ({' || '.join(more)});", "#endif"]

    def scan_bitmap(self, s: kernels.ScanBitmap) -> list[str]:
        """Appends the indices of a bitmap to a list, a word at a time."""
        count, cells = self.names.register(s.count), self.cell_name(s.ref.instance, s.ref.buffer)
        self.loops += 1
        onward = self.block(s.onward)
        self.loops -= 1
        before = f"{self.text(s.before)}{' - 1' * self.base(s.ref.buffer)}"
        inner = [f"{count} += ws_scan_word({cells} + {count}, {self.text(s.word)}, {before});", *onward]
        return ["#if WS_SCANS_BITMAPS", f"while ({self.text(s.condition)}) {{", *indent(inner), "}", "#endif"]

    def tile(self, s: kernels.Tile) -> list[str]:
        """A loop over rows, for as many cells as fit in registers while there are as many, and then for the others."""
        lines = [f"{self.to(s, s.front)} = {self.text(s.first)};"]
        front, last = self.names.register(s.front), self.text(s.last)
        if (found := row(s)) is not None:
            names = map(self.names.register, s.carried)
            carried = {name: self.names.new(f"{name}_before") for name in names}
            self.lanes = LaneWriter(self, s, *found)
            inner = [*self.lanes.load(), *self.block(s.body), *self.lanes.store()]
            self.lanes = None
            lines += (f"const int64_t {before} = {name};" for name, before in carried.items())
            lines.append(f"for (; {front} <= {last} - (WS_TILE - 1); {front} += WS_TILE) {{")
            lines += indent([*inner, *(f"{name} = {before};" for name, before in carried.items())])
            lines.append("}")
        return [*lines, f"if ({front} <= {last}) {{", *indent(self.block(s.body)), "}"]

    def store(self, s: plan.Store) -> list[str]:
        b, value = s.ref.buffer, self.text(s.value)
        if isinstance(s.value, plan.Const) and not b.hashed and not WIDTHS[b.width].holds(s.value.value):
            value = f"({CELLS[b.width]}){value}"  # after a fault
        if b.hashed:
            success = f"ws_hash_store(t, {self.buffer(s.ref)}, {self.text(s.index)}, {value})"
            return [self.fails("WS_TRY", success, s)]
        if self.printing.racy:
            stored = f"{self.buffer(s.ref)}, {self.text(s.index)}, {value}, t->run->order"
            return [self.fails("WS_TRY", f"ws_store_{b.width}(t, {stored})", s)]
        cells = self.cell_name(s.ref.instance, b)
        asked = s.sure or full_capacity(b) is not None
        made = [] if asked else [self.fails("WS_ROOM", self.reserve_arguments(s), s)]
        value = f"({value}) - 1" if self.base(b) else value
        return [*made, f"{cells}[{offset(s.index, self.names)}] = {value};"]

    def reserve_arguments(self, s: plan.Store | plan.Reserve) -> str:
        """The arguments of what asks whether there is room for a cell."""
        x, b = s.ref.instance, s.ref.buffer
        return f"{self.room_name(x, b)}, {self.names.register(x)}, {b.number}, {self.text(s.index)}"

    def compute(self, s: plan.Compute, op: str, args: tuple[Expr, ...]) -> list[str]:
        before, _ = self.address(s, s.reg)
        message = f"{op} is not defined for {' and '.join(f'{{{k}}}' for k in range(len(args)))}"
        return [*before, self.fails("WS_DEFINED", self.success(s), s, message, args)]

    def success(self, s: plan.Compute) -> str:
        """The C function that computes an operator and returns whether it is defined."""
        function = OPERATIONS[s.op].tried.format(s.args[0].type.cell)
        return f"{function}({', '.join([*map(self.text, s.args), f'&{self.names.register(s.reg)}'])})"

    def access(self, s: Stmt) -> list[str]:
        match s:
            case plan.AtomicUpdate(ref=ref, index=index, op=op, value=value, signed_times=times):
                name, how = ("", f"WS_{OPERATORS[op].atomic}") if times is None else ("muladd_", self.text(times))
                operands = f"{self.text(index)}, {how}, {self.text(value)}"
                call = f"ws_atomic_{name}{ref.buffer.width}(t, {self.buffer(ref)}, {operands})"
                origin = s.origin
                message = f"{op} is not defined for {{0}} and {{1}}"
                if WIDTHS[ref.buffer.width].narrow:
                    message = f"{ref.buffer.place}{{0}} {op} {{1}} does not fit {ref.buffer.width}"
                message = origin.prefix + message
                site = self.printing.site(origin.span, message, "II", s)
                return [f"WS_TRY({call}, {site});"]
            case plan.AtomicLoad(reg=reg, ref=ref, index=index):
                kind = "hash_load" if ref.buffer.hashed else f"load_{ref.buffer.width}"
                order = "" if ref.buffer.hashed else ", WS_SEQ_CST"
                return [f"{self.to(s, reg)} = ws_{kind}({self.buffer(ref)}, {self.text(index)}{order});"]
            case plan.Swap(reg=reg, ref=ref, index=index, old=old, value=value):
                before, to = self.address(s, reg)
                kind = "bool" if reg.type.is_boolean else ref.buffer.width
                operands = ", ".join(map(self.text, (index, old, value)))
                return [*before, self.fails("WS_TRY", f"ws_swap_{kind}(t, {self.buffer(ref)}, {operands}, {to})", s)]
            case plan.FetchChunk(reg=reg, ref=ref, stop=stop, step=step):
                before, to = self.address(s, reg)
                call = f"ws_claim(t, {self.buffer(ref)}, {self.text(stop)}, {self.text(step)}, {to})"
                return [*before, self.fails("WS_TRY", call, s)]
            case plan.Acquire(ref=ref, index=index):
                return [self.fails("WS_TRY", f"ws_acquire(t, {self.buffer(ref)}, {self.text(index)})", s)]
            case plan.Release(ref=ref, index=index):
                return [f"ws_release(t, {self.buffer(ref)}, {self.text(index)});"]
            case plan.Sort(ref=ref, count=count) if sorts_few(s):
                return [f"ws_sort_few_i64({self.cell_name(ref.instance, ref.buffer)}, (uint64_t)({self.text(count)}));"]
            case plan.Sort(ref=ref, count=count):
                return [self.fails("WS_TRY", f"ws_sort(t, {self.buffer(ref)}, {self.text(count)})", s)]
        raise InternalError(f"not a statement of a plan: {s}")

    # --------------------------------------------------------------------------------------------------------- regions

    def nest(self, s: plan.While | kernels.Tile) -> list[str]:
        """A nest of loops as a function, for whose registers compilers have room; here, it is called."""
        given, name, made = self.printing.apart[id(s)], self.names.new("nest"), sets_in((s,))
        left = [reg for reg in given if reg in made]
        self.printing.functions += Part(self, (s,), name, given, left).function()
        frame = ", ".join(f".{x} = {x}" for x in map(self.names.register, given))
        shared = self.names.new(f"{name}_shared")
        lines = [f"struct {name} {shared} = {{{frame}}};", f"{name}(t, &{shared});", "WS_GO_ON;"]
        lines += (f"{x} = {shared}.{x};" for x in map(self.names.register, left))
        if isinstance(s, kernels.Tile) or s.test:
            return lines
        return [f"if ({self.text(s.condition)}) {{", *indent(lines), "}"]

    def par(self, s: Par) -> list[str]:
        """A parallel region as a function; here, its tasks are given the registers that it reads, all in one struct."""
        given = self.printing.apart[id(s)]
        name = self.names.new("region")
        self.printing.functions += Part(self, s.body, name, given, s.joined, s.task).function()
        frame = ", ".join(f".{x} = {x}" for x in map(self.names.register, given))
        shared = self.names.new(f"{name}_shared")
        habit = self.names.new(f"{name}_habit")
        run = self.fails("WS_TRY", f"ws_par(t, {self.text(s.tasks)}, {name}, &{shared}, 0, &{habit})", s)
        joined = (f"{self.to(s, reg)} = {shared}.ws_{self.names.register(reg)};" for reg in s.joined)
        return [f"static ws_habit {habit};", f"struct {name} {shared} = {{{frame}}};", run, *joined]


class Part(FunctionWriter):
    """Writes a function for a parallel region, or for a nest of loops: its variables are not those of others."""

    def __init__(
        self,
        around: FunctionWriter,
        body: tuple[Stmt, ...],
        name: str,
        given: tuple[Reg, ...],
        left: Sequence[Reg],
        task: Reg | None = None,
    ) -> None:
        parameters = given if task is None else (*given, task)
        super().__init__(around.printing, body, parameters, (), around.memory.nullable)
        self.name, self.given, self.left, self.task = name, given, left, task

    def function(self) -> list[str]:
        """Print the frame struct and the function, which writes the `left` registers back to the frame.

        Tasks share a struct. What they leave are truth values, each in a second field, true if it is true for one.
        """
        left = [self.names.register(reg) for reg in self.left]
        fields = [declare(self.names, reg) for reg in self.given] + [f"bool ws_{x}" for x in left if self.task]
        lines = [f"struct {self.name} {{", *(f"    {field};" for field in fields), "};", ""]
        inner = [f"struct {self.name} *const f = frame;", "(void)t, (void)f;"]
        for reg in self.given:
            inner.append(f"{declare(self.names, reg)} = f->{self.names.register(reg)};")
            if reg not in self.memory.nullable:
                inner += self.cells(reg)
            elif known := list(self.cells(reg, declared=False)):
                inner += [*self.unknown(reg), f"if ({self.names.register(reg)} != NULL) {{", *indent(known), "}"]
        if self.task in self.printing.useful:
            inner.append(f"const int64_t {self.names.register(self.task)} = t->number;")
        inner += self.lines()
        back = "if ({0}) __atomic_store_n(&f->ws_{0}, true, __ATOMIC_RELAXED);" if self.task else "f->{0} = {0};"
        inner += map(back.format, left)
        apart = "" if self.task else "__attribute__((noinline, aligned(64))) "
        head = f"static {apart}void {self.name}(ws_task *t, void *frame) {{"
        return [*lines, head, *indent(inner), "}", ""]


def _waits(s: plan.While) -> bool:
    """Whether a loop waits for others, or takes its share of what there is to do."""
    return any(isinstance(x, plan.FetchChunk | plan.Acquire | Par) for x in walk((*s.test, *s.body)))
