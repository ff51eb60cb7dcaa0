"""The test of a whole program: every parallel loop, every two updates of one tensor, every level; and variables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TypeVar

from wingspan.dependence import arrivals, level_test, locks, protocol
from wingspan.dependence.accesses import UpdatePair
from wingspan.dependence.directions import common_loops
from wingspan.dependence.explain import Explainer, Trouble, VariableRace
from wingspan.dependence.findings import ORDER, Partial, Report, SafetyProof, Test, Verdict
from wingspan.dependence.protocol import Violation
from wingspan.dependence.relations import differs
from wingspan.dependence.representatives import representatives, unordered_pairs
from wingspan.dependence.sets import pairs_of
from wingspan.dependence.sites import EnclosingLoop, Life, UpdateSite, VariableUse, collect
from wingspan.dependence.stability import require_disciplines
from wingspan.lang import ir
from wingspan.lang.algebra import any_order
from wingspan.levels import Tower
from wingspan.tensors.holding import partial

TEST = {"printed": level_test.printed, "repaired": level_test.repaired, "exact": level_test.exact}


class Analysis:
    """The format-independent part of the dependence test; reused for every candidate format.

    Answers about pairs of iterations are kept by the accesses. If a program leaves `symbols` open, numbers of threads
    may be among them.
    """

    def __init__(self, body: ir.Statement, symbols: Collection[str] = ()) -> None:
        self.sites, self.symbols = collect(body), symbols
        self.lives: defaultdict[Life, list[UpdateSite]] = defaultdict(list)
        for site in self.sites.updates:
            self.lives[site.life].append(site)
        self.uses: defaultdict[str, list[VariableUse]] = defaultdict(list)
        for use in self.sites.uses:
            self.uses[use.name].append(use)

    @cached_property
    def pairs(self) -> tuple[UpdatePair, ...]:
        """Two accesses in update mode to one tensor, inside of a loop with several tasks in the tensor's scope.

        One of the two updates the tensor: tasks that only read find elements where nobody puts anything.
        """
        return tuple(
            UpdatePair(one, other, p)
            for life, sites in self.lives.items()
            for shared in _shared_accesses(sites, life.depth, valued=True)
            for one, other in unordered_pairs(shared)
            if not (one.reads and other.reads)
            for p in range(life.depth, common_loops(one, other))
            if one.loops[p].spawns
        )

    @property
    def questions(self) -> int:
        """The number of questions about pairs of iterations that have been answered so far."""
        every = (*self.sites.updates, *self.sites.uses)
        return sum(pairs.questions for each in every for pairs in each.__dict__.get("_pairs", {}).values())

    def verdict(self, towers: Mapping[str, Tower], test: Test = "repaired") -> Verdict:
        """The verdict of a test on the program with its tensors in these formats."""
        return _worst_verdict(self.troubles(towers, test))

    def report(self, towers: Mapping[str, Tower], test: Test = "repaired", brief: bool = False) -> Report:
        """The verdict, with findings and proofs explained; `brief`: the findings alone, without examples."""
        explainer, troubles = Explainer(towers, brief), list(self.troubles(towers, test))
        if brief:
            return Report(_worst_verdict(troubles), test, tuple(map(explainer.finding, troubles)))
        failed = {trouble[0] for trouble in troubles if isinstance(trouble, tuple)}
        proofs = tuple(self._proof(pair, towers, test, explainer) for pair in self.pairs if pair not in failed)
        findings = tuple(map(explainer.finding, troubles))
        names = {found.tensor for found in findings} | {proof.tensor for proof in proofs}
        return Report(
            _worst_verdict(troubles), test, findings, proofs, self.partial(towers), alike=self.count_uncompared(names)
        )

    def partial(self, towers: Mapping[str, Tower]) -> tuple[Partial, ...]:
        """The levels that cannot hold every index, of tensors that are updated."""
        return tuple(
            Partial(name, number, tower.levels[tower.depths[number]].name)
            for name, tower in {life.tensor: towers[life.tensor] for life in self.lives}.items()
            for number in (axis + 2 for axis in partial(tower.levels))
        )

    def count_uncompared(self, names: Collection[str]) -> int:
        """The number of accesses to these tensors and variables that others represent."""
        lives = [sites for life, sites in self.lives.items() if life.tensor in names]
        uses = [uses for name, uses in self.uses.items() if name in names]
        kept = [{*representatives(sites), *representatives(sites, valued=True)} for sites in lives]
        kept_uses = [representatives(each) for each in uses]
        return sum(map(len, lives)) + sum(map(len, uses)) - sum(map(len, kept)) - sum(map(len, kept_uses))

    def _proof(self, pair: UpdatePair, towers: Mapping[str, Tower], test: Test, explainer: Explainer) -> SafetyProof:
        """The proof that a pair is safe: the exact test reports only failures; the repaired one proves most."""
        tower = towers[pair.one.tensor]
        needs = tuple(TEST["repaired" if test == "exact" else test](pair, tower))
        if any(need.missing for need in needs):
            return explainer.proof(pair, (), "the iterations that no modifier parts do nothing that a level lacks")
        return explainer.proof(pair, needs, "every level that the tasks touch supports all dependences")

    def troubles(self, towers: Mapping[str, Tower], test: Test) -> Iterator[Trouble]:
        """All that a test finds. ProgramError if a modifier of a tensor that is updated has no discipline."""
        for life in self.lives:
            require_disciplines(towers[life.tensor])
        raced = set()
        for pair in self.pairs:
            tower = towers[pair.one.tensor]
            for need in reversed([need for need in TEST[test](pair, tower) if need.missing]):
                raced.add(pair)
                yield pair, need
        yield from self.variables
        if test != "printed":
            for life, sites in self.lives.items():
                updates = [site for site in sites if not site.reads]
                yield from protocol.violations(representatives(updates), towers[life.tensor], counted=not self.symbols)
                yield from arrivals.violations(updates, towers[life.tensor], counted=not self.symbols)
            yield from locks.deadlocks(self.sites.updates, towers)
            for pair in self.pairs:
                if pair not in raced:
                    yield from self.order_dependences(pair, towers[pair.one.tensor])

    def order_dependences(self, pair: UpdatePair, tower: Tower) -> Iterator[Violation]:
        """An element that tasks update without a race, but by ⊕ that depends on the order: of `=`, the last one wins.

        To set an element to one literal twice does not. Of an element that one task updates and another one reads, the
        order always matters: not even a product by zero is looked into.
        """
        one, other = pair.one, pair.other
        reads = one.reads or other.reads
        same = one.op == "=" and one.value == other.value and isinstance(one.value, ir.Literal)
        if not reads and (any_order(one.op) or same):
            return
        pairs, one_element = pair.pairs, pair.carries_pair(1) & pair.same_position(1)
        if pairs.is_feasible(pairs.depths, one_element):
            reason = f"tasks update one element of {one.tensor} by {one.op}, and the order matters to it"
            if reads:
                reason = f"a task reads an element of {one.tensor} that another one updates, before or after that"
            elif one.op == "=":
                reason = f"tasks set one element of {one.tensor} by =, and the last one wins"
            yield Violation(
                "order-dependence", one, other, tower.depths[1], reason, pair.loop, pairs, pairs.depths, one_element
            )

    @cached_property
    def variables(self) -> tuple[VariableRace, ...]:
        """Two uses of a variable that tasks share, one of which assigns to it."""
        found = []
        for uses in self.uses.values():
            for one, other in (
                two
                for shared in _shared_accesses(uses, min(use.depth for use in uses))
                for two in unordered_pairs(shared)
            ):
                if not (one.assigned or other.assigned):
                    continue
                for p in range(max(one.depth, other.depth), common_loops(one, other)):
                    pairs = pairs_of(one, other, p)
                    if one.loops[p].spawns and pairs.is_feasible(pairs.depths, differs(p) & pairs.guards):
                        found.append(VariableRace(one.loops[p], one, other, pairs))
        return tuple(found)


A = TypeVar("A", bound=UpdateSite | VariableUse)


def _shared_accesses(accesses: Iterable[A], depth: int, valued: bool = False) -> Iterable[list[A]]:
    """Representatives of the accesses in loops with several tasks, grouped by their loop at a depth."""
    parallel = [each for each in accesses if any(loop.spawns for loop in each.loops[depth:])]
    found: defaultdict[EnclosingLoop, list[A]] = defaultdict(list)
    for each in representatives(parallel, valued):
        found[each.loops[depth]].append(each)
    return found.values()


def _worst_verdict(troubles: Iterable[Trouble]) -> Verdict:
    """The verdict on what was found; one look at the first that is bad enough is enough."""
    worst: Verdict = "safe"
    for trouble in troubles:
        worst = "order-dependent"
        if not (isinstance(trouble, Violation) and trouble.topic in ORDER):
            return "unsafe"
    return worst
