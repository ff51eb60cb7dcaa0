"""Finch.jl's own programs, read as they are from a snapshot of its repository: FINCH=DIR, a work tree or a Git
directory. Without a snapshot only the finding of blocks is tested, on Julia code of our own.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proofs_tests.lang.finch_programs import (
    Block,
    blocks_in,
    complete,
    device_parameters,
    find_blocks,
)
from wingspan import api, function
from wingspan.api.small import draw
from wingspan.base.errors import InputError, ParseError, ProgramError
from wingspan.lang.parser import parse
from wingspan.lang.printer import show

SNAPSHOT = os.environ.get("FINCH")
with_snapshot = pytest.mark.skipif(SNAPSHOT is None, reason="FINCH names no snapshot of Finch.jl")

DECLARED = [function("f(x, y) = x * y").declared]
"""The function that the code around some blocks defines."""


@cache
def blocks() -> list[Block]:
    return [block for block in find_blocks(Path(SNAPSHOT or "")) if not block.is_continuous]


def test_blocks_end_where_a_macro_call_does() -> None:
    """Comments, texts and subscripts have no blocks and brackets that count."""
    code = """
    # @finch begin
    check("@finch (", @finch_code mode = :fast begin # end
        for i in _; y[i] = x[end + 1] end
    end)
    @finch (y .= 0;
    for i in _
        y[i] = x[i] # )
    end)
    z = 1
    @finch y[1] =
        2
    eval(@finch_kernel function f(x, y)
        y[1] = x[1]
    end)
    let @finch s[] += 1 end
    """
    found = list(blocks_in("a.jl", code))
    assert [block.line for block in found] == [3, 6, 11, 13, 16]
    assert [show(parse(block.text)) for block in found[1:4:2]] == [
        "y .= 0\nfor i = _\n    y[i] = x[i]\nend",
        "y[1] = x[1]",
    ]
    assert found[0].text.startswith("@finch_code mode") and found[0].text.endswith("end\n    end")
    assert show(parse(found[4].text)) == "s[] += 1"


@with_snapshot
def test_twelve_in_thirteen_programs_of_finch_are_programs_as_they_are() -> None:
    """The others, made by Julia code or with functions of Julia, are refused by messages of their own; and all that
    are programs have a normal form.
    """
    refused = 0
    for block in blocks():
        try:
            tree = parse(block.text, str(block))
        except ParseError as error:
            assert "cannot stand here" not in error.render()
            refused += 1
        else:
            assert parse(show(tree)) == tree
    assert len(blocks()) > 250
    assert refused <= len(blocks()) // 13


@with_snapshot
@pytest.mark.deep
def test_programs_of_finch_have_the_results_of_the_reference() -> None:
    """Of all blocks, each with small random inputs, on threads if the dependence test accepts it, else on one."""
    agree, refused = 0, []
    for block in different_programs():
        try:
            program, binding = draw_inputs(block)
        except (ProgramError, InputError) as error:
            refused.append(f"{block}: {error.message}")
            continue
        threads = 2 if api.check(program, **binding).verdict == "safe" else 1
        expected, actual = (
            api.run(program, engine=engine, threads=threads, unsafe=True, **binding)
            for engine in ("reference", "native")
        )
        for name, tensor in expected.tensors.items():
            np.testing.assert_array_equal(actual.tensors[name].to_numpy(), tensor.to_numpy(), err_msg=str(program))
        agree += 1
    assert len(refused) <= agree // 20, refused


def different_programs() -> list[Block]:
    """The blocks that are programs, one of each kind."""
    found: dict[str, Block] = {}
    for block in blocks():
        with suppress(ParseError):
            found.setdefault(show(parse(block.text, functions=DECLARED)), block)
    return list(found.values())


def draw_inputs(block: Block) -> tuple[api.Program, dict[str, Any]]:
    """A complete program with what it leaves open; with extents for its tensors if they do not follow from it."""
    for extent in (None, 6):
        try:
            program = api.parse(complete(block, DECLARED, extent), str(block))
            devices = device_parameters(program.tree)
            drawn = draw(program, 3, params=devices)
        except (ProgramError, InputError):
            if extent:
                raise
        else:
            return program, {"inputs": drawn.inputs, "params": {**devices, **drawn.params}}
    raise AssertionError
