"""A store of packed states (store.h) numbers them as a dictionary does, and has them again as they were."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from random import Random
from shutil import which

import numpy as np
import pytest

import wingspan.explorer

COMPILER = which("c++")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")

LARGEST = 2**32 - 2
"""The largest number of a local or a value: the one above stands for none."""
FIRST = (0, 1, LARGEST) * 20
"""The values of the cells at the start."""
State = tuple[tuple[int, ...], tuple[int, ...]]
"""The locals of the tasks, and the values of the cells."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that adds states to a store: states.cpp."""
    headers = Path(wingspan.explorer.__file__).parent
    strict = ("-std=c++17", "-O1", "-pthread", "-Wall", "-Wextra", "-Werror")
    source, made = Path(__file__).with_name("states.cpp"), tmp_path_factory.mktemp("store") / "program"
    subprocess.run([str(COMPILER), *strict, f"-I{headers}", source, "-o", made], check=True)
    return made


def neighbors(count: int, seed: int) -> list[State]:
    """So many different states, in any order, each like another one but for one cell or task, or many cells."""
    random = Random(seed)
    states: list[State] = [((), FIRST)]
    while len(states) < count:
        tasks, cells = (list(numbers) for numbers in random.choice(states))
        match random.randrange(4):
            case 0:
                tasks.append(random.choice((0, 1, LARGEST)))
            case 1:
                del tasks[-1:]
            case _:
                for cell in random.sample(range(len(cells)), random.choice((1, 1, 1, len(cells)))):
                    cells[cell] = random.choice((0, 1, 2, 1000 * len(states), LARGEST))
        if (state := (tuple(tasks), tuple(cells))) not in states:
            states.append(state)
    random.shuffle(states)
    return states


def require_numbers_of_a_dictionary(
    program: Path, begin: tuple[int, ...], states: Sequence[State], *arguments: str
) -> None:
    """The store gives each state its number, and each number its state."""
    given = [len(begin), *begin, *chain(*((len(tasks), *tasks, *cells) for tasks, cells in states))]
    done = subprocess.run(
        [program, *arguments], input=np.array(given, np.uint32).tobytes(), capture_output=True, check=True
    )
    numbers: dict[State, int] = {}
    expected = [numbers.setdefault(state, len(numbers)) for state in states]
    expected += chain(*((len(tasks), *tasks, *cells) for tasks, cells in numbers))
    assert np.frombuffer(done.stdout, np.uint32).tolist() == expected


@pytest.mark.parametrize("seed", range(3))
def test_states_with_equal_hashes_are_distinguished_by_all_of_their_words(program: Path, seed: int) -> None:
    """Also those that were added when states had fewer words, which are then 0."""
    states = neighbors(47, seed)
    require_numbers_of_a_dictionary(program, FIRST, [*states, *states[::-1]], "equal")


@pytest.mark.parametrize("seed", range(3))
def test_states_keep_their_numbers_as_a_store_grows(program: Path, seed: int) -> None:
    """Its slots, the words of a state, and the bits of a cell or of a task."""
    states = neighbors(1_500, seed)
    require_numbers_of_a_dictionary(program, FIRST, [*states, *states[::-1]])


@pytest.mark.parametrize("hashes", ["equal", "different"])
@pytest.mark.parametrize("seed", range(3))
def test_states_that_threads_claim_are_numbered_in_their_order(program: Path, seed: int, hashes: str) -> None:
    """By no matter which thread, also if one thread adds them meanwhile; those that were dropped are still new."""
    states = neighbors(25 if hashes == "equal" else 1_500, seed)
    twice = [state for one, other in zip(states, states[::-1], strict=True) for state in (one, other, one)]
    require_numbers_of_a_dictionary(program, FIRST, twice, "claimed", hashes)


def test_a_batch_without_memory_leaves_no_claims(program: Path) -> None:
    """One thread can go on, no matter which allocation of the threads has failed."""
    done = subprocess.run([program, "batches"], capture_output=True, check=True)
    assert int(done.stdout) > 10


@pytest.mark.parametrize("states", [[], [((), ())], [((), ()), ((LARGEST,), ()), ((), ()), ((LARGEST, 0), ())]])
def test_states_may_have_no_cells_and_no_tasks(program: Path, states: list[State]) -> None:
    require_numbers_of_a_dictionary(program, (), states)
