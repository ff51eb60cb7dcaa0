"""Random small programs, each about one thing: tasks that meet, or images. As text.

Their statements are from tables, in loops that are made for them. So they reach, in few states, what programs of
any statements rarely reach. Strategies of Hypothesis draw what the writers before them write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from wingspan.testing.choosing import Chooser, drawn_by
from wingspan.testing.formats import (
    BOUNDED,
    LEAVES,
    MODIFIERS,
    STORAGE,
    fitting,
    legal,
    random_format,
)
from wingspan.testing.vocabulary import FUNCTIONS, UPDATES, declarations

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
