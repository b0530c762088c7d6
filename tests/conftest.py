"""What the whole run shares: cases of large grids take turns, and tests skipped for lack of data are counted at the end."""

from __future__ import annotations

import gc
import os
from collections import Counter
from datetime import UTC, datetime

import pytest

from tests.external import MISSING

TURN = "ORDINATE_TEST_TURN"
"""In the environment: the number of the turn, so that a run can be repeated, or "every" for all cases."""


def pytest_configure(config: pytest.Config) -> None:
    """Settle the turn once for all processes: today's, or every case where tests were named or the slow ones are asked for."""
    named = config.args_source is pytest.Config.ArgsSource.ARGS or config.option.keyword
    slow = config.option.markexpr == "slow"
    os.environ.setdefault(TURN, "every" if named or slow else str(datetime.now(UTC).date().toordinal()))


def pytest_report_header() -> str:
    return f"cases that take turns: {TURN}={os.environ[TURN]}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark slow what `in_turn` leaves to other days; in the slow run all of it, so that it covers each grid whole."""
    groups: dict[str, list[tuple[pytest.Item, int, int]]] = {}
    for item in items:
        for mark in item.iter_markers("in_turn"):
            name = mark.kwargs.get("group", f"{item.path}::{getattr(item, 'originalname', item.name)}")
            groups.setdefault(name, []).append((item, mark.args[0], mark.kwargs.get("start", 0)))
    turn = os.environ[TURN]
    for members in groups.values():
        for place, (item, share, start) in enumerate(members):
            due = turn == "every" or (place + start + int(turn)) % min(share, len(members)) == 0
            if not due or config.option.markexpr == "slow":
                item.add_marker("slow")


def pytest_collection_finish() -> None:
    """Leave what the collection made out of every later search for garbage: thousands of cases and all of torch."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    """Let garbage be searched everywhere again: plugins that end their work here look for what refers to an object."""
    gc.unfreeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        text = report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if MISSING in text:
            reasons[text.split(MISSING, 1)[1]] += 1
    if reasons:
        terminalreporter.section("NOT TESTED for lack of data", yellow=True, bold=True)
        for name, count in sorted(reasons.items()):
            terminalreporter.line(f"{count} tests need {name}", yellow=True)
        terminalreporter.line("Put the folders into `data`, or name the folder that holds them in ORDINATE_DATA.", yellow=True)
