"""The command as a whole: it starts without heavy imports, and whatever goes wrong is one line and an exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ordinate import __version__
from ordinate.cli.app import app
from ordinate.errors import ArgumentError
from ordinate.extras import EXTRAS

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("torch", "numpy", "matplotlib", "jinja2", "scipy", "transformers", "rich")
CONFIG = ROOT / "tests" / "cases" / "configs" / "Meta-Llama-3.1-8B.json"
posix = pytest.mark.skipif(os.name != "posix", reason="POSIX streams and signals")


def shell(command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `ordinate ...` in a shell, with its redirections."""
    program = f'"{sys.executable}" -m ordinate'
    environment = {**os.environ, **variables}
    return subprocess.run(
        ["sh", "-c", command.replace("ordinate", program, 1)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("arguments", [["--help"], ["lab", "--help"], ["logic", "grow", "--help"], ["--version"]], ids=" ".join)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import sys\nfrom ordinate.cli import main\ntry:\n    main()\nexcept SystemExit as done:\n    assert not done.code\n"
        f"print(sorted(set({HEAVY}) & set(sys.modules)), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    assert result.stdout
    assert result.stderr.strip() == "[]"


def test_the_version_names_torch_and_the_extras() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    first, second, third = result.stdout.splitlines()
    assert first == f"ordinate {__version__}"
    assert f"torch {version('torch')}" in second
    assert third.startswith("extras: ")
    assert {name for name in EXTRAS if name in third} == set(EXTRAS)


def test_the_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(EXTRAS) == set(declared) - {"test", "docs", "oracles"}
    for name, parts in EXTRAS.items():
        assert all(any(line.startswith(part) for line in declared[name]) for part in parts), name


def test_no_command_is_wrong_use_and_prints_the_help() -> None:
    for arguments in ([], ["logic"], ["reservoir"]):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 2
        assert result.stderr.startswith("Usage: ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["inspcet", "x"], "no command 'inspcet'; did you mean \"inspect\"?"),
        (["logic", "grwo"], "no command 'grwo'; did you mean \"grow\"?"),
        (["lab", "--lits"], "--list"),
        (["inspect"], "Missing argument 'FILE...'"),
        (["sweep", "--seeds", "many"], "'--seeds'"),
    ],
)
def test_wrong_use_is_one_line_that_helps(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert "--help)" in result.stderr


def failing(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> Any:
    def choose(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("ordinate.lab.catalogue.choose", choose)
    return CliRunner().invoke(app, ["lab"])


def test_errors_of_the_package_are_one_line_and_exit_code_2(monkeypatch: pytest.MonkeyPatch) -> None:
    result = failing(ArgumentError("x", expected="one\nline", got="two", hint="fold"), monkeypatch)
    assert result.exit_code == 2
    assert result.stderr == "ordinate: x: expected one line, got two; fold\n"
    assert result.stdout == ""


def test_an_interruption_is_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    result = failing(KeyboardInterrupt(), monkeypatch)
    assert result.exit_code == 130
    assert result.stderr == "ordinate: interrupted\n"


def test_what_the_system_refuses_is_one_line_and_exit_code_2(monkeypatch: pytest.MonkeyPatch) -> None:
    result = failing(PermissionError(13, "Permission denied", "secret.json"), monkeypatch)
    assert result.exit_code == 2
    assert result.stderr == "ordinate: secret.json: Permission denied\n"


def test_an_unexpected_error_is_one_line_exit_code_70_and_shows_its_trace_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    result = failing(ZeroDivisionError("a\nbug"), monkeypatch)
    assert result.exit_code == 70
    line = "ordinate: unexpected ZeroDivisionError: a bug (a fault of ordinate; ORDINATE_TRACEBACK=1 shows where)\n"
    assert result.stderr == line
    monkeypatch.setenv("ORDINATE_TRACEBACK", "1")
    result = failing(ZeroDivisionError("a bug"), monkeypatch)
    assert result.stderr.startswith("Traceback")
    assert result.stderr.endswith(line)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (f"ordinate inspect {CONFIG} >&-", "standard output: expected an open stream"),
        (f"ordinate inspect {CONFIG} >/dev/full", "standard output: No space left on device"),
        ("ordinate --help >/dev/full", "standard output: "),
        (f"ordinate inspect {CONFIG} --json >/dev/full", "standard output: No space left on device"),
        ("ordinate inspect - <&-", "standard input: expected"),
        ("ordinate choose <&-", "--trained"),
    ],
)
@posix
def test_streams_that_are_closed_or_full_are_one_line_and_exit_code_2(command: str, words: str) -> None:
    result = shell(command)
    assert result.returncode == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


@posix
def test_a_reader_that_leaves_early_is_no_error() -> None:
    result = shell(f"{{ ordinate inspect {CONFIG}; echo $? >&2; }} | head -n 1")
    assert result.stdout.count("\n") == 1
    assert result.stderr == "0\n"


@posix
def test_a_closed_standard_error_changes_nothing() -> None:
    result = shell(f"ordinate inspect {CONFIG} 2>&-")
    assert result.returncode == 0
    assert "llama3" in result.stdout


def test_an_ascii_terminal_gets_tables_in_ascii_and_json_that_says_the_same(tmp_path: Path) -> None:
    table = shell(f"ordinate inspect {CONFIG}", PYTHONIOENCODING="ascii")
    assert table.returncode == 0
    assert table.stdout.isascii()
    assert "?" not in table.stdout
    assert "+---" in table.stdout
    listed = shell("ordinate lab --list", PYTHONIOENCODING="ascii")
    assert listed.returncode == 0
    assert listed.stdout.isascii()
    config = tmp_path / "modèle.json"
    config.write_text(CONFIG.read_text())
    plain, ascii_only = (
        shell(f"ordinate inspect {config} --json", PYTHONIOENCODING=name).stdout for name in ("utf-8", "ascii")
    )
    assert ascii_only.isascii()
    assert json.loads(ascii_only) == json.loads(plain)


@posix
def test_being_terminated_cleans_up(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom ordinate.atomic_io import atomic_files\nfrom ordinate.cli.exits import prepare_process\n"
        "prepare_process()\nwith atomic_files(sys.argv[1]) as staging:\n"
        "    (staging / 'a').write_text('')\n    print('ready', flush=True)\n    time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script, tmp_path / "out"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 143
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("words", "answer"), [("ordinate in", "inspect"), ("ordinate logic g", "grow")])
def test_the_shell_completes_commands(words: str, answer: str) -> None:
    script = "import sys; sys.argv[0] = 'ordinate'; from ordinate.cli import main; main()"
    environment = {
        **os.environ,
        "_ORDINATE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert result.stdout.split() == [answer]


def test_every_option_has_a_metavar_that_says_what_it_takes_and_no_help_is_cut() -> None:
    import typer.main
    from typer.core import TyperGroup, TyperOption

    def walk(command: Any, path: str) -> None:
        if isinstance(command, TyperGroup):
            context = command.make_context("ordinate", [], resilient_parsing=True)
            for name in command.list_commands(context):
                walk(command.get_command(context, name), f"{path} {name}")
            return
        assert command.help, path
        for option in command.params:
            if isinstance(option, TyperOption) and not option.hidden:
                assert option.help, f"{path} {option.opts}"
                assert option.name != "as_json" or option.opts == ["--json"], path

    walk(typer.main.get_command(app), "ordinate")
