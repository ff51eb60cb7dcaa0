"""What each format of files holds: read as its specification says, or refused by one message."""

from __future__ import annotations

import json
import zlib
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow
import pyarrow.feather
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from proofs_tests.effort import many
from proofs_tests.towers import same
from wingspan import InputError, Tensor, api, reading
from wingspan.tensors import files
from wingspan.tensors.files import FORMATS, read_file
from wingspan.tensors.foreign import Filled

derandomized = settings(derandomize=True, deadline=None, max_examples=many(60))


def refused(path: Path, message: str, **options: Any) -> None:
    """By one message that names the file, what is wrong, and what to do."""
    with pytest.raises(InputError) as raised:
        read_file(path, **options)
    text = raised.value.render()
    assert raised.value.message.startswith(f"{path}: ") and message in text and "\n  fix  " in text, text


# ------------------------------------------------------------------------------------------------------------- members


def test_members_are_named_after_a_colon(tmp_path):
    """Of a file of arrays, an image, a file of columns and a file of groups; also by programs."""
    np.savez(tmp_path / "two.npz", a=np.arange(3), b=np.ones((2, 2)))
    Image.fromarray(np.arange(24, dtype=np.uint8).reshape(2, 4, 3)).save(tmp_path / "page.png")
    pyarrow.feather.write_feather(pyarrow.table({"x": [1, 2], "y": [3, 4]}), tmp_path / "t.arrow")
    assert read_file(tmp_path / "two.npz:a").tolist() == [0, 1, 2]
    assert read_file(tmp_path / "page.png:green").T.tolist() == [[1, 4, 7, 10], [13, 16, 19, 22]]
    assert read_file(tmp_path / "t.arrow:y").tolist() == [3, 4]
    lines = Tensor.from_file("RunList(Element(0))", f"{tmp_path / 'page.png'}:green")
    assert lines.to_numpy().tolist() == [*range(1, 23, 3)]
    (tmp_path / "p.ws").write_text(
        'A = Tensor(Dense(Element(0)), "two.npz:a")\nx = Scalar(0.0)\nx .= 0\n'
        "x[] += A[3] + B[1, 2] + G[4, 2]\nreturn x\n"
    )
    inputs = {"B": tmp_path / "two.npz:b", "G": tmp_path / "page.png:green"}
    assert api.run(tmp_path / "p.ws", inputs=inputs).tensors["x"].to_numpy() == 2 + 1 + 22


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("two.npz", "it holds no sparse array, but a, b; name one after a colon"),
        ("two.npz:c", "it has no array c, but a, b"),
        ("one.mtx:a", "a .mtx file has no members"),
        ("page.png:blue", "it has no plane blue"),
        ("t.arrow", "it has 2 columns, so name one after a colon: x, y"),
        ("t.arrow:z", "it has no column z, but x, y"),
        ("m.h5:a/b", "it holds no a"),
        ("a:b", "not a file that tensors are read from"),
    ],
)
def test_a_member_that_is_not_there_is_refused(tmp_path, name, message):
    np.savez(tmp_path / "two.npz", a=np.arange(3), b=np.ones((2, 2)))
    (tmp_path / "one.mtx").write_text("%%MatrixMarket matrix array real general\n1 1\n1\n")
    Image.fromarray(np.ones((2, 2), dtype=np.uint8)).save(tmp_path / "page.png")
    pyarrow.feather.write_feather(pyarrow.table({"x": [1, 2], "y": [3, 4]}), tmp_path / "t.arrow")
    Tensor.from_numpy("Dense(Element(0))", [1, 2]).save(tmp_path / "m.h5")
    refused(tmp_path / name, message)


def test_a_column_is_a_vector_where_one_is_asked_for(tmp_path):
    """A .mtx file holds nothing else that could be one; a matrix of two columns is none."""
    (tmp_path / "v.mtx").write_text("%%MatrixMarket matrix coordinate real general\n3 1 1\n2 1 5\n")
    (tmp_path / "m.mtx").write_text("%%MatrixMarket matrix array integer general\n1 2\n1\n2\n")
    assert Tensor.from_file("SparseList(Element(0.0))", tmp_path / "v.mtx").to_numpy().tolist() == [0, 5, 0]
    assert Tensor.from_file("Dense(Dense(Element(0.0)))", tmp_path / "v.mtx").shape == (3, 1)
    with pytest.raises(InputError, match="has 1 axis, the data has 2"):
        Tensor.from_file("Dense(Element(0))", tmp_path / "m.mtx")


