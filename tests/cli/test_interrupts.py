"""Long commands stopped at any moment: one line, exit 130, no draft; the next run ends as an undisturbed one.

What keeps checkpoints goes on from them, to the byte; what keeps none starts again, to the byte. One thread throughout: sums
over several threads are added up in an order that changes.
"""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytestmark = pytest.mark.slow


class Long(NamedTuple):
    """A command that runs past two seconds. Its words name files inside a folder of the test as `{out}`."""

    line: str
    timed: str = r"(?!)"  # keys of its JSON, or lines of its files, that hold times and so differ from run to run


LONG = (
    Long("logic grow --classes 0,1,2,3 --gates 60 --checkpoint {out}/growing.json --out {out}/circuit.json --json", "seconds"),
    Long(
        "logic train --widths 300,300 --epochs 4 --checkpoint {out}/training "
        "--out {out}/network.json --circuit {out}/circuit.json --json",
        "seconds",
    ),
    Long(
        "sweep --task k-back --encoding alibi --seeds 3 --length 16 --test 16,32 --steps 40 --jobs 1 --out {out}/cells --json",
        "seconds|finished|tokens_per",
    ),
    Long("lab A --out {out}/report --json", "seconds|started|budget"),
    Long("golden --all --out {out}/golden"),
    Long("reservoir laterality --draws 12 --figure {out}/picture.svg --json", "seconds"),
    Long("reservoir control --few --draws 4 --nulls random --baselines input --out {out}/page.html --json", "seconds"),
    Long("reservoir tasks memory --nulls random --seeds 3 --steps 600 --figure {out}/picture.svg --json", "seconds"),
    Long("reservoir drive --seconds 3 --format svg --out {out}/drive.svg --json", "seconds"),
)


def start(line: str, out: Path) -> subprocess.Popen[str]:
    words = shlex.split(line.format(out=out))
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "SOURCE_DATE_EPOCH": "0"}
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "ordinate", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=settings,
    )


def lasting(document: Any, timed: str) -> Any:
    """The same JSON without what says how long it took."""
    if isinstance(document, dict):
        return {key: lasting(value, timed) for key, value in document.items() if not re.search(timed, key)}
    if isinstance(document, list):
        return [lasting(value, timed) for value in document]
    return document


def answer(output: str, out: Path, timed: str) -> Any:
    output = output.replace(str(out), "OUT")
    return lasting(json.loads(output), timed) if output.startswith(("{", "[")) else output


def files(out: Path, timed: str) -> Iterator[tuple[str, Any]]:
    """Every file that is no checkpoint, with its bytes, or its JSON without times."""
    for path in sorted(out.rglob("*")):
        name = str(path.relative_to(out))
        if path.is_dir() or "growing" in name or "training" in name:
            continue
        if timed != Long("").timed and path.suffix == ".json":
            yield name, lasting(json.loads(path.read_text().replace(str(out), "OUT")), timed)
        elif timed != Long("").timed and path.suffix == ".html":
            yield name, re.sub(r"[\d.,]+ ?(ms|s|min)\b|\d{4}-\d\d-\d\d[^<]*", "", path.read_text().replace(str(out), "OUT"))
        else:
            yield name, path.read_bytes().replace(str(out).encode(), b"OUT")


def drafts(out: Path) -> list[Path]:
    return [path for path in out.rglob("*") if ".part" in path.name]


@pytest.mark.parametrize("how", ["interrupted", "killed"])
@pytest.mark.parametrize("command", LONG, ids=[" ".join(one.line.split()[:2]) for one in LONG])
def test_a_command_that_is_stopped_and_run_again_ends_as_if_undisturbed(command: Long, how: str, tmp_path: Path) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    whole.mkdir()
    stopped.mkdir()
    began = time.monotonic()
    undisturbed = start(command.line, whole)
    wanted, problems = undisturbed.communicate(timeout=600)
    lasted = time.monotonic() - began
    assert undisturbed.returncode in (0, 1), problems
    draw = random.Random(command.line)
    struck = 0
    for share in (0.35, 0.6, 0.85, 0.95):
        running = start(command.line, stopped)
        try:
            output, problems = running.communicate(timeout=lasted * share * draw.uniform(0.9, 1.1))
        except subprocess.TimeoutExpired:
            struck += 1
            running.send_signal(signal.SIGINT if how == "interrupted" else signal.SIGKILL)
            output, problems = running.communicate(timeout=60)
            if how == "killed":
                continue
            if running.returncode == undisturbed.returncode:  # it ended as the signal came
                continue
            # Python itself ends by the signal where it came inside an `exec`, which a shell calls 130 too
            assert running.returncode in (130, -signal.SIGINT), problems
            assert "Traceback" not in problems
            assert "interrupted" in re.split(r"[\r\n]", problems.strip())[-1]
            assert output == ""
            assert drafts(stopped) == []
    assert struck, "it was quicker than this test"
    again = start(command.line, stopped)
    output, problems = again.communicate(timeout=600)
    assert again.returncode == undisturbed.returncode, problems
    assert answer(output, stopped, command.timed) == answer(wanted, whole, command.timed)
    for path in drafts(stopped):
        assert how == "killed"
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    assert dict(files(stopped, command.timed)) == dict(files(whole, command.timed))
