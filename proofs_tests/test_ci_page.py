"""The workflow for CI that the documentation gives: it can be read, and its commands do what the page says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # Sphinx takes it, too

from proofs_tests.views.test_findings import read_junit, read_sarif

PAGE = Path("docs/how-to/ci.md")
TEXT = re.findall(r"```yaml \.github/workflows/wingspan\.yml\n(.*?)```", PAGE.read_text(), re.DOTALL)
RACY = "c = Tensor(Dense(Element(0)), 1)\nc .= 0\nfor i = parallel(1:2)\nc[1] += i\nend\nreturn c\n"
SAFE = RACY.replace("Element", "Atomic")


def read_steps() -> list[dict[str, Any]]:
    (text,) = TEXT
    (job,) = yaml.safe_load(text)["jobs"].values()
    return list(job["steps"])


def test_the_workflow_uploads_what_its_commands_write() -> None:
    """After a finding, too. Each action has a version."""
    used = {step["uses"].split("@")[0]: step for step in read_steps() if "uses" in step}
    assert all(re.search(r"@v\d+$", step["uses"]) for step in used.values())
    sarif, junit = used["github/codeql-action/upload-sarif"], used["mikepenz/action-junit-report"]
    assert sarif["if"] == junit["if"] == "always()"
    (commands,) = (step["run"] for step in read_steps() if "wingspan check" in step.get("run", ""))
    files = re.findall(r'> "([^"]*)"', commands)
    assert {Path(file).parent.name for file in files} == {sarif["with"]["sarif_file"]}
    assert {Path(file).suffix for file in files} == {".sarif", ".xml"}
    assert junit["with"]["report_paths"] == f"{sarif['with']['sarif_file']}/*.xml"


@pytest.mark.parametrize(("program", "fails"), [(SAFE, False), (RACY, True)], ids=["safe", "racy"])
def test_the_commands_of_the_workflow_write_reports(program: str, fails: bool, tmp_path: Path) -> None:
    """As GitHub runs them: a line that fails ends them. They fail exactly if something is found."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "a sum.ws").write_text(program)
    command = tmp_path / "bin" / "wingspan"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m wingspan "$@"\n')
    command.chmod(0o755)
    commands = [step["run"] for step in read_steps() if "run" in step and "pip install" not in step["run"]]
    env = {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}", "PYTHONPATH": str(Path.cwd())}
    for each in commands:
        done = subprocess.run(["bash", "-e", "-c", each], cwd=tmp_path, env=env, capture_output=True, check=False)
    assert (done.returncode == 1) == fails, done.stderr
    reports = tmp_path / "reports"
    for verb in ("check", "explore"):
        run = read_sarif((reports / f"{verb}-a sum.sarif").read_text())
        assert bool(run["results"]) == fails
        for result in run["results"]:
            assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "kernels/a%20sum.ws"
    if fails:
        assert not (reports / "diff-a sum.xml").exists()
    else:
        assert len(read_junit((reports / "diff-a sum.xml").read_text())) == 0
