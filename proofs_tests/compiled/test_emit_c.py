"""Plans printed as C, compiled by the system's compiler, do what the reference does, on threads.

Skipped only where there is no compiler.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proofs_tests.compiled import needs_compiler
from proofs_tests.effort import EFFORT, due, few, many
from proofs_tests.plan.small_plans import HERE, load, put, region, store
from proofs_tests.printed_c import Printed, PrintedC
from proofs_tests.semantics import test_listings as listings
from wingspan import api
from wingspan.base.errors import Fault, ProgramError, WingspanError
from wingspan.compiled.borrowing import borrowed_inputs, read_only, readable
from wingspan.compiled.emit_c import emit_c
from wingspan.compiled.nests import nests
from wingspan.elaborate import Elaborated
from wingspan.lang.devices import Device
from wingspan.lang.registers import BOOL, FLOAT, INSTANCE, INT
from wingspan.plan.ir import (
    Check,
    Const,
    FetchChunk,
    Group,
    If,
    Par,
    Plan,
    PlanBuffer,
    Ref,
    Reg,
    Store,
    While,
    walk,
)
from wingspan.plan.passes.dead_stores import dead_stores
from wingspan.plan.pipeline import lower
from wingspan.testing import campaign, compare
from wingspan.testing.batched_c import load_compiled

pytestmark = needs_compiler

EXAMPLES = listings.EXAMPLES
STRICT = ("-O3" if EFFORT >= 1 else "-O1", "-Wall", "-Wextra")
SCHEDULES = {1: "static_schedule()", 2: "dynamic_schedule(2)"}
RANDOM = np.random.default_rng(7)


def sparse(*shape: int) -> np.ndarray:
    """An array of quarters, half of them zeros."""
    return RANDOM.integers(-6, 7, shape) / 4 * RANDOM.integers(0, 2, shape)


KERNELS = {
    "hadamard": {"A": sparse(9, 8), "B": sparse(9, 8)},
    "spadd": {"A": sparse(9, 8), "B": sparse(9, 8)},
    "spmspv": {"A": sparse(9, 8), "x": sparse(8)},
    "mttkrp_dense": {"B": sparse(4, 5, 6), "C": sparse(5, 3), "D": sparse(6, 3)},
    "mttkrp_sparse": {"BT": sparse(5, 6, 4), "C": sparse(5, 3), "D": sparse(6, 3)},
    "mttkrp_rows": {"BT": sparse(6, 5, 4), "CT": sparse(3, 5), "DT": sparse(3, 6)},
    "mttkrp_sparse_rows": {"BT": sparse(6, 5, 4), "CT": sparse(3, 5), "DT": sparse(3, 6)},
}


COMPLETE = (
    "dependent_atomic", "independent", "karate", "noisy_or", "quiz_overflow", "short_circuit", "shortest_edge",
    "sum_atomic",
)  # fmt: skip
"""The safe examples that need nothing bound."""


def is_complete(path: Path) -> bool:
    try:
        api.guard(api.bind(path))
    except WingspanError:
        return False
    return True


def test_these_are_all_safe_examples_that_need_nothing_bound() -> None:
    assert tuple(path.stem for path in sorted(EXAMPLES.glob("*.ws")) if is_complete(path)) == COMPLETE


def agrees(bound: Elaborated) -> None:
    """The reference, the program as it is printed, and the same C in the memory of this process end alike."""
    compared = compare(bound, [api.engine("reference"), PrintedC(STRICT), api.engine("compiled")])
    assert compared.difference is None, compared.difference


@pytest.mark.parametrize("name", few(COMPLETE, 2))
def test_the_examples_agree(name: str) -> None:
    agrees(api.bind(EXAMPLES / f"{name}.ws"))


@pytest.mark.parametrize(("threads", "name"), few(list(product((2, 1), listings.PRODUCTS)), 1))
def test_the_products_agree(name, threads):
    A, B = listings.matrices(9, 7, 8, seed=threads)
    schedule = SCHEDULES[threads]
    agrees(api.bind(listings.program(name, schedule), **listings.binding(name, schedule, threads, A, B)))


@pytest.mark.parametrize(("threads", "name"), few(list(product((2, 1), KERNELS)), 1))
def test_the_kernels_agree(name, threads):
    params = {"nt": threads, "sch": SCHEDULES[threads]}
    agrees(api.bind(EXAMPLES / f"{name}.ws", inputs=KERNELS[name], params=params))


def test_random_safe_programs_agree():
    """A few of them, on one thread and on two; `wingspan.testing.campaign` takes any number."""
    tally = campaign(
        ["reference", "native"], [PrintedC(STRICT)], inputs=1, examples=many(48), threads=(1, 2),
        schedules=("dynamic_schedule(1)",),
    )  # fmt: skip
    assert tally.cases >= due(48)


# -------------------------------------------------------------------------------------------------------------- memory


def gustavson() -> tuple[Elaborated, np.ndarray]:
    """A product large enough that buffers grow, and its result."""
    A, B = listings.matrices(60, 50, 40, seed=3)
    schedule = "dynamic_schedule(2)"
    program = listings.program("spgemm_gustavson", schedule)
    return api.bind(program, **listings.binding("spgemm_gustavson", schedule, 2, A, B)), A @ B


def test_memory_that_is_used_again_is_as_new():
    bound, expected = gustavson()
    one = Printed(bound, STRICT)
    for _ in range(3):
        one.prepare()
        assert one.run() == 0, one.fault()
        assert np.array_equal(one.tensors()["C"].to_numpy(), expected)


def test_inputs_in_columns_are_read_where_they_are():
    """SciPy's arrays are neither copied nor shifted, and their cells are loaded as indices that count from 0."""
    bound, _ = gustavson()
    plan = lower(bound)
    kept = [g for g in plan.groups if g.tensor in read_only(plan)]
    assert [g.tensor for g in kept if readable(g)] == ["A", "B"]
    assert "(int64_t)root_A_idx[A1_q - 1] + 1" in emit_c(plan)


