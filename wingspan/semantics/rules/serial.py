"""Serial statements and expressions: Call, Block, IfTrue, IfFalse, Unfurl, ShortCircuit, SerialFor, Payload, Child."""

from __future__ import annotations

from typing import Any, cast

from wingspan.base.errors import AssertionFault, Fault
from wingspan.buffers import procedures
from wingspan.buffers.frames import Frame
from wingspan.lang import algebra, ir
from wingspan.lang.ir import Literal, accesses
from wingspan.lang.printer import show
from wingspan.lang.terms import mentions, replace_access, through_view, unfurled_fibers
from wingspan.levels.base import FIBER
from wingspan.semantics.config import EMPTY, Config, Cursor, Dirty, Then
from wingspan.semantics.memory import RuleMemory, fault_unless
from wingspan.semantics.rules.registry import rule


@rule("Call", ir.Call)
def call(C: Config, μ: RuleMemory) -> Config | None:
    """
        ⟨e, t, σ⟩ ⇒ e′ for all e        ⟨f, t, σ⟩ ⇒ g
    ──────────────────────────────────────────────────────
               ⟨call(f, e…), t, σ⟩ → g(e′…)
    """
    values = [algebra.exact(argument.value) for argument in C.s.args]
    result = Literal(algebra.apply(C.s.op, *values))
    if μ.is_recording:
        evaluated = "; ".join(f"{show(e)} ⇒ {show(e)}" for e in C.s.args)
        terms = {"f": C.s.op, "g": C.s.op, "e…": C.s.args, "g(e′…)": result}
        μ.record_bindings({**terms, "⟨e, t, σ⟩ ⇒ e′ for all e": evaluated})
    return C.with_redex(result)


@rule("ChooseThen", ir.Choice, figure=False)
def choose_then(C: Config, μ: RuleMemory) -> Config | None:
    """
                ⟨e, t, σ⟩ ⇒ true
    ──────────────────────────────────────────
      ⟨ifelse(e, e₁, e₂), t, σ⟩ → ⟨e₁, t, σ⟩

    Also what coalesce is elaborated to: e says that no subscript with ~ leaves its axis, e₁ is the access.
    """
    if not _truth(C):
        return None
    if μ.is_recording:
        μ.record_bindings({"e": C.s.condition, "e₁": C.s.then, "e₂": C.s.otherwise})
    return C.with_redex(C.s.then)


@rule("ChooseElse", ir.Choice, figure=False)
def choose_else(C: Config, μ: RuleMemory) -> Config | None:
    """
                ⟨e, t, σ⟩ ⇒ false
    ──────────────────────────────────────────
      ⟨ifelse(e, e₁, e₂), t, σ⟩ → ⟨e₂, t, σ⟩

    The other expression is not evaluated: in a coalesce, the access that is missing.
    """
    if _truth(C):
        return None
    if μ.is_recording:
        μ.record_bindings({"e": C.s.condition, "e₁": C.s.then, "e₂": C.s.otherwise})
    return C.with_redex(C.s.otherwise)


@rule("Block", ir.Skip)
def block(C: Config, μ: RuleMemory) -> Config | None:
    """
          ⟨s₁, t, σ⟩ →* ⟨skip, t, σ′⟩
    ────────────────────────────────────────
      ⟨s₁; s₂, t, σ⟩ →* ⟨s₂, t, σ′⟩

    s₁ takes its own steps in the context E; s₂. What is left for this rule is ⟨skip; s₂, t, σ⟩ → ⟨s₂, t, σ⟩.
    """
    if not isinstance(C.E, Then):
        return None
    rest = ir.seq(*C.E.rest)
    if μ.is_recording:
        μ.record_bindings({"s₁": C.s, "s₂": rest})
    return Config(rest, C.t, C.σ, C.E.E)


