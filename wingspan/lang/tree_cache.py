"""Trees of programs, which one process leaves for the next: importing Lark takes longer than exploring a small program.

A tree is kept under a digest of all that it depends on: the text, the name that places in it go by, Lark, and this
package's trees and parser (`disk_cache`).
"""

from __future__ import annotations

import pickle
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from wingspan.base import disk_cache
from wingspan.base.disk_cache import PACKAGE
from wingspan.lang import ir, parser

SUFFIX = ".tree"
"""The suffix of the files with trees."""
LONGEST = 2**14
"""The length of the longest text whose tree is kept, in characters: a thousand trees then take 200 MB at most."""


def parse(text: str, name: str) -> ir.Program:
    """The program that a text says, as `parser.parse` makes it: read from another process, or else made now.

    Errors: as `parser.parse`.
    """
    if len(text) > LONGEST:
        return parser.parse(text, name)
    key = digest_of(text, name)
    if (left := disk_cache.read(key, SUFFIX)) is not None:
        tree: ir.Program = pickle.loads(left)
        return tree
    made = parser.parse(text, name)
    with suppress(RecursionError):  # of a tree that is nested deep
        disk_cache.write(key, SUFFIX, pickle.dumps(made))
    return made


def digest_of(text: str, name: str) -> str:
    """A digest of all that a tree depends on. Trees have values and places of the ground floor, `base`."""
    lark = find_spec("lark")
    places = lark.submodule_search_locations or () if lark else ()
    folders = (PACKAGE / "lang", PACKAGE / "base", *map(Path, places))
    return disk_cache.digest_of(text, name, *map(disk_cache.sources, folders))