# ---------------------------------------------------------------------------------------------------------------- text


def shortest(word: str, value: float) -> bool:
    """Whether a word is read back, is no integer, and is no longer than Python's."""
    return float(word) == value and not word.lstrip("-").isdigit() and len(word) <= len(repr(value))


@derandomized
@given(st.data())
def test_lines_of_numbers_are_read_as_python_reads_them(data):
    """Words of digits, points and exponents, in every form; one wrong word, and nothing is read."""
    from wingspan.tensors.files._text import columns, lines

    integer = st.integers(-(2**63), 2**63 - 1)
    real = st.floats(allow_nan=False) | st.sampled_from([2.0**53 + 2, 5e-324, 1e22, 1e23, 0.1, -0.0])
    row = data.draw(st.lists(st.sampled_from(["i", "d"]), min_size=1, max_size=4))
    rows = data.draw(st.lists(st.tuples(*(integer if kind == "i" else real for kind in row)), max_size=5))
    made = [
        np.array(column, dtype=np.float64 if kind == "d" else np.int64)
        for kind, column in zip(row, zip(*rows, strict=True) if rows else [[]] * len(row), strict=True)
    ]
    text = bytes(lines(made))
    words = [line.split() for line in text.decode().splitlines()]
    for word, value in zip(chain(*words), chain(*rows), strict=True):
        assert word == repr(value) if isinstance(value, int) else shortest(word, value)
    blank = st.sampled_from([" ", "\t", "  "])
    spread = "".join(data.draw(blank).join(["", *map(repr, each), "\r"]) + "\n\n" for each in rows).encode()
    for written in (text, spread):
        found = columns(written or b"\n", "".join(row))
        assert found is not None and [x.tobytes() for x in found] == [x.tobytes() for x in made]
    word = data.draw(
        st.sampled_from(["x", "1x", "1 1", "", "--1", "1e", ".", "0x1", "1_0", "+-1", "nan(1)", "9" * 2000])
    )
    assert columns(text + " ".join([word] * len(row)).encode() + b"\n", "".join(row)) is None or not word


@pytest.mark.parametrize(
    "word",
    [
        "0.1",
        "1e22",
        "1e23",
        "9007199254740993",
        "12345678901234567890e-30",
        "5e-324",
        "1e-400",
        "123456.789e-3",
        "0.000000000000000000000000000001",
        "-0",
        "+.5",
        "5.",
        "1E+5",
        "-inf",
        "+Infinity",
        "NaN",
        "00000000000000000000000000001.5",
        "1" * 400 + "e-400",
        "2.2250738585072011e-308",
        "2.4703282292062327208e-324",
        "2.4703282292062328e-324",
        "17976931348623157" + "0" * 292,
        "0." + "0" * 2000 + "1",
        "9007199254740993." + "0" * 1500 + "1",
    ],
)
def test_doubles_are_the_nearest_ones(word):
    from wingspan.tensors.files._text import columns

    found = columns(f"{word}\n".encode(), "d")
    assert found is not None and found[0].tobytes() == np.float64(float(word)).tobytes()


def test_doubles_of_seventeen_digits_are_the_nearest_ones():
    """Such as Python writes them: too many digits for one multiplication of doubles."""
    from wingspan.tensors.files._text import columns

    values = np.random.default_rng(1).random(2000) * 10.0 ** (np.arange(2000) % 9 - 4)
    found = columns("".join(f"{value!r}\n" for value in values.tolist()).encode(), "d")
    assert found is not None and np.array_equal(found[0], values)


