"""`ordinate inspect`: what a model's file says about position."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from ordinate.inspection.records import Cache, Encoding, Inspection, LayerKind, Part, Rotation

__all__ = ["inspect"]


def inspect(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="A config.json, a directory that holds one, a GGUF file, - for standard input, or owner/name on the hub.",
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole answer as JSON (docs/inspect-schema.md).")] = False,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="Draw wavelength by pair into this file.")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the answer as one page.")] = None,
) -> None:
    """Say how a model encodes position, over what context, at what cost, and what is suspicious in its file.

    Every value says where it comes from: the file's key, the family's code, a formula, or an assumption. Exit 0 when all is
    well, 1 when there are findings of severity warning or above, 2 when a file cannot be read.
    """
    from ordinate.cli.tables import answer, answer_json
    from ordinate.errors import ArgumentError, OrdinateError
    from ordinate.inspection.files import read_document
    from ordinate.inspection.inspect import inspect_document

    if len(files) > 1 and (figure or html):
        option = "--figure" if figure else "--html"
        raise ArgumentError(option, expected="one file", got=f"{len(files)} files", hint="call it once for each")
    if files.count("-") > 1:
        raise ArgumentError("-", expected="standard input once", got=f"{files.count('-')} times", hint="name it once")
    inspections: list[Inspection] = []
    refused = 0
    for name in files:
        try:
            inspections.append(inspect_document(read_document(name)))
        except OrdinateError as problem:
            if len(files) == 1:
                raise
            typer.echo(f"ordinate: {problem}", err=True)
            refused += 1
    if figure or html:
        _draw(inspections[0], figure, html)
    if as_json:
        records: Any = [inspection.to_dict() for inspection in inspections]
        answer_json(records[0] if len(files) == 1 else records)
    elif len(files) == 1:
        answer(*_one(inspections[0]))
    elif inspections:
        answer(_several(inspections))
    if refused:
        raise typer.Exit(2)
    if any(inspection.severity in ("warning", "error") for inspection in inspections):
        raise typer.Exit(1)


def _draw(inspection: Inspection, figure: Path | None, html: Path | None) -> None:
    from ordinate.inspection.figure import write_figure, write_html

    if figure is not None:
        write_figure(inspection, figure)
        typer.echo(f"figure: {figure}", err=True)
    if html is not None:
        write_html(inspection, html)
        typer.echo(f"page: {html}", err=True)


def _one(inspection: Inspection) -> list[RenderableType]:
    """One file: a panel that sums up, a table for each kind of layer, and the findings."""
    from rich.markup import escape
    from rich.panel import Panel
    from rich.text import Text

    from ordinate.cli.tables import findings_table

    parts: list[RenderableType] = [
        Panel(_summary(inspection), title=f"[bold]{escape(inspection.source)}[/]", title_align="left", border_style="dim")
    ]
    for part in inspection.parts:
        for layer in part.layers:
            parts.append(Text.from_markup(f"\n[bold]{escape(part.name)}[/], {escape(_counted(layer, part))}"))
            parts.append(_layer_table(layer, part.contexts.trained.value))
    if inspection.findings:
        parts += [Text.from_markup("\n[bold]findings[/]"), findings_table(inspection.findings)]
    return parts


def _summary(inspection: Inspection) -> Table:
    from rich.markup import escape

    from ordinate.cli.tables import bytes_of, grid, tokens, told, whence

    main, table = inspection.main, grid("", "", "", header=False)
    table.add_row("model type", told(inspection.model_type), whence(inspection.model_type))
    table.add_row("encoding", f"[bold]{escape(inspection.kind or 'unknown')}[/]", "")
    contexts = main.contexts
    table.add_row("trained context", tokens(contexts.trained), whence(contexts.trained))
    table.add_row("claimed context", f"{tokens(contexts.claimed)}", whence(contexts.claimed))
    if contexts.relation:
        table.add_row("", f"[dim]{escape(contexts.relation)}[/]", "")
    if main.cache is not None:
        table.add_row("cache", f"{bytes_of(main.cache.bytes_per_token.value)} a token", whence(main.cache.bytes_per_token))
        table.add_row(
            "",
            f"{'at least ' if main.cache.at_least else ''}{bytes_of(main.cache.bytes_at_claimed.value)} at the claimed context",
            whence(main.cache.bytes_per_value),
        )
    spent = inspection.parameters_on_position
    table.add_row("numbers learned for position", told(spent), whence(spent))
    if len(inspection.parts) > 1:
        table.add_row("parts", ", ".join(f"{part.name} ({part.kind or 'unknown'})" for part in inspection.parts), "")
    return table


def _counted(layer: LayerKind, part: Part) -> str:
    count, whole = len(layer.indices), part.num_layers.value
    if not count:
        return layer.name
    which = "" if count == whole else f" ({', '.join(map(str, layer.indices[:6]))}{', ...' if count > 6 else ''})"
    return f"{layer.name}: {count} of {whole} layers{which}" if whole is not None else f"{layer.name}: {count} layers{which}"


def _layer_table(layer: LayerKind, trained: int | None) -> Table:
    from ordinate.cli.tables import grid, told, whence

    table = grid("what", "value", "from")
    for encoding in layer.encodings:
        _add_encoding(table, encoding, trained)
    if layer.window_keys.value is not None or not layer.window_keys.known:
        table.add_row("window, keys", told(layer.window_keys), whence(layer.window_keys))
    if layer.temperature.value is not None or not layer.temperature.known:
        table.add_row("factor on queries", told(layer.temperature), whence(layer.temperature))
    attention = layer.attention
    table.add_row("attention", told(attention.sort), whence(attention.sort))
    for label, value in (
        ("query heads", attention.num_heads),
        ("key-value heads", attention.num_kv_heads),
        ("head width", attention.head_dim),
        ("cached numbers a token", attention.cached_width),
        ("constant state, numbers", attention.state_width),
    ):
        if value.value or not value.known:
            table.add_row(label, told(value), whence(value))
    return table


def _add_encoding(table: Table, encoding: Encoding, trained: int | None) -> None:
    from rich.markup import escape

    from ordinate.cli.tables import told, whence

    table.add_row("encoding", f"[bold]{told(encoding.kind)}[/] on {escape(encoding.where)}", whence(encoding.kind))
    if encoding.rotation is not None:
        _add_rotation(table, encoding.rotation)
        _add_frequencies(table, encoding.rotation, trained)
    for name, value in encoding.settings.items():
        table.add_row(name.replace("_", " "), told(value), whence(value))
    if encoding.note:
        table.add_row("note", f"[dim]{escape(encoding.note)}[/]", "")


def _add_rotation(table: Table, rotation: Rotation) -> None:
    from ordinate.cli.tables import told, whence

    table.add_row("layout", told(rotation.layout), whence(rotation.layout))
    of_head = f"{told(rotation.rotary_dim)} of {told(rotation.head_dim)}"
    turned = ", the last ones" if rotation.reversed_channels else ""
    table.add_row("rotated channels", of_head + turned, whence(rotation.rotary_dim))
    table.add_row("base", told(rotation.base), whence(rotation.base))
    if len(rotation.axes) > 1:
        table.add_row("axes", f"{', '.join(rotation.axes)}: {rotation.sharing}", "")
    if rotation.sections is not None:
        table.add_row("sections, pairs", told(rotation.sections), whence(rotation.sections))
    table.add_row("scaling", told(rotation.rule), whence(rotation.rule))
    for name, value in rotation.settings.items():
        table.add_row(f"  {name}", told(value), whence(value))


def _add_frequencies(table: Table, rotation: Rotation, trained: int | None) -> None:
    from ordinate.cli.tables import shown
    from ordinate.inspection.records import incomplete_pairs, wavelengths

    scaled = rotation.scaling is not None
    before, after = rotation.unscaled_frequencies(), rotation.inverse_frequencies()
    for label, ladder in (("before", before), ("after", after)) if scaled else (("", after),):
        if ladder is None:
            table.add_row(f"inverse frequencies {label}", "[red]unknown[/]", "")
            continue
        waves = [wave for wave in wavelengths(ladder) if wave < float("inf")]
        span = f"wavelengths {shown(round(waves[0], 2))} to {shown(round(waves[-1]))} tokens" if waves else "nothing turns"
        table.add_row(f"inverse frequencies {label}", f"{shown(ladder[0])} to {shown(ladder[-1])}", f"[dim]{span}[/]")
    if after is not None and trained:
        part = f"{incomplete_pairs(after, trained)} of {len(after)}"
        table.add_row("pairs without a whole turn", part, f"[dim]inside the trained {trained:,} tokens[/]")
    for label, factor in (("cos and sin factor", rotation.cos_sin_factor), ("factor on scores", rotation.softmax_factor)):
        if factor is None or factor != 1:
            table.add_row(label, "[red]unknown[/]" if factor is None else shown(factor), "")


def _several(inspections: list[Inspection]) -> Table:
    """Several files: one row each."""
    from rich.markup import escape

    from ordinate.cli.tables import SEVERITY_STYLES, bytes_of, grid, shown, tokens

    table = grid(
        "file", "encoding", "layout", "turning", "base", "scaling", "trained", "claimed", "cache at claimed", "findings"
    )
    names = _short([inspection.source for inspection in inspections])
    for name, inspection in zip(names, inspections, strict=True):
        turn = next((layer.rotation for layer in inspection.layers if layer.rotation is not None), None)
        row = ["", "", "", ""]
        if turn is not None:
            dims = f"{shown(turn.rotary_dim.value)}/{shown(turn.head_dim.value)}"
            row = [str(turn.layout.value or "unknown"), dims, shown(turn.base.value), str(turn.rule.value or "unknown")]
        counts = {severity: sum(f.severity == severity for f in inspection.findings) for severity in SEVERITY_STYLES}
        marks = ", ".join(f"[{SEVERITY_STYLES[name]}]{count} {name}[/]" for name, count in counts.items() if count)
        cache: Cache | None = inspection.cache
        size = "" if cache is None else bytes_of(cache.bytes_at_claimed.value)
        contexts = inspection.contexts
        table.add_row(
            escape(name),
            inspection.kind or "unknown",
            *map(escape, row),
            tokens(contexts.trained),
            tokens(contexts.claimed),
            size,
            marks or "none",
        )
    return table


def _short(names: list[str]) -> list[str]:
    """Names without the directories that all of them share."""
    import os.path

    folders = [os.path.dirname(name) for name in names]
    if not all(folders) or len({os.path.isabs(name) for name in names}) > 1:
        return names
    shared = os.path.commonpath(folders)
    return [os.path.relpath(name, shared) for name in names] if shared else names