@rule("IfTrue", ir.If)
def if_true(C: Config, μ: RuleMemory) -> Config | None:
    """
                ⟨e, t, σ⟩ ⇒ true
    ──────────────────────────────────────────
      ⟨if(e, s), t, σ⟩ → ⟨⟨s, t, {}⟩, t, σ⟩
    """
    if not _truth(C):
        return None
    if μ.is_recording:
        μ.record_bindings({"e": C.s.condition, "s": C.s.body})
    return C.with_redex(ir.Context(C.s.body, C.t, EMPTY))


@rule("IfFalse", ir.If)
def if_false(C: Config, μ: RuleMemory) -> Config | None:
    """
             ⟨e, t, σ⟩ ⇒ false
    ──────────────────────────────────────
      ⟨if(e, s), t, σ⟩ → ⟨skip, t, σ⟩
    """
    if _truth(C):
        return None
    if μ.is_recording:
        μ.record_bindings({"e": C.s.condition, "s": C.s.body})
    return C.with_redex(ir.SKIP)


@rule("Assert", ir.Assert, figure=False)
def assert_(C: Config, μ: RuleMemory) -> Config | None:
    """
         ⟨e, t, σ⟩ ⇒ true
    ──────────────────────────────────
      ⟨assert(e), t, σ⟩ → ⟨skip, t, σ⟩

    If e is false, the program is stuck: an assertion that fails is a fault, with the values of e's operands.
    """
    e = C.s.condition
    values = [cast(Literal, operand).value for operand in C.s.operands]
    value = algebra.apply(e.op, *map(algebra.exact, values)) if isinstance(e, ir.Call) else values[0]
    fault_unless(isinstance(value, bool), f"an assertion is true or false, not {algebra.show(value)}", C)
    if not value:
        raise AssertionFault(f"the assertion does not hold: {show(e)}", C.span)
    if μ.is_recording:
        μ.record_bindings({"e": e})
    return C.with_redex(ir.SKIP)


def _truth(C: Config) -> bool:
    condition = C.s.condition.value
    fault_unless(isinstance(condition, bool), f"a condition is true or false, not {algebra.show(condition)}", C)
    return condition is True


@rule("Unfurl", ir.For, ir.Unfurl)
def unfurl(C: Config, μ: RuleMemory) -> Config | None:
    """
      a ≤ b        access(Fₖ, j…, i) ∈ s for all k        ⟨unfurl(F₁); …; unfurl(Fₘ), t, σ⟩ ⇒ σ′
    ─────────────────────────────────────────────────────────────────────────────────────────────
      ⟨for i = a:b do s end, t, σ⟩ → ⟨⟨for i = looplet(a:b) do s end, t, σ′⟩, t, σ⟩

    The cursors σ′ live in a scope of their own. Fibers are unfurled in the order of their accesses, each once. Before
    that the modifiers around a fiber take effect that have not yet: those of the root, a Mutex and what it wraps.

    What is ours, not the paper's: access(F, j…, i + e) is access(Fₖ, j…, i) for a view Fₖ of F, which has at i what F
    has at i + e. The view that ~(i + e) asks for is all fill outside of F's axis.
    """
    if isinstance(C.s, ir.Unfurl):
        return _unfurl_fiber(C, μ)
    if not isinstance(C.s.range, ir.Range):
        return None
    a, b = bounds(C)
    if a > b:
        return None
    body = through_view(C.s.body, C.s.index, lambda e: _shift(C, μ, e))
    fibers = unfurled_fibers(body, C.s.index)
    loop = ir.For(C.s.index, ir.Looplet(a, b, tuple(fibers)), body, C.s.absorbed, span=C.s.span)
    if μ.is_recording:
        μ.record_bindings(_unfurling(loop), done=not fibers)
    if not fibers:
        return C.with_redex(loop)
    for F, updating in fibers.items():
        require_mode(C, μ, F, updating)
    return C.with_redex(ir.Context(ir.seq(*(ir.Unfurl(F, a, span=F.span) for F in fibers), loop), C.t, EMPTY))


