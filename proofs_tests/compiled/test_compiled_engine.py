"""Compiled C in the memory of the register machine: the same results, faults, limits and interrupts as on it.

Skipped only where there is no compiler.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import strategies as st

from proofs_tests.compiled import needs_compiler
from proofs_tests.compiled.test_emit_c import agrees
from proofs_tests.effort import few, many
from proofs_tests.places import EXAMPLES, ROOT
from wingspan import Fault, InputError, api
from wingspan.compiled.engine import _lends
from wingspan.elaborate import Elaborated
from wingspan.plan.ir import Const
from wingspan.plan.passes import union
from wingspan.runtime.lease import Limits
from wingspan.tensors.frozen import Frozen
from wingspan.testing import Disagreement, campaign
from wingspan.testing.batched_c import Together
from wingspan.testing.campaign import BATCH

pytestmark = needs_compiler


@pytest.mark.parametrize("part", few(list(range(6)), 1))
def test_random_safe_programs_agree(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three hundred, on 1 to 4 threads under all schedules, each on up to four inputs; a part shares a C file.

    Lists are short, so the blocks of `union.h` take any.
    """
    monkeypatch.setattr(union, "LEAST", Const(1))
    examples = max(4, many(50))
    done = campaign(["reference"], ["compiled"], examples=examples, inputs=4, first_seed=77 + part)
    assert done.texts >= examples / 2 and done.cases >= 1.8 * examples, done


@pytest.mark.parametrize("kind", few(["0", "0.0", "false"], 1))
def test_each_element_of_a_merged_copy_is_known_to_be_written(kind: str) -> None:
    """The flags that record this are bytes, each set in one step: more of them than a word has bytes."""
    value = {"0": "k", "0.0": "k * 0.5", "false": "k > 3"}[kind]
    text = f"""
        dev = cpu(:dev, 3)
        C = Tensor(Merge(dev, Dense(Atomic({kind}))), 20)
        C .= {kind}
        for k = parallel(1:20, dev)
            C[k] = {value}
        end
        return C
    """
    found = api.diff(api.parse(textwrap.dedent(text).strip()), engines=["reference", "compiled", "native"])
    assert found.difference is None, found.difference


class Counting(Together):
    """It keeps how many programs were compiled at once, each time, and how many ran."""

    def __init__(self) -> None:
        super().__init__("-O0")
        self.prepared: list[int] = []
        self.bodies: set[int] = set()

    def prepare(self, programs: Iterable[Elaborated]) -> None:
        some = list(programs)
        self.prepared.append(len(some))
        super().prepare(some)

    def run(self, program: Elaborated, inputs: Any) -> Any:
        self.bodies.add(id(program.body))
        return super().run(program, inputs)


SCALE = """
x = Tensor(Dense(Element(0)))
y = Tensor(Dense(Element(0)))
y .= 0
for i = _
    y[i] += K * x[i]
end
return y
"""


def test_programs_that_share_a_file_are_what_they_are_alone() -> None:
    """Loops, regions, buffers and sites of the same names, of which each program has its own."""
    texts = [SCALE.replace("K", str(k)) for k in (2, 3)]
    texts += [text.replace("_\n", "parallel(_, cpu(3), dynamic_schedule(1))\n") for text in texts]
    x = np.arange(1, 8)
    some = [api.bind(api.parse(text), inputs={"x": x}) for text in texts]
    faulty = api.bind(api.parse("a = 3 ÷ (1 - 1)"))
    engine = Together()
    engine.prepare([*some, faulty])
    for bound, k in zip(some, (2, 3, 2, 3), strict=True):
        y = engine.run(bound, {})["y"].to_numpy()
        assert np.array_equal(y, k * x)
    with pytest.raises(Fault, match="division by zero"):
        engine.run(faulty, {})


def test_a_campaign_compiles_many_programs_at_once() -> None:
    """Each program once, whatever the number of its inputs."""
    engine = Counting()
    done = campaign(["reference"], [engine], programs=st.just(SCALE.replace("K", "2")), examples=BATCH + 2, inputs=3)
    assert engine.prepared == [BATCH, 2] and done.cases > 2 * BATCH


class Off(Together):
    """One that is wrong where the first of its inputs has a 3."""

    def run(self, program: Elaborated, inputs: Any) -> Any:
        made = dict(super().run(program, inputs))
        return made | {"y": made["y"].to_numpy() + (3 in inputs["x"])}


@pytest.mark.deep
def test_a_difference_in_a_program_that_shares_a_file_is_shown_by_the_simplest_case() -> None:
    with pytest.raises(Disagreement, match=r"y\[1\]: reference has 6, compiled .* has 7") as found:
        text = SCALE.replace("K", "2").replace("(0)))", "(0)), 1)")
        campaign(["reference"], [Off("-O0")], programs=st.just(text), examples=60)
    assert str(found.value).endswith("# x =\narray([3])\n")


