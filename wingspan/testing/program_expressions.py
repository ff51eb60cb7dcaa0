"""Random expressions and accesses for a place in a program."""

from __future__ import annotations

from wingspan.base.dataclass import dataclass
from wingspan.testing.program_parts import Drawing, DrawnTensor, StatementScope
from wingspan.testing.vocabulary import COMPARISONS, FILLS, FUNCTIONS, LITERALS, OPERATORS


@dataclass
class ExpressionWriter(Drawing):
    """Writes expressions and accesses, whose subscripts lie in 1:n, or may be missing."""

    def access(self, here: StatementScope, t: DrawnTensor, pure: bool = False, depth: int = 1) -> str:
        """An element; the last subscripts tend to be those of the outer loops. `pure`: with static subscripts."""
        indices = [index for index, static in here.indices if static or not pure]
        if self.chance(2) and len(indices) >= t.rank:
            chosen = indices[: t.rank] if self.chance(2) else indices[len(indices) - t.rank :]
            return f"{t.name}[{', '.join(reversed(chosen))}]"
        given = [self.subscript(here, indices, pure, depth, t.inferred and not pure) for _ in range(t.rank)]
        return f"{t.name}[{', '.join(given)}]"

    def gated_element(self, here: StatementScope, t: DrawnTensor) -> str | None:
        """An element of a gated tensor, root first: the loop over each subscript runs on the device of its gate.

        A subscript that is not the index of a loop inside the previous one gets a loop around the statement.
        """
        gates = dict(t.gates)
        innermost = here.around[-1] if here.around else ""
        if gates.get(0, innermost) != innermost:
            return None
        last, subscripts = -1, []
        names = [index for index, _ in here.indices]
        for axis in range(t.rank, 0, -1):
            wanted = gates.get(axis)
            loops = [
                index for k, (index, static) in enumerate(here.indices)
                if k > last and (static or not t.inferred) and wanted in (None, here.on[k])
            ]  # fmt: skip
            if wanted in (None, innermost) and not (loops and self.chance(2)):
                e = self.subscript(here, loops, t.inferred, 1, False)
            elif loops:
                e = self.pick(loops)
            else:
                return None
            last = names.index(e) if e in names else len(names)
            subscripts.append(e)
        return f"{t.name}[{', '.join(reversed(subscripts))}]"

    def read(self, here: StatementScope, t: DrawnTensor) -> str:
        """An element, with a replacement where subscripts leave their axes."""
        if here.indices and t.kind == "int" and self.options.guarded and self.chance(self.options.guarded):
            i = self.pick(here.indices)[0]
            return f"ifelse({i} <= {self.beside}, u[{i}], {self.pick(LITERALS['int'])})"
        if not (t.rank and here.indices and self.options.shifted and self.chance(self.options.shifted)):
            return self.access(here, t)
        given = [self.shifted_subscript(here) for _ in range(t.rank)]
        if not any(e.startswith("~") for e in given):
            return f"{t.name}[{', '.join(given)}]"
        choices: tuple[str, ...] = (*LITERALS[t.kind], FILLS[t.kind][0])
        # subscripts that are loaded would be searched for, which only happens where the access is missing
        same = [other for other in here.reads if other.kind == t.kind and other.rank and not other.inferred]
        z = self.pick(choices) if not same or self.chance(4) else self.access(here, self.pick(same), depth=0)
        return f"coalesce({t.name}[{', '.join(given)}], {z})"

    def shifted_subscript(self, here: StatementScope) -> str:
        """A subscript that usually may leave its axis. If so, it is an index, perhaps with an offset."""
        i, j = (self.pick(here.indices)[0] for _ in range(2))
        if self.chance(4):
            return self.pick((i, i, f"{i} - 1", "1"))
        k = self.pick((1, 1, 2, 3))
        shifts = (f"{i} - {k}", f"{i} + {k}", f"{k} + {i}", f"{i} + {j} - {self.n}", f"{i} - {j} + {k}", f"{j} - {i}")
        return self.pick((f"~{i}", f"~{i}", *(f"~({e})" for e in shifts), f"~(2 * {i} - 1)", f"~{k}", f"~v[{i}]"))

    def subscript(self, here: StatementScope, indices: list[str], pure: bool, depth: int, computed: bool) -> str:
        """A subscript in 1:n; not a constant if `computed`."""
        n = self.n
        choices = [str(self.pick(range(1, n + 1)))]
        if computed:
            choices = [f"r[{choices[0]}]"]
        for i in indices:
            choices += [i, i, i, f"{n + 1} - {i}", f"{i} % {n} + 1", f"min({i} + 1, {n})", f"max({i} - 1, 1)"]
        if pure:
            choices += [f"{i} - {i} % 2 + 1" for i in indices]
        elif depth:
            loaded = self.access(here, DrawnTensor("r", 1, "int"), depth=0)
            choices += [loaded, loaded, f"{loaded} % {n} + 1"]
        return self.pick(choices)

    def expression(self, here: StatementScope, kind: str, depth: int = 2) -> str:
        leaves = [lambda: self.pick(LITERALS[kind])]
        kinds = ("int", "float") if kind == "float" else (kind,)
        tensors = [t for t in here.reads if t.kind in kinds]
        leaves += [lambda: self.read(here, self.pick(tensors))] * 3 if tensors else []
        variables = [name for name, k in here.variables if k in kinds]
        leaves += [lambda: self.pick(variables)] if variables else []
        part = {"float": "first", "int": "second"}.get(kind)
        held = [t for t in here.reads if t.kind == "pair"]
        leaves += [lambda: f"{part}({self.read(here, self.pick(held))})"] if part and held else []
        if kind in ("int", "float") and here.indices:
            leaves.append(lambda: self.pick(here.indices)[0])
        if depth == 0 or self.chance(2):
            return self.pick(leaves)()
        if kind == "pair":
            return f"({self.expression(here, 'float', depth - 1)}, {self.expression(here, 'int', depth - 1)})"
        if self.options.functions and self.chance(self.options.functions):
            x, y = (self.expression(here, kind, depth - 1) for _ in range(2))
            return f"{self.pick(FUNCTIONS[kind])}({x}, {y})"
        if self.options.missing and self.chance(self.options.missing):
            return self.default_missing(here, kind)
        a = self.expression(here, "int" if kind == "bool" else kind, depth - 1)
        b = self.expression(here, "int" if kind == "bool" else kind, depth - 1)
        if kind == "bool":
            op = self.pick(COMPARISONS)
            truth = op in ("==", "!=") and self.chance(4)  # which counts as a number there
            return f"({a} {op} {self.expression(here, 'bool', depth - 1) if truth else b})"
        match self.pick(OPERATORS[kind]):
            case "min" | "max" | "gcd" as f:
                return f"{f}({a}, {b})"
            case "÷" | "%" | "/" | ">>" | "<<" as op:
                return f"({a}) {op} 2"
            case "⊻":
                return f"(~{a} ⊻ {b})"
            case op:
                return f"({a} {op} {b})"

    def default_missing(self, here: StatementScope, kind: str) -> str:
        """A value, or the answer whether there is one, of what may be missing."""
        first = self.perhaps(here, "int" if kind == "float" and self.chance(2) else kind)
        if kind == "bool" and self.chance(2):
            return f"ismissing({first})"
        others = [self.perhaps(here, kind)] if self.chance(3) else []
        return f"coalesce({', '.join((first, *others, self.present_value(here, kind)))})"

    def perhaps(self, here: StatementScope, kind: str, depth: int = 2) -> str:
        """An expression that may be missing."""
        known = self.present_value(here, kind)
        leaves = [f"ifelse({self.present_value(here, 'bool')}, {known}, missing)", "missing"]
        among = [t for t in here.reads if t.kind == kind and t.rank and not t.inferred]
        if among and here.indices:
            t = self.pick(among)
            shifts = (self.pick(("", "", " - 1", " + 1", " + 2")) for _ in range(t.rank))
            leaves += [f"{t.name}[{', '.join(f'~({self.pick(here.indices)[0]}{k})' for k in shifts)}]"] * 4
        if depth == 0 or self.chance(2):
            return self.pick(leaves)
        inner = self.perhaps(here, kind, depth - 1)
        parts = [
            f"ifelse({self.present_value(here, 'bool')}, {inner}, {known})",
            f"ifelse(ismissing({inner}), {known}, missing)",
        ]
        if kind == "bool":
            return self.pick((*parts, f"!{inner}", f"({inner} && {known})"))
        return self.pick((*parts, f"({inner} + {known})", f"({known} - {inner})", f"max({inner}, {known})"))

    def present_value(self, here: StatementScope, kind: str) -> str:
        """A value that is not missing, without a search."""
        among = [t for t in here.reads if t.kind == kind and t.rank and not t.inferred]
        leaves = [self.pick(LITERALS[kind])]
        leaves += [self.access(here, self.pick(among), depth=0)] if among else []
        leaves += [f"{self.pick(here.indices)[0]} > 1"] if kind == "bool" and here.indices else []
        return self.pick(leaves)
