"""`ordinate inspect`: what a model's file says about position."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinate.cli.options import AsJson

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
    as_json: AsJson = False,
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

    from ordinate.cli.tables import format_bytes, format_known, format_source, format_tokens, grid

    main, table = inspection.main, grid("", "", "", header=False)
    table.add_row("model type", format_known(inspection.model_type), format_source(inspection.model_type))
    table.add_row("encoding", f"[bold]{escape(inspection.kind or 'unknown')}[/]", "")
    contexts = main.contexts
    table.add_row("trained context", format_tokens(contexts.trained), format_source(contexts.trained))
    table.add_row("claimed context", f"{format_tokens(contexts.claimed)}", format_source(contexts.claimed))
    if contexts.relation:
        table.add_row("", f"[dim]{escape(contexts.relation)}[/]", "")
    if main.cache is not None:
        table.add_row(
            "cache", f"{format_bytes(main.cache.bytes_per_token.value)} a token", format_source(main.cache.bytes_per_token)
        )
        whole, per_value = format_bytes(main.cache.bytes_at_claimed.value), main.cache.bytes_per_value
        table.add_row(
            "",
            f"{'at least ' if main.cache.at_least else ''}{whole} at the claimed context",
            format_source(per_value),
        )
    spent = inspection.parameters_on_position
    table.add_row("numbers learned for position", format_known(spent), format_source(spent))
    if len(inspection.parts) > 1:
        table.add_row("parts", ", ".join(f"{part.name} ({part.kind or 'unknown'})" for part in inspection.parts), "")
    return table


def _counted(layer: LayerKind, part: Part) -> str:
    count, whole = len(layer.indices), part.num_layers.value
    if not count:
        return layer.name
    if layer.stack:  # the part counts the layers of its first stack
        return f"{layer.name}: {count} layers"
    which = "" if count == whole else f" ({', '.join(map(str, layer.indices[:6]))}{', ...' if count > 6 else ''})"
    return f"{layer.name}: {count} of {whole} layers{which}" if whole is not None else f"{layer.name}: {count} layers{which}"


def _layer_table(layer: LayerKind, trained: int | None) -> Table:
    from ordinate.cli.tables import format_known, format_source, grid

    table = grid("what", "value", "from")
    for encoding in layer.encodings:
        _add_encoding(table, encoding, trained)
    if layer.window_keys.value is not None or not layer.window_keys.known:
        table.add_row("window, keys", format_known(layer.window_keys), format_source(layer.window_keys))
    if layer.temperature.value is not None or not layer.temperature.known:
        table.add_row("factor on queries", format_known(layer.temperature), format_source(layer.temperature))
    attention = layer.attention
    table.add_row("attention", format_known(attention.sort), format_source(attention.sort))
    for label, value in (
        ("query heads", attention.num_heads),
        ("key-value heads", attention.num_kv_heads),
        ("head width", attention.head_dim),
        ("cached numbers a token", attention.cached_width),
        ("constant state, numbers", attention.state_width),
    ):
        if value.value or not value.known:
            table.add_row(label, format_known(value), format_source(value))
    return table


def _add_encoding(table: Table, encoding: Encoding, trained: int | None) -> None:
    from rich.markup import escape

    from ordinate.cli.tables import format_known, format_source

    table.add_row(
        "encoding", f"[bold]{format_known(encoding.kind)}[/] on {escape(encoding.where)}", format_source(encoding.kind)
    )
    if encoding.rotation is not None:
        _add_rotation(table, encoding.rotation)
        _add_frequencies(table, encoding.rotation, trained)
    for name, value in encoding.settings.items():
        table.add_row(name.replace("_", " "), format_known(value), format_source(value))
    if encoding.note:
        table.add_row("note", f"[dim]{escape(encoding.note)}[/]", "")


def _add_rotation(table: Table, rotation: Rotation) -> None:
    from ordinate.cli.tables import format_known, format_source

    table.add_row("layout", format_known(rotation.layout), format_source(rotation.layout))
    of_head = f"{format_known(rotation.rotary_dim)} of {format_known(rotation.head_dim)}"
    turned = ", the last ones" if rotation.reversed_channels else ""
    table.add_row("rotated channels", of_head + turned, format_source(rotation.rotary_dim))
    table.add_row("base", format_known(rotation.base), format_source(rotation.base))
    if len(rotation.axes) > 1:
        table.add_row("axes", f"{', '.join(rotation.axes)}: {rotation.sharing}", "")
    if rotation.sections is not None:
        table.add_row("sections, pairs", format_known(rotation.sections), format_source(rotation.sections))
    table.add_row("scaling", format_known(rotation.rule), format_source(rotation.rule))
    for name, value in rotation.settings.items():
        table.add_row(f"  {name}", format_known(value), format_source(value))


def _add_frequencies(table: Table, rotation: Rotation, trained: int | None) -> None:
    from ordinate.cli.tables import format_value
    from ordinate.inspection.records import incomplete_pairs, wavelengths

    scaled = rotation.scaling is not None
    before, after = rotation.unscaled_frequencies(), rotation.inverse_frequencies()
    for label, inv_freq in (("before", before), ("after", after)) if scaled else (("", after),):
        if inv_freq is None:
            table.add_row(f"inverse frequencies {label}", "[red]unknown[/]", "")
            continue
        waves = [wave for wave in wavelengths(inv_freq) if wave < float("inf")]
        span = (
            f"wavelengths {format_value(round(waves[0], 2))} to {format_value(round(waves[-1]))} tokens"
            if waves
            else "nothing turns"
        )
        table.add_row(
            f"inverse frequencies {label}", f"{format_value(inv_freq[0])} to {format_value(inv_freq[-1])}", f"[dim]{span}[/]"
        )
    if after is not None and trained:
        part = f"{incomplete_pairs(after, trained)} of {len(after)}"
        table.add_row("pairs without a whole turn", part, f"[dim]inside the trained {trained:,} tokens[/]")
    for label, factor in (("cos and sin factor", rotation.cos_sin_factor), ("factor on scores", rotation.softmax_factor)):
        if factor is None or factor != 1:
            table.add_row(label, "[red]unknown[/]" if factor is None else format_value(factor), "")


def _several(inspections: list[Inspection]) -> Table:
    """Several files: one row each."""
    from rich.markup import escape

    from ordinate.cli.tables import SEVERITY_STYLES, format_bytes, format_tokens, format_value, grid

    table = grid(
        "file", "encoding", "layout", "turning", "base", "scaling", "trained", "claimed", "cache at claimed", "findings"
    )
    names = _short([inspection.source for inspection in inspections])
    for name, inspection in zip(names, inspections, strict=True):
        turn = next((layer.rotation for layer in inspection.layers if layer.rotation is not None), None)
        row = ["", "", "", ""]
        if turn is not None:
            dims = f"{format_value(turn.rotary_dim.value)}/{format_value(turn.head_dim.value)}"
            row = [str(turn.layout.value or "unknown"), dims, format_value(turn.base.value), str(turn.rule.value or "unknown")]
        counts = {severity: sum(f.severity == severity for f in inspection.findings) for severity in SEVERITY_STYLES}
        marks = ", ".join(f"[{SEVERITY_STYLES[name]}]{count} {name}[/]" for name, count in counts.items() if count)
        cache: Cache | None = inspection.cache
        size = "" if cache is None else format_bytes(cache.bytes_at_claimed.value)
        contexts = inspection.contexts
        table.add_row(
            escape(name),
            inspection.kind or "unknown",
            *map(escape, row),
            format_tokens(contexts.trained),
            format_tokens(contexts.claimed),
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
