"""Files of other folders that verbs read. An installed package has them beside this module.

`SHIPPED` in `setup.py` lists them, and wheels get them from there.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent


def read_shipped(path: str) -> str:
    """The text of the file with this path in the repository."""
    installed = HERE / Path(path).name
    return (installed if installed.exists() else HERE.parents[1] / path).read_text("utf-8")
