"""Parallel loops and tasks: ParallelFor, Spawn, Transfer, ParLeft, ParRight, StaticFor, DynamicFor."""

from __future__ import annotations

from typing import Any

from wingspan.lang import ir
from wingspan.lang.devices import Device, Schedule, Task
from wingspan.lang.ir import Instance, Literal, Parallel
from wingspan.lang.terms import tensors
from wingspan.semantics.config import EMPTY, Chunk, Config, mode, refocus
from wingspan.semantics.memory import RuleMemory, fault_unless
from wingspan.semantics.rules.registry import rule
from wingspan.semantics.rules.serial import bounds


@rule("ParallelFor", ir.For)
def parallel_for(C: Config, μ: RuleMemory) -> Config | None:
    """
             parent(D) = device(t)        n = nthreads(D)
    ──────────────────────────────────────────────────────────────
      ⟨for i = parallel(a:b, D, h) do s end, t, σ⟩
        → ⟨spawn(worker(i, a:b, h, s), D, n), t, σ[i_chunk ↦ a]⟩
    """
    match C.s:
        case ir.For(i, Parallel(ir.Range() as ab, D, h), s):
            assert isinstance(D, Device) and isinstance(h, Schedule)
            here = C.t.device
            fault_unless(D.parent == here, f"{D} is spawned from {D.parent}, and this loop runs on {here}", C)
            a, _ = bounds(C)
            worker = ir.Worker(i, ab, h, s, span=C.s.span)
            if μ.is_recording:
                μ.record_bindings({**_loop(C), "D": D, "n": D.nthreads, "i_chunk": Chunk(i)})
            return C.with_redex(ir.Spawn(worker, D, Literal(D.nthreads), span=C.s.span)).bind(Chunk(i), a)
    return None


@rule("Spawn", ir.Spawn)
def spawn(C: Config, μ: RuleMemory) -> Config | None:
    """
      s′ = transfer(T₁, transfer(T₂, … transfer(Tₘ, s) …))        fiber(Tₖ, …) ∈ s for all k
    ────────────────────────────────────────────────────────────────────────────────────────────
      ⟨spawn(s, D, n), t, σ⟩ → ⟨⟨s′, task(D, 1, t), {}⟩ ‖ … ‖ ⟨s′, task(D, n, t), {}⟩, t, σ⟩
    """
    body = C.s.body
    if μ.is_recording:
        names = tensors(body)
        transfers = "".join(f"transfer({T}, " for T in names) + "…" + ")" * len(names)
        terms = {"D": C.s.device, "n": C.s.count, "s": body, "fiber(Tₖ, …)": tuple(f"fiber({T}, …)" for T in names)}
        μ.record_bindings({**terms, "s′": transfers, "transfer(T₁, transfer(T₂, … transfer(Tₘ, s) …))": transfers})
    for T in reversed(tensors(body)):
        body = ir.Transfer(T, body, span=C.s.span)
    tasks = (Task(C.s.device, q, C.t) for q in range(1, C.s.count.value + 1))
    return C.with_redex(ir.Par(tuple(refocus(Config(body, task, EMPTY)) for task in tasks), span=C.s.span))


@rule("Transfer", ir.Transfer)
def transfer(C: Config, μ: RuleMemory) -> Config | None:
    """
      ⟨mode(T), t, σ⟩ → m        l = max {k | fiber(T, k, p) ∈ s}
    ───────────────────────────────────────────────────────────────────────────────
      ⟨transfer(T, s), t, σ⟩ → ⟨checkout(T, l, m, t); s; commit(T, l, m, t), t, σ⟩

    A tensor that s declares is undeclared here. Where s reaches fibers in several instances, each instance is checked
    out, with its own l.
    """
    T, s = C.s.tensor, C.s.body
    m = mode(μ.handle(C, T))
    tops: dict[Instance, int] = {}
    for F in s.walk():
        if isinstance(F, ir.Fiber) and F.tensor == T:
            instance = μ.instance(C, F)
            tops[instance] = max(F.level, tops.get(instance, 0))
    tops = tops or {(): μ.towers[T].rank + 1}
    if μ.is_recording:
        μ.record_bindings({"T": T, "m": m, "l": max(tops.values()), "s": s})
    checkouts = (ir.Checkout(T, l, m, C.t, instance, span=C.s.span) for instance, l in tops.items())
    commits = (ir.Commit(T, l, m, C.t, instance, span=C.s.span) for instance, l in tops.items())
    return C.with_redex(ir.seq(*checkouts, s, *commits))


