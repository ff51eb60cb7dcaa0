"""Random kernels that are a single update inside loops: `program.einsum()` describes them fully."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from wingspan.testing.cases import accepted
from wingspan.testing.kernels import KernelWriter


class Single(KernelWriter):
    """Writes such a kernel, without workspaces and conditions."""

    def through_workspace(self, out: Sequence[str], elements: Sequence[str]) -> list[str]:
        return self.directly(out, elements)

    def guard(self, update: str, elements: Sequence[str]) -> str:
        return update


@st.composite
def _singles(draw: st.DrawFn) -> str:
    return Single(draw, pairs=0).program()


def einsums() -> st.SearchStrategy[str]:
    """Draws texts of kernels with open inputs that the level dependence test accepts, each a single einsum."""
    return _singles().filter(accepted)
