"""D8. The article: softmax and inner product have no parameters; W_Q, W_K, W_V, W_O and the pooling query have.

What varies is the part. Parameters are counted in the layers and compared with counts by hand, and each part's gradient is
taken: a number that never gets one does not learn. One such number is worth knowing, the bias of the keys: it adds the same to
every score of a query, and softmax does not see what is added to all.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from ordinate.attention import AttentionPooling, MultiHeadAttention, attend
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import ALiBi, LearnedTable, Rotary, Sinusoidal, indices

__all__ = ["CLAIM", "Formula", "measure", "what_learns"]

CLAIM = Claim(
    id="D8",
    title="What learns in attention",
    place="D689-706",
    statement=(
        "Softmax and inner product have no parameters; what learns are the projections W_Q, W_K, W_V, the output W_O, "
        "and the query of the pooling."
    ),
    setup="none stated",
    varies="the part of the layer",
    band="the counts by hand, exactly; each learned part has a gradient",
    budget_seconds=5,
)

_DIM, _HEADS, _TOKENS = 64, 4, 12


class Formula(nn.Module):
    """What is left of attention without projections: inner product and softmax."""

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, D] attending to itself."""
        return attend(x[:, None], x[:, None], x[:, None])[:, 0]


def measure(inputs: Inputs) -> Measurement:
    """Claim D8 on the package's layers."""
    torch.manual_seed(inputs.seeds[0])
    return what_learns(
        Formula(), MultiHeadAttention(_DIM, _HEADS).double(), AttentionPooling(_DIM, num_heads=_HEADS).double(), inputs.seeds[0]
    )


