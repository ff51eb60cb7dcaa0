from wingspan.explorer._space import Space

class Dpor:
    executions: int
    redundant: int
    depth: int
    deepest: int
    def __init__(self, space: Space) -> None: ...
    ends: dict[int, int]
    def run(self, most: int = -1) -> bool: ...
    def planned(self) -> int: ...
