"""Texts that users write besides programs: einsums, logs, watched expressions, formats, names of files and members."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from proofs_tests.fuzz.target import ELEMENTS, folder, in_order
from proofs_tests.lang.test_arbitrary_input import OURS
from wingspan import Tensor, api
from wingspan.accesses import parse_log, read_log
from wingspan.base.errors import InputError, WingspanError
from wingspan.elaborate import Elaborated
from wingspan.happens_before import races
from wingspan.lang.algebra import double
from wingspan.lang.devices import Device
from wingspan.lang.printer import show
from wingspan.levels import Tower, resolve
from wingspan.reference import show as shown
from wingspan.tensors.files import read_file
from wingspan.tensors.formats import parse_format
from wingspan.trace.graph import Trace

# -------------------------------------------------------------------------------------------------------------- einsums

DENSE: dict[str, Any] = {
    "A": np.array([[0, 1.5, 0], [2, 0, -0.25]]),
    "B": np.array([[0, 2], [1, 0], [0, 3]]),
    "v": np.array([0, 1, 4]),
    "s": 3.0,
}
SPARSE = DENSE | {name: scipy.sparse.csc_array(DENSE[name]) for name in ("A", "B")}
FACTORS = 5
"""Planning takes time that is exponential in the number of operands."""


def einsum_seeds() -> list[bytes]:
    """Products, sums, reductions by other operators, a function, and a result without axes."""
    return [
        b"C[i, j] += A[i, k] * B[k, j]",
        b"y[i] += A[i, j] * v[j] * s",
        b"C[i, j] = A[i, j] + B[j, i]",
        b"m[] <<max>>= A[i, j] - v[j]",
        b"function f(x, y) = x + 2 * y\nC[j, i] = f(A[i, j], s)",
        b"p[] <<minby>>= (A[i, 1], i)",
    ]


def check_einsum(data: bytes) -> None:
    """Sparse inputs and dense ones, for which other programs are chosen, give one result; so does the reference."""
    text = data.decode("utf-8", "replace")
    if text.count("[") > FACTORS + 1:
        return
    computed = []
    for inputs in (SPARSE, DENSE):
        given = {name: value for name, value in inputs.items() if re.search(rf"\b{name}\b", text)}
        try:
            made = api.einsum(text, threads=1 + len(text) % 2, engine="native", **given)
            if np.prod(made.shape) <= ELEMENTS:
                assert api.diff(made.program, inputs=made.inputs, engines=["reference", "native"]).difference is None
                computed.append(made.to_numpy())
        except (*OURS, api.Unsafe) as error:
            in_order(error)
    if len(computed) == 2:
        one, other = computed
        assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f"), computed


# ----------------------------------------------------------------------------------------------------------------- logs


def log_seeds() -> list[bytes]:
    """Each operation, tasks inside of tasks, and cells of each form."""
    return [
        b"1 read c[3]\n2 write c[3]\n0 join\n1.2 atomic c[3]\n",
        b"1 write c[3] at a.c:1\n2 write c[3] at a b.c:2\n0 join at a.c:3\n1 write at\n",
        b"1 acquire l\n1 write C[1, 2]\n1 release l\n2 acquire l # again\n2 read C[1, 2]\n2 release l\n",
        "1 write x\n1 signal b[1]\n\n2 wait b[1]\n2 look x\n1 read c⟨dev 1⟩[1]\n1 write D.val[3]\n".encode(),
    ]


@cache
def logged() -> Elaborated:
    """A program that a log may be of."""
    return api.bind(
        api.parse("c = Tensor(Dense(Element(0)), 3)\nc .= 0\nfor i = parallel(1:3)\nc[3] += i\nend\nreturn c")
    )


def check_log(data: bytes) -> None:
    """A log is written and read again as the same, with the same races, beside a program or without."""
    path = folder() / "a.log"
    path.write_bytes(data)
    try:
        log = read_log(path)
    except InputError as error:
        return in_order(error)
    again = parse_log(
        "\n".join(f"{a.task or 0} {a.operation} {a.cell}{f' at {a.place}' if a.place else ''}" for a in log)
    )
    assert [(a.task, a.operation, a.cell, a.place) for a in again] == [
        (a.task, a.operation, a.cell, a.place) for a in log
    ]
    found = races(log)
    assert [race.cell for race in races(again)] == [race.cell for race in found]
    for race in found:
        assert race.first.task != race.second.task and {race.first.operation, race.second.operation} != {"read"}
    try:
        assert {cell for one in api.judge(log, logged()).races for cell in one.cells} == {race.cell for race in found}
    except InputError as error:
        in_order(error)
    return None


# -------------------------------------------------------------------------------------------------- watched expressions

WATCHED = "x = 3\nv = Tensor(SparseList(Element(0.5)), [0.5, 2.0, 1.5])\nb = x > 2\nreturn v\n"


def watch_seeds() -> list[bytes]:
    """Elements, names and operators."""
    return [b"v[3] + 1", b"x % 2 == 1 && b", b"min(v[x], coalesce(v[x + 1], 7))", b"ifelse(b, v[1], Inf)"]


def check_watch(data: bytes) -> None:
    """An expression has the value that a variable of a program has, or it has none, in words."""
    text = data.decode("utf-8", "replace")
    try:
        trace = Trace(api.bind(api.parse(WATCHED)), [text])
    except WingspanError as error:
        return in_order(error)
    node = trace.nodes[0]
    for _ in range(50):
        edge = next(iter(trace.edges(node)), None)
        if edge is None or edge.target is None:
            break
        node = edge.target
    (value,) = trace.watches.values(node.state)
    assert value and "\n" not in value
    try:
        run = api.run(api.parse(f"{WATCHED.replace('return v', '')}it = ({text})\n"), engine="semantics")
    except (*OURS, api.Unsafe):
        return None
    assert value == shown(run["it"]) or double(Fraction(value)) == run["it"], (value, run["it"])
    return None


# -------------------------------------------------------------------------------------------------------------- formats

ARRAYS = {
    "bool": np.array([[True, True, False], [False, False, True]]),
    "int": np.array([[0, 2, 2], [1, 0, 0]]),
    "float": np.array([[0, 2.5, 2.5], [np.inf, 0, -0.0]]),
}


def format_seeds() -> list[bytes]:
    """Levels of each kind, modifiers, widths and fill values."""
    return [
        b"Dense(SparseList(Element(0.0)))", b"SparseDict(SparseDict(Element(0, Int8)))", b"Dense(RunList(Element(2)))",
        b"Dense(Shard(dev, SparseList(Element(0))))", b"SparseCOO(2, Element(Inf))", b"SparseList(Pattern())",
        b"Merge(dev, Dense(Element(false)))", b"RunList(Mutex(Element(0.0, Float32)))", b"Element(0)",
        b"SparseByteMap(SparseBlockList(Atomic(1.5)))",
    ]  # fmt: skip


def check_format(data: bytes) -> None:
    """A format is printed and read again as the same, and a tensor in it has the elements that it was given."""
    text = data.decode("utf-8", "replace")
    try:
        form = parse_format(text)
    except WingspanError as error:
        return in_order(error)
    assert parse_format(show(form)) == form
    devices = {name: 2 for name in re.findall(r"[^\W\d]\w*", text)}
    try:
        tower = Tower.of(resolve(form, {name: Device(name, 2) for name in devices}), ())
        array = ARRAYS[tower.kind] if tower.kind in ARRAYS else ARRAYS["int"]
        array = array[0, 1] if tower.rank == 0 else array[1] if tower.rank == 1 else array
        tensor = Tensor.from_numpy(form, array.reshape(array.shape + (1,) * (tower.rank - 2)), devices=devices)
    except (*OURS,) as error:
        return in_order(error)
    tensor.validate()
    assert np.array_equal(tensor.to_numpy().ravel(), array.ravel()), tensor
    assert str(tensor)
    return None


# -------------------------------------------------------------------------------------------------------------- members


@cache
def members() -> tuple[Path, list[np.ndarray]]:
    """A folder of files with members and without, and all arrays in them."""
    import h5py

    place = folder() / "members"
    place.mkdir()
    one, two, runs = np.array([[1.5, 0], [2, 3]]), np.array([[0, 7, 0]]), np.array([4, 4, 5])
    np.savez(place / "two.npz", a=one, b=two)
    for name, array in {"m.mtx.gz": one, "m.tns": one, "one.npy": two}.items():
        Tensor.from_numpy("Dense(SparseList(Element(0.0)))", array).save(place / name)
    Tensor.from_numpy("RunList(Element(0))", runs).save(place / "r.arrow")
    image = np.array([[[1, 2, 3], [4, 5, 6]]])
    Tensor.from_numpy("Dense(Dense(Dense(Element(0))))", image).save(place / "i.ppm")
    Tensor.from_numpy("Dense(Dense(Element(0.0)))", one).save(place / "h.h5")
    with h5py.File(place / "h.h5", "a") as root:
        root.copy("/", root.create_group("group"), "x")
    return place, [one, two, runs, image, *(image[:, :, plane] for plane in range(3))]


def member_seeds() -> list[bytes]:
    """Files, and members of them."""
    return [b"two.npz:a", b"two.npz:b", b"m.mtx.gz", b"m.tns", b"one.npy", b"r.arrow:values", b"i.ppm:red", b"i.ppm",
            b"h.h5", b"h.h5:group/x"]  # fmt: skip


def check_member(data: bytes) -> None:
    """Read one of the arrays that are there."""
    place, arrays = members()
    name = data.decode("utf-8", "surrogateescape")
    try:
        found = Tensor.from_file(None, f"{place}/{name}").to_numpy()
        read_file(Path(f"{place}/{name}"))
    except InputError as error:
        return in_order(error)
    assert any(np.array_equal(found, array) for array in islice(arrays, 9)), found
    return None
