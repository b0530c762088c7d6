"""B10. Articles B, C and D: recurrent networks have order by themselves, convolutions see neighbours, attention neither;
sinusoids can be used with all of them.

What varies is the model and whether sinusoids are added. Two questions about rows of tokens that hold A and B once: which of
the two comes first, anywhere in the row; and which comes first where they stand beside each other ("dog bites man").
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from statistics import fmean

import torch
from torch import Tensor, nn

from ordinate.attention import MultiHeadAttention
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, boxes, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Sinusoidal, indices

__all__ = ["CLAIM", "Bag", "Convolution", "Recurrent", "measure", "other_models"]

CLAIM = Claim(
    id="B10",
    title="Order in recurrent and convolutional models",
    place="B132, C15-17, D1086-1092",
    statement=(
        "RNN and LSTM process tokens one after the other and need no positional encoding; a CNN catches neighbours with a "
        "sliding window; attention without a mechanism for order loses it. Sinusoids can also be used with other models."
    ),
    remark="Two questions about order, near and anywhere, and the bands are ours.",
    setup="none stated",
    setup_detail="one layer of 32 channels and 16 tokens, some hundred steps",
    varies="the model, whether sinusoids are added, and whether the two tokens stand beside each other or anywhere",
    band="answered: at least 90 %; not answered: at most 60 % (guessing is 50 %)",
    budget_seconds=20,
)

_TOKENS, _EDGE, _KINDS, _DIM = 16, 2, 10, 32
_QUESTIONS = ("beside each other", "anywhere")

Accuracies = Mapping[tuple[str, bool, str], Sequence[float]]
"""By model, whether sinusoids are added, and question: the accuracy of each seed."""


class Recurrent(nn.Module):
    """A gated recurrent network; the last state is the answer."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.GRU(_DIM, _DIM, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] to [B, D]."""
        return self.network(x)[1][0]


class Convolution(nn.Module):
    """One convolution with a window of three tokens, a rectifier, and the mean over the row."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Conv1d(_DIM, 2 * _DIM, 3, padding=1), nn.ReLU(), nn.Conv1d(2 * _DIM, _DIM, 1))

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] to [B, D]."""
        return self.network(x.mT).mean(-1)


class Bag(nn.Module):
    """One layer of attention without a mask, a network on each token, and the mean over the row."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(_DIM, num_heads=4)
        self.network = nn.Sequential(nn.Linear(_DIM, 2 * _DIM), nn.ReLU(), nn.Linear(2 * _DIM, _DIM))

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] to [B, D]."""
        x = x + self.attention(x, indices.consecutive(x.shape[1]))
        return (x + self.network(x)).mean(1)


_MODELS: Mapping[str, type[nn.Module]] = {"recurrent": Recurrent, "convolution": Convolution, "attention": Bag}


def measure(inputs: Inputs) -> Measurement:
    """Claim B10 on short trainings, or with --full on ones four times as long."""
    steps = 1200 if inputs.full else 180
    results = {
        (name, added, question): [_accuracy(model, added, question, seed, steps) for seed in inputs.seeds]
        for name, model in _MODELS.items()
        for added in (False, True)
        for question in _QUESTIONS
    }
    return other_models(results, f"{steps} steps of 32 new rows; seeds {', '.join(map(str, inputs.seeds))}")


def other_models(results: Accuracies, trained_on: str) -> Measurement:
    """Claim B10 on any accuracies."""
    mean = {key: fmean(values) for key, values in results.items()}
    near, far = _QUESTIONS
    checks = [
        Check.at_least(f"recurrent without positions, {near}", mean["recurrent", False, near], 0.9),
        Check.at_least(f"recurrent without positions, {far}", mean["recurrent", False, far], 0.9),
        Check.at_least(f"convolution without positions, {near}", mean["convolution", False, near], 0.9),
        Check.at_most(f"convolution without positions, {far}", mean["convolution", False, far], 0.6),
        Check.at_most(f"attention without positions, {near}", mean["attention", False, near], 0.6),
        Check.at_most(f"attention without positions, {far}", mean["attention", False, far], 0.6),
        *(
            Check.at_least(f"{name} with sinusoids, {far}", mean[name, True, far], 0.9, role=role)
            for name, role in (("recurrent", Role.AS_STATED), ("convolution", Role.AS_STATED), ("attention", Role.CONTROL))
        ),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"which comes first, without and with sinusoids: recurrent {mean['recurrent', False, far]:.0%} and "
        f"{mean['recurrent', True, far]:.0%}, convolution {mean['convolution', False, far]:.0%} and "
        f"{mean['convolution', True, far]:.0%}, attention {mean['attention', False, far]:.0%} and "
        f"{mean['attention', True, far]:.0%}",
        meaning={
            Verdict.REPRODUCED: "A recurrent network answers both questions without positions, and sinusoids do not hinder it. "
            f"A convolution of three tokens knows the order of neighbours ({mean['convolution', False, near]:.0%}) and nothing "
            f"of tokens that its window does not hold together ({mean['convolution', False, far]:.0%}); attention without a "
            f"mask knows neither. With sinusoids added all of them answer both: what an encoding of positions does is not "
            "bound to attention.",
            Verdict.REFUTED: "The models do not differ as stated after this training; the checks above say where.",
        },
        inputs=f"{_TOKENS} tokens of {_KINDS} kinds, {_DIM} channels, {trained_on}",
        tables=[
            Table(
                "Accuracy, mean over the seeds",
                (
                    "model",
                    *(f"{question}, {'with' if added else 'without'}" for question in _QUESTIONS for added in (False, True)),
                ),
                [
                    (name, *(f"{mean[name, added, question]:.0%}" for question in _QUESTIONS for added in (False, True)))
                    for name in _MODELS
                ],
            )
        ],
        figures=[_diagram(), _picture(mean)],
    )


