"""A pytest plugin: `pytest --wingspan MODULE:LEVEL` tests each claim of `conformance` on a level, one test per claim.

pytest imports this module wherever wingspan is installed, so everything else is imported on use.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("wingspan")
    group.addoption(
        "--wingspan", action="append", default=[], metavar="MODULE:LEVEL", help="test a level format for wingspan"
    )
    group.addoption(
        "--wingspan-examples", type=int, metavar="N", help="random arrays and programs for each test, 20 by default"
    )


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add a test for each claim on each level, after all others."""
    examples = config.getoption("--wingspan-examples")
    if examples is not None and examples < 1:
        raise pytest.UsageError(f"--wingspan-examples {examples}: write a number from 1 on")
    for place in config.getoption("--wingspan"):
        from wingspan.testing.conformance import CLAIMS

        module, _, attribute = place.partition(":")
        if (folder := str(config.invocation_params.dir)) not in sys.path:
            sys.path.insert(0, folder)  # as `python -m pytest` does
        try:
            level = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise pytest.UsageError(f"--wingspan {place}: {error}; write MODULE:LEVEL") from None
        items += [
            ClaimItem.from_parent(session, name=f"{place}[{claim}]", level=level, claim=claim) for claim in CLAIMS
        ]


class ClaimItem(pytest.Item):
    """One claim on one level."""

    def __init__(self, *, level: Any, claim: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.level, self.claim = level, claim

    def runtest(self) -> None:
        """Test the claim."""
        from wingspan.testing.conformance import CLAIMS, EXAMPLES

        CLAIMS[self.claim](self.level, self.config.getoption("--wingspan-examples") or EXAMPLES)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The message of a broken claim, without a traceback."""
        from wingspan.testing.conformance import Nonconforming

        return str(excinfo.value) if isinstance(excinfo.value, Nonconforming) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, None, str]:
        """The name in reports."""
        return "wingspan", None, self.name
