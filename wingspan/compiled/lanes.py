"""Loops over rows as C: some cells of a row at once, in vectors that stay in registers (`passes/tile.py`)."""

from __future__ import annotations

from wingspan.compiled.expressions import FunctionContext, offset
from wingspan.compiled.lexical import indent
from wingspan.compiled.registers import declare, reads
from wingspan.plan.ir import Load, Reg, Set, Stmt, Store, While, walk
from wingspan.plan.kernels import Tile
from wingspan.plan.passes.tile import index, same, times
from wingspan.plan.uses import registers, rename


class LaneWriter:
    """Writes the loop over lanes of a `Tile` for a block of these, whose cells are in an array of vectors."""

    def __init__(self, around: FunctionContext, s: Tile, loop: While, cell: Store) -> None:
        self.around, self.loop, self.cell = around, loop, cell
        self.front = {s.lane: s.front}
        self.cells, self.k = around.names.new("cells"), around.names.new("k")
        self.vectors: set[Reg] = set()
        others = [each for each in walk(s.body) if each is not loop and not any(each is part for part in loop.body)]
        self.unread = None if any(s.lane in reads(each) for each in others) else s.lane
        """the register of the lane, if only the loop reads it, which has another one for it"""

    def at(self, s: Load | Store) -> str:
        """The lanes of a row, beginning with the one of the front."""
        cells = self.around.cell_name(s.ref.instance, s.ref.buffer)
        first = offset(rename(index(s.index, self.loop), self.front), self.around.names)
        return f"WS_LANES_AT({cells}, {first}, {self.k})"

    def load(self) -> list[str]:
        """The cells as they are before the rounds."""
        each = f"{self.cells}[{self.k}] = {self.at(self.cell)};"
        return [f"ws_lanes {self.cells}[WS_TILE / WS_LANES];", f"WS_EACH({self.k}) {each}"]

    def store(self) -> list[str]:
        """The cells as they are after the rounds."""
        return [f"WS_EACH({self.k}) {self.at(self.cell)} = {self.cells}[{self.k}];"]

    def rounds(self) -> list[str]:
        """The effects of a round on the cells."""
        lines = [line for s in self.loop.body for line in self.statement(s)]
        return [f"WS_EACH({self.k}) {{", *indent(lines), "}"]

    def statement(self, s: Stmt) -> list[str]:
        around = self.around
        match s:
            case Load(reg=reg) if same(s, self.cell, self.loop):
                return self.vector(reg, f"{self.cells}[{self.k}]")
            case Load(reg=reg, index=e) if times(index(e, self.loop), *self.front):
                return self.vector(reg, self.at(s))
            case Load(reg=reg):
                return [f"const {declare(around.names, reg)} = {around.load(s)};"]
            case Set(reg=reg, value=value) if reg.type.is_double:
                if self.vectors & {*registers(value)}:
                    return self.vector(reg, around.text(value))
                return [f"const {declare(around.names, reg)} = {around.text(value)};"]
            case Store(value=value):
                return [f"{self.cells}[{self.k}] = {around.text(value)};"]
        return []

    def vector(self, reg: Reg, value: str) -> list[str]:
        self.vectors.add(reg)
        return [f"const ws_lanes {self.around.names.register(reg)} = {value};"]
