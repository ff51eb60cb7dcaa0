"""Tensors: Access, Assign, Declare, Freeze, Thaw. Each suspends into the small program of its level."""

from __future__ import annotations

from typing import Any

from wingspan.base.errors import Fault
from wingspan.buffers import procedures
from wingspan.buffers.frames import Frame
from wingspan.lang import algebra, ir
from wingspan.lang.ir import Access, Literal
from wingspan.semantics.config import Config, Dirty, Handle
from wingspan.semantics.memory import RuleMemory, fault_unless
from wingspan.semantics.rules.registry import rule
from wingspan.semantics.rules.serial import reads_update


@rule("Access", Access, ir.Unwrap)
def access(C: Config, μ: RuleMemory) -> Config | None:
    """
      ⟨mode(F), t, σ⟩ → read        ⟨unwrap(F), t, σ⟩ → v
    ───────────────────────────────────────────────────────
            ⟨s, t, σ⟩ → ⟨s[access(F) ↦ v], t, σ⟩

    Only the redex is replaced: another access to F may be evaluated after F has changed.
    """
    s = C.s
    if isinstance(s, Access) and s.subscripts:
        _require_index(C, μ, s)
        return None
    F = s.fiber
    if reads_update(C, μ, F):
        return None
    if isinstance(s, Access):
        mode = μ.handle(C, F.tensor).mode
        fault_unless(mode == "read", f"{F.tensor} is read while it is in {mode} mode", C)
        code = procedures.unwrap(μ.towers[F.tensor])
        frame = μ.start(C, code, F.tensor, μ.instance(C, F), position=F.position)
    else:
        frame = s.frame
    return _continue_unwrap(C, μ, F, frame, {})


@rule("AccessUpdated", Access, ir.Unwrap, figure=False)
def access_updated(C: Config, μ: RuleMemory) -> Config | None:
    """
      ⟨mode(F), t, σ⟩ → update(⊕)        the position of F is computed        ⟨unwrap(F), t, σ⟩ → v
    ─────────────────────────────────────────────────────────────────────────────────────────────────
                           ⟨s, t, σ⟩ → ⟨s[access(F) ↦ v], t, σ⟩

    In the paper a tensor that is updated is not read until it is frozen. Where positions are computed, as in Dense
    levels, an element is found while others are updated, so a statement may read what it updates. The value is the
    present one: what the same task has written before, and what other tasks have written so far. A Mutex around the
    leaf holds its lock meanwhile, one further out as long as its fiber is unfurled. An Atomic element is read in a step
    that does not race with atomic updates; one of an Element races with any.
    """
    s = C.s
    F = s.fiber
    if (isinstance(s, Access) and s.subscripts) or not reads_update(C, μ, F):
        return None
    if isinstance(s, Access):
        code = procedures.unwrap_updated(μ.towers[F.tensor], μ.handle(C, F.tensor).op)
        frame = μ.start(C, code, F.tensor, μ.instance(C, F), position=F.position)
    else:
        frame = s.frame
    return _continue_unwrap(C, μ, F, frame, {"⊕": μ.handle(C, F.tensor).op})


def _continue_unwrap(C: Config, μ: RuleMemory, F: ir.Fiber, frame: Frame, terms: dict[str, Any]) -> Config:
    """C after the next access of reading an element; `terms` are bindings of further metavariables."""
    s = C.s
    frame = μ.perform_next(C, frame)
    if not frame.has_ended:
        if μ.is_recording:
            μ.record_bindings({"F": F, "s": Access(F, ()), **terms}, done=False)
        return C.with_redex(ir.Unwrap(F, frame, span=s.span))
    value = Literal(frame.result()["value"], span=s.span)
    if μ.is_recording:
        μ.record_bindings({"F": F, "s": Access(F, ()), "v": value, **terms})
    return C.with_redex(value)


def _require_index(C: Config, μ: RuleMemory, a: Access) -> None:
    """A Fault if the next index of an access is out of bounds. If not, no loop has unfurled it, and C is stuck."""
    F, last = a.fiber, a.subscripts[-1]
    i = μ.lookup(C, last.name) if isinstance(last, ir.Index) else None
    if i is not None and not 1 <= i + F.by <= μ.extent(F):
        raise Fault(f"{F.tensor} has the indices 1:{μ.extent(F)} on axis {F.level - 1}, got {i + F.by}", a.span)