def what_learns(formula: nn.Module, layer: MultiHeadAttention, pooling: AttentionPooling, seed: int) -> Measurement:
    """Claim D8 on any layers of 64 channels.

    Args:
        formula: inner product and softmax, claimed to have no parameters.
        layer: claimed to learn W_Q, W_K, W_V and W_O.
        pooling: claimed to learn its query.
        seed: of the tokens.
    """
    x = torch.randn(2, _TOKENS, _DIM, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    layer.zero_grad()
    pooling.zero_grad()
    (layer(x, indices.consecutive(_TOKENS)).square().sum() + pooling(x).square().sum()).backward()
    parts = _parts(layer, pooling)
    # the parts, and whatever else the layers hold: nothing should be left over
    rest = _count(layer) + _count(pooling) - sum(count for count, _ in parts.values())
    square = _DIM * _DIM
    by_hand = {"W_Q": square, "W_K": square, "W_V": square, "W_O": square, "pooling query": _DIM}

    key_bias = _key_bias_gradient(seed)
    places = {
        "sinusoids": _count(Sinusoidal(_DIM)),
        "RoPE": _count(Rotary(_DIM // _HEADS, layout="half")),
        "ALiBi": _count(ALiBi(_HEADS)),
        "learned table of 512": _count(LearnedTable(512, _DIM)),
    }
    checks = [
        Check.near("parameters of inner product and softmax", _count(formula), 0, 0),
        *(Check.near(f"parameters of {name}", parts[name][0], expected, 0) for name, expected in by_hand.items()),
        Check.near("parameters of the layers beside these and the pooling's own projections", rest, 0, 0),
        *(Check.at_least(f"gradient of {name}", parts[name][1], 1e-6) for name in by_hand),
        Check.at_most("gradient of the keys' bias, where a layer has one", key_bias, 1e-10, role=Role.LIMIT),
        Check.at_least("numbers of all the layers, so that there is something to count", _count(layer), 1, role=Role.CONTROL),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"softmax and product {_count(formula)}, W_Q, W_K, W_V and W_O {square:,} each, pooling query "
        f"{parts['pooling query'][0]}",
        meaning={
            Verdict.REPRODUCED: f"The inventory is complete: four square matrices of d^2 = {square:,} numbers, whatever the "
            f"number of heads, and {_DIM} for the query; the formula between them has none, so all that attention learns is "
            "how to look, not how to weigh. Each part gets a gradient. If a layer has biases, that of the keys gets none (here "
            f"{key_bias:.0e}): it adds the same to every score of a query, and softmax cancels it. Among encodings only tables "
            f"learn: {places['learned table of 512']:,} numbers for 512 positions, none for sinusoids, RoPE and ALiBi.",
        },
        inputs=f"d = {_DIM}, {_HEADS} heads, {_TOKENS} tokens, float64",
        tables=[
            Table(
                "What learns",
                ("part", "parameters", "by hand", "norm of the gradient"),
                [
                    ("inner product and softmax", _count(formula), "0", "none"),
                    *((name, count, _formula_of(name), f"{slope:.3g}") for name, (count, slope) in parts.items()),
                ],
            ),
            Table("Parameters of encodings", ("encoding", "parameters"), list(places.items())),
        ],
        figures=[_picture(_count(formula), {name: count for name, (count, _) in parts.items()})],
    )


def _count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)


def _parts(layer: MultiHeadAttention, pooling: AttentionPooling) -> dict[str, tuple[int, float]]:
    """Numbers that learn, and the norm of their gradient, by part; the layer keeps queries, keys and values in one matrix."""
    wide, narrow = layer.num_heads * layer.head_dim, layer.num_key_value_heads * layer.head_dim
    together = layer.query_key_value.weight
    rows = dict(zip(("W_Q", "W_K", "W_V"), ((0, wide), (wide, wide + narrow), (wide + narrow, wide + 2 * narrow)), strict=True))
    result = {name: _learning(together, slice(*ends)) for name, ends in rows.items()}
    result["W_O"] = _learning(layer.output.weight)
    result["pooling query"] = _learning(pooling.queries)
    for name, projection in (("pooling, keys and values", pooling.key_value), ("pooling, output", pooling.output)):
        if projection is not None:
            result[name] = _learning(projection.weight)
    return result


def _learning(weight: Tensor, rows: slice = slice(None)) -> tuple[int, float]:
    if not weight.requires_grad or weight.grad is None:
        return 0, 0.0
    return weight[rows].numel(), float(weight.grad[rows].norm())


def _key_bias_gradient(seed: int) -> float:
    """The norm of the gradient of the keys' bias, in a layer that has biases."""
    torch.manual_seed(seed)
    layer = MultiHeadAttention(_DIM, _HEADS, bias=True).double()
    layer(torch.randn(2, _TOKENS, _DIM, dtype=torch.float64), indices.consecutive(_TOKENS)).square().sum().backward()
    slope = layer.query_key_value.bias.grad
    assert slope is not None
    return float(slope[_DIM : 2 * _DIM].norm())


def _formula_of(part: str) -> str:
    return {"pooling query": "d", "pooling, keys and values": "2 d^2"}.get(part, "d^2")


def _picture(formula: int, parts: Mapping[str, int]) -> Figure:
    counts = {"inner product and softmax": formula, **parts}
    with canvas(height=2.9) as (figure, axes):
        axes.barh(list(counts), list(counts.values()), 0.62, color=SERIES[0]["color"])
        for row, count in enumerate(counts.values()):
            axes.annotate(f"{count:,}", (count, row), xytext=(4, 0), textcoords="offset points", va="center")
        axes.invert_yaxis()
        axes.set(title=f"Parameters at d = {_DIM}", xlabel="numbers that learn", xlim=(0, 1.15 * max(max(counts.values()), 1)))
        axes.grid(axis="x")
    return Figure(
        "inventory",
        to_svg(figure),
        caption="How many numbers each part learns.",
        alt="Horizontal bars: none for inner product and softmax, equal bars for the four matrices, a sliver for the pooling "
        "query, a double and a single bar for the pooling's own projections.",
    )
