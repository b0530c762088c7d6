"""`ordinate memory`: what running a model takes, and whether it fits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ordinate.cli.options import AsJson

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ordinate.inspection.memory.estimate import Fit, MemoryEstimate

__all__ = ["memory"]


def memory(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A config.json, a directory with one and perhaps its weights, or a GGUF file."),
    ],
    context: Annotated[
        str | None, typer.Option("--context", metavar="N", help="Tokens of each sequence; by default what the file claims.")
    ] = None,
    sequences: Annotated[str, typer.Option("--sequences", metavar="N", help="How many sequences run at once.")] = "1",
    batch: Annotated[
        str | None, typer.Option("--batch", metavar="N", help="Tokens computed at once; the program's own by default.")
    ] = None,
    cache_type: Annotated[
        str | None,
        typer.Option("--cache-type", metavar="TYPE", help="Of cached keys and values: f16, q8_0, q4_0, fp8 ..."),
    ] = None,
    value_cache_type: Annotated[
        str | None, typer.Option("--value-cache-type", metavar="TYPE", help="Of cached values, where they differ from keys.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option("--engine", metavar="NAME", help="Whose rules: transformers, vllm or llama.cpp.")
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option("--layout", metavar="NAME", help="Of the cache: dynamic or static; separate or unified in llama.cpp."),
    ] = None,
    encoder_tokens: Annotated[
        str | None, typer.Option("--encoder-tokens", metavar="N", help="What a decoder keeps of its encoder, tokens.")
    ] = None,
    logits: Annotated[
        str, typer.Option("--logits", metavar="NAME", help="Rows of logits: last, one a sequence; all, one a token.")
    ] = "last",
    gpu_layers: Annotated[
        str | None,
        typer.Option("--gpu-layers", metavar="N", help="llama.cpp: how many of the last layers lie on the GPU, or all."),
    ] = None,
    cpu_moe: Annotated[
        str | None,
        typer.Option("--cpu-moe", metavar="N", help="llama.cpp: of how many first layers experts lie on the CPU, or all."),
    ] = None,
    device_map: Annotated[
        Path | None,
        typer.Option("--device-map", metavar="FILE", help="transformers: JSON of modules and devices (model.hf_device_map)."),
    ] = None,
    fits: Annotated[
        str | None, typer.Option("--fits", metavar="SIZE", help="Say what fits into so much memory: 24GiB, 80GB.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="Draw the parts as a bar into this file (svg, png, pdf).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what running a model takes: weights, cache, recurrent state, logits and activations, and whether it fits.

    Weights are summed from the headers of safetensors and GGUF files. Exit 0 when it fits (or nothing was asked), 1 when it
    does not or there are findings, 2 for wrong use.
    """
    from ordinate.cli.numbers import byte_count, token_count
    from ordinate.cli.tables import answer, answer_json
    from ordinate.errors import ArgumentError
    from ordinate.inspection.memory.estimate import estimate_memory

    limit = None if fits is None else byte_count(fits, "--fits")
    if limit is not None and limit < 2**20 and str(fits).strip().isdigit():
        raise ArgumentError("--fits", expected="a size with its unit", got=f"{limit} bytes", hint=f"such as {limit}GiB")
    estimate = estimate_memory(
        file,
        context=None if context is None else token_count(context, "--context"),
        sequences=token_count(sequences, "--sequences"),
        batch=None if batch is None else token_count(batch, "--batch"),
        cache_type=cache_type,
        value_cache_type=value_cache_type,
        engine=engine,
        layout=layout,
        encoder_tokens=None if encoder_tokens is None else token_count(encoder_tokens, "--encoder-tokens"),
        logits=logits,
        gpu_layers=_layers(gpu_layers, "--gpu-layers"),
        cpu_moe=_layers(cpu_moe, "--cpu-moe"),
        device_map=None if device_map is None else _read_map(device_map),
    )
    fit = None if limit is None else estimate.fits(limit)
    if figure is not None:
        from ordinate.inspection.memory.figure import write_memory_figure

        write_memory_figure(estimate, figure, limit)
        typer.echo(f"figure: {figure}", err=True)
    if as_json:
        answer_json({**estimate.to_dict(), "fits": None if fit is None else fit.to_dict()})
    else:
        answer(*_report(estimate, fit))
    if (fit is not None and not fit.fits) or any(each.severity != "info" for each in estimate.findings):
        raise typer.Exit(1)


def _layers(text: str | None, name: str) -> int | None:
    from ordinate.cli.numbers import token_count

    return None if text is None else 10**6 if text == "all" else token_count(text, name)


def _read_map(path: Path) -> dict[str, object]:
    import json

    from ordinate.errors import DataError, MissingDataError

    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MissingDataError(str(path), expected="a file that can be read", got=error.strerror or str(error)) from None
    except ValueError:
        read = None
    if not isinstance(read, dict) or not read:
        raise DataError(str(path), expected="a JSON object of modules and devices", got="something else")
    return read


def _report(estimate: MemoryEstimate, fit: Fit | None) -> list[RenderableType]:
    from rich.markup import escape
    from rich.text import Text

    from ordinate.cli.tables import findings_table, format_bytes, grid

    top = grid("", "", header=False)
    top.add_row("file", escape(estimate.source))
    types = " and ".join(dict.fromkeys(estimate.cache_types))
    plural = "s" if estimate.sequences > 1 else ""
    top.add_row("run by", f"{estimate.engine}, cache of {types}")
    top.add_row("for", f"{estimate.sequences:,} sequence{plural} of {estimate.context:,} tokens")
    table = grid("what", "size", "share", "how it comes about")
    for item in estimate.items:
        share = f"{item.size / estimate.total:.0%}" if item.size is not None and estimate.total else ""
        size = "[red]unknown[/]" if item.size is None else f"{'at most ' if item.bound else ''}{format_bytes(item.size)}"
        where = f" ({item.place})" if item.place else ""
        table.add_row(escape(f"{item.name}{where}"), size, share, f"[dim]{escape(item.formula)}[/]")
    table.add_row(
        "[bold]in all[/]", f"[bold]{'at least ' if estimate.at_least else ''}{format_bytes(estimate.total)}[/]", "", ""
    )
    if estimate.on_accelerator != estimate.total:
        table.add_row("[bold]on the GPU[/]", f"[bold]{format_bytes(estimate.on_accelerator)}[/]", "", "")
    parts: list[RenderableType] = [top, Text(""), table]
    if fit is not None:
        verdict = grid("", "", header=False)
        verdicts = {
            True: "[green]it fits[/]",
            False: "[bold red]it does not fit[/]",
            None: "[yellow]what is known fits; a part is unknown[/]",
        }
        verdict.add_row(f"into {format_bytes(fit.limit)}", verdicts[fit.fits])
        most = "at most " if estimate.at_least else ""
        verdict.add_row("longest context", f"{most}{fit.context:,} tokens, {estimate.sequences:,} sequence{plural}")
        verdict.add_row("most sequences", f"{most}{fit.sequences:,} of {estimate.context:,} tokens")
        if fit.gpu_layers is not None and estimate.weights is not None:
            verdict.add_row("layers on the GPU", f"{fit.gpu_layers} of {estimate.weights.layers + 1} (--gpu-layers)")
        for what, saved in fit.advice[:3]:
            verdict.add_row("would save", f"{format_bytes(saved)}: {what}")
        parts += [Text(""), verdict]
    if estimate.findings:
        parts += [Text.from_markup("\n[bold]findings[/]"), findings_table(estimate.findings)]
    return parts
