"""One spelling of options: the same name, the same kind of value and the same words on every command."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from typer.core import TyperOption
from typer.testing import CliRunner

from ordinate.cli.app import app
from ordinate.cli.options import METAVARS
from tests.cli.test_every_command import leaves

OPTIONS: list[tuple[str, Any]] = [
    (" ".join(path), option)
    for path, command in leaves()
    for option in command.params
    if isinstance(option, TyperOption) and option.name != "help"
]
DIFFERENT = {
    "--out": {"FILE", "DIR"},
    "--data": {"FILE", "DIR"},
    "--figure": {"FILE", "DIR"},  # a sweep draws several
    "--schedule": {"NAME", "TEXT"},  # of learning rates, of what a fly senses
    "--batch": {"N"},
}
"""Options whose kind of value differs between commands, for a reason."""
OLD = {"--picture", "--figures", "--null", "--wirings", "--normalisations", "--output", "--format-json", "--rope-theta"}
"""Spellings that no option has any more, though some are still understood."""


def one_or_several(metavar: str) -> str:
    return metavar.split(",")[0] if metavar.endswith(",...") else metavar


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=lambda one: one if isinstance(one, str) else one.opts[0])
def test_an_option_says_what_kind_of_value_it_takes(command: str, option: Any) -> None:
    assert option.help.endswith(".")
    assert not {*option.opts} & OLD
    if not option.is_flag:
        assert option.metavar in METAVARS, f"{command} {option.opts[0]} {option.metavar}"


def test_an_option_takes_the_same_kind_of_value_wherever_it_is() -> None:
    kinds: dict[str, set[str]] = defaultdict(set)
    for _, option in OPTIONS:
        if not option.is_flag:
            kinds[option.opts[0]].add(one_or_several(option.metavar))
    differing = {name: found for name, found in kinds.items() if len(found) > 1}
    assert differing == {name: found for name, found in DIFFERENT.items() if name in differing}


def test_json_figure_and_list_are_explained_in_the_same_words() -> None:
    for name in ("--json", "--list"):
        assert len({option.help for _, option in OPTIONS if option.opts[0] == name}) == 1
    assert all(option.metavar == "FILE" for command, option in OPTIONS if option.opts[0] == "--figure" and command != "sweep")


@pytest.mark.parametrize(
    ("words", "old", "new"),
    [
        pytest.param(
            ["reservoir", "laterality", "--null", "rewired", "--null", "random", "--draws", "1"],
            "--null",
            "--nulls",
            marks=pytest.mark.slow,
        ),
        (["reservoir", "control", "--wirings", "nothing"], "--wirings", "--nulls"),
        (["reservoir", "tasks", "--normalisations", "nothing"], "--normalisations", "--normalisation"),
        (["sweep", "--show", "--out", "empty", "--figures", "charts"], "--figures", "--figure"),
    ],
)
def test_a_spelling_of_an_earlier_release_works_and_says_so_once(
    words: list[str], old: str, new: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, words)
    assert done.stderr.count(f"ordinate: {old} is now called {new}\n") == 1
    assert "No such option" not in done.stderr
    if old == "--null":
        assert done.exit_code == 0
        assert "rewired" in done.stdout
        assert "random" in done.stdout
        assert "shuffled" not in done.stdout