@pytest.mark.parametrize("suffix", [".mtx", ".tns"])
def test_a_file_in_many_blocks_is_read_as_one(tmp_path, monkeypatch, suffix):
    """Integers, and doubles in later blocks; the first of two wrong lines is named, with its number in the file."""
    for module in (reading, files.text):
        monkeypatch.setattr(module, "STEP", 64)
    head = "%%MatrixMarket matrix coordinate real general\n40 300 300\n" if suffix == ".mtx" else "# 300 entries\n"
    body = [f"{k % 40 + 1} {k + 1} {k if k < 150 else k + 0.5}" for k in range(300)]
    path = tmp_path / f"t{suffix}"
    path.write_text(head + "\n".join(body))
    expected = [k if k < 150 else k + 0.5 for k in range(300)]
    made = read_file(path)
    assert made.shape == (40, 300) and made.data.tolist() == expected
    assert [axis.tolist() for axis in made.coords] == [[k % 40 for k in range(300)], [*range(300)]]
    for wrong in (160, 120, 280):
        body[wrong] = "1 0 1"
    path.write_text(head + "\n".join(body))
    refused(path, f"line {head.count(chr(10)) + 121}")
    path.write_text(head + "1 1 " + "0" * 200)
    refused(path, "a line is longer than 64 characters")


def test_a_file_is_read_where_no_thread_can_be_started(tmp_path, monkeypatch):
    """One thread does all then."""

    def failing(*arguments: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", failing)
    (tmp_path / "t.tns").write_text("2 1 7\n1 1 8\n")
    assert read_file(tmp_path / "t.tns").toarray().tolist() == [[8], [7]]


def test_frostt_tensors(tmp_path):
    """Extents are the largest subscripts; comments, blank lines and duplicates may stand anywhere."""
    (tmp_path / "t.tns").write_text("# a tensor\n\n2 1 3 1.5\n1 4 1 2\n # more\n2 1 3 1e0\n")
    tensor = Tensor.from_file("SparseList(SparseList(SparseList(Element(0.0))))", tmp_path / "t.tns")
    assert tensor.shape == (2, 4, 3) and dict(tensor.entries()) == {(1, 4, 1): 2, (2, 1, 3): 2.5}
    (tmp_path / "i.tns").write_text("9007199254740993\t3\n")
    assert read_file(tmp_path / "i.tns").shape == (2**53 + 1,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it has no entries, and no comment such as `# extents 3 4 5`"),
        ("1 2 x\n", "line 1 is `1 2 x`, and should be 2 subscripts from 1 and a number"),
        ("1 2 3\n\n1 2\n", "line 3 is `1 2`"),
        ("1 2 3\n0 2 3\n", "line 2 is `0 2 3`"),
        ("1 2.5 3\n", "line 1 is `1 2.5 3`"),
        ("5\n", "its first entry has 0 subscripts"),
        ("1 " * 17 + "5\n", "its first entry has 17 subscripts, and a tensor has 1 to 16 axes"),
        ("# extents 2 2\n1 3 5\n", "its extents are said to be (2, 2), and its entries have subscripts up to (1, 3)"),
        ("# extents 2\n1 1 5\n", "its extents are said to be (2,)"),
        ("1 1 inf\n1 1 1e400\n", "line 2 is `1 1 1e400`, and should be 2 subscripts from 1 and a number"),
    ],
)
def test_a_frostt_file_out_of_order_is_refused(tmp_path, text, message):
    (tmp_path / "t.tns").write_text(text)
    refused(tmp_path / "t.tns", message)


# -------------------------------------------------------------------------------------------------------------- images


