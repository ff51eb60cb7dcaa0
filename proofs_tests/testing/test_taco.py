"""TACO as an engine: what its tool gets, how its output is read, and what becomes of its failures.

TACO itself runs where its tool is on PATH. Elsewhere its documentation stands for it.
"""

from __future__ import annotations

import ast
import operator
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from proofs_tests.effort import many
from wingspan import api
from wingspan.base.errors import InputError
from wingspan.elaborate import Elaborated
from wingspan.tensors.tensor import Coordinates
from wingspan.testing import campaign, einsums
from wingspan.testing.peers import Taco
from wingspan.testing.peers.taco import elements, tensor_file, tool_arguments

EXTENTS = {"i": 3, "j": 2, "k": 4}
ROOTS = {0: "{}", 1: "Dense({})", 2: "Dense(SparseList({}))", 3: "Dense(SparseCOO(2, {}))"}
LEAF = "Element(0.0)"


def kernel(update: str, loops: str, leaf: str = LEAF, **forms: str) -> str:
    """A program of one update of C inside of loops, outermost first."""
    ranks = {name: len(axes.split(", ")) if axes else 0 for name, axes in re.findall(r"([A-Z])\[([^]]*)\]", update)}
    tensors = [f"{name} = Tensor({forms.get(name, ROOTS[rank]).format(leaf)})" for name, rank in ranks.items()]
    body = [*(f"for {index} = _" for index in loops), update, *["end"] * len(loops)]
    return "\n".join([*tensors, f"C .= {leaf.partition('(')[2].rstrip(')')}", *body, "return C"])


def bound(update: str, loops: str, leaf: str = LEAF, extents: Mapping[str, int] = EXTENTS, **forms: str) -> Elaborated:
    """Such a program with inputs of ones."""
    kind: Any = {"Element(0)": int, "Element(false)": bool}.get(leaf, float)
    inputs = {
        name: np.ones([extents[index] for index in axes.split(", ") if index], kind)
        for name, axes in re.findall(r"([A-Z])\[([^]]*)\]", update)
        if name != "C"
    }
    return api.bind(api.parse(kernel(update, loops, leaf, **forms)), inputs=inputs)


@pytest.mark.parametrize(
    ("update", "loops", "forms", "arguments"),
    [
        (
            "C[i] += A[i, j] * B[j]", "ji", {},
            ["C(i) = A(i,j) * B(j)", "-f=C:d:0", "-f=A:ds:1,0", "-f=B:d:0", "-i=A:A.ttx", "-i=B:B.ttx"],
        ),
        (  # the loops run across A, so it is stored by i first
            "C[i] += A[i, j] * B[j]", "ij", {"B": "SparseDict({})"},
            ["C(i) = A(i,j) * B(j)", "-f=C:d:0", "-f=A:ds:0,1", "-f=B:s:0", "-i=A:A.ttx", "-i=B:B.ttx"],
        ),
        (  # TACO subtracts B(j) once from the sum over i and k, which has 3 · 4 terms
            "C[j] += A[k, i, j] - B[j]", "jik", {},
            ["C(j) = (A(k,i,j) - B(j) * 12)", "-f=C:d:0", "-f=A:duq:2,1,0", "-f=B:d:0", "-i=A:A.ttx", "-i=B:B.ttx"],
        ),
        (  # but here it is inside of the sum over i
            "C[j] += (A[i, j] + B[j]) - D[i]", "ji", {},
            ["C(j) = ((A(i,j) + B(j)) - D(i))", "-f=C:d:0", "-f=A:ds:1,0", "-f=B:d:0", "-f=D:d:0"]
            + [f"-i={name}:{name}.ttx" for name in "ABD"],
        ),
        ("C[] -= (A[i] * -0.5 + 1)", "i", {}, ["C = -(A(i) * -0.5 + 1 * 3)", "-f=A:d:0", "-i=A:A.ttx"]),
        (
            "C[j, i] = (A[i] + 2) * A[i] * B[j]", "ij", {"C": "SparseList(Mutex(SparseDict({})))"},
            ["C(j,i) = (A(i) + 2) * A(i) * B(j)", "-f=C:ss:1,0", "-f=A:d:0", "-f=B:d:0", "-i=A:A.ttx", "-i=B:B.ttx"],
        ),
        (
            "C[i, j, k] = A[i, j, k]", "kji", {"A": "SparseCOO(3, {})", "C": "Dense(Dense(RunList({})))"},
            ["C(i,j,k) = A(i,j,k)", "-f=C:dds:2,1,0", "-f=A:ucq:2,1,0", "-i=A:A.ttx"],
        ),
    ],
)  # fmt: skip
def test_an_einsum_becomes_a_command_line(update: str, loops: str, forms: Any, arguments: list[str]) -> None:
    program = bound(update, loops, **forms)
    assert tool_arguments(program.einsum(), program.towers) == [*arguments, "-o=C:C.tns"]


