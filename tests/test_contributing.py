"""The recipes of CONTRIBUTING.md, followed to the letter in a temporary copy."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^## (Add .*)\n((?:(?!^## ).*\n)+)", GUIDE, re.MULTILINE))
BLOCK = re.compile(r"^```(\w+)(?: ([^\n]+))?\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def follow(recipe: str, folder: Path) -> None:
    for language, title, content in BLOCK.findall(recipe):
        if language == "sh":
            for line in content.splitlines():
                words = shlex.split(line)
                assert words[0] == "python"
                environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
                done = subprocess.run(
                    [sys.executable, *words[1:]],
                    cwd=folder,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=300,
                    check=False,
                )
                assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
                assert "no tests ran" not in done.stdout
                assert " deselected" not in done.stdout or " passed" in done.stdout
            continue
        place, _, where = title.partition(" ")
        path = folder / place
        if not where:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
            continue
        side, marker = where.split(" ", 1)
        marker = marker.strip('"').replace('\\"', '"')
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        (at,) = [number for number, line in enumerate(lines) if line.strip().startswith(marker)]
        lines.insert(at + (side == "after"), content)
        path.write_text("".join(lines), encoding="utf-8")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "Add a claim" else [pytest.mark.slow]) for name in RECIPES]
)
def test_a_recipe_works_to_the_letter(name: str, copy: Path) -> None:
    follow(RECIPES[name], copy)


def test_every_recipe_has_at_most_five_steps() -> None:
    assert set(RECIPES) == {"Add an encoding", "Add a claim", "Add a model family", "Add a gate pass", "Add a read-out"}
    for name, recipe in RECIPES.items():
        assert 1 < len(re.findall(r"^\d\. ", recipe, re.MULTILINE)) <= 5, name
