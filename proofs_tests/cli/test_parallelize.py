"""The verb `parallelize`: what it prints and writes, how it ends, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

import wingspan
from proofs_tests.places import EXAMPLES
from wingspan.api import parallelizing
from wingspan.base.errors import InputError

SUMS = """
x = Tensor(Dense(Element(0)), [1, 2, 3])
c = Tensor(Dense(Element(0)), 2)
c .= 0
for i = _
    c[1] += x[i]
end
return c
"""
SHARED = "x = 0\nfor i = 1:2\n    x = x + i\nend"


def test_the_best_program_is_printed_and_written(command, tmp_path: Path) -> None:
    """The file has the printed text, and `check` accepts it; another file stays unless --force is given."""
    out = tmp_path / "made.ws"
    words = ("parallelize", str(EXAMPLES / "spadd.ws"), "--threads", "2", "-o", str(out))
    done = command(*words)
    assert done.status == 0
    text = out.read_text(encoding="utf-8")
    assert text.strip() in done.out and "for j = parallel(_, dev)" in text
    assert wingspan.check(out).verdict == "safe"
    out.write_text("x = 1")
    assert command(*words).status == 2 and out.read_text() == "x = 1"
    assert command(*words, "--force").status == 0 and out.read_text(encoding="utf-8") == text


def test_a_program_for_which_parallelism_does_not_pay_stays_serial(command, written) -> None:
    """Three iterations are too few for threads: the serial program is the best, and stands among the others."""
    done = command("parallelize", written(SUMS), "--threads", "2", "--top", "2")
    assert done.status == 0
    first, _, heads, best, second, *_ = done.out.splitlines()
    assert first.startswith("serial  ") and first.endswith(
        " placements found safe for 2 threads, none expected to be faster"
    )
    assert heads.split() == ["expected", "placement"] and best.split() == ["1.00×", "serial"]
    assert second.split("×")[0].strip() == "0.00"
    assert "more placements: --top " in done.out and "for i = _\n" in done.out


def test_if_nothing_is_safe_the_reasons_are_given(command, written) -> None:
    """Nothing is written, and the status is 1."""
    out = Path(written("", "out.ws"))
    out.unlink()
    done = command("parallelize", written(SHARED), "--threads", "2", "-o", str(out))
    assert done.status == 1 and not out.exists()
    assert done.out.startswith("none  ") and "no loop can be parallel" in done.out
    assert "  for i = parallel(1:2, dev)  x: tasks assign to and read x, which is bound outside of the loop" in done.out


def test_candidates_are_measured_with_the_serial_program(command, written) -> None:
    """The best by estimate run on the inputs as well as the serial program; the others have no times."""
    done = command("parallelize", written(SUMS), "--threads", "2", "--measure", "--top", "1", "--json").json
    first, *rest = done["candidates"]
    assert first["loops"] == [] and len(first["seconds"]) >= parallelizing.FEWEST
    assert rest and all(one["seconds"] == [] for one in rest)
    assert done["engine"] in ("compiled", "native")


def test_measured_candidates_come_first_in_the_order_of_their_fastest_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimates do not count then; candidates that take much longer run twice only."""
    seconds = {"serial": 3.0, "atomic": 1.0, "merged": 2.0, "locked": 100.0}

    class Run:
        def __init__(self, bound) -> None:
            text = str(bound.towers["c"])
            names = {"Atomic": "atomic", "Merge": "merged", "Mutex": "locked"}
            self.name = next((name for word, name in names.items() if word in text), "serial")

    monkeypatch.setattr(parallelizing, "compiled", Run)
    monkeypatch.setattr(parallelizing, "compiled_c", Run)
    monkeypatch.setattr(parallelizing, "_run", lambda made: seconds[made.name])
    monkeypatch.setattr(parallelizing, "SLOW", 10)
    text = SUMS.replace("[1, 2, 3]", f"[{', '.join(['1'] * 999)}]").replace("Tensor(Dense(Element(0)), 2)", "Scalar(0)")
    found = wingspan.parallelize(wingspan.parse(text.replace("c[1]", "c[]")), threads=2, measure=True, top=50)
    measured = [one for one in found.candidates if one.seconds]
    assert [min(one.seconds) for one in measured] == sorted(min(one.seconds) for one in measured)
    assert measured[0].least == 1.0 and found.program == measured[0].program
    for one in measured:
        assert (len(one.seconds) == 2) == (one.least == 100.0)


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("x = 1", (), "has no loop"),
        (SUMS, ("-p", "nt=2"), "no parameter nt"),
        ("for i = _\nend", (), ""),
        ("c = Tensor(Dense(Element(0)))\nc .= 0\nfor i = _\nc[i] += x[i]\nend\nreturn c", ("--measure",), "x"),
        (SUMS, ("--top", "0"), "--top"),
    ],
)
def test_wrong_input_is_one_error(command, written, text: str, words: tuple[str, ...], message: str) -> None:
    """No loop, a name that is none, no program, an input that is not there to measure with, no number."""
    done = command("parallelize", written(text), *words)
    assert done.status == 2 and message in done.err and not done.out


