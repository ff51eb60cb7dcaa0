"""The rules that the figure omits: loops, scopes and tasks that end, and what levels do at those moments."""

from __future__ import annotations

from typing import Any

from wingspan.buffers import procedures
from wingspan.lang import ir
from wingspan.semantics.config import Chunk, Config, Cursor, Dirty, Handle, Scope
from wingspan.semantics.memory import RuleMemory
from wingspan.semantics.rules.registry import rule
from wingspan.semantics.rules.serial import bounds


@rule("ScopeExit", ir.Skip, figure=False)
def scope_exit(C: Config, μ: RuleMemory) -> Config | None:
    """
    ───────────────────────────────────────────
      ⟨⟨skip, t, σ_l⟩, t, σ⟩ → ⟨skip, t, σ⟩
    """
    return Config(C.s, C.t, C.E.store, C.E.E) if isinstance(C.E, Scope) else None


@rule("ForEmpty", ir.For, figure=False)
def for_empty(C: Config, μ: RuleMemory) -> Config | None:
    """
                     a > b
    ───────────────────────────────────────────────
      ⟨for i = a:b do s end, t, σ⟩ → ⟨skip, t, σ⟩

    Nothing is unfurled: a task whose share of a loop is empty touches no level.
    """
    if not isinstance(C.s.range, ir.Range):
        return None
    a, b = bounds(C)
    if a <= b:
        return None
    if μ.is_recording:
        μ.record_bindings({"i": C.s.index, "a": a, "b": b, "s": C.s.body})
    return C.with_redex(ir.SKIP)


@rule("Run", ir.Enter, figure=False)
def run(C: Config, μ: RuleMemory) -> Config | None:
    """
      all fibers F with access(F, j…, i) in s are entered
    ────────────────────────────────────────────────────────────────
      ⟨enter(i, s), t, σ⟩ → ⟨s; leave(Fₘ); …; leave(F₁), t, σ⟩
    """
    if C.s.reads or C.s.updates:
        return None
    left = tuple(reversed(C.s.left))
    if μ.is_recording:
        μ.record_bindings({"i": C.s.index, "s": C.s.body, "leave(Fₘ); …; leave(F₁)": left or ir.SKIP})
    return C.with_redex(ir.seq(C.s.body, *left))


@rule("Leave", ir.Leave, figure=False)
def leave(C: Config, μ: RuleMemory) -> Config | None:
    """
                 cursor c of F, child(q) at i
    ─────────────────────────────────────────────
      ⟨leave(F), t, σ⟩ → ⟨skip, t, σ′⟩

    If F is read, c is advanced past i. If F is updated, first the modifiers around child(q) end what they did for it;
    then, if something below it was written, F records it and c is advanced.
    """
    s = C.s
    F = s.fiber
    tower = μ.towers[F.tensor]
    cursor: Cursor = μ.lookup(C, F)
    written = s.child is not None and tower.tracks_writes(F.level - 1) and C.σ[Dirty(s.child)]
    frame = s.frame
    if frame is None:
        op = μ.handle(C, F.tensor).op
        code = (
            procedures.next_(tower, F.level) if s.child is None else procedures.VISIT.leave(tower, F.level, written, op)
        )
        registers = {**dict(cursor.registers), "index": s.at + F.by, **dict(s.bound)}
        frame = μ.start(C, code, F.tensor, μ.instance(C, F), **registers)
    frame = μ.perform_next(C, frame)
    if μ.is_recording:
        μ.record_bindings(
            {"F": F, "c": str(cursor).removeprefix("cursor"), "i": s.at} | ({"q": s.child.position} if s.child else {}),
            frame.has_ended,
        )
    if not frame.has_ended:
        return C.with_redex(ir.Leave(F, s.at, s.child, s.bound, frame, span=s.span))
    C = μ.write(C, F, Cursor(cursor.updating, tuple(frame.result().items())))
    if written and tower.tracks_writes(F.level):
        C = μ.write(C, Dirty(F), True, effect=None)
    return C.with_redex(ir.SKIP)


@rule("ForEnd", ir.For, figure=False)
def for_end(C: Config, μ: RuleMemory) -> Config | None:
    """
                              a > b
    ─────────────────────────────────────────────────────────────────────────
      ⟨for i = looplet(a:b) do s end, t, σ⟩ → ⟨finish(Fₘ); …; finish(F₁), t, σ⟩
    """
    r = C.s.range
    if not isinstance(r, ir.Looplet) or r.start <= r.stop:
        return None
    finishes: list[Any] = [ir.Finish(F, span=F.span) for F in reversed(r.fibers) if _closes(C, μ, F)]
    if μ.is_recording:
        terms = {"i": C.s.index, "a": r.start, "b": r.stop, "s": C.s.body}
        μ.record_bindings({**terms, "finish(Fₘ); …; finish(F₁)": tuple(finishes) or ir.SKIP})
    return C.with_redex(ir.seq(*finishes))


