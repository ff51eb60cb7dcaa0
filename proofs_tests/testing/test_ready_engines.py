"""The engines that are ready for other libraries."""

from __future__ import annotations

import sys
import tomllib
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from proofs_tests.effort import few, many
from proofs_tests.places import ROOT
from wingspan import api
from wingspan.base.errors import InputError
from wingspan.testing import campaign, einsums, peers
from wingspan.testing.peers import Finch, FinchJl, Gcxs, GraphBLAS, Jax, Numba, SciPy, Sparse
from wingspan.testing.peers.finch_jl import script

MODULES = {Finch: "finchlite", Gcxs: "sparse", GraphBLAS: "graphblas", Jax: "jax", Numba: "numba", Sparse: "sparse"}


def test_every_ready_engine_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """By an entry point; those that are arrays or loops of one library call themselves the same."""
    monkeypatch.setitem(sys.modules, "sparse", ModuleType("sparse"))  # which takes 50 MB
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["wingspan.engines"]
    assert sorted(points.values()) == sorted(f"wingspan.testing.peers:{name}" for name in peers.__all__)
    named = [api.engine(points[name]).name for name in ("scipy", "sparse", "sparse-gcxs")]
    assert named == ["scipy", "sparse", "sparse-gcxs"]


@pytest.mark.parametrize("kind", MODULES)
def test_an_engine_whose_library_is_missing_names_the_extra(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, MODULES[kind], None)
    with pytest.raises(InputError, match="this engine needs the package") as error:
        kind()
    assert error.value.fix == "pip install 'wingspan[engines]'"


@pytest.mark.parametrize("kind", few([SciPy, Sparse, Gcxs], 1))
def test_libraries_that_are_there_agree(kind: Any) -> None:
    """A few cases each, so that what engines call fits what the libraries offer."""
    done = campaign(["semantics"], [kind()], programs=einsums(), examples=many(160), inputs=4, max_states=0)
    assert done.cases >= many(160) / 2, done


PRODUCT = """
A = Tensor(Dense(SparseList(Element(0.0))))
B = Tensor(Dense(Element(0.0)))
C = Tensor(Dense(Element(0.0)))
C .= 1
for j = _
    for i = _
        C[i] <<max>>= A[i, j] * B[j]
    end
end
return C
"""

JULIA = """using Finch
A = Tensor(Dense(SparseList(Element(0.0))), reshape(Float64[1.0, 0.0, 2.5, 0.0], 2, 2))
B = Tensor(Dense(Element(0.0)), reshape(Float64[2.0, -1.0], 2))
C = Tensor(Dense(Element(1.0)), 2)
@finch begin
    C .= 1.0
    for j = 1:2, i = 1:2
        C[i] <<max>>= A[i, j] * B[j]
    end
end
foreach(println, Array(C))
"""


def test_finch_jl_gets_a_program_and_its_output_is_read(tmp_path: Any) -> None:
    """By a stand-in for Julia, which keeps the program and prints a result."""
    bound = api.bind(api.parse(PRODUCT), inputs={"A": np.array([[1.0, 2.5], [0.0, 0.0]]), "B": np.array([2.0, -1.0])})
    given = {name: tensor.to_numpy() for name, tensor in bound.inputs.items()}
    assert script(bound.einsum(), given, "f") == JULIA
    julia = tmp_path / "julia.py"
    julia.write_text(f"import sys\nassert open(sys.argv[1]).read() == {JULIA!r}\nprint(2.0, 1.0, sep='\\n')\n")
    engine = FinchJl([sys.executable, str(julia)])
    assert api.diff(bound, engines=["semantics", engine]).difference is None
    julia.write_text("import sys\nsys.exit('LoadError: no Finch')\n")
    found = api.diff(bound, engines=["semantics", engine]).difference
    assert found is not None and found.second_has == "a defect: RuntimeError: LoadError: no Finch"
    with pytest.raises(InputError, match="this engine needs no-such-julia"):
        FinchJl(["no-such-julia"])


@pytest.mark.parametrize("update", ["<<f>>= A[i]", "+= f(A[i], 2)", "+%= A[i]", "+= A[i] *% 2", "+= A[i] ÷ 2"])
def test_finch_jl_is_not_given_operators_that_it_lacks(update: str) -> None:
    text = f"""
    function f(x, y) = x - y
    A = Tensor(Dense(Element(0)))
    C = Tensor(Element(0))
    C .= 0
    for i = _; C[] {update}; end
    """
    einsum = api.bind(api.parse(text), inputs={"A": np.array([1, 2])}).einsum()
    with pytest.raises(NotImplementedError, match="the operator"):
        script(einsum, {"A": np.array([1, 2])}, "i")


def test_finch_jl_is_given_its_own_choose() -> None:
    text = "A = Tensor(Dense(Element(0)))\nC = Tensor(Element(0))\nC .= 0\nfor i = _; C[] <<choose(0)>>= A[i]; end"
    einsum = api.bind(api.parse(text), inputs={"A": np.array([1, 2])}).einsum()
    assert "C[] <<choose(0)>>= A[i]" in script(einsum, {"A": np.array([1, 2])}, "i")
