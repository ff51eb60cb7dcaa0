"""Tests whether a level meets the requirements on all levels: one call for its author."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from importlib.util import find_spec
from itertools import product
from textwrap import indent
from typing import Any, cast

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wingspan import api
from wingspan.base.dataclass import dataclass
from wingspan.base.errors import Fault, InputError
from wingspan.compiled.build import compiler
from wingspan.lang.ir import kind_of
from wingspan.levels import REGISTRY, registered
from wingspan.levels.base import Dependence, Gated, Leaf, Level, Modifier, Storage
from wingspan.levels.registry import OURS
from wingspan.results.comparison import Engine
from wingspan.results.tally import Disagreement
from wingspan.tensors.tensor import Tensor
from wingspan.testing.batched_c import Together
from wingspan.testing.campaign import campaign
from wingspan.testing.cases import accepted, judge_program
from wingspan.testing.formats import VALUES, arrays, legal, levels_of, rank_of, worth
from wingspan.testing.kernels import kernels
from wingspan.testing.programs import Options, programs

EXAMPLES = 20
"""Random arrays and programs for each claim, by default. All claims take less than half a minute of processor time."""

INPUTS = 3
"""Inputs of each random program. More take longer, mostly under the rules, and find little that these do not."""

TOWERS = {
    "leaf": ("{0}", "Dense({0})", "SparseList({0})", "Dense(SparseDict({0}))", "Mutex({0})", "Dense(Isolate({0}))"),
    "storage": (
        "{0}({1})", "Dense({0}({1}))", "{0}(Dense({1}))", "{0}({0}({1}))", "SparseList({0}({1}))",
        "{0}(SparseDict({1}))", "Mutex({0}({1}))", "Dense(Isolate({0}({1})))", "Dense(Shard(dev, {0}({1})))",
        "Merge(dev, {0}({1}))", "{0}(Mutex({1}))",
    ),
    "modifier": ("{0}(Dense({1}))", "Dense({0}({1}))", "Dense({0}(SparseDict({1})))", "{0}({0}(SparseList({1})))"),
    "gated": ("{0}(dev, Dense({1}))", "Dense({0}(dev, SparseDict({1})))", "Dense({0}(dev, SparseList({1})))"),
}  # fmt: skip
"""Formats around a level {0}, with a leaf {1}."""

WITNESSES = {
    "leaf": ("Dense(Dense({0}))", "Dense(Mutex(Isolate(SparseDict({0}))))"),
    "storage": ("Dense({0}({1}))",),
    "modifier": ("Dense({0}(Dense({1})))",),
    "gated": ("Dense({0}(d, Dense({1})))",),
}
"""Formats in which nothing but the level itself protects it from two tasks. The first legal one is used."""

LIKE = {"leaf": "Element", "storage": "SparseDict", "modifier": "Mutex", "gated": "Shard"}
"""The level that is replaced in random kernels. A modifier replaces one of the same discipline, if there is one."""

PROTECTED = {
    "modifier": ("Dense({0}(Dense({1})))", "Dense({0}(SparseDict({1})))", "{0}(Dense(Dense({1})))"),
    "gated": ("Dense({0}(d, Dense({1})))", "Dense({0}(d, SparseDict({1})))", "{0}(d, Dense(Dense({1})))"),
}
"""Formats in which nothing but a modifier protects what it wraps."""

PAIRS = ("i, k", "i, 3 - k"), ("i, k", "i, k + 1")
"""Subscripts of two updates in a loop over i by each task, which visits two fibers at once."""

SUBSCRIPTS: dict[Dependence, str] = {"node": "1, 1", "sibling": "k, 1", "cousin": "1, k"}
"""Subscripts that two tasks k update in `Dense(LEVEL(…))`, so that they depend on each other there in this way."""


class Nonconforming(AssertionError):
    """A level breaks a claim. The message begins with the claim, and has the simplest example that was found."""


@dataclass(frozen=True)
class Conformance:
    """The trials of a level that broke no claim."""

    level: str
    held: int
    """arrays that were read back unchanged"""
    refused: int
    """arrays that the level refused to hold"""
    thawed: int
    """arrays that were written in two parts, with a thaw in between"""
    declared: frozenset[Dependence]
    """the declared stability"""
    more: frozenset[Dependence]
    """dependences that it also supported, in the programs that were explored"""
    programs: int
    """random programs that had the same result on all engines"""
    proved: bool | None = None
    """whether its stability is proved for all extents, threads and towers; None without z3 or a discipline"""

    def __str__(self) -> str:
        kept = f"{self.held} arrays read back, {self.refused} refused, {self.thawed} written in two parts"
        stable = f"stability {_list_kinds(self.declared)}" + (f", also {_list_kinds(self.more)}" if self.more else "")
        return f"{self.level}: {kept}; {stable}; {self.programs} programs equal on all engines"


def conformance(level: type[Level], *, examples: int = EXAMPLES) -> Conformance:
    """Test all claims on a level.

    - `loads`: an array that is loaded is read back unchanged, and breaks no invariant.
    - `thaws`: a tensor that is frozen and thawed keeps its contents, and takes more.
    - `stability`: if two tasks depend on each other in a way that `stability()` allows, no interleaving goes wrong,
      neither under the rules nor in the plan. Other dependences are explored, too: see `Conformance.more`. Of a
      modifier, the same holds of programs that the dependence test accepts by its `discipline`.
    - `engines`: rules, reference, register machine and C agree on random safe programs over the level.
    - `proof`, with z3: two tasks that depend on each other as `stability()` allows never conflict, for all extents,
      threads and levels around. Of a modifier: no pair that its `protect` lets pass conflicts.

    Args:
        level: the class of a level; it need not be registered.
        examples: the number of random arrays, and of random programs.

    Raises:
        Nonconforming: the level breaks a claim.
    """
    found: dict[str, Any] = {}
    for claim in CLAIMS.values():
        found |= claim(level, examples)
    return Conformance(level.__name__, **found)


def loads(level: type[Level], examples: int) -> dict[str, Any]:
    """Claim: an array is refused, or read back unchanged, and breaks no invariant."""
    counts = {"held": 0, "refused": 0}
    with _in_force(level):
        forms = [(form, fill) for fill in VALUES for form in _formats(level, fill)]
        if not forms:
            raise Nonconforming(f"loads: there is no format with {level.__name__} in it that programs may use")

        def one(example: tuple[str, np.ndarray[Any, Any]]) -> None:
            form, array = example
            try:
                made = Tensor.from_numpy(form, array, devices={"dev": 2})
            except InputError:
                counts["refused"] += 1
                return
            _require("loads", np.array_equal(made.to_numpy(), array), f"{form} is given\n{array}\nand has\n{made}")
            try:
                made.validate()
            except InputError as error:
                raise Nonconforming(f"loads: {form} is given\n{array}\nand then {error.message}") from None
            counts["held"] += 1

        _each(st.sampled_from(forms).flatmap(lambda pair: _array_of(*pair)), examples, one)
    _require("loads", counts["held"] > 0, f"{level.__name__} has held none of {examples} random arrays")
    return counts


SUMS = {"0": "+=", "0.0": "+=", "false": "|="}
"""Fill values, and the operator that adds elements to a tensor that has them."""


def thaws(level: type[Level], examples: int) -> dict[str, Any]:
    """Claim: freezing and thawing keep what is stored, and later fibers are added to it.

    Gated levels are left out: which thread may update them depends on the loop.
    """
    thawed = 0
    with _in_force(level):
        forms = [(form, fill) for fill in SUMS for form in _formats(level, fill) if rank_of(form) and "dev" not in form]

        def one(example: tuple[str, str, np.ndarray[Any, Any], int]) -> None:
            nonlocal thawed
            form, fill, array, first = example
            parts = {"A": array.copy(), "B": array.copy()}
            parts["A"][..., first:], parts["B"][..., :first] = worth(fill), worth(fill)
            program = api.parse(_in_two_parts(form, fill, array.ndim))
            for engine in ("semantics", "native"):
                try:
                    made = api.run(program, engine=engine, unsafe=engine == "native", inputs=parts)
                except Fault:
                    return
                has = made.tensors["T"]
                text = f"{form} takes\n{parts['A']}\nis thawed, takes\n{parts['B']}\nand has ({engine})\n{has}"
                _require("thaws", np.array_equal(has.to_numpy(), array), text)
            thawed += 1

        if forms:
            drawn = st.sampled_from(forms).flatmap(lambda pair: _split(*pair))
            _each(drawn, max(examples // 4, 10), one)
    _require("thaws", thawed > 0 or not forms, f"{level.__name__} has taken no array in two parts")
    return {"thawed": thawed}


def _in_two_parts(form: str, fill: str, rank: int) -> str:
    """A program that adds A to a tensor, freezes and thaws it, and adds B; the last axis is the outermost loop."""
    indices = [f"i{k}" for k in range(rank)]
    at = ", ".join(indices)
    default = "Element({0})"
    for axis in range(rank):
        default = f"{'Dense' if axis == rank - 1 else 'SparseList'}({default})"

    def adds(name: str) -> list[str]:
        return [*(f"for {i} = _" for i in reversed(indices)), f"T[{at}] {SUMS[fill]} {name}[{at}]", *["end"] * rank]

    inputs = [f"{name} = Tensor({default.format(fill)})" for name in "AB"]
    lines = [*inputs, f"T = Tensor({form})", f"T .= {fill}", *adds("A"), "freeze(T)", "thaw(T)", *adds("B"), "return T"]
    return "\n".join(lines)


def stability(level: type[Level], examples: int = 0) -> dict[str, Any]:
    """Claim: two tasks that depend on each other as the declared stability allows only have the sequential result."""
    more = set()
    with _in_force(level):
        form, update, declared = _witness(level)
        for kind, subscripts in SUBSCRIPTS.items():
            if issubclass(level, Leaf) and kind == "sibling":
                continue  # a leaf has no indices
            head = f"d = cpu(:d, 2)\nT = Tensor({form}, 2, 2)\nT .= {'0' if update == '+= 1' else 'false'}\n"
            text = f"{head}for k = parallel(1:2, d)\n    T[{subscripts}] {update}\nend"
            for machine in ("semantics", "native"):
                verdict = api.explore(api.parse(text), machine=machine).verdict
                if kind in declared and verdict.verdict != "safe":
                    steps = "".join(f", interleaving {race.interleaving}" for race in verdict.races[:1])
                    said = f"declares {kind}, and this is {verdict.verdict} ({machine}{steps})"
                    raise Nonconforming(f"stability: {level.__name__} {said}:\n{text}")
                if kind not in declared and verdict.verdict == "safe":
                    more.add(kind)
        if issubclass(level, Modifier) and level.discipline:
            _protects(level)
    return {"declared": frozenset(declared), "more": frozenset(more)}


def _protects(level: type[Modifier]) -> None:
    """Claim of a modifier: what the dependence test accepts, by its discipline, no interleaving brings to harm."""
    assert level.discipline
    bodies = [f"T[{at}] += 1" for at in SUBSCRIPTS.values()]
    bodies += [f"for i = 1:1\n    T[{one}] += 1\n    T[{other}] += 1\nend" for one, other in PAIRS]
    for form, body in product(PROTECTED[_kind(level)], bodies):
        head = f"d = cpu(:d, 2)\nT = Tensor({form.format(level.__name__, 'Element(0)')}, 2, 3)\nT .= 0\n"
        text = f"{head}for k = parallel(1:2, d)\n{indent(body, '    ')}\nend"
        program = api.parse(text)
        if any(api.check(program, test=test, budget=0).verdict == "safe" for test in ("repaired", "exact")):
            for machine in ("semantics", "native"):
                found = api.explore(program, machine=machine).verdict.verdict
                said = f"{level.discipline.name} lets check accept this, and it is {found} ({machine})"
                _require(
                    "stability", found == "safe", f"{level.__name__} has a discipline that it breaks: {said}:\n{text}"
                )


def engines(level: type[Level], examples: int) -> dict[str, Any]:
    """Claim: random safe programs over the level have the same result on all engines.

    For a leaf without a fill value, which holds truth values, these are unions and differences of sets.
    """
    name = level.__name__
    some = Options(spawning=1, modified=4, statements=2)
    if issubclass(level, Leaf):
        some = replace(some, leaves=(name,))
    elif issubclass(level, Storage):
        some = replace(some, levels=("Dense", name, name))
    else:
        some = replace(some, modifiers=(name,), modified=2)
    with _in_force(level):
        if issubclass(level, Leaf) and _leaf(level, "0") == f"{name}()":
            drawn = _sets(f"{name}()").filter(accepted)
        else:
            known = kernels().map(lambda text: text.replace(f"{_like(level)}(", f"{name}("))
            drawn = (known | programs(some)).filter(lambda text: _usable(level, text) and accepted(text))
        subjects: list[str | Engine] = ["native"]
        if compiler():
            subjects.append(Together("-O0"))  # optimizing would take most of the time
        try:
            tally = campaign(["semantics", "reference"], subjects, programs=drawn, inputs=INPUTS, examples=examples)
        except Disagreement as found:
            raise Nonconforming(f"engines: {found}") from None
    return {"programs": tally.texts}


def proof(level: type[Level], examples: int = 0) -> dict[str, Any]:
    """Claim: the declared stability holds for all extents, threads and towers, by the theorem's induction."""
    if find_spec("z3") is None or (issubclass(level, Modifier) and level.discipline is None):
        return {}
    from wingspan.proof import countermodel_of, program

    with _in_force(level):
        found = countermodel_of(level)
    _require("proof", found is None, f"{found}\n{program(found) if found else ''}")
    return {"proved": True}