def _closes(C: Config, μ: RuleMemory, F: ir.Fiber) -> bool:
    """Whether something is to be done when the iteration over F ends."""
    tower = μ.towers[F.tensor]
    ends = not μ.level(F).lookup or procedures.unbinds(tower, tower.use_modifiers(F.level))
    return ends and bool(μ.lookup(C, F).updating)


@rule("Finish", ir.Finish, figure=False)
def finish(C: Config, μ: RuleMemory) -> Config | None:
    """
             close(F) ends
    ──────────────────────────────────────
      ⟨finish(F), t, σ⟩ → ⟨skip, t, σ⟩

    Then the modifiers that took effect when F was unfurled end what they did: a Mutex gives its lock back.
    """
    F = C.s.fiber
    frame = C.s.frame
    if frame is None:
        cursor: Cursor = μ.lookup(C, F)
        code = procedures.VISIT.close(μ.towers[F.tensor], F.level, μ.handle(C, F.tensor).op)
        frame = μ.start(C, code, F.tensor, μ.instance(C, F), **dict(cursor.registers))
    frame = μ.perform_next(C, frame)
    if μ.is_recording:
        μ.record_bindings({"F": F}, frame.has_ended)
    return C.with_redex(ir.SKIP) if frame.has_ended else C.with_redex(ir.Finish(F, frame, span=C.s.span))


@rule("Checkout", ir.Checkout, figure=False)
def checkout(C: Config, μ: RuleMemory) -> Config | None:
    """
             m = read                    m = update(⊕)                      m = undeclared
    ────────────────────────    ────────────────────────────    ─────────────────────────────────────
      the handle serves as is     each level checks out           σ[T ↦ a copy that is this task's own]
    """
    s = C.s
    if s.mode == "undeclared":
        if μ.is_recording:
            μ.record_bindings({"m": s.mode, "T": s.tensor})
        return C.with_redex(ir.SKIP).bind(s.tensor, Handle("undeclared", "", 0, C.t.chain))
    return _transfer(C, μ, "checkout")


@rule("Commit", ir.Commit, figure=False)
def commit(C: Config, μ: RuleMemory) -> Config | None:
    """
             m = read                    m = update(⊕)                      m = undeclared
    ────────────────────────    ────────────────────────────    ─────────────────────────────────────
      nothing                     each level commits              the copy is dropped
    """
    s = C.s
    if s.mode == "undeclared":
        if μ.is_recording:
            μ.record_bindings({"m": s.mode})
        μ.drop(s.tensor, C.t.chain)
        return C.with_redex(ir.SKIP)
    return _transfer(C, μ, "commit")


def _transfer(C: Config, μ: RuleMemory, operation: str) -> Config:
    s = C.s
    if s.mode == "read":
        if μ.is_recording:
            μ.record_bindings({"m": s.mode})
        return C.with_redex(ir.SKIP)
    frame = s.frame
    if frame is None:
        code = procedures.transfer(μ.towers[s.tensor], s.level, operation, μ.handle(C, s.tensor).op)
        frame = μ.start(C, code, s.tensor, s.instance)
    frame = μ.perform_next(C, frame)
    if μ.is_recording:
        μ.record_bindings({"m": s.mode, "⊕": μ.handle(C, s.tensor).op}, frame.has_ended)
    if frame.has_ended:
        return C.with_redex(ir.SKIP)
    return C.with_redex(type(s)(s.tensor, s.level, s.mode, s.task, s.instance, frame, span=s.span))


@rule("Join", ir.Par, figure=False)
def join(C: Config, μ: RuleMemory) -> Config | None:
    """
    ─────────────────────────────────────────────────────────────────────────
      ⟨⟨skip, t₁, σ₁⟩ ‖ … ‖ ⟨skip, tₙ, σₙ⟩, t, σ⟩ → ⟨skip, t, σ⟩
    """
    contexts = C.s.contexts
    if not all(child.has_finished for child in contexts):
        return None
    if μ.is_recording and contexts:
        μ.record_bindings({"t₁": contexts[0].t, "tₙ": contexts[-1].t})
    return C.with_redex(ir.SKIP)


@rule("WorkerEnd", ir.Worker, figure=False)
def worker_end(C: Config, μ: RuleMemory) -> Config | None:
    """
      j = σ_g[i_chunk]        j > b        kind(h) = dynamic
    ──────────────────────────────────────────────────────────────────────
      ⟨⟨worker(i, a:b, h, s), t, σ⟩, t_g, σ_g⟩ → ⟨⟨skip, t, σ⟩, t_g, σ_g⟩
    """
    _, b = bounds(C)
    j = μ.lookup(C, Chunk(C.s.index))
    if C.s.schedule.kind != "dynamic" or j <= b:
        return None
    if μ.is_recording:
        terms = {"i": C.s.index, "a": C.s.range.start, "b": b, "h": C.s.schedule, "s": C.s.body}
        μ.record_bindings({**terms, "i_chunk": Chunk(C.s.index), "j": j, "t_g": μ.owner(C, Chunk(C.s.index))})
    μ.look_at_chunk(C, Chunk(C.s.index))
    return C.with_redex(ir.SKIP)
