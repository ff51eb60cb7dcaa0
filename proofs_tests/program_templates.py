"""Random small programs that only our tests draw: parallel regions, masks, and updates in place. As text."""

from __future__ import annotations

from collections.abc import Sequence

from wingspan.testing.choosing import Chooser, by_seed
from wingspan.testing.formats import LEAVES, MODIFIERS, SINGLE, STORAGE, fitting, random_format, rank_of
from wingspan.testing.templates import DEVICES, NEAR, enclose
from wingspan.testing.vocabulary import COMPARISONS, SCHEDULED

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