CLAIMS: dict[str, Callable[[type[Level], int], dict[str, Any]]] = {
    "loads": loads,
    "thaws": thaws,
    "stability": stability,
    "engines": engines,
    "proof": proof,
}
"""The claims, by name."""


# --------------------------------------------------------------------------------------------------------------- parts


def _in_force(level: type[Level]) -> Any:
    """Within the block, programs may use the level. Cached facts about another level of its name are dropped."""
    for known in (legal, rank_of, judge_program):
        known.cache_clear()
    return registered(*([] if REGISTRY.get(level.__name__) is level else [level]))


def _kind(level: type[Level]) -> str:
    if issubclass(level, Leaf | Storage):
        return "leaf" if issubclass(level, Leaf) else "storage"
    return "gated" if issubclass(level, Gated) else "modifier"


def _like(level: type[Level]) -> str:
    """The level of ours that this one replaces in random kernels."""
    ours = (name for name in sorted(OURS) if level.discipline and REGISTRY[name].discipline is level.discipline)
    return next(ours, LIKE[_kind(level)])


def _leaf(level: type[Level], fill: str) -> str:
    """The level, written as the leaf of a format."""
    return f"{level.__name__}({fill if any(argument.init for argument in fields(level)) else ''})"


def _formats(level: type[Level], fill: str) -> Iterator[str]:
    """The legal formats with this level and this fill value."""
    kind = _kind(level)
    name = _leaf(level, fill) if kind == "leaf" else level.__name__
    for tower in TOWERS[kind]:
        form = tower.format(name, f"Element({fill})")
        if legal(form) and _fills(form, fill):
            yield form


