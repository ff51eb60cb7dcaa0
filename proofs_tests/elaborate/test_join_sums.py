"""`+=` and `-=` in one statement are one phase: what is taken away is added, negated."""

from __future__ import annotations

import pytest

from proofs_tests.elaborating import VECTOR, mistake, same_text
from proofs_tests.plan.test_shifts import agreed
from wingspan import Fault, api

CASES: dict[str, tuple[str, str, list[float]]] = {
    "integers": ("Dense(Element(0))", "c[i] += 2 * A[i]\nc[i] -= 3", [-1, -3, 5]),
    "doubles": ("Dense(Element(0.0))", "c[i] -= A[i] / 2\nc[i] += 1", [0.5, 1.0, -1.0]),
    "what is stored": ("SparseDict(Element(0))", "c[i] -= A[i]\nc[1] += A[i]", [4, 0, -4]),
    "copies": ("Merge(d, Dense(Element(0)))", "c[1] += 1\nc[1] -= A[i]\nc[i] -= 1", [-3, -1, -1]),
    "atomic steps": ("Dense(Atomic(0))", "c[1] += A[i]\nc[1] -= 1", [2, 0, 0]),
    "booleans": ("Dense(Element(0))", "c[i] += 5\nc[i] -= i > 1", [5, 4, 4]),
    "another statement between": ("Dense(Element(0))", "c[i] += 7\nif i > 1\nc[i] -= 4 - i\nend", [7, 5, 6]),
    "bytes without signs": ("Dense(Element(0, u8))", "c[i] += 200 + i\nc[i] -= 2 * i + 100", [99, 98, 97]),
    "sums that wrap": ("Dense(Element(0))", f"c[i] +%= {2**63 - 1}\nc[i] -%= -A[i]", [-(2**63), 2**63 - 1, 3 - 2**63]),
}  # fmt: skip
"""A format, updates with A = [1, 0, 4], and what comes out."""


@pytest.mark.parametrize("what", CASES)
def test_sums_and_differences_are_one_phase(what: str) -> None:
    form, updates, expected = CASES[what]
    parallel = "parallel(1:3, d)" if what in ("copies", "atomic steps") else "1:3"
    bound = api.bind(
        api.parse(f"""
        d = cpu(:d, 2)
        A = Tensor(SparseList(Element(0)), [1, 0, 4])
        c = Tensor({form}, 3)
        c .= 0
        for i = {parallel}
        {updates}
        end
        return c
    """)
    )
    assert api.check(bound).verdict == "safe"
    assert agreed(bound)["c"].tolist() == expected


def test_the_least_integer_is_not_negated() -> None:
    """-1 - -2⁶³ fits 64 bits, and -(-2⁶³) does not: a fault in every engine, and none where `-=` stands alone."""
    text = f"""
        A = Tensor(Dense(Element(0)), [{-(2**63)}])
        c = Tensor(Dense(Element(0)), 1)
        c .= -1
        for i = 1:1
            c[i] -= A[i]
            ALSO
        end
        return c
    """
    for engine in ("semantics", "reference", "native", "compiled"):
        alone = api.run(api.parse(text.replace("ALSO", "")), engine=engine)
        assert alone.tensors["c"].to_numpy().tolist() == [2**63 - 1]
        with pytest.raises(Fault, match="overflow"):
            api.run(api.parse(text.replace("ALSO", "c[i] += 0 * A[i]")), engine=engine)


def test_only_a_statement_with_both_is_changed() -> None:
    """And only in the scope that declares the tensor: where they are statements of their own, phases end as before."""
    head = f"c = {VECTOR}, 2); w = {VECTOR}, 2)\n"
    expected = """
        declare(c, 0, -)
        for i = 1:2
            c[i] -= 1
        end
        freeze(c, -)
        thaw(c, +)
        for i = 1:2
            c[i] += -2
            declare(w, 0, -)
            for s1 = i:i
                w[s1] -= 1
            end
            freeze(w, -)
            thaw(w, +)
            for s2 = i:i
                w[s2] += 1
            end
            c[i] += 3
            freeze(w, +)
        end
        freeze(c, +)
    """
    text = "c .= 0; for i = 1:2; c[i] -= 1; end; for i = 1:2; c[i] -= 2; w .= 0; w[i] -= 1; w[i] += 1; c[i] += 3; end"
    assert same_text(head + text, expected)


def test_a_third_operator_is_still_a_mistake() -> None:
    found = mistake(f"c = {VECTOR}, 2)\nc .= 0; for i = 1:2; c[i] -= 1; c[i] += 1; c[i] *= 2; end")
    assert found.message == "c is updated by + and by * in one statement of the scope that declares it"
