"""Tests programs that are changes of one program, without loading its data again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from wingspan.base.budget import Budget
from wingspan.base.dataclass import dataclass
from wingspan.dependence.analysis import Analysis
from wingspan.dependence.findings import Report, Test
from wingspan.elaborate import Elaborated, elaborate
from wingspan.lang import ir

NODE, QUESTION = 3, 5
"""The steps of a budget that it takes to bind a node of a program, and to answer a question about pairs of iterations.
To compare a pair of accesses by questions that are answered already is one."""


@dataclass
class Retest:
    """The test of changed programs. The verdict holds for all values of the tensors, as the data is left out.

    Attributes:
        tree: the program that is changed, as written.
        folder: where its files are.
        bound: the program, bound as far as it is known.
        params: values of its parameters; a changed program need not have all of these.
        threads: the number of threads of every device, if the programs do not give it.
    """

    tree: ir.Program
    folder: Path
    bound: Elaborated
    params: Mapping[str, Any]
    threads: int | None
    test: Test
    budget: Budget = field(default_factory=Budget)
    """from which the steps of each test are taken"""
    analyses: dict[ir.Statement, Analysis] = field(default_factory=dict)
    """the facts on pairs of iterations, by the body of the program"""

    def bind(self, tree: ir.Program) -> Elaborated:
        """A changed program, bound without data. ProgramError if it has no meaning."""
        self.budget.charge(NODE * sum(1 for _ in tree.walk()))
        bare = self._without_data(tree)
        idle = self._names - names_of(bare)
        asked = {name: value for name, value in self.params.items() if name not in idle}
        return elaborate(bare, self.folder, {}, asked, self.threads, symbolic=True)

    def report(self, changed: Elaborated) -> Report:
        """The findings on a changed program that is bound, without examples."""
        if changed.body not in self.analyses:
            self.analyses[changed.body] = Analysis(changed.body, self.bound.symbols)
        analysis = self.analyses[changed.body]
        before = analysis.questions
        report = analysis.report(changed.towers, self.test, brief=True)
        self.budget.charge(len(analysis.pairs) + QUESTION * (analysis.questions - before))
        return report

    @cached_property
    def _names(self) -> set[str]:
        return names_of(self.tree)

    def _without_data(self, tree: ir.Program) -> ir.Program:
        """The program with extents in place of its data, which need not be loaded to check another format."""
        towers = self.bound.towers

        def strip(s: ir.Statement) -> ir.Statement:
            match s:
                case ir.Define(name=name, value=ir.TensorCall() as call) if name in towers:
                    known = tuple(ir.Literal(n) for n in towers[name].shape if n >= 0)
                    extents = known if len(known) == towers[name].rank else call.extents
                    return replace(s, value=replace(call, extents=extents, data=None))
            return s

        body = ir.Block(tuple(map(strip, tree.body.statements)), span=tree.body.span)
        return replace(tree, body=body)


def names_of(tree: ir.Program) -> set[str]:
    """The names that parameters may stand for."""
    return {node.name for node in tree.walk() if isinstance(node, ir.Variable)}
