"""`ordinate reservoir`: a connectome as a recurrent network. One small file a command."""

from __future__ import annotations

import typer

from ordinate.cli.groups import lazy_group

__all__ = ["COMMANDS", "reservoir"]

COMMANDS: dict[str, str] = {
    "show": "What a connectome holds: neurons, sides, kinds, spectral radius, which way edges run.",
    "laterality": "Whether output cells answer the other side more, compared with null models.",
    "drive": "Let a connectome steer a fly.",
    "spikes": "Drive some neurons, silence others, and see who fires (Shiu et al.'s model).",
    "control": "Whether the wiring matters: null models, and what needs no wiring.",
    "story": "What a connectome does with a fly when nothing is scaled in between.",
    "tasks": "Score a connectome on benchmark tasks against null models.",
}
"""Each command with its line of help: the function of that name in the file of that name."""

reservoir = typer.Typer(
    cls=lazy_group(
        "ordinate.cli.reservoir",
        COMMANDS,
        renamed={
            "show": {"--out": "--figure"},
            "laterality": {"--out": "--figure", "--null": "--nulls"},
            "control": {"--wirings": "--nulls"},
            "tasks": {"--picture": "--figure", "--normalisations": "--normalisation"},
        },
    ),
    help="A connectome as a recurrent network: left and right, tasks, a body.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@reservoir.callback()
def _options() -> None:
    pass
