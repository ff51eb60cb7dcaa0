"""The peers that kernels are measured beside: SciPy, and the installed ones. Missing ones are reported."""

from __future__ import annotations

import glob
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec

from bench import peers
from bench.by_hand import ByHand
from bench.eigen import Eigen


def found() -> dict[str, Callable[[str, peers.Inputs, int], Iterator[tuple[str, peers.Call]]]]:
    """The peers that are installed; what is missing is said aloud."""
    made = {"scipy": peers.scipy_calls}
    installed, packages = bool(glob.glob(f"{sys.prefix}/lib/libmkl_rt.so*")), "pip install 'wingspan[peers]'"
    for name, there, peer, fix in (
        ("mkl", installed, peers.Mkl, packages),
        ("graphblas", find_spec("graphblas"), peers.GraphBlas, packages),
        ("eigen", True, Eigen, "apt install g++ libeigen3-dev"),
        ("hand-written C", True, ByHand, "apt install gcc"),
    ):
        try:
            if not there:
                raise OSError("not installed")
            made[name] = peer().calls
        except OSError as error:
            print(f"skipped: {name}: {error} ({fix})", file=sys.stderr)
    return made
