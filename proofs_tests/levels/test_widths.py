"""Storage widths: what a store makes of a value, alike under the rules, the reference, on threads and in C."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests.compiled import needs_compiler
from proofs_tests.effort import few, many
from proofs_tests.exploring import explored
from wingspan import Tensor, api, compile
from wingspan.base.errors import Fault, InputError, ProgramError
from wingspan.compiled.build import compiler
from wingspan.elaborate import Elaborated
from wingspan.lang.printer import show
from wingspan.lang.widths import NARROW, WIDTHS, f32
from wingspan.levels import resolve
from wingspan.reference import single
from wingspan.tensors.formats import parse_format
from wingspan.testing import Options, compare, programs
from wingspan.testing.batched_c import Together

ENGINES = ("reference", "semantics", "native", "native-controlled")
INTEGERS = [name for name, width in NARROW.items() if width.kind == "int"]
LEAVES = ("Element", "Atomic")
FINITE = st.floats(allow_nan=False, allow_infinity=False)
derandomized = settings(max_examples=many(300), deadline=None, derandomize=True)


def test_a_cell_of_memory_is_as_wide_as_an_element_of_an_array() -> None:
    """So arrays can be borrowed, and the cells of a result be handed out as an array."""
    sizes = {name: np.dtype(width.dtype).itemsize for name, width in WIDTHS.items()}
    assert {name: np.dtype(WIDTHS[width.cell].dtype).itemsize for name, width in WIDTHS.items()} == sizes


def ends(*texts: str, **inputs: Any) -> list[list[Any]]:
    """The results of programs on every engine: the types and elements of the outputs, or the message of the fault."""
    some = [api.bind(api.parse(text), inputs=inputs) for text in texts]
    engines: list[Any] = [api.engine(name) for name in ENGINES]
    if compiler():
        engines.append(Together("-O0"))
        engines[-1].prepare(some)
    return [[_end(engine, bound) for engine in engines] for bound in some]


def _end(engine: Any, bound: Elaborated) -> Any:
    try:
        made = {name: np.asarray(value) for name, value in engine.run(bound, {}).items()}
    except Fault as fault:
        return fault.message
    return {name: (made[name].dtype.name, made[name].tolist()) for name in bound.outputs}


def alike(found: list[Any]) -> Any:
    """The common result of all engines."""
    assert all(end == found[0] for end in found), found
    return found[0]


# -------------------------------------------------------------------------------------------------------------- bounds

WRITES = {
    "an element is set": "C = Tensor(Dense(LEAF), 2)\nC .= 0\nfor i = 1:2\nC[i] = x[1]\nend",
    "an element is updated": "C = Tensor(Dense(LEAF), 2)\nC .= 0\nfor i = 1:2\nC[i] += x[1]\nend",
    "an element is decreased": "C = Tensor(Dense(LEAF), 2)\nC .= 0\nfor i = 1:2\nC[i] -= 0 - x[1]\nend",
    "an entry is updated": "C = Tensor(SparseDict(LEAF), 2)\nC .= 0\nfor i = 1:2\nC[i] += x[1]\nend",
    "a tensor is declared": "C = Tensor(Dense(LEAF), 2)\nC .= VALUE\nfor i = 1:2\nC[i] += 0 * x[1]\nend",
    "a workspace is declared": "C = Tensor(Dense(Element(0)), 1)\nw = Tensor(SparseList(LEAF), 2)\nC .= 0\n"
    "for k = 1:1\nw .= VALUE\nC[k] += 0 * x[1]\nend",
    "a run is written": "C = Tensor(RunList(LEAF), 4)\nC .= 0\nfor i = 1:4\nC[i] = x[1]\nend",
    "a run is added": "r = Tensor(RunList(Element(0)), [1, 1, 1, 1])\nC = Tensor(LEAF)\nC .= 0\n"
    "for i = 1:1\nC[] += x[i] - 4 * SIGN\nend\nfor i = _\nC[] += SIGN * r[i]\nend",
    "copies are merged": "d = cpu(:d, 2)\nC = Tensor(Merge(d, Dense(LEAF)), 1)\nC .= 0\nfor j = parallel(1:2, d)\n"
    "for i = 1:1\nif j == 1\nC[i] += x[1] ÷ 2\nend\nif j == 2\nC[i] += x[1] - x[1] ÷ 2\nend\nend\nend",
}  # fmt: skip


@pytest.mark.parametrize(("width", "turn"), few(list(product(INTEGERS, [0, 1])), 1))
def test_each_bound_fits_and_one_beyond_is_a_fault(width: str, turn: int) -> None:
    """One message names the tensor, the value and the width, and every engine says it.

    A turn has one leaf for each way to write and each value, so that each leaf meets both bounds, and other ways.
    """
    fitting, texts = NARROW[width].range, {}
    for at, (how, write) in enumerate(WRITES.items(), turn):
        for k, value in enumerate((fitting[0], fitting[-1], fitting[0] - 1, fitting[-1] + 1), at):
            head = f"x = Tensor(Dense(Element(0)), [{value}])\n"
            text = write.replace("VALUE", str(value)).replace("SIGN", "1" if value > 0 else "-1")
            if "SIGN" in write and not abs(value) >= 4:
                continue  # a byte without a sign comes to nothing below 0 by steps
            leaf = LEAVES[k % 2]
            texts[how, value, leaf] = f"{head}{text}\nreturn C\n".replace("LEAF", f"{leaf}(0, {width})")
    for (how, value, leaf), endings in zip(texts, ends(*texts.values()), strict=True):
        if value in fitting:
            assert isinstance(alike(endings), dict), how
        else:
            message = re.compile(rf"(freeze\(C\): )?[Cw](, level 1 {leaf})?: {value} does not fit {width}")
            assert all(isinstance(end, str) and message.fullmatch(end) for end in endings), (how, endings)


@pytest.mark.parametrize("threads", [1, 4])
def test_tasks_fill_one_atomic_byte_and_no_more(threads: int) -> None:
    """The last task meets the fault."""
    text = f"""
        d = cpu(:d, {threads})
        c = Tensor(Atomic(0, u8))
        c .= 0
        for i = parallel(1:TASKS, d, dynamic_schedule(3))
            c[] += 1
        end
        return c
    """
    full, fuller = ends(text.replace("TASKS", "255"), text.replace("TASKS", "256"))
    assert alike(full) == {"c": ("uint8", 255)}
    assert {re.sub(", level 1 Atomic", "", end) for end in fuller} == {"c: 256 does not fit u8"}


def test_a_sum_that_is_too_large_on_the_way_is_a_fault_of_some_interleavings() -> None:
    """As of 64 bits: what `check` accepts is safe but for faults that values cause."""
    text = """
        d = cpu(:d, 2)
        c = Tensor(Atomic(0, u8))
        c .= 250
        for i = parallel(1:2, d)
            c[] += 20 * i - 30
        end
        return c
    """
    assert api.check(api.parse(text), budget=0).verdict == "safe"
    for machine in ("semantics", "native"):
        found = explored(text, machine=machine, strategy="graph").verdict
        assert found.complete and len(found.results) == 1
        assert {fault.message for fault in found.faults} == {"c, level 1 Atomic: 260 does not fit u8"}


# ----------------------------------------------------------------------------------------------------------- rounding


@derandomized
@given(st.fractions(-(2**130), 2**130) | FINITE.map(Fraction), st.integers(-30, 30))
def test_a_rational_becomes_the_nearest_of_32_bits(x: Fraction, power: int) -> None:
    """As the reference finds it by distances; and of doubles, as NumPy does. Beyond the largest, rationals stay."""
    for value in (x, x * Fraction(2) ** power, Fraction(2**25 + 2 * power + 1), Fraction(2**128 - 2**103) + power):
        assert f32(value) == single(value)
        if abs(value) < 1e300 and Fraction(float(value)) == value:
            with np.errstate(over="ignore"):
                near = float(np.float32(float(value)))
            assert f32(value) == (near if np.isfinite(near) else value)
            assert f32(float(value)) == near


@derandomized
@given(st.lists(FINITE.filter(lambda x: abs(x) < 1e38), min_size=1, max_size=5))
def test_a_store_rounds_to_32_bits(values: list[float]) -> None:
    """Inputs, too; computing goes on in 64: x - f32(x) is not zero."""
    text = """
        A = Tensor(Dense(Element(0.0)))
        B = Tensor(Dense(Element(0.5, f32)))
        C = Tensor(Dense(Element(0.0, f32)))
        D = Tensor(Dense(Element(0.0)))
        C .= 0
        D .= 0
        for i = _
            C[i] = A[i]
            D[i] = A[i] - B[i]
        end
        return C, D
    """
    every = np.array(values)
    narrow = every.astype(np.float32)
    bound = api.bind(api.parse(text), inputs={"A": every, "B": every})
    for engine in ENGINES:
        made = {name: np.asarray(value) for name, value in api.engine(engine).run(bound, {}).items()}
        assert made["C"].dtype == np.float32 and np.array_equal(made["C"], narrow)
        assert np.array_equal(made["D"], every - narrow)


SUMS = {
    "one by one": "C .= 16777216.0\nfor i = 1:3\nC[1] += 1\nend",
    "atomically": "C .= 16777216.0\nfor i = parallel(1:3)\nC[1] += 1\nend",
    "in a run": "r = Tensor(RunList(Element(0.0)), [1.0, 1.0, 1.0])\nC .= 16777216.0\n"
    "for i = 1:1\nfor k = _\nC[i] += r[k]\nend\nend",
}


def test_a_sum_of_32_bits_is_rounded_at_every_store() -> None:
    """2²⁴ + 1 is 2²⁴ there, so that adding three ones changes nothing."""
    forms = [(leaf, how) for leaf in LEAVES for how in SUMS if (leaf, how) != ("Element", "atomically")]
    texts = [f"C = Tensor(Dense({leaf}(0.0, f32)), 1)\n{SUMS[how]}\nreturn C\n" for leaf, how in forms]
    for found in ends(*texts):
        assert alike(found) == {"C": ("float32", [2.0**24])}


def test_few_terms_of_32_bits_are_summed_as_many_are() -> None:
    """C sums few doubles of a task's own bitmap in a list, in which nothing is rounded."""
    text = """
        d = cpu(:d, 2)
        A = Tensor(Dense(SparseList(Element(0.0))))
        C = Tensor(Dense(Shard(d, SparseList(Element(0.0)))), 2000, 2)
        w = Tensor(SparseByteMap(Element(0.0, f32)), 2000)
        C .= 0
        for j = parallel(1:2, d)
            w .= 0
            for k = _
                for i = _
                    w[i] += A[i, k] * A[k, j]
                end
            end
            for i = _
                C[i, j] = w[i]
            end
        end
        return C
    """
    A = np.zeros((2000, 2000))
    A[0, :2], A[1, 0] = (4096, 1), 1
    bound = api.bind(api.parse(text), inputs={"A": A})
    for engine in (api.engine("native"), *([Together("-O0")] if compiler() else [])):
        made = np.asarray(engine.run(bound, {})["C"])
        assert made[0, 0] == 2**24 == np.float32(2**24) + np.float32(1)


