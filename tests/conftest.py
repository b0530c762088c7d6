"""What the whole run shares: tests skipped for lack of data are counted at the end, so that nobody takes them for passed."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.external import MISSING


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