def test_an_output_is_dense_on_request() -> None:
    program = bound("C[i, j] = A[i, j]", "ji", C="SparseList(SparseList({}))")
    formats = {dense: tool_arguments(program.einsum(), program.towers, dense)[1] for dense in (False, True)}
    assert formats == {False: "-f=C:ss:1,0", True: "-f=C:dd:1,0"}


@pytest.mark.parametrize(
    ("update", "loops", "given", "why"),
    [
        ("C[i] <<max>>= A[i, j]", "ji", {}, "the reduction max"),
        ("C[i] = min(A[i], B[i])", "i", {}, "the operator min"),
        ("C[i] = A[i] / B[i]", "i", {}, "the operator /"),
        ("C[i] = A[i] * i", "i", {}, "Index"),
        ("C[i] = A[i] * Inf", "i", {}, "Literal"),
        ("C[i] += (A[i, j] + B[j]) * 2", "ji", {}, "a sum of products of sums"),
        ("C[i] += A[i, i] * B[j]", "ji", {"extents": {"i": 2, "j": 2}}, "a diagonal"),
        ("C[i, j] = A[i, j] * A[j, i]", "ji", {"extents": {"i": 2, "j": 2}}, "a tensor with its axes in two orders"),
        ("C[i] += A[i, j]", "ji", {"extents": {"i": 2, "j": 0}}, "an axis of extent 0"),
        ("C[i] = A[i]", "i", {"leaf": "Element(false)"}, "an output of booleans"),
        ("C[i] = A[i]", "i", {"leaf": "Element(1.0)"}, "a fill value other than 0"),
        ("C[i] = A[i] * B[]", "i", {}, "an input without axes"),
        ("C[ä] = A[ä]", "ä", {"extents": {"ä": 2}}, "the name ä"),
    ],
)
def test_what_taco_has_no_notation_for_is_not_run(update: str, loops: str, given: Any, why: str) -> None:
    """And its tool is not started."""
    with pytest.raises(NotImplementedError) as error:
        Taco([sys.executable, "-c", "raise SystemExit('started')"]).run(bound(update, loops, **given), {})
    assert str(error.value) == why


HEAD = "%%MatrixMarket tensor coordinate real general\n"


@pytest.mark.parametrize(
    ("at", "values", "shape", "rows"),
    [
        ([[0, 2, 1], [0, 0, 1]], [0.1, 0.0, -2.0], (3, 2), "3 2 3\n1 1 0.1\n3 1 0.0\n2 2 -2.0\n"),
        ([[1]], [2**53], (4,), "4 1\n2 9007199254740992.0\n"),
        ([[], [], []], [], (2, 1, 3), "2 1 3 1\n1 1 1 0.0\n"),  # for TACO's reader, which takes 3 0 for three elements
        ([[0]], [True], (1,), "1 1\n1 1.0\n"),
    ],
)
def test_an_input_is_a_file_of_what_it_stores(at: Any, values: Any, shape: tuple[int, ...], rows: str) -> None:
    stored = Coordinates(np.array(at, np.int64).reshape(len(shape), -1), np.array(values), 0, shape)
    assert tensor_file(stored) == HEAD + rows


@pytest.mark.parametrize("value", [2**53 + 1, 2**63 - 1, -(2**63) + 1])
def test_an_integer_that_no_double_represents_is_no_input(value: int) -> None:
    with pytest.raises(NotImplementedError, match="integers that doubles do not represent"):
        tensor_file(Coordinates(np.array([[0]]), np.array([value]), 0, (1,)))


@pytest.mark.parametrize(
    ("text", "shape", "array"),
    [
        ("1 2 0.5\n3 1 -1e+06\n", (3, 2), [[0, 0.5], [0, 0], [-1e6, 0]]),
        ("", (2,), [0, 0]),
        ("-nan\n", (), np.nan),
        ("7\n", (), 7),
    ],
)
def test_an_output_is_read(text: str, shape: tuple[int, ...], array: Any) -> None:
    found = elements(text, shape)
    assert found.shape == shape and np.array_equal(found, np.array(array, float), equal_nan=True)


@pytest.mark.parametrize(
    ("text", "why"), [("1 5\n2 1\n1 5\n", "twice"), ("3 5\n", "outside of its axes"), ("0 5\n", "outside of its axes")]
)
def test_an_element_twice_or_outside_of_the_axes_is_a_defect(text: str, why: str) -> None:
    with pytest.raises(RuntimeError, match=f"the output has an element {why}"):
        elements(text, (2,))


