"""Random kernels over open inputs, as text: sums of products and the like, with one or two parallel loops.

Some find the least or the greatest of these, with an index, as a pair.
Loops run over whole axes, `_`, so that a kernel takes inputs of any extents. Its tensors have an axis for some of the
loops, root first, mostly in the order of the loops. The output is in a format that fits the parallel loops more often
than not; the level dependence test finds the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from wingspan.api.small import STATIC
from wingspan.base.dataclass import dataclass
from wingspan.testing.choosing import Chooser, drawn_by
from wingspan.testing.formats import BOUNDED, STORAGE, STORING, fitting, legal, random_format

ZEROS = {"int": "0", "float": "0.0"}
OTHERS = {"int": "1", "float": "0.5"}
"""Less common fill values of inputs."""
PAIRED = {"<<minby>>=": "(Inf, 0)", "<<maxby>>=": "(-Inf, 0)"}
"""Updates of pairs, one in five of those that reduce, and what they start from."""


@dataclass
class KernelWriter(Chooser):
    """Writes one kernel: with `single`, one update inside of loops, without workspaces, conditions and pairs."""

    single: bool = False

    def program(self) -> str:
        self.kind = self.pick(("int", "float"))
        self.loops = self.shuffle("ijk"[: self.pick((1, 2, 2, 3, 3))])
        self.on = self.draw_devices()
        factors = self.factors()
        lines = [f"dev = cpu(:d, {self.between(1, 4)})", f"dev2 = cpu(:e, {self.between(1, 4)})"]
        lines += [f"{name} = Tensor({self.input_format(len(axes))})" for name, axes in factors.items()]
        elements = [f"{name}[{', '.join(reversed(axes))}]" for name, axes in factors.items()]
        out = self.subset(self.loops)
        workspace = not self.single and len(self.loops) > 1 and out[:1] == self.loops[:1] and self.chance(2)
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
            found[name] = self.shuffle(found[name])
        return found

    def input_format(self, rank: int) -> str:
        """The format of an input."""
        form = f"Element({ZEROS[self.kind] if not self.chance(8) else OTHERS[self.kind]})"
        return random_format(self, form, rank, (*STORING, *BOUNDED))

    def draw_format(self, axes: Sequence[str], loops: Sequence[str], fill: str) -> str:
        """The format of a tensor that is updated inside of these loops, with these axes, root first."""
        lost = [D for index, D in self.on.items() if index in loops and index not in axes]
        atomic = self.chance(4) or (bool(lost) and self.chance(2))
        form = f"{'Atomic' if atomic else 'Element'}({fill})"
        for index in reversed(axes):
            shared = index in loops and index in self.on
            if shared and self.chance(2):
                form = f"Shard({self.on[index]}, {form})"
            form = f"Mutex({form})" if self.chance(8) else f"Isolate({form})" if self.chance(10) else form
            levels = (*["Dense"] * (12 if shared else 1 + atomic), *STORAGE)  # tasks may enter any index of Dense
            form = f"{self.pick(fitting(levels, form))}({form})"
        for D in [] if atomic and not self.chance(3) else lost:
            merged = f"Merge({D}, {form})"
            form = merged if not self.chance(8) and legal(merged) else f"Mutex({form})"
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
        if reduced and not self.single and self.chance(5):
            op = self.pick(tuple(PAIRED))
            return op, f"({value}, {self.pick(self.loops)})", PAIRED[op]
        op = self.pick(("+=", "+=", "+=", "<<max>>=", "<<min>>=") if reduced else ("=", "=", "+="))
        return op, value, ZEROS[self.kind]

    def guard(self, update: str, elements: Sequence[str]) -> str:
        """The update, under a condition now and then."""
        return f"if {self.pick(elements)} > 0\n{update}\nend" if not self.single and self.chance(5) else update

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
                schedule = self.pick((STATIC, f"dynamic_schedule({self.between(1, 3)})"))
                header = f"parallel(_, {self.on[index]}, {schedule})"
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
def kernels(draw: st.DrawFn, single: bool = False) -> str:
    """Draws texts of kernels with open inputs; with `single`, `program.einsum()` describes each fully."""
    return KernelWriter(drawn_by(draw).between, single).program()
