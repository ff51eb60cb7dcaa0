from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

MOST_INPUTS: int
MOST_LISTS: int

class Lent:
    shapes: tuple[tuple[int, ...], ...]
    values: list[np.ndarray]
    pattern: tuple[np.ndarray, np.ndarray] | None

class Lender:
    def __init__(
        self,
        inputs: list[tuple[str, str, int, int, list[tuple[int, int, str, np.dtype[Any]] | None]]],
        alike: Collection[str],
        numpy: Any,
    ) -> None: ...
    def lend(self, inputs: Mapping[str, Any]) -> Lent | None: ...
