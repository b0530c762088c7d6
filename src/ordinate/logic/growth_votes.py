"""Votes: how a gate votes best, which gates to choose one after another, and at what temperature counts are read.

With scores f, p = softmax((f + bias) / tau) and one gate s of mean m voting v, the loss falls to second order by

    gain(v) = sum over classes of |c v| / tau - v^2 h / (2 tau^2),   c = sum w (y - p) (s - m),   h = sum w p (1 - p) (s - m)^2

so that every class may be looked at alone: it gets the sign of c where that pays, else no vote. Means are taken out because the
bias follows for free.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

__all__ = ["calibrated", "choose", "costs_of_removal", "revoted"]

_NEAR = 256
"""Candidates that stay in view between two looks at all of them."""


def calibrated(scores: Tensor, labels: Tensor, tau: float, bias: Tensor, least_tau: float) -> tuple[float, Tensor, float]:
    """Temperature and bias of least cross-entropy.

    Args:
        scores: votes [K, n], float32.
        labels: int64 [n].
        tau: where to start.
        bias: where to start, [K], in votes.
        least_tau: the temperature does not fall below.

    Returns:
        tau, bias [K] in votes (float64), and the loss.
    """
    votes = scores.double()
    slope = torch.tensor([1 / tau], dtype=torch.float64, requires_grad=True)
    shift = (bias / tau).detach().clone().requires_grad_(True)
    optimiser = torch.optim.LBFGS([slope, shift], max_iter=12, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimiser.zero_grad()
        capped = slope.clamp(1e-6, 1 / least_tau)
        found = torch.nn.functional.cross_entropy((votes * capped + shift.unsqueeze(1)).T, labels)
        found.backward()
        return found

    optimiser.step(loss)
    with torch.no_grad():
        tau = 1 / float(slope.clamp(1e-6, 1 / least_tau))
        shift = shift.detach() - shift.mean()
        found = torch.nn.functional.cross_entropy((votes / tau + shift.unsqueeze(1)).T, labels)
    return tau, shift * tau, float(found)


def _best_votes(correlation: Tensor, curvature: Tensor, tau: float, votes: int) -> tuple[Tensor, Tensor]:
    """Votes [..., K] in -1, 0, 1, at most `votes` of them, and their gain [...]."""
    gain = correlation.abs() / tau - curvature / (2 * tau * tau)
    if votes < gain.shape[-1]:
        best = gain.topk(votes, -1)  # of equals one: with two classes both gain alike
        gain = torch.zeros_like(gain).scatter(-1, best.indices, best.values)
    gain = gain.clamp_(min=0.0)
    return correlation.sign() * (gain > 0), gain.sum(-1)


def _votes_of(
    bits: Tensor, mean: Tensor, variance: Tensor, r: Tensor, h: Tensor, tau: float, votes: int
) -> tuple[Tensor, Tensor]:
    """How candidates [C, n] vote best, [C, K], and their gain [C]; r [K, n] are residuals and h [K] curvatures, weighted."""
    c = bits @ r.T - mean.unsqueeze(1) * r.sum(1)
    return _best_votes(c, variance.unsqueeze(1) * h, tau, votes)


def choose(
    bits: Tensor,
    first: Tensor,
    second: Tensor,
    scores: Tensor,
    labels: Tensor,
    weights: Tensor,
    tau: float,
    bias: Tensor,
    votes: int,
    wanted: int,
    afresh: int = 1,
) -> tuple[list[int], list[Tensor], Tensor]:
    """Choose gates one after another, each against what the ones before it left over; every signal is read once at most.

    Args:
        bits: of the candidates, [C, n], float32.
        first: their first signals, int64 [C].
        second: their second signals.
        scores: votes so far, [K, n].
        labels: int64 [n].
        weights: of the examples, [n].
        tau: temperature.
        bias: [K], in votes.
        votes: classes a gate may vote on.
        wanted: how many at most; fewer where nothing helps any more.
        afresh: after how many choices all candidates are looked at again; in between, only some that were best then.
            Gains fall slowly, so little is lost (Minoux 1978, "Accelerated greedy algorithms", is the same thought).

    Returns:
        places among the candidates, their votes [K], and the bias that goes with them.
    """
    weights = weights / weights.sum()
    target = torch.nn.functional.one_hot(labels, len(scores)).T.to(scores)
    mean = bits @ weights
    variance = mean - mean * mean
    scores, bias = scores.clone(), bias.to(scores)
    free = torch.ones(len(bits), dtype=torch.bool)
    places: list[int] = []
    chosen: list[Tensor] = []
    near, near_bits = torch.arange(len(bits)), bits
    for turn in range(wanted):
        p = torch.softmax((scores + bias.unsqueeze(1)) / tau, 0)
        r = (target - p) * weights
        h = (p * (1 - p)) @ weights
        if afresh > 1 and turn % afresh == 0:
            _, gain = _votes_of(bits, mean, variance, r, h, tau, votes)
            near = torch.where(free, gain, -1.0).topk(min(_NEAR, len(bits))).indices
            near_bits = bits[near]
        vote, gain = _votes_of(near_bits, mean[near], variance[near], r, h, tau, votes)
        gain[~free[near]] = -1.0
        place = int(gain.argmax())
        if gain[place] <= 0:
            break
        best = int(near[place])
        places.append(best)
        chosen.append(vote[place].clone())
        scores += vote[place].unsqueeze(1) * bits[best]
        bias = bias - vote[place] * mean[best]
        a, b = first[best], second[best]
        free &= (first != a) & (second != a) & (first != b) & (second != b)
    return places, chosen, bias


def revoted(
    bits: Tensor, votes: Tensor, scores: Tensor, labels: Tensor, weights: Tensor, tau: float, bias: Tensor, most: int, seed: int
) -> tuple[Tensor, Tensor]:
    """Let every gate vote anew, one after another in shuffled order, the others' votes as they stand.

    A vote changes only where the gain is larger than the standard error of its slope, so that chance changes nothing.

    Args:
        bits: of the gates, uint8 [G, n].
        votes: [G, K], in -1, 0, 1.
        scores: [K, n], of all these votes; like the other arguments as in `choose`.
        most: classes a gate may vote on.
        seed: of the order.

    Returns:
        votes [G, K] and the bias that goes with them.
    """
    weights = weights / weights.sum()
    target = torch.nn.functional.one_hot(labels, len(scores)).T.to(scores)
    votes, scores, bias = votes.clone(), scores.clone(), bias.to(scores)
    for gate in np.random.default_rng(seed).permutation(len(bits)):
        s = bits[gate].to(scores)
        mean = float(s @ weights)
        old = votes[gate]
        p = torch.softmax((scores + bias.unsqueeze(1)) / tau, 0)
        r = (target - p) * weights
        c = r @ (s - mean)
        error = (r.square() @ (s - mean).square()).sqrt()
        h = (p * (1 - p) * weights).sum(1) * (mean - mean * mean)
        # to second order the correlation without the gate's own vote is c + h old / tau
        alone = c + h * old / tau
        new, _ = _best_votes(alone, h, tau, most)
        gained = (alone * (new - old)) / tau - h * (new.square() - old.square()) / (2 * tau * tau)
        new = torch.where(gained > error / tau, new, old)
        if int(new.abs().sum()) > most:
            continue
        changed = new - old
        for label in torch.nonzero(changed).flatten().tolist():
            scores[label] += changed[label] * s
            bias[label] -= changed[label] * mean
        votes[gate] = new
    return votes, bias


def costs_of_removal(
    bits: Tensor, votes: Tensor, scores: Tensor, labels: Tensor, weights: Tensor, tau: float, bias: Tensor
) -> Tensor:
    """By how much the loss would rise without each gate's votes, [G], to second order; arguments as in `revoted`."""
    weights = weights / weights.sum()
    target = torch.nn.functional.one_hot(labels, len(scores)).T.to(scores)
    p = torch.softmax((scores + bias.to(scores).unsqueeze(1)) / tau, 0)
    r, curved = (target - p) * weights, p * weights
    costs = []
    for part, vote in zip(bits.split(256), votes.split(256), strict=True):
        s = part.to(scores)
        mean = s @ weights
        slope = s @ r.T - mean.unsqueeze(1) * r.sum(1)
        # variance over classes of the vote, on the examples where the gate is 1 and, by its mean, where it is not
        share = s @ curved.T
        ones, rest = share, curved.sum(1) - share
        spread = ((1 - mean) ** 2).unsqueeze(1) * ones + (mean**2).unsqueeze(1) * rest
        costs.append((slope * vote).sum(1) / tau + (spread * vote.abs()).sum(1) / (2 * tau * tau))
    return torch.cat(costs)
