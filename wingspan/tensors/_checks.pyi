import numpy as np

def ordered(
    ptr: np.ndarray, first: int, idx: np.ndarray, least: int, children: int, fibers: int, extent: int
) -> bool: ...
