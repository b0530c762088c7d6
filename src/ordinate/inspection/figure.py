"""The picture and the page of an inspection: wavelength by pair, before and after scaling, against the contexts.

A pair whose wavelength lies above the trained context never completes a turn in training; scaling moves pairs so that the
claimed context stays inside what was seen (Peng et al. 2023, arXiv 2309.00071, figure 1). matplotlib and jinja2 are imported
when something is drawn.
"""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinate.atomic_io import atomic_write, picture_kind, render_figure, save_figure
from ordinate.errors import RefusedError
from ordinate.inspection.records import Inspection, LayerKind, Part, wavelengths

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "write_figure", "write_html"]

BEFORE, AFTER, FAR = "#9aa0a6", "#1a73e8", "#d93025"


def draw(inspection: Inspection) -> Figure:
    """Wavelength by pair, one panel for each kind of layer that rotates.

    Raises:
        RefusedError: nothing in the file rotates, or no frequency is known.

    >>> config = {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2}
    >>> from ordinate.inspection import inspect_config
    >>> len(draw(inspect_config(config)).axes)
    1
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = [(part, layer) for part, layer in inspection.walk() if _known(layer)]
    if not drawn:
        raise RefusedError(
            "figure",
            expected="a model that rotates, with known frequencies",
            got=f"{inspection.source}: {inspection.kind or 'unknown encoding'}",
            hint="read the table instead",
        )
    figure = Figure(figsize=(7.2, 3.4 * len(drawn)), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (part, layer) in zip(figure.subplots(len(drawn), 1, squeeze=False)[:, 0], drawn, strict=True):
        _panel(axes, part, layer)
    figure.suptitle(inspection.source, fontsize=10)
    return figure


def _known(layer: LayerKind) -> bool:
    return layer.rotation is not None and layer.rotation.inverse_frequencies() is not None


def _panel(axes: Axes, part: Part, layer: LayerKind) -> None:
    turn, contexts = layer.rotation, part.contexts
    assert turn is not None
    before, after = turn.unscaled_frequencies() or (), turn.inverse_frequencies() or ()
    pairs = range(len(before))
    axes.plot(pairs, _finite(wavelengths(before)), ".", color=BEFORE, markersize=4, label="before scaling")
    if turn.rule.value != "none":
        axes.plot(pairs, _finite(wavelengths(after)), ".", color=AFTER, markersize=4, label=f"after {turn.rule.value}")
    far = turn.inverse_frequencies(contexts.claimed.value) if turn.depends_on_length and contexts.claimed.known else None
    if far is not None and far != after:
        label = f"at {contexts.claimed.value:,} tokens"
        axes.plot(pairs, _finite(wavelengths(far)), ".", color=FAR, markersize=4, label=label)
    for value, name, style in ((contexts.trained, "trained", "--"), (contexts.claimed, "claimed", "-")):
        if value.known and not (name == "claimed" and contexts.trained.value == value.value):
            axes.axhline(value.value, color="black", linewidth=0.8, linestyle=style, label=f"{name} {value.value:,} tokens")
    axes.set_yscale("log")
    axes.set_xlabel("rotated pair")
    axes.set_ylabel("wavelength, tokens" if len(turn.axes) == 1 else "wavelength, positions")
    still = sum(1 for frequency in after if frequency == 0)
    note = f", {still} pairs stand still" if still else ""
    axes.set_title(f"{part.name}: {layer.name}, base {turn.base.value:g}{note}", fontsize=9)
    axes.legend(fontsize=8, frameon=False)


def _finite(waves: tuple[float, ...]) -> list[float]:
    return [wave if math.isfinite(wave) else math.nan for wave in waves]


def write_figure(inspection: Inspection, path: str | Path) -> None:
    """Draw into a file; its suffix says the format (svg, png, pdf).

    Raises:
        RefusedError: nothing to draw.
        ArgumentError: another suffix.
        OutputError: the file cannot be written.
    """
    picture_kind(path, name="--figure")
    save_figure(draw(inspection), path, name="--figure")


def write_html(inspection: Inspection, path: str | Path) -> None:
    """Write one page that stands alone: the parts, the findings, the figure inside.

    Raises:
        OutputError: a place that cannot be written to.
    """
    from jinja2 import Environment

    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(PAGE)
    text = page.render(record=inspection.to_dict(), svg=_svg(inspection), shown=_shown)
    atomic_write(path, text, name="--html")


def _svg(inspection: Inspection) -> str:
    try:
        figure = draw(inspection)
    except RefusedError:
        return ""
    buffer = io.StringIO()
    render_figure(figure, buffer, "svg")
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _shown(value: Any) -> str:
    """A value of the record in a cell: numbers with separators, nothing as a dash."""
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ record.source }}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #202124 }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; width: 100% }
td, th { border-bottom: 1px solid #e0e0e0; padding: .25rem .6rem; text-align: left; vertical-align: top }
th { font-weight: 600; width: 14rem } .from { color: #5f6368; font-size: .85em }
.error { color: #d93025 } .warning { color: #b06000 } .info { color: #5f6368 }
svg { max-width: 100%; height: auto }
</style></head><body>
{% macro row(name, value) %}
<tr><th>{{ name }}</th><td>{{ shown(value.value) }}</td><td class="from">{{ value.source }}: {{ value.detail }}</td></tr>
{% endmacro %}
<h1>{{ record.source }}</h1>
<p>{{ shown(record.model_type.value) }}: {{ shown(record.kind) }}</p>
{% for part in record.parts %}
<h2>{{ part.name }}</h2>
<table>
{{ row("layers", part.num_layers) }}
{{ row("trained context", part.contexts.trained) }}
{{ row("claimed context", part.contexts.claimed) }}
<tr><th>relation</th><td colspan="2">{{ part.contexts.relation }}</td></tr>
{% if part.cache %}
{{ row("cache bytes per token", part.cache.bytes_per_token) }}
{{ row("cache bytes at the claimed context", part.cache.bytes_at_claimed) }}
{% endif %}
{{ row("parameters on position", part.parameters_on_position) }}
</table>
{% for layer in part.layers %}
<h3>{{ layer.name }} ({{ layer.indices | length }} layers)</h3>
<table>
{{ row("heads", layer.attention.num_heads) }}
{{ row("key-value heads", layer.attention.num_kv_heads) }}
{{ row("channels of a head", layer.attention.head_dim) }}
{{ row("window", layer.window_keys) }}
{% for encoding in layer.encodings %}
{{ row("encoding", encoding.kind) }}
{% if encoding.note %}<tr><th></th><td colspan="2">{{ encoding.note }}</td></tr>{% endif %}
{% for name, value in encoding.settings.items() %}
{{ row(name | replace("_", " "), value) }}
{% endfor %}
{% if encoding.rotation %}
{{ row("layout", encoding.rotation.layout) }}
{{ row("rotated channels", encoding.rotation.rotary_dim) }}
{{ row("base", encoding.rotation.base) }}
{{ row("scaling", encoding.rotation.scaling.rule) }}
{% for name, value in encoding.rotation.scaling.settings.items() %}
{{ row(name | replace("_", " "), value) }}
{% endfor %}
{% endif %}
{% endfor %}
</table>
{% endfor %}
{% endfor %}
{% if svg %}<h2>Wavelengths</h2>{{ svg | safe }}{% endif %}
{% if record.findings %}
<h2>Findings</h2>
<table>
{% for finding in record.findings %}
<tr><th class="{{ finding.severity }}">{{ finding.severity }}: {{ finding.id }}</th>
<td>{{ finding.message }}<br><span class="from">{% for key, value in finding.evidence.items() %}{{ key }}: {{ value }}
{% endfor %}</span></td><td>{{ finding.hint }}</td></tr>
{% endfor %}
</table>
{% endif %}
</body></html>
"""