# ------------------------------------------------------------------------------------------------------------ the tool


class Documented:
    """TACO's notation by http://tensor-compiler.org/docs/computations, run as loops over dense arrays."""

    def __init__(self, folder: Path, arguments: Sequence[str]) -> None:
        assignment, *options = arguments
        self.tensors: dict[str, np.ndarray] = {}
        self.extents: dict[str, int] = {}
        for name, path in (option[3:].split(":") for option in options if option.startswith("-i=")):
            head, sizes, *rows = (folder / path).read_text().splitlines()
            assert f"{head}\n" == HEAD
            *shape, count = map(int, sizes.split())
            assert count == len(rows)
            self.tensors[name] = np.zeros(shape)
            for *at, number in (row.split() for row in rows):
                self.tensors[name][tuple(int(index) - 1 for index in at)] = float(number)
        left, right = (ast.parse(side, mode="eval").body for side in assignment.split(" = "))
        for node in ast.walk(right):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                self.extents.update(zip(indices(node), self.tensors[node.func.id].shape, strict=True))
        free = indices(left)
        self.sums: dict[int, list[str]] = {}
        for index in self.extents.keys() - set(free):
            self.sums.setdefault(id(smallest(right, index)), []).append(index)
        orders = [option.split(":")[1:] for option in options if option.startswith("-f=")]
        assert all(sorted(order.split(",")) == [*map(str, range(len(levels)))] for levels, order in orders)
        self.rows = []
        for point in product(*(range(self.extents[index]) for index in free)):
            value = self.value(right, dict(zip(free, point, strict=True)))
            self.rows.append(" ".join([*(str(index + 1) for index in point), f"{value:g}"]))

    def value(self, node: Any, at: dict[str, int]) -> float:
        over = self.sums.get(id(node), [])
        points = product(*(range(self.extents[index]) for index in over))
        return sum(self.term(node, {**at, **dict(zip(over, point, strict=True))}) for point in points)

    def term(self, node: Any, at: dict[str, int]) -> float:
        match node:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.UnaryOp():
                return -self.value(node.operand, at)
            case ast.Call(func=ast.Name(id=name)):
                return float(self.tensors[name][tuple(at[index] for index in indices(node))])
        operators = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
        return float(operators[type(node.op)](self.value(node.left, at), self.value(node.right, at)))


def smallest(node: ast.expr, index: str) -> ast.expr:
    """The smallest subexpression with all uses of an index."""
    operands = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
    using = [each for each in operands if any(isinstance(n, ast.Name) and n.id == index for n in ast.walk(each))]
    return smallest(using[0], index) if len(using) == 1 and not isinstance(node, ast.Call) else node


def indices(access: Any) -> list[str]:
    return [index.id for index in getattr(access, "args", [])]


