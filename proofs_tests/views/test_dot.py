"""A replay as DOT is well formed, and orders what one task after another did."""

from __future__ import annotations

import re

from hypothesis import given, settings

from proofs_tests.effort import many
from proofs_tests.views.runs import programs_run, runs
from wingspan.views import dot
from wingspan.views.order import edges, points
from wingspan.views.view import ReplayReport

usual = settings(derandomize=True, deadline=None, max_examples=many(60))
few = settings(derandomize=True, deadline=None, max_examples=many(15))

QUOTED = r'"(?:[^"\\\n]|\\.)*"'
NODE = re.compile(rf" {{4}}(?P<id>[ne]\d+) \[label=(?P<label>{QUOTED})(?P<style>[^\[\]]*)\]")
EDGE = re.compile(
    rf" {{2}}(?P<from>n\d+) -> (?P<to>[ne]\d+)(?: \[(?:label=(?P<label>{QUOTED}) )?(?P<style>[^\[\]]*)\])?"
)
OTHER = re.compile(
    rf"digraph run {{| {{2}}label={QUOTED} labelloc=t .*| {{2}}(?:node|edge) \[.*\]| {{2}}subgraph cluster_\d+ {{"
    rf"| {{4}}label={QUOTED} color=gray| {{2}}}}|}}"
)


def assert_graph(report: ReplayReport) -> None:
    """Every visible step is a node, every edge of the order is drawn, and exactly the racing pair is red."""
    lines = dot.replay(report).split("\n")
    nodes = {m["id"]: m for line in lines if (m := NODE.fullmatch(line))}
    drawn = [m for line in lines if (m := EDGE.fullmatch(line))]
    others = [line for line in lines if OTHER.fullmatch(line)]
    assert len(nodes) + len(drawn) + len(others) == len(lines)
    run = list(points(report))
    numbered = {f"n{k}": point for k, point in enumerate(run)}
    assert numbered.keys() == {name for name in nodes if name[0] == "n"}
    for name, point in numbered.items():
        label = nodes[name]["label"].replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
        assert point.action is None or label.startswith(f'"{point.number}  ')
        assert all(str(touch.cell) in label for touch in (point.action.touches if point.action else ()))
    inner = {(m["from"], m["to"]) for m in drawn if m["to"][0] == "n"}
    assert inner == {(f"n{edge.first}", f"n{edge.second}") for edge in edges(run)}
    red = {numbered[name].number for name in numbered if "d55e00" in nodes[name]["style"]}
    assert red == ({report.followed - 1, report.followed} if report.racing else set())
    between = [m for m in drawn if m["to"][0] == "n" and "d55e00" in (m["style"] or "")]
    assert len(between) == (report.racing is not None)


@given(runs())
@usual
def test_a_graph_is_well_formed_and_has_every_visible_step(report: ReplayReport) -> None:
    assert_graph(report)


@given(programs_run())
@few
def test_the_graph_of_a_program_is_too(report: ReplayReport) -> None:
    assert_graph(report)