def _unfurling(loop: ir.For) -> dict[str, Any]:
    """Bindings of Unfurl's metavariables, by the loop that it leads to."""
    i, r, s = loop.index, cast(ir.Looplet, loop.range), loop.body
    found = tuple(dict.fromkeys(A for A, _ in accesses(s) if A.fiber in r.fibers))
    terms = {"i": i, "a": r.start, "b": r.stop, "s": s} | ({"access(Fₖ, j…, i)": found} if found else {})
    return {**terms, "unfurl(F₁); …; unfurl(Fₘ)": tuple(ir.Unfurl(F, r.start) for F in r.fibers) or ir.SKIP}


def _shift(C: Config, μ: RuleMemory, e: ir.Expression) -> int:
    """The value added to an index, of an expression over indices of the loops around."""
    match e:
        case ir.Index(name=name):
            value = μ.lookup(C, name)
        case ir.Call(op=op, args=args):
            value = algebra.apply(op, *(_shift(C, μ, a) for a in args))
        case _:
            value = e.value  # type: ignore[union-attr]
    return int(value)


def _unfurl_fiber(C: Config, μ: RuleMemory) -> Config:
    F, a = C.s.fiber, C.s.start + C.s.fiber.by
    tower = μ.towers[F.tensor]
    handle = μ.handle(C, F.tensor)
    updating = handle.mode == "update"
    frame = C.s.frame
    if frame is None:
        if updating:
            _require_closed(C, μ, F)
        code = procedures.VISIT.open(tower, F.level, handle.op) if updating else procedures.unfurl(tower, F.level)
        frame = μ.start(C, code, F.tensor, μ.instance(C, F), position=F.position, start=a)
    frame = μ.perform_next(C, frame)
    if μ.is_recording:
        *others, loop = cast(Then, C.E).rest
        μ.record_bindings(_unfurling(cast(ir.For, loop)), done=frame.has_ended and not others)
    if not frame.has_ended:
        return C.with_redex(ir.Unfurl(F, C.s.start, frame, span=C.s.span))
    return C.with_redex(ir.SKIP).bind(F, Cursor(updating, tuple(frame.result().items())))


def _require_closed(C: Config, μ: RuleMemory, F: ir.Fiber) -> None:
    """A Fault if a level that is appended to in order has a fiber open already, which would be overwritten.

    Fibers that an Isolate around them loads only now lie in levels of their own.
    """
    level, tower = μ.level(F), μ.towers[F.tensor]
    if level.once and not any(tower.levels[depth].key == FIBER for depth in tower.use_modifiers(F.level)):
        for G in μ.open_fibers(C):
            if (G.tensor, G.level, G.instance) == (F.tensor, F.level, F.instance):
                where = f"{F.tensor}, level {F.level} {level.name}"
                raise Fault(
                    f"{where}: fiber {F.position} is visited while a visit of fiber {G.position} goes on", F.span
                )


@rule("ShortCircuit", ir.For, figure=False)
def short_circuit(C: Config, μ: RuleMemory) -> Config | None:
    """
      a ≤ b        s only updates T₁, …, Tₘ        Tₖ holds x with x ⊕ v = x for all v
    ────────────────────────────────────────────────────────────────────────────────────
      ⟨for i = looplet(a:b) do s end, t, σ⟩ → ⟨for i = looplet(b+1:b) do s end, t, σ⟩

    Elaboration finds such loops: each Tₖ is a ShortCircuitScalar, which s updates by ⊕. A step reads one of them, and
    the loop ends once all have been read.
    """
    s, r = C.s, C.s.range
    if not isinstance(r, ir.Looplet) or r.start > r.stop or not _is_absorbed(C, μ):
        return None
    done = r.absorbed + 1 == len(s.absorbed)
    if μ.is_recording:
        T = s.absorbed[r.absorbed].tensor
        among = {"T₁, …, Tₘ": tuple(a.tensor for a in s.absorbed), "Tₖ": T, "⊕": μ.handle(C, T).op, "x": μ.held}
        μ.record_bindings({"i": s.index, "a": r.start, "b": r.stop, "b+1": r.stop + 1, "s": s.body, **among}, done)
    left = ir.Looplet(r.stop + 1, r.stop, r.fibers) if done else ir.Looplet(r.start, r.stop, r.fibers, r.absorbed + 1)
    return C.with_redex(ir.For(s.index, left, s.body, s.absorbed, span=s.span))


