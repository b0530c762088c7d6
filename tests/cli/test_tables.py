"""Tables and JSON on standard output."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from ordinate.cli.tables import answer_json, format_bytes, format_value


@dataclass
class Record:
    loss: float
    path: Path


@pytest.mark.parametrize(
    ("value", "expected", "lost"),
    [
        ({"a": float("nan"), "b": [float("inf"), 1.5]}, {"a": None, "b": [None, 1.5]}, 2),
        (Record(float("-inf"), Path("x")), {"loss": None, "path": "x"}, 1),
        ({"array": np.array([1.0, np.nan], np.float32), 3: np.int64(4)}, {"array": [1.0, None], "3": 4}, 1),
        ([True, None, "text", 2**70], [True, None, "text", 2**70], 0),
    ],
)
def test_whatever_is_answered_is_valid_json_and_lost_numbers_are_said(
    value: Any, expected: Any, lost: int, capsys: pytest.CaptureFixture[str]
) -> None:
    answer_json(value)
    result = capsys.readouterr()
    assert json.loads(result.out, parse_constant=pytest.fail) == expected
    assert result.err == (
        "" if not lost else f"ordinate: {lost} number{'s are' if lost > 1 else ' is'} not finite and printed as null\n"
    )


def test_values_are_formatted_for_people() -> None:
    assert [format_value(value) for value in (True, None, 131072, 1.5, 2.0, [1, 2], list(range(9)))] == [
        "yes", "none", "131,072", "1.5", "2", "1, 2", "0, 1, ..., 8 (9)",
    ]  # fmt: skip
    assert [format_bytes(count) for count in (None, 12, 2**30, 1536)] == ["unknown", "12 B", "1 GiB", "1.5 KiB"]


def test_a_renamed_option_is_understood_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import typer

    from ordinate.cli import groups

    called = {}

    def show(figure: str = typer.Option("", "--figure")) -> None:
        """Show."""
        called["figure"] = figure

    class Module:
        pass

    Module.show = staticmethod(show)  # type: ignore[attr-defined]
    monkeypatch.setattr(groups, "import_module", lambda name: Module)
    group = groups.lazy_group("nowhere", {"show": "Show."}, renamed={"show": {"--picture": "--figure"}})
    program = typer.Typer(cls=group, rich_markup_mode=None)
    program.callback()(lambda: None)
    for arguments in (["--picture", "a.svg"], ["--picture=a.svg"]):
        result = CliRunner().invoke(program, ["show", *arguments])
        assert (result.exit_code, called) == (0, {"figure": "a.svg"})
        assert result.stderr == "ordinate: --picture is now called --figure\n"
