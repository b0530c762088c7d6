"""The charts of a sweep, in the lab's style: score against length, recall by depth, scalings by factor, what a probe reads.

Bands are one spread over seeds to either side. marks and line styles differ
too, so that no reader needs the colours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ordinate.lab.figures import GRID, INK, SERIES, canvas, heat_map, to_svg
from ordinate.lab.measurement import Figure
from ordinate.sweep.summary import Spread, Table

__all__ = ["depth_figure", "extension_figure", "length_figure", "probe_figure", "sweep_figures"]

_IN_A_PANEL = 5  # lines that can still be values apart


def sweep_figures(tables: Sequence[Table], records: Sequence[dict[str, Any]]) -> list[Figure]:
    """Every chart that these results allow."""
    figures = [figure for table in tables for figure in (length_figure(table), depth_figure(table)) if figure is not None]
    figures += [figure for figure in (extension_figure(records), probe_figure(records)) if figure is not None]
    return figures


def length_figure(table: Table) -> Figure | None:
    """Score of the last targets against length over training length, with bands; dashed, the context cut."""
    lines = [line for line in table.lines if line.last[table.train_length]]
    if not lines:
        return None
    panels = math.ceil(len(lines) / _IN_A_PANEL)
    shared = math.ceil(len(lines) / panels)
    factors = [n // table.train_length for n in table.lengths]
    every = [
        value
        for line in lines
        for kind in (line.last, line.cut, line.clamped)
        for n in table.lengths
        for value in kind[n].values.values()
    ]
    margin = 0.06 * (max(every) - min(every) or 1.0)
    with canvas(panels, height=3.2) as (figure, axes):
        for number, panel in enumerate([axes] if panels == 1 else axes):
            for line, series in zip(lines[number * shared : (number + 1) * shared], SERIES, strict=False):
                reached = [(f, line.last[n]) for f, n in zip(factors, table.lengths, strict=True) if line.last[n]]
                _band(panel, reached, series, line.encoding)
                clamped = [(f, line.clamped[n]) for f, n in zip(factors, table.lengths, strict=True) if line.clamped[n]]
                if clamped:
                    _band(panel, clamped, {**series, "markerfacecolor": "none"}, f"{line.encoding}, clamped")
                cut = [(f, line.cut[n].mean) for f, n in zip(factors, table.lengths, strict=True) if line.cut[n]]
                panel.plot(*zip(*cut, strict=True), color=series["color"], linewidth=0.8, linestyle=(0, (1, 2)))
            panel.set_xscale("log", base=2)
            panel.set_xticks(factors, [f"{f}L" if f > 1 else "L" for f in factors])
            panel.set(xlabel="context", ylim=(min(every) - margin, max(every) + margin))
            panel.set(
                ylabel=table.unit if number == 0 else "", title=f"{table.task}, L = {table.train_length}" if number == 0 else ""
            )
            if table.unit == "accuracy":
                panel.plot(factors, [table.chance[n] for n in table.lengths], color=INK, linewidth=0.7, linestyle=":")
            panel.grid(axis="y")
            panel.legend(loc="best", fontsize=7)
        svg = to_svg(figure)
    better = "more is better" if table.higher_is_better else "less is better"
    values = "; ".join(
        f"{line.encoding} from {line.last[table.lengths[0]].mean:.2f} to {line.last[table.lengths[-1]].mean:.2f}"
        for line in lines
        if line.last[table.lengths[-1]]
    )
    return Figure(
        f"{table.task}-{table.train_length}",
        svg,
        caption=f"{table.task}: score of the same last targets ({better}) with a context of L to {factors[-1]}L tokens after "
        f"training at L = {table.train_length}; bands are one spread over seeds. Dotted in the same colour, the context cut "
        "to L, which extrapolation has to beat.",
        alt=f"Lines of {table.unit} against context. {values or 'No encoding reaches the longest context'}.",
    )


def _band(axes: Any, points: Sequence[tuple[int, Spread]], series: dict[str, Any], label: str) -> None:
    places, means = [f for f, _ in points], [spread.mean for _, spread in points]
    halves = [0.0 if math.isnan(spread.spread) else spread.spread for _, spread in points]
    axes.plot(places, means, label=label, **series)
    axes.fill_between(
        places,
        [m - h for m, h in zip(means, halves, strict=True)],
        [m + h for m, h in zip(means, halves, strict=True)],
        color=series["color"],
        alpha=0.15,
        linewidth=0,
    )


def depth_figure(table: Table) -> Figure | None:
    """Recall by depth and length, a heat map an encoding."""
    if not table.depth:
        return None
    names = list(table.depth)
    columns = min(4, len(names))
    rows = math.ceil(len(names) / columns)
    with canvas(columns, rows, height=1.1 + 1.5 * rows) as (figure, grid):
        flat = [grid] if len(names) == 1 else list(grid.flat)
        for panel, name in zip(flat, names, strict=False):
            recall = table.depth[name]
            heat_map(
                panel,
                list(recall.values()),
                label="recall",
                y_labels=[f"{n}" for n in recall],
                lower=0.0,
                upper=1.0,
                bar=False,
            )
            parts = len(next(iter(recall.values())))
            panel.set_xticks([0, parts - 1], ["begin", "end"])
            panel.set_title(name)
        for panel in flat[len(names) :]:
            panel.set_axis_off()
        figure.colorbar(flat[0].images[0], ax=flat, location="bottom", shrink=0.5, aspect=40, label="recall")
        svg = to_svg(figure)
    longest = {name: recall[max(recall)] for name, recall in table.depth.items()}
    ends = "; ".join(
        f"{name} {row[0]:.2f} at the beginning, {row[len(row) // 2]:.2f} in the middle, {row[-1]:.2f} at the end"
        for name, row in longest.items()
    )
    return Figure(
        f"depth-{table.train_length}",
        svg,
        caption="Recall by where in the context the needle lies (across) and by length of the context (down), trained at "
        f"{table.train_length}; 0 dark to 1 light.",
        alt=f"Heat maps of recall. At the longest context: {ends}.",
    )


def extension_figure(records: Sequence[dict[str, Any]]) -> Figure | None:
    """Bits against the factor by which the context is stretched, a line a scaling; black, the context cut."""
    done = [r for r in records if r["settings"]["study"] == "extension" and r["result"]["status"] == "scored"]
    if not done:
        return None
    train_length = done[0]["settings"]["train_length"]
    results = [r["result"] for r in done]
    lengths = list(results[0]["extended"])
    names: list[str] = min((list(one["extended"][lengths[0]]) for one in results), key=len)  # before DroPE there was one less
    factors = [int(n) // train_length for n in lengths]
    with canvas(2, height=3.3) as (figure, axes):
        for panel, how, title in zip(axes, ("zero_shot", "fine_tuned"), ("Zero-shot", "After a short fine-tune"), strict=True):
            for name, series in zip(names, SERIES, strict=False):
                points = [
                    (f, Spread({i: one["extended"][n][name][how] for i, one in enumerate(results)}))
                    for f, n in zip(factors, lengths, strict=True)
                ]
                _band(panel, points, series, name)
            cut = [Spread({i: one["truncated"][n] for i, one in enumerate(results)}).mean for n in lengths]
            panel.plot(factors, cut, color=INK, linewidth=1.2, linestyle=":", label="cut context")
            panel.set_xscale("log", base=2)
            panel.set_xticks(factors, [f"{f}" for f in factors])
            panel.set(title=title, xlabel="factor")
            panel.grid(axis="y")
        low = min(axes[0].get_ylim()[0], axes[1].get_ylim()[0])
        high = max(axes[0].get_ylim()[1], axes[1].get_ylim()[1])
        for panel in axes:
            panel.set_ylim(low, high)
        axes[0].set_ylabel("bits per byte")
        axes[1].legend(loc="best", fontsize=7)
        svg = to_svg(figure)
    last = lengths[-1]
    values = "; ".join(
        f"{name} {Spread({i: one['extended'][last][name]['zero_shot'] for i, one in enumerate(results)}).mean:.2f}"
        for name in names
    )
    return Figure(
        "extension",
        svg,
        caption=f"A rotary model trained at {train_length} tokens, stretched: bits per byte of the same last targets, less is "
        "better; bands are one spread over seeds. Dotted, the same model with the context cut.",
        alt=f"Bits against factor in two panels. Zero-shot at the largest factor: {values}.",
    )


def probe_figure(records: Sequence[dict[str, Any]]) -> Figure | None:
    """Held-out R^2 of the position by layer, with and without the mask, trained and not."""
    done = [r["result"]["r2"] for r in records if r["settings"]["study"] == "probe" and r["result"]["status"] == "scored"]
    if not done:
        return None
    layers = range(len(next(iter(done[0].values()))))
    with canvas(1, height=2.8, width=4.6) as (figure, axes):
        for case, series in zip(done[0], SERIES, strict=False):
            points = [(layer, Spread({i: one[case][layer] for i, one in enumerate(done)})) for layer in layers]
            _band(axes, points, series, case)
        axes.axhline(0, color=GRID, linewidth=0.8)
        axes.set_xticks(list(layers), ["embedding", *(f"layer {n}" for n in layers if n)])
        axes.set(ylabel="held-out R²", title="Position read by a linear probe")
        axes.legend(loc="best", fontsize=7)
        svg = to_svg(figure)
    values = "; ".join(f"{case} {max(Spread({0: one[case][n]}).mean for one in done for n in layers):.2f}" for case in done[0])
    return Figure(
        "probe",
        svg,
        caption="R² of the position by a linear probe on held-out sequences, by layer; bands are one spread over seeds.",
        alt=f"Lines of R² by layer. Largest values: {values}.",
    )
