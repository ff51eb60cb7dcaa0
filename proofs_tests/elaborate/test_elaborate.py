"""Names, parameters, devices and inputs: what each stands for, and what is said where one stands for nothing."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from proofs_tests.effort import few
from proofs_tests.elaborating import MATRIX, SPARSE, VECTOR, Mistake, elaborated, mistake, same_text, shown
from wingspan import api
from wingspan.base.errors import InputError, ProgramError
from wingspan.lang import ir
from wingspan.lang.devices import SERIAL, Device
from wingspan.tensors.tensor import Tensor

LOOP = "for i = parallel(1:4, dev, sch)\n    x = i\nend"


# -------------------------------------------------------------------------------------------------- devices, schedules


def devices(text: str, **given) -> dict[str, Device]:
    return dict(elaborated(text, **given).devices)


def test_the_parent_of_a_device_is_the_device_of_the_loop_around_its_loop():
    text = "a = cpu(:p, 2); b = cpu(:q, 3)\n"
    text += "for i = parallel(1:2, a); for k = 1:2; for j = parallel(1:2, b); x = j; end; end; end"
    outer = Device("p", 2, SERIAL)
    assert devices(text) == {"a": outer, "b": Device("q", 3, outer)}


def test_a_parent_may_be_named_and_is_then_the_one():
    text = "a = cpu(:p, 2); b = cpu(:q, 3, a)\n"
    outer = Device("p", 2, SERIAL)
    assert devices(text) == {"a": outer, "b": Device("q", 3, outer)}
    inside = "for i = parallel(1:2, a); for j = parallel(1:2, b); x = j; end; end"
    assert devices(text + inside) == {"a": outer, "b": Device("q", 3, outer)}


def test_parallel_alone_is_a_device_of_two_threads_and_the_static_schedule():
    assert shown("for i = parallel(1:4); x = i; end") == "for i = parallel(1:4, cpu, static_schedule())\n    x = i\nend"
    body = elaborated("for i = parallel(1:4); x = i; end").body
    assert isinstance(body, ir.For) and isinstance(body.range, ir.Parallel)
    assert body.range.device == Device("cpu", 2, SERIAL)


def test_devices_without_an_identity_are_told_apart():
    text = "cpu2 = cpu(:cpu, 2); a = cpu(3)\nfor i = parallel(1:2); for j = parallel(1:2); x = j; end; end"
    assert "parallel(1:2, cpu3, static_schedule())" in shown(text)
    assert devices(text)["a"] == Device("a", 3, SERIAL)


def test_one_device_may_run_several_loops_at_one_nesting():
    text = "a = cpu(2)\nfor i = parallel(1:2, a); x = i; end; for i = parallel(1:2, a); x = i; end"
    assert devices(text) == {"a": Device("a", 2, SERIAL)}


def test_the_nested_listing_of_the_paper_binds_its_counts_by_a_parameter():
    text = "a = cpu(:t, isqrt(nt)); b = cpu(:q, isqrt(nt))\n"
    text += "for i = parallel(1:2, a); for j = parallel(1:2, b); x = j; end; end"
    assert [d.nthreads for d in devices(text, params={"nt": "9"}).values()] == [3, 3]


def test_threads_replaces_the_count_of_every_device():
    """Also of those that are parameters or stand in the loop; parameters that only they need may be left out."""
    text = "a = cpu(:t, nt)\nfor i = parallel(1:2, a); for j = parallel(1:2); "
    text += "for k = parallel(1:2, dev); x = k; end; end; end"
    bound = elaborated(text, threads=5, params={"dev": "cpu(3)"})
    found = [n.range.device.nthreads for n in bound.body.walk() if isinstance(n, ir.For)]  # type: ignore[union-attr]
    assert found == [5, 5, 5]
    assert devices(text, threads=5, params={"dev": "cpu(3)", "nt": 2})["a"].nthreads == 5


@pytest.mark.parametrize("text", ["dynamic_schedule(n)", "dynamic_schedule(2)", "static_schedule()"])
def test_a_device_and_a_schedule_may_be_parameters(text):
    params = {"dev": "cpu(:t, 3)", "sch": text} | ({"n": 2} if "n)" in text else {})
    expected = LOOP.replace("dev", "t").replace("sch", text.replace("n)", "2)"))
    assert same_text(LOOP, expected, params=params)


DEVICE_MISTAKES = {
    "for i = parallel(1:2, dve); x = i; end": Mistake("2:23", "dve is not a device", "did you mean dev?"),
    "for i = parallel(1:2, gpus); x = i; end": Mistake(
        "2:23", "gpus is not a device", "define it (gpus = cpu(2)) or give it: -p 'gpus=cpu(2)'"
    ),
    "for i = parallel(1:2, dev, sched); x = i; end": Mistake(
        "2:28", "sched is not a schedule",
        "define it (sched = static_schedule()) or give it: -p 'sched=static_schedule()'",
    ),
    "for i = parallel(1:2, sta); x = i; end": Mistake(
        "2:23", "sta is not a device, it is a schedule", "define a device: cpu(2)"
    ),
    "for i = parallel(1:2, dev, dev); x = i; end": Mistake(
        "2:28", "dev is not a schedule, it is a device", "define a schedule: static_schedule()"
    ),
    "e = cpu(:e, 2, sta)": Mistake("2:16", "sta is not a device, it is a schedule", "define a device: cpu(2)"),
    "e = cpu(0)": Mistake("2:9", "a number of threads is an integer of at least 1, not 0", "use 1 or more"),
    "e = cpu(1001)": Mistake("2:9", "a number of threads is at most 1000, not 1001", "use 1000 or less"),
    "e = cpu(1.5)": Mistake("2:9", "a number of threads is an integer of at least 1, not 1.5", "use 1 or more"),
    "e = cpu(:t, 2)": Mistake("2:5", "two devices are called :t", "give one of the two another name: cpu(:e, …)"),
    "e = cpu(:serial, 2)": Mistake(
        "2:5", "no device is called :serial: the program itself runs on it", "cpu(:e, …)"
    ),
    "for i = parallel(1:2, dev, dynamic_schedule(0)); x = i; end": Mistake(
        "2:45", "a chunk size is an integer of at least 1, not 0", "use 1 or more"
    ),
    "for i = parallel(1:2, dev); for j = parallel(1:2, dev); x = j; end; end": Mistake(
        "2:51", "a loop on dev stands inside another one on it", "use a second device for the inner loop"
    ),
    "for i = parallel(1:2); for j = parallel(1:2, dev); x = j; end; end; for i = parallel(1:2, dev); x = i; end":
    Mistake(
        "2:91", "dev is used outside of all parallel loops here, and in a loop on cpu elsewhere",
        "define a device for each of the two",
    ),
    "e = cpu(:e, 2, dev); for i = parallel(1:2, e); x = i; end": Mistake(
        "2:44", "e is spawned from dev, and this loop stands outside of all parallel loops",
        "put it directly into a loop on dev, or leave the parent out",
    ),
    "e = cpu(:e, 2, f); f = cpu(:f, 2, e)": Mistake("2:5", "e is spawned from itself", "leave one of the parents out"),
    "for i = parallel(1:2, cpu(:t, 3)); x = i; end": Mistake(
        "2:23", "two devices are called :t", "use the other by its name, dev"
    ),
    "for i = parallel(1:2, cpu(:e, 3)); x = i; end; for i = parallel(1:2, cpu(:e, 2)); x = i; end": Mistake(
        "2:70", "two devices are called :e", "give one of the two another name"
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", DEVICE_MISTAKES)
def test_a_device_or_a_schedule_that_cannot_be_is_told(text):
    assert mistake("dev = cpu(:t, 2); sta = static_schedule()\n" + text) == DEVICE_MISTAKES[text]


# -------------------------------------------------------------------------------------------------------------- names


def test_an_index_may_be_a_variable_elsewhere_and_a_bound_of_its_own_loop():
    text = "i = 2\nfor i = 1:i; x = i; end\ni = i + 5"
    assert api.run(api.parse(text), engine="semantics").variables == {"i": 7}


def test_a_variable_lives_in_the_scope_that_binds_it_first():
    text = "x = 1\nfor i = 1:3; y = i; if y > 2; x = x + y; end; end\nfor i = 1:2; y = x; end"
    assert api.run(api.parse(text), engine="semantics").variables == {"x": 4}


def test_parameters_are_numbers_or_constant_expressions():
    text = "x = n\ny = f\nz = b"
    given = {"n": np.int64(3), "f": "1 / 2", "b": True}
    assert api.run(api.parse(text), params=given, engine="semantics").variables == {"x": 3, "y": 0.5, "z": True}


NAME_MISTAKES = {
    "x = nn": Mistake("2:5", "nn has no value", "assign it before, or give it as a parameter: -p nn=…"),
    "x = inf": Mistake("2:5", "inf has no value", "write Inf"),
    "x = True": Mistake("2:5", "True has no value", "write true"),
    "total = 1; x = totl": Mistake("2:16", "totl has no value", "did you mean total?"),
    "x = x + 1": Mistake("2:5", "x has no value here", "assign it before, in this scope or in one around it: x = 0"),
    "for i = 1:2; y = i; end; x = y": Mistake(
        "2:30", "y has no value here", "assign it before, in this scope or in one around it: y = 0"
    ),
    "if true; y = 1; end; x = y": Mistake(
        "2:26", "y has no value here", "assign it before, in this scope or in one around it: y = 0"
    ),
    "for i = 1:2; y = i; end; x = i": Mistake(
        "2:30", "i has a value only inside of its loop", "move this into the loop"
    ),
    "x = v": Mistake("2:5", "v is a tensor, not a number", "read an element: v[…]"),
    "x = dev + 1": Mistake("2:5", "dev is a device, not a number", "use a number or a parameter"),
    "v = 3": Mistake("2:1", "v is a tensor and a variable", "give one of the two another name"),
    "dev = 3": Mistake("2:1", "dev is a device and a variable", "give one of the two another name"),
    "x = dev[1]": Mistake("2:5", "dev is a device and a tensor", "give one of the two another name"),
    "u = 1; x = u[1]": Mistake("2:12", "u is a variable and a tensor", "give one of the two another name"),
    "for v = 1:2; x = v; end": Mistake("2:1", "v is a tensor and an index", "give one of the two another name"),
    "for u = 1:2; x = u; end; x = u[1]": Mistake(
        "2:30", "u is an index and a tensor", "give one of the two another name"
    ),
    "v = cpu(2)": Mistake("2:1", "v is defined twice", "give one of the two another name"),
    "c .= x": Mistake(
        "2:6", "x has no value", "assign it before, or give it as a parameter: -p x=…"
    ),
    "x = 1; c .= x": Mistake(
        "2:13", "the value that c is declared with must be a constant, and x is none", "use numbers and parameters only"
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", NAME_MISTAKES)
def test_a_name_that_stands_for_nothing_or_for_two_things_is_told(text):
    assert mistake(f"dev = cpu(:t, 2); v = {VECTOR}, [1, 2]); c = {VECTOR}, 2)\n{text}") == NAME_MISTAKES[text]


def test_a_tree_whose_nested_loops_share_an_index_is_refused():
    """The parser refuses the text; a tree may come from elsewhere."""
    inner = ir.For("i", ir.Range(ir.Literal(1), ir.Literal(2)), ir.Set("x", ir.Index("i")))
    tree = ir.Program(ir.Block((ir.For("i", ir.Range(ir.Literal(1), ir.Literal(2)), inner),)))
    with pytest.raises(ProgramError, match="i is already the index of an enclosing loop"):
        api.bind(api.Program(tree, "tree"))


PARAMETER_MISTAKES = {
    ("m", 3): Mistake("", "the program has no parameter m", "did you mean nm?"),
    ("zzz", 3): Mistake("", "the program has no parameter zzz", "it has nm"),
    ("dev", "cpu(2)"): Mistake("1:1", "dev is no parameter: the program defines it", "leave it out"),
    ("v", 3): Mistake("1:19", "v is no parameter: the program defines it", "leave it out"),
    ("x", 3): Mistake("", "x is no parameter: it is a variable of the program", "leave it out"),
    ("nm", "a b"): Mistake(
        "1:8", "parameter nm: `b` cannot stand here", "for example -p nm=4"
    ),
    ("nm", "2 * k"): Mistake(
        "1:10", "parameter nm: a parameter must be a constant, and k is none", "for example -p nm=4"
    ),
    ("nm", "1 ÷ 0"): Mistake("1:6", "parameter nm: a parameter has no value: division by zero", "for example -p nm=4"),
    ("nm", "Scalar(0)"): Mistake(
        "", "parameter nm is no number, no device and no schedule",
        "for example -p nm=4, -p 'nm=cpu(:nm, 2)' or -p 'nm=static_schedule()'",
    ),
    ("nm", float("inf")): Mistake(
        "1:6", "parameter nm: a parameter must be a constant, and inf is none", "for example -p nm=4"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name, value", PARAMETER_MISTAKES)
def test_a_parameter_that_does_not_fit_is_told(name, value):
    text = f"dev = cpu(:t, 2); v = {VECTOR}, [1, 2])\nx = nm"
    assert mistake(text, InputError, params={"nm": 1, name: value}) == PARAMETER_MISTAKES[name, value]


@pytest.mark.parametrize("threads", [0, 1001, "2", 1.5, True])
def test_a_device_has_a_thread_and_not_too_many(threads):
    assert mistake("x = 1", InputError, threads=threads) == Mistake(
        "", f"a device has from 1 to 1000 threads, not {threads!r}", "threads=2; on the command line, --threads 2"
    )


# ------------------------------------------------------------------------------------------------------------- inputs


def test_a_name_that_is_read_and_never_defined_is_an_input_of_the_default_format():
    inputs = {"A": np.ones((2, 3, 4)), "v": [1, 2], "s": 3.0}
    towers = elaborated("x = A[1, 1, 1] + v[1] + s[]", inputs=inputs).towers
    assert [str(towers[name]) for name in "Avs"] == [
        "Dense(SparseList(SparseList(Element(0.0))))", "Dense(Element(0.0))", "Element(0.0)",
    ]  # fmt: skip


def test_data_come_from_literals_arrays_tensors_and_files(tmp_path):
    (tmp_path / "v.ws").write_text(f'v = {VECTOR}, "v.npy")\nx = v[1] + w[2]\n')
    np.save(tmp_path / "v.npy", np.array([4, 5]))
    assert api.run(tmp_path / "v.ws", inputs={"w": tmp_path / "v.npy"}, engine="semantics").variables == {"x": 9}
    tensor = api.bind(tmp_path / "v.ws", inputs={"w": [0, 6]}).inputs["w"]
    assert api.run(tmp_path / "v.ws", inputs={"w": tensor}, engine="semantics").variables == {"x": 10}


def test_a_definition_that_nothing_uses_needs_no_extents_and_no_data():
    assert set(elaborated(f"A = {SPARSE})\nx = 1").towers) == set()


INPUT_MISTAKES: dict[str, tuple[type[InputError | ProgramError], dict, Mistake]] = {
    "x = d[1]": (InputError, {}, Mistake(
        "2:5", "d has no data: it is used before it is declared",
        "bind it (-i d=FILE), give it data (Tensor(…, [1, 2])), or declare it (d .= 0)",
    )),
    "x = dd[1]": (InputError, {}, Mistake(
        "2:5", "dd has no data: it is used before it is declared", "did you mean d?"
    )),
    "q[1] += 1": (ProgramError, {}, Mistake(
        "2:1", "q is updated and never defined", "define and declare it: q = Tensor(FORMAT), q .= 0"
    )),
    "q .= 0": (ProgramError, {}, Mistake(
        "2:1", "q is declared but has no format", "define it: q = Tensor(Dense(Element(0.0)))"
    )),
    "return d": (InputError, {}, Mistake(
        "1:40", "d is returned, and has no data",
        "bind it (-i d=FILE), give it data (Tensor(…, [1, 2])), or declare it (d .= 0)",
    )),
    "x = v[1, 2]": (ProgramError, {}, Mistake(
        "2:5", "v has 1 axis, and here 2 subscripts", "write one subscript for each axis"
    )),
    "x = a[1] + a[1, 2]": (ProgramError, {"a": [1]}, Mistake(
        "2:12", "a has 1 subscript elsewhere, and 2 subscripts here", "write one subscript for each axis"
    )),
    f"e = {MATRIX}, [1, 2])": (ProgramError, {}, Mistake(
        "2:1", "e has 2 axes, its data 1",
        "[1, 2] is a vector, [1 2; 3 4] a matrix; a format has one level for each axis, and a leaf",
    )),
    "x = v[2]": (InputError, {"v": [1]}, Mistake(
        "1:1", "v takes no input: the program gives it data", "leave one of them out"
    )),
    "d .= 0; d[1] += 1": (InputError, {"d": [1]}, Mistake(
        "1:40", "d takes no input: the program declares it", "leave the input out"
    )),
    "x = d[2]": (InputError, {"d": [[1]]}, Mistake(
        "1:40", "d has 1 axis, the input 2", "define d with a format of 2 axes, or bind another input"
    )),
    "x = d[2 ÷ 2]": (InputError, {"d": [0.5]}, Mistake(
        "1:40", "d: 0.5 is not a 64-bit integer, which Dense(Element(0)) stores",
        "use another format for d, or other data",
    )),
    "x = d[0 + 1]": (InputError, {"d": ["a"]}, Mistake(
        "1:40", "d: the input has <U1 elements", "use integers, doubles or booleans"
    )),
    "x = d[1 + 0]": (InputError, {"d": [[1], [1, 2]]}, Mistake(
        "1:40", "d: not an array: row 2 has 2 elements, and row 1 has 1 element", "give rows of one length"
    )),
    "x = d[1 * 1]": (InputError, {"d": [1], "e": [1]}, Mistake("", "the program has no tensor e", "it has d, v")),
}  # fmt: skip


@pytest.mark.parametrize("text", INPUT_MISTAKES)
def test_a_tensor_without_data_or_with_data_that_do_not_fit_is_told(text):
    kind, inputs, expected = INPUT_MISTAKES[text]
    assert mistake(f"v = {VECTOR}, [1, 2]); d = {VECTOR})\n{text}", kind, inputs=inputs) == expected


@pytest.mark.parametrize(
    "form, where",
    [
        ("Dense(Unheard(0.0))", "1:18"),
        ("Dense()", "1:12"),
        ("Element()", "1:12"),
        ("Dense(Shard(dv, Element(0)))", "1:24"),
    ],
)
def test_a_format_that_cannot_be_is_one_error_at_its_place(form, where):
    assert mistake(f"A = Tensor({form}); x = 1").where == where


def ranked(form: str, axes: int) -> str:
    """A format of so many levels over a leaf."""
    return f"{form}(" * axes + "Element(0)" + ")" * axes


@pytest.mark.parametrize(
    ("level", "around"), few(list(product(["Dense", "SparseByteMap"], ["Merge(dev, {})", "Dense(Isolate({}))"])), 1)
)
def test_a_tensor_may_have_sixteen_axes(level, around):
    """In formats whose loops nest most deeply; one axis more is refused where the format stands, and in data."""
    axes = 16 - around.count("Dense")
    form, at = around.format(ranked(level, axes)), ", ".join("1" * 16)
    text = f"dev = cpu(:t, 2)\nA = Tensor({form}, {at})\nA .= 0\nfor i = parallel(1:1, dev); A[{at}] += 5; end"
    for engine in ("semantics", "reference", "native"):
        assert api.run(api.parse(text), engine=engine).tensors["A"].to_numpy().item() == 5
    with pytest.raises(ProgramError) as refused:
        api.bind(api.parse(text.replace(form, around.format(ranked(level, axes + 1)))))
    assert refused.value.message == "A has 17 axes, and a tensor has at most 16"
    assert refused.value.span is not None and refused.value.span.line == 2
    with pytest.raises(InputError, match="17 axes, and a tensor has at most 16"):
        Tensor.from_numpy(ranked(level, 17), np.full((1,) * 17, 7))


def test_a_tensor_without_a_format_may_have_no_more_axes_either():
    with pytest.raises(ProgramError) as refused:
        api.bind(api.parse(f"x = A[{', '.join('1' * 17)}]"), inputs={"A": np.full((1,) * 17, 7.0)})
    assert refused.value.message == "A has 17 axes, and a tensor has at most 16"
    assert refused.value.span is not None and refused.value.span.column == 5