def test_inputs_of_any_rank_are_read_where_they_lie():
    """A SparseDict has a hash table, which counts from 1; lists inside of lists do not differ from columns."""
    bound = api.bind(
        EXAMPLES / "mttkrp_rows.ws", inputs=KERNELS["mttkrp_rows"], params={"nt": 1, "sch": "static_schedule()"}
    )
    assert borrowed_inputs(lower(bound)) == {"BT", "CT", "DT"}
    text = "for i = 1:2; for j = 1:2; x = B[j, i]; end; end"
    for form, lends in (
        ("SparseList(SparseList(Element(0)))", True),
        ("Dense(SparseRunList(Element(0, u8)))", True),
        ("SparseList(RunList(Element(0)))", True),
        ("Dense(SparseDict(Element(0)))", False),
        ("Dense(SparseByteMap(Element(0)))", False),
    ):
        plan = lower(api.bind(api.parse(f"B = Tensor({form}, [1 0; 0 2])\n{text}")))
        assert borrowed_inputs(plan) == ({"B"} if lends else set())


# -------------------------------------------------------------------------------------------------------------- stores

C = PlanBuffer("C", 1, "val", "value", FLOAT, "f64", 0, 0)
X = Ref(C, Reg("x", INSTANCE))
OTHER = replace(X, buffer=replace(C, name="idx", number=1))


def cell(index, value, ref=X):
    return store(ref, index, Const(value))


