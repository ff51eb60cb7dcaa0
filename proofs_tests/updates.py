"""Programs in which tasks update elements that they share, by every operator and in every way that is safe."""

from __future__ import annotations

ROWS = 40
"""The extents of the square matrix A that the programs are given, of integers from 0 to 3."""

FUNCTIONS = """\
function grown(x, y; associative, commutative, identity = 0) = x + y + x * y
function larger(x, y; associative, commutative, idempotent) = ifelse(y > x, y, x)
"""
OPERATORS = {
    "+=": ("0", "A[i, j]"),
    "-=": ("0", "A[i, j]"),
    "*=": ("1", "A[i, j]"),
    "<<min>>=": ("0", "-A[i, j]"),
    "<<max>>=": ("0.0", "A[i, j] / 2"),
    "+%=": ("0", "A[i, j] *% 9223372036854775807"),
    "-%=": ("0", "A[i, j] *% 9223372036854775807"),
    "*%=": ("1", "A[i, j] +% 9223372036854775807"),
    "<<&>>=": ("-1", "~(A[i, j] << j % 64)"),
    "<<|>>=": ("0", "A[i, j] << j % 64"),
    "<<⊻>>=": ("0", "(A[i, j] << j % 64) ⊻ ~i"),
    "&=": ("true", "A[i, j] != 1"),
    "|=": ("false", "A[i, j] == 2"),
    "<<minby>>=": ("(Inf, 0)", "(A[i, j] / 2, j)"),
    "<<maxby>>=": ("(-Inf, 0)", "(A[i, j] / 2, j)"),
    "<<grown>>=": ("0", "A[i, j] % 2"),
    "<<larger>>=": ("0.0", "A[i, j] / 2"),
}
"""Each operator with the value that it starts from, and one that it takes."""

SHARED = f"""\
{FUNCTIONS}dev = cpu(:dev, 4)
A = Tensor(Dense(SparseList(Element(0))), {ROWS}, {ROWS})
at_once = Tensor(Dense(Atomic(FILL)), {ROWS})
locked = Tensor(Dense(Mutex(Element(FILL))), {ROWS})
merged = Tensor(Merge(dev, SparseDict(Element(FILL))), {ROWS})
at_once .= FILL
locked .= FILL
merged .= FILL
for j = parallel(_, dev, dynamic_schedule(1))
    for i = _
        if A[i, j] != 0
            at_once[i] OP VALUE
            locked[i] OP VALUE
            merged[i] OP VALUE
        end
    end
end
return at_once, locked, merged
"""
UPDATES = {
    op: SHARED.replace("FILL", fill).replace("OP", op).replace("VALUE", value)
    for op, (fill, value) in OPERATORS.items()
}
"""A program for each operator, whose input is A."""

PLANES = 16
LARGE = [f"t{k}" for k in range(1, PLANES + 1)]
FAR = "\n".join((
    "dev = cpu(:dev, 4)",
    *(f"{t} = Tensor(Dense(Dense(Element(0))), 64, 4096)" for t in LARGE),
    *(f"{t} .= 0" for t in LARGE),
    "for k = parallel(1:4096, dev)",
    *(f"    {t}[64, k] = k" for t in LARGE),
    "end",
    f"return {', '.join(LARGE)}",
))  # fmt: skip
"""Tasks write the last cells of more large buffers than there are offsets by which these are staggered."""
