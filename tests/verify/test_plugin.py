"""The pytest plugin: three lines in a project, nothing heavy at pytest's start."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

PROJECT = """
def test_right(verify_position):
    from ordinate.position import Rotary
    verify_position.rotary(Rotary(16, layout="half"), head_dim=16, only=["layout", "offsets"])

def test_wrong(verify_position):
    verify_position.rotary(lambda x, positions: x.clone(), head_dim=16, only=["layout", "offsets"])

def test_known(verify_position):
    known = {"layout": "not ported yet"}
    verify_position.rotary(lambda x, positions: x.clone(), head_dim=16, only=["layout"], expected_failures=known)

def test_mended(verify_position):
    from ordinate.position import ALiBi
    verify_position.bias(ALiBi(8), only=["published-rule"], expected_failures={"published-rule": "was wrong once"})
"""


def test_it_is_an_entry_point_of_pytest():
    assert [point.value for point in metadata.entry_points(group="pytest11", name="ordinate")] == ["ordinate.verify.plugin"]


def test_a_project_is_held_to_the_laws(tmp_path: Path):
    (tmp_path / "test_project.py").write_text(PROJECT)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", str(tmp_path)]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120).stdout
    for line in (
        "PASSED test_project.py::test_right",
        "FAILED test_project.py::test_wrong",
        "PASSED test_project.py::test_known",
    ):
        assert line in told
    assert "positions have no effect" in told
    assert "nothing-turned" in told
    assert "expected to fail, but passed: published-rule" in told
    assert "Traceback" not in told


def test_it_imports_nothing_heavy():
    code = "import sys, ordinate.verify.plugin; print(sorted({'torch', 'numpy', 'transformers', 'rich'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