@pytest.mark.parametrize(
    ("between", "kept"),
    [
        ((), 1),
        ((load(Reg("v", FLOAT), OTHER, Reg("q")),), 1),
        ((Check(Reg("b", BOOL), "it does not fit", (), HERE),), 1),
        ((cell(Reg("q"), 3.0, OTHER),), 1),
        ((load(Reg("v", FLOAT), X, Reg("p")),), 2),
        ((put(Reg("q"), Const(2)),), 2),
        ((If(Reg("b", BOOL), ()),), 2),
        ((load(Reg("q"), OTHER, Const(1)),), 2),
    ],
)
def test_only_a_store_that_is_made_good_unseen_is_spared(between, kept):
    body = (cell(Reg("q"), 0.0), *between, cell(Reg("q"), 1.0))
    for nested in body, (If(Reg("b", BOOL), (), body),), (While((), Reg("b", BOOL), body),):
        left = dead_stores(Plan((), (), nested, (), ())).body
        stores = [s for s in walk(left) if isinstance(s, Store) and s.ref == X]
        assert len(stores) == kept and stores[-1].value == Const(1.0)


def test_a_store_to_another_cell_spares_none():
    body = cell(Reg("q"), 0.0), cell(Reg("p"), 1.0)
    assert dead_stores(Plan((), (), body, (), ())).body == body


# -------------------------------------------------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("text", "message"),
    few(
        [
            ("x = 9223372036854775807\ny = x + x", "+ is not defined for 9223372036854775807 and 9223372036854775807"),
            ("x = 1.5 / (1.0 - 1.0)", "/ is not defined for 1.5 and 0"),
            ("x = 3 ÷ (1 - 1)", "÷ is not defined for 3 and 0"),
        ],
        2,
    ),
)
def test_a_fault_tells_where_and_of_what(text, message):
    with pytest.raises(Fault) as fault:
        PrintedC().run(api.bind(api.parse(text, "f.ws")), {})
    place, told = fault.value.message.split(": ", 1)
    assert place.startswith("f.ws:") and told == message


def test_what_is_loaded_and_not_read_needs_no_instance():
    """Before a region and in one."""
    one, other = (load(Reg(name, FLOAT), X, Const(1)) for name in ("one", "other"))
    tasks = Par(Device("dev", 2), Reg("task"), (other,), (), HERE)
    made = Plan((Group(0, "C", (C,)),), (("C", X.instance),), (one, tasks), (), ())
    text = emit_c(made)
    assert ".x = x" not in text and load_compiled(text, STRICT)


# ----------------------------------------------------------------------------------------------------- the command line

NAMES = ("runtime", "program", "session", "intersection", "union", "common_runs", "scan_bitmap", "tile")
HEADERS = [f"{name}.h" for name in NAMES]
"""The headers that are written beside printed C."""


