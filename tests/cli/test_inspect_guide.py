"""The guides of inspect, diff, extend and memory: every command in it is run, and prints what the page says."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ordinate.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
GUIDES = [ROOT / "docs" / "inspect.md", ROOT / "docs" / "memory.md"]
BLOCKS = [
    block
    for guide in GUIDES
    for block in re.findall(r"```console\n\$ ordinate (.*)\n((?:.*\n)*?)```", guide.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("command", "printed"), BLOCKS, ids=[command for command, _ in BLOCKS])
def test_the_guide_shows_what_the_command_prints(command: str, printed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GUIDES[0].parent)
    told = CliRunner().invoke(app, shlex.split(command))
    assert told.stdout == printed
    assert told.exit_code in (0, 1)


def test_the_guide_has_examples_of_all_of_them_commands() -> None:
    assert {command.split()[0] for command, _ in BLOCKS} == {"inspect", "diff", "extend", "memory"}


@pytest.mark.parametrize(("guide", "examples"), list(zip(GUIDES, (5, 4), strict=True)), ids=["inspect", "memory"])
def test_the_guides_python_runs(guide: Path, examples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testfile(str(guide), module_relative=False, encoding="utf-8")
    assert (failed, tried) == (0, examples)
