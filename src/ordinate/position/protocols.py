"""The interfaces of a position encoding, and how a caller tells them apart.

An encoding adds a vector to each token, turns the channels of queries and keys, biases the score of each pair of tokens, or
computes the scores. A class has the methods of one interface (a few have two); `ordinate.attention.attend` accepts
any of them. Positions are always given: integers [T] or [B, T] (floats where time is continuous), never a hidden offset.
An encoding over several axes (a grid of patches, text among images) says so by an attribute `axes`; its positions are [T, A] or
[B, T, A] with A = axes, see `ordinate.position.axes`.
"""

from __future__ import annotations

from typing import Protocol, TypeGuard, runtime_checkable

from torch import Tensor

__all__ = [
    "AddsToEmbeddings",
    "AddsToValues",
    "BiasesScores",
    "ComputesScores",
    "RotatesHeads",
    "RotatesQueriesAndKeys",
    "adds_to_embeddings",
    "adds_to_values",
    "biases_scores",
    "computes_scores",
    "reads_mask",
    "rotates_heads",
    "rotates_queries_and_keys",
]


@runtime_checkable
class AddsToEmbeddings(Protocol):
    """A vector for each position, to be added to embeddings (or to queries and keys)."""

    def encode(self, positions: Tensor) -> Tensor:
        """Positions [T] or [B, T] to vectors [T, D] or [B, T, D]."""
        ...


@runtime_checkable
class RotatesHeads(Protocol):
    """Turns channels by an angle that depends on the position, queries and keys alike."""

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """x [B, H, T, D] at positions [T] or [B, T], turned; same shape and dtype."""
        ...


@runtime_checkable
class RotatesQueriesAndKeys(Protocol):
    """Turns channels, where queries and keys are treated differently (xPos scales one up and the other down)."""

    def rotate_query(self, query: Tensor, positions: Tensor) -> Tensor:
        """query [B, H, T, D] at its positions [T] or [B, T]."""
        ...

    def rotate_key(self, key: Tensor, positions: Tensor) -> Tensor:
        """key [B, G, S, D] at its positions [S] or [B, S]."""
        ...


@runtime_checkable
class BiasesScores(Protocol):
    """A number added to each score, after scaling and before softmax.

    `needs_content` says whether `query` and `key` must be given. `scale` is the factor that the caller puts on query-key
    products, so that products formed here carry the same. Two attributes are optional: `own_scale`, the factor to take where
    the caller names none (DeBERTa's counts its terms), and `reads_mask = True`, which says that the bias depends on which keys
    are visible (CoPE counts them): `bias` then also takes `visible`, a bool that broadcasts to [B, H, T, S], or None.
    """

    needs_content: bool

    def bias(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """Positions [T] or [B, T] and [S] or [B, S] to a bias that broadcasts to [B, H, T, S]."""
        ...


@runtime_checkable
class ComputesScores(Protocol):
    """The scores themselves, where no rotation of queries and keys and no cheap bias gives them (SelfExtend, PaTH).

    With `reads_mask = True`, `scores` also takes `visible`, as `BiasesScores` says.
    """

    def scores(
        self,
        query: Tensor,
        key: Tensor,
        query_positions: Tensor,
        key_positions: Tensor,
        scale: float | None = None,
    ) -> Tensor:
        """query [B, H, T, D], key [B, G, S, D] and their positions to scaled scores [B, H, T, S], before mask and softmax."""
        ...


@runtime_checkable
class AddsToValues(Protocol):
    """An addition to a bias: a term on the output side (Shaw et al. 2018, eq. 3); None where settings leave it out."""

    def value_term(self, weights: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        """Attention weights [B, H, T, S] to a term [B, H, T, V] added to the output."""
        ...


# torch.compile does not follow isinstance with a protocol; these ask the same question by the method's name.


def adds_to_embeddings(encoding: object) -> TypeGuard[AddsToEmbeddings]:
    """Whether `encoding` adds vectors to embeddings."""
    return hasattr(encoding, "encode")


def rotates_heads(encoding: object) -> TypeGuard[RotatesHeads]:
    """Whether `encoding` turns queries and keys alike."""
    return hasattr(encoding, "rotate")


def rotates_queries_and_keys(encoding: object) -> TypeGuard[RotatesQueriesAndKeys]:
    """Whether `encoding` turns queries and keys each in its way."""
    return hasattr(encoding, "rotate_query") and hasattr(encoding, "rotate_key")


def biases_scores(encoding: object) -> TypeGuard[BiasesScores]:
    """Whether `encoding` biases scores."""
    return hasattr(encoding, "bias") and hasattr(encoding, "needs_content")


def adds_to_values(encoding: object) -> TypeGuard[AddsToValues]:
    """Whether `encoding` has a term on the output side."""
    return callable(getattr(encoding, "value_term", None))


def computes_scores(encoding: object) -> TypeGuard[ComputesScores]:
    """Whether `encoding` computes the scores."""
    return callable(getattr(encoding, "scores", None))


def reads_mask(encoding: object) -> bool:
    """Whether what `encoding` adds or computes depends on which keys are visible."""
    return bool(getattr(encoding, "reads_mask", False))
