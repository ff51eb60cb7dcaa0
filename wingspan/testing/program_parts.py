"""Parts of random programs: their options, tensors, places, and choices."""

from __future__ import annotations

from wingspan.base.dataclass import dataclass
from wingspan.levels import REGISTRY
from wingspan.levels.base import Gated
from wingspan.testing.choosing import Chooser

INDICES = ("i", "j", "k", "l")


@dataclass(frozen=True)
class Options:
    """The ingredients of programs. Repeat a name in `levels` or `leaves` to make it more likely.

    If SparseCOO is among the levels, some matrices have this format. A Pattern is used as a leaf of booleans only.
    """

    levels: tuple[str, ...] = ("Dense", "Dense", "SparseByteMap", "SparseDict", "SparseList")
    leaves: tuple[str, ...] = ("Element", "Element", "Atomic")
    parallel: bool = True
    modifiers: tuple[str, ...] = ("Mutex", "Isolate", "Shard", "Merge")
    modified: int = 6
    """one in this many levels has a modifier without a device; one in half as many tensors has a gated one"""
    depth: int = 3
    statements: int = 3
    extent: int = 3
    least: int = 1
    """the smallest extent"""
    spawning: int = 3
    """one in this many loops is parallel"""
    narrow: int = 0
    """one in this many leaves is narrow; 0: none"""
    shifted: int = 0
    """one in this many reads shifts its subscripts; most of these may leave their axes; 0: none"""
    functions: int = 0
    """one in this many tensors is updated by a function, and one in this many operators is one; 0: none"""
    pairs: int = 0
    """one in this many tensors that are returned holds pairs; 0: none"""
    guarded: int = 0
    """one in this many reads of integers is under a condition on an index, and of an axis of another extent; 0: none"""
    missing: int = 0
    """one in this many operators is `coalesce` or `ismissing` around what may be missing; 0: none"""
    searches: int = 0
    """one in this many loops is serial and only updates a ShortCircuitScalar, so that it may end early; 0: none"""
    assertions: int = 0
    """one in this many statements is an assertion, and most of these hold; 0: none"""
    in_place: int = 0
    """one in this many outputs has computed positions, and statements may read it while they update it; 0: none"""


def is_gated(name: str) -> bool:
    """Whether a modifier names a device, and admits only its tasks."""
    return issubclass(REGISTRY[name], Gated)


@dataclass(frozen=True)
class DrawnTensor:
    """A tensor of the program; `inferred` says whether its extents are."""

    name: str
    rank: int
    kind: str
    op: str = ""
    inferred: bool = False
    form: str = ""
    gates: tuple[tuple[int, str], ...] = ()
    """(a, D): the loop over subscript a runs on D; (0, D): the update itself does"""


@dataclass(frozen=True)
class StatementScope:
    """The scope of a statement: indices (True if the ranges of their loops are static), variables, tensors, devices."""

    indices: tuple[tuple[str, bool], ...] = ()
    on: tuple[str, ...] = ()
    """the device that each of the loops runs on"""
    variables: tuple[tuple[str, str], ...] = ()
    reads: tuple[DrawnTensor, ...] = ()
    updates: tuple[DrawnTensor, ...] = ()
    around: tuple[str, ...] = ()
    depth: int = 0


@dataclass
class Drawing(Chooser):
    """The choices of one program, whose axes have extent n."""

    options: Options
    n: int = 2

    @property
    def beside(self) -> int:
        """The extent of an axis that is only read under conditions."""
        return self.n - 1 or 2
