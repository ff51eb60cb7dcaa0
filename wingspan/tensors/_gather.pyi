import numpy as np

PIECES: int

class Claimed:
    TOO_LARGE: int
    def __init__(
        self,
        child: np.ndarray | None,
        owner: np.ndarray | None,
        lists: list[tuple[np.ndarray, int, np.ndarray, int, np.ndarray]],
        columns: int,
        width: int,
    ) -> None: ...
    def place(self, ptr: np.ndarray) -> int: ...
    def copy(
        self, ptr: np.ndarray, first: int, last: int, extent: int, rows: np.ndarray, values: np.ndarray
    ) -> bool: ...

def count_members(words: np.ndarray, summary: np.ndarray, extent: int) -> int: ...
def list_members(words: np.ndarray, rows: np.ndarray) -> None: ...
