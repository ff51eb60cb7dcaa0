"""`assert(e)`: what it says, where it may stand, and that all engines agree on it."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proofs_tests.effort import due, many
from wingspan import api
from wingspan.base.errors import AssertionFault, Fault, InputError, WingspanError
from wingspan.explorer import RunFault
from wingspan.testing.programs import programs

UPDATE = re.compile(r"(?P<indent>\s*)\w+\[.*?\] (?P<sign>\S*=) (?P<value>.*)")
ENGINES = ("reference", "semantics", "native")

SPARSE = """
A = Tensor(SparseList(Element(0)), [0, 2, 0, 1])
s = Tensor(Dense(Element(0)), 1)
s .= 0
for i = _
    assert({})
    s[1] += A[i]
end
"""


def end_of(text: str, engine: str) -> str:
    """The message of an assertion that does not hold, or the result."""
    try:
        return str(api.run(api.parse(text), engine=engine).tensors["s"].to_numpy().tolist())
    except AssertionFault as fault:
        return fault.message
    except RunFault as fault:
        assert fault.incident.topic == "assertion"
        return fault.message


@pytest.mark.parametrize(
    ("condition", "end"),
    [
        ("A[i] >= 0", "[3]"),
        ("A[i] > 0", "the assertion does not hold: 0 > 0"),
        ("A[i] != 2", "the assertion does not hold: 2 != 2"),
        ("A[i] * 2 == 0 || i != 2", "the assertion does not hold: false || false"),
        ("!(A[i] > 1)", "the assertion does not hold: !true"),
        ("A[i] + i < 5", "the assertion does not hold: 5 < 5"),
        ("ifelse(i == 4, A[i] == 2, true)", "the assertion does not hold: false"),
        ("false", "the assertion does not hold: false"),
        ("true", "[3]"),
        ("A[i] == s2[]", "the assertion does not hold: 2 == 0"),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_an_assertion_that_does_not_hold_is_a_fault_with_values(condition, end, engine):
    scalar = "s2 = Scalar(0)\ns2 .= 0\n" if "s2" in condition else ""
    assert end_of(scalar + SPARSE.format(condition), engine) == end


def test_an_assertion_that_fails_in_some_interleaving_is_a_finding_that_replay_follows():
    text = """
c = Tensor(Dense(Atomic(0)), 1)
d = Tensor(Dense(Element(0)), 2)
c .= 0
d .= 0
for i = parallel(1:2)
    c[1] += i
    d[i] += 1
end
for i = _
    assert(c[i] != 3)
end
"""
    for machine in api.MACHINES:
        for strategy in ("graph", "dpor"):
            found = api.explore(api.parse(text), machine=machine, strategy=strategy).verdict
            (fault,) = found.faults
            assert (found.verdict, fault.topic, fault.rule) == ("fault", "assertion", "Assert")
            assert fault.message == "the assertion does not hold: 3 != 3"
            assert fault.span is not None and fault.span.line == 11
            followed = api.replay(api.parse(text), fault.interleaving, machine=machine)
            list(followed.steps)
            assert followed.incident is not None and followed.incident.topic == "assertion"


def test_what_an_assertion_reads_takes_part_in_races_and_in_the_test():
    text = """
x = 0
c = Tensor(Dense(Element(0)), 2)
c .= 0
for i = parallel(1:2)
    x = i
    assert(x == i)
    c[i] += 1
end
"""
    assert api.check(api.parse(text)).verdict == "unsafe"
    found = api.explore(api.parse(text)).verdict
    assert found.races and {fault.topic for fault in found.faults} == {"assertion"}
    alone = text.replace("x = i\n", "").replace("x == i", "x == 0")
    assert api.check(api.parse(alone)).verdict == "safe"


@pytest.mark.parametrize(
    ("condition", "message"),
    [("1", "an assertion is true or false, and 1 is an integer"), ("q", "q has no value"), ("A[1, 2]", "A has 1 axis")],
)
def test_mistakes_in_assertions_are_found_before_a_run(condition, message):
    with pytest.raises(WingspanError, match=re.escape(message)):
        api.bind(api.parse(SPARSE.format(condition)))


def test_an_assertion_is_printed_as_it_is_written():
    text = "assert(1 < 2 || false)"
    assert str(api.parse(f"{text}\n")).strip() == text
    assert str(api.parse("assert( 1<2||false )")).strip() == text


def test_a_short_circuit_leaves_out_no_assertion():
    text = """
A = Tensor(Dense(Element(0)), [1, 2, 3])
found = ShortCircuitScalar(false)
s = Tensor(Dense(Element(0)), 1)
s .= 0
found .= false
for i = _
    assert(A[i] < 3)
    found[] |= A[i] > 0
end
"""
    for engine in ENGINES:
        assert end_of(text, engine) == "the assertion does not hold: 3 < 3"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_comparison_of_an_index_that_fails_reports_both_sides_where_loops_are_split(engine):
    text = "s = Tensor(Dense(Element(0)), 1)\ns .= 0\nfor i = 1:2\nfor k = i:2\nassert(i <= 1)\nend\nend\nreturn s"
    assert end_of(text, engine) == "the assertion does not hold: 2 <= 1"


def with_assertions(text: str, random: Random) -> str:
    """The program with assertions about the values of some of its updates, the first of all among them."""
    lines: list[str] = []
    for line in text.splitlines():
        update = UPDATE.fullmatch(line)
        wanted = random.random() < 0.7 or not any("assert" in each for each in lines)
        if update and update["sign"] in ("=", "+=", "*=", "-=") and "Tensor" not in line and wanted:
            sign, bound = random.choice(["<=", "!="]), random.choice([-1, 0, 0, 1, 5])
            lines.append(f"{update['indent']}assert({update['value']} {sign} {bound})")
        lines.append(line)
    return "\n".join(lines) + "\n"


def test_engines_agree_on_random_programs_with_assertions():
    """On 300 programs: the same assertion fails first, with the same values, or the results are the same."""
    seen: Counter[str] = Counter()

    def ending(bound: object, engine: str) -> str:
        try:
            run = api.run(bound, engine=engine)  # type: ignore[arg-type]
        except Fault as fault:
            return fault.message
        return str({name: tensor.to_numpy().tolist() for name, tensor in run.tensors.items()})

    @settings(max_examples=many(300), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(programs(), st.integers(0, 2**32))
    def compare(text: str, seed: int) -> None:
        changed = with_assertions(text, Random(seed))
        try:
            bound = api.bind(api.parse(changed))
            expected = ending(bound, "reference")
            if "assert" not in changed or api.check(bound).verdict != "safe":
                return
        except WingspanError:
            return
        seen["fails" if "assertion" in expected else "holds"] += 1
        for engine in ("semantics", "native-controlled", "native"):
            try:
                found = ending(bound, engine)
            except InputError as error:  # a variable that has values of two types, for one
                assert "cannot run this" in error.message, changed
                continue
            assert found == expected, (changed, engine)

    compare()
    assert all(seen[name] >= due(least) for name, least in {"fails": 15, "holds": 30}.items()), seen
