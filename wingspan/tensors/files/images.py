"""Images: PGM and PPM (https://netpbm.sourceforge.net/doc/), and PNG, for which Pillow is needed.

Pixel i of scan line j is at [i, j], so that the fibers of an image are its scan lines; a third axis has the planes of
one in colours. A plane can be read alone, as `page.png:red`. As a vector, an image is one scan line after the other.

Samples of 8 and of 16 bits are read as they are, and those of fewer bits in a PNG scaled to 0:255, where white is 255.
Of several planes with 16 bits, Pillow keeps 8, so such a PNG is refused.
"""

from __future__ import annotations

import re
from math import prod
from typing import IO, Any

from wingspan.base.errors import InputError, abridge
from wingspan.base.libraries import np
from wingspan.base.reading import DEFLATE, InSteps, require_memory
from wingspan.lang.kinds import KINDS
from wingspan.tensors.files.file_format import WritableTensor, library, library_errors, refuse_unless

PLANES = {1: ("grey",), 2: ("grey", "alpha"), 3: ("red", "green", "blue"), 4: ("red", "green", "blue", "alpha")}
"""The names of an image's planes, by their number."""

HEADER = re.compile(
    rb"P([56])(?:(?:\s|#[^\n]*\n)+)([0-9]{1,9})(?:(?:\s|#[^\n]*\n)+)([0-9]{1,9})(?:(?:\s|#[^\n]*\n)+)([0-9]{1,5})\s"
)
"""The width, the height and the largest value come after the kind; comments may stand between them."""

HEADER_PNG = 26
"""The bytes of a PNG up to the number of bits of a sample, and what its planes are (https://www.w3.org/TR/png-3/)."""


def plane(pixels: np.ndarray, member: str | None) -> np.ndarray:
    """An image as a tensor, given its scan lines, with a last axis for the planes; or one plane of it."""
    names = PLANES[pixels.shape[2]]
    if member is not None and member not in names:
        raise InputError(f"it has no plane {abridge(member)}", fix=f"use {', '.join(names)}")
    whole = pixels.transpose(1, 0, 2)
    if member is None and len(names) > 1:
        return whole
    return whole[:, :, names.index(member or names[0])]


def pixels(tensor: WritableTensor) -> np.ndarray:
    """The scan lines of a tensor that is an image, with a last axis for planes. InputError if it is none."""
    rank, kind = len(tensor.shape), tensor.tower.kind
    planes = tensor.shape[2] if rank == 3 else 1
    image = "an image has axes for columns and rows, and maybe one for 3 planes"
    values = "an image has numbers from 0 to 255"
    refuse_unless(kind == "int", f"{KINDS[kind].full}s: {values}, as integers")
    refuse_unless(rank in (2, 3), f"a tensor of rank {rank}: {image}")
    refuse_unless(rank == 2 or planes == 3, f"a tensor of {planes} planes: {image}")
    refuse_unless(prod(tensor.shape) > 0, "an image without pixels")
    array = tensor.to_numpy().reshape(*tensor.shape[:2], planes)
    for extreme in (int(array.min()), int(array.max())):
        refuse_unless(0 <= extreme <= 255, f"{extreme}: {values}")
    return np.ascontiguousarray(array.transpose(1, 0, 2).astype(np.uint8))


def read_netpbm(file: InSteps, member: str | None = None) -> np.ndarray:
    """The image in a file of kind P5 or P6. ValueError or InputError if it is not in order."""
    begun = file.read(4096)
    if not (head := HEADER.match(begun)):
        raise ValueError("it does not begin as `P5 WIDTH HEIGHT 255` or `P6 WIDTH HEIGHT 255` do")
    kind, width, height, most = map(int, head.groups())
    shape = (height, width, 1 if kind == 5 else 3)
    dtype = np.dtype(">u2" if most > 255 else "u1")
    size = prod(shape) * dtype.itemsize
    if not 0 < most < 65536:
        raise ValueError(f"it declares {most} as the largest value, which is from 1 to 65535")
    if head.end() + size != file.size:
        raise ValueError(f"it declares {width}×{height} pixels, {size} bytes, and {file.size - head.end()} follow")
    require_memory(8 * prod(shape), f"it declares {width}×{height} pixels")
    data = bytearray(begun[head.end() :])
    while step := file.read():
        data += step
    found = np.frombuffer(bytes(data[:size]), dtype).reshape(shape)
    if int(found.max(initial=0)) > most:
        raise ValueError(f"it declares that no value is greater than {most}, and {found.max()} is one")
    return plane(found.astype(dtype.newbyteorder("="), copy=False), member)


def write_netpbm(file: IO[bytes], tensor: WritableTensor, kind: int) -> None:
    """Write an image as kind P5 (one plane) or P6 (three). InputError if it is none."""
    array = pixels(tensor)
    wanted = 1 if kind == 5 else 3
    made = "an image of 1 plane" if kind == 6 else "an image of 3 planes"
    refuse_unless(array.shape[2] == wanted, made, "use .pgm" if kind == 6 else "use .ppm")
    file.write(f"P{kind}\n{array.shape[1]} {array.shape[0]}\n255\n".encode())
    file.write(array.tobytes())


def read_png(file: InSteps, member: str | None = None) -> np.ndarray:
    """The image in a file. ValueError or InputError if it is not in order."""
    image: Any = library("PIL.Image", "Pillow", "images")
    header = file.peek(HEADER_PNG)[:HEADER_PNG]
    with library_errors(OSError, SyntaxError):
        try:
            opened = image.open(file, formats=["PNG"])
        except image.UnidentifiedImageError:
            raise ValueError("it does not begin as a PNG image does") from None
        if header[-2:-1] == b"\x10" and opened.mode in ("LA", "RGB", "RGBA"):
            fix = "write it as .ppm, or each plane as .pgm, which keep 16 bits: magick page.png page.ppm"
            raise InputError("its samples have 16 bits, and are read as 8 if there are several planes", fix=fix)
        width, height = opened.size
        if width * height > 8 * DEFLATE * file.size:  # a pixel has at least a bit
            raise ValueError(f"{file.size} bytes cannot hold the {width}×{height} pixels that it declares")
        require_memory(32 * width * height, f"it declares {width}×{height} pixels")
        if opened.mode in ("1", "P"):
            transparent = "transparency" in opened.info
            opened = opened.convert("L" if opened.mode == "1" else "RGBA" if transparent else "RGB")
        found = np.asarray(opened)
    return plane(found.reshape(height, width, -1), member)


def write_png(file: IO[bytes], tensor: WritableTensor) -> None:
    """Write an image. InputError if it is none."""
    image: Any = library("PIL.Image", "Pillow", "images")
    array = pixels(tensor)
    image.fromarray(array if array.shape[2] == 3 else array[:, :, 0]).save(file, format="PNG", optimize=True)
