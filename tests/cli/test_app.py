"""The command as a whole: it starts in a blink, and what goes wrong is one line."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from ordinate import __version__
from ordinate.cli.app import app
from ordinate.errors import ArgumentError

HEAVY = ("torch", "numpy", "matplotlib", "jinja2", "scipy", "transformers", "rich")


def wall_seconds(*arguments: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
    return time.perf_counter() - started


@pytest.mark.parametrize("arguments", [["--help"], ["lab", "--help"], ["--version"]], ids=" ".join)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import sys\nfrom ordinate.cli import main\ntry:\n    main()\nexcept SystemExit as done:\n    assert not done.code\n"
        f"print(sorted(set({HEAVY}) & set(sys.modules)), file=sys.stderr)"
    )
    told = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    assert told.stdout
    assert told.stderr.strip() == "[]"


def test_help_starts_in_under_fifteen_times_a_bare_python() -> None:
    """About seven times where nothing else runs; interleaved medians, as the machine may be busy."""
    for _ in range(3):  # a machine that is busy with something else gets another chance, a slow start never passes
        bare, ours = zip(
            *((wall_seconds("-c", "pass"), wall_seconds("-m", "ordinate", "--help")) for _ in range(7)), strict=True
        )
        ratio = statistics.median(ours) / statistics.median(bare)
        if ratio < 15:
            break
    assert ratio < 15


def test_the_version_is_the_packages() -> None:
    told = CliRunner().invoke(app, ["--version"])
    assert told.exit_code == 0
    assert told.stdout == f"ordinate {__version__}\n"


def test_no_command_and_an_unknown_option_are_wrong_use() -> None:
    assert CliRunner().invoke(app, []).exit_code == 2
    told = CliRunner().invoke(app, ["lab", "--no-such-option"])
    assert told.exit_code == 2
    assert "No such option" in told.stderr


def raising(problem: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def choose(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr("ordinate.lab.catalogue.choose", choose)


def test_the_houses_errors_are_one_line_and_exit_code_two(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(ArgumentError("x", expected="one\nline", got="two", hint="fold"), monkeypatch)
    told = CliRunner().invoke(app, ["lab"])
    assert told.exit_code == 2
    assert told.stderr == "ordinate: x: expected one line, got two; fold\n"
    assert told.stdout == ""


def test_an_interruption_is_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(KeyboardInterrupt(), monkeypatch)
    told = CliRunner().invoke(app, ["lab"])
    assert told.exit_code == 130
    assert "Traceback" not in told.stderr


def test_a_fault_of_our_own_is_not_dressed_up_as_wrong_use(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(ZeroDivisionError("a bug"), monkeypatch)
    told = CliRunner().invoke(app, ["lab"])
    assert told.exit_code == 1
    assert isinstance(told.exception, ZeroDivisionError)