def test_taco_gets_random_einsums_in_its_notation(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its documentation they mean what the rules compute: each term is summed as often as the loops say."""

    def documented(command: Sequence[str], cwd: str, **_: Any) -> subprocess.CompletedProcess[str]:
        path = Path(cwd, command[-1].partition(":")[2])
        path.write_text("\n".join(Documented(path.parent, command[1:]).rows))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", documented)
    engine = Taco([sys.executable])
    done = campaign(["semantics"], [engine], programs=einsums(), examples=many(480), inputs=4, tolerance=1e-5)
    assert done.cases >= many(160), done


def stand_in(path: Path, *lines: str) -> Taco:
    """An engine whose tool is a Python program."""
    path.write_text("\n".join(["import os, sys", "from pathlib import Path", *lines]))
    return Taco([sys.executable, str(path)])


PRODUCT = bound("C[i] += A[i, j] * B[j]", "ji", leaf="Element(0)")
"""Of ones: every element of C is 2."""


def test_the_tool_runs_in_a_folder_of_its_own(tmp_path: Path) -> None:
    """The folder has its inputs and temporary files, and is gone afterwards."""
    arguments = tool_arguments(PRODUCT.einsum(), PRODUCT.towers)
    engine = stand_in(
        tmp_path / "tool.py",
        f"assert sys.argv[1:] == {arguments!r}",
        "assert sorted(os.listdir()) == ['A.ttx', 'B.ttx'] and os.path.samefile(os.environ['TMPDIR'], '.')",
        "Path('C.tns').write_text('1 2\\n2 2\\n3 2\\n')",
        f"Path({str(tmp_path)!r}, 'was').write_text(os.getcwd())",
    )
    assert api.diff(PRODUCT, engines=["semantics", engine]).difference is None
    assert not Path((tmp_path / "was").read_text()).exists()


@pytest.mark.parametrize(("op", "init"), [("+", 2**62 + 1), ("-", -3)])
def test_the_initial_value_is_part_of_a_sum(tmp_path: Path, op: str, init: int) -> None:
    """Exactly, though TACO computes with doubles."""
    text = kernel(f"C[i] {op}= A[i, j] * B[j]", "ji", leaf="Element(0)").replace("C .= 0", f"C .= {init}")
    program = api.bind(api.parse(text), inputs={"A": np.ones((3, 2), int), "B": np.ones(2, int)})
    row = 2 if op == "+" else -2
    engine = stand_in(tmp_path / "tool.py", f"Path('C.tns').write_text('1 {row}\\n2 {row}\\n3 {row}\\n')")
    assert api.diff(program, engines=["semantics", engine]).difference is None


def test_the_path_of_the_tool_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although it runs in another folder."""
    Path(tmp_path, "tool").write_text("#!/bin/sh\nprintf '1 2\\n2 2\\n3 2\\n' > C.tns\n")
    Path(tmp_path, "tool").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert api.diff(PRODUCT, engines=["semantics", Taco(["./tool"])]).difference is None


ABORTS = "terminate called after throwing an instance of 'taco::TacoException'\n  what():  "
USAGE = "\n\nUsage: taco <index expression> [options]\n"


@pytest.mark.parametrize(
    ("tool", "defect"),
    [
        ("os.abort()", "RuntimeError: the tool ends with signal 6, Aborted"),
        (
            f"sys.stderr.write('''x.c: In f:\\nx.c:9:3: error: 'jA' undeclared\\n{ABORTS}Error at''')\nos.abort()",
            "RuntimeError: the C that it prints is wrong: 'jA' undeclared",
        ),
        (
            f"sys.stderr.write('''{ABORTS}Compiler bug at lower.cpp:7 in f\\nPlease report it''')\nsys.exit(134)",
            "RuntimeError: Compiler bug at lower.cpp:7 in f Please report it",
        ),
        (
            f"sys.stderr.write('''Error: Expected ')'{USAGE}''')\nsys.exit(6)",
            "RuntimeError: Error: Expected ')'",
        ),
        ("sys.exit(3)", "RuntimeError: the tool ends with status 3"),
        ("Path('C.tns').write_text('1 2\\n1 2\\n')", "RuntimeError: the output has an element twice"),
        ("Path('C.tns').write_text('1 0.1\\n')", "RuntimeError: the output has fractions"),
    ],
)  # fmt: skip
def test_a_failure_of_the_tool_is_a_defect(tmp_path: Path, tool: str, defect: str) -> None:
    """Named by what TACO, or the C compiler, says first."""
    found = api.diff(PRODUCT, engines=["semantics", stand_in(tmp_path / "tool.py", tool)]).difference
    assert found is not None and found.second_has == f"a defect: {defect}"


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        (
            f"sys.stderr.write('''{ABORTS}Error at x.cpp:1 in f:\\n Not supported yet''')\nos.abort()",
            "Error .* Not supported yet",
        ),
        ("Path('C.tns').write_text('1 1e+06\\n')", "integers of more than 6 digits in the output"),
    ],
)
def test_what_the_tool_refuses_is_not_run(tmp_path: Path, tool: str, why: str) -> None:
    with pytest.raises(InputError, match=f"taco cannot run this: {why}"):
        api.diff(PRODUCT, engines=["semantics", stand_in(tmp_path / "tool.py", tool)])


def test_a_tool_that_is_not_there_is_an_error() -> None:
    with pytest.raises(InputError, match="this engine needs no-such-taco, which is not there") as error:
        Taco(["no-such-taco"])
    assert error.value.fix == "build https://github.com/tensor-compiler/taco, and add its tool to PATH"


KERNELS = [
    kernel("C[i] += A[i, j] * B[j]", "ji"),
    kernel("C[i, j] += A[i, k] * B[k, j]", "jki"),
    kernel("C[j, i] = A[j, i] * 2 - B[j, i]", "ij", leaf="Element(0)"),
    kernel("C[] += A[i, j, k] * B[k]", "kji"),
]


@pytest.mark.skipif(shutil.which("taco") is None, reason="TACO is not here: https://github.com/tensor-compiler/taco")
def test_the_tool_agrees_with_the_rules() -> None:
    """Defects listed in docs/peers.md are left out."""
    programs = st.sampled_from(KERNELS)
    done = campaign(["semantics"], [Taco(dense=True)], programs=programs, examples=16, inputs=2, tolerance=1e-5)
    assert done.cases > 8, done
