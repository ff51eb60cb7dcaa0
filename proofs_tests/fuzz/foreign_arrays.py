"""Arrays of other libraries whose parts were replaced: SciPy's formats, GCXS, runs of Arrow. JSON gives the parts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, pairwise
from math import prod
from typing import Any

import numpy as np
import pyarrow
import scipy.sparse

from proofs_tests.fuzz.target import in_order
from proofs_tests.tensors.pydata import Compressed, compressed
from wingspan import Tensor
from wingspan.base.errors import InputError
from wingspan.lang.algebra import apply, double, exact

LARGEST = 64
"""The extents that are tried: more would only take time."""


def seeds() -> list[bytes]:
    """One array of each format."""
    matrix = np.array([[1, 0, 0, 2], [0, 0, 3, 0]])
    made: list[dict[str, Any]] = []
    for form in ("csc", "csr", "bsr", "coo", "dia"):
        array = getattr(scipy.sparse, f"{form}_array")(matrix)
        names = {"coo": ("row", "col"), "dia": ("offsets",)}.get(form, ("indices", "indptr"))
        made.append({"form": form, "shape": [2, 4], **{name: _part(getattr(array, name)) for name in ("data", *names)}})
    gcxs = compressed(matrix.reshape(2, 2, 2), 0, 2)
    parts = {name: _part(getattr(gcxs, name)) for name in ("data", "indices", "indptr")}
    made.append({"form": "gcxs", "shape": [2, 2, 2], "axes": [0, 2], "fill": 0, **parts})
    runs = {"ends": ["int32", [2, 3, 6]], "data": ["int64", [7, 0, 9]], "offset": 1, "length": 4}
    return [json.dumps(each).encode() for each in [*made, {"form": "runs", **runs}]]


NEEDED = {"coo": {"row", "col"}, "dia": {"offsets"}, "runs": {"ends"}}
"""The parts beside the data, if they are not those of a compressed array."""


def _part(array: np.ndarray) -> list[Any]:
    return [array.dtype.name, array.tolist()]


class Runs:
    """An object that claims to be a run-end encoded array."""

    null_count = 0

    def __init__(self, ends: np.ndarray, values: np.ndarray, offset: int, length: int) -> None:
        self.run_ends, self.values, self.offset, self.length = ends, pyarrow.array(values), offset, length

    def __len__(self) -> int:
        return self.length


def check(data: bytes) -> None:
    """An array in order has the elements that its parts say, copied or borrowed; others are one error."""
    try:
        described = json.loads(data)
        parts = {name: np.array(part[1], part[0]) for name, part in described.items() if isinstance(part[0], str)
                 and name in ("data", "indices", "indptr", "row", "col", "offsets", "ends")}  # fmt: skip
        array, rank = _array(described, parts)
        if not parts.keys() >= NEEDED.get(described["form"], {"indices", "indptr"}):
            return
    except Exception:  # it is no such description, or the library that makes the array refuses it
        return
    form = f"{'SparseList(' * rank}Element({_zero(parts['data'])}){')' * rank}"
    for borrow in (False, True):
        try:
            if described["form"] == "runs":
                tensor = Tensor.from_arrow(form, array)
            elif described["form"] == "gcxs":
                tensor = Tensor.from_sparse(form, array)
            else:
                tensor = Tensor.from_scipy(form, array, borrow=borrow)
        except InputError as error:
            in_order(error)
            continue
        tensor.validate()
        expected = np.zeros(tensor.shape, tensor.tower.dtype)
        sums: dict[tuple[int, ...], Any] = {}
        for at, value in _elements(described, parts):
            number = value.item()
            sums[at] = (
                apply("+", sums.get(at, 0), exact(number)) if expected.dtype.kind != "b" else number or sums.get(at)
            )
        for at, total in sums.items():
            expected[at] = double(total)
        floats = expected.dtype.kind == "f"
        assert np.array_equal(tensor.to_numpy(), expected, equal_nan=floats), (tensor.to_numpy(), expected)


def _zero(data: np.ndarray) -> str:
    return {"b": "false", "f": "0.0"}.get(data.dtype.kind, "0")


def _array(described: dict[str, Any], parts: dict[str, np.ndarray]) -> tuple[Any, int]:
    """The array, made in order, with its parts replaced; and its rank."""
    form = described["form"]
    if form == "runs":
        offset, length = (int(described[name]) for name in ("offset", "length"))
        if not 0 <= length <= LARGEST or offset < 0:
            raise ValueError("no array of Arrow has such a length")
        return Runs(parts["ends"], parts["data"], offset, length), 1
    shape = tuple(described["shape"])
    if not all(type(n) is int and 0 <= n <= LARGEST for n in shape) or len(shape) > 4:
        raise ValueError("a shape that is not tried")
    if form == "gcxs":
        data, indices, indptr = (parts[name] for name in ("data", "indices", "indptr"))
        fill = data.dtype.type(described["fill"])
        return Compressed(data, shape, fill, indices, indptr, tuple(described["axes"])), len(shape)
    array = getattr(scipy.sparse, f"{form}_array")(shape, dtype=parts["data"].dtype)
    if form == "coo":
        array.coords = parts["row"], parts["col"]
    for name, part in parts.items():
        if name not in ("row", "col"):
            setattr(array, name, part)
    return array, 2


def _elements(described: dict[str, Any], parts: dict[str, np.ndarray]) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The place and the value of each stored element, by the definition of the format."""
    form, data = described["form"], parts["data"]
    shape = tuple(described.get("shape", ()))
    match form:
        case "runs":
            dense = np.repeat(data, [b - a for a, b in pairwise([0, *parts["ends"].tolist()])])
            first = described["offset"]
            yield from (((k,), x) for k, x in enumerate(dense[first : first + described["length"]]))
        case "coo":
            yield from zip(zip(parts["row"].tolist(), parts["col"].tolist(), strict=True), data, strict=True)
        case "dia":
            for diagonal, offset in enumerate(parts["offsets"].tolist()):
                for j in range(min(shape[1], data.shape[1])):
                    if 0 <= j - offset < shape[0]:
                        yield (j - offset, j), data[diagonal, j]
        case _:
            pointers, indices = parts["indptr"].tolist(), parts["indices"].tolist()
            for fiber, (begin, end) in enumerate(pairwise(pointers)):
                for k in range(begin, end):
                    yield from _placed(described, shape, fiber, indices[k], data[k])


def _placed(
    described: dict[str, Any], shape: tuple[int, ...], fiber: int, index: int, value: Any
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The elements of one entry of CSC, CSR, BSR or GCXS."""
    match described["form"]:
        case "csc":
            yield (index, fiber), value
        case "csr":
            yield (fiber, index), value
        case "bsr":
            rows, columns = value.shape
            yield from (((fiber * rows + r, index * columns + c), value[r, c]) for r, c in np.ndindex(rows, columns))
        case _:
            rows = tuple(described["axes"]) if len(shape) > 1 else ()
            columns = [axis for axis in range(len(shape)) if axis not in rows]
            places = [*chain(_digits(fiber, shape, rows), _digits(index, shape, columns))]
            yield tuple(dict(zip([*rows, *columns], places, strict=True))[axis] for axis in range(len(shape))), value


def _digits(number: int, shape: tuple[int, ...], axes: Any) -> list[int]:
    """The subscripts of a number that stands for some axes, the last one innermost."""
    return [number // prod(shape[a] for a in axes[k + 1 :]) % shape[axis] for k, axis in enumerate(axes)]
