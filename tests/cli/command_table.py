"""Every command with arguments that make it answer, for the tests that hold for all of them.

`{config}`, `{circuit}` and `{folder}` are filled in by the fixtures of `test_every_command.py`. Slow ones take over 2 s.
"""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    """A command line that answers; `writes` names the options whose files it writes; `slow` ones are left to the slow run."""

    line: str
    writes: tuple[str, ...] = ()
    slow: bool = False


TINY_SWEEP = "--task k-back --encoding none --seeds 1 --length 16 --test 16,32 --steps 1 --jobs 1"
COMMANDS = (
    Command("lab --list"),
    Command("lab A3", ("--out",), slow=True),
    Command("inspect {config}", ("--figure", "--html")),
    Command("inspect {config} {config}"),
    Command("diff {config} {other}"),
    Command("extend {config} --to 262144"),
    Command("memory {config} --context 32768"),
    Command("explore {config}", ("--out",)),
    Command("verify --list"),
    Command("verify {code}:rope --head-dim 16 --layout half", slow=True),
    Command("golden rotary-half"),
    Command("golden --list"),
    Command("golden --all", ("--out",), slow=True),
    Command(f"sweep {TINY_SWEEP}", ("--out", "--csv", "--figure"), slow=True),
    Command("choose --trained 1024 --needed 8192 --train --need text"),
    Command("reservoir show", ("--figure",)),
    Command("reservoir laterality --draws 1", ("--figure",), slow=True),
    Command("reservoir drive --seconds 0.2 --format svg", ("--out",), slow=True),
    Command(
        "reservoir tasks memory --nulls random --signs positive --normalisation input --seeds 2 --steps 200",
        ("--figure",),
        slow=True,
    ),
    Command("reservoir tasks --list"),
    Command("reservoir story --seconds 0.2"),
    Command("reservoir spikes --activate sensory --silence descending --seconds 0.05 --impl clock", ("--figure",)),
    Command("reservoir control --few --draws 2 --nulls random --baselines input --steps 100", ("--out",), slow=True),
    Command("logic grow --classes 0,1 --gates 4", ("--out", "--figure"), slow=True),
    Command("logic train --classes 0,1 --widths 20 --epochs 1", ("--out", "--checkpoint", "--circuit"), slow=True),
    Command("logic import {blif}", ("--out",)),
    Command("logic simplify {circuit}", ("--out",)),
    Command("logic run {circuit}", ("--figure",)),
    Command("logic emit {circuit}", ("--c", "--verilog", "--blif", "--aiger", "--bench")),
)
