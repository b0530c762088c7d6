"""Which new gates would help most, how each gate votes best, and at what temperature counts are read.

With signals x, y and residuals r (right answer minus probability), a gate g = a0 + a1 x + a2 y + a3 x y changes the loss by its
correlation with r, and sum r g = a1 sum r x + a2 sum r y + a3 (X diag(r) X^T)[x, y], as residuals that sum to zero drop a0. So
one product X diag(r) X^T scores all pairs under all ten functions. A gate and its complement are one, as a vote against is a
vote for the complement: five functions remain. Residuals stand for functional gradients (Friedman 2001, "Greedy function
approximation", Annals of Statistics 29(5), section 4.6).

With scores f, p = softmax((f + bias) / tau) and one gate s of mean m voting v, the loss falls to second order by

    gain(v) = sum over classes of |c v| / tau - v^2 h / (2 tau^2),   c = sum w (y - p) (s - m),   h = sum w p (1 - p) (s - m)^2

so that every class may be looked at alone: it gets the sign of c where that pays, else no vote. Means are subtracted because
the bias follows for free.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

__all__ = ["Candidates", "best_pairs", "calibrated", "choose", "costs_of_removal", "revoted"]

_FORMS = (8, 4, 2, 1, 6)
"""and; a and not b; not a and b; nor; xor: the ten genuine gates up to their complement."""
_USES = 12
"""Candidates that one signal may stand in: a signal that is in all of them leaves no choice."""


class Candidates(NamedTuple):
    """Gates that might be grown: truth tables, first and second signals, each int64 [C], best first."""

    tables: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]


def best_pairs(
    rows: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int64],
    x_rows: Tensor,
    x_columns: Tensor,
    residuals: Tensor,
    votes: int,
    wanted: int,
    thinned: int = 1,
) -> Candidates:
    """The gates on a row and a column signal that correlate most with the residuals.

    Args:
        rows: signals [R], the first inputs.
        columns: signals [C], the second inputs.
        x_rows: their bits [R, n], float32.
        x_columns: likewise [C, n].
        residuals: [K, n], weighted; each class sums to about zero.
        votes: classes that a gate may vote on: its score is the sum of that many largest absolute correlations, for 3 and
            more that of all.
        wanted: how many.
        thinned: all pairs are scored on every so-many-th example, and only the best of them on all.

    >>> x = torch.tensor([[0.0, 0, 1, 1], [0, 1, 0, 1]])
    >>> both = np.arange(2)
    >>> found = best_pairs(both, both, x, x, torch.tensor([[-1.0, 1, 1, -1]]), votes=1, wanted=1)
    >>> found.tables.tolist()  # the residual of xor asks for xor
    [6]
    """
    residuals = residuals - residuals.mean(1, keepdim=True)
    if thinned > 1:  # as whole numbers, whose sums are exact in float32 and so in any order
        residuals = (residuals * (2**24 // residuals.shape[1] / residuals.abs().max().clamp_min(1e-30))).round()
    some_rows, some_columns, some = (part[:, ::thinned].contiguous() for part in (x_rows, x_columns, residuals))
    gain = _gains(some_rows, some_columns, some, votes)
    gain[:, torch.from_numpy(rows[:, None] == columns[None, :])] = -1.0
    shortlist = 4 * wanted + 16
    order = gain.flatten().topk(min(gain.numel(), shortlist * (1 if thinned == 1 else _SHORTLISTED))).indices
    best = gain.flatten()[order]
    forms, row, column = (torch.from_numpy(part) for part in np.unravel_index(order.numpy(), gain.shape))
    if thinned > 1:
        best = _gains_of(x_rows, x_columns, residuals, votes, forms, row, column)
        order = best.topk(min(len(best), shortlist)).indices
        best, forms, row, column = best[order], forms[order], row[order], column[order]
    tables = torch.tensor(_FORMS)[forms].numpy()
    return _varied(tables, rows[row.numpy()], columns[column.numpy()], best.numpy(), wanted)


_SHORTLISTED = 3
"""Times as many pairs are scored again, on all examples, as are looked at in the end."""


def _gains(x_rows: Tensor, x_columns: Tensor, residuals: Tensor, votes: int) -> Tensor:
    """The score of every pair under every form, [forms, R, C]."""
    shape = (len(_FORMS), len(x_rows), len(x_columns))
    largest, least, total = torch.full(shape, -torch.inf), torch.full(shape, torch.inf), torch.zeros(shape)
    for r in residuals:
        weighted = x_rows * r
        both = weighted @ x_columns.T
        x, y = weighted.sum(1, keepdim=True), (x_columns @ r).unsqueeze(0)
        for form, score in enumerate((both, x - both, y - both, both - x - y, x + y - 2 * both)):
            if votes > 2:
                total[form] += score.abs_()
            else:
                torch.maximum(largest[form], score, out=largest[form])
                torch.minimum(least[form], score, out=least[form])
    return total if votes > 2 else largest - least if votes == 2 else torch.maximum(largest, -least)


def _gains_of(
    x_rows: Tensor, x_columns: Tensor, residuals: Tensor, votes: int, forms: Tensor, row: Tensor, column: Tensor
) -> Tensor:
    """The same of some pairs, each under one form."""
    pairs, which = torch.unique(row * len(x_columns) + column, return_inverse=True)
    first, second = pairs // len(x_columns), pairs % len(x_columns)
    both = _both(x_rows, x_columns, first, second, residuals)
    x, y = (x_rows @ residuals.T)[first], (x_columns @ residuals.T)[second]
    every = torch.stack((both, x - both, y - both, both - x - y, x + y - 2 * both))
    score = every[forms, which]
    if votes > 2:
        return score.abs().sum(1)
    largest, least = score.amax(1), score.amin(1)
    return largest - least if votes == 2 else torch.maximum(largest, -least)


def _both(x_rows: Tensor, x_columns: Tensor, first: Tensor, second: Tensor, residuals: Tensor) -> Tensor:
    """What residuals [K, n], whole numbers, come to where both signals of a pair are 1, [pairs, K]."""
    if COMPILED:
        from ordinate.logic.kernels.compiled_growth import pair_sums

        def words(x: Tensor) -> npt.NDArray[np.uint64]:
            bits = np.pad(x.numpy() > 0, ((0, 0), (0, -x.shape[1] % 64)))
            return np.packbits(bits, axis=1, bitorder="little").view(np.uint64)

        classes, count = residuals.shape
        blocks = np.pad(residuals.numpy().astype(np.int32), ((0, -classes % 5), (0, -count % 64))).reshape(
            -(-classes // 5), 5, -1
        )
        sums = np.empty((len(first), 5 * len(blocks)), np.int64)
        by_example = np.ascontiguousarray(blocks.transpose(0, 2, 1))
        pair_sums(words(x_rows), words(x_columns), first.numpy(), second.numpy(), by_example, sums)
        return torch.from_numpy(sums[:, :classes]).float()
    parts = zip(first.split(_AT_ONCE), second.split(_AT_ONCE), strict=True)
    return torch.cat([(x_rows[a] * x_columns[b]) @ residuals.T for a, b in parts])


COMPILED = find_spec("numba") is not None
_AT_ONCE = 64
"""Pairs built at once: few enough to stay in the cache."""


def _varied(
    tables: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    second: npt.NDArray[np.int64],
    gain: npt.NDArray[np.float32],
    wanted: int,
) -> Candidates:
    """The first of each gate, no signal in more than `_USES`."""
    seen: set[tuple[int, int, int]] = set()
    uses: dict[int, int] = {}
    kept = []
    gates = zip(tables.tolist(), first.tolist(), second.tolist(), strict=True)
    for place, (table, a, b) in enumerate(gates):
        swapped = {4: 2, 2: 4}.get(table, table)
        gate = (table, a, b) if a < b else (swapped, b, a)
        if gain[place] <= 0 or gate in seen or uses.get(a, 0) >= _USES or uses.get(b, 0) >= _USES:
            continue
        seen.add(gate)
        uses[a], uses[b] = uses.get(a, 0) + 1, uses.get(b, 0) + 1
        kept.append(place)
        if len(kept) == wanted:
            break
    return Candidates(tables[kept], first[kept], second[kept])


_AHEAD, _NEAR = 512, 96
"""Candidates that are looked at again after the first look at all of them, and those that are in between two such looks."""


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
        value = torch.nn.functional.cross_entropy((votes * capped + shift.unsqueeze(1)).T, labels)
        value.backward()
        return value

    optimiser.step(loss)
    with torch.no_grad():
        tau = 1 / float(slope.clamp(1e-6, 1 / least_tau))
        shift = shift.detach() - shift.mean()
        value = torch.nn.functional.cross_entropy((votes / tau + shift.unsqueeze(1)).T, labels)
    return tau, shift * tau, float(value)


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
        afresh: after how many choices the better candidates are looked at again; in between, only some that were best then.
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
    view = near = torch.arange(len(bits))
    near_bits = bits
    for turn in range(wanted):
        p = torch.softmax((scores + bias.unsqueeze(1)) / tau, 0)
        r = (target - p) * weights
        h = (p * (1 - p)) @ weights
        if afresh > 1 and turn % afresh == 0:
            _, gain = _votes_of(bits[view] if turn else bits, mean[view], variance[view], r, h, tau, votes)
            order = torch.where(free[view], gain, -1.0).topk(min(_AHEAD, len(view))).indices
            view = view[order]  # what stood behind all of these will not lead in this round any more
            near = view[:_NEAR]
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
