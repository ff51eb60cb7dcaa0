"""Pairs at the boundary: records of NumPy's in, records out, and one clear error for what holds none."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import wingspan
from wingspan import api
from wingspan.base.documents import text
from wingspan.base.errors import InputError

DATA = np.array([(0.1, 3), (math.inf, 0), (-2.0, -1), (math.nan, 5)], wingspan.PAIR)
FORMATS = ("Dense(Element({}))", "SparseList(Element({}))", "SparseDict(Element({}))", "RunList(Element({}))")


def alike(x: np.ndarray, y: np.ndarray) -> bool:
    same: bool = np.array_equal(x["first"], y["first"], equal_nan=True) and np.array_equal(x["second"], y["second"])
    return same


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("extent", [0, 1, 4])
def test_records_come_back(form: str, extent: int) -> None:
    made = wingspan.Tensor.from_numpy(form.format("(Inf, 0)"), DATA[:extent])
    made.validate()
    assert made.to_numpy().dtype == wingspan.PAIR and alike(made.to_numpy(), DATA[:extent])
    stored = made.to_coo()
    assert alike(stored.values, DATA[:extent][stored.subscripts[0]]) and str(stored.fill) == "(Inf, 0)"


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("engine", ["reference", "semantics", "native", "native-controlled"])
def test_records_are_inputs(form: str, engine: str) -> None:
    program = api.parse(f"""
P = Tensor({form.format("(Inf, 0)")})
q = Tensor(Dense(Element((0, 0))))
q .= (0, 0)
for i = _
    q[i] = P[i]
end
return q
""")
    assert alike(api.run(program, inputs={"P": DATA}, engine=engine).tensors["q"].to_numpy(), DATA)
    sparse = wingspan.Tensor.from_numpy("SparseList(Element((Inf, 0)))", DATA)
    assert alike(api.run(program, inputs={"P": sparse}, engine=engine).tensors["q"].to_numpy(), DATA)


def test_kernels_take_and_give_records() -> None:
    program = api.parse("""
P = Tensor(Dense(Element((Inf, 0))))
p = Tensor(Element((Inf, 0)))
p .= (Inf, 0)
for i = _
    p[] <<minby>>= P[i]
end
return p
""")
    kernel = wingspan.compile(program)
    assert kernel(P=DATA[:3]).to_numpy().item() == (-2.0, -1)
    with pytest.raises(InputError, match="stores pairs, and the data holds none"):
        kernel(P=np.array([1, 2]))


@pytest.mark.parametrize(
    ("form", "data", "message"),
    [
        ("Dense(Element(0.0))", DATA, "the data holds pairs, and Dense(Element(0.0)) does not"),
        (
            "Dense(Element((Inf, 0)))",
            np.array([1, 2]),
            "Dense(Element((Inf, 0))) stores pairs, and the data holds none",
        ),
        ("Dense(Element((Inf, 0)))", np.array([0.5]), "stores pairs, and the data holds none"),
        ("Dense(Element((Inf, 0)))", np.array([1, 2], object), "1 is not a pair"),
        ("Dense(Element((Inf, 0), f32))", DATA, "f32 is no width of a pair"),
    ],
)
def test_what_holds_no_pairs_is_refused(form: str, data: np.ndarray, message: str) -> None:
    with pytest.raises(wingspan.WingspanError) as refused:
        wingspan.Tensor.from_numpy(form, data)
    assert message in str(refused.value)


def test_a_program_refuses_other_inputs() -> None:
    program = api.parse("P = Tensor(Dense(Element((Inf, 0)))); r = second(P[1])")
    assert api.run(program, inputs={"P": DATA}).variables == {"r": 3}
    with pytest.raises(InputError, match=r"P: .* stores pairs, and the data holds none"):
        api.run(program, inputs={"P": np.array([7, 8])})
    with pytest.raises(InputError, match="P: the data holds pairs"):
        api.run(api.parse("P = Tensor(Dense(Element(0))); r = P[1]"), inputs={"P": DATA})


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".mtx", ".tns", ".h5", ".arrow", ".png", ".pgm"])
def test_files_hold_no_pairs(suffix: str, tmp_path: Path) -> None:
    """The error is one, and no file is left."""
    made = wingspan.Tensor.from_numpy("Dense(Element((Inf, 0)))", DATA)
    with pytest.raises(InputError, match="files hold no pairs"):
        made.save(tmp_path / f"a{suffix}")
    assert not list(tmp_path.iterdir())


def test_scipy_arrow_and_float_refuse_pairs() -> None:
    made = wingspan.Tensor.from_numpy("Dense(Element((0, 0)))", DATA)
    with pytest.raises(InputError, match=r"hold no pairs, and Dense\(Element\(\(0\.0, 0\)\)\) does"):
        made.to_scipy()
    with pytest.raises(InputError, match=r"holds no pairs, and Dense\(Element\(\(0\.0, 0\)\)\) does"):
        made.to_arrow()
    with pytest.raises(TypeError, match="a pair is no number"):
        float(wingspan.Tensor.from_numpy("Element((0, 0))", DATA[0]))


def test_einsum_and_lazy_arrays_refuse_pairs() -> None:
    made = wingspan.Tensor.from_numpy("Dense(Element((0, 0)))", DATA)
    for given in (DATA, made):
        with pytest.raises(InputError, match="its elements are pairs"):
            wingspan.einsum("c[i] = A[i]", A=given)
        with pytest.raises(InputError, match="its elements are pairs"):
            wingspan.lazy(given)
    for written in ("c[i] <<minby>>= A[i]", "c[] <<minby>>= (A[i], i)"):
        with pytest.raises(InputError, match="it updates pairs"):
            wingspan.einsum(written, A=np.ones(2))


def test_pairs_are_shown_as_they_are_written() -> None:
    made = wingspan.Tensor.from_numpy("Dense(Element((Inf, 0)))", DATA)
    assert str(made).splitlines() == [
        "Dense(Element((Inf, 0)))  4", "├─ 1: (0.1, 3)", "├─ 2: (Inf, 0)", "├─ 3: (-2.0, -1)", "└─ 4: (NaN, 5)",
    ]  # fmt: skip


def test_json_has_a_pair_as_a_list_of_two() -> None:
    program = api.parse("p = Tensor(Dense(Element((Inf, 0))), 2); p .= (Inf, 0); p[1] = (0.5, 3); return p")
    found = json.loads(text(api.run(program).to_dict()))
    assert found["tensors"]["p"]["values"] == [[0.5, 3], ["Inf", 0]]


def test_diff_compares_pairs() -> None:
    program = api.parse("p = Tensor(Dense(Element((NaN, 0))), 2); p .= (NaN, 0); p[1] = (0.5, 3); return p")
    compared = api.diff(program, engines=["reference", "semantics", "native"])
    assert compared.difference is None and len(compared.endings) == 3


def test_unclaimed_engines_that_differ_are_found() -> None:
    """An engine that takes the later index: the difference names the place, and both pairs."""

    class Later:
        name = "later"

        def run(self, program: wingspan.Program, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {"p": np.array((0.5, 2), wingspan.PAIR)}

    text = "p = Tensor(Element((Inf, 0))); p .= (Inf, 0); for i = 1:2; p[] <<minby>>= (0.5, i); end; return p"
    found = api.diff(api.parse(text), engines=["reference", Later()]).difference  # type: ignore[list-item]
    assert found is not None and [str(found.first_has), str(found.second_has)] == ["(0.5, 1)", "(0.5, 2)"]
