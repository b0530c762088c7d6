"""What a circuit is grown with, and what is told about its growth."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ordinate.errors import ArgumentError

__all__ = ["GrowthRound", "GrowthSettings"]


@dataclass(frozen=True)
class GrowthSettings:
    """How a circuit grows.

    Args:
        gates: two-input gates, at most; votes are counted by adders, which are not gates.
        votes_per_gate: classes that one gate may vote for or against. Each vote costs an adder in hardware, none in gates.
        step: gates a round; 0 takes a sixth of all, from 1 to 40. Larger steps take less time and gain less a gate.
        afresh: gates of a round after which all candidates are looked at again, 1 for always; in between, the best of them.
        rows: signals drawn each round as first inputs.
        columns: signals drawn each round as second inputs.
        pair_sample: examples on which all pairs are scored.
        choice_sample: examples on which the best pairs are built and chosen one after another.
        candidates: best pairs that are built.
        copies: distorted copies of each training image (`ordinate.logic.distortion`), beside the image itself.
        strength: of their distortion.
        least_tau: the temperature never falls below; higher asks for larger margins.
        replacements: rounds in which the least useful gates are cut and others grown in their place.
        replaced_share: the share of gates that one such round cuts.
        patience: rounds without a better validation loss after which growth stops.
        seed: of all draws.

    Raises:
        ArgumentError: a number out of range.

    >>> GrowthSettings(gates=30).gates_a_round, GrowthSettings(gates=1000).gates_a_round
    (5, 40)
    """

    gates: int
    votes_per_gate: int = 3
    step: int = 0
    afresh: int = 1
    rows: int = 400
    columns: int = 1200
    pair_sample: int = 8192
    choice_sample: int = 16384
    candidates: int = 1500
    copies: int = 4
    strength: float = 0.5
    least_tau: float = 1.0
    replacements: int = 2
    replaced_share: float = 0.15
    patience: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        least = {
            "gates": 1,
            "votes_per_gate": 1,
            "step": 0,
            "afresh": 1,
            "rows": 2,
            "columns": 2,
            "pair_sample": 16,
            "choice_sample": 16,
            "candidates": 1,
            "copies": 0,
            "replacements": 0,
            "patience": 1,
        }
        for name, lowest in least.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
                raise ArgumentError(name, expected=f"an integer of at least {lowest}", got=value, hint="correct it")
        for name, low, high in (("strength", 0, 3), ("least_tau", 1e-3, 1e6), ("replaced_share", 0.0, 0.5)):
            if not low <= getattr(self, name) <= high:
                raise ArgumentError(name, expected=f"{low} to {high}", got=getattr(self, name), hint="correct it")

    @property
    def gates_a_round(self) -> int:
        """The step that is taken: each reads a signal once, which keeps the gates of a round apart."""
        return self.step or max(1, min(40, self.gates // 6))

    @classmethod
    def usual(cls, gates: int, *, few_images: bool = False, **others: float) -> GrowthSettings:
        """What suits so many gates; `ordinate logic grow` takes it.

        Large circuits learn images by heart sooner and get more and stronger distortions; thirty gates cannot follow those.
        What the last of many thousand gates gain is little, and told from chance on more examples only.

        Args:
            gates: two-input gates, at most.
            few_images: some hundred small images, such as the embedded digits: more copies of each, smaller samples.
            others: settings to take instead.

        Raises:
            ArgumentError: a number out of range.

        >>> GrowthSettings.usual(30).copies, GrowthSettings.usual(6000, seed=1).copies
        (4, 24)
        """
        large, huge = gates >= 500, gates >= 4000
        found = cls(
            gates,
            afresh=8 if huge else 1,
            pair_sample=16384 if huge else 8192,
            choice_sample=32768 if huge else 16384,
            copies=20 if few_images else 24 if huge else 8 if large else 4,
            strength=1.0 if large else 0.5,
            patience=60 if huge else 20,
        )
        return replace(found.quick() if few_images else found, **others)  # type: ignore[arg-type]

    def quick(self) -> GrowthSettings:
        """The same on smaller samples, for small images and tests."""
        return replace(self, pair_sample=2048, choice_sample=4096, candidates=600, rows=200, columns=400)


@dataclass(frozen=True)
class GrowthRound:
    """What is known after a round.

    Args:
        gates: grown so far.
        tau: the temperature that was found.
        train_loss: cross-entropy on the training sample, distorted copies included.
        validation_loss: on images that nothing is learned from.
        validation_accuracy: likewise.
        cpu_seconds: since the start, of this process.
    """

    gates: int
    tau: float
    train_loss: float
    validation_loss: float
    validation_accuracy: float
    cpu_seconds: float
