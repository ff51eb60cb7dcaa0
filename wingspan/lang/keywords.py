"""The grammar's text, and the words that it reserves.

`grammar.lark` is where they stand. It leaves open the names of operators and of masks, which have tables of their own,
and the list of all words, which a name may not be.
"""

from __future__ import annotations

import re
from pathlib import Path

from wingspan.lang.masks import MASKS
from wingspan.lang.operators import WORDS

_TERMINAL = re.compile(r"^_?[A-Z]+: /(?:\(\?:)?([\w|]+)\)?\(\?!\\w\)/$", re.MULTILINE)
"""A terminal that is one of some words."""

_TEXT = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
_TEXT = _TEXT.replace("$OPERATORS", "|".join(WORDS)).replace("$MASKS", "|".join(MASKS))
_WORDS = [word for match in _TERMINAL.finditer(_TEXT) for word in match[1].split("|")]

GRAMMAR = _TEXT.replace("$WORDS", "|".join(_WORDS))
"""The grammar, for Lark."""

KEYWORDS = frozenset(_WORDS) - {"_"}
"""The words that are no names."""
