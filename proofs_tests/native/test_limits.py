"""Limits of a run: it is refused before it fills memory, and the message names an option, with a value that works."""

from __future__ import annotations

import re
import resource

import numpy as np
import pytest

import wingspan
from proofs_tests.compiled import needs_compiler
from wingspan import Fault, InputError, Limits, Tensor
from wingspan.levels import Tower
from wingspan.plan.pipeline import lower
from wingspan.runtime import faults, lease
from wingspan.tensors import tensor as tensors

ENGINES = ["native", pytest.param("compiled", marks=needs_compiler)]
DENSE = """
T = Tensor(Dense(Dense(Element(0.0))), 1000, n)
u = Tensor(Dense(Element(0, i16)), 1001)
T .= 0
u .= 0
for j = parallel(1:n)
    for i = 1:1000
        T[i, j] += v[i]
    end
end
return T, u
"""
BYTES = 1000 * 2000 * 8 + 1001 * 2
"""The bytes of T and u, if n = 2000."""


@pytest.mark.parametrize("engine", ENGINES)
def test_dense_tensors_are_refused_whole_before_they_are_filled(engine):
    """The message has the bytes of all of them, and not those of the page at which a limit is met."""
    v, program = np.ones(1000), wingspan.parse(DENSE)
    with pytest.raises(Fault, match=f"the run needs {BYTES} bytes, which is more than its limit"):
        wingspan.run(program, engine=engine, params={"n": 2000}, inputs={"v": v}, limits=Limits(memory=BYTES - 1))
    enough = Limits(memory=BYTES + 2**14)  # whole pages, and what says where they are
    made = wingspan.run(program, engine=engine, params={"n": 2000}, inputs={"v": v}, limits=enough)
    assert made.tensors["T"].to_numpy().sum() == 2_000_000


@pytest.mark.parametrize("engine", ENGINES)
def test_a_kernel_needs_what_its_extents_take_and_not_more(engine):
    """Extents are rounded up for memory that is used again; what is refused is not. Inputs are in place."""
    text = "C = Tensor(Dense(Element(0.0))); C .= 0; for i = _; C[i] += v[i]; end"
    kernel = wingspan.compile(wingspan.parse(text), engine=engine, inputs={"v": "Dense(Element(0.0))"})
    v = Tensor.from_numpy("Dense(Element(0.0))", np.ones(2**18 + 1))
    limits = Limits(memory=v.shape[0] * 8 + 2**14)
    assert kernel(v=v, limits=limits).to_numpy().sum() == v.shape[0]
    with pytest.raises(Fault, match=f"the run needs {8 * v.shape[0]} bytes"):
        kernel(v=v, limits=Limits(memory=v.shape[0] * 8 - 1))


def test_by_default_a_run_may_use_what_the_system_grants(monkeypatch):
    monkeypatch.setattr(lease, "available_memory", lambda: 1_000_003)
    assert Limits().memory == 800_000


MERGED = """
d = cpu(:d, nt)
T = Tensor(Merge(d, SparseList(Element(0.0))), 100)
T .= 0
for j = parallel(1:nt, d)
    T[j] += 1
end
return T
"""


def test_where_address_space_ends_the_message_names_a_reservation_that_works():
    """A thousand threads, each of which has a copy of a tensor; the exception, which is kept, keeps no memory."""
    program = wingspan.parse(MERGED.replace("T[j]", "T[j % 100 + 1]"))
    with pytest.raises(Fault, match="no address space left") as raised:
        wingspan.run(program, engine="native", params={"nt": 1000})
    found = re.fullmatch(r"reserve less for each buffer: --reserve (\d+)G", raised.value.fix or "")
    assert found is not None
    run = wingspan.run(program, engine="native", params={"nt": 1000}, limits=Limits(reservation=int(found[1]) << 30))
    assert run.tensors["T"].to_numpy().sum() == 1000


def test_a_buffer_that_got_less_space_than_it_should_have_is_not_told_to_reserve_more(monkeypatch):
    """`ulimit -v` leaves too little for all buffers here; for a buffer beyond its share, more would help."""
    plan = lower(wingspan.bind(wingspan.parse("T = Tensor(SparseDict(Element(0.0)), 1000000000000); T .= 0")))
    (group,) = plan.groups
    val = group.buffers[-1]
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (2**30, -1))
    about = val, plan.groups, 2**36
    message, fix = faults.limit(faults.NO_CELL, 2**16, *about)
    assert message.startswith("out of memory: the system has no address space left for T, level 1 Element: val")
    assert fix == f"reserve less for each buffer: --reserve {faults._size(faults.affordable(plan.groups))}"
    assert faults.limit(faults.NO_CELL, 2**32, *about)[1] == "raise the limit of the process: ulimit -v"
    assert faults.limit(faults.NO_CELL, 2**34, *about)[1] == "raise the reservation: --reserve"


def test_an_array_beyond_all_memory_is_refused_before_it_is_filled(monkeypatch):
    monkeypatch.setattr(tensors, "available_memory", lambda: 10**9)
    tensor = Tensor.from_numpy("SparseList(SparseList(Element(0.0)))", np.eye(2))
    large = Tensor(Tower(tensor.tower.levels, (2, 10**8)), tensor.data, tensor.fill)
    with pytest.raises(InputError, match=r"a dense array of .* takes 1.6 GB of memory; the limit is 1 GB"):
        large.to_numpy()
