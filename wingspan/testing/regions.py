"""Random programs with several parallel regions: one after the other, in serial loops, and nested.

Half of the tasks end with steps that no other task can observe, so that a region may end by such a step.
"""

from __future__ import annotations

from random import Random

from wingspan.testing.formats import LEAVES, MODIFIERS, STORAGE, legal, rank_of

PRIVATE = ["w .= 0", "w[] += 1"]
"""Statements that no other task can observe: each task has a tensor w of its own."""


def regions(seed: int, form: str = "", several: int | None = None, nested: bool | None = None) -> str:
    """The program with this number: tasks update a tensor C, a counter and a variable.

    C has the given format, or any format of rank 0 or 1. The program has the given number of regions, or up to three,
    or up to two in a serial loop. `nested` says whether a region is nested in the first one; by default it is random.
    """
    return RegionWriter(seed, form).program(several, nested)


class RegionWriter(Random):
    """Writes one program."""

    def __init__(self, seed: int, form: str) -> None:
        super().__init__(seed)
        self.form = form or self.some_format()
        self.rank = rank_of(self.form)

    def chance(self, one_in: int) -> bool:
        return self.randrange(one_in) == 0

    def some_format(self) -> str:
        """A leaf or a vector; half of the levels have a modifier."""
        form = f"{self.choice(LEAVES)}(0)"
        for level in ("", self.choice(STORAGE))[: self.choice([1, 2, 2])]:
            form = f"{level if legal(f'{level}({form})') else 'Dense'}({form})" if level else form
            wrapped = self.choice(MODIFIERS).format(form) if self.chance(2) else form
            form = wrapped if legal(wrapped) else form
        return form

    def element(self, index: str) -> str:
        """An element of C. Where positions belong to threads, each iteration uses its own position."""
        return f"C[{index if 'Shard(' in self.form or self.chance(3) else 1}]" if self.rank else "C[]"

    def update(self, index: str) -> list[str]:
        """Lines that update what tasks share."""
        element, counter = f"{self.element(index)} += 1", f"x[{index if self.chance(3) else 1}] += 1"
        lines = [[element], [counter], [counter, element], [element, counter], [element, counter], ["s = s + 1"]]
        return self.choice(lines)

    def region(self, index: str, device: str, inner: int = 0) -> list[str]:
        """A parallel loop of up to two iterations, with `inner` loops inside."""
        schedule = self.choice(["", "", ", dynamic_schedule(1)"])
        lines = [] if self.chance(8) else self.update(index)[inner > 0 :]
        for _ in range(inner):
            lines += self.region("l", "far")
        lines += PRIVATE if self.chance(2) else []
        return [f"for {index} = parallel(1:{self.choice([0, 1, *[2] * 6])}, {device}{schedule})", *lines, "end"]

    def program(self, several: int | None, nested: bool | None) -> str:
        """A statement of the root task between two regions, or none."""
        body: list[str] = []
        for number in range(several or self.choice([1, 2, 2, 2, 3])):
            body += self.update("2") if self.chance(6) else []
            inside = "far" in self.form or self.chance(5) if nested is None else nested and number == 0
            body += self.region("k", "dev", self.choice([1, 1, 2]) if inside else 0)
        if several is None and len(body) <= 8 and self.chance(2):
            body = ["for i = 1:2", *body, "end"]
        return "\n".join(
            [
                "dev = cpu(:dev, 2)",
                "far = cpu(:far, 2, dev)",
                f"C = Tensor({self.form}{', 2' * self.rank})",
                f"x = Tensor(Dense({self.choice(['Element', 'Atomic', 'Atomic'])}(0)), 2)",
                "w = Tensor(Element(0))",
                *("C .= 0", "x .= 0", "s = 0"),
                *body,
                "return C, x",
            ]
        )