def test_a_printed_command_runs_by_itself(tmp_path, command):
    """`wingspan emit-c --main` and the second line of the file are all it takes; it prints the buffers of C."""
    done = command("emit-c", str(EXAMPLES / "karate.ws"), "-o", str(tmp_path), "--main")
    assert [Path(line).name for line in done.out.split()] == ["karate.c", *HEADERS, "karate.inputs"]
    compile_ = (tmp_path / "karate.c").read_text(encoding="utf-8").splitlines()[1].removeprefix("// ")
    subprocess.run(compile_, shell=True, cwd=tmp_path, check=True)
    made = subprocess.run([tmp_path / "karate"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert made.stderr == ""
    cells = dict(line.split(": ", 1) for line in made.stdout.splitlines())
    values = [float(v) for t in (1, 2) for v in cells[f"C t={t} val"].split()]
    expected = api.run(EXAMPLES / "karate.ws", engine="reference").tensors["C"].to_numpy()
    assert sum(values) == expected.sum() and len(values) == np.count_nonzero(expected)
    limited = run(tmp_path / "karate", "karate.inputs", "--max-memory", "5000")
    assert limited.returncode == 1 and limited.stderr.startswith("out of memory: the run needs ")


@pytest.fixture(scope="module")
def growing(tmp_path_factory):
    """A command whose buffers grow many times, to 20 000 cells of 12 bytes, or 8 MB of them for `wide`."""
    folder = tmp_path_factory.mktemp("growing")
    made = {}
    for name, extent in (("narrow", 20_000), ("wide", 700_000)):
        program = GROWING.replace("EXTENT", str(extent))
        (folder / f"{name}.ws").write_text(program)
        path, *_ = api.emit_c(folder / f"{name}.ws", folder, main=True)
        compile_ = path.read_text(encoding="utf-8").splitlines()[1].removeprefix("// ").replace("-O3", "-O0")
        subprocess.run(compile_, shell=True, cwd=folder, check=True)
        made[name] = folder / name
    return made


GROWING = """
c = Tensor(SparseList(Element(0.0)), EXTENT)
c .= 0
for i = 1:EXTENT
    for k = 1:i % 2 + 1
        if k % 2 == 1
            c[i] += i
        end
    end
end
return c
"""
"""Only an innermost loop asks once for the room of all that it appends."""


def run(command: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([command, *arguments], cwd=command.parent, capture_output=True, text=True)


def test_buffers_that_outgrow_what_they_begin_with_keep_all_their_cells(growing):
    made = run(growing["narrow"])
    cells = dict(line.split(": ", 1) for line in made.stdout.splitlines())
    numbers = [str(i) for i in range(1, 20_001)]
    assert made.stderr == "" and cells["c idx"].split() == cells["c val"].split() == numbers


@pytest.mark.parametrize("limit", [0, 4000, 10**5, 10**6])
def test_a_printed_command_ends_at_its_memory_limit(growing, limit):
    """Also a limit that the first cells of a buffer keep to, and those that it grows by do not."""
    made = run(growing["wide"], "--max-memory", str(limit))
    assert made.returncode == 1 and made.stdout == ""
    assert re.fullmatch(
        r"(\S*wide.ws:\d+:\d+: )?out of memory: the run needs \d+ bytes, which is more than its limit\n", made.stderr
    )
    assert run(growing["wide"], "--max-memory", str(10**7 + limit)).returncode == 0


def test_a_printed_command_ends_where_the_system_has_no_address_space(growing):
    """The memory limit is another one: 5 MB do not hold the least reservation of a buffer."""
    made = run(Path("/bin/sh"), "-c", f"ulimit -v 5000; exec {growing['wide']}")
    assert (made.returncode, made.stdout) == (1, "")
    assert made.stderr == "out of memory: the system has no address space left\n"


def test_a_program_that_may_race_is_not_printed_unless_told_so(tmp_path):
    racy = EXAMPLES / "dependent.ws"
    with pytest.raises(ProgramError):
        api.emit_c(racy, tmp_path)
    assert not list(tmp_path.iterdir())
    paths: list[Any] = api.emit_c(racy, tmp_path, unsafe=True)
    assert [path.name for path in paths] == ["dependent.c", *HEADERS]


# --------------------------------------------------------------------------------------------------- functions of loops


def loops(height: int) -> While:
    """Loops inside of each other."""
    return While((), Reg("b", BOOL), (loops(height - 1),) if height > 1 else (put(Reg("x"), Const(1)),))


@pytest.mark.parametrize(("rows", "each", "chunk"), [(1, [], []), (2, [], [2]), (3, [2], [2]), (4, [3], [3])])
def test_a_function_is_called_for_each_row_or_for_each_chunk(rows: int, each: list[int], chunk: list[int]) -> None:
    """Rows are the loops of a task, one by one or in chunks; what is inside of a fiber is no function of its own."""
    taken = While((FetchChunk(Reg("i"), COUNTER, Const(9), Const(1), HERE),), Reg("b", BOOL), (loops(rows),))
    heights = [[height(loop) for loop in nests((around,))] for around in (loops(rows), taken)]
    assert heights == [each, chunk]
    assert not [
        loop for loop in nests((While((), Reg("b", BOOL), (region(loops(rows)),)),)) if height(loop) != rows - 1
    ]


COUNTER = Ref(PlanBuffer("i_chunk", -1, "variable", "count", INT, "i64", 0, 0), Reg("root", INSTANCE))


def height(s: Any) -> int:
    """The depth of the nesting of loops."""
    return isinstance(s, While) + max((height(x) for x in getattr(s, "body", ())), default=0)
