"""Every storage level is read and written alike by the rules, the machine, threads and C, and as the reference says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from proofs_tests.effort import EFFORT, few
from wingspan import api
from wingspan.compiled.build import compiler
from wingspan.elaborate import Elaborated
from wingspan.testing import compare
from wingspan.testing.batched_c import Together
from wingspan.testing.formats import BOUNDED, STORAGE, fit_to_format, legal

PROGRAMS = {
    "copy": "for j = _\nfor i = _\nC[i, j] = A[i, j]\nend\nend",
    "copy of a part": "for j = _\nfor i = _\nif A[i, j] > 3\nC[i, j] = A[i, j]\nend\nend\nend",
    "sum": "for j = _\nfor i = _\nC[i, j] += A[i, j] + B[i, j]\nend\nend",
    "product": "for j = _\nfor i = _\nC[i, j] += A[i, j] * B[i, j] * v[j]\nend\nend",
    "union with a constant": "for j = _\nfor i = _\ns[] <<max>>= A[i, j] + 1\nend\nend",
    "reduction": "for j = parallel(_)\nfor i = _\ny[j] += A[i, j]\nend\nend",
    "chunks": "for j = _\nfor i = parallel(_, cpu(2), dynamic_schedule(2))\nx[i] += A[i, j]\nend\nend",
    "search": "for j = _\nfor i = _\nx[i] += A[r[i], j]\nend\nend",
    "second phase": """
        for j = 1:1
            for i = _
                C[i, j] += A[i, j]
            end
        end
        for j = 1:1
            for i = _
                s[] += C[i, j]
            end
        end
        for j = 2:{n}
            for i = _
                C[i, j] += A[i, j]
            end
        end""",
    "tasks with columns of their own": """
        for j = parallel(_, d)
            for i = _
                D[i, j] = A[i, j]
            end
        end""",
}
SHAPES = ((0, 2), (2, 0), (1, 1), (4, 3), (70, 2))


def images(shape: tuple[int, int], seed: int) -> Iterator[np.ndarray]:
    """Matrices of runs down the columns: all fill, one value, values in turns, and any."""
    random = np.random.default_rng(seed)
    yield np.zeros(shape, dtype=np.int64)
    yield np.full(shape, 7)
    yield np.indices(shape).sum(0) % 2 * 7
    lengths = random.integers(1, 5, shape[0] * shape[1])
    values = np.repeat(random.integers(0, 3, len(lengths)) * 4, lengths)[: shape[0] * shape[1]]
    yield values.reshape(shape, order="F").astype(np.int64)


@dataclass(frozen=True)
class Case:
    """A program on inputs."""

    name: str
    bound: Elaborated


def cases(level: str, leaf: str = "Element", first: int = 0, every: int = 1) -> Iterator[Case]:
    """From the first on every so manieth of all programs over columns of this level, on all matrices."""
    for name, given in islice(named(level, leaf), first, None, every):
        yield Case(name, bind(level, *given))


def named(level: str, leaf: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The names of the cases, and of what each is made."""
    for fill in ("0", "2"):
        form = f"Dense({level}({leaf}({fill})))"
        for shape in SHAPES:
            for k, image in enumerate(images(shape, 3)):
                A = fit_to_format(form, image, fill)
                B = fit_to_format(form, np.where(worth(fill) == A, A, A * 2), fill)
                for name, body in PROGRAMS.items():
                    if fill == "2" and name in ("sum", "product", "second phase"):
                        continue  # of fill values these are none
                    yield f"{name}, {fill}, {shape}, {k}", (form, fill, body, shape, A, B)


def worth(fill: str) -> int:
    return int(fill)


def bind(level: str, form: str, fill: str, body: str, shape: tuple[int, int], A: Any, B: Any) -> Elaborated:
    """A program, with what it updates declared."""
    m, n = shape
    made = {
        "C": f"Tensor({form}, {m}, {n})",
        "D": f"Tensor({form.replace('Dense(', 'Dense(Shard(d, ', 1)}), {m}, {n})",
        "x": f"Tensor(Dense(Element(0)), {m})",
        "y": f"Tensor(Dense(Element(0)), {n})",
        "s": "Tensor(Element(0))",
    }
    body = dedent(body).strip().replace("{n}", str(n))
    updated = [name for name in made if f"{name}[" in body]
    read = {"A": form, "B": form, "v": "Dense(Element(0))", "r": "Dense(Element(0))"}
    inputs = {"A": A, "B": B, "v": np.arange(n) % 2, "r": np.arange(m)[::-1] + 1}
    lines = ["d = cpu(:d, 2)", *(f"{name} = Tensor({read[name]})" for name in read if f"{name}[" in body)]
    lines += [f"{name} = {made[name]}" for name in updated]
    lines += [f"{name} .= {fill if name in 'CD' else 0}" for name in updated]
    text = "\n".join([*lines, body, f"return {', '.join(updated)}"])
    return api.bind(api.parse(text), inputs={name: inputs[name] for name in read if f"{name}[" in body})


LEVELS = [level for level in (*STORAGE, *BOUNDED) if legal(f"{level}(Element(0))")]


@pytest.mark.parametrize("level", LEVELS)
def test_engines_agree_with_the_reference(level: str) -> None:
    """Columns without indices, with one, with more than a word of 64; all fill, of one run, and of many.

    As C, in a short run, over every second level.
    """
    some = list(cases(level) if EFFORT >= 1 else cases(level, first=9, every=41))
    engines = [api.engine(name) for name in ("reference", "semantics", "native", "native-controlled")]
    if compiler() and (EFFORT >= 1 or LEVELS.index(level) % 2 == 0):
        together = Together("-O0")
        together.prepare(case.bound for case in some)
        engines.append(together)
    for case in some:
        done = compare(case.bound, engines)
        assert done.difference is None, f"{level}: {case.name}\n{done.difference}"


@pytest.mark.parametrize("outer", few([*STORAGE, *BOUNDED], 5))
def test_tensors_without_elements_are_updated_alike(outer: str) -> None:
    """Fibers are laid out also where there is no index."""
    inside = [inner for inner in (*STORAGE, *BOUNDED) if legal(f"{outer}({inner}(Element(0)))")]
    assert inside
    for rows, columns in ((0, 0), (0, 2), (2, 0)):
        heads = [f"{T} = Tensor({outer}({T}(Element(0))), {rows}, {columns})\n{T} .= 0" for T in inside]
        loops = [f"for j = 1:{columns}", f"for i = 1:{rows}", *(f"{T}[i, j] += 1" for T in inside), "end", "end"]
        text = "\n".join([*heads, *loops, f"return {', '.join(inside)}"])
        made = api.diff(api.parse(text), engines=["semantics", "native", "native-controlled"])
        assert made.difference is None, (outer, rows, columns, made.difference)