def _is_absorbed(C: Config, μ: RuleMemory) -> bool:
    """Whether the scalar whose turn it is holds what no update changes. It is read, by the one rule that applies."""
    if not C.s.absorbed:
        return False
    known = C.s.absorbed[C.s.range.absorbed]
    if μ.held is None:
        F = ir.Fiber(known.tensor, 1)
        frame = μ.start(C, procedures.unwrap(μ.towers[F.tensor]), F.tensor, μ.instance(C, F), position=F.position)
        μ.held = Literal(μ.perform_next(C, frame).result()["value"])
    return algebra.is_absorbing(known, μ.held.value)


@rule("SerialFor", ir.For)
def serial_for(C: Config, μ: RuleMemory) -> Config | None:
    """
             a ≤ b        ⟨⟨s, t, {i ↦ a}⟩, t, σ⟩ →* σ′
    ────────────────────────────────────────────────────────────
      ⟨for i = looplet(a:b) do s end, t, σ⟩
        →* ⟨for i = looplet(a+1:b) do s end, t, σ′⟩

    The body takes its own steps: → ⟨⟨enter(i, s), t, {i ↦ a}⟩; for i = looplet(a+1:b) do s end, t, σ⟩. A fiber without
    index a is not entered: its accesses fault if they are evaluated. A loop that ShortCircuit may end reads a scalar
    here, which is ours, not the paper's: one that holds something else.
    """
    r = C.s.range
    if not isinstance(r, ir.Looplet) or r.start > r.stop or _is_absorbed(C, μ):
        return None
    rest = ir.For(C.s.index, ir.Looplet(r.start + 1, r.stop, r.fibers), C.s.body, C.s.absorbed, span=C.s.span)
    cursors = [(F, μ.lookup(C, F).updating) for F in r.fibers if F.open or _within(μ, F, r.start)]
    reads = tuple(F for F, updating in cursors if not updating)
    updates = tuple(F for F, updating in cursors if updating)
    body = ir.Enter(C.s.index, r.start, reads, updates, C.s.body) if cursors else C.s.body
    iteration = ir.Context(body, C.t, EMPTY.set(C.s.index, r.start))
    if μ.is_recording:
        μ.record_bindings({"i": C.s.index, "a": r.start, "b": r.stop, "a+1": r.start + 1, "s": C.s.body})
    return C.with_redex(ir.seq(iteration, rest))


def _within(μ: RuleMemory, F: ir.Fiber, i: int) -> bool:
    """Whether a fiber, or a view of it, has an index."""
    return 1 <= i + cast(int, F.by) <= μ.extent(F)


@rule("Payload", ir.Enter)
def payload(C: Config, μ: RuleMemory) -> Config | None:
    """
             i′ = σ[i]        fiber(T, l, p)(i′) = payload(v)
    ───────────────────────────────────────────────────────────────────
      ⟨s, t, σ⟩ → ⟨s[access(fiber(T, l, p), j…, i) ↦ v], t, σ⟩

    Then identities and annihilators are worked out, and updates that change nothing go (NullWrite). A view that goes on
    outside of its axis has the fill value as its payload there, which is ours, not the paper's.
    """
    if not C.s.reads:
        return None
    F, *reads = C.s.reads
    frame = _descent(C, μ, F)
    if frame is not None and not _leads_nowhere(frame):
        return None
    fill = Literal(μ.handle(C, F.tensor).fill)
    if μ.is_recording:
        μ.record_bindings({**_at_index(C, F), "v": fill})
    body = replace_access(C.s.body, F, C.s.index, fill)
    simpler = algebra.simplify(body, lambda a: _repeats_fill(C, μ, a))
    updates = tuple(U for U in C.s.updates if mentions(simpler, U))
    cancelled = [R for R in reads if not mentions(simpler, R)]
    reads = [R for R in reads if R not in cancelled]
    left = (*C.s.left, *(ir.Leave(R, C.s.at, span=R.span) for R in cancelled if _stands(C, μ, R)))
    return C.with_redex(ir.Enter(C.s.index, C.s.at, tuple(reads), updates, simpler, left))


