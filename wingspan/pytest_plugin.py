"""A plugin of pytest: `pytest --wingspan MODULE:LEVEL` puts a format to each claim of `conformance`, as a test each.

pytest imports this wherever wingspan is installed, so it imports the rest when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option."""
    parser.getgroup("wingspan").addoption(
        "--wingspan", action="append", default=[], metavar="MODULE:LEVEL", help="test a format of wingspan's"
    )


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test for each claim on each format, after all others."""
    for place in config.getoption("--wingspan"):
        from wingspan.testing.conformance import CLAIMS

        module, _, attribute = place.partition(":")
        try:
            level = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise pytest.UsageError(f"--wingspan {place}: {error}; write MODULE:LEVEL") from None
        items += [Claim.from_parent(session, name=f"{place}[{claim}]", level=level, claim=claim) for claim in CLAIMS]


class Claim(pytest.Item):
    """One claim on one format."""

    def __init__(self, *, level: Any, claim: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.level, self.claim = level, claim

    def runtest(self) -> None:
        """Put the format to the claim."""
        from wingspan.testing.conformance import CLAIMS

        CLAIMS[self.claim](self.level, 100)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What the claim says, without a traceback."""
        from wingspan.testing.conformance import Nonconforming

        return str(excinfo.value) if isinstance(excinfo.value, Nonconforming) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, None, str]:
        """Where the test stands in reports."""
        return "wingspan", None, self.name
