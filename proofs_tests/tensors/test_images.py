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
        with pytest.raises(InputError, match=r"does not hold \d plane"):
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