def _repeats_fill(C: Config, μ: RuleMemory, a: ir.Assign) -> bool:
    """Whether a cell that still holds the fill value is overwritten by it."""
    T = a.access.fiber.tensor
    return T in μ.facts.written_once and algebra.is_literal(a.value, μ.handle(C, T).fill)


def _stands(C: Config, μ: RuleMemory, F: ir.Fiber) -> bool:
    """Whether a fiber that nothing reads any more has its cursor at this index, and so must be moved on."""
    cursor: Cursor = μ.lookup(C, F)
    registers = dict(cursor.registers)
    if registers["c.p"] == 0 or μ.level(F).lookup or not _within(μ, F, C.s.at):
        return False
    frame = μ.start(C, procedures.index(μ.towers[F.tensor], F.level), F.tensor, μ.instance(C, F), **registers)
    return bool(frame.result()["index"] == C.s.at + F.by)


@rule("Child", ir.Enter)
def child(C: Config, μ: RuleMemory) -> Config | None:
    """
             i′ = σ[i]        fiber(T, l, p)(i′) = child(q)
    ───────────────────────────────────────────────────────────────────
      ⟨s, t, σ⟩ → ⟨s[access(fiber(T, l, p), j…, i) ↦ access(fiber(T, l-1, q), j…)], t, σ⟩

    To update, the child is made, and the modifiers around it take effect, but for a Mutex and what it wraps. Fibers
    that are read come first, so that what they cancel is never made.
    """
    if C.s.reads:
        return _child_read(C, μ)
    return _child_updated(C, μ) if C.s.updates else None


def _descent(C: Config, μ: RuleMemory, F: ir.Fiber) -> Frame | None:
    """The level's program for going from F to its child at the index, as far as it has run; None if F is all fill."""
    if C.s.frame is not None:
        return C.s.frame  # type: ignore[no-any-return]
    if μ.begun is None:
        cursor: Cursor = μ.lookup(C, F)
        registers = dict(cursor.registers)
        if registers["c.p"] == 0 or not _within(μ, F, C.s.at):
            return None
        tower = μ.towers[F.tensor]
        if cursor.updating:
            code = procedures.VISIT.enter(tower, F.level, μ.handle(C, F.tensor).op)
        else:
            code = procedures.child(tower, F.level)
        μ.begun = μ.start(C, code, F.tensor, μ.instance(C, F), **registers, index=C.s.at + F.by)
    return μ.begun


def _at_index(C: Config, F: ir.Fiber) -> dict[str, Any]:
    """Bindings of the metavariables that Payload and Child have in common."""
    found = tuple(dict.fromkeys(A for A, _ in accesses(C.s.body) if A.fiber == F))
    terms = {"i": C.s.index, "i′": C.s.at, "s": C.s.body}
    return {**terms, "fiber(T, l, p)": F, "access(fiber(T, l, p), j…, i)": found}


def _leads_nowhere(frame: Frame) -> bool:
    return frame.has_ended and frame.result()["position"] == 0


