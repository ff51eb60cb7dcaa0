"""A sample of every fuzz target; bench/fuzz.py runs them for longer."""

from __future__ import annotations

import struct
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import many
from proofs_tests.fuzz.mutations import INTEGERS, RECORDS, sealed
from proofs_tests.fuzz.target import Target
from proofs_tests.fuzz.targets import TARGETS, heads, inputs_read, printed, written
from wingspan import Tensor


def changed(random: Random, target: Target) -> bytes:
    """One of a target's seeds, changed a few times."""
    data = random.choice(target.seeds())
    for _ in range(random.randint(1, 3)):
        data = target.mutate(random, data)
    return data


@pytest.mark.parametrize("name", TARGETS)
def test_the_inputs_that_fuzzing_starts_from_are_read(name):
    """Checked like all others, and those of files are not refused."""
    target = TARGETS[name]
    seeds = target.seeds()
    assert seeds
    for data in seeds:
        target.check(data)
    if name == "inputs":
        assert inputs_read(seeds) == ["read"]


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "inputs"])
def test_a_changed_input_means_the_same_to_all_or_is_one_error(name):
    target = TARGETS[name]

    @settings(max_examples=many(80), suppress_health_check=list(HealthCheck))
    @given(st.randoms(use_true_random=False))
    def check(random: Random) -> None:
        target.check(changed(random, target))

    check()


FOUND = [
    ("arrow", written(".arrow", Tensor.from_numpy("Dense(Element(0.0))", [np.nan, 1]))[0]),
    ("compressed", b'{"form": "csr", "shape": [2, 4], "data": ["int64", [1, 2, 3]], "indices": ["int32", [0, 3, 2]],'
                   b' "indptr": ["uint64", [0, 2, 3]]}'),
    ("compressed", b'{"form": "csr", "shape": [2, 4], "data": ["float64", [1, 2, 24611686018427387904]],'
                   b' "indices": ["int32", [0, 3, 3]], "indptr": ["int64", [0, 3, 3]]}'),
    ("einsum", b"y[i] += A[i, j[i, j] * j[j]]"),
    ("format", b"9" * 30_000),
    ("watch", b"1 == b"),
]  # fmt: skip
"""Inputs on which a target failed."""


@pytest.mark.parametrize(("name", "data"), FOUND, ids=[f"{name}-{k}" for k, (name, _) in enumerate(FOUND)])
def test_what_fuzzing_found_is_fixed(name: str, data: bytes) -> None:
    TARGETS[name].check(data)


def test_a_printed_program_refuses_inputs_that_are_damaged():
    """Any of them that differ from what was written, but for records that are in order under a new checksum."""
    whole = printed()[1]
    damaged = [whole[:n] for n in range(0, len(whole), 8)]
    damaged += [whole[:at] + bytes([whole[at] ^ 64]) + whole[at + 1 :] for at in range(0, len(whole), 5)]
    damaged += [whole + b"\0", whole + whole, b"", b"\0" * 400]
    assert set(inputs_read(damaged)) == {"refused"}


def test_a_printed_program_stays_within_its_memory_whatever_its_inputs_declare():
    """Each number that says how to read the rest is each odd one in turn, under a checksum that fits."""
    whole = printed()[1]
    places = list(heads(whole))
    files = []
    for at in places:
        for value in (*INTEGERS, 4, 2**59 + 1, 2**60):
            files.append(sealed(whole, whole[RECORDS:at] + struct.pack("<Q", value % 2**64) + whole[at + 8 :]))
    said = inputs_read(files)
    assert len(places) > 60 and said.count("refused") > len(files) // 2 and "read" in said
