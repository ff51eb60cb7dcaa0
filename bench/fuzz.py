"""Fuzzes the readers: programs, files of arrays, parameters, interleavings, checkpoints, inputs of printed programs.

    python bench/fuzz.py [--seconds S] [--runs N] [TARGET…]
    python bench/fuzz.py --replay TARGET FILE…

Each target of proofs_tests/fuzz runs for S seconds (60) or N inputs under Atheris, which looks for inputs that reach
new code. These are kept in bench/results/fuzz/TARGET, where the next run goes on from. What a target fails on is kept
beside it as TARGET-crash-…; also what takes more than 30 s or 2 GB. The exit status is 1 if there is any. Atheris is
the extra `fuzz`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

RESULTS = HERE / "results" / "fuzz"
LONGEST = 1 << 16
"""Bytes of an input."""
AS_THEY_ARE = 5
"""One in so many changes is the fuzzer's own, of bytes; the others keep most of the form."""


def fuzz(name: str, options: list[str]) -> None:
    """Run a target in this process, which ends."""
    import atheris

    with atheris.instrument_imports(include=["wingspan", "zipfile"]):
        from proofs_tests.fuzz.targets import TARGETS
    target = TARGETS[name]
    corpus = RESULTS / name
    corpus.mkdir(parents=True, exist_ok=True)
    for data in target.seeds():
        (corpus / hashlib.sha256(data).hexdigest()[:40]).write_bytes(data)

    def change(data: bytes, most: int, seed: int) -> bytes:
        random = Random(seed)
        if not random.randrange(AS_THEY_ARE):
            return bytes(atheris.Mutate(data, most))
        return target.mutate(random, data)[:most]

    def check(data: bytes) -> None:
        try:
            target.check(data)
        except BaseException:  # the fuzzer does not always keep it
            (RESULTS / f"{name}-crash-{hashlib.sha256(data).hexdigest()[:40]}").write_bytes(data)
            raise

    arguments = [*options, f"-artifact_prefix={RESULTS}/{name}-", f"-max_len={LONGEST}", str(corpus)]
    atheris.Setup([sys.argv[0], "-timeout=30", "-rss_limit_mb=2048", *arguments], check, custom_mutator=change)
    atheris.Fuzz()


def replay(name: str, files: list[str]) -> None:
    """Check inputs that are there."""
    from proofs_tests.fuzz.targets import TARGETS

    for file in files:
        TARGETS[name].check(Path(file).read_bytes())
        print(f"{file}: as it should be")


def main() -> int:
    """Fuzz one target after the other, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--runs", type=int, default=-1)
    parser.add_argument("--replay", action="store_true")
    options = parser.parse_args()
    if options.replay:
        replay(options.names[0], options.names[1:])
        return 0
    from proofs_tests.fuzz.targets import TARGETS

    if find_spec("atheris") is None:
        parser.error("there is no Atheris: python -m pip install 'wingspan[fuzz]'")
    if unknown := set(options.names) - TARGETS.keys():
        parser.error(f"there is no target {', '.join(sorted(unknown))}: use {', '.join(TARGETS)}")
    failed = []
    for name in options.names or TARGETS:
        before = len(list((RESULTS / name).glob("*")))
        limits = [f"-max_total_time={options.seconds}", f"-runs={options.runs}"]
        code = f"from bench.fuzz import fuzz; fuzz({name!r}, {limits!r})"
        command = [sys.executable, "-c", code]
        with tempfile.TemporaryDirectory() as folder:  # the fuzzer ends without removing any
            environment = os.environ | {"TMPDIR": folder}
            made = subprocess.run(
                command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True, errors="replace"
            )
        runs = [line for line in made.stderr.splitlines() if line.startswith("Done ")]
        kept = len(list((RESULTS / name).glob("*")))
        print(f"{name}: {runs[-1] if runs else 'failed'}; {kept} inputs are kept, {kept - before} of them new")
        if made.returncode:
            failed.append(name)
            print(made.stderr[-4000:])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