@rule("ParLeft", ir.Par)
def par_left(C: Config, μ: RuleMemory) -> Config | None:
    """
             ⟨C₁, t, σ⟩ → ⟨C₁′, t, σ′⟩
    ──────────────────────────────────────────
      ⟨C₁ ‖ C₂, t, σ⟩ → ⟨C₁′ ‖ C₂, t, σ′⟩

    Of n contexts, C₁ is the first and C₂ stands for the rest.
    """
    if μ.premise is None or μ.premise[0] > 0:
        return None
    _, stepped = μ.premise
    return C.with_redex(ir.Par((stepped, *C.s.contexts[1:]), span=C.s.span))


@rule("ParRight", ir.Par)
def par_right(C: Config, μ: RuleMemory) -> Config | None:
    """
             ⟨C₂, t, σ⟩ → ⟨C₂′, t, σ′⟩
    ──────────────────────────────────────────
      ⟨C₁ ‖ C₂, t, σ⟩ → ⟨C₁ ‖ C₂′, t, σ′⟩
    """
    if μ.premise is None or μ.premise[0] == 0:
        return None
    k, stepped = μ.premise
    contexts = C.s.contexts
    return C.with_redex(ir.Par((*contexts[:k], stepped, *contexts[k + 1 :]), span=C.s.span))


@rule("StaticFor", ir.Worker)
def static_for(C: Config, μ: RuleMemory) -> Config | None:
    """
      nthreads(device(t)) = n        threadid(t) = q        kind(h) = static
    ─────────────────────────────────────────────────────────────────────────────────────────
      ⟨worker(i, a:b, h, s), t, σ⟩
        → ⟨for i = a + ⌊(q-1)(b-a+1)/n⌋ : a + ⌊q(b-a+1)/n⌋ - 1 do s end, t, σ⟩
    """
    match C.s:
        case ir.Worker(i, _, h, s) if h.kind == "static":
            a, b = bounds(C)
            n, q = C.t.device.nthreads, C.t.threadid
            size = max(b - a + 1, 0)
            if μ.is_recording:
                μ.record_bindings({**_loop(C), "n": n, "q": q})
            start, stop = a + (q - 1) * size // n, a + q * size // n - 1
            return C.with_redex(ir.For(i, ir.Range(Literal(start), Literal(stop)), s, span=C.s.span))
    return None


@rule("DynamicFor", ir.Worker)
def dynamic_for(C: Config, μ: RuleMemory) -> Config | None:
    """
      j = σ_g[i_chunk]        j ≤ b        kind(h) = dynamic        step(h) = c
    ──────────────────────────────────────────────────────────────────────────────────────────────────────
      ⟨⟨worker(i, a:b, h, s), t, σ⟩, t_g, σ_g⟩
        → ⟨⟨for i = j:min(j+c-1, b) do s end; worker(i, a:b, h, s), t, σ⟩, t_g, σ_g[i_chunk ↦ j+c]⟩

    The claim is one atomic step.
    """
    match C.s:
        case ir.Worker(i, _, h, s) if h.kind == "dynamic":
            _, b = bounds(C)
            j, c = μ.lookup(C, Chunk(i)), h.step
            if j <= b:
                if μ.is_recording:
                    last = min(j + c - 1, b)
                    terms = {**_loop(C), "i_chunk": Chunk(i), "j": j, "c": c, "t_g": μ.owner(C, Chunk(i))}
                    μ.record_bindings({**terms, "j+c": j + c, "min(j+c-1, b)": last})
                C = μ.write(C, Chunk(i), j + c, effect="atomic")
                chunk = ir.Range(Literal(j), Literal(min(j + c - 1, b)))
                return C.with_redex(ir.seq(ir.For(i, chunk, s, span=C.s.span), C.s))
    return None


def _loop(C: Config) -> dict[str, Any]:
    """Bindings of the metavariables of a parallel loop, or of a worker of one."""
    r = C.s.range if isinstance(C.s, ir.Worker) else C.s.range.range
    h = C.s.schedule if isinstance(C.s, ir.Worker) else C.s.range.schedule
    return {"i": C.s.index, "a": r.start, "b": r.stop, "h": h, "s": C.s.body}
