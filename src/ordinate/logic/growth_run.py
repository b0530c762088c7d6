"""The rounds of growth, in an order that can be broken off after any of them and taken up again.

First the circuit grows to its number of gates, or until validation no longer gains. Then, as often as asked for, all gates vote
anew, the least useful ones that no other gate reads are cut, and as many are grown in their place; what validation does not
confirm is taken back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from ordinate.logic.growth_candidates import best_pairs
from ordinate.logic.growth_checkpoint import fingerprint, load_growth, save_growth
from ordinate.logic.growth_settings import GrowthRound, GrowthSettings
from ordinate.logic.growth_state import GrowthState, Snapshot
from ordinate.logic.growth_votes import choose, costs_of_removal, revoted

__all__ = ["GrowthRun"]

_REVOTED_ON = 24_000
_UNIFORM = 0.1
"""Share of the draw that does not look at residuals, so that no example weighs more than ten times the mean."""


class GrowthRun:
    """One growth from its start, or from a checkpoint, to its end.

    Args:
        state: to grow.
        settings: of the growth.
        checkpoint: a file to write after each round and to start from, or None.
        on_round: called after each round.
    """

    def __init__(
        self,
        state: GrowthState,
        settings: GrowthSettings,
        checkpoint: Path | None,
        on_round: Callable[[GrowthRound], None] | None,
    ) -> None:
        self.state, self.settings, self.checkpoint, self.on_round = state, settings, checkpoint, on_round
        # two classes differ by one number: a second vote would only double the first
        self.most_votes = min(settings.votes_per_gate, max(1, state.num_classes - 1))
        self.generator = np.random.default_rng(settings.seed)
        self.rounds: list[GrowthRound] = []
        self.best: tuple[float, Snapshot] = (float("inf"), state.snapshot())
        self.phase = "grow"  # what comes next
        self.replaced = 0
        self.waited = 0
        self.seconds_before = 0.0
        self.started = time.process_time()
        self._mark = "" if checkpoint is None else fingerprint(state)
        if checkpoint is not None and checkpoint.is_file():
            load_growth(checkpoint, self, self._mark)

    def to_the_end(self) -> None:
        """Every round that is left; the state is then that of the least validation loss."""
        while self.phase != "done":
            {"grow": self._grow, "revote": self._revote, "cut": self._cut}[self.phase]()
        self.state.restore(self.best[1])

    def _grow(self) -> None:
        if len(self.state.gates) >= self.settings.gates or self.waited >= self.settings.patience:
            self.phase = "revote"
            return
        grown = self._round()
        if not grown:
            self.phase = "revote"
        self._after(grown)

    def _round(self) -> int:
        """Grow the gates of one round; how many there were."""
        settings, state = self.settings, self.state
        residuals = state.residuals()
        share = self._share(residuals)
        scored, weights = self._draw(share, settings.pair_sample)
        rows = self.generator.permutation(state.num_signals)[: settings.rows]
        columns = self.generator.permutation(state.num_signals)[: settings.columns]
        bits = state.train.signals.sampled
        found = best_pairs(
            rows,
            columns,
            torch.from_numpy(bits(rows, scored)).float(),
            torch.from_numpy(bits(columns, scored)).float(),
            torch.from_numpy(residuals[:, scored]) * weights,
            self.most_votes,
            settings.candidates,
        )
        if not len(found.tables):
            return 0
        chosen_on, weights = self._draw(share, settings.choice_sample)
        rows_of = torch.from_numpy(chosen_on)
        x, y = bits(found.first, chosen_on), bits(found.second, chosen_on)
        outputs = (found.tables[:, None] >> (2 * x + y) & 1).astype(np.float32)
        places, votes, bias = choose(
            torch.from_numpy(outputs),
            torch.from_numpy(found.first),
            torch.from_numpy(found.second),
            torch.from_numpy(state.train.scores)[:, rows_of],
            state.train.labels[rows_of],
            weights,
            state.tau,
            state.bias,
            self.most_votes,
            min(settings.gates_a_round, settings.gates - len(state.gates)),
            settings.afresh,
        )
        for place, vote in zip(places, votes, strict=True):
            gate = (int(found.tables[place]), int(found.first[place]), int(found.second[place]))
            state.add(*gate, vote.to(torch.int8).numpy())
        state.bias = bias.double()
        return len(places)

    def _draw(self, share: np.ndarray, count: int) -> tuple[np.ndarray, torch.Tensor]:
        """Examples in proportion to `share`, in order, and the weights that make up for it."""
        edges = share.cumsum()
        drawn = np.searchsorted(edges, np.sort(self.generator.random(count)) * edges[-1]).clip(max=len(share) - 1)
        return drawn, torch.from_numpy((1 / (share[drawn] * len(share) * count)).astype(np.float32))

    def _sample(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Bits of all gates, votes, scores, labels and weights on training images drawn by their residuals."""
        state = self.state
        drawn, weights = self._draw(self._share(state.residuals()), _REVOTED_ON)
        rows = torch.from_numpy(drawn)
        gates = len(state.used_inputs) + np.arange(len(state.gates))
        return (
            torch.from_numpy(state.train.signals.sampled(gates, drawn)),
            torch.from_numpy(np.array(state.votes)).float(),
            torch.from_numpy(state.train.scores)[:, rows],
            state.train.labels[rows],
            weights,
        )

    @staticmethod
    def _share(residuals: np.ndarray) -> np.ndarray:
        """The share of draws that each example gets: mostly by how much is missing to its right answer."""
        missing = np.abs(residuals).sum(0, dtype=np.float64)
        return np.asarray((1 - _UNIFORM) * missing / missing.sum() + _UNIFORM / len(missing))

    def _revote(self) -> None:
        """All gates of the best state vote anew."""
        state = self.state
        state.restore(self.best[1])
        self.phase = "cut" if self.replaced < self.settings.replacements and state.gates else "done"
        if not state.gates:
            return
        bits, votes, scores, labels, weights = self._sample()
        seed = int(self.generator.integers(2**31))
        new, bias = revoted(bits, votes, scores, labels, weights, state.tau, state.bias, self.most_votes, seed)
        for gate, vote in enumerate(new.to(torch.int8).numpy()):
            state.set_votes(gate, vote)
        state.bias = bias.double()
        self._after(0)

    def _cut(self) -> None:
        """Take the least useful gates out of the best state, of those that no other gate reads."""
        state = self.state
        state.restore(self.best[1])
        costs = costs_of_removal(*self._sample(), state.tau, state.bias).numpy()
        costs[state.read_by_others()] = np.inf
        order = np.argsort(costs, kind="stable")[: int(self.settings.replaced_share * self.settings.gates)]
        state.remove(sorted(order[np.isfinite(costs[order])].tolist()))
        state.calibrate(self.generator)
        self.phase, self.replaced, self.waited = "grow", self.replaced + 1, 0
        self._keep()

    def _after(self, grown: int) -> None:
        """Calibrate, validate, remember the best, tell, and write the checkpoint."""
        state = self.state
        state.calibrate(self.generator)
        loss, accuracy = state.validation.loss(state.tau, state.bias)
        full = len(state.gates) >= self.settings.gates
        if loss < self.best[0]:
            self.best, self.waited = (loss, state.snapshot()), 0
        elif grown and (self.replaced == 0 or full):
            self.waited += 1
        seconds = self.seconds_before + time.process_time() - self.started
        told = GrowthRound(len(state.gates), state.tau, state.train_loss, loss, accuracy, seconds)
        self.rounds.append(told)
        self._keep()
        if self.on_round is not None:
            self.on_round(told)

    def _keep(self) -> None:
        if self.checkpoint is not None:
            save_growth(self.checkpoint, self, self._mark)