def test_what_may_race_is_not_compiled_with_others() -> None:
    with pytest.raises(api.Unsafe):
        Together().prepare([api.bind(EXAMPLES / "dependent.ws")])


def test_a_program_without_a_plan_spoils_no_other() -> None:
    """It is an InputError when it is to run."""
    bad = api.bind(api.parse("x = true\nif x\n    x = 1\nend"))
    good = api.bind(api.parse("x = 2"))
    engine = Together("-O0")
    engine.prepare([bad, good])
    assert engine.run(good, {}) == {"x": 2}
    with pytest.raises(InputError):
        engine.run(bad, {})


ADD = "C = Tensor(Dense(Element(0)))\nC .= 0\nfor i = _\n    C[i] += A[i] * B[i]\nend\nreturn C"


@pytest.mark.parametrize(("form", "extent"), few(list(product(["SparseList", "Dense"], [9, 0, 1, 7, 8])), 2))
def test_every_extent_agrees(form: str, extent: int) -> None:
    """Empty, one element, and lengths about that of a vector register; all fill, and no fill."""
    text = f"A = Tensor({form}(Element(0)))\nB = Tensor(Dense(Element(0)))\n{ADD}"
    for A in (np.zeros(extent, int), np.arange(1, extent + 1)):
        agrees(api.bind(api.parse(text), inputs={"A": A, "B": np.arange(extent)}))


@pytest.mark.parametrize(
    ("filled", "inner"), few(list(product([(2,), (), (1,)], ["j = _", "j = parallel(_, cpu(2))"])), 1)
)
def test_a_fiber_that_has_no_instance_is_read_nowhere(filled: tuple[int, ...], inner: str) -> None:
    """The loops that read an existing instance are a function of their own: before one was found, and after."""
    text = f"""
        A = Tensor(Dense(Isolate(SparseList(Element(0)))), 3, 2)
        B = Tensor(Dense(Dense(Element(0))), 3, 2)
        C = Tensor(Dense(Dense(Element(0))), 3, 2)
        C .= 0
        for i = _
            for {inner}
                for k = _
                    C[k, j] += A[k, i] + B[k, j]
                end
            end
        end
        return C
    """
    A = np.zeros((3, 2), int)
    for i in filled:
        A[::2, i - 1] = i
    agrees(api.bind(api.parse(text), inputs={"A": A, "B": np.ones((3, 2), int)}))


@pytest.mark.parametrize(
    "text",
    few(
        [
            "x = 9223372036854775807\ny = x + x",
            "x = 3 ÷ (1 - 1)",
            "x = 1.5 / (1.0 - 1.0)",
            "x = -3\ny = isqrt(x)",
            "d = Tensor(Dense(Element(0.0)), 1)\nd .= 2.5\nc = Tensor(Dense(Element(0)), 1)\nc .= 1\nc[1] += d[1]",
            "c = Tensor(Dense(Element(0)), 3)\nc .= 0\nfor i = 1:4\n    c[i + 1] += 1\nend",
            "c = Tensor(Dense(Element(0.0)), 2)\nc .= 1.5\nx = 3.5 % (c[1] - c[2])",
            "c = Tensor(Dense(Atomic(0)), 1)\nc .= 0\nfor i = parallel(1:4, cpu(2))\nc[1] += 9223372036854775806\nend",
        ],
        5,
    ),
)
def test_faults_are_told_as_by_the_register_machine(text: str) -> None:
    """The same message, place and remedy."""
    told, program = [], api.parse(text)
    for engine in ("native", "compiled"):
        with pytest.raises(Fault) as raised:
            api.run(program, engine=engine)
        told.append((raised.value.message, raised.value.span, raised.value.fix))
    assert told[0] == told[1]


def test_variables_are_what_they_are_now() -> None:
    """x is a double at times, and an integer at the end."""
    run = api.run(api.parse("x = 0.5\nx = 3\ny = x / 2.0\nb = x == 3"), engine="compiled")
    assert (run.variables, type(run.variables["x"])) == ({"x": 3, "y": 1.5, "b": True}, int)


def test_a_program_that_is_not_safe_is_refused() -> None:
    """In any case: C trusts that no tasks race."""
    for unsafe in (False, True):
        with pytest.raises(api.Unsafe):
            api.run(EXAMPLES / "dependent.ws", engine="compiled", unsafe=unsafe)


