"""F1. Du et al. 2026 (arXiv 2605.15514, abstract): in long contexts RoPE tells neither near from far nor token from token.

What varies is the length of the context and the base. Queries and keys are drawn: for nearness a key is like its query, so
that RoPE favours small distances at all; for relevance two keys are drawn alone. Failures are counted: a far place scores
above a near one; the order of two keys turns over between two places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ordinate.frequencies import inverse_frequencies
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict

__all__ = ["CLAIM", "Failures", "measure", "one_half"]

CLAIM = Claim(
    id="F1",
    title="RoPE in long contexts fails half the time",
    place="Du et al. 2026, arXiv 2605.15514, abstract",
    statement=(
        "As the context grows, RoPE no longer favours nearer positions, and a key that scores above another at one place may "
        "score below it at another; the probability of failure approaches 0.5. A larger base helps to tell tokens apart and "
        "loses positions."
    ),
    remark="The abstract states a theorem; here drawn vectors are counted. Trained models have other queries and keys.",
    setup="other data",
    setup_detail="Gaussian queries and keys of 128 channels, one head; the paper's proofs and models are not repeated",
    varies="the length of the context, and the base",
    band="both failures between .45 and .55 at the longest context, and under .35 at 64 tokens",
    budget_seconds=10,
)

_WIDTH, _LENGTHS, _BASES = 128, tuple(4**power for power in range(3, 12)), (10_000.0, 500_000.0)
_LIKENESS = 0.5  # correlation of query and key where nearness is asked about


@dataclass(frozen=True)
class Failures:
    """For one base, by length of the context: shares in which the farther place scores higher (`near`) and in which the order
    of two keys turns over (`order`); `step`: mean change of a score from a place to the next, in standard deviations."""

    near: Sequence[float]
    order: Sequence[float]
    step: float


def measure(inputs: Inputs) -> Measurement:
    """Claim F1 on 4,000 draws, or with --full on 40,000."""
    draws = 40_000 if inputs.full else 4_000
    return one_half(
        {base: _failures(np.array(inverse_frequencies(_WIDTH, base)), draws, inputs.seeds[0]) for base in _BASES}, draws
    )


def one_half(results: Mapping[float, Failures], draws: int) -> Measurement:
    """Claim F1 on any failures, by base; the first base is the smaller one."""
    small, large = results.values()
    at_64 = _LENGTHS.index(64)
    checks = [
        Check.near("farther place scores higher, longest context, base 10,000", small.near[-1], 0.5, 0.05),
        Check.near("order of two keys turns over, longest context, base 10,000", small.order[-1], 0.5, 0.05),
        Check.at_most("farther place scores higher, 64 tokens, base 10,000", small.near[at_64], 0.35, role=Role.CONTROL),
        Check.at_most("order of two keys turns over, 64 tokens, base 10,000", small.order[at_64], 0.35, role=Role.CONTROL),
        Check.at_least(
            "order turned over at 65,536 tokens, base 10,000 less base 500,000",
            small.order[_LENGTHS.index(65536)] - large.order[_LENGTHS.index(65536)],
            0.02,
            role=Role.GENERALISATION,
        ),
        Check.at_least(
            "change of a score from place to place, base 10,000 less base 500,000",
            small.step - large.step,
            0.01,
            role=Role.GENERALISATION,
        ),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"at {_LENGTHS[-1]:,} tokens the farther place scores higher in {small.near[-1]:.0%}, two keys change their "
        f"order in {small.order[-1]:.0%}; at 64 tokens {small.near[at_64]:.0%} and {small.order[at_64]:.0%}",
        meaning={
            Verdict.REPRODUCED: "Once every pair of channels has gone round, places are as good as drawn: both failures climb "
            f"from {small.near[at_64]:.0%} and {small.order[at_64]:.0%} at 64 tokens to one half. That happens where the "
            f"slowest pair turns, so a base of 500,000 puts it off (at 65,536 tokens {small.order[5]:.0%} turn over against "
            f"{large.order[5]:.0%}) and pays with places that differ less from their neighbours. The drawn vectors use all "
            "pairs alike; what a trained head does with its slow pairs is not decided by this.",
            Verdict.REFUTED: f"At {_LENGTHS[-1]:,} tokens the failures are {small.near[-1]:.0%} and {small.order[-1]:.0%}.",
        },
        inputs=f"{draws:,} draws of queries and keys, {_WIDTH} channels, contexts of {_LENGTHS[0]} to {_LENGTHS[-1]:,} tokens",
        tables=[
            Table(
                "Share of failures",
                (
                    "tokens",
                    *(f"{what}, base {base:,.0f}" for base in results for what in ("far above near", "order turned over")),
                ),
                [
                    (f"{length:,}", *(values[at] for one in results.values() for values in (one.near, one.order)))
                    for at, length in enumerate(_LENGTHS)
                ],
            )
        ],
        figures=[_picture(results)],
    )


def _failures(frequencies: npt.NDArray[np.float64], draws: int, seed: int) -> Failures:
    generator = np.random.default_rng(seed)
    pairs = len(frequencies)

    def drawn() -> npt.NDArray[np.complex128]:
        return generator.standard_normal((draws, pairs)) + 1j * generator.standard_normal((draws, pairs))

    query, first, second = drawn(), drawn(), drawn()
    alike = _LIKENESS * query + np.sqrt(1 - _LIKENESS**2) * drawn()

    def scores(key: npt.NDArray[np.complex128], places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        return (query.conj() * key * np.exp(1j * places[:, None] * frequencies)).sum(1).real

    near, order = [], []
    for length in _LENGTHS:
        close, far = generator.integers(0, length // 4, draws), generator.integers(length // 2, length, draws)
        near.append(float((scores(alike, far) > scores(alike, close)).mean()))
        here, there = generator.integers(0, length, (2, draws))
        turned = (scores(first, here) > scores(second, here)) != (scores(first, there) > scores(second, there))
        order.append(float(turned.mean()))
    place = generator.integers(0, 4096, draws)
    step = np.abs(scores(first, place + 1) - scores(first, place)).mean() / scores(first, place).std()
    return Failures(near, order, float(step))


def _picture(results: Mapping[float, Failures]) -> Figure:
    with canvas(2, height=2.8) as (figure, axes):
        for panel, name, title in zip(
            axes, ("near", "order"), ("A farther place scores higher", "Two keys change their order"), strict=True
        ):
            for (base, one), series in zip(results.items(), SERIES, strict=False):
                panel.plot(_LENGTHS, getattr(one, name), label=f"base {base:,.0f}", **series)
            panel.axhline(0.5, color="#1b1c1e", linewidth=0.7, linestyle=":")
            panel.set(title=title, xlabel="tokens", xscale="log", ylim=(0, 0.6))
            panel.set_xticks([64, 1024, 16384, 262144, 4194304], ["64", "1,024", "16k", "262k", "4.2M"])
            panel.minorticks_off()
            panel.grid(axis="y")
        axes[0].set_ylabel("share of draws")
        axes[0].legend(loc="lower right")
    return Figure(
        "failures",
        to_svg(figure),
        caption="How often drawn queries and keys fail under RoPE, by the length of the context; dotted, one half.",
        alt="Both shares rise from about a fifth at 64 tokens to one half; with the larger base they do so at longer contexts.",
    )
