import numpy as np

PIECES: int

def gather(
    lists: list[tuple[np.ndarray, np.ndarray]],
    least: np.ndarray,
    extent: int,
    piece: np.ndarray,
    start: np.ndarray,
    ptr: np.ndarray,
    first: int,
    last: int,
    rows: np.ndarray,
    values: np.ndarray,
) -> bool: ...
