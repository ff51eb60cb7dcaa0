"""Random programs with conditions inside of loops, some of which tasks run: what happens where a condition is false.

A loop enters the fibers that its body updates whether conditions in the body hold or not. So these programs race,
fault or wait for a lock at places where nothing is computed; and they are small enough for all their interleavings to
be explored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

FORMATS = {
    1: (
        "Dense({})", "SparseList({})", "SparseDict({})", "SparseByteMap({})", "Dense(Shard(d, {}))", "Mutex(Dense({}))",
        "Dense(Mutex({}))", "Merge(d, SparseDict({}))", "Isolate(SparseDict({}))", "Shard(d, SparseList({}))",
    ),
    2: (
        "Dense(Dense({}))", "Dense(SparseList({}))", "Dense(SparseDict({}))", "SparseCOO(2, {})",
        "SparseList(Dense({}))", "Dense(Shard(d, Dense({})))", "Dense(Shard(d, SparseList({})))",
        "Dense(Mutex(SparseDict({})))", "SparseDict(Shard(d, Dense({})))", "Dense(Isolate(Dense({})))",
        "Dense(Shard(d, Mutex(SparseByteMap({}))))",
    ),
}  # fmt: skip
"""Formats of what is updated, around a leaf, by rank."""

LEAVES = ("Element", "Element", "Atomic")
VECTORS = ("[0, 2]", "[1, 0]", "[0, 0]", "[1, 2]")
READ = ("Dense", "SparseList", "SparseDict", "SparseByteMap")
SCHEDULES = (", static_schedule()", ", dynamic_schedule(1)")
OVERFLOWING = "9223372036854775807 + k > 0"

Choose = Callable[[Sequence[Any]], Any]


def masked_program(choose: Choose) -> str:
    """A program that updates T in loops over its subscripts and k, by choices among sequences."""
    rank, truth, shared = choose((1, 1, 2)), choose((False, False, False, True)), choose((False, False, True))
    zero = "false" if truth else "0"
    own = ["i"] if rank == 1 else ["j", "i"]
    nest = list(own)
    nest.insert(choose(range(rank + 1)), "k")
    tasks, workspace = choose((*nest, *nest, "")), not truth and choose((False, False, True))
    lines: list[str] = []
    for at, index in enumerate(nest):
        around = nest[: at + 1]
        end = choose(("2", "2", "2", *nest[:at], *(["x + 1"] if shared else [])))
        parallel = f"parallel(1:{end}, d{choose(SCHEDULES)})"
        lines.append(f"for {index} = {parallel if index == tasks else f'1:{end}'}")
        if choose((False, False, True)):
            lines.append(f"if {condition(choose, around, shared)}")
        if index == tasks and shared:
            lines.append(f"if {index} == 1; x = {index}; end")
        if index == "k" and "i" not in around and workspace:
            lines.append("w .= 0; for l = 1:2; w[l] += A[k] * B[l]; end")
    if choose((False, True, True)):
        lines.append(f"if {condition(choose, nest, shared)}")
    lines += updates(choose, f"T[{', '.join(reversed(own))}]", nest, truth, shared, any(s[0] == "w" for s in lines))
    ends = sum(line.startswith(("for ", "if ")) and not line.endswith("end") for line in lines)
    return "\n".join((
        "d = cpu(:d, 2)", *(f"{name} = Tensor({choose(READ)}(Element(0)), {choose(VECTORS)})" for name in "AB"),
        f"w = Tensor({choose(READ)}(Element(0)), 2)" if any(s[0] == "w" for s in lines) else "",
        f"T = Tensor({choose(FORMATS[rank]).format(f'{choose(LEAVES)}({zero})')}{', 2' * rank})", f"T .= {zero}",
        *(["x = 0"] if shared else []), *lines, *["end"] * ends, "return T",
    ))  # fmt: skip


def updates(choose: Choose, target: str, nest: Sequence[str], truth: bool, shared: bool, workspace: bool) -> list[str]:
    """One or two updates of an element."""
    if truth:
        op, values = choose(("|=", "|=", "=")), [condition(choose, nest, shared)]
    else:
        op = choose(("+=", "+=", "="))
        values = ["1", "A[k]", "A[i]", "A[k] * B[i]", "A[k] + B[k]", f"ifelse({comparison(choose, nest)}, 1, 0)"]
        values += ["w[i]"] * 4 if workspace else []
    return [f"{target} {op} {choose(values)}" for _ in range(choose((1, 1, 1, 2)))]


def condition(choose: Choose, indices: Sequence[str], shared: bool) -> str:
    """A comparison, perhaps beside an element, a variable that tasks share, or a sum that may overflow."""
    others = ["", "", "", "", f"A[{choose(indices)}] > 0", f"A[{choose(indices)}] > 0", comparison(choose, indices)]
    others += [*(["x == 0"] if shared else []), *([OVERFLOWING] if "k" in indices else [])]
    first, second = comparison(choose, indices), choose(others)
    return f"{first} {choose(('&&', '||'))} {second}" if second else first


def comparison(choose: Choose, indices: Sequence[str]) -> str:
    """An index compared with a number or another index."""
    return f"{choose(indices)} {choose(('<', '<=', '==', '!=', '>'))} {choose((*indices, '1', '2', '3', '0'))}"
