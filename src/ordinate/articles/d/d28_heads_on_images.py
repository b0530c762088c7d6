"""D28. The article: on an image heads come to react to shape, texture, a region, or to regions that lie apart.

What varies is whether the model is trained. Patches of digits go through one layer of attention with four heads and learned
positions in two axes. Which of the article's words a head deserves cannot be measured; that heads differ, and how far they
look, can. The picture is what the article describes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ordinate.attention import AttentionPooling, MultiHeadAttention
from ordinate.data import digits
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import indices

__all__ = ["CLAIM", "Looks", "heads_on_images", "measure"]

CLAIM = Claim(
    id="D28",
    title="Heads look at different things",
    place="D555-566",
    statement=(
        "Nobody defines a head's role; on images different heads learn, so to speak, to react to shape, to texture, to a "
        "certain region, or to regions that lie apart."
    ),
    remark="Shape and texture are not separated here: measured is how much heads differ and how far they look.",
    setup="none stated",
    setup_detail="scikit-learn's digits of 8 by 8 in 16 patches, one layer, four heads",
    varies="the model before and after training, and the head",
    band="two heads at least 0.2 apart after training (0: the same weights, 1: nothing in common), under 0.1 before",
    budget_seconds=15,
)

_HEADS, _SIDE, _DIM = 4, 4, 32


@dataclass(frozen=True, eq=False)
class Looks:
    """Of one model: `accuracy`; `apart`, how far two heads' weights lie from each other (total variation, mean over images,
    queries and pairs); `reach`, mean distance a head looks, in patches; `image` [8, 8] and the `weights` that pooling and each
    head give its patches, [5, 4, 4]."""

    accuracy: float
    apart: float
    reach: Sequence[float]
    image: Tensor
    weights: Tensor


class _Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch, self.place = nn.Linear(4, _DIM), nn.Parameter(torch.randn(_SIDE * _SIDE, _DIM) * 0.02)
        self.attention = MultiHeadAttention(_DIM, num_heads=_HEADS)
        self.pool, self.read_out = AttentionPooling(_DIM), nn.Linear(_DIM, 10)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[B, 8, 8] to logits [B, 10], the heads' weights [B, H, 16, 16], the pooling's [B, 16]."""
        patches = images.unfold(1, 2, 2).unfold(2, 2, 2).flatten(3).flatten(1, 2)
        x = self.patch(patches) + self.place
        seen, weights = self.attention(x, indices.consecutive(x.shape[1]), return_weights=True)
        pooled, looked = self.pool((x + seen).relu(), return_weights=True)
        return self.read_out(pooled.flatten(1)), weights, looked.mean((1, 2))


def measure(inputs: Inputs) -> Measurement:
    """Claim D28 on some hundred steps, or with --full on five times as many."""
    data, steps = digits(), 1500 if inputs.full else 300
    before, after = [], []
    for seed in inputs.seeds:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = _Model()
        images, labels = _tensors(data.train, data.highest)
        tested = _tensors(data.test, data.highest)
        before.append(_looks(model, *tested))
        optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
        generator = torch.Generator().manual_seed(seed)
        for _ in range(steps):
            rows = torch.randint(len(images), (64,), generator=generator)
            loss = nn.functional.cross_entropy(model(images[rows])[0], labels[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        after.append(_looks(model, *tested))
    return heads_on_images(before, after, f"{data.source}; {steps} steps of 64 images")


def heads_on_images(before: Sequence[Looks], after: Sequence[Looks], trained_on: str) -> Measurement:
    """Claim D28 on any looks of models before and after training, one a seed."""

    def mean(looks: Sequence[Looks], name: str) -> float:
        return float(np.mean([getattr(one, name) for one in looks]))

    apart, accuracy = (mean(before, "apart"), mean(after, "apart")), mean(after, "accuracy")
    spread = float(np.mean([max(one.reach) - min(one.reach) for one in after]))
    checks = [
        Check.at_least("how far two heads' weights lie apart, trained", apart[1], 0.2),
        Check.at_most("how far two heads' weights lie apart, before training", apart[0], 0.1, role=Role.CONTROL),
        Check.at_least("accuracy after training", accuracy, 0.8, role=Role.CONTROL),
        Check.at_least("difference of reach, farthest head less nearest", spread, 0.2, unit="patches", role=Role.LIMIT),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"two heads {apart[0]:.2f} apart before and {apart[1]:.2f} after training; they look {spread:.1f} patches "
        f"unequally far; accuracy {accuracy:.0%}",
        meaning={
            Verdict.REPRODUCED: f"Four heads that begin alike ({apart[0]:.2f} apart) end with weights that lie {apart[1]:.2f} "
            f"apart, and nobody set what they look at. Some look nearer, some farther (they differ by {spread:.1f} "
            "patches). Names such as shape and texture are ours to give: the picture invites them, the numbers do not.",
            Verdict.REFUTED: f"After training two heads lie {apart[1]:.2f} apart: they look at much the same.",
        },
        inputs=trained_on,
        tables=[
            Table(
                "Mean distance from a patch to what it looks at, in patches (evenly spread weights: 1.93)",
                ("seed", *(f"head {head + 1}" for head in range(_HEADS)), "accuracy"),
                [(str(seed), *one.reach, f"{one.accuracy:.1%}") for seed, one in enumerate(after)],
            )
        ],
        figures=[_picture(after[0])],
    )


def _tensors(part: object, highest: int) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(part.images).float() / highest, torch.from_numpy(part.labels)  # type: ignore[attr-defined]


@torch.no_grad()
def _looks(model: _Model, images: Tensor, labels: Tensor) -> Looks:
    logits, weights, pooled = model(images)
    pairs = [(one, other) for one in range(_HEADS) for other in range(one)]
    apart = np.mean([float((weights[:, one] - weights[:, other]).abs().sum(-1).mean()) / 2 for one, other in pairs])
    grid = torch.stack(torch.meshgrid(torch.arange(_SIDE), torch.arange(_SIDE), indexing="ij"), -1).flatten(0, 1).float()
    reach = (weights * torch.cdist(grid, grid)).sum(-1).mean((0, 2)).tolist()
    query = int(pooled[0].argmax())
    maps = torch.cat((pooled[0][None], weights[0, :, query])).unflatten(1, (_SIDE, _SIDE))
    accuracy = float((logits.argmax(-1) == labels).double().mean())
    return Looks(accuracy, float(apart), reach, images[0], maps)


def _picture(looks: Looks) -> Figure:
    titles = ("the image", "pooling", *(f"head {head + 1}" for head in range(_HEADS)))
    with canvas(6, height=1.7) as (figure, axes):
        for panel, title, values in zip(axes, titles, (looks.image, *looks.weights), strict=True):
            extent = (0, 8, 8, 0)
            panel.imshow(looks.image.numpy(), cmap="gray_r", extent=extent)
            if title != "the image":
                panel.imshow(values.numpy(), cmap="cividis", alpha=0.75, extent=extent, vmin=0)
            panel.set_title(title, fontsize=8)
            panel.set_xticks([])
            panel.set_yticks([])
    return Figure(
        "heads",
        to_svg(figure),
        caption="Where the pooling looks in a digit that was not trained on, and where each head looks from the patch that the "
        "pooling weighs most; bright is much.",
        alt="An image of a digit and five maps of 4 by 4 patches over it; each head has its weight at other patches.",
    )
