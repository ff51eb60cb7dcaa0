"""Match the moves of a list's cursor in a loop, for passes that leave lists to code of C's own."""

from __future__ import annotations

from wingspan.base.dataclass import dataclass
from wingspan.plan.ir import Const, Expr, If, Load, Op, Reg, Set, Stmt
from wingspan.plan.kernels import Listed
from wingspan.plan.uses import registers


@dataclass(frozen=True)
class Onward:
    """The advance of a cursor: to the next entry of a list, whose index is loaded if there is one."""

    list: Listed
    index: Reg
    advance: Stmt
    ahead: Stmt
    load: Load

    def needs(self) -> tuple[Reg, ...]:
        """The registers that nothing else in a round may set."""
        return self.list.at, self.index, self.list.ref.instance, *registers(self.list.end)


def onward(end: tuple[Stmt, ...], more: Expr) -> Onward | None:
    """Match two statements that advance a cursor while there is `more`; None if it is in no list that C compares."""
    match end, more:
        case (
            (
                Set(reg=at, value=Op(op="+", args=(before, Const(value=1)))) as advance,
                If(
                    condition=left,
                    then=(Load(reg=loaded, ref=ref, index=where) as load, Set(reg=index, value=value)),
                    otherwise=(),
                ) as ahead,
            ),
            Op(op="<", args=(cursor, stop)),
        ) if at == before == where == cursor and value == loaded and left == more:
            if ref.frozen and ref.buffer.width == "i32" and not ref.buffer.hashed:
                return Onward(Listed(ref, at, stop), index, advance, ahead, load)
    return None