def _fills(form: str, fill: str) -> bool:
    """Whether a format has this fill value, of the same kind."""
    found = cast(Leaf, levels_of(form)[-1]).fill
    return type(found) is type(worth(fill)) and found == worth(fill)


def _witness(level: type[Level]) -> tuple[str, str, frozenset[Dependence]]:
    """A format in which two tasks access the level, an update of its elements, and the declared stability."""
    kind = _kind(level)
    for fill, update in (("0", "+= 1"), ("0.0", "+= 1"), ("false", "|= true")):
        name = _leaf(level, fill) if kind == "leaf" else level.__name__
        for witness in WITNESSES[kind]:
            form = witness.format(name, f"Atomic({fill})")
            if legal(form) and _fills(form, fill):
                return form, update, [each for each in levels_of(form) if type(each) is level][-1].stability()
    raise Nonconforming(f"stability: {level.__name__} fits in none of Dense(…) and Dense(Dense(…))")


def _usable(level: type[Level], text: str) -> bool:
    """Whether a program uses the level, and, if that is a leaf, with elements that it takes."""
    name = level.__name__
    fills = re.findall(rf"\b{name}\(([^(),]+)", text)
    takes = level.kinds if issubclass(level, Leaf) else ("int", "float", "bool")
    return f"{name}(" in text and all(kind_of(worth(fill)) in takes for fill in fills if fill in VALUES)