def test_beyond_the_largest_of_32_bits_is_as_beyond_the_largest_double() -> None:
    """Infinite in arrays, and no fault; the rules and the reference go on with the rational."""
    text = """
        x = Tensor(Dense(Element(0.0)))
        C = Tensor(Dense(Element(0.0, f32)))
        C .= 0
        for i = _
            C[i] = x[i] * 4
        end
        return C
    """
    (found,) = ends(text, x=np.array([1e38, -1e38]))
    assert alike(found) == {"C": ("float32", [np.inf, -np.inf])}


# ------------------------------------------------------------------------------------------------------ random programs


@pytest.mark.parametrize("op", ["-=", "-%="])
@pytest.mark.parametrize("form", ["Merge(dev, Dense(Element(0, {})))", "Dense(Merge(dev, Element(0, {})))"])
def test_a_copy_may_fault_where_the_merged_difference_fits(form: str, op: str) -> None:
    """It is value-dependent: the check accepts it, every engine with copies faults, and a width with a sign serves."""
    text = f"dev = cpu(:t, 2)\nC = Tensor({form}, 2)\nC .= 0\n"
    for update in (f"{op.replace('-', '+')} 50", f"{op} 5"):
        text += f"for k = parallel(1:2, dev)\nfor i = 1:2\nC[i] {update}\nend\nend\n"
    unsigned, signed = (api.bind(api.parse(f"{text.format(width)}return C")) for width in ("u8", "i8"))
    assert api.check(unsigned).verdict == "safe"
    for engine in ENGINES:
        assert api.run(signed, engine=engine).tensors["C"].to_numpy().tolist() == [90, 90]
        if engine == "reference":
            assert api.run(unsigned, engine=engine).tensors["C"].to_numpy().tolist() == [90, 90]
        else:
            with pytest.raises(Fault, match="-5 does not fit u8"):
                api.run(unsigned, engine=engine)


