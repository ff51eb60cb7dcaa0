"""Formats of tensors as text, and arrays that fit them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from wingspan.base.errors import ProgramError
from wingspan.lang import ir
from wingspan.lang.devices import Device
from wingspan.lang.ir import kind_of
from wingspan.lang.widths import NARROW, USUAL
from wingspan.levels import REGISTRY, resolve
from wingspan.levels.base import Level, Storage, Tower
from wingspan.tensors.formats import parse_format
from wingspan.testing.choosing import Chooser, drawn_by

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "0": st.integers(-3, 3),
    "2": st.integers(-3, 3) | st.sampled_from([2**63 - 1, -(2**63)]),
    "0.0": st.sampled_from([0.0, 1.5, -2.0, 0.1, 5e-324, 1.7976931348623157e308]),
    "-0.5": st.sampled_from([0.0, -0.5, 0.25]),
    "false": st.booleans(),
    "true": st.booleans(),
    "0, u8": st.sampled_from([0, 1, 2, 254, 255]),
    "-1, i8": st.sampled_from([-128, -1, 0, 1, 127]),
    "0, i16": st.integers(-3, 3) | st.sampled_from([2**15 - 1, -(2**15)]),
    "7, u16": st.sampled_from([0, 7, 2**16 - 1]),
    "0, i32": st.integers(-3, 3) | st.sampled_from([2**31 - 1, -(2**31)]),
    "0, u32": st.sampled_from([0, 1, 2**31, 2**32 - 1]),
    "0.0, f32": st.sampled_from([0.0, 1.5, -2.0, 2.0**-149, (2.0 - 2.0**-23) * 2.0**127]),
}
"""Fill values as programs write them, with or without a width, and elements of their kind, including extreme ones."""

LEAVES = ("Element", "Atomic")
STORAGE = (
    "Dense", "SparseList", "SparseByteMap", "SparseDict", "SparseBand", "SparseBlockList", "SparseRunList", "RunList"
)  # fmt: skip
"""Storage levels that hold any array, with one axis."""
RUNS = ("SparseBand", "SparseBlockList", "SparseRunList", "RunList")
"""Storage levels that store stretches of indices."""
STORING = (*STORAGE, "SparseCOO")
"""Storage levels that hold any array, including the one with several axes."""
SINGLE = tuple(name for name in STORING if name not in RUNS)
"""The levels that store single indices."""
BOUNDED = ("SparsePoint", "SparseInterval")
"""Storage levels that hold only some arrays: see `fit_to_format`."""
MODIFIERS = ("Mutex({})", "Isolate({})", "Shard(dev, {})", "Shard(far, {})", "Merge(dev, {})", "Merge(far, {})")


@st.composite
def formats(
    draw: st.DrawFn, rank: int | None = None, modified: bool = True, storage: Sequence[str] = STORING
) -> tuple[str, str]:
    """Draws a format of rank 0 to 3 and its fill value. Any level may have up to two modifiers, in any order.

    The modifiers name two devices, `dev` and `far`.
    """
    choose = drawn_by(draw)
    fill = choose.pick(sorted(VALUES))
    rank = choose.between(0, 3) if rank is None else rank
    leaves = [f"{leaf}({fill})" for leaf in LEAVES]
    if fill == "false" and rank and fitting(storage, "Pattern()"):
        leaves.append("Pattern()")
    return random_format(choose, choose.pick(leaves), rank, storage, MODIFIERS if modified else (), most=2), fill


def random_format(
    choose: Chooser, leaf: str, rank: int, storage: Sequence[str], modifiers: Sequence[str] = (), most: int = 1
) -> str:
    """A format of a rank around a leaf, of these levels, each in up to `most` of the modifiers."""
    form = wrap_in_modifiers(choose, leaf, modifiers, most)
    while rank:
        axes = choose.between(2, rank) if "SparseCOO" in storage and rank > 1 and choose.chance(3) else 1
        around = f"SparseCOO({axes}, " if axes > 1 else f"{choose.pick(fitting(storage, form))}("
        form, rank = wrap_in_modifiers(choose, f"{around}{form})", modifiers, most), rank - axes
    return form


def wrap_in_modifiers(choose: Chooser, form: str, among: Sequence[str], most: int = 2) -> str:
    """The format in some of the modifiers."""
    for _ in range(choose.between(0, most) if among else 0):
        wrapped = choose.pick(among).format(form)
        form = wrapped if legal(f"SparseDict({wrapped})") else form
    return form


def fitting(storage: Sequence[str], form: str) -> list[str]:
    """The storage levels with one axis that can wrap a format."""
    return [name for name in storage if legal(f"{name}({form})")]


@lru_cache(maxsize=1 << 14)
def legal(form: str) -> bool:
    """Whether the levels of a format fit together. The last level may be left open: `Dense({})`."""
    try:
        levels_of(form.format("Element(0)"))
    except ProgramError:
        return False
    return True


@lru_cache(maxsize=1_000)
def is_readable_while_updated(form: str) -> bool:
    """Whether elements may be read in the statement that updates others, as all positions are computed."""
    return all(level.readable_while_updated for level in levels_of(form))


def levels_of(form: str) -> tuple[Level, ...]:
    """The levels of a format, root first; each device has two threads. ProgramError if the levels do not fit."""
    written = parse_format(form)
    devices = {node.name: Device(node.name, 2) for node in written.walk() if isinstance(node, ir.Variable)}
    return Tower.of(resolve(written, devices), ()).levels


MERGED = tuple(name for name in STORAGE if legal(f"Merge(dev, {name}(Element(0)))"))
"""Storage levels whose copies can be merged."""


@st.composite
def arrays(
    draw: st.DrawFn, rank: int, fill: str, extent: int = 4, shape: tuple[int, ...] | None = None
) -> np.ndarray[Any, Any]:
    """Draws an array of the fill value's kind, with many elements equal to the fill value."""
    if shape is None:
        shape = tuple(draw(st.integers(0, extent)) for _ in range(rank))
    size = int(np.prod(shape, dtype=int))
    elements = draw(st.lists(st.just(worth(fill)) | VALUES[fill], min_size=size, max_size=size))
    return np.array(elements, dtype=dtype_of(fill)).reshape(shape)


