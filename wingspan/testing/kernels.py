"""Random kernels over open inputs, as text: sums of products and the like, with one or two parallel loops.

Some find the least or the greatest of these, with an index, as a pair.
Loops run over whole axes, `_`, so that a kernel takes inputs of any extents. Its tensors have an axis for some of the
loops, root first, mostly in the order of the loops. The output is in a format that fits the parallel loops more often
than not; the level dependence test finds the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st

from wingspan.testing.formats import BOUNDED, STORAGE, fitting, legal
from wingspan.testing.schedules import devices, schedules

T = TypeVar("T")

ZEROS = {"int": "0", "float": "0.0"}
OTHERS = {"int": "1", "float": "0.5"}
"""Less common fill values of inputs."""
PAIRED = {"<<minby>>=": "(Inf, 0)", "<<maxby>>=": "(-Inf, 0)"}
"""Updates of pairs, and what they start from."""


@dataclass
class KernelWriter:
    """Writes one kernel; `draw` is Hypothesis's."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    pairs: int = 5
    """one in this many reductions finds the least or the greatest element, with an index; 0: none"""

    def pick(self, items: Sequence[T]) -> T:
        chosen: T = self.draw(st.sampled_from(items))
        return chosen

    def chance(self, one_in: int) -> bool:
        return bool(self.draw(st.integers(0, one_in - 1)) == one_in - 1)

    def subset(self, items: Sequence[str], least: int = 0) -> list[str]:
        """Some of the items, in their order."""
        chosen = self.draw(st.sets(st.sampled_from(items), min_size=least))
        return [item for item in items if item in chosen]

    def program(self) -> str:
        self.kind = self.pick(("int", "float"))
        self.loops = list(self.draw(st.permutations("ijk"[: self.pick((1, 2, 2, 3, 3))])))
        self.on = self.draw_devices()
        factors = self.factors()
        lines = [f"dev = {self.draw(devices(':d'))}", f"dev2 = {self.draw(devices(':e'))}"]
        lines += [f"{name} = Tensor({self.input_format(len(axes))})" for name, axes in factors.items()]
        elements = [f"{name}[{', '.join(reversed(axes))}]" for name, axes in factors.items()]
        out = self.subset(self.loops)
        workspace = len(self.loops) > 1 and out[:1] == self.loops[:1] and self.chance(2)
        body = self.through_workspace(out, elements) if workspace else self.directly(out, elements)
        return "\n".join((*lines, *body, "return C"))

    def draw_devices(self) -> dict[str, str]:
        """The device of each parallel loop."""
        first = 0 if len(self.loops) == 1 or not self.chance(5) else 1
        on = {self.loops[first]: "dev"} if not self.chance(8) else {}
        if on and len(self.loops) > first + 1 and self.chance(4):
            on[self.loops[first + 1]] = "dev2"
        return on

    def factors(self) -> dict[str, list[str]]:
        """The axes of each input, root first; each loop runs over an axis of one of them."""
        names = "ABD"[: self.pick((1, 2, 2, 3))]
        found = {name: self.subset(self.loops, 1) for name in names}
        over = {index for axes in found.values() for index in axes}
        last = found[names[-1]]
        found[names[-1]] = [index for index in self.loops if index in last or index not in over]
        if self.chance(6):
            name = self.pick(names)
            found[name] = list(self.draw(st.permutations(found[name])))
        return found

    def input_format(self, rank: int) -> str:
        """The format of an input."""
        form = f"Element({ZEROS[self.kind] if not self.chance(8) else OTHERS[self.kind]})"
        while rank:
            axes = self.pick(range(2, rank + 1)) if rank > 1 and self.chance(6) else 1
            form = (
                f"SparseCOO({axes}, {form})"
                if axes > 1
                else f"{self.pick(fitting((*STORAGE, *BOUNDED), form))}({form})"
            )
            rank -= axes
        return form

    def draw_format(self, axes: Sequence[str], loops: Sequence[str], fill: str) -> str:
        """The format of a tensor that is updated inside of these loops, with these axes, root first."""
        lost = [D for index, D in self.on.items() if index in loops and index not in axes]
        atomic = self.chance(4) or (bool(lost) and self.chance(2))
        form = f"{'Atomic' if atomic else 'Element'}({fill})"
        for index in reversed(axes):
            if index in loops and index in self.on and not self.chance(4):
                form = f"Shard({self.on[index]}, {form})"
            form = f"Mutex({form})" if self.chance(8) else f"Isolate({form})" if self.chance(10) else form
            levels = ("Dense", *STORAGE) if not atomic else ("Dense", "Dense", *STORAGE)
            form = f"{self.pick(fitting(levels, form))}({form})"
        for D in [] if atomic and not self.chance(3) else lost:
            merged = f"Merge({D}, {form})"
            form = merged if not self.chance(5) and legal(merged) else f"Mutex({form})"
        return form

    def directly(self, out: Sequence[str], elements: Sequence[str]) -> list[str]:
        """One update inside of all the loops."""
        op, value, fill = self.update(len(out) < len(self.loops), elements)
        body = [self.guard(f"C[{', '.join(reversed(out))}] {op} {value}", elements)]
        return [
            f"C = Tensor({self.draw_format(out, self.loops, fill)})",
            f"C .= {fill}",
            *self.around(self.loops, body),
        ]

    def update(self, reduced: bool, elements: Sequence[str]) -> tuple[str, str, str]:
        """The operator of the update, its value, and what the output is declared with."""
        value = self.value(elements)
        if reduced and self.pairs and self.chance(self.pairs):
            op = self.pick(tuple(PAIRED))
            return op, f"({value}, {self.pick(self.loops)})", PAIRED[op]
        op = self.pick(("+=", "+=", "+=", "<<max>>=", "<<min>>=") if reduced else ("=", "=", "+="))
        return op, value, ZEROS[self.kind]

    def guard(self, update: str, elements: Sequence[str]) -> str:
        """The update, under a condition now and then."""
        return f"if {self.pick(elements)} > 0\n{update}\nend" if self.chance(5) else update

    def through_workspace(self, out: Sequence[str], elements: Sequence[str]) -> list[str]:
        """The outermost loop sums in a workspace, which it then copies."""
        first, *inner = self.loops
        axes = [index for index in inner if index in out]
        at = ", ".join(reversed(axes))
        zero = ZEROS[self.kind]
        summed = self.around(inner, [f"w[{at}] += {self.value(elements)}"])
        copied = self.around(axes, [f"C[{', '.join(reversed(out))}] = w[{at}]"], serial=True)
        return [
            f"w = Tensor({self.draw_format(axes, inner, zero)})",
            f"C = Tensor({self.draw_format(out, (first,), zero)})",
            "C .= 0",
            *self.around((first,), ["w .= 0", *summed, *copied]),
        ]

    def around(self, loops: Sequence[str], body: list[str], serial: bool = False) -> list[str]:
        """Loops around statements, outermost first."""
        for index in reversed(loops):
            header = "_"
            if index in self.on and not serial:
                header = f"parallel(_, {self.on[index]}, {self.draw(schedules())})"
            body = [f"for {index} = {header}", *("    " + line for line in body), "end"]
        return body

    def value(self, elements: Sequence[str]) -> str:
        """The elements, joined by operators."""
        value = elements[0]
        for element in elements[1:]:
            match self.pick(("*", "*", "*", "+", "+", "-", "min", "max")):
                case "min" | "max" as f:
                    value = f"{f}({value}, {element})"
                case op:
                    value = f"({value} {op} {element})"
        return value if not self.chance(6) else f"{value} {self.pick(('+ 1', '* 2', '* 0', '- 1'))}"


@st.composite
def kernels(draw: st.DrawFn) -> str:
    """Draws texts of kernels with open inputs."""
    return KernelWriter(draw).program()