def _child_read(C: Config, μ: RuleMemory) -> Config | None:
    s = C.s
    F, *reads = s.reads
    frame = _descent(C, μ, F)
    if frame is None or _leads_nowhere(frame):
        return None
    frame = μ.perform_next(C, frame)
    if not frame.has_ended or _leads_nowhere(frame):
        if μ.is_recording:
            μ.record_bindings(_at_child(C, F), done=False)
        return C.with_redex(ir.Enter(s.index, s.at, s.reads, s.updates, s.body, s.left, frame))
    inner = ir.Fiber(F.tensor, F.level - 1, frame.result()["position"], frame.final_instance(), span=F.span)
    left = s.left if μ.level(F).lookup else (*s.left, ir.Leave(F, s.at, span=F.span))
    if μ.is_recording:
        μ.record_bindings(_at_child(C, F, inner))
    return C.with_redex(
        ir.Enter(s.index, s.at, tuple(reads), s.updates, replace_access(s.body, F, s.index, inner), left)
    )


def _child_updated(C: Config, μ: RuleMemory) -> Config:
    s = C.s
    F, *updates = s.updates
    descent = _descent(C, μ, F)
    assert descent is not None, "updates are made, not looked for"
    frame = μ.perform_next(C, descent)
    if not frame.has_ended:
        if μ.is_recording:
            μ.record_bindings(_at_child(C, F), done=False)
        return C.with_redex(ir.Enter(s.index, s.at, s.reads, s.updates, s.body, s.left, frame))
    tower, result = μ.towers[F.tensor], frame.result()
    q = result.pop("position")
    bound = tuple((name, result.pop(name)) for name in procedures.entry_registers(tower, F.level - 1))
    inner = ir.Fiber(F.tensor, F.level - 1, q, frame.final_instance(), span=F.span)
    if μ.is_recording:
        μ.record_bindings(_at_child(C, F, inner))
    left = s.left
    tracked = tower.tracks_writes(F.level - 1)
    if tracked or procedures.unbinds(tower, tower.entry_modifiers(F.level - 1)):
        left = (*left, ir.Leave(F, s.at, inner, bound, span=F.span))
    if tracked:
        C = C.bind(Dirty(inner), False)
    C = μ.write(C, F, Cursor(True, tuple(result.items())))
    return C.with_redex(ir.Enter(s.index, s.at, (), tuple(updates), replace_access(s.body, F, s.index, inner), left))


def _at_child(C: Config, F: ir.Fiber, inner: ir.Fiber | None = None) -> dict[str, Any]:
    """Bindings of Child's metavariables. Before the child is known, q stands for itself."""
    terms, q = _at_index(C, F), {"q": inner.position} if inner else {}
    child: Any = inner or ir.Fiber(F.tensor, F.level - 1, cast(Any, "q"))
    below = tuple(ir.Access(child, A.subscripts[:-1]) for A in terms["access(fiber(T, l, p), j…, i)"])
    return {**terms, **q, "access(fiber(T, l-1, q), j…)": below}


def bounds(C: Config) -> tuple[int, int]:
    """The evaluated ends of a loop's range; a Fault unless they are integers."""
    r: Any = C.s.range
    r = r.range if isinstance(r, ir.Parallel) else r
    ends = (r.start.value, r.stop.value)
    for end in ends:
        if isinstance(end, bool) or not isinstance(end, int):
            raise Fault(f"an integer is needed here, got {algebra.show(end)}", C.span)
    return ends


def reads_update(C: Config, μ: RuleMemory, F: ir.Fiber) -> bool:
    """Whether what reads F reads a tensor in update mode, and may do so."""
    return μ.handle(C, F.tensor).mode == "update" and μ.towers[F.tensor].readable_while_updated


def require_mode(C: Config, μ: RuleMemory, F: ir.Fiber, updating: bool) -> None:
    """A Fault unless the tensor is in the mode that the access needs."""
    if not updating and reads_update(C, μ, F):
        return
    mode = μ.handle(C, F.tensor).mode
    wanted = "update" if updating else "read"
    if mode != wanted:
        verb = "updated" if updating else "read"
        raise Fault(f"{F.tensor} is {verb} while it is in {mode} mode", F.span)
