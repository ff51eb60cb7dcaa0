"""Sparse tensor programs with parallel loops: explored, checked and run.

>>> import wingspan
>>> program = wingspan.parse('''
... c = Tensor(Dense(Element(0)), 1)
... c .= 0
... for i = parallel(1:2)
...     c[1] += i
... end
... ''')
>>> verdict = wingspan.explore(program).verdict
>>> verdict.verdict, verdict.interleavings, len(verdict.races)
('race', 6, 1)
>>> wingspan.run(program, engine="semantics").tensors["c"].to_numpy().tolist()
[3]

All functions here, in `wingspan.api` and in `wingspan.testing` may be called by several threads at the same time, also
with the same programs and tensors. The limits:

- Arrays that a tensor shares with the caller must not be written meanwhile (see `Tensor`).
- An engine or a `progress` of your own must be safe in several threads itself.
- `explore` with `jobs` forks the process, which is not safe while other threads run. Use a `scheduler` there.
- Ctrl-C interrupts the main thread only.
"""

import sys
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

import lazy_loader

from wingspan.base.start_time import BEGAN as BEGAN

# isort: split
from wingspan.base import activity, display

# what the package exports stands in __init__.pyi, and is loaded when it is first asked for
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def _renderer() -> display.Renderer:
    from wingspan.views import renderer

    return renderer


def _show_activity(words: str, forks: bool) -> AbstractContextManager[activity.Change]:
    from wingspan.views.paint import show_activity

    return show_activity(words, forks)


display.install(_renderer)
activity.install(_show_activity)


class _Package(ModuleType):
    """This package. `wingspan.plan` is the verb, although importing `wingspan.plan.ir` would set it to that package."""

    @property
    def plan(self) -> Any:
        from wingspan.api import plan

        return plan

    @plan.setter
    def plan(self, package: ModuleType) -> None:
        """Ignore the assignment by the import of the package, which is found by its full name."""


sys.modules[__name__].__class__ = _Package
