"""Races of a log against those that exploring the program predicts."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from proofs_tests.accesses.logs import DEPENDENT
from proofs_tests.effort import many
from wingspan import api
from wingspan.accesses import parse_log
from wingspan.api.judging import names
from wingspan.base.errors import InputError
from wingspan.explorer.machine import Step
from wingspan.testing.templates import meetings

SAFE = "c = Tensor(Dense(Atomic(0)), 5)\nc .= 0\nfor i = parallel(1:4)\nc[i - i % 2 + 1] += 1\nend\nreturn c"


def test_races_are_judged_by_what_exploring_predicts() -> None:
    program = api.load(DEPENDENT)
    log = "1 read c[1]\n1 write c[1]\n1 read c[3]\n2 read c[3]\n2 write c[3]\n1 write c[3]\n1 write c[5]\n2 read c[5]"
    found = api.judge(parse_log(log), program)
    assert [(one.race.cell, one.predicted) for one in found.races] == [
        ("c[3]", True),
        ("c[3]", True),
        ("c[5]", False),
    ]
    assert str(found).splitlines() == [
        "race  the log: 3 races in 8 accesses of 2 tasks",
        "  write of c[3] by task 2 (line 5 of the log)  predicted",
        "    previous read by task 1 (line 3 of the log)",
        "  write of c[3] by task 1 (line 6 of the log)  predicted",
        "    previous write by task 2 (line 5 of the log)",
        "  read of c[5] by task 2 (line 8 of the log)  not predicted",
        "    previous write by task 1 (line 7 of the log)",
    ]
    assert api.judge(parse_log("1 write c.val[3]\n2 write c.val[3]"), program).races[0].predicted is True
    assert api.judge(parse_log("1 write c.val[1]\n2 write c.val[1]"), program).races[0].predicted is False
    assert api.judge(parse_log("1 write c.ptr\n2 write c.ptr"), program).races[0].predicted is True
    assert api.judge(parse_log("1 write other\n2 write other"), program, max_states=2).races[0].predicted is None
    quiet = api.judge(parse_log("1 write c[3]"), program)
    assert (quiet.races, quiet.unseen) == ((), ("c",))
    assert "exploring predicts a race on c, which the log does not show" in str(quiet)
    assert not api.judge(parse_log("1 write c[3]\n2 write c[3]"), api.parse(SAFE)).races[0].predicted


def update(cells: range, place: str = "") -> str:
    """Two tasks update all cells by one statement."""
    return "\n".join(f"{k} {op} c[{n}]{place}" for n in cells for k in (1, 2) for op in ("read", "write"))


def test_a_statement_that_races_on_many_cells_is_one_entry() -> None:
    """Its read and its writes, too: they are one statement of the source."""
    made = api.judge(parse_log(update(range(1, 9), " at kernel.c:12")))
    assert str(made).splitlines() == [
        "race  the log: 1 race in 32 accesses of 2 tasks",
        "  read of c[1] by task 2 at kernel.c:12 (line 3 of the log)",
        "    previous write by task 1 at kernel.c:12 (line 2 of the log)",
        "    on 8 cells: c[1], c[2], c[3], c[4] and 4 more",
    ]
    (race,) = made.to_dict()["races"]
    assert race["cells"] == [f"c[{n}]" for n in range(1, 9)]
    assert race["second"]["source"] == {"file": "kernel.c", "line": 12}


def test_without_places_in_the_source_operations_stand_for_statements() -> None:
    races = api.judge(parse_log(update(range(1, 9)))).races
    operations = [{one.race.first.operation, one.race.second.operation} for one in races]
    assert operations == [{"read", "write"}, {"write"}] and all(len(one.cells) == 8 for one in races)
    assert api.judge(parse_log(update(range(1, 9)))).to_dict()["races"][0]["first"]["source"] is None


def test_a_statement_whose_races_are_predicted_on_some_cells_is_two_entries() -> None:
    made = api.judge(parse_log(update(range(3, 6), " at kernel.c:12")), DEPENDENT)
    assert [(one.predicted, one.cells) for one in made.races] == [(True, ("c[3]",)), (False, ("c[4]", "c[5]"))]


def test_two_tensors_and_two_statements_are_entries_of_their_own() -> None:
    log = "1 write c[1] at k.c:1\n1 write d at k.c:1\n2 write c[1] at k.c:2\n3 write c[1] at k.c:2\n2 write d at k.c:1"
    races = api.judge(parse_log(log)).races
    assert [(one.race.cell, one.race.first.place, one.race.second.place) for one in races] == [
        ("c[1]", "k.c:1", "k.c:2"),
        ("c[1]", "k.c:2", "k.c:2"),
        ("d", "k.c:1", "k.c:1"),
    ]


ONE = "C = Tensor({form}, 2, 3)\nC .= 0\nfor i = parallel(1:2)\nC[2, 3] {op} i\nend"
DENSE, LIST = "Dense(Dense(Element(0)))", "Dense(SparseDict(Element(0)))"


@pytest.mark.parametrize(
    ("form", "cell", "predicted", "outside"),
    [
        (DENSE, "C[2, 3]", True, False),
        (DENSE, "C.val[6]", True, False),
        (DENSE, "C[1, 1]", False, False),
        (DENSE, "C.val[1]", False, False),
        (DENSE, "C[2, 4]", False, True),
        (DENSE, "C[3, 3]", False, True),
        (DENSE, "C[0, 3]", False, True),
        (DENSE, "C.val[7]", False, True),
        (DENSE, "C.other[7]", True, False),
        (DENSE, "C", True, False),
        (DENSE, "D[1]", False, False),
        (LIST, "C[1, 1]", True, False),
        (LIST, "C[2, 4]", False, True),
        (LIST, "C.val[1]", True, False),
        (LIST, "C.val[6]", False, False),
        (LIST, "C.val[7]", False, True),
        (LIST, "C.val[0]", False, True),
        (LIST, "C.val[-1]", False, True),
        (LIST, "C.ptr[0]", False, True),
        (LIST, "C.ptr[7]", False, False),
        (LIST, "C.ptr[8]", False, True),
        (LIST, "C.fill[2]", False, True),
        (LIST, "C.tbl[99]", False, False),
        (LIST, "C.val", True, False),
    ],
)
def test_a_cell_that_exploring_accesses_nowhere_is_not_predicted(
    form: str, cell: str, predicted: bool, outside: bool
) -> None:
    """Unless the program may have it under another name: then, if its tensor has a race."""
    program = api.parse(ONE.format(form=form, op="+="))
    made = api.judge(parse_log(f"1 write {cell}\n2 write {cell}"), program)
    (found,) = made.races
    assert (found.predicted, found.outside) == (predicted, outside)
    assert (
        (f"not predicted: the program has no {cell}" in str(made)) == outside == made.to_dict()["races"][0]["outside"]
    )


TWO_LEVELS = """
C = Tensor(SparseDict(SparseDict(Element(0))), 2, 2)
C .= 0
C[1, 1] = 1
for i = parallel(1:2)
    C[i, 1] += i
