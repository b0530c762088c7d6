"""B2. The article: PE(t) . PE(t') = sum_i cos(w_i (t - t')), symmetric, so blind to before and after.

What varies is the pair of positions and the width. sin a sin b + cos a cos b = cos(a - b) gives the sum; measured are the
distance from it, and the difference between a step forward and a step back.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Verdict
from ordinate.position import Sinusoidal, indices

__all__ = ["CLAIM", "inner_products", "measure"]

CLAIM = Claim(
    id="B2",
    title="The inner product is a sum of cosines",
    place="B45, B85-98",
    statement=(
        "The inner product of two position vectors is the sum over i of cos((t - t')/10000^(2i/d)): it depends on the "
        "difference of the positions, so nearness can be expressed."
    ),
    remark="That the product is symmetric, and so cannot tell before from after, is ours.",
    setup="none stated",
    varies="the pair of positions, and the width",
    band="equal to the sum of cosines, and symmetric, to 1e-11",
    budget_seconds=5,
)

_WIDTH, _POSITIONS, _OTHER_WIDTHS = 128, 200, (16, 64, 512)

Encode = Callable[[int, Tensor], Tensor]


def measure(inputs: Inputs) -> Measurement:
    """Claim B2 on the encoding of the paper, against random vectors as a control."""
    generator = torch.Generator().manual_seed(inputs.seeds[0])
    noise = torch.randn(_POSITIONS, _WIDTH, dtype=torch.float64, generator=generator)
    return inner_products(lambda width, positions: Sinusoidal(width).encode(positions, dtype=torch.float64), noise)


def inner_products(encode: Encode, control: Tensor) -> Measurement:
    """Claim B2 on any encoding.

    Args:
        encode: a width D and integer positions [T] to vectors [T, D].
        control: vectors [200, 128] whose products are no function of the distance.
    """
    products = _products(encode(_WIDTH, indices.consecutive(_POSITIONS)))
    off = float((products - _closed_form(_WIDTH)).abs().max())
    others = max(
        float((_products(encode(width, indices.consecutive(_POSITIONS))) - _closed_form(width)).abs().max())
        for width in _OTHER_WIDTHS
    )
    lopsided = _lopsided(products)
    checks = [
        Check.at_most("largest difference from the sum of cosines, d = 128", off, 1e-11),
        Check.at_most("largest difference between k tokens ahead and k behind", lopsided, 1e-11),
        Check.at_most(
            "difference from the sum, widths " + ", ".join(map(str, _OTHER_WIDTHS)), others, 1e-10, role=Role.GENERALISATION
        ),
        Check.at_least(
            "difference from the sum, random vectors",
            float((_products(control) - _closed_form(_WIDTH)).abs().max()),
            1.0,
            role=Role.CONTROL,
        ),
        Check.at_least("ahead against behind, random vectors", _lopsided(_products(control)), 1.0, role=Role.CONTROL),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"off the sum of cosines by {off:.0e}; ahead and behind differ by {lopsided:.0e}",
        meaning={
            Verdict.REPRODUCED: "The product of two position vectors is a function of the distance alone, and an even one: a "
            "token three places ahead looks exactly like one three places behind. Order gets into a model with sinusoids only "
            "through the projections, which can turn one vector before the product, or through a causal mask.",
        },
        inputs=f"sinusoidal encoding, {_WIDTH} channels, positions 0 to {_POSITIONS - 1}",
        figures=[_picture(products)],
    )


def _products(vectors: Tensor) -> Tensor:
    return vectors @ vectors.T


def _closed_form(width: int) -> Tensor:
    frequencies = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    steps = torch.arange(_POSITIONS, dtype=torch.float64)
    return (frequencies * (steps[:, None] - steps)[..., None]).cos().sum(-1)


def _lopsided(products: Tensor) -> float:
    """Over the middle row, the largest difference between the products with the k-th token ahead and the k-th behind."""
    middle = len(products) // 2
    ahead, behind = products[middle, middle + 1 :], products[middle, 1:middle].flip(0)
    return float((ahead - behind).abs().max())


def _picture(products: Tensor) -> Figure:
    middle = len(products) // 2
    with canvas(height=2.9) as (figure, axes):
        axes.plot(
            range(1 - middle, middle),
            products[middle, 1:].numpy(),
            color=SERIES[0]["color"],
            linewidth=1.5,
            label="PE(t) . PE(t + k)",
        )
        axes.plot(
            range(1 - middle, middle),
            products[middle, 1:].flip(0).numpy(),
            color=SERIES[1]["color"],
            linestyle=(0, (2, 3)),
            linewidth=1.5,
            label="the same, mirrored",
        )
        axes.set(title="Product by distance", xlabel="k (tokens)", ylabel="inner product")
        axes.grid(axis="y")
        axes.legend(loc="upper right")
    return Figure(
        "products",
        to_svg(figure),
        caption="The inner product of one position with its neighbours, and the same curve mirrored: they lie on each other.",
        alt="A curve with a sharp peak of 64 at distance 0 that falls with ripples to both sides, and its mirror image, which "
        "covers it.",
    )
