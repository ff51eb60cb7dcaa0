"""Images and what is read of their pixels."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from proofs_tests.effort import many
from proofs_tests.tensors.refusals import refused
from proofs_tests.towers import same
from wingspan import InputError, Tensor
from wingspan.tensors.files import read_file

derandomized = settings(derandomize=True, deadline=None, max_examples=many(60))


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


def png(
    width: int, height: int, lines: bytes = bytes(9), bits: int = 8, colour: int = 0, *more: tuple[bytes, bytes]
) -> bytes:
    """An image of scan lines, by default one; each begins with the number of its filter."""
    parts = [
        (b"IHDR", width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([bits, colour, 0, 0, 0])),
        *more,
        (b"IDAT", zlib.compress(lines)),
        (b"IEND", b""),
    ]
    chunks = (
        len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big") for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


GREY, COLOURS, PALETTE, GREY_ALPHA, COLOURS_ALPHA = 0, 2, 3, 4, 6
"""The kinds of PNG (https://www.w3.org/TR/png-3/#11IHDR)."""
PLTE, TRNS = (b"PLTE", bytes([9, 8, 7, 10, 20, 30])), (b"tRNS", bytes([255, 40]))


@pytest.mark.parametrize(
    ("bits", "kind", "line", "more", "pixels"),
    [
        (1, GREY, b"\x40", (), [[[0]], [[255]]]),
        (2, GREY, b"\x60", (), [[[85]], [[170]]]),
        (4, GREY, b"\x1e", (), [[[17]], [[238]]]),
        (8, GREY, b"\x01\xfe", (), [[[1]], [[254]]]),
        (16, GREY, b"\x01\x02\xff\xfe", (), [[[258]], [[65534]]]),
        (16, GREY, b"\x01\x02\xff\xfe", ((b"tRNS", b"\x01\x02"),), [[[258]], [[65534]]]),
        (8, COLOURS, b"\x01\x02\x03\xfd\xfe\xff", (), [[[1, 2, 3]], [[253, 254, 255]]]),
        (1, PALETTE, b"\x40", (PLTE,), [[[9, 8, 7]], [[10, 20, 30]]]),
        (4, PALETTE, b"\x10", (PLTE,), [[[10, 20, 30]], [[9, 8, 7]]]),
        (8, PALETTE, b"\x01\x00", (PLTE, TRNS), [[[10, 20, 30, 40]], [[9, 8, 7, 255]]]),
        (8, GREY_ALPHA, b"\x01\x02\xfd\xfe", (), [[[1, 2]], [[253, 254]]]),
        (8, COLOURS_ALPHA, b"\x01\x02\x03\x04\xfc\xfd\xfe\xff", (), [[[1, 2, 3, 4]], [[252, 253, 254, 255]]]),
    ],
)
def test_samples_of_a_png_are_kept(tmp_path, bits, kind, line, more, pixels):
    """Two pixels of each kind; fewer than 8 bits are scaled to 0:255."""
    (tmp_path / "a.png").write_bytes(png(2, 1, b"\x00" + line, bits, kind, *more))
    assert read_file(tmp_path / "a.png").reshape(2, 1, -1).tolist() == pixels


@pytest.mark.parametrize(("kind", "planes"), [(COLOURS, 3), (GREY_ALPHA, 2), (COLOURS_ALPHA, 4)])
@pytest.mark.parametrize("member", ["", ":alpha", ":red"])
def test_samples_that_would_lose_bits_are_refused(tmp_path, kind, planes, member):
    """Also a plane alone; a .ppm file of 16 bits keeps them, as the message says."""
    samples = np.arange(258, 258 + 2 * planes).astype(">u2")
    (tmp_path / "a.png").write_bytes(png(2, 1, b"\x00" + samples.tobytes(), 16, kind))
    with pytest.raises(InputError, match="its samples have 16 bits") as raised:
        read_file(tmp_path / f"a.png{member}")
    assert "write it as .ppm" in str(raised.value.fix)
    if kind == COLOURS:
        (tmp_path / "a.ppm").write_bytes(b"P6 2 1 65535\n" + samples.tobytes())
        assert read_file(tmp_path / "a.ppm").ravel().tolist() == list(range(258, 264))


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
