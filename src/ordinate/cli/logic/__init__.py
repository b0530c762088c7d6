"""`ordinate logic`: networks of logic gates, from images to a circuit on a chip. One small file a command."""

from __future__ import annotations

import typer

from ordinate.cli.groups import lazy_group

__all__ = ["COMMANDS", "logic"]

COMMANDS: dict[str, str] = {
    "train": "Train a network of relaxed gates by gradient descent.",
    "grow": "Grow a circuit gate by gate.",
    "import": "A circuit from BLIF, AIGER, torchlogix, difflogic or torch-dwn.",
    "simplify": "A smaller circuit with the same scores, proven.",
    "run": "Run a circuit on the test images or on a table.",
    "emit": "Write a circuit as C, Verilog, BLIF or AIGER.",
    "fpga": "Place and route a circuit on a small FPGA.",
}
"""Each command with its line of help: the function of that name in the file of that name."""

logic = typer.Typer(
    cls=lazy_group("ordinate.cli.logic", COMMANDS, renamed={name: {"--picture": "--figure"} for name in ("grow", "run")}),
    help="Networks of logic gates: train, grow, import, simplify, run, emit, fpga.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@logic.callback()
def _options() -> None:
    pass