def test_only_sound_tests_are_taken() -> None:
    program = wingspan.parse(SUMS)
    with pytest.raises(wingspan.InputError, match="printed is no test to rely on"):
        wingspan.parallelize(program, test="printed")
    with pytest.raises(wingspan.InputError, match="0 placements cannot be measured"):
        wingspan.parallelize(program, top=0)
    exact = wingspan.parallelize(program, test="exact", threads=2)
    assert exact.test == "exact" and len(exact.candidates) >= len(wingspan.parallelize(program, threads=2).candidates)


def test_results_show_what_they_are() -> None:
    found = wingspan.parallelize(EXAMPLES / "independent.ws", threads=2)
    assert repr(found) == "<Parallelized: 3 programs, the best serial>"
    assert str(found).startswith("serial  the program: 2 placements")
    assert found.to_dict()["candidates"][0]["expected"] == 1.0


ONE = "c = Tensor(Dense(Element(0)), 3)\nc .= 0\nfor j = _\nc[j] += j\nend\nfor j = _\nc[j] += j\nend\nreturn c"
NEST = "c = Tensor(Dense(Dense(Element(0))), n, 3)\nc .= 0\nfor j = _\nfor i = _\nc[i, j] += i\nend\nend\nreturn c"


def test_nested_devices_are_offered_if_they_are_asked_for(command, written) -> None:
    """Beside one device of as many threads; numbers of threads are those of --nested, and at least two."""
    file = written(NEST)
    done = command("parallelize", file, "--nested", "2,3", "--top", "20")
    assert done.status == 0 and "for i = parallel(_, dev2)" in done.out and "found safe for 6 threads" in done.out
    assert "dev2" not in command("parallelize", file, "--threads", "6", "--top", "20").out
    for words in (["2"], ["2,0"], ["2,x"], ["2,2", "--threads", "2"], [""]):
        assert command("parallelize", file, "--nested", *words).status == 2, words


@pytest.mark.parametrize(("program", "fix"), [(NEST, "give 2 devices at most"), (ONE, "give one device")])
def test_a_program_without_so_many_nested_loops_is_an_error(command, written, program: str, fix: str) -> None:
    done = command("parallelize", file := written(program), "--nested", "2,2,2")
    assert done.status == 2 and done.out == ""
    assert "has no 3 loops inside of each other for 3 nested devices" in done.err and fix in " ".join(done.err.split())
    with pytest.raises(InputError, match="has no 3 loops"):
        wingspan.parallelize(file, threads=(1, 1, 1))


def test_what_is_safe_for_given_parameters_only_is_said(command, written) -> None:
    """Without any there is nothing to say."""
    file = written(NEST)
    line = "  given  n = 0: the programs are safe for that, and need not be for other values"
    assert line in command("parallelize", file, "-p", "n=0").out.splitlines()
    assert "  given  " not in command("parallelize", file).out
