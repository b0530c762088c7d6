"""Running the checks on every peer that is installed, and the table that they make."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from ordinate.verify.peers.others import OTHERS
from ordinate.verify.peers.ours import OURS
from ordinate.verify.peers.transformers import TRANSFORMERS
from ordinate.verify.verdict import Verdict

__all__ = ["PeerRow", "look_at_peers", "table_of"]

PEERS = [*TRANSFORMERS, *OTHERS, *OURS]


@dataclass(frozen=True)
class PeerRow:
    """What was found of one subject of one library; `verdict` None: it could not be asked, `why` says so."""

    library: str
    version: str
    subject: str
    verdict: Verdict | None
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        told = None if self.verdict is None else self.verdict.to_dict()
        return {"library": self.library, "version": self.version, "subject": self.subject, "verdict": told, "why": self.why}


def look_at_peers(
    progress: Callable[[str], None] = lambda words: None, libraries: Sequence[str] | None = None
) -> list[PeerRow]:
    """Every subject of every library that is installed; about a minute.

    Args:
        progress: told what is looked at.
        libraries: only these, by the name of their distribution.
    """
    rows = []
    for library, subject, check in PEERS:
        if libraries is not None and library not in libraries:
            continue
        try:
            version = metadata.version(library)
        except metadata.PackageNotFoundError:
            rows.append(PeerRow(library, "", subject, None, "not installed"))
            continue
        progress(f"{library} {version}: {subject}")
        try:
            with _quietly():
                verdict = check()
        except Exception as problem:
            rows.append(
                PeerRow(library, version, subject, None, f"{type(problem).__name__}: {' '.join(str(problem).split())[:200]}")
            )
            continue
        rows.append(PeerRow(library, version, subject, verdict))
    return rows


@contextlib.contextmanager
def _quietly() -> Any:
    """Without the libraries' own talk: warnings, progress bars, logs."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def table_of(rows: Sequence[PeerRow]) -> str:
    """The rows as Markdown: one line for each property that failed."""
    lines = [
        "# What the verifier finds in installed libraries",
        "",
        "Made by `ordinate verify --peers`, on the versions named. A line is a property that fails; where one says `nothing`,",
        "every property that applies holds. What a library does on purpose (a rotation that looks at the length, a default for",
        "positions) is told like anything else: it says what a user has to mind.",
        "",
        "| library | subject | passed | what fails | what was seen | likely cause |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        name = f"{row.library} {row.version}".strip()
        if row.verdict is None:
            lines.append(f"| {name} | {row.subject} | | | {_cell(row.why)} | |")
            continue
        passed = sum(outcome.status == "passed" for outcome in row.verdict.outcomes)
        if not row.verdict.failed:
            lines.append(f"| {name} | {row.subject} | {passed} | nothing | | |")
        says = {cause.id: cause.says for cause in row.verdict.causes}
        for outcome in row.verdict.failed:
            causes = "; ".join(says[cause] for cause in outcome.causes[:1])
            lines.append(f"| {name} | {row.subject} | {passed} | {outcome.id} | {_cell(outcome.evidence)} | {_cell(causes)} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
