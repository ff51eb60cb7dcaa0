"""Places of printed C where a run may fail."""

from __future__ import annotations

from dataclasses import field

from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Span
from wingspan.plan.ir import Stmt


@dataclass(frozen=True)
class Site:
    """A place where a run may fail. In the message {0}, {1}, … stand for values of these types: see session.h."""

    span: Span | None
    message: str
    types: str
    statement: Stmt | None = field(default=None, compare=False)
    """the first statement that fails there"""
