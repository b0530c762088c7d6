"""`ordinate golden`: vectors that a port in any language can be checked against."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ordinate.cli.options import AsJson, Listed

__all__ = ["golden"]


def golden(
    case: Annotated[str | None, typer.Argument(metavar="CASE", help="Such as rotary-half; see --list.")] = None,
    as_json: AsJson = False,
    listed: Listed = False,
    everything: Annotated[bool, typer.Option("--all", help="Every case, with --out.")] = False,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder to write into, one file a case.")] = None,
) -> None:
    """Print or write golden vectors: inputs, settings, expected outputs in float64, float32 and bfloat16, tolerances and why.

    Exit 0, or 2 for wrong use.
    """
    from ordinate.arguments import did_you_mean
    from ordinate.encodings import REGISTRY
    from ordinate.errors import ArgumentError, UnknownNameError

    if listed:
        _print_list(as_json)
        return
    from ordinate.verify.golden import CASES, POSITION_CASES, position_vectors, vectors

    if everything:
        if out is None:
            raise ArgumentError("--out", expected="a folder", got="nothing")
        _write(out, [*map(vectors, CASES.values()), *map(position_vectors, POSITION_CASES.values())])
        return
    if case is None:
        raise ArgumentError("CASE", expected="a name", got="nothing", hint="see ordinate golden --list")
    if case not in CASES | POSITION_CASES:
        known = [*CASES, *POSITION_CASES]
        row = next((row for row in REGISTRY.values() if case in (row.name, *row.aliases)), None)
        cases = [one.id for one in CASES.values() if row is not None and one.encoding == row.name]
        hint = f"cases of this encoding: {', '.join(cases)}" if cases else did_you_mean(case, known)
        if ":" in case:
            hint = "to check code of your own: ordinate verify"
        raise UnknownNameError("CASE", expected="a case of `ordinate golden --list`", got=case, hint=hint)
    record = vectors(CASES[case]) if case in CASES else position_vectors(POSITION_CASES[case])
    if out is not None:
        _write(out, [record])
    elif as_json:
        from ordinate.cli.tables import answer_json

        answer_json(record)
    else:
        _print(record)


def _print_list(as_json: bool) -> None:
    from ordinate.cli.tables import answer, answer_json, grid
    from ordinate.verify.golden import CASES, POSITION_CASES

    if as_json:
        rows = [{"id": one.id, "builder": one.builder, "settings": dict(one.settings)} for one in POSITION_CASES.values()]
        answer_json([*({"id": case.id, **case.spec()} for case in CASES.values()), *rows])
        return
    table = grid("case", "encoding", "settings", "scaling")
    for case in CASES.values():
        scaling = "" if case.scaling is None else ", ".join(f"{name}={value}" for name, value in case.scaling.items())
        table.add_row(f"[bold]{case.id}[/]", case.encoding, _settings(case.settings), scaling)
    builders = grid("case", "positions by indices.", "settings")
    for one in POSITION_CASES.values():
        builders.add_row(f"[bold]{one.id}[/]", one.builder, _settings(one.settings))
    answer(table, builders)


def _settings(settings: Any) -> str:
    from rich.markup import escape

    return escape(", ".join(f"{name}={value}" for name, value in settings.items()))


def _write(out: Path, records: list[dict[str, Any]]) -> None:
    """Every case into its file, all of them or none."""
    import json

    from ordinate.atomic_io import atomic_files

    with atomic_files(out, name="--out") as staging:
        for record in records:
            text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
            (staging / f"{record['id']}.json").write_text(text, encoding="utf-8")
    typer.echo(f"{len(records)} {'file' if len(records) == 1 else 'files'} in {out}", err=True)


def _print(record: dict[str, Any]) -> None:
    """For people: what it is, and the first numbers of each output."""
    from rich.markup import escape
    from rich.text import Text

    from ordinate.cli.tables import answer, format_value, grid

    table = grid("what", "shape", "numbers")
    for name, part in {**record.get("parameters", {}), **record["inputs"]}.items():
        table.add_row(name, format_value(part["shape"]), format_value(part["data"][:6]))
    for name, part in record["outputs"].items():
        if "data" in part:  # whole numbers
            table.add_row(f"[bold]{name}[/]", format_value(part["shape"]), format_value(part["data"][:12]))
            continue
        table.add_row(f"[bold]{name}[/]", format_value(part["shape"]), format_value(part["float64"][:6]))
        tolerance = record["tolerances"][name]["float32"]
        table.add_row(
            "",
            "",
            escape(f"float32 within {tolerance['absolute']:.3g} + {tolerance['per_position']:.3g} |p|: {tolerance['reason']}"),
        )
    heading = f"[bold]{escape(record['id'])}[/]: {escape(record['says'])}\n[dim]{escape(record.get('source', ''))}[/]"
    answer(Text.from_markup(heading), table, Text("--json prints all of it", style="dim"))
