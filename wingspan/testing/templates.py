"""Random small programs, each about one thing: tasks that meet, regions, masks, updates in place, images. As text.

Their statements are from tables, in loops that are made for them. So they reach, in few states, what programs of
any statements rarely reach. Strategies of Hypothesis draw what the writers before them write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from wingspan.testing.choosing import Chooser, by_seed, drawn_by
from wingspan.testing.formats import (
    BOUNDED,
    LEAVES,
    MODIFIERS,
    SINGLE,
    STORAGE,
    fitting,
    legal,
    random_format,
    rank_of,
)
from wingspan.testing.vocabulary import COMPARISONS, FUNCTIONS, SCHEDULED, UPDATES, declarations

DEVICES = "dev = cpu(:dev, 2)\nfar = cpu(:far, {})"
NEAR = tuple(modifier for modifier in MODIFIERS if "far" not in modifier)
"""Modifiers that only name the device that all tasks run on."""
OPERATORS = (*UPDATES["int"], *(f"<<{f}>>=" for f in FUNCTIONS["int"]))
"""The updates of integers."""


def enclose(headers: Sequence[str], body: Sequence[str]) -> list[str]:
    """Statements in loops, outermost first."""
    return [*headers, *body, *["end"] * len(headers)]


# ------------------------------------------------------------------------------------------------------------ meetings


def write_meeting(choose: Chooser, storage: Sequence[str] = STORAGE, modifiers: Sequence[str] = MODIFIERS) -> str:
    """Two tasks, some nested, that access one tensor of any format in one or two statements."""
    nested, rank = choose.chance(4), choose.between(0, 2)
    among = modifiers if nested else [modifier for modifier in modifiers if "far" not in modifier]
    form = random_format(choose, f"{choose.pick(LEAVES)}(0)", rank, storage, among)
    op, inner = choose.pick(("+=", "+=", "=", "<<max>>=")), choose.pick((False, False, True))
    subscripts = ("k", "k", "1", "3 - k", *["i"] * 3 * inner)

    def update() -> str:
        return f"C[{', '.join(choose.pick(subscripts) for _ in range(rank))}] {op} k"

    body = [choose.pick(("", "", "x = k", "x = x + 1")) or update() for _ in range(choose.between(1, 2))]
    loops = ["for k = parallel(1:2, dev)", *["for l = parallel(1:1, far)"] * nested, *["for i = 1:1"] * inner]
    lines = [DEVICES.format(1), f"C = Tensor({form}{', 2' * rank})", "C .= 0", "x = 0"]
    return "\n".join([*lines, *enclose(loops, body), "return C"])


@st.composite
def meetings(draw: st.DrawFn, storage: Sequence[str] = STORAGE, modifiers: Sequence[str] = MODIFIERS) -> str:
    """Draws programs with two tasks, some nested, which access one tensor of any format in one or two statements."""
    return write_meeting(drawn_by(draw), storage, modifiers)


# ------------------------------------------------------------------------------------------------------------- regions

PRIVATE = ["w .= 0", "w[] += 1"]
"""Statements that no other task can observe: each task has a tensor w of its own."""


def regions(seed: int, form: str = "", several: int | None = None, nested: bool | None = None) -> str:
    """The program with this number: tasks update a tensor C, a counter and a variable, in several parallel regions.

    C has the given format, or any format of rank 0 or 1. The program has the given number of regions, or up to three,
    or up to two in a serial loop. `nested` says whether a region is nested in the first one; by default it is random.
    Half of the tasks end with steps that no other task can observe, so that a region may end by such a step.
    """
    choose = by_seed(seed)
    form = form or random_format(choose, f"{choose.pick(LEAVES)}(0)", choose.pick((0, 1, 1)), STORAGE, MODIFIERS)
    rank = rank_of(form)

    def update(index: str) -> list[str]:
        # where positions belong to threads, each iteration uses its own position
        at = index if "Shard(" in form or choose.chance(3) else "1"
        element, counter = f"C[{at * rank}] += 1", f"x[{index if choose.chance(3) else 1}] += 1"
        lines = [[element], [counter], [counter, element], *[[element, counter]] * 2, ["s = s + 1"]]
        return choose.pick(lines)

    def region(index: str, device: str, inner: int = 0) -> list[str]:
        lines = [] if choose.chance(8) else update(index)[inner > 0 :]
        for _ in range(inner):
            lines += region("l", "far")
        lines += PRIVATE if choose.chance(2) else []
        last, schedule = choose.pick((*[2] * 6, 1, 0)), choose.pick(("", "", ", dynamic_schedule(1)"))
        return enclose([f"for {index} = parallel(1:{last}, {device}{schedule})"], lines)

    body: list[str] = []
    for number in range(several or choose.pick((1, 2, 2, 2, 3))):
        body += update("2") if choose.chance(6) else []
        inside = "far" in form or choose.chance(5) if nested is None else nested and number == 0
        body += region("k", "dev", choose.pick((1, 1, 2)) if inside else 0)
    if several is None and len(body) <= 8 and choose.chance(2):
        body = enclose(["for i = 1:2"], body)
    counter = choose.pick(("Element", "Atomic", "Atomic"))
    return "\n".join([
        DEVICES.format("2, dev"), f"C = Tensor({form}{', 2' * rank})", f"x = Tensor(Dense({counter}(0)), 2)",
        "w = Tensor(Element(0))", "C .= 0", "x .= 0", "s = 0", *body, "return C, x",
    ])  # fmt: skip


# --------------------------------------------------------------------------------------------------------------- masks

VECTORS = ("[0, 2]", "[1, 0]", "[0, 0]", "[1, 2]")
OVERFLOWING = "9223372036854775807 + k > 0"


def write_mask(choose: Chooser) -> str:
    """An update of T in loops over its subscripts and k, some of which tasks run, under conditions.

    A loop enters the fibers that its body updates whether conditions in the body hold or not. So these programs race,
    fault or wait for a lock at places where nothing is computed.
    """
    rank, truth, shared = choose.pick((1, 1, 2)), choose.chance(4), choose.chance(3)
    own = ["i"] if rank == 1 else ["j", "i"]
    nest = list(own)
    nest.insert(choose.between(0, rank), "k")
    tasks, workspace = choose.pick((*nest, *nest, "")), not truth and choose.chance(3)
    lines: list[str] = []
    ends = 0
    for at, index in enumerate(nest):
        around = nest[: at + 1]
        end = choose.pick(("2", "2", "2", *nest[:at], *["x + 1"] * shared))
        parallel = f"parallel(1:{end}, dev{choose.pick(SCHEDULED[1:3])})"
        lines.append(f"for {index} = {parallel if index == tasks else f'1:{end}'}")
        guard = [f"if {condition(choose, around, shared)}"] * choose.chance(3)
        lines += guard
        ends += 1 + len(guard)
        lines += [f"if {index} == 1; x = {index}; end"] * (index == tasks and shared)
        workspace = workspace and (index != "k" or "i" not in around)
        lines += ["w .= 0; for l = 1:2; w[l] += A[k] * B[l]; end"] * (index == "k" and workspace)
    guard = [] if choose.chance(3) else [f"if {condition(choose, nest, shared)}"]
    lines += [*guard, *masked_updates(choose, f"T[{', '.join(reversed(own))}]", nest, truth, shared, workspace)]
    zero = "false" if truth else "0"
    form = random_format(choose, f"{choose.pick(('Element', *LEAVES))}({zero})", rank, SINGLE, NEAR)

    def read(data: str) -> str:
        return f"Tensor({choose.pick(fitting(SINGLE, 'Element(0)'))}(Element(0)), {data})"

    return "\n".join([
        "dev = cpu(:dev, 2)", *(f"{name} = {read(choose.pick(VECTORS))}" for name in "AB"),
        *[f"w = {read('2')}"] * workspace, f"T = Tensor({form}{', 2' * rank})", f"T .= {zero}", *["x = 0"] * shared,
        *lines, *["end"] * (ends + len(guard)), "return T",
    ])  # fmt: skip


def masked_updates(
    choose: Chooser, target: str, nest: Sequence[str], truth: bool, shared: bool, workspace: bool
) -> list[str]:
    """One or two updates of an element."""
    if truth:
        op, values = choose.pick(("|=", "|=", "=")), [condition(choose, nest, shared)]
    else:
        op = choose.pick(("+=", "+=", "="))
        values = ["1", "A[k]", "A[i]", "A[k] * B[i]", "A[k] + B[k]", f"ifelse({comparison(choose, nest)}, 1, 0)"]
        values += ["w[i]"] * 4 * workspace
    return [f"{target} {op} {choose.pick(values)}" for _ in range(choose.pick((1, 1, 1, 2)))]


def condition(choose: Chooser, indices: Sequence[str], shared: bool) -> str:
    """A comparison, perhaps beside an element, a variable that tasks share, or a sum that may overflow."""
    others = ["", "", "", "", *[f"A[{choose.pick(indices)}] > 0"] * 2, comparison(choose, indices)]
    others += [*["x == 0"] * shared, *[OVERFLOWING] * ("k" in indices)]
    first, second = comparison(choose, indices), choose.pick(others)
    return f"{first} {choose.pick(('&&', '||'))} {second}" if second else first


def comparison(choose: Chooser, indices: Sequence[str]) -> str:
    """An index compared with a number or another index."""
    return f"{choose.pick(indices)} {choose.pick(COMPARISONS)} {choose.pick((*indices, '1', '2', '3', '0'))}"


# ---------------------------------------------------------------------------------------------------- updates in place

IN_PLACE = (
    "a[i] {op} a[i + 1] + 1", "a[i] {op} a[i - 1] + 1", "a[i + 1] {op} a[i]", "a[i] {op} a[i] + b[i]",
    "a[i] {op} a[{n} + 1 - i]", "a[i] {op} a[1]", "a[1] {op} a[i]", "a[i] {op} a[i - 1] - 2 * a[i] + a[i + 1]",
    "a[i] {op} coalesce(a[~(i - 2)], 3) + b[i]", "if a[i] > 1\na[i + 1] {op} 2\nend",
    "x = a[i - 1]\na[i] {op} x + b[i]", "a[i] {op} b[i] * a[i - 1]", "s[] {op} a[i]\na[i] {op} s[]",
    "s[] {op} s[] + b[i]", "s[] {op} s[] + 1", "a[2] {op} a[2] + b[i]", "s[] {op} b[i]\nc[i] {op} s[]",
    "a[b[i] + 1] {op} a[i]", "a[i] {op} a[b[i] + 1]", "a[b[i] + 1] {op} a[b[i] + 1] + 1",
    "for k = 1:a[i] % 3\na[i] {op} k\nend", "for k = 1:2\na[k] {op} a[i]\nend",
    "for k = 1:2\nc[k] {op} a[i] + c[k]\nend",
    "if i % 2 == 0\na[i] {op} a[i - 1] + a[i + 1]\nend", "w .= 0\nw[] {op} w[] + a[i]\na[i] {op} w[]",
    "a[i] {op} ifelse(a[i - 1] > 1, a[i + 1], b[i])", "a[i] {op} a[i] * b[i]\nc[i] {op} a[i]",
    "c[i] {op} a[i] + c[i - 1]",
    "if b[i] > 1\na[i] {op} a[i] + 1\nend", "a[a[i] % {n} + 1] {op} i", "x = a[i]\nif x < 3\na[i] {op} x + 1\nend",
    "d[i, 1] {op} d[i, 2] + b[i]", "d[i, 2] {op} d[i - 1, 2]", "for k = 1:2\nd[i, k] {op} d[k, 2] + d[i, 1]\nend",
    "for k = 1:2\nd[1, k] {op} d[i, 2]\nend",
)  # fmt: skip
"""Statements of a loop over i that read the tensors which they update."""
UPDATED = ("Element(0)",) * 3 + ("Atomic(0)", "Mutex(Element(0))", "Mutex(Atomic(0))")


def write_in_place(choose: Chooser, tasks: bool) -> str:
    """A loop over up to four indices that updates tensors in place, serial or by two tasks. Many of these race."""
    n, op = choose.pick((3, 4)), choose.pick(("=", "=", "=", "+=", "<<max>>="))
    body = "\n".join(choose.pick(IN_PLACE).format(op=op, n=n) for _ in range(choose.pick((1, 1, 2))))
    leaf, b = choose.pick(UPDATED), choose.pick(("Dense", "SparseList", "RunList", "SparseRunList", "SparseByteMap"))
    locked = choose.chance(6)
    column, matrix = (f"Mutex(Dense({leaf}))",) * 2 if locked else (f"Dense({leaf})", f"Dense({leaf})")
    scalar = leaf if choose.chance(2) else "Element(0)"
    start, step = choose.pick(("1, 2, 0, 1", "2, 1, 3, 0")), choose.pick(("0, 1, 1, 1", "1, 0, 0, 2", "0, 0, 0, 0"))
    forms = {
        "a": f"Tensor({column}, [{start[: 3 * n - 2]}])",
        "b": f"Tensor({b}(Element(0)), [{step[: 3 * n - 2]}])",
        "c": f"Tensor({column}, {n})", "d": f"Tensor(Dense({matrix}), {n}, 2)", "s": f"Tensor({scalar})",
        "w": "Tensor(Element(0))",
    }  # fmt: skip
    used = [name for name in forms if f"{name}[" in body]
    lines = [*["dev = cpu(:dev, 2)"] * tasks, *(f"{name} = {forms[name]}" for name in used)]
    lines += [f"{name} .= 1" for name in used if name in "cds"]
    ends, schedule = choose.pick((f"2:{n - 1}",) * 2 + (f"1:{n}",)), choose.pick(SCHEDULED[1:3])
    lines += enclose([f"for i = {f'parallel({ends}, dev{schedule})' if tasks else ends}"], [body])
    return "\n".join([*lines, f"return {', '.join(name for name in used if name not in 'bw')}"])


# -------------------------------------------------------------------------------------------------------------- images

LISTS = ("RunList", "SparseRunList")
READ = (*LISTS * 6, "SparseBlockList", "SparseBand", "SparseList", "SparseDict", "SparseByteMap", "Dense")
"""Levels of tensors that are read; runs are the most frequent."""
WRITTEN = (*LISTS * 3, "SparseBlockList", "SparseBand", "SparseList", "SparseDict", "Dense")
AROUND = ("Dense",) * 6 + ("SparseDict", "SparseByteMap", "SparseList", "SparseBlockList", "SparseBand")
"""Levels above these; no level has runs of fibers."""

FACTORS = ((1, 2), (3, -1), (200, -200), (2**62, -(2**62)), (2**40, 0))
"""The factors of an inner loop. Many sums and products overflow if one factor comes twice before the other."""
EXPRESSIONS = (
    "A[i, j]", "A[i, j] + B[i, j]", "A[i, j] * B[i, j]", "A[i, j] * (B[i, j] + 1)", "max(A[i, j], B[i, j])",
    "A[i, j] + i", "A[i, j] * B[i, j] + A[i, j]", "(A[i, j] + B[i, j]) * D[i, j]", "A[i, j] + B[i, j] + D[i, j]",
    "A[i, j] * B[i, j] * D[i, j]", "max(A[i, j], 2)", "min(A[i, j] + 1, B[i, j] * 2)", "A[i, j] + D[1, j]",
)  # fmt: skip
BODIES = (
    "C[i, j] {op} {e}",
    "s[] {sum} {e}",
    "h[A[i, j] + 1] += 1",
    "C[i, j] {op} {e}\ns[] {sum} {e}",
    "if A[i, j] > 1\nC[i, j] {op} {e}\nend",
    "for k = 1:2\ns[] {sum} {e}\nend\nh[A[i, j] + 1] += 2",
    "if i <= j + 1\nC[i, j] {op} {e}\nend\nif i != 2\ns[] {sum} A[i, j]\nend",
    "w .= 0\nfor k = 1:2\nw[] += {e}\nend\ns[] {sum} w[]\nh[B[i, j] + 1] += w[]",
    "x = x + A[i, j]\ns[] {sum} B[i, j]",
    "r = A[i, j] + 1\nu = B[i, j] + 1\nq[r, u] += 1\nif r < u\nC[i, j] {op} r\nend",
    "for k = _\ns[] {sum} A[i, j] * B[k, j]\nend",
    "for k = _\ns[] {sum} A[i, j] * V[k]\nend",
    "for k = _\ns[] {sum} B[i, j] * V[k]\nh[A[i, j] + 1] += k\nend",
    "for k = 1:2\ns[] {sum} {e} * k\nend",
    "s[] {sum} A[i, j]\ns[] {sum} {e}",
    "s[] {sum} A[i, j] * 200\nif B[i, j] > 0\ns[] {sum} A[i, j] * -200\nend",
    "for k = _\nt[j] {sum} {e} * V[k]\nend",
    "for k = _\nt[k] {sum} {e}\nt[j] {sum} A[i, j]\nend",
    "for k = _\nC[i, j] {op} {e} * V[k]\nend",
    "C[i, j] {op} {e}\nC[i, j] {op} A[i, j]",
)
"""Statements on the elements of a column, mostly executed at once for a run of them."""

TRAVERSALS = (
    "x[1] {op} A[i]", "x[1] {op} A[i]", "x[t] {op} A[i]", "x[A[i] + 1] {op} t", "x[i] {op} A[i]", "x[1] {op} A[i] + t",
    "x[1] {op} A[i] * B[i]", "x[2] {op} A[i] + B[i]", "x[1] {op} A[i]\nx[2] {op} B[i]", "if A[i] > 0\nx[1] {op} t\nend",
    "y = y + A[i]", "y = A[i]", "x[1] {op} y",
    "x[1] {op} coalesce(A[~(i + 1)], 2)", "x[t] {op} A[i] + coalesce(A[~(i - 1)], 0)",
    "x[2] {op} coalesce(B[~(i - t)], t)", "C[i, t] {op} coalesce(A[~(i + t)], 0)",
    "C[i, 1] {op} A[i] * coalesce(A[~(i - 1)], 1)",
    "C[i, t] {op} A[i]", "C[i, t] {op} A[i] + B[i]", "C[i, 1] {op} A[i]", "C[i, A[i] % 2 + 1] {op} A[i]",
    "x[1] {op} D[i, t]", "x[t] {op} D[i, 1] * A[i]", "C[i, t] {op} D[i, t] + A[i]",
    "for k = _\nx[1] {op} A[i] * V[k]\nend", "for k = _\nx[t] {op} A[i] * V[k]\nend",
    "for k = 1:2\nx[k] {op} A[i]\nend", "for k = 1:A[i]\nx[t] {op} k\nend", "for k = 1:2\ny = y + A[i]\nend",
    "x[1] {op} A[i]\nx[1] {op} B[i]", "x[t] {op} A[i] * 200\nx[t] {op} A[i] * -200",
    "for k = _\nC[i, t] {op} A[i] * V[k]\nend", "C[i, t] {op} A[i]\nC[i, t] {op} B[i]",
    "if A[i] == B[i]\nx[t] {op} A[i]\nend", "if i != t\nx[1] {op} A[i]\nend", "if i <= t\nC[i, t] {op} A[i]\nend",
)  # fmt: skip
"""Statements of a loop over i that two tasks t run in parallel."""


def write_picture(choose: Chooser) -> str:
    """A serial program over up to nine rows of one to three images, of any levels, mostly of runs."""
    pick = choose.pick
    op, total, body = pick(OPERATORS), pick(("+=", "+=", *OPERATORS[1:])), pick(BODIES)
    body = body.format(op=op, e=pick(EXPRESSIONS) if "{e}" in body else "", sum=total)
    n, m = pick((2, 3, 4, 5, 6, 7, 8, 9, 1, int("D[1, " in body))), pick((1, 2, 3))
    z = pick((0, 1)) if op in ("=", "*=", "<<max>>=") and "C[" in body else 0
    unit = int(total == "*=")
    forms: dict[str, Callable[[], str]] = {
        "C": lambda: f"{pick(AROUND)}({pick(WRITTEN)}(Element({z}))), {n}, {m}",
        "s": lambda: f"{pick(('Element', 'Atomic'))}({unit}{pick(('', '', '', ', u8', ', i16'))})",
        "t": lambda: f"{pick(('Dense', 'SparseDict'))}({pick(('Element', 'Atomic'))}({unit})), 3",
        "h": lambda: f"{pick(('Dense', 'SparseDict', 'SparseByteMap'))}({pick(('Element', 'Atomic'))}(0)), 9",
        "q": lambda: "Dense(SparseDict(Element(0))), 4, 4",
        "w": lambda: "Element(0)",
    }
    used = [name for name in forms if f"{name}[" in body]
    lines = _images(choose, body, lambda: f"{pick(AROUND)}({pick(READ)}(Element(0)))", n, m)
    lines += [f"{name} = Tensor({forms[name]()})" for name in used]
    starts = {"C": z, "s": unit, "t": unit}
    lines += [f"{name} .= {starts.get(name, 0)}" for name in used if name != "w"]
    ends = f"{pick(('1', '1', '2'))}:{pick((n, n, n, max(n - 1, 0)))}"
    lines += ["x = 0", *enclose([f"for j = 1:{m}", f"for i = {ends}"], [body])]
    return "\n".join([*lines, f"return {', '.join(name for name in used if name != 'w')}"])


@st.composite
def pictures(draw: st.DrawFn) -> str:
    """Draws serial programs over up to nine rows of one to three images, of any levels, mostly of runs."""
    return write_picture(drawn_by(draw))


def write_race(choose: Chooser) -> str:
    """Two tasks that traverse up to three images of few elements. Over a third of them race."""
    pick = choose.pick
    n, op = pick((2, 2, 2, 2, 3, 3, 1, 0)), pick(("+=", "+=", "-=", "=", *OPERATORS[4:]))
    body = "\n".join(pick(TRAVERSALS).format(op=op) for _ in range(pick((1, 1, 2)) if n < 3 else 1))
    z = int(op == "*=")
    leaf = pick((f"Element({z})",) * 4 + (f"Atomic({z})", f"Mutex(Element({z}))", f"Element({z}, u8)"))
    used = ["x", *["C"] * ("C[" in body)]
    lines = [f"dev = cpu(:dev, {pick((2, 2, 2, 2, 3))})"]
    lines += _images(choose, body, lambda: f"{pick((*READ[:-1], 'SparseBand'))}(Element(0))", n, 0)
    lines += [
        f"x = Tensor(Dense({leaf}), 4)",
        *[f"C = Tensor({_written_format(choose, leaf)}, {n}, 2)"] * ("C" in used),
    ]
    lines += [f"{name} .= {z}" for name in used]
    lines += ["y = 0"] * ("y" in body)
    last, schedule = pick((2,) * 19 + (1,)), pick((", static_schedule()", ", static_schedule()", ""))
    ends = pick((f"1:{n}",) * 4 + (f"t:{n}", f"1:min(t, {n})"))
    lines += enclose([f"for t = parallel(1:{last}, dev{schedule})", f"for i = {ends}"], [body])
    if "C" in used and pick((True, False)):
        sum_up = enclose(["for k = 1:2", f"for i = 1:{n}"], ["s[] += C[i, k]"])
        lines = ["s = Tensor(Element(0))", *lines, "s .= 0", *sum_up]
        used.append("s")
    return "\n".join([*lines, f"return {', '.join(used)}"])


@st.composite
def racing(draw: st.DrawFn) -> str:
    """Draws programs in which two tasks traverse up to three images of few elements. Over a third of them race."""
    return write_race(drawn_by(draw))


def _images(choose: Chooser, body: str, form: Callable[[], str], n: int, m: int) -> list[str]:
    """The functions, images and factors that a body mentions. Images have a form, n rows, and m columns, if any."""
    lines = declarations(body)
    for name in (name for name in "ABD" if f"{name}[" in body):
        columns = m or 2 * (name == "D")
        made = form() if bool(columns) == bool(m) else f"{choose.pick(AROUND)}({form()})"
        rows = zip(*(_runs(choose, n) for _ in range(columns or 1)), strict=True)
        data = ("; " if columns else ", ").join(" ".join(map(str, row)) for row in rows)
        empty = [f"{name} = Tensor({made}, 0{f', {columns}' * bool(columns)})", f"{name} .= 0"]
        lines += [f"{name} = Tensor({made}, [{data}{';' * bool(columns)}])"] if n else empty
    return lines + [f"V = Tensor(Dense(Element(0)), {list(choose.pick(FACTORS))})"] * ("V[" in body)


def _written_format(choose: Chooser, leaf: str) -> str:
    """The format of a matrix that is written, of any levels, mostly of runs, some in a modifier."""
    if choose.chance(6):
        return f"SparseCOO(2, {leaf})"
    outer, inner = choose.pick(AROUND), f"{choose.pick(fitting((*LISTS, *WRITTEN, *BOUNDED), leaf))}({leaf})"
    around = choose.pick(("{}", "{}", *NEAR[:3])).format(inner)
    return f"{outer}({around})" if legal(f"{outer}({around})") else f"Dense({inner})"


def _runs(choose: Chooser, n: int) -> list[int]:
    """The elements of an axis, each mostly equal to the one before it."""
    made: list[int] = []
    while len(made) < n:
        made += [choose.pick((0, 0, 1, 2, 3))] * choose.pick((3, 2, 1, 4))
    return made[:n]
