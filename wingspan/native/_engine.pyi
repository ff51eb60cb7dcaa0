import numpy as np
from numpy.typing import NDArray

from wingspan.runtime._memory import Memory

OPCODES: dict[str, str]

class Program:
    def __init__(self, table: NDArray[np.int64], slots: int) -> None: ...
    def run(
        self, memory: Memory, registers: bytes, in_order: bool, yields: bool, seed: int
    ) -> tuple[bytes, tuple[int, bytes, int, bytes] | None]: ...
    def settle(self, pc: int, registers: bytes) -> tuple[int, bytes]: ...