SMALL = Options(depth=2, statements=2, narrow=1)


def test_engines_agree_on_random_programs_over_narrow_leaves() -> None:
    """Both the values and the faults agree; C of all programs is in one file."""
    safe: list[Elaborated] = []

    @settings(max_examples=many(960), deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(programs(SMALL))
    def collect(text: str) -> None:
        program = api.parse(text)
        if api.check(program, budget=0).verdict == "safe":
            safe.append(api.bind(program))

    collect()
    assert len(safe) > many(960) / 20
    assert {tower.width.name for bound in safe for tower in bound.towers.values()} >= {"i8", "u8", "f32"}
    engines: list[Any] = [api.engine(name) for name in ENGINES]
    if compiler():
        engines.append(Together("-O0"))
        engines[-1].prepare(safe)
    for bound in safe:
        compared = compare(bound, engines, lenient=True)
        assert compared.difference is None, f"{show(bound.body)}\n{compared.difference}"


# ---------------------------------------------------------------------------------------------------------- as written


@pytest.mark.parametrize(
    ("form", "message", "fix"),
    [
        ("Element(0, u7)", "there is no width u7", "u8, u16, u32, i8, i16, i32, f32"),
        ("Element(256, u8)", "the fill value 256 does not fit u8", "wider"),
        ("Element(-1, u8)", "the fill value -1 does not fit u8", "wider"),
        ("Element(0.0, u8)", "u8 is no width of a double, as the fill value 0.0 is", "Element(0.0, f32)"),
        ("Element(0, f32)", "f32 is no width of a 64-bit integer, as the fill value 0 is", "Element(0, u8)"),
        ("Element(false, u8)", "u8 is no width of a boolean, as the fill value false is", "Element(false)"),
        ("Element(0, u8, u8)", "Element takes a fill value, and maybe a width", "Element(0.0)"),
        ("SparseList(Pattern(false, u8))", "Pattern takes nothing", "Pattern()"),
    ],
)
def test_a_width_that_does_not_fit_is_one_clear_error(form: str, message: str, fix: str) -> None:
    with pytest.raises(ProgramError) as found:
        resolve(parse_format(form), {})
    assert found.value.message == message and fix in str(found.value.fix)


@pytest.mark.parametrize("form", ["Element(0, u8)", "Dense(Atomic(-1, i16))", "SparseList(Element(0.5, f32))"])
def test_a_width_is_printed_as_it_is_written(form: str) -> None:
    assert str(resolve(parse_format(form), {})) == show(parse_format(form)) == form


def test_a_fill_value_is_rounded_as_elements_are() -> None:
    """So that it compares as equal to them."""
    level = resolve(parse_format("Element(0.1, f32)"), {})
    assert level.fill == float(np.float32(0.1)) != 0.1  # type: ignore[attr-defined]
    text = "C = Tensor(Dense(Element(0.1, f32)), 2)\nC .= 0.1\nfor i = 1:1\nC[i] += 0\nend\nreturn C"
    (found,) = ends(text)
    assert alike(found) == {"C": ("float32", [float(np.float32(0.1))] * 2)}


def test_a_width_may_also_be_the_name_of_a_tensor() -> None:
    """It is one only after a fill value."""
    text = "u8 = Tensor(Element(0, u8))\nu8 .= 7\nu8[] += 1\nreturn u8"
    (found,) = ends(text)
    assert alike(found) == {"u8": ("uint8", 8)}


# --------------------------------------------------------------------------------------------------------------- arrays


@pytest.mark.parametrize("shape", [(0,), (1,), (0, 3), (3, 0), (1, 1), (4, 3)])
@pytest.mark.parametrize("width", NARROW)
def test_arrays_stay_as_narrow_as_they_are(width: str, shape: tuple[int, ...]) -> None:
    """Into a tensor and out again: nothing is copied that was not copied before, nothing widened."""
    dtype = NARROW[width].dtype
    array = np.asfortranarray(np.arange(np.prod(shape)).reshape(shape).astype(dtype))
    zero = "0.0" if width == "f32" else "0"
    dense, sparse = (f"{level}(Element({zero}, {width}))" for level in ("Dense", "SparseList"))
    if len(shape) == 2:
        dense, sparse = f"Dense({dense})", f"Dense({sparse})"
    borrowed = Tensor.from_numpy(dense, array, borrow=True)
    held = borrowed.data.arrays[len(shape), "val", ()].values  # type: ignore[union-attr]
    assert held.dtype == dtype and (not array.size or np.shares_memory(held, array))
    for form in (dense, sparse):
        tensor = Tensor.from_numpy(form, array)
        tensor.validate()
        assert np.asarray(tensor).dtype == dtype and np.array_equal(tensor, array)
        out = tensor.to_scipy()
        assert out.dtype == dtype and np.array_equal(out.toarray(), array)
        back = Tensor.from_scipy(form, out)
        assert back.coordinates()[1].dtype == dtype and np.array_equal(back, array)


@pytest.mark.parametrize("value", [-129, 128, 200.0, 2**40, -1e300, 0.5])
def test_data_that_does_not_fit_is_refused(value: float) -> None:
    """Of either kind, in either form; it names the value and the format."""
    for given_array in (np.array([0, value]), [0, value]):
        with pytest.raises(InputError, match=r"(does not fit|is not a 64-bit integer).*Dense\(Element\(0, i8\)\)"):
            Tensor.from_numpy("Dense(Element(0, i8))", given_array)
    with pytest.raises(InputError, match="1e\\+300 does not fit f32"):
        Tensor.from_numpy("Dense(Element(0.0, f32))", np.array([1e300]))


def duplicated(*values: Any) -> scipy.sparse.coo_array:
    """A vector of two elements, the second of which is the sum of the values."""
    return scipy.sparse.coo_array((np.array(values), (np.ones(len(values), dtype=int),)), shape=(2,))


def test_duplicates_are_summed_before_they_are_narrow() -> None:
    """200 + 100 does not fit a byte, and 200 + 55 does; 2²⁴ + 1 does not fit f32."""
    byte, single = np.uint8, np.float32
    assert Tensor.from_scipy("SparseList(Element(0, u8))", duplicated(byte(200), byte(55))).to_numpy()[1] == 255
    assert Tensor.from_scipy("SparseList(Element(0))", duplicated(byte(200), byte(100))).to_numpy()[1] == 300
    with pytest.raises(InputError, match="300 does not fit u8"):
        Tensor.from_scipy("SparseList(Element(0, u8))", duplicated(byte(200), byte(100)))
    large = duplicated(single(2**24), single(1))
    assert Tensor.from_scipy("SparseList(Element(0.0))", large).to_numpy()[1] == 2**24 + 1
    assert Tensor.from_scipy("SparseList(Element(0.0, f32))", large).to_numpy()[1] == 2**24


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".h5", ".arrow", ".pgm", ".png"])
@pytest.mark.parametrize("width", NARROW)
def test_files_keep_the_width(width: str, suffix: str, tmp_path: Path) -> None:
    """Some files have types; images have bytes."""
    if suffix in (".pgm", ".png") and width != "u8":
        pytest.skip("an image holds bytes")
    zero, dtype = "0.0" if width == "f32" else "0", NARROW[width].dtype
    shape = (3, 2) if suffix != ".arrow" else (6,)
    array = (np.arange(6) * 21).astype(dtype).reshape(shape)
    form = f"Element({zero}, {width})"
    form = f"Dense(SparseList({form}))" if len(shape) == 2 else f"RunList({form})"
    path = tmp_path / f"made{suffix}"
    Tensor.from_numpy(form, array).save(path)
    for given_array in (None, form):
        back = Tensor.from_file(given_array, path)
        assert back.tower.width.name == width and np.array_equal(back, array) and np.asarray(back).dtype == dtype


