"""Numbers of threads that no device has are refused in the same words everywhere; NumPy's integers are integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from wingspan import InputError, Tensor, api, testing
from wingspan.accesses import parse_log

SERIAL = api.parse("y = Tensor(Dense(Element(0)), 2)\ny .= 0\nfor i = 1:2\n    y[i] += i\nend\nreturn y")
PARALLEL = api.parse(str(SERIAL).replace("1:2", "parallel(1:2, cpu(:d, 2))"))
SHARD = "Dense(Shard(d, Dense(Element(0.0))))"
EYE = np.eye(2)

TAKERS: dict[str, Callable[[Any], object]] = {
    "bind": lambda n: api.bind(PARALLEL, threads=n),
    "run": lambda n: api.run(PARALLEL, threads=n, engine="native"),
    "compile": lambda n: api.compile(PARALLEL, threads=n, engine="native")(),
    "using": lambda n: api.compile(PARALLEL, engine="native").using(threads=n)(),
    "check": lambda n: api.check(PARALLEL, threads=n),
    "explore": lambda n: api.explore(PARALLEL, threads=n),
    "stress": lambda n: api.stress(PARALLEL, threads=n, runs=1),
    "diff": lambda n: api.diff(PARALLEL, threads=n),
    "parallelize": lambda n: api.parallelize(SERIAL, threads=n),
    "parallelize, nested": lambda n: api.parallelize(SERIAL, threads=[n]),
    "einsum": lambda n: api.einsum("y[i] += A[i, j]", A=EYE, threads=n, engine="native"),
    "compute": lambda n: api.compute(api.lazy(EYE) + 1, threads=n, engine="native"),
    "devices": lambda n: Tensor.from_numpy(SHARD, EYE, devices={"d": n}),
    "campaign": lambda n: testing.campaign(["reference"], ["semantics"], examples=1, threads=n),
    "campaign, several": lambda n: testing.campaign(["reference"], ["semantics"], examples=1, threads=[2, n]),
}


@pytest.mark.parametrize("taker", TAKERS)
def test_a_number_of_threads_that_no_device_has_is_one_error(taker):
    for wrong in (0, -1, 1001, 1.5, "2", True):
        with pytest.raises(InputError) as raised:
            TAKERS[taker](wrong)
        assert raised.value.message == f"a device has from 1 to 1000 threads, not {wrong!r}", wrong
        assert raised.value.fix == "threads=2; on the command line, --threads 2"


@pytest.mark.parametrize("taker", TAKERS)
def test_an_integer_of_numpy_is_a_number_of_threads(taker):
    TAKERS[taker](np.int64(2))


def test_there_is_a_number_of_threads():
    for taker in ("parallelize", "campaign"):
        with pytest.raises(InputError, match="there are no numbers of threads"):
            TAKERS[taker]([])
    with pytest.raises(InputError, match="inputs, parameters and threads are those of a program"):
        api.judge(parse_log("1 read c[1]"), threads=0)
