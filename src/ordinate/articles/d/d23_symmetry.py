"""D23. The article: convolution follows a shift, global pooling ignores it, attention follows a permutation.

What varies is the layer and how its input is moved. f follows a movement g if f(g x) = g f(x), and ignores it if f(g x) = f(x).
Inputs are toys: a bump on a row of forty cells, away from the ends. Measured beside it is what happens at the border, where a
convolution that pads with zeros follows only nearly, and on a ring, where it follows exactly again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from ordinate.articles.sentence import plain_attention
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Sinusoidal, indices

__all__ = ["CLAIM", "Layers", "layers", "measure", "symmetry"]

CLAIM = Claim(
    id="D23",
    title="Three kinds of symmetry",
    place="D376-387, D524-532",
    statement=(
        "Convolution follows a translation, global pooling is invariant to position, and max pooling is in general "
        "irreversible."
    ),
    remark="That attention follows a permutation is the third symmetry, from D1074-1082.",
    setup="none stated",
    varies="the layer, and the shift or the order of its input",
    band="equal to 1e-12 on toy inputs",
    seeds=10,
    budget_seconds=5,
)

_CELLS, _CHANNELS, _KERNEL, _SHIFT = 40, 4, 5, 7

Layers = Mapping[str, Callable[[Tensor], Tensor]]


def layers(seed: int) -> Layers:
    """From rows [40, 4]: "convolution", "dense" and "attention" to [40, 4], "pooling" to [4], "max pooling" to fewer."""
    generator = torch.Generator().manual_seed(seed)
    kernel = torch.randn(_CHANNELS, _CHANNELS, _KERNEL, generator=generator, dtype=torch.float64)
    dense = torch.randn(_CELLS, _CELLS, generator=generator, dtype=torch.float64) / _CELLS**0.5

    def convolution(x: Tensor, ring: bool = False) -> Tensor:
        half = _KERNEL // 2
        padded = torch.nn.functional.pad(x.T[None], (half, half), mode="circular" if ring else "constant")
        return torch.nn.functional.conv1d(padded, kernel)[0].T

    return {
        "convolution": convolution,
        "convolution on a ring": lambda x: convolution(x, ring=True),
        "pooling": lambda x: convolution(x).relu().mean(0),
        "largest": lambda x: convolution(x).relu().amax(0),
        "max pooling": lambda x: x.unflatten(0, (-1, 2)).amax(1),
        "attention": lambda x: plain_attention(x)[0],
        "dense": lambda x: dense @ x,
    }


def measure(inputs: Inputs) -> Measurement:
    """Claim D23 on drawn layers."""
    return symmetry(layers, inputs.seeds)


def symmetry(make: Callable[[int], Layers], seeds: Sequence[int]) -> Measurement:
    """Claim D23 on any layers.

    Args:
        made: a seed to the layers, under the names that `layers` has.
        seeds: of layers, bumps and permutations; the largest difference is reported, for controls the least.
    """
    differences: dict[str, list[float]] = {}

    def note(name: str, difference: Tensor) -> None:
        differences.setdefault(name, []).append(float(difference.abs().max()))

    for seed in seeds:
        layer, bump, edge, tokens, order = make(seed), *_drawn(seed)
        moved = bump.roll(_SHIFT, 0)
        conv, attention = layer["convolution"], layer["attention"]
        note("convolution", conv(moved) - conv(bump).roll(_SHIFT, 0))
        note("mean over all cells", layer["pooling"](moved) - layer["pooling"](bump))
        note("largest over all cells", layer["largest"](moved) - layer["largest"](bump))
        lowered = torch.where(tokens == tokens.unflatten(0, (-1, 2)).amax(1).repeat_interleave(2, 0), tokens, tokens - 1)
        note("max pooling", layer["max pooling"](lowered) - layer["max pooling"](tokens))
        note("attention", attention(tokens[order]) - attention(tokens)[order])
        ring, at_end = layer["convolution on a ring"], edge.roll(_SHIFT, 0)
        note("ring", ring(at_end) - ring(edge).roll(_SHIFT, 0))
        note("border", conv(at_end) - conv(edge).roll(_SHIFT, 0))
        note("dense", layer["dense"](moved) - layer["dense"](bump).roll(_SHIFT, 0))
        note("convolution permuted", conv(tokens[order]) - conv(tokens)[order])
        places = Sinusoidal(_CHANNELS).encode(indices.consecutive(_CELLS), dtype=torch.float64)
        note("attention with places", attention(tokens[order] + places) - attention(tokens + places)[order])
    most, least = ({name: pick(values) for name, values in differences.items()} for pick in (max, min))
    layer, (_, edge, _, _) = make(seeds[0]), _drawn(seeds[0])
    broken = (layer["convolution"](edge.roll(_SHIFT, 0)) - layer["convolution"](edge).roll(_SHIFT, 0)).abs().amax(-1)
    touched = int((broken > 1e-12).sum())
    checks = [
        Check.at_most("convolution of a shifted bump, and the shifted convolution", most["convolution"], 1e-12),
        Check.at_most("mean over all cells, before and after the shift", most["mean over all cells"], 1e-12),
        Check.at_most("largest over all cells, before and after the shift", most["largest over all cells"], 1e-12),
        Check.at_most("max pooling in twos, of two rows that differ by 1 in every second cell", most["max pooling"], 1e-12),
        Check.at_most("attention of permuted tokens, and the permuted attention", most["attention"], 1e-12),
        Check.at_most("convolution on a ring, a bump across the end", most["ring"], 1e-12, role=Role.LIMIT),
        Check.at_least("convolution with zeros at the border, a bump across the end", least["border"], 0.01, role=Role.LIMIT),
        Check.at_most("cells that the border spoils, of 40", touched, 4 * (_KERNEL // 2), role=Role.LIMIT),
        Check.at_least("a dense layer under the shift", least["dense"], 0.01, role=Role.CONTROL),
        Check.at_least("convolution under the permutation", least["convolution permuted"], 0.01, role=Role.CONTROL),
        Check.at_least(
            "attention with sinusoids added, under the permutation", least["attention with places"], 0.01, role=Role.CONTROL
        ),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"followed to {max(most['convolution'], most['attention']):.0e} and ignored to "
        f"{max(most['mean over all cells'], most['largest over all cells']):.0e}; at a zero-padded border off by "
        f"{least['border']:.1f} and more",
        meaning={
            Verdict.REPRODUCED: "All three hold, to rounding, as long as what is moved stays away from the ends. Where a bump "
            f"crosses the end of the row, a convolution padded with zeros follows only nearly: {touched} of {_CELLS} cells "
            "come out otherwise, those whose kernel reaches over the border. On a ring it is exact again. The symmetry that a "
            "layer has is what it cannot see: attention follows every permutation, so it needs positions, and with sinusoids "
            "added the symmetry is gone, as it should be.",
        },
        inputs=f"rows of {_CELLS} cells with {_CHANNELS} channels, kernels of {_KERNEL}, a shift by {_SHIFT}; drawn "
        f"{len(seeds)} times, float64",
        tables=[
            Table(
                "Largest difference between moving before and after",
                ("layer and movement", "least of the draws", "largest of the draws"),
                [(name, least[name], most[name]) for name in differences],
            )
        ],
        figures=[_picture(layer, *_drawn(seeds[0])[:2], broken)],
    )


def _drawn(seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """A bump in the middle [40, 4], one at the end, tokens, and a permutation."""
    generator = torch.Generator().manual_seed(1000 + seed)
    bump, edge = torch.zeros(2, _CELLS, _CHANNELS, dtype=torch.float64)
    shape = torch.randn(6, _CHANNELS, generator=generator, dtype=torch.float64)
    bump[12:18], edge[-8:-2] = shape, shape
    tokens = torch.randn(_CELLS, _CHANNELS, generator=generator, dtype=torch.float64)
    return bump, edge, tokens, torch.randperm(_CELLS, generator=generator)


def _picture(layer: Layers, bump: Tensor, edge: Tensor, broken: Tensor) -> Figure:
    with canvas(3, height=2.8) as (figure, (left, middle, right)):
        for axes, row, title in ((left, bump, "In the middle: follows"), (middle, edge, "Across the end")):
            after, before = layer["convolution"](row.roll(_SHIFT, 0)), layer["convolution"](row).roll(_SHIFT, 0)
            axes.plot(
                before[:, 0].numpy(), color=SERIES[0]["color"], linewidth=2.6, alpha=0.55, label="convolved, then shifted"
            )
            axes.plot(
                after[:, 0].numpy(), color=SERIES[1]["color"], linewidth=1.3, linestyle="--", label="shifted, then convolved"
            )
            axes.set(title=title, xlabel="cell")
        left.set_ylabel("first channel")
        low, high = left.get_ylim()
        for axes in (left, middle):
            axes.set_ylim(low, high + 0.45 * (high - low))
        left.legend(loc="upper left")
        right.bar(range(_CELLS), broken.numpy(), 0.9, color=SERIES[0]["color"])
        right.set(title="Where it fails at the end", xlabel="cell", ylabel="largest difference")
    return Figure(
        "shift",
        to_svg(figure),
        caption="A bump convolved and shifted in both orders: in the middle of the row the curves are one, across the end they "
        "part near the border, where the kernel meets zeros.",
        alt="Left, two curves on each other. Middle, two curves that differ near both ends of the row. Right, bars that are "
        "zero except for a few cells at the ends.",
    )