end
"""


def test_a_buffer_that_several_levels_have_is_named_with_its_level() -> None:
    """Of one name for both, a race in one level would count as predicted by one in the other."""
    program = api.parse(TWO_LEVELS)
    found = api.judge(parse_log("\n".join(f"{k} write C.{n}.fill[1]" for n in (2, 3) for k in (1, 2))), program)
    assert [(one.race.cell, one.predicted) for one in found.races] == [("C.2.fill[1]", True), ("C.3.fill[1]", False)]
    refused = {
        "C.fill[1]": "may be a cell of several levels of C",
        "C.4.fill[1]": "has the number of no such level of C",
    }
    for cell, why in refused.items():
        with pytest.raises(InputError, match=f"{re.escape(cell)} {why}") as caught:
            api.judge(parse_log(f"1 write {cell}"), program)
        assert caught.value.fix == "write C.2.fill or C.3.fill, with the number of the level"
    with pytest.raises(InputError, match="only one level of C has such a buffer"):
        api.judge(parse_log("1 write C.1.val[1]"), program)


def test_two_locks_of_a_tensor_are_two() -> None:
    """Under one name, what a task did before it released the one would come before what follows the other."""
    program = api.parse("C = Tensor(Mutex(Dense(Mutex(Element(0)))), 2)\nC .= 0\nfor i = parallel(1:2)\nC[i] += 1\nend")
    with pytest.raises(InputError, match="may be a cell of several levels"):
        api.judge(parse_log("1 acquire C.lock[1]\n1 write C[1]\n1 release C.lock[1]"), program)
    log = "1 acquire C.2.lock[1]\n1 write C[1]\n1 release C.2.lock[1]\n2 acquire C.1.lock[1]\n2 write C[1]"
    assert len(api.judge(parse_log(log), program).races) == 1


@pytest.mark.parametrize("position", [0, -1, 99])
def test_a_position_that_cannot_be_is_not_predicted_where_cells_are_not_known(position: int) -> None:
    """A search that is cut short finds the race of the tensor, but not which cells race."""
    program = api.parse(ONE.format(form=LIST, op="+="))
    log = "\n".join(f"{k} write C.val[{n}]" for n in (1, position) for k in (1, 2))
    made = api.judge(parse_log(log), program, max_states=20)
    assert made.verdict and not made.verdict.complete
    assert [(one.predicted, one.outside) for one in made.races] == [(True, False), (False, True)]
    extents = "C.val has at most 6 cells" if position > 0 else "C.val begins at position 1"
    assert f"not predicted: the program has no C.val[{position}]: {extents}" in str(made)


def test_a_cell_outside_of_its_tensor_is_reported_without_a_race_too() -> None:
    """Subscripts that count from 0 would be compared with other cells than they are."""
    program = api.parse(ONE.format(form=DENSE, op="+="))
    made = api.judge(parse_log("1 write C[1, 1]\n1 read C[0, 1]\n2 read C[0, 1]\n0 join\n0 write C[2, 3]"), program)
    assert not made.races and "line 2: the program has no C[0, 1]: C has extents 2×3" in str(made)
    assert made.to_dict()["beyond"] == [{"cell": "C[0, 1]", "line": 2, "extents": "C has extents 2×3"}]


def test_outside_of_a_tensor_nothing_is_predicted_even_if_the_search_is_cut_short() -> None:
    made = api.judge(
        parse_log("1 write C[3, 3]\n2 write C[3, 3]"), api.parse(ONE.format(form=DENSE, op="=")), max_states=2
    )
    assert made.verdict and not made.verdict.complete and made.races[0].predicted is False


def test_a_cell_of_a_buffer_has_one_subscript() -> None:
    program = api.parse(ONE.format(form=DENSE, op="+="))
    with pytest.raises(InputError, match=r"C.val is a buffer in the program, and has no cell C.val\[1, 1\]"):
        api.judge(parse_log("1 write C.val[1,1]\n2 write C.val[1,1]"), program)


def test_an_element_has_a_subscript_for_each_axis() -> None:
    program = api.parse(ONE.format(form=DENSE, op="+="))
    with pytest.raises(InputError, match=r"C has rank 2 in the program, and no element C\[6\]"):
        api.judge(parse_log("1 write D\n1 write C[6]"), program)
    assert api.judge(parse_log("1 acquire C[6]\n1 write C[2, 3]"), program).races == ()


@pytest.mark.many
def test_the_log_of_a_run_has_predicted_races_only() -> None:
    """Of any format, recorded from one run under the rules: what is in no order there races in some run."""
    met = 0

    @settings(
        deadline=None, derandomize=True, max_examples=many(240), suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )  # fmt: skip
    @given(meetings(), st.integers(0, 99))
    def look(text: str, seed: int) -> None:
        nonlocal met
        bound = api.bind(api.parse(text))
        machine: Any = api.machine_of(bound, "semantics")
        chosen = Random(seed)
        state, lines = machine.initial(), []
        while tasks := machine.tasks(state):
            steps = [step for task in tasks if isinstance(step := machine.step(state, task), Step)]
            if not steps:
                return
            step = chosen.choice(steps)
            lines += [f"{step.task or 0} {touch.effect} {next(names(touch, bound.towers))}" for touch in step.footprint]
            lines += [f"{step.task or 0} join"] if not step.task else []
            if isinstance(step.next, Exception):
                return
            state = step.next
        found = api.judge(parse_log("\n".join(lines)), api.parse(text))
        assert all(one.predicted is not False for one in found.races), (text, str(found))
        met += bool(found.races)

    look()
    assert met > 0
