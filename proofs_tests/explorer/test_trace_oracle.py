"""The fast ground truth and the enumeration: they say what the explorer says, and all that they claim to contain."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

import pytest

from proofs_tests import towers
from proofs_tests.effort import few, many
from proofs_tests.scopes import (
    DYNAMIC,
    INNER,
    OUTER,
    STATIC,
    Nest,
    arriving,
    format_count,
    formats,
    head_count,
    heads,
    pairs,
    random_format,
    singles,
    tower,
    wide,
)  # fmt: skip
from proofs_tests.theory import explored, oracle, trouble
from proofs_tests.trace_memory import Kit
from proofs_tests.trace_oracle import Truth, judge, plan
from wingspan import api
from wingspan.levels.base import Level

DEVICES = {"d": OUTER, "e": INNER}


def judged(nest: Nest, root: Level) -> Truth:
    return oracle(nest, {nest.op: Kit(tower(root), nest.op)})


def agree(nest: Nest, root: Level, most: int = 30_000) -> bool:
    """Whether oracle and explorer agree on whether there is a race, and on whether anything goes wrong.

    False if the search was cut; a race that it has found by then is enough.
    """
    truth, verdict = judged(nest, root), explored(nest, tower(root), most)
    if not (verdict.complete or verdict.races):
        return False
    seen = bool(verdict.races), verdict.verdict != "safe"
    assert (truth.race is not None, truth.bad) == seen, (nest.program(root), truth, verdict.verdict)
    if verdict.complete and truth.race is None:
        assert (bool(truth.fault), truth.deadlock is not None) == (bool(verdict.faults), bool(verdict.deadlocks))
    return True


SMALLEST = [nest for nest in singles(1, 1) if nest.devices < 2]


@pytest.mark.parametrize("nest", few(SMALLEST, 1), ids=lambda nest: "; ".join(nest.body[:-1]))
def test_oracle_and_explorer_agree_on_the_smallest_scope(nest: Nest) -> None:
    """One access of rank 1 in one loop, with up to one modifier: all of it, none of it cut."""
    assert all(agree(nest, root) for root in formats(1, 1, 1))


def random_programs(number: int) -> Iterator[tuple[Nest, Level]]:
    """Programs from all scopes, the smaller ranks more often."""
    choose = random.Random(4)
    among = {
        "rank 1": (1, [nest for loops in (1, 2, 3) for nest in singles(1, loops)]),
        "rank 1, two accesses": (1, pairs(1)),
        "rank 1, =": (1, [nest for loops in (1, 2) for nest in singles(1, loops, op="=")]),
        "rank 2": (2, [nest for loops in (1, 2, 3) for nest in singles(2, loops, (STATIC,))]),
        "rank 2, two accesses": (2, pairs(2, (STATIC,))),
        "rank 3": (3, singles(3, 3, (STATIC,))),
    }
    for _ in range(number):
        rank, nests = among[choose.choice(sorted(among))]
        nest = choose.choice(nests)
        yield nest, random_format(rank, nest.devices, choose.choice((0, 1, 1, 2, 2, 3)), choose)


def test_oracle_and_explorer_agree_on_a_sample_of_the_rest() -> None:
    """All ranks, one access and two, `+=` and `=`, up to three modifiers, one and two devices."""
    told = [agree(nest, root, most=1500) for nest, root in random_programs(many(60))]
    assert sum(told) > 0.8 * len(told)


# ---------------------------------------------------------------------------------------------- what it knows of locks

LOOPS = ("for k = parallel(1:2, d, static_schedule())", "for i = 1:2")


def two_locks(first: str, second: str) -> Nest:
    """Two columns, locked at one loop in the order of the text."""
    return Nest((*LOOPS, f"T[i, {first}] += 1", f"T[i, {second}] += 1", "end", "end"), 2, 1, 2, False)


def form(text: str) -> Level:
    return towers.tower(text, devices=DEVICES).levels[0]


@pytest.mark.parametrize(("first", "second", "found"), [
    ("k", "3 - k", "deadlock"), ("k", "k", "safe"), ("1", "2", "safe"), ("k", "k + 1", "safe"), ("k", "1", "deadlock"),
])  # fmt: skip
def test_circles_of_locks_are_found_without_meeting_them(first: str, second: str, found: str) -> None:
    """Tasks that run one after the other do not wait for each other; who holds what when tells that they could. In the
    last one a task waits for itself.
    """
    nest, root = two_locks(first, second), form("Dense(Mutex(Dense(Atomic(0))))")
    verdict = explored(nest, tower(root))
    assert trouble(judged(nest, root), tower(root)) == found == verdict.verdict


@pytest.mark.parametrize(("update", "found"), [("T[i, k] += 1", "safe"), ("T[1, k] += 1", "race in Element")])
def test_a_lock_of_the_spawning_task_does_not_keep_its_children_apart(update: str, found: str) -> None:
    """It keeps the children of different tasks apart all the same."""
    loops = ("for j = parallel(1:2, d)", "for k = 1:2", "for i = parallel(1:2, e)")
    nest, root = Nest((*loops, update, "end", "end", "end"), 2, 2), form("Mutex(Dense(Dense(Element(0))))")
    assert trouble(judged(nest, root), tower(root)) == found
    assert explored(nest, tower(root)).verdict == found.split()[0]


def test_locks_that_meet_an_atomic_update_are_told_apart() -> None:
    """An atomic update does not race with another, but a plain one of the same cell would."""
    nest = Nest((*LOOPS, "T[i] += 1", "end", "end"), 1, 1)
    assert judged(nest, form("Dense(Atomic(0))")) == Truth()
    assert trouble(judged(nest, form("Dense(Element(0))")), tower(form("Dense(Element(0))"))) == "race in Element"


@pytest.mark.parametrize(("schedule", "wrong"), [("static_schedule()", False), ("dynamic_schedule(1)", True)])
def test_copies_are_overwritten_in_the_order_of_threads(schedule: str, wrong: bool) -> None:
    """Dynamic chunks may go to the threads the other way round, and the last copy wins."""
    text = "d = cpu(:d, 2)\nT = Tensor(Merge(d, SparseDict(Isolate(Atomic(0)))), 3)\nT .= 0\n"
    text += f"for j = parallel(1:2, d, {schedule})\nfor i = 1:2\nT[i] = j\nend\nend"
    bound = api.bind(api.parse(text))
    assert judge(plan(bound.body), {"T": Kit(bound.towers["T"], "=")}, values=True).wrong == wrong
    assert (api.explore(bound).verdict.verdict == "order-dependent") == wrong


def test_chunks_are_dealt_differently_in_any_two_regions() -> None:
    """The third region updates what the first one claimed: two ways to deal that only alternate miss the fault."""
    loops = ("for k = 1:2", "for j = 1:2", f"for i = parallel(1:2, d, {DYNAMIC})")
    nest, root = Nest((*loops, "T[i, j] += 1", "end", "end", "end"), 2, 1), form("Dense(Dense(Shard(d, Element(0))))")
    assert trouble(judged(nest, root), tower(root)) == "claim"
    assert explored(nest, tower(root)).verdict == "fault"


def test_chunks_go_to_one_thread_in_one_region_and_to_several_in_another() -> None:
    """Thread 1 numbers child 2 first, and then visits both children: no deal that treats all regions alike shows it."""
    loops = ("for j = 1:2", f"for i = parallel(1:2, d, {DYNAMIC})")
    nest = Nest((*loops, "T[j, i] += 1", "end", "end"), 2, 1, 1, False)
    root = form("Merge(d, SparseDict(Merge(d, SparseList(Element(0)))))")
    assert trouble(judged(nest, root), tower(root)) == "order"
    assert explored(nest, tower(root)).verdict == "fault"


# ------------------------------------------------------------------------------------------------------ the enumeration


@pytest.mark.parametrize(("rank", "devices", "most"), few([(1, 2, 2), (1, 1, 3), (2, 2, 1), (2, 1, 2), (3, 1, 1)], 2))
def test_formats_are_as_many_as_counted_and_all_different(rank: int, devices: int, most: int) -> None:
    texts = [str(root) for root in formats(rank, devices, most)]
    assert len(texts) == len(set(texts)) == format_count(rank, devices, most)


@pytest.mark.parametrize("most", few([1, 2], 1))
def test_random_formats_are_among_all_formats(most: int) -> None:
    choose = random.Random(1)
    everything = {str(root) for root in formats(2, 1, most)}
    assert {str(random_format(2, 1, choose.randint(0, most), choose)) for _ in range(300)} <= everything


@pytest.mark.parametrize("loops", [1, 2, 3])
def test_heads_are_as_many_as_counted(loops: int) -> None:
    assert len(list(heads(loops))) == head_count(loops)


@pytest.mark.parametrize("rank", [1, 2])
def test_nests_are_all_different(rank: int) -> None:
    nests = [nest for loops in (1, 2, 3) for nest in singles(rank, loops)] + pairs(rank) + wide(rank)
    assert len({nest.text for nest in nests}) == len(nests)


@pytest.mark.parametrize(
    "nest",
    random.Random(2).sample([*singles(2, 2), *pairs(2), *singles(1, 3)], 8) + random.Random(2).sample(wide(2), 3),
    ids=str,
)
def test_a_nest_is_the_same_program_whatever_the_format(nest: Nest) -> None:
    """So it is bound once: only the tower comes from the format, and it is the tower of the program as written."""
    choose = random.Random(3)
    for number in (0, 1, 2):
        root = random_format(nest.rank, nest.devices, number, choose)
        bound = api.bind(api.parse(nest.program(root)))
        assert bound.body == nest.bound.body
        assert bound.towers == {"T": tower(root, nest.extent)}


def test_wide_nests_have_what_the_others_leave_out() -> None:
    """Serial programs, loops of one iteration, shifts by two in both directions, and no bare access."""
    for rank in (1, 2):
        texts = [nest.text for nest in wide(rank)]
        assert any("parallel" not in text and text.count("+= 1") == 2 for text in texts)
        assert any("3:3" in text for text in texts)
        assert any("- 2]" in text and "+ 2]" in text for text in texts)


def test_formats_that_number_on_arrival_are_told_by_their_levels() -> None:
    """An ordered level below a dictionary or a shard, with whatever in between."""
    yes = "SparseDict(SparseList(Element(0)))", "Dense(Shard(d, SparseList(Element(0))))"
    no = "SparseList(SparseDict(Element(0)))", "Dense(SparseList(Shard(d, Element(0))))", "Dense(Element(0))"
    assert [arriving(form(text)) for text in (*yes, *no)] == [True, True, False, False, False]


def test_a_shift_of_an_inserted_loop_only_renames() -> None:
    """The symmetry that the enumeration of single accesses leaves out, on programs where it might show."""
    head = f"for j = parallel(1:2, d, {DYNAMIC})"
    for plain, shifted in (("T[j, i]", "T[j + 1, i]"), ("T[i, j + 1]", "T[i + 1, j + 1]")):
        one, other = (Nest((head, "for i = 1:2", f"{a} += 1", "end", "end"), 2, 1, 1, False) for a in (plain, shifted))
        for root in islice(formats(2, 1, 1), 0, None, 10):
            found = [trouble(judged(nest, root), tower(root)) for nest in (one, other)]
            assert found[0] == found[1], (str(root), plain, shifted)
