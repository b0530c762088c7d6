"""How commands print: one console, tables and records, provenance in few words, sizes and lengths for people."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from ordinate.inspection.records import Finding, Value

__all__ = [
    "answer",
    "answer_json",
    "answer_record",
    "bytes_of",
    "emit",
    "findings_table",
    "grid",
    "shown",
    "tokens",
    "told",
    "whence",
]

SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}
_SOURCE_STYLES = {"file": "green", "family": "blue", "derived": "dim", "assumed": "magenta", "unknown": "red"}


def answer(*parts: RenderableType) -> None:
    """Print the answer on standard output; a pipe gets lines of 120 columns, for it has no width of its own."""
    from rich.console import Console
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    with console.capture() as captured:
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, Text))  # text is to be copied: only tables are folded
    text = captured.get()
    emit(text if sys.stdout.isatty() else "".join(f"{line.rstrip()}\n" for line in text.splitlines()))


def answer_json(told: Any) -> None:
    """Print the answer as JSON."""
    import json

    emit(json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def answer_record(record: Mapping[str, Any], as_json: bool) -> None:
    """Print names and values, a line each, or the same as JSON."""
    if as_json:
        answer_json(record)
        return
    table = grid("", "", header=False)
    for name, value in record.items():
        table.add_row(name.replace("_", " "), shown(value))
    answer(table)


def emit(text: str) -> None:
    """Write to standard output; a reader that left early (`| head`) is no error, nor is a terminal without some letters."""
    stream = sys.stdout
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # the interpreter flushes once more when it ends


def grid(*columns: str, header: bool = True) -> Table:
    """An open table that stays readable in narrow terminals."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD if header else None, show_header=header, pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def shown(value: Any) -> str:
    """A value for people: digits grouped, long lists by their ends."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    if isinstance(value, list | tuple):
        items = [shown(item) for item in value]
        return ", ".join(items if len(items) <= 6 else [*items[:2], "...", items[-1]]) + (
            f" ({len(items)})" if len(items) > 6 else ""
        )
    return str(value)


def tokens(value: Value) -> str:
    """A number of tokens, or that it is unknown."""
    return "unknown" if not value.known else "no limit" if value.value is None else f"{value.value:,}"


def bytes_of(count: int | None) -> str:
    """Bytes with a binary unit."""
    if count is None:
        return "unknown"
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{count} B" if unit == "B" else f"{size:,.4g} {unit}"


def told(value: Value) -> str:
    """The value itself, escaped for rich."""
    from rich.markup import escape

    return escape(shown(value.value)) if value.known else "[red]unknown[/]"


def whence(value: Value) -> str:
    """Where a value comes from, coloured and escaped for rich."""
    from rich.markup import escape

    style = _SOURCE_STYLES[value.source]
    return f"[{style}]{value.source}[/] [dim]{escape(value.detail)}[/]" if value.detail else f"[{style}]{value.source}[/]"


def findings_table(findings: Sequence[Finding]) -> Table:
    """Severity, what is the matter with its evidence, and what to do."""
    from rich.markup import escape

    table = grid("severity", "finding", "what to do")
    for finding in findings:
        style = SEVERITY_STYLES[finding.severity]
        evidence = "; ".join(f"{key} = {shown(value)}" for key, value in finding.evidence.items())
        table.add_row(
            f"[{style}]{finding.severity}[/]",
            f"[bold]{finding.id}[/]: {escape(finding.message)}" + (f"\n[dim]{escape(evidence)}[/]" if evidence else ""),
            escape(finding.hint),
        )
    return table
