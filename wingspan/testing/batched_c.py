"""The engine `compiled` of a campaign: runs random programs as compiled C, several per call of the compiler."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from wingspan.api import guard
from wingspan.api.checking import RACELESS
from wingspan.base.errors import InputError
from wingspan.compiled.build import INCLUDES, compiler
from wingspan.compiled.engine import Compiled, CompiledEngine, codes_of
from wingspan.elaborate import Elaborated
from wingspan.plan.ir import Plan
from wingspan.plan.pipeline import lower
from wingspan.runtime.lease import Limits

FLAGS = ("-std=gnu11", "-fwrapv", "-ffp-contract=off", "-pthread", "-shared", "-fPIC", "-xc")
LIMITS = Limits(reservation=2**26)
"""The memory of many programs is kept at once; the usual reservation would exhaust the address space."""


class Together:
    """An engine that runs programs as C; those that were `prepared` together are compiled together."""

    name = "compiled"
    nonfinite = True

    def __init__(self, level: str = "-O1") -> None:
        """`level`: the optimization level of the compiler."""
        self._library = lru_cache(maxsize=100)(partial(load_compiled, options=(level,)))
        self._engines: dict[int, tuple[object, CompiledEngine]] = {}
        """for each prepared program, its body and its engine; keeping the body keeps its `id`, the key, unique"""

    def prepare(self, programs: Iterable[Elaborated]) -> None:
        """Compile the programs that will run next, and forget all others. `Unsafe` if tasks of one may race.

        Programs without a plan are left out; running one is an InputError.
        """
        plans: dict[int, tuple[object, Plan]] = {}
        for bound in programs:
            guard(bound, allowed=RACELESS)
            with suppress(InputError):
                plans[id(bound.body)] = bound.body, lower(bound)
        self._compile(plans)

    def _compile(self, plans: Mapping[int, tuple[object, Plan]]) -> None:
        codes = codes_of([plan for _, plan in plans.values()], self._library) if plans else []
        made = zip(plans.items(), codes, strict=True)
        self._engines = {key: (body, CompiledEngine(plan, code)) for (key, (body, plan)), code in made}

    def run(self, program: Elaborated, inputs: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
        """Run the program. If it was not prepared, it is compiled alone."""
        if id(program.body) not in self._engines:
            guard(program, allowed=RACELESS)
            self._compile({id(program.body): (program.body, lower(program))})
        _, engine = self._engines[id(program.body)]
        tensors, variables = Compiled(program, engine).run(limits=LIMITS)
        return {**tensors, **variables}


def load_compiled(source: str, options: Sequence[str] = ("-O3",)) -> ctypes.CDLL:
    """A printed file as a library of this process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.c")
        path.write_text(source, encoding="utf-8")
        command = [*(compiler() or ["cc"]), *FLAGS, *options, *INCLUDES, path.name, "-lm", "-o", "program.so"]
        made = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=folder)
        if made.returncode or made.stderr:
            raise AssertionError(f"{made.stderr}\n{source}")
        return ctypes.CDLL(f"{folder}/program.so")