def test_columns_are_read_and_results_given_without_copying() -> None:
    """Inputs lie where the tensor has them, as long as indices are as wide as the plan has them."""
    A = scipy.sparse.random_array((50, 40), density=0.2, format="csc", rng=1)
    A.indptr, A.indices = A.indptr.astype(np.int32), A.indices.astype(np.int32)
    text = "A = Tensor(Dense(SparseList(Element(0.0))))\ny = Tensor(Dense(Element(0.0)))\ny .= 0.0\n"
    text += "for j = _\n    for i = _\n        y[i] += A[i, j]\n    end\nend\nreturn y, A"
    ready = api.compiled_c(api.bind(api.parse(text), inputs={"A": A}))
    read = {b.name: b for group in ready.engine.plan.groups for b in group.buffers if b.tensor == "A"}
    for (_, name, _), stored in ready.given[0].lent.items():
        lent = _lends(["A"], read[name], stored)
        assert lent is not None and (len(stored.values) < 2 or np.shares_memory(lent.values, stored.values))
    tensors, _ = ready.run()
    assert isinstance(tensors["y"].data, Frozen)
    (values,) = [stored.values for (_, name, _), stored in tensors["y"].data.arrays.items() if name == "val"]
    assert np.allclose(values[:50], A.sum(axis=1)) and not values.flags.owndata
    again, _ = ready.run()
    assert isinstance(again["y"].data, Frozen)
    (others,) = [stored.values for (_, name, _), stored in again["y"].data.arrays.items() if name == "val"]
    assert not np.shares_memory(values, others), "a later run does not touch what somebody looks at"
    assert np.array_equal(again["y"].to_numpy(), values[:50])


WIDE = "c = Tensor(Dense(Element(0)), 1000000)\nc .= 0\nfor i = _\n    c[i] += i\nend\nreturn c"


def test_a_limit_of_memory_is_kept() -> None:
    ready = api.compiled_c(api.bind(api.parse(WIDE)))
    with pytest.raises(Fault, match=r"out of memory: the run needs \d+ bytes, which is more than its limit"):
        ready.run(limits=replace(Limits(), memory=4_000_000))
    tensors, _ = ready.run()
    assert tensors["c"].to_numpy()[-1] == 1_000_000


@pytest.mark.parametrize("runs", [200, pytest.param(1000, marks=pytest.mark.deep)])
def test_memory_is_used_again(runs: int) -> None:
    """Hundreds of runs hold no more than the first hundred."""
    ready = api.compiled_c(api.bind(EXAMPLES / "karate.ws"))

    def held(times: int) -> int:
        for _ in range(times):
            ready.run()
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    first = held(100)
    assert held(runs) < first + 4_000_000


def test_threads_of_python_run_one_program_at_once() -> None:
    bound = api.bind(EXAMPLES / "karate.ws")
    ready = api.compiled_c(bound)
    found: list[bool] = []
    expected = ready.run()[0]["C"].to_numpy()

    def run() -> None:
        found.extend(np.array_equal(ready.run()[0]["C"].to_numpy(), expected) for _ in range(20))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [True] * 80


def test_a_forked_process_runs_what_its_parent_has_compiled() -> None:
    script = textwrap.dedent("""
        import os, sys, warnings
        from wingspan import api
        ready = api.compiled_c(api.bind(api.parse(sys.argv[1])))
        before = ready.run()[0]["c"].to_numpy()
        warnings.simplefilter("ignore")
        child = os.fork()
        same = (ready.run()[0]["c"].to_numpy() == before).all()
        if child == 0:
            os._exit(0 if same else 7)
        assert same and os.waitpid(child, 0)[1] == 0
        print("well")
    """)
    text = WIDE.replace("i = _", "i = parallel(_, cpu(2))")
    done = subprocess.run([sys.executable, "-c", script, text], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert (done.stdout, done.stderr) == ("well\n", "")


ENDLESS = """
c = Tensor(Dense(Atomic(0)), 2)
c .= 0
for i = parallel(1:1000000000000, cpu(2))
    for j = 1:2
        c[j] += 1
    end
end
return c
"""


def test_ctrl_c_ends_a_run() -> None:
    """And all its threads, as soon as an inner loop is at its end."""
    script = textwrap.dedent("""
        import os, signal, sys, threading
        from wingspan import api
        from wingspan.runtime import _memory
        ready = api.compiled_c(api.bind(api.parse(sys.argv[1])))
        before = len(os.listdir("/proc/self/task"))

        def interrupt():
            while len(os.listdir("/proc/self/task")) < before + 3:
                pass
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        try:
            ready.run()
        except KeyboardInterrupt:
            _memory.dismiss()
            print("interrupted", len(os.listdir("/proc/self/task")) - before)
    """)
    command = [sys.executable, "-c", script, ENDLESS]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.communicate(timeout=100)[0] == "interrupted 0\n"