@rule("Assign", ir.Assign, ir.Increment)
def assign(C: Config, μ: RuleMemory) -> Config | None:
    """
      ⟨mode(F), t, σ⟩ → update(⊕)        ⟨increment(F, ⊕, e), t, σ⟩ → σ′
    ──────────────────────────────────────────────────────────────────────
               ⟨assign(access(F), ⊕, e), t, σ⟩ → ⟨skip, t, σ′⟩

    e is a value first. A Mutex around the leaf holds its lock for the increment. What levels above need to know, that
    something below them was written, is reported at the end, unless a Pattern was updated by false.
    """
    s = C.s
    if isinstance(s, ir.Assign):
        F, op = s.access.fiber, s.op
        if s.access.subscripts:
            _require_index(C, μ, s.access)
            return None
        _require_update(C, μ, F.tensor, op)
        tower = μ.towers[F.tensor]
        value = Literal(algebra.convert(s.value.value, tower.kind))  # type: ignore[union-attr]
        code = procedures.increment(tower, op)
        frame = μ.start(C, code, F.tensor, μ.instance(C, F), position=F.position, value=value.value)
    else:
        F, op, value, frame = s.fiber, s.op, s.value, s.frame
    frame = μ.perform_next(C, frame)
    if μ.is_recording:
        μ.record_bindings({"F": F, "⊕": op, "e": value}, frame.has_ended)
    if not frame.has_ended:
        return C.with_redex(ir.Increment(F, op, value, frame, span=s.span))
    if μ.towers[F.tensor].tracks_writes(1) and frame.result().get("written", True):
        # All tasks write the same value and none reads it before they have joined: no step of its own, no race.
        C = μ.write(C, Dirty(F), True, effect=None)
    return C.with_redex(ir.SKIP)


def _require_update(C: Config, μ: RuleMemory, tensor: str, op: ir.Operator) -> None:
    handle = μ.handle(C, tensor)
    fault_unless(handle.mode == "update", f"{tensor} is updated while it is in {handle.mode} mode", C)
    fault_unless(handle.op == op, f"{tensor} is updated with {op} in a phase of {handle.op}", C)


@rule("Declare", ir.Declare)
def declare(C: Config, μ: RuleMemory) -> Config | None:
    """
      ⟨mode(T), t, σ⟩ → undeclared        ⟨mode(T), t, σ′⟩ → update(⊕)
    ────────────────────────────────────────────────────────────────────
              ⟨declare(T, z, ⊕, n…), t, σ⟩ → ⟨skip, t, σ′⟩

    The mode is bound in the innermost store, so that leaving the scope makes T undeclared again. z is T's fill value
    from here on.
    """
    s = C.s
    handle = μ.handle(C, s.tensor)
    tower = μ.towers[s.tensor]
    fault_unless(handle.mode == "undeclared", f"{s.tensor} is declared while it is in {handle.mode} mode", C)
    z = tower.width.round_to_width(algebra.convert(s.init.value, tower.kind))
    code = procedures.whole_tensor_code(tower, "declare", s.op)
    frame = μ.perform_next(C, s.frame or μ.start(C, code, s.tensor, handle.instance, z=z))
    if μ.is_recording:
        μ.record_bindings({"T": s.tensor, "z": Literal(z), "⊕": s.op, "n…": tower.shape}, frame.has_ended)
    if not frame.has_ended:
        return C.with_redex(ir.Declare(s.tensor, s.init, s.op, s.extents, frame, span=s.span))
    return C.with_redex(ir.SKIP).bind(s.tensor, Handle("update", s.op, z, handle.instance))


@rule("Freeze", ir.Freeze)
def freeze(C: Config, μ: RuleMemory) -> Config | None:
    """
      T ∈ dom(σ)      ⟨mode(T), t, σ⟩ → update(⊕)      ⟨mode(T), t, σ′⟩ → read
    ────────────────────────────────────────────────────────────────────────────
                  ⟨freeze(T, ⊕), t, σ⟩ → ⟨skip, t, σ′⟩
    """
    return _change_mode(C, μ, "freeze", before="update", after="read")


@rule("Thaw", ir.Thaw)
def thaw(C: Config, μ: RuleMemory) -> Config | None:
    """
      T ∈ dom(σ)      ⟨mode(T), t, σ⟩ → read      ⟨mode(T), t, σ′⟩ → update(⊕)
    ────────────────────────────────────────────────────────────────────────────
                   ⟨thaw(T, ⊕), t, σ⟩ → ⟨skip, t, σ′⟩
    """
    return _change_mode(C, μ, "thaw", before="read", after="update")


def _change_mode(C: Config, μ: RuleMemory, operation: str, before: str, after: str) -> Config:
    s = C.s
    handle = C.σ.get(s.tensor)
    if not isinstance(handle, Handle):
        raise Fault(f"{operation}({s.tensor}) outside of the scope that declares {s.tensor}", s.span)
    fault_unless(handle.mode == before, f"{operation}({s.tensor}) while it is in {handle.mode} mode", C)
    code = procedures.whole_tensor_code(μ.towers[s.tensor], operation, handle.op or s.op)
    try:
        frame = μ.perform_next(C, s.frame or μ.start(C, code, s.tensor, handle.instance))
    except Fault as fault:  # copies are merged element by element
        raise Fault(f"{operation}({s.tensor}): {fault.message}", s.span) from None
    if μ.is_recording:
        μ.record_bindings({"T": s.tensor, "⊕": s.op if after == "update" else handle.op}, frame.has_ended)
    if not frame.has_ended:
        return C.with_redex(type(s)(s.tensor, s.op, frame, span=s.span))
    op = s.op if after == "update" else ""
    return C.with_redex(ir.SKIP).bind(s.tensor, Handle(after, op, handle.fill, handle.instance))