@cache
def scaled() -> Any:
    """A kernel over bytes."""
    return compile(api.parse("""
        x = Tensor(Dense(Element(0, u8)))
        y = Tensor(Dense(Element(0, u8)))
        y .= 0
        for i = _
            y[i] = 2 * x[i]
        end
        return y
    """))  # fmt: skip


@needs_compiler
@pytest.mark.parametrize("n", [0, 1, 1000])
def test_a_kernel_takes_and_gives_narrow_arrays(n: int) -> None:
    """Of wider ones it takes what fits."""
    x = (np.arange(n) % 128).astype(np.uint8)
    for given_array in (x, x.astype(np.int64), x.astype(np.float64)):
        made = np.asarray(scaled()(x=given_array))
        assert made.dtype == np.uint8 and np.array_equal(made, 2 * x)
    with pytest.raises(Fault, match="y, level 1 Element: 256 does not fit u8"):
        scaled()(x=np.array([128], np.uint8))
    with pytest.raises(InputError, match="256 does not fit u8"):
        scaled()(x=np.array([256]))


@pytest.mark.parametrize(
    "form", ["Isolate({})", "Dense(Isolate({}))", "Isolate(SparseDict({}))", "Shard(d, Isolate({}))"]
)
def test_a_value_that_does_not_fit_is_told_where_no_fiber_is_declared(form: str) -> None:
    """The fibers in an Isolate are declared when they are entered, and here none is."""
    axes = ", 2" if "Dense" in form or "SparseDict" in form else ""
    text = f"d = cpu(:d, 2)\nC = Tensor({form.format('Element(0, u8)')}{axes})\nC .= -1\nfreeze(C)\nreturn C"
    for engine in ("semantics", "reference", "native", "native-controlled"):
        with pytest.raises(Fault, match="-1 does not fit u8"):
            api.run(api.parse(text), engine=engine)
