"""A fault has one wording, whichever engine meets it: the reference shares no code with the others."""

from __future__ import annotations

import pytest

from proofs_tests.agreeing import engines_for
from wingspan import api
from wingspan.base.errors import Fault
from wingspan.testing import compare

OF_EVERY_ENGINE = {
    "A[B[1]]": (5, "A has the indices 1:3 on axis 1, got 5"),
    "1 ÷ B[1]": (0, "division by zero"),
    "1 % B[1]": (0, "division by zero"),
    "1.5 / B[1]": (0, "division by zero"),
    "B[1] + 1": (2**63 - 1, "overflow: 9223372036854775808 does not fit a 64-bit integer"),
    "abs(B[1])": (-(2**63), "overflow: 9223372036854775808 does not fit a 64-bit integer"),
    "2 << B[1]": (99, "overflow: 36893488147419103232 does not fit a 64-bit integer"),
    "1 >> B[1]": (-2, ">> needs a count of at least 0, got -2"),
    "isqrt(B[1])": (-3, "isqrt needs an integer of at least 0, got -3"),
    "first((1.0, B[1]))": (-(2**32), "the second of a pair has 32 bits, and -4294967296 does not fit"),
}
TYPED = "x = true\nif B[1] == 1\nx = 1\nend\n"
"""Plans refuse a variable of two kinds before they run."""
OF_EXACT_ENGINES = {
    "if x\ny = 1\nend": "a condition is true or false, not 1",
    "y = ifelse(x, 1, 2)": "a condition is true or false, not 1",
    "if B[1] == 1\nx = true\nend\ny = x < 1": "< needs numbers, got true",
    "if B[1] == 1\nx = 1.5\nend\ny = B[x]": "an integer is needed here, got 1.5",
}


def fault(text: str, engine: str) -> str:
    with pytest.raises(Fault) as error:
        api.run(api.parse(text), engine=engine)
    return error.value.message


def test_every_engine_says_the_same_of_a_fault() -> None:
    text = "A = Tensor(Dense(Element(0)), [1, 2, 3])\nB = Tensor(Dense(Element(0)), [{}])\nx = {}"
    cases = [api.bind(api.parse(text.format(value, e))) for e, (value, _) in OF_EVERY_ENGINE.items()]
    engines = engines_for(cases, "reference", "semantics", "native-controlled", "native")
    for case, (_, message) in zip(cases, OF_EVERY_ENGINE.values(), strict=True):
        assert [end.fault for end in compare(case, engines).endings] == [message] * len(engines)


@pytest.mark.parametrize("text", OF_EXACT_ENGINES)
def test_rules_and_reference_say_the_same_of_a_value_of_another_kind(text: str) -> None:
    program = f"B = Tensor(Dense(Element(0)), [1])\n{TYPED}{text}"
    assert fault(program, "reference") == fault(program, "semantics") == OF_EXACT_ENGINES[text]