@st.composite
def _sets(draw: st.DrawFn, leaf: str) -> str:
    """Draws a program that combines two sets of pairs of indices."""
    around = draw(st.sampled_from(["SparseList({})", "SparseDict({})", "SparseByteMap({})", "SparseRunList({})"]))
    value = draw(st.sampled_from(["A[i, j]", "A[i, j] || B[i, j]", "A[i, j] && B[i, j]", "A[i, j] && !B[i, j]"]))
    outer = draw(st.sampled_from(["Dense(Shard(dev, {}))", "Dense(Isolate({}))", "Dense({})"]))
    loop = draw(st.sampled_from(["_", "parallel(_, dev)", "parallel(_, dev, dynamic_schedule(2))"]))
    inputs = [f"{name} = Tensor(Dense(SparseList(Element(false))))" for name in "AB"]
    form = outer.format(around.format(leaf))
    lines = ["dev = cpu(:dev, 2)", *inputs, f"S = Tensor({form})", "S .= false", f"for j = {loop}", "for i = _"]
    return "\n".join([*lines, f"S[i, j] |= {value}", "end", "end", "return S"])


@st.composite
def _split(draw: st.DrawFn, form: str, fill: str) -> tuple[str, str, np.ndarray[Any, Any], int]:
    """Draws an array for a format, and the index of its last axis where the part after thawing begins."""
    array = draw(arrays(rank_of(form), fill, extent=3))
    return form, fill, array, draw(st.integers(0, array.shape[-1]))


@st.composite
def _array_of(draw: st.DrawFn, form: str, fill: str) -> tuple[str, np.ndarray[Any, Any]]:
    return form, draw(arrays(rank_of(form), fill, extent=3))


def _each(strategy: st.SearchStrategy[Any], examples: int, see: Callable[[Any], None]) -> None:
    """Draw examples, always the same ones. Raises the error of `see` on the simplest example."""
    quiet = settings(
        max_examples=examples, database=None, deadline=None, derandomize=True, print_blob=False,
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
    )  # fmt: skip

    def each(example: Any) -> None:
        see(example)

    quiet(given(strategy)(each))()


def _require(claim: str, holds: bool, otherwise: str) -> None:
    if not holds:
        raise Nonconforming(f"{claim}: {otherwise}")


def _list_kinds(kinds: frozenset[Dependence]) -> str:
    return ", ".join(kind for kind in SUBSCRIPTS if kind in kinds) or "none"
