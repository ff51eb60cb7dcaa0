"""Variables: ReadLocal, ReadGlobal, WriteLocal, WriteGlobal.

A name lives in the nearest enclosing store that binds it. The hops that the rules make from one context to the next
around it are one step; beyond the task's own contexts the store is shared, and the access is recorded like one to a
cell.
"""

from __future__ import annotations

from typing import Any

from wingspan.base.errors import Fault
from wingspan.lang import algebra, ir
from wingspan.lang.ir import Literal
from wingspan.semantics.config import Config
from wingspan.semantics.memory import RuleMemory
from wingspan.semantics.rules.registry import rule


@rule("ReadLocal", ir.Variable, ir.Index)
def read_local(C: Config, μ: RuleMemory) -> Config | None:
    """
         σ[x] = v
    ──────────────────
      ⟨x, t, σ⟩ → v
    """
    v = C.σ.get(C.s.name)
    if v is None:
        return None
    if μ.is_recording:
        μ.record_bindings({"x": C.s.name, "v": v})
    return C.with_redex(_literal(v))


@rule("ReadGlobal", ir.Variable, ir.Index)
def read_global(C: Config, μ: RuleMemory) -> Config | None:
    """
      ⟨x, t_g, σ_g⟩ → v        x ∉ dom(σ_l)
    ──────────────────────────────────────────────
      ⟨⟨x, t_l, σ_l⟩, t_g, σ_g⟩ → ⟨v, t_l, σ_l⟩

    The value stands in the context that asked for it, ⟨⟨v, t_l, σ_l⟩, t_g, σ_g⟩: as printed, the outer one is lost.
    """
    if C.s.name in C.σ:
        return None
    v = μ.read(C, C.s.name)
    if v is None:
        raise Fault(f"{C.s.name} has no value", C.span)
    if μ.is_recording:
        μ.record_bindings({"x": C.s.name, "v": v, "t_g": μ.owner(C, C.s.name)})
    return C.with_redex(_literal(v))


def _literal(v: Any) -> Literal:
    """The value in a store of a variable (a literal, so that 1, 1.0 and true stay apart) or an index."""
    return v if isinstance(v, Literal) else Literal(v)


@rule("WriteLocal", ir.Set)
def write_local(C: Config, μ: RuleMemory) -> Config | None:
    """
               ⟨y, t_l, σ_l⟩ → v
    ───────────────────────────────────────────
      ⟨x = y, t_l, σ_l⟩ → ⟨skip, t_l, σ_l[x ↦ v]⟩

    If x ∈ dom(σ_l), or if no store binds x: then x is new in the innermost scope.
    """
    x, v = C.s.name, Literal(algebra.exact(C.s.value.value))
    if x not in C.σ and μ.lookup(C, x) is not None:
        return None
    if μ.is_recording:
        μ.record_bindings({"x": x, "y": C.s.value, "v": v})
    return C.with_redex(ir.SKIP).bind(x, v)


@rule("WriteGlobal", ir.Set)
def write_global(C: Config, μ: RuleMemory) -> Config | None:
    """
      ⟨y, t_l, σ_l⟩ → v        x ∉ dom(σ_l)
    ────────────────────────────────────────────────────────────────────
      ⟨⟨x = y, t_l, σ_l⟩, t_g, σ_g⟩ → ⟨x = v; ⟨skip, t_l, σ_l⟩, t_g, σ_g⟩
    """
    x, v = C.s.name, Literal(algebra.exact(C.s.value.value))
    if x in C.σ or μ.lookup(C, x) is None:
        return None
    if μ.is_recording:
        μ.record_bindings({"x": x, "y": C.s.value, "v": v, "t_g": μ.owner(C, x)})
    return μ.write(C, x, v).with_redex(ir.SKIP)
