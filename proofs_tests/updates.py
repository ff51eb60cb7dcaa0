"""Programs in which tasks update elements that they share, by every operator and in every way that is safe."""

from __future__ import annotations

ROWS = 40
"""The extents of the square matrix A that the programs are given, of integers from 0 to 3."""

OPERATORS = {
    "integers": (
        ("+=", "0", "A[i, j]"),
        ("-=", "0", "A[i, j]"),
        ("*=", "1", "A[i, j]"),
        ("<<min>>=", "0", "-A[i, j]"),
        ("<<grown>>=", "0", "A[i, j] % 2"),
        ("<<gcd>>=", "0", "6 * A[i, j]"),
    ),
    "integers that wrap": (
        ("+%=", "0", "A[i, j] *% 9223372036854775807"),
        ("-%=", "0", "A[i, j] *% 9223372036854775807"),
        ("*%=", "1", "A[i, j] +% 9223372036854775807"),
    ),
    "bits": (
        ("<<&>>=", "-1", "~(A[i, j] << j % 64)"),
        ("<<|>>=", "0", "A[i, j] << j % 64"),
        ("<<⊻>>=", "0", "(A[i, j] << j % 64) ⊻ ~i"),
    ),
    "doubles": (("<<max>>=", "0.0", "A[i, j] / 2"), ("<<larger>>=", "0.0", "A[i, j] / 2")),
    "booleans": (("&=", "true", "A[i, j] != 1"), ("|=", "false", "A[i, j] == 2")),
    "pairs": (("<<minby>>=", "(Inf, 0)", "(A[i, j] / 2, j)"), ("<<maxby>>=", "(-Inf, 0)", "(A[i, j] / 2, j)")),
}
"""For each kind of element its operators, each with the value that it starts from and one that it takes."""
SHARED = ("Dense(Atomic({}))", "Dense(Mutex(Element({})))", "Merge(dev, SparseDict(Element({})))")
WITHOUT_IDENTITY = {"<<gcd>>="}
"""Updates whose results a Merge cannot begin with anything."""


def formats(op: str) -> tuple[str, ...]:
    """The formats in which tasks may share what they update."""
    return SHARED[:2] if op in WITHOUT_IDENTITY else SHARED


def updates(kind: str) -> str:
    """A program in which every operator of a kind updates three tensors."""
    made = [
        (f"t{k}{n}", form.format(fill), fill, f"{op} {value}")
        for k, (op, fill, value) in enumerate(OPERATORS[kind])
        for n, form in enumerate(formats(op))
    ]
    return "\n".join((
        "function grown(x, y; associative, commutative, identity = 0) = x + y + x * y",
        "function larger(x, y; associative, commutative, idempotent) = ifelse(y > x, y, x)",
        "dev = cpu(:dev, 4)",
        f"A = Tensor(Dense(SparseList(Element(0))), {ROWS}, {ROWS})",
        *(f"{t} = Tensor({form}, {ROWS})" for t, form, _, _ in made),
        *(f"{t} .= {fill}" for t, _, fill, _ in made),
        "for j = parallel(_, dev, dynamic_schedule(1))",
        "    for i = _",
        "        if A[i, j] != 0",
        *(f"            {t}[i] {update}" for t, _, _, update in made),
        "        end",
        "    end",
        "end",
        f"return {', '.join(t for t, _, _, _ in made)}",
    ))  # fmt: skip


LARGE = [f"t{k}" for k in range(1, 17)]
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
