"""What holds for every command: valid JSON, whole files or none, one line where something fails, never a traceback."""

from __future__ import annotations

import importlib
import json
import random
import resource
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.core import TyperGroup, TyperOption
from typer.testing import CliRunner

from ordinate.cli.app import app
from ordinate.logic import Circuit
from tests.cli.command_table import COMMANDS, Command
from tests.external import CASES

ROPE = """
import torch

def rope(x, positions):
    half = x.shape[-1] // 2
    angles = positions[:, None].double() * 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., :half].double(), x[..., half:].double()
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1).to(x)
"""


def each(*, writing: bool = False, answering: bool = False) -> list[Any]:
    """Every command of the table, the slow ones marked so; those that write files, or those that have `--json`."""
    chosen = [command for command in COMMANDS if command.writes or not writing]
    chosen = [command for command in chosen if not answering or not command.line.startswith("explore")]
    return [pytest.param(one, marks=[pytest.mark.slow] if one.slow else [], id=one.line) for one in chosen]


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, str]:
    """The files that the command lines speak of, in a folder of their own."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("config", "other"):
        source = {"config": "Qwen3-8B", "other": "Meta-Llama-3.1-8B"}[name]
        shutil.copy(CASES / "configs" / f"{source}.json", folder / f"{name}.json")
    (folder / "code.py").write_text(ROPE)
    Circuit(64, [8, 6], [0, 64], [1, 2], votes=[([64], [1]), ([65], [1])]).save(folder / "circuit.json")
    (folder / "gates.blif").write_text(".inputs a b\n.outputs z\n.names a b z\n11 1\n.end\n")
    return {
        "blif": str(folder / "gates.blif"),
        "config": str(folder / "config.json"),
        "other": str(folder / "other.json"),
        "circuit": str(folder / "circuit.json"),
        "code": str(folder / "code.py"),
        "folder": str(folder),
    }


def words(command: Command, inputs: dict[str, str]) -> list[str]:
    return [word.format(**inputs) for word in shlex.split(command.line)]


def outputs(command: Command, folder: Path) -> list[str]:
    """Options with places in the folder: a name that suits what each of them writes."""
    suffix = {"--html": ".html", "--c": ".c", "--verilog": ".v", "--blif": ".blif", "--aiger": ".aig", "--csv": ".csv"}
    drawn = {"--figure": ".svg"}
    result = []
    for option in command.writes:
        ending = suffix.get(option, drawn.get(option, ""))
        if option == "--out":
            ending = ".json" if "logic" in command.line else ""
        elif option in ("--circuit", "--checkpoint"):
            ending = ".json"
        result += [option, str(folder / f"{option.strip('-')}{ending}")]
    return result


def run(arguments: list[str]) -> Any:
    return CliRunner().invoke(app, arguments)


def everything_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("command", each(answering=True))
def test_json_is_valid_and_alone_on_standard_output(command: Command, inputs: dict[str, str], tmp_path: Path) -> None:
    result = run([*words(command, inputs), *outputs(command, tmp_path / "out"), "--json"])
    assert result.exit_code in (0, 1), result.stderr
    if not command.line.startswith("golden --all"):
        json.loads(result.stdout, parse_constant=pytest.fail)


def test_every_option_json_is_in_the_table() -> None:
    def walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if isinstance(command, TyperGroup):
            context = command.make_context("ordinate", [], resilient_parsing=True)
            for name in command.list_commands(context):
                yield from walk(command.get_command(context, name), (*path, name))
        elif any("--json" in option.opts for option in command.params if isinstance(option, TyperOption)):
            yield path

    known = {tuple(command.line.split()[: len(path)]) for command in COMMANDS for path in walk(typer.main.get_command(app), ())}
    assert set(walk(typer.main.get_command(app), ())) - known <= {("logic", "fpga")}  # tested beside its tools


@pytest.mark.parametrize("command", each(writing=True))
@pytest.mark.parametrize("failure", ["limit", "not a folder"])
def test_a_write_that_fails_is_one_line_and_leaves_nothing(
    command: Command, failure: str, inputs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"
    if failure == "limit":
        out.mkdir()
        places = outputs(command, out)
    else:
        out.write_text("a file")
        places = outputs(command, out / "inner")
    before = everything_in(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if failure == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        result = run([*words(command, inputs), *places])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert result.exit_code == 2, result.output
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("ordinate: ") and "expected" in line]
    assert ("File too large" if failure == "limit" else "file") in line
    assert everything_in(tmp_path) == before


@pytest.mark.parametrize("command", each(writing=True))
def test_an_old_file_is_complete_after_a_write_that_fails(
    command: Command, inputs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"
    first = run([*words(command, inputs), *outputs(command, out)])
    assert first.exit_code in (0, 1), first.stderr
    before = everything_in(out)
    assert before
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        run([*words(command, inputs), *outputs(command, out)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert everything_in(out) == before


@pytest.mark.slow
@pytest.mark.parametrize("command", each(writing=True))
def test_a_full_disk_is_called_full(command: Command, inputs: dict[str, str], tmp_path: Path) -> None:
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", place], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("only an administrator can mount a file system of 4 KiB")
    try:
        (place / "filler").write_bytes(b"x" * 4096)
        result = run([*words(command, inputs), *outputs(command, place)])
        left = [path.name for path in place.rglob("*")]
    finally:
        subprocess.run(["umount", "-l", place], check=True)
    assert result.exit_code == 2, result.output
    assert "No space left on device" in result.stderr
    assert left == ["filler"]


# --- fuzzing


HEAVY = ("lab", "sweep", "verify", "golden", "reservoir", "logic")
"""Commands that may rightly take longer than two seconds; they are interrupted then, and must end as interrupted ones do."""
JUNK = [
    "", "-", "--", "-1", "0", "1", "2", "7", "64", "1e999", "nan", "inf", "-inf", "1e-300", "99999999999999999999", "0x10",
    "1.5", "128k", "131,072", "None", "true", "a,b", "1,2", ",", "half", "rope", "yarn", "/proc/none",  "/dev/null",
    "/dev/null/x", "x" * 5000, "ä", "\u202e", "\U0001f600", "{}", "[]", '{"rule": "linear"}', "os:system", "json:loads",
    "%s%n", "$(x)", "*", "a\nb", "\x1b[31m",
]  # fmt: skip


def leaves() -> list[tuple[tuple[str, ...], Any]]:
    def walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
        if isinstance(command, TyperGroup):
            context = command.make_context("ordinate", [], resilient_parsing=True)
            for name in command.list_commands(context):
                yield from walk(command.get_command(context, name), (*path, name))
        else:
            yield path, command

    return list(walk(typer.main.get_command(app), ()))


def command_line(draw: random.Random, inputs: dict[str, str]) -> list[str]:
    """A command with some of its options, values good and bad."""
    path, command = draw.choice(leaves())
    values = [*JUNK, *inputs.values(), inputs["folder"] + "/new.json"]
    result = list(path)
    for parameter in command.params:
        if not isinstance(parameter, TyperOption):
            result += [draw.choice(values) for _ in range(draw.choice((0, 1, 1, 1, 2)))]
        elif (
            parameter.name not in ("address", "engine", "jobs", "help", "window", "inside", "browser") and draw.random() < 0.25
        ):
            result.append(draw.choice(parameter.opts))
            if not parameter.is_flag:
                result.append(draw.choice(values))
    if path == ("sweep",):
        result += ["--jobs", "1"]
    if path == ("explore",):
        result += ["--out", "page.html"]  # else it serves until it is interrupted
    if draw.random() < 0.05:
        draw.shuffle(result)
    return result


def survives(arguments: list[str], folder: Path) -> None:
    """Run a command for at most two seconds of processor time, or twenty of any."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    timers = {signal.SIGPROF: signal.ITIMER_PROF, signal.SIGALRM: signal.ITIMER_REAL}
    before = {number: signal.signal(number, stop) for number in timers}
    for number, seconds in ((signal.SIGPROF, 2.0), (signal.SIGALRM, 20.0)):
        signal.setitimer(timers[number], seconds)
    try:
        result = run(arguments)
    finally:
        for number, timer in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])
    line = shlex.join(arguments)
    assert result.exit_code in ((0, 1, 2, 130) if arguments[:1] and arguments[0] in HEAVY else (0, 1, 2)), (
        f"{line}: {result.stderr}"
    )
    assert "Traceback" not in result.stderr, line
    if "--json" in arguments and result.exit_code == 0 and result.stdout.strip() and "--help" not in arguments:
        json.loads(result.stdout, parse_constant=pytest.fail)
    if result.exit_code == 2:
        assert result.stdout == "" or "inspect" in arguments, (
            line
        )  # inspect of several files answers for those that it can read
    drafts = [path for path in folder.rglob("*") if ".part" in path.name]
    assert not drafts, line


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "sandbox"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    heavy = ("torch", "matplotlib.figure", "matplotlib.backends.backend_svg", "sklearn", "scipy", "jinja2", "huggingface_hub")
    for name in heavy:
        importlib.import_module(name)  # an import that is interrupted leaves half a module behind
    return place


@pytest.mark.parametrize("seed", range(4))
def test_random_command_lines_end_in_an_answer_or_one_line(seed: int, inputs: dict[str, str], sandbox: Path) -> None:
    draw = random.Random(seed)
    for _ in range(15):
        arguments = command_line(draw, inputs)
        if (
            arguments[:1] == ["inspect"]
            or arguments[:1] == ["extend"]
            or arguments[:1] == ["diff"]
            or arguments[:1] == ["choose"]
        ):
            survives(arguments, sandbox)


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # the clock may strike inside a callback of torch
@pytest.mark.parametrize("seed", range(100, 140))
def test_two_thousand_random_command_lines_end_in_an_answer_or_one_line(
    seed: int, inputs: dict[str, str], sandbox: Path
) -> None:
    draw = random.Random(seed)
    for _ in range(50):
        survives(command_line(draw, inputs), sandbox)