@derandomized
@given(
    image=st.tuples(st.integers(1, 5), st.integers(1, 4), st.booleans()).flatmap(
        lambda size: st.binary(min_size=60, max_size=60).map(
            lambda data: (
                np.frombuffer(data, np.uint8)[: size[0] * size[1] * (3 if size[2] else 1)]
                .astype(np.int64)
                .reshape((*size[:2], 3) if size[2] else size[:2])
            )
        )
    ),
    suffix=st.sampled_from([".png", ".pgm", ".ppm"]),
)
def test_images_go_there_and_back(tmp_path_factory, image, suffix):
    """Scan lines are fibers; Pillow has the same pixels. As a vector, a plane is one scan line after the other."""
    path = tmp_path_factory.mktemp("images") / f"i{suffix}"
    form = f"{'Dense(' * image.ndim}Element(0){')' * image.ndim}"
    tensor = Tensor.from_numpy(form, image)
    if {".pgm": 2, ".ppm": 3}.get(suffix, image.ndim) != image.ndim:
        with pytest.raises(InputError, match=r"does not hold an image of \d plane"):
            tensor.save(path)
        return
    tensor.save(path)
    assert same(Tensor.from_file(form, path), image)
    with Image.open(path) as opened:
        assert np.array_equal(np.asarray(opened).swapaxes(0, 1), image)
    plane = "red" if image.ndim == 3 else "grey"
    red = image[:, :, 0] if image.ndim == 3 else image
    vector = Tensor.from_file("RunList(Element(0))", f"{path}:{plane}")
    assert vector.to_numpy().tolist() == [v for line in red.T.tolist() for v in line]


def test_images_of_other_kinds_are_read_as_pixels(tmp_path):
    """Palettes, one bit, 16 bits, transparency; comments and larger values in netpbm."""
    grey = np.array([[0, 255], [255, 0], [255, 255]], dtype=np.uint8)
    Image.fromarray(grey).convert("1").save(tmp_path / "bits.png")
    Image.fromarray(np.stack([grey] * 3, axis=2)).quantize(2).save(tmp_path / "palette.png")
    Image.fromarray(np.stack([grey] * 4, axis=2)).save(tmp_path / "alpha.png")
    Image.fromarray(grey.astype(np.uint16) * 200).save(tmp_path / "deep.png")
    (tmp_path / "deep.pgm").write_bytes(b"P5 # words\n2\n# more\n1 1000\n" + bytes([0, 7, 3, 232]))
    assert read_file(tmp_path / "bits.png").T.tolist() == grey.tolist()
    assert read_file(tmp_path / "palette.png:green").T.tolist() == grey.tolist()
    assert read_file(tmp_path / "alpha.png:alpha").T.tolist() == grey.tolist() and read_file(
        tmp_path / "alpha.png"
    ).shape == (2, 3, 4)
    assert read_file(tmp_path / "deep.png").T.tolist() == (grey.astype(int) * 200).tolist()
    assert read_file(tmp_path / "deep.pgm").tolist() == [[7], [1000]]