def _rows(count: int, question: str, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Tokens [count, T] that hold 0 and 1 once, and whether 0 comes first."""
    tokens = torch.randint(2, _KINDS, (count, _TOKENS), generator=generator)
    inside = _TOKENS - 2 * _EDGE  # a convolution sees where the row ends, which is not the question
    if question == "anywhere":  # never within one window
        pairs = torch.rand(count, inside - 2, generator=generator).argsort(1)[:, :2].sort(1).values + _EDGE
        first, second = pairs[:, 0], pairs[:, 1] + 2
    else:
        first = torch.randint(_EDGE, _TOKENS - _EDGE - 1, (count,), generator=generator)
        second = first + 1
    zero_first = torch.rand(count, generator=generator) < 0.5
    tokens.scatter_(1, first[:, None], (~zero_first).long()[:, None])
    tokens.scatter_(1, second[:, None], zero_first.long()[:, None])
    return tokens, zero_first


def _accuracy(model: type[nn.Module], added: bool, question: str, seed: int, steps: int) -> float:
    generator = torch.Generator().manual_seed(seed)
    places = Sinusoidal(_DIM).encode(indices.consecutive(_TOKENS)) if added else torch.zeros(_TOKENS, _DIM)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        embedding, body, head = nn.Embedding(_KINDS, _DIM), model(), nn.Linear(_DIM, 1)
    learned = [*embedding.parameters(), *body.parameters(), *head.parameters()]
    optimiser = torch.optim.Adam(learned, lr=5e-3)
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = 5e-3 * min(1.0, 2 * (1 - step / steps))
        tokens, wanted = _rows(32, question, generator)
        answer = head(body(embedding(tokens) + places)).squeeze(-1)
        loss = nn.functional.binary_cross_entropy_with_logits(answer, wanted.float())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    tokens, wanted = _rows(1000, question, torch.Generator().manual_seed(seed + 10_000))
    with torch.no_grad():
        return float(((head(body(embedding(tokens) + places)).squeeze(-1) > 0) == wanted).double().mean())


def _diagram() -> Figure:
    words = ("i", "am", "a", "pen")
    with canvas(2, height=2.5) as (figure, (left, right)):
        states = {f"h#{word}": (0.14 + 0.24 * at, 0.5) for at, word in enumerate(words)}
        places = {word: (0.14 + 0.24 * at, 0.12) for at, word in enumerate(words)} | states
        places |= {f"y#{word}": (0.14 + 0.24 * at, 0.88) for at, word in enumerate(words)}
        names = list(states)
        arrows = [(word, f"h#{word}", "$W_{xh}$") for word in words] + [
            (f"h#{word}", f"y#{word}", "$W_{hy}$") for word in words
        ]
        boxes(left, places, [*arrows, *((one, other, "W") for one, other in itertools.pairwise(names))], accents=names)
        left.set_title("Recurrent: one after the other")
        places = {word: (0.14 + 0.24 * at, 0.12) for at, word in enumerate(words)}
        places |= {f"z#{word}": (0.14 + 0.24 * at, 0.8) for at, word in enumerate(words)}
        boxes(right, places, [(word, f"z#{other}", "") for other in words for word in words])
        right.set_title("Attention: every pair, no order")
    return Figure(
        "diagram",
        to_svg(figure),
        caption="Why one needs no positions and the other does: a recurrent network carries a state on, the same W at each "
        "step; attention compares every pair of tokens, and the drawing is the same in any order.",
        alt="Left, four states in a row with arrows W between them, fed by W_xh and read by W_hy. Right, four tokens below and "
        "four outputs above, joined by an arrow for every pair.",
    )


def _picture(mean: Mapping[tuple[str, bool, str], float]) -> Figure:
    with canvas(2, height=2.6) as (figure, axes):
        for panel, question in zip(axes, _QUESTIONS, strict=True):
            for row, name in enumerate(_MODELS):
                for added in (False, True):
                    series = SERIES[int(added)]
                    panel.plot(
                        mean[name, added, question],
                        row,
                        linestyle="none",
                        marker=series["marker"],
                        color=series["color"],
                        markersize=7,
                        label="_" if row else ("sinusoids added" if added else "no positions"),
                    )
            panel.axvline(0.5, color="#1b1c1e", linewidth=0.7, linestyle=":")
            panel.set(title=question.capitalize(), xlabel="accuracy", xlim=(0.45, 1.03), ylim=(2.5, -0.5))
            panel.set_yticks(range(3), list(_MODELS) if question == "beside each other" else [""] * 3)
            panel.grid(axis="x")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return Figure(
        "order",
        to_svg(figure),
        caption="Which of two tokens comes first: accuracy where they stand beside each other and anywhere; dotted, guessing.",
        alt="; ".join(
            f"{name}, {question}, {'with' if added else 'without'} sinusoids {value:.0%}"
            for (name, added, question), value in mean.items()
        ),
    )
