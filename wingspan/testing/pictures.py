"""Random programs that read and write images: tensors with runs and blocks of equal elements. As text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st

from wingspan.testing.formats import MODIFIERS, fitting, legal

RUNS = ("RunList", "SparseRunList")
READ = (*RUNS * 6, "SparseBlockList", "SparseBand", "SparseList", "SparseDict", "SparseByteMap", "Dense")
"""Levels of tensors that are read; runs are the most frequent."""
WRITTEN = (*RUNS * 3, "SparseBlockList", "SparseBand", "SparseList", "SparseDict", "Dense")

OPERATORS = ("=", "+=", "-=", "*=", "<<max>>=")
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
    "r = A[i, j] + 1\ng = B[i, j] + 1\nq[r, g] += 1\nif r < g\nC[i, j] {op} r\nend",
    "for k = _\ns[] {sum} A[i, j] * B[k, j]\nend",
)

MEETING = (
    "x[1] {op} A[i]", "x[1] {op} A[i]", "x[t] {op} A[i]", "x[A[i] + 1] {op} t", "x[i] {op} A[i]", "x[1] {op} A[i] + t",
    "x[1] {op} A[i] * B[i]", "x[2] {op} A[i] + B[i]", "x[1] {op} A[i]\nx[2] {op} B[i]", "if A[i] > 0\nx[1] {op} t\nend",
    "y = y + A[i]", "y = A[i]", "x[1] {op} y",
    "x[1] {op} coalesce(A[~(i + 1)], 2)", "x[t] {op} A[i] + coalesce(A[~(i - 1)], 0)",
    "x[2] {op} coalesce(B[~(i - t)], t)", "C[i, t] {op} coalesce(A[~(i + t)], 0)",
    "C[i, 1] {op} A[i] * coalesce(A[~(i - 1)], 1)",
    "C[i, t] {op} A[i]", "C[i, t] {op} A[i] + B[i]", "C[i, 1] {op} A[i]", "C[i, A[i] % 2 + 1] {op} A[i]",
)  # fmt: skip
"""Statements of a loop over i that two tasks t run in parallel."""

T = TypeVar("T")


@st.composite
def pictures(draw: st.DrawFn) -> str:
    """Draws serial programs over two to six rows of two or three images, of any levels, mostly of runs."""

    def pick(items: Sequence[T]) -> T:
        return items[draw(st.integers(0, len(items) - 1))]

    n, m = draw(st.integers(2, 9)), draw(st.integers(1, 3))
    op, total = pick(OPERATORS), pick(("+=", "+=", "-=", "*=", "<<max>>="))
    body = pick(BODIES).format(op=op, e=pick(EXPRESSIONS), sum=total)
    z, unit = (pick((0, 1)) if op in ("=", "*=", "<<max>>=") else 0), int(total == "*=")
    forms = {
        "C": f"Dense({pick(WRITTEN)}(Element({z}))), {n}, {m}", "s": f"{pick(('Element', 'Atomic'))}({unit})",
        "h": f"{pick(('Dense', 'SparseDict', 'SparseByteMap'))}({pick(('Element', 'Atomic'))}(0)), 9",
        "q": "Dense(SparseDict(Element(0))), 4, 4", "w": "Element(0)",
    }  # fmt: skip
    used = [name for name in forms if f"{name}[" in body]
    lines = []
    for name in (name for name in "ABD" if f"{name}[" in body):
        rows = zip(*(_runs(draw, n) for _ in range(m)), strict=True)
        data = "; ".join(" ".join(map(str, row)) for row in rows)
        lines.append(f"{name} = Tensor(Dense({pick(READ)}(Element(0))), [{data}])")
    lines += [f"{name} = Tensor({forms[name]})" for name in used]
    lines += [f"{name} .= {z if name == 'C' else unit if name == 's' else 0}" for name in used if name != "w"]
    ends = f"{pick(('1', '1', '2'))}:{pick((n, n, n - 1))}"
    lines += ["x = 0", f"for j = 1:{m}", f"for i = {ends}", body, "end", "end"]
    return "\n".join([*lines, f"return {', '.join(name for name in used if name != 'w') or 'x'}"])


@st.composite
def racing(draw: st.DrawFn) -> str:
    """Draws programs in which two tasks traverse one or two images of two or three elements, and usually race."""

    def pick(items: Sequence[T]) -> T:
        return items[draw(st.integers(0, len(items) - 1))]

    n, op = pick((2, 2, 3)), pick(("+=", "+=", "-=", "=", "<<max>>=", "*="))
    body = "\n".join(pick(MEETING).format(op=op) for _ in range(draw(st.integers(1, 2))))
    leaf = pick(("Element(0)",) * 4 + ("Atomic(0)", "Mutex(Element(0))"))
    inner = f"{pick(fitting((*RUNS, *WRITTEN, 'SparseInterval', 'SparsePoint'), leaf))}({leaf})"
    around = pick(("{}", "{}", *MODIFIERS[1:5:2], "Mutex({})")).replace("far", "dev").format(inner)
    inner = around if legal(f"Dense({around})") else inner
    form = pick((*[f"Dense({inner})"] * 5, f"SparseCOO(2, {leaf})"))
    used = ["x", *(["C"] if "C[" in body else [])]
    lines = ["dev = cpu(:dev, 2)"]
    for name in (name for name in "AB" if f"{name}[" in body):
        lines.append(f"{name} = Tensor({pick((*READ[:-1], 'SparseBand'))}(Element(0)), {_runs(draw, n)})")
    lines += [f"x = Tensor(Dense({leaf}), 4)", f"C = Tensor({form}, {n}, 2)"]
    lines += [f"{name} .= {int(op == '*=')}" for name in used]
    lines += ["y = 0"] * ("y" in body)
    lines += ["for t = parallel(1:2, dev)", f"for i = 1:{n}", body, "end", "end"]
    if "C" in used and pick((True, False)):
        lines = [
            "s = Tensor(Element(0))",
            *lines,
            "s .= 0",
            "for k = 1:2",
            f"for i = 1:{n}",
            "s[] += C[i, k]",
            "end",
            "end",
        ]
        used.append("s")
    return "\n".join([*lines, f"return {', '.join(used)}"])


def _runs(draw: st.DrawFn, n: int, values: Sequence[int] = (0, 0, 1, 2, 3)) -> list[int]:
    """Draws `n` elements, each mostly equal to the one before it."""
    runs = draw(st.lists(st.tuples(st.sampled_from(values), st.sampled_from((3, 2, 1, 4))), min_size=n, max_size=n))
    return [value for value, length in runs for _ in range(length)][:n]