def png(width: int, height: int) -> bytes:
    """The header of an image, and one scan line of it."""
    parts = [
        (b"IHDR", width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x00\x00\x00\x00"),
        (b"IDAT", zlib.compress(bytes(9))),
        (b"IEND", b""),
    ]
    chunks = (
        len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big") for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.pgm", b"P2 1 1 255\n7\n", "it does not begin as `P5 WIDTH HEIGHT 255`"),
        ("a.pgm", b"P5 2 2 255\n123", "it declares 2×2 pixels, 4 bytes, and 3 follow"),
        ("a.pgm", b"P5 2 2 255\n12345", "it declares 2×2 pixels, 4 bytes, and 5 follow"),
        ("a.pgm", b"P5 999999999 999999999 255\n1", "it declares 999999999×999999999 pixels"),
        ("a.pgm", b"P5 1 1 0\n1", "it declares 0 as the largest value, which is from 1 to 65535"),
        ("a.pgm", b"P5 1 1 65536\n1", "it declares 65536 as the largest value"),
        ("a.ppm", b"P6 1 1 4\n\x01\x05\x02", "it declares that no value is greater than 4, and 5 is one"),
        ("a.png", b"", "it does not begin as a PNG image does"),
        ("a.png", png(8, 8)[:12], "it does not begin as a PNG image does"),
        ("a.png", png(8, 8)[:-30], "not a .png file in order: "),
        ("a.png", png(10**4, 10**4), "cannot hold the 10000×10000 pixels that it declares"),
    ],
)
def test_an_image_out_of_order_is_refused(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    refused(tmp_path / name, message)


# --------------------------------------------------------------------------------------------------------------- arrow


def test_arrow_files_of_others(tmp_path):
    """Runs in chunks, plain columns, nulls."""
    ree = pyarrow.RunEndEncodedArray.from_arrays(
        pyarrow.array([2, 5], pyarrow.int16()), pyarrow.array([7, 0], pyarrow.int8())
    )
    plain = pyarrow.array([1.5, 2, 0, 4, 5])
    nulls = pyarrow.array([1, None, 3, 4, 5])
    table = pyarrow.table(
        {
            "r": pyarrow.chunked_array([ree, ree.slice(1, 3)]),
            "p": pyarrow.chunked_array([plain, plain[:3]]),
            "n": pyarrow.chunked_array([nulls, nulls[:3]]),
        }
    )
    with pyarrow.ipc.new_file(str(tmp_path / "t.arrow"), table.schema) as out:
        out.write_table(table)
    runs = Tensor.from_file("RunList(Element(0))", tmp_path / "t.arrow:r")
    assert runs.to_numpy().tolist() == [7, 7, 0, 0, 0, 7, 0, 0] and len(runs.cells.values) > 0
    assert "[3:5]: 0" in str(runs)
    assert Tensor.from_file("Dense(Element(0.0))", tmp_path / "t.arrow:p").to_numpy().tolist() == [
        1.5,
        2,
        0,
        4,
        5,
        1.5,
        2,
        0,
    ]
    refused(tmp_path / "t.arrow:n", "it has nulls")
    data = (tmp_path / "t.arrow").read_bytes()
    (tmp_path / "half.arrow").write_bytes(data[: len(data) // 2])
    refused(tmp_path / "half.arrow", "not a .arrow file in order: ")


# ----------------------------------------------------------------------------------------------------------- binsparse

MATRIX = np.array([[1.0, 0, 2], [0, 0, 0], [3, 4, 0], [0, 0, 5]])


def h5(path: Path, text: dict[str, Any] | str, **arrays_: Any) -> Path:
    """A file as others write it."""
    with h5py.File(path, "w") as root:
        root.attrs["binsparse"] = text if isinstance(text, str) else json.dumps({"binsparse": text})
        for name, array in arrays_.items():
            root[name] = array
    return path


def parts(form: str) -> dict[str, Any]:
    """The arrays of a matrix in a predefined format, by SciPy."""
    csr, csc = scipy.sparse.csr_array(MATRIX), scipy.sparse.csc_array(MATRIX)
    rows, columns = np.nonzero(MATRIX)
    by_columns = np.nonzero(MATRIX.T)
    compressed = csc if form.endswith("C") and "S" in form else csr
    filled = np.flatnonzero(np.diff(compressed.indptr))
    match form:
        case "DMAT" | "DMATR":
            return {"values": MATRIX.ravel()}
        case "DMATC":
            return {"values": MATRIX.ravel("F")}
        case "CSR" | "CSC":
            return {"pointers_to_1": compressed.indptr, "indices_1": compressed.indices, "values": compressed.data}
        case "DCSR" | "DCSC":
            pointers = np.append(0, compressed.indptr[filled + 1])
            return {
                "indices_0": filled,
                "pointers_to_1": pointers,
                "indices_1": compressed.indices,
                "values": compressed.data,
            }
        case "COO" | "COOR":
            return {"indices_0": rows, "indices_1": columns, "values": MATRIX[rows, columns]}
    return {"indices_0": by_columns[0], "indices_1": by_columns[1], "values": MATRIX.T[by_columns]}


def described(form: str, made: dict[str, Any], shape: tuple[int, ...] = MATRIX.shape, **more: Any) -> dict[str, Any]:
    types = {name: np.asarray(array).dtype.name for name, array in made.items()}
    stored = len(made["values"])
    return {
        "version": "0.1",
        "format": form,
        "shape": shape,
        "number_of_stored_values": stored,
        "data_types": types,
    } | more


@pytest.mark.parametrize("form", ["DMAT", "DMATR", "DMATC", "CSR", "CSC", "DCSR", "DCSC", "COO", "COOR", "COOC"])
def test_binsparse_matrices_are_read_in_every_format(tmp_path, form):
    """As SciPy has them, with unsigned indices, too."""
    made = {name: array if name == "values" else array.astype(np.uint64) for name, array in parts(form).items()}
    tensor = Tensor.from_file("Dense(SparseList(Element(0.0)))", h5(tmp_path / "m.h5", described(form, made), **made))
    assert np.array_equal(tensor.to_numpy(), MATRIX)


def test_binsparse_vectors_and_tensors_are_read(tmp_path):
    """Also in groups, with one value for all, booleans, fill values, one triangle, and levels in any order."""
    dense = {"values": np.arange(3)}
    assert read_file(h5(tmp_path / "d.h5", described("DVEC", dense, (3,)), **dense)).tolist() == [0, 1, 2]
    sparse = {"indices_0": np.array([1, 3]), "values": np.array([1], dtype=np.uint8)}
    text = described("CVEC", sparse, (5,), number_of_stored_values=2)
    text["data_types"]["values"] = "iso[bint8]"
    found = read_file(h5(tmp_path / "s.h5", text, **sparse))
    assert found.array.toarray().tolist() == [False, True, False, True, False] and found.array.dtype == bool
    filled = {**parts("CSC"), "fill_value": np.array([0.5])}
    assert Tensor.from_file(
        "Dense(SparseList(Element(0.5)))", h5(tmp_path / "f.h5", described("CSC", filled, fill=True), **filled)
    ).to_numpy()[1].tolist() == [0.5, 0.5, 0.5]
    half = {"indices_0": np.array([0, 2]), "indices_1": np.array([0, 1]), "values": np.array([1, 7])}
    for structure, mirrored in {"symmetric_lower": 7, "skew_symmetric_lower": -7}.items():
        text = described("COO", half, (3, 3), structure=structure)
        assert read_file(h5(tmp_path / "t.h5", text, **half)).array.toarray()[1, 2] == mirrored
    custom = {
        "transpose": [2, 0, 1],
        "level": {
            "level_desc": "sparse",
            "rank": 1,
            "level": {
                "level_desc": "dense",
                "rank": 1,
                "level": {"level_desc": "sparse", "rank": 1, "level": {"level_desc": "element"}},
            },
        },
    }
    levels = {
        "indices_0": np.array([4]),
        "pointers_to_2": np.array([0, 1, 3]),
        "indices_2": np.array([2, 0, 1]),
        "values": np.array([5, 6, 7]),
    }
    text = described("custom", levels, (2, 3, 5), custom=custom)
    with h5py.File(tmp_path / "c.h5", "w") as root:
        group = root.create_group("a/b")
        group.attrs["binsparse"] = json.dumps({"binsparse": text})
        for name, array in levels.items():
            group[name] = array
    tensor = Tensor.from_file("SparseDict(SparseDict(SparseDict(Element(0))))", tmp_path / "c.h5:a/b")
    assert dict(tensor.entries()) == {(1, 3, 5): 5, (2, 1, 5): 6, (2, 2, 5): 7}


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("Dense(Dense(Element(0.0)))", "DMATC"),
        ("Dense(SparseList(Element(0.0)))", "CSC"),
        ("Dense(SparseDict(Element(0.0)))", "CSC"),
        ("SparseList(SparseList(Element(0.0)))", "DCSC"),
        ("SparseDict(Dense(Element(0.0)))", "DCSC"),
    ],
)
def test_binsparse_files_have_the_format_of_the_levels(tmp_path, form, expected):
    """With arrays that are SciPy's where SciPy has the format."""
    Tensor.from_numpy(form, MATRIX).save(tmp_path / "m.h5")
    with h5py.File(tmp_path / "m.h5") as root:
        text = json.loads(root.attrs["binsparse"])["binsparse"]
        assert (text["format"], text["shape"], set(text["data_types"]) | {"binsparse"}) == (
            expected,
            [4, 3],
            {*root, "binsparse"},
        )
        if form != "SparseDict(Dense(Element(0.0)))":
            assert all(np.array_equal(root[name], array) for name, array in parts(expected).items())


SPOILED: dict[str, dict[str, Any]] = {
    "its shape is ()": {"shape": []},
    "its shape is (-1, 3)": {"shape": [-1, 3]},
    "its format is XYZ": {"format": "XYZ"},
    "its levels do not fit its 3 axes": {"shape": [4, 3, 1]},
    "pointers_to_1 does not ascend from 0 in 6 steps": {"shape": [5, 3], "format": "CSR"},
    "its metadata announce 4 stored values, and there are 5": {"number_of_stored_values": 4},
    "indices_1 has elements that are not in 0:2": {"shape": [3, 3]},
    "its numbers are complex": {"data_types": {"values": "complex[float64]"}},
    "its structure is hexagonal": {"structure": "hexagonal"},
    "its structure is ['symmetric_lower']": {"structure": ["symmetric_lower"]},
    "its metadata have no object `data_types`": {"data_types": 3},
    "its metadata have no array `shape`": {"shape": 3},
    "its metadata have no integer `number_of_stored_values`": {"number_of_stored_values": "5"},
    "its metadata have no string `values`": {"data_types": {"values": 3}},
    "its metadata have no string `fill_value`": {"fill": True},
    "its format is None": {"format": None},
    "its metadata have no object `level`": {"format": {"custom": {}}},
    "its metadata have no string `level_desc`": {"format": {"level": {}}},
    "its metadata have no integer `rank`": {"format": {"level": {"level_desc": "sparse", "rank": True}}},
    "its metadata have no array `transpose`": {"format": {"level": {"level_desc": "element"}, "transpose": 3}},
    "its levels do not fit its 2 axes": {
        "format": {
            "level": {"level_desc": "dense", "rank": 2, "level": {"level_desc": "element"}},
            "transpose": [0, "a"],
        }
    },
}


@pytest.mark.parametrize("message", SPOILED)
def test_a_binsparse_text_out_of_order_is_refused(tmp_path, message):
    made, change = parts("CSC"), SPOILED[message]
    text = described("CSC", made) | change
    if change.get("format") == "CSR":
        made = parts("CSR")
        text = described("CSR", made) | change
    refused(h5(tmp_path / "m.h5", text, **made), message)


def test_a_binsparse_file_is_not_trusted(tmp_path):
    """Links to other files, arrays that declare more than the file can hold, indices that do not ascend, no text."""
    made = parts("CSC")
    refused(h5(tmp_path / "j.h5", "{", **made), "not a .h5 file in order: ")
    refused(h5(tmp_path / "l.h5", "[1]", **made), "its metadata have no array `shape`")
    refused(h5(tmp_path / "w.h5", '{"binsparse": 3}', **made), "its metadata have no object `binsparse`")
    with h5py.File(h5(tmp_path / "t.h5", "{}", **made), "a") as root:
        root.attrs["binsparse"] = 3
    refused(tmp_path / "t.h5", "its attribute `binsparse` is no text")
    (tmp_path / "g.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(90))
    refused(tmp_path / "g.h5", "not a .h5 file in order: ")
    with h5py.File(tmp_path / "n.h5", "w"):
        pass
    refused(tmp_path / "n.h5", "it has no attribute `binsparse`")
    text = described("CSC", made)
    with h5py.File(h5(tmp_path / "x.h5", text, **made), "a") as root:
        del root["values"]
        root["values"] = h5py.ExternalLink(str(tmp_path / "j.h5"), "values")
    refused(tmp_path / "x.h5", "it holds no values")
    with h5py.File(h5(tmp_path / "e.h5", text, **made), "a") as root:
        del root["values"]
        root.create_dataset("values", (5,), "f8", external=[(str(tmp_path / "j.h5"), 0, 40)])
    refused(tmp_path / "e.h5", "values is in another file")
    with h5py.File(h5(tmp_path / "b.h5", text, **made), "a") as root:
        del root["indices_1"]
        root.create_dataset("indices_1", (10**12,), "i8", chunks=True)
    refused(tmp_path / "b.h5", "indices_1 cannot be 8000000000000 bytes long")
    one = {"values": np.ones(1)}
    equal = described("DVEC", one, (10**12,), number_of_stored_values=10**12) | {
        "data_types": {"values": "iso[float64]"}
    }
    refused(h5(tmp_path / "i.h5", equal, **one), "it declares 1000000000000 equal elements, which takes 8 TB")
    for name, array, what in (
        ("indices_1", [2, 0, 2, 0, 3], "indices_1 does not ascend"),
        ("pointers_to_1", [0, 3, 2, 5], "pointers_to_1 does not ascend from 0 in 4 steps"),
        ("values", ["a"] * 5, "values is no list of numbers"),
        ("values", np.ones((5, 1)), "values is no list of numbers"),
    ):
        refused(h5(tmp_path / "o.h5", text, **(made | {name: array})), what)


def test_a_fill_value_must_be_that_of_the_format(tmp_path):
    filled = {**parts("CSC"), "fill_value": np.array([0.5])}
    path = h5(tmp_path / "f.h5", described("CSC", filled, fill=True), **filled)
    assert isinstance(read_file(path), Filled)
    with pytest.raises(
        InputError, match=r"its fill value is 0.5, that of Dense\(SparseList\(Element\(0.0\)\)\) is 0.0"
    ) as raised:
        Tensor.from_file("Dense(SparseList(Element(0.0)))", path)
    assert "use Element(0.5)" in raised.value.render()
    with pytest.raises(InputError, match=r"A: its fill value is 0.5"):
        api.bind(api.parse("x = A[1, 1]"), inputs={"A": path})


# ------------------------------------------------------------------------------------------------- what cannot be held


def test_a_library_that_is_missing_is_named(tmp_path, monkeypatch):
    import sys

    Tensor.from_numpy("Dense(Element(0))", [1]).save(tmp_path / "m.h5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    refused(tmp_path / "m.h5", "needs h5py, which is not installed")
    with pytest.raises(InputError, match=r"m.h5: a .h5 file needs h5py") as raised:
        Tensor.from_numpy("Dense(Element(0))", [1]).save(tmp_path / "m.h5")
    assert "pip install 'wingspan[hdf5]'" in raised.value.render()


@derandomized
@given(st.data())
def test_nothing_but_bytes_of_the_file_decides(tmp_path_factory, data):
    """Files with a few bytes changed, cut or doubled are read, or refused by one message that says what to do."""
    suffix = data.draw(st.sampled_from([suffix for suffix in FORMATS if suffix not in (".h5", ".ppm")]))
    form, array = "Dense(Dense(Element(0)))", np.array([[7, 0, 0], [7, 7, 255]])
    if suffix == ".arrow":
        form, array = "RunList(Element(0))", array.ravel()
    path = tmp_path_factory.mktemp("spoiled") / f"t{suffix}"
    Tensor.from_numpy(form, array).save(path)
    content = bytearray(path.read_bytes())
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=3)):
        content[at] = byte
    end = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:end] + content[: data.draw(st.integers(0, 3))])
    try:
        Tensor.from_file(form, path)
    except InputError as error:
        assert error.fix and len(error.message) < 1000


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.ones(3, np.int64), "a tensor of rank 1: an image has axes for columns and rows"),
        (np.ones((2, 2)), "doubles: an image has numbers from 0 to 255, as integers"),
        (np.ones((2, 2), bool), "booleans: an image has numbers from 0 to 255, as integers"),
        (np.ones((2, 2, 4), np.int64), "a tensor of 4 planes: an image has axes for columns and rows"),
        (np.ones((2, 0), np.int64), "an image without pixels"),
        (np.array([[0, 256]]), "256: an image has numbers from 0 to 255"),
        (np.array([[-1, 0]]), "-1: an image has numbers from 0 to 255"),
    ],
)
@pytest.mark.parametrize("suffix", [".pgm", ".ppm", ".png"])
def test_what_is_no_image_is_refused_with_what_it_is(tmp_path, suffix, array, said):
    fill = {"i": "0", "f": "0.0", "b": "false"}[array.dtype.kind]
    tensor = Tensor.from_numpy(f"{'Dense(' * array.ndim}Element({fill}){')' * array.ndim}", array)
    with pytest.raises(InputError) as error:
        tensor.save(tmp_path / f"i{suffix}")
    assert f"a {suffix} file does not hold {said}" in error.value.message and error.value.fix == "use .npy"
    assert not list(tmp_path.iterdir())
