"""A pair is of a kind of its own: whatever else takes one is a mistake before the program runs, with one message."""

import pytest

from wingspan import api
from wingspan.base.errors import ProgramError

HEAD = "p = Tensor(Element((Inf, 0))); c = Tensor(Element(0.0)); b = Tensor(Element(false)); n = Tensor(Element(0)); "
HEAD += "d = Tensor(Dense(Element(0)), 4); "
DECLARED = "p .= (Inf, 0); c .= 0.0; b .= false; n .= 0; d .= 0; "
PARTS = "first(p[]) and second(p[]) are the parts of p[]"


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("x = p[] + 1", "a number is needed here, and p[] is a pair", PARTS),
        ("c[] = min(p[], 1)", "a number is needed here, and p[] is a pair", PARTS),
        ("x = p[] == 1", "a number is needed here, and p[] is a pair", PARTS),
        ("x = p[] & 1", "an integer is needed here, and p[] is a pair", PARTS),
        ("x = !p[]", "! needs booleans, and p[] is a pair", PARTS),
        ("x = min((0.5, 1), 2)", "a number is needed here, and (0.5, 1) is a pair", PARTS),
        ("d[(0.5, 1)] = 1", "a subscript is an integer, not (0.5, 1)", "use an index from 1 to 4"),
        ("x = coalesce(d[~(0.5, 1)], 0)", "an integer is needed here, and (0.5, 1) is a pair", PARTS),
        ("x = p[]", "a variable holds a number or a boolean, and p[] is a pair", PARTS),
        ("if p[]; skip; end", "a condition is true or false, and p[] is a pair", PARTS),
        ("for i = 1:p[]; skip; end", "an integer is needed here, and p[] is a pair", PARTS),
        ("x = first(c[])", "first takes a pair, and c[] is a double", "give a pair: (x, i), with an integer i"),
        ("x = second(3)", "second takes a pair, and 3 is an integer", "give a pair: (x, i), with an integer i"),
        ("p[] = (0.5, c[])", "an integer is needed here, and c[] is a double", "give an integer"),
        ("p[] = ((0.5, 1), 2)", "a number is needed here, and (0.5, 1) is a pair", PARTS),
        ("p[] = 3", "p holds pairs, and 3 is an integer", "give a pair: (x, i), with an integer i"),
        ("p[] <<minby>>= c[]", "p holds pairs, and c[] is a double", "give a pair: (x, i), with an integer i"),
        ("p[] += (0.5, 1)", "p holds pairs, which + does not update", "use <<minby>>=, <<maxby>>= or ="),
        ("p[] <<min>>= (0.5, 1)", "p holds pairs, which min does not update", "use <<minby>>=, <<maxby>>= or ="),
        ("p[] <<choose(0)>>= (0.5, 1)", "p holds pairs, which choose(0) does not update",
         "use <<minby>>=, <<maxby>>= or ="),
        ("c[] <<minby>>= (0.5, 1)", "minby updates pairs, and c holds doubles", "use Element((Inf, 0))"),
        ("b[] <<maxby>>= (0.5, 1)", "maxby updates pairs, and b holds booleans", "use Element((Inf, 0))"),
        ("c[] = (0.5, 1)", "c holds doubles, and (0.5, 1) is a pair", PARTS),
        ("n[] += p[]", "n holds integers, and p[] is a pair", PARTS),
        ("b[] = p[]", "b holds booleans, and p[] is a pair", PARTS),
        ("p .= 0", "p holds pairs, and 0 is an integer", "give a pair: (x, i), with an integer i"),
        ("c .= (0.5, 1)", "c holds doubles, and (0.5, 1) is a pair", PARTS),
        ("p[] = ifelse(b[], (0.5, 1), 3)", "ifelse takes a pair, (0.5, 1), or an integer, 3", "give two pairs"),
        ("x = choose(0)(p[], 1)", "choose(0) takes numbers and booleans, and p[] is a pair", PARTS),
    ],
)  # fmt: skip
def test_a_pair_in_another_place_is_one_mistake(text: str, message: str, fix: str) -> None:
    with pytest.raises(ProgramError) as refused:
        api.bind(api.parse(HEAD + (DECLARED if ".=" not in text else "") + text))
    (found,) = refused.value.diagnostics
    assert (found.message, dict(found.notes)["fix"]) == (message, fix)


def test_a_missing_pair_is_a_pair() -> None:
    """Outside of an axis, `coalesce` gives a pair for pairs, and a number for numbers."""
    head = (
        "P = Tensor(Dense(Element((Inf, 0))), [(0.5, 1), (2.0, 3)]); q = Tensor(Dense(Element((0, 0)))); q .= (0, 0); "
    )
    good = head + "for i = 1:2; q[i] = coalesce(P[~(i + 1)], (7.0, i)); end; return q"
    assert api.run(api.parse(good)).tensors["q"].to_numpy().tolist() == [(2.0, 3), (7.0, 2)]
    for z in ("0", "i"):
        with pytest.raises(ProgramError, match=f"coalesce takes a pair, .*, or an integer, {z}"):
            api.bind(api.parse(good.replace("(7.0, i)", z)))


@pytest.mark.parametrize(("text", "pair"), [
    ("p[] = (true, 2)", (1.0, 2)), ("p[] = (3, true)", (3.0, 1)), ("p[] = (c[] > 0, n[])", (0.0, 0)),
])  # fmt: skip
def test_a_boolean_in_a_pair_counts_as_a_number(text: str, pair: tuple[float, int]) -> None:
    assert api.run(api.parse(f"{HEAD}{DECLARED}{text}")).tensors["p"].to_numpy().item() == pair