def worth(fill: str) -> Any:
    """A fill value as a Python number, whatever its width."""
    text = fill.partition(",")[0]
    words = {"true": True, "false": False, "Inf": math.inf, "-Inf": -math.inf, "NaN": math.nan}
    return words[text] if text in words else float(text) if "." in text else int(text)


def dtype_of(fill: str) -> np.dtype[Any]:
    """The NumPy type of the elements."""
    _, _, width = fill.partition(", ")
    return np.dtype((NARROW[width] if width else USUAL[kind_of(worth(fill))]).dtype)


@lru_cache(maxsize=1 << 14)
def rank_of(form: str) -> int:
    """The rank of a format. Its last level or fill value may be left open."""
    levels = (node for node in parse_format(form.format(0)).walk() if isinstance(node, ir.Format))
    return sum(axes_of(level) for level in levels)


def axes_of(level: ir.Format) -> int:
    """The number of axes of one level alone."""
    match level.args:
        case (ir.Literal(value=axes), ir.Format()):
            return int(axes)
    return int(issubclass(REGISTRY[level.name], Storage))


@st.composite
def tensors(
    draw: st.DrawFn, modified: bool = True, storage: Sequence[str] = (*STORING, *BOUNDED), least: int = 0
) -> tuple[str, np.ndarray[Any, Any]]:
    """Draws a format of at least this rank, and an array for it."""
    form, fill = draw(formats(rank=draw(st.integers(least, 3)), modified=modified, storage=storage))
    return form, fit_to_format(form, draw(arrays(rank_of(form), fill)), fill)


def fit_to_format(form: str, array: np.ndarray[Any, Any], fill: str) -> np.ndarray[Any, Any]:
    """The array, with the fill value in place of elements that the format cannot hold.

    These are all but the first index of each point, and all but the first run of each interval.
    """
    levels = [node for node in parse_format(form).walk() if isinstance(node, ir.Format)]
    axes = [level.name for level in levels for _ in range(axes_of(level))]

    def fit(part: np.ndarray[Any, Any], axes: Sequence[str]) -> None:
        filled = [i for i in range(part.shape[-1]) if (part[..., i] != worth(fill)).any()]
        for k, i in enumerate(filled):
            goes_on = axes[0] == "SparseInterval" and i == filled[0] + k and (part[..., i] == part[..., i - 1]).all()
            if axes[0] in BOUNDED and k and not goes_on:
                part[..., i] = worth(fill)
            elif axes[1:]:
                fit(part[..., i], axes[1:])

    made = array.copy()
    if axes:
        fit(made, axes)
    return made
