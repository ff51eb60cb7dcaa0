"""Random formats for the tensors of a program, and data that they can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wingspan.base.dataclass import dataclass
from wingspan.testing.formats import BOUNDED, STORAGE, fit_to_format, fitting, legal, worth
from wingspan.testing.program_parts import Drawing, DrawnTensor, is_gated
from wingspan.testing.vocabulary import FILLS, UPDATES, WIDTHS


@dataclass
class FormatWriter(Drawing):
    """Writes formats, and inputs in them."""

    def tensor_format(self, t: DrawnTensor, device: str = "") -> DrawnTensor:
        """A tensor, whose format may have levels that only tasks of the device, or of one nested in it, may update."""
        gated = [name for name in self.options.modifiers if is_gated(name) and self.options.parallel]
        gates: dict[int, str] = {}
        if device and gated and self.chance(max(self.options.modified // 2, 1)):
            first = self.pick(range(1, t.rank + 2))
            gates[first] = device
            if device == "dev" and first > 1 and t.rank > 1 and self.chance(2):
                gates[1] = "dev2"
        leaf, fill = self.pick(self.leaves(t)), self.pick(FILLS[t.kind])
        if t.kind in WIDTHS and self.options.narrow and self.chance(self.options.narrow):
            fill = f"{fill}, {self.pick(WIDTHS[t.kind])}"
        text = f"{leaf}({fill})" if leaf != "Pattern" else "Pattern()"
        needs: dict[int, str] = {}
        together = "SparseCOO" in self.options.levels and t.rank == 2 and not gates and self.chance(4)
        for number in (1, 3) if together else range(1, t.rank + 2):
            if number > 1 and together:
                text = f"SparseCOO(2, {text})"
            elif number > 1:
                text = f"{self.level(self.options.levels, text)}({text})"
            inner = text = self.wrap(text)
            if number in gates and (bound := self.gate(gated, gates[number], text)) != text:
                text = self.gate(gated, gates[number], bound) if self.chance(8) else bound
                inner = text = self.wrap(text)
                late = number > t.rank or inner.startswith(("Mutex(", "Isolate(Mutex("))
                needs[number - 1 if late else number] = gates[number]
        joining = [op for op in UPDATES[t.kind] if op != "=" and (op, leaf) != ("&=", "Pattern")]
        op = self.pick(joining) if "Merge(" in text and t.op == "=" else t.op
        return replace(t, op=op if not self.chance(8) else t.op, form=text, gates=tuple(needs.items()))

    def level(self, among: Sequence[str], text: str) -> str:
        """A storage level that can hold a format."""
        name = self.pick(among)  # most can; asking all of them would take longer than writing the rest of the program
        return name if legal(f"{name}({text})") else self.pick(fitting(among, text))

    def leaves(self, t: DrawnTensor) -> Sequence[str]:
        """The leaves that a tensor may have."""
        held = (
            t.kind == "bool"
            and t.rank
            and t.op in UPDATES["bool"]
            and t.op != "&="
            and fitting(self.options.levels, "Pattern()")
        )
        return [leaf for leaf in self.options.leaves if held or leaf != "Pattern"]

    def gate(self, gated: Sequence[str], device: str, text: str) -> str:
        """A format in a modifier that admits only tasks of the device, if one fits."""
        fitting = [form for form in (f"{name}({device}, {text})" for name in gated) if legal(form)]
        return self.pick(fitting) if fitting else text

    def wrap(self, text: str) -> str:
        """A format, now and then in a modifier without a device."""
        free = [name for name in self.options.modifiers if not is_gated(name)]
        return f"{self.pick(free)}({text})" if free and self.chance(self.options.modified) else text

    def data(self, t: DrawnTensor) -> str:
        choices = {"int": ("0", "1", "2", "0"), "float": ("0.0", "0.5", "2.0", "0.0"), "bool": ("true", "false")}[
            t.kind
        ]
        choices = tuple(str(k + 1) for k in range(self.n)) if t.name == "r" else choices
        n = self.beside if t.name == "u" else self.n
        rows = [[self.pick(choices) for _ in range(n)] for _ in range(n if t.rank == 2 else 1)]
        form = f"Element({FILLS[t.kind][0]})"
        bounded = [] if t.name == "r" else [level for level in BOUNDED if level in self.options.levels]
        storage = (*STORAGE, *bounded)
        if t.kind == "bool" and "Pattern" in self.options.leaves and self.chance(3):
            form = "Pattern()"
        together = t.rank == 2 and self.chance(8)
        for number in range(0 if not together else 2, t.rank + 1):
            level = "SparseCOO(2, " if together else f"{self.level(storage, form)}(" if number else ""
            form = f"{level}{form})" if level else form
            if self.options.modifiers and self.options.parallel and self.chance(8):
                name = self.pick(self.options.modifiers)
                inner = f"{name}({'dev, ' * is_gated(name)}{form})"
                form = inner if legal(inner) else form
        array = np.array([[worth(text) for text in row] for row in rows])
        kept = fit_to_format(form, array if t.rank == 2 else array[0], FILLS[t.kind][0])
        written = [[str(x).lower() for x in row] for row in kept.reshape(-1, n).tolist()]
        text = ", ".join(written[0]) if t.rank == 1 else "; ".join(map(" ".join, written))
        return f"{t.name} = Tensor({form}, [{text}{';' if t.rank == 2 and n == 1 else ''}])"
