"""`wingspan explore`: what changes the search, and the lost update in its first output."""

from __future__ import annotations

import re

from proofs_tests.cli.typed import EXAMPLES, SAFE


def test_threads_change_the_number_of_tasks(wingspan):
    assert wingspan("explore", SAFE, "--threads", "1", "--json").json["interleavings"] == 1
    assert wingspan("explore", SAFE, "--json").json["interleavings"] > 1


def test_symmetry_is_told_with_the_states(wingspan, files):
    """The progress is given in states up to names; if there is no symmetry, the levels of threads are named."""
    (files / "turns.ws").write_text(TURNS, encoding="utf-8")
    full, fewer = wingspan("explore", "turns.ws", "--json").json, wingspan("explore", "turns.ws", "--symmetry").out
    told = re.search(r"complete: (\d+) states up to names of tasks, .*strategy graph, as symmetry is asked for", fewer)
    assert told is not None and 2 * int(told[1]) < full["states"]
    (files / "shards.ws").write_text(TURNS.replace("Element(0)", "Shard(t, Element(0))"), encoding="utf-8")
    apart = wingspan("explore", "shards.ws", "--symmetry").out
    assert re.search(r"symmetry +none: a level Shard of S belongs to threads by their ids\n", apart)
    assert "up to names" not in apart


TURNS = """
t = cpu(:t, 3)
S = Tensor(Element(0))
S .= 0
for i = parallel(1:3, t, dynamic_schedule(1))
    S[] += i
end
return S
"""


def test_a_search_cut_short_counts_no_interleavings(wingspan):
    made = wingspan("explore", SAFE, "--max-states", "2", "--json").json
    assert (made["complete"], made["stopped_by"], made["interleavings"]) == (False, "max-states", None)


def test_the_first_output_shows_the_lost_update_step_by_step(wingspan):
    """As `replay` numbers and words its steps; and 40 rows of 80 columns hold all of it."""
    lines = wingspan("explore", str(EXAMPLES / "dependent.ws")).out.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("run "))
    told = re.fullmatch(r"run (\S+) ends with c = \[1, 0, 1, 0, 1\]", lines[start])
    assert told is not None
    replayed = wingspan("replay", str(EXAMPLES / "dependent.ws"), "--interleaving", told[1]).out.splitlines()
    shown = lines[start + 1 : lines.index("", start)]
    lost = next(line for line in replayed if "overwrites" in line)
    assert shown[-1] == lost
    touches = [line.partition("Assign  ")[2].partition("  ")[0] for line in replayed if "Assign  " in line]
    assert [number for number, line in enumerate(shown[:-1]) if touches[number] in line] == list(range(len(touches)))
    assert sum(max(1, -(-len(line) // 80)) for line in lines) <= 40
    assert all(len(line) <= 80 for line in shown)
