"""How commands print: one console, one kind of table, one way to JSON, and values as people read them."""

from __future__ import annotations

import dataclasses
import math
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from ordinate.records import plain

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from ordinate.inspection.records import Finding, Value

__all__ = [
    "answer",
    "answer_json",
    "answer_record",
    "console",
    "emit",
    "findings_table",
    "format_bytes",
    "format_known",
    "format_source",
    "format_tokens",
    "format_value",
    "grid",
    "printable",
]

SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}
_SOURCE_STYLES = {"file": "green", "family": "blue", "derived": "dim", "assumed": "magenta", "unknown": "red"}


def console(*, stderr: bool = False) -> Console:
    """A console of rich; where nobody watches, lines have 120 columns, for a pipe has no width of its own."""
    from rich.console import Console
    from rich.segment import Segment

    class Safe(Console):
        """Shows control characters that came from a file instead of sending them to the terminal."""

        def render(self, *arguments: Any, **options: Any) -> Any:
            for segment in super().render(*arguments, **options):
                clean = segment.control or segment.text.isprintable() or segment.text == "\n"
                yield segment if clean else Segment(printable(segment.text), segment.style)

    stream = sys.stderr if stderr else sys.stdout
    watched = stream is not None and stream.isatty()
    return Safe(file=stream, width=None if watched else 120, highlight=False)


def printable(text: str) -> str:
    r"""The text with its control characters spelt out, such as those that would colour a terminal or turn its lines around.

    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    return "".join(one if one.isprintable() or one == "\n" else one.encode("unicode_escape").decode("ascii") for one in text)


def answer(*parts: RenderableType) -> None:
    """Print the answer on standard output."""
    from rich.text import Text

    paper = console()
    with paper.capture() as captured:
        for part in parts:
            paper.print(part, soft_wrap=isinstance(part, Text))  # text is to be copied: only tables are folded
    text = captured.get()
    emit(text if sys.stdout.isatty() else "".join(f"{line.rstrip()}\n" for line in text.splitlines()))


def answer_json(value: Any) -> None:
    """Print the answer as JSON: whatever it holds, through `ordinate.records.plain`.

    Numbers that are not finite become null, and a note on standard error says how many they were.
    """
    import json

    lost = _count_lost(value)
    if lost:
        typer.echo(f"ordinate: {lost} {'number is' if lost == 1 else 'numbers are'} not finite and printed as null", err=True)
    unicode = "utf" in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    emit(json.dumps(plain(value), indent=1, ensure_ascii=not unicode, allow_nan=False) + "\n")


def _count_lost(value: Any) -> int:
    if isinstance(value, float):
        return 0 if math.isfinite(value) else 1
    if isinstance(value, str | int | None):
        return 0
    if isinstance(value, Mapping):
        return sum(map(_count_lost, value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return sum(map(_count_lost, value))
    if hasattr(value, "to_dict"):
        return _count_lost(value.to_dict())
    if dataclasses.is_dataclass(value):
        return sum(_count_lost(getattr(value, field.name)) for field in dataclasses.fields(value))
    return _count_lost(value.tolist()) if hasattr(value, "tolist") else 0


def answer_record(record: Mapping[str, Any], as_json: bool) -> None:
    """Print names and values, a line each, or the same as JSON."""
    if as_json:
        answer_json(record)
        return
    table = grid("", "", header=False)
    for name, value in record.items():
        table.add_row(name.replace("_", " "), format_value(value))
    answer(table)


def emit(text: str) -> None:
    """Write to standard output; a reader that left early (`| head`) is no error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more when it ends


def grid(*columns: str, header: bool = True) -> Table:
    """An open table that stays readable in narrow terminals."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD if header else None, show_header=header, pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def format_value(value: Any) -> str:
    """A value for people: digits grouped, long lists by their ends."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {format_value(item)}" for key, item in value.items()) or "none"
    if isinstance(value, list | tuple):
        items = [format_value(item) for item in value]
        return ", ".join(items if len(items) <= 6 else [*items[:2], "...", items[-1]]) + (
            f" ({len(items)})" if len(items) > 6 else ""
        )
    return str(value)


def format_tokens(value: Value) -> str:
    """A number of tokens, or that it is unknown."""
    return "unknown" if not value.known else "no limit" if value.value is None else f"{value.value:,}"


def format_bytes(count: int | None) -> str:
    """Bytes with a binary unit."""
    if count is None:
        return "unknown"
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{count} B" if unit == "B" else f"{size:,.4g} {unit}"


def format_known(value: Value) -> str:
    """The value itself, escaped for rich."""
    from rich.markup import escape

    return escape(format_value(value.value)) if value.known else "[red]unknown[/]"


def format_source(value: Value) -> str:
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
        evidence = "; ".join(f"{key} = {format_value(value)}" for key, value in finding.evidence.items())
        table.add_row(
            f"[{style}]{finding.severity}[/]",
            f"[bold]{finding.id}[/]: {escape(finding.message)}" + (f"\n[dim]{escape(evidence)}[/]" if evidence else ""),
            escape(finding.hint),
        )
    return table
