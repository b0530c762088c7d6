"""Score terms, not yet formed: an encoding with the positions, queries and keys that it will see.

An implementation forms the whole [B, H, T, S], or one part after another, or hands the term to FlexAttention.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, nn

from ordinate.position.protocols import BiasesScores, ComputesScores, biases_scores, computes_scores, reads_mask

__all__ = ["ScoreTerm", "on_token_axis", "sum_of_biases"]


@dataclass(frozen=True)
class ScoreTerm:
    """What one encoding contributes to the scores, to be formed when asked.

    Args:
        encoding: what forms it: a bias, or where it is of the kind `ComputesScores` and has no bias, the scores themselves.
        query_positions, key_positions: [T] and [S], or with rows, or with the encoding's axes last.
        query, key: what the encoding sees of the content, or None where it needs none.
        scale: the factor on query-key products.
    """

    encoding: BiasesScores | ComputesScores
    query_positions: Tensor
    key_positions: Tensor
    query: Tensor | None
    key: Tensor | None
    scale: float

    def form(self, visible: Tensor | None = None) -> Tensor:
        """[1 or B, 1 or H, T, S]; `visible` broadcasts to it and is for encodings that read the mask."""
        one, at = self.encoding, (self.query_positions, self.key_positions)
        if not biases_scores(one):
            assert computes_scores(one)
            assert self.query is not None
            assert self.key is not None
            extra: dict[str, Any] = {"visible": visible} if reads_mask(one) else {}
            return one.scores(self.query, self.key, *at, self.scale, **extra)
        if reads_mask(one):
            bias = one.bias(*at, self.query, self.key, self.scale, visible=visible)  # type: ignore[call-arg]
        elif one.needs_content:
            bias = one.bias(*at, self.query, self.key, self.scale)
        else:
            bias = one.bias(*at)
        return bias.unsqueeze(0) if bias.ndim == 3 else bias

    def part(self, queries: slice, keys: slice) -> ScoreTerm:
        """The term of some queries and some keys."""
        axes = getattr(self.encoding, "axes", None) is not None
        return replace(
            self,
            query_positions=on_token_axis(self.query_positions, queries, axes=axes),
            key_positions=on_token_axis(self.key_positions, keys, axes=axes),
            query=None if self.query is None else self.query[:, :, queries],
            key=None if self.key is None else self.key[:, :, keys],
        )

    def parameters(self) -> Iterator[nn.Parameter]:
        """What the encoding can learn."""
        if isinstance(self.encoding, nn.Module):
            yield from (parameter for parameter in self.encoding.parameters() if parameter.requires_grad)


def on_token_axis(positions: Tensor, tokens: slice, *, axes: bool = False) -> Tensor:
    """Positions [T], [B, T], or with `axes` [T, A] or [B, T, A], of some tokens."""
    return positions[..., tokens, :] if axes else positions[..., tokens]


def sum_of_biases(terms: Sequence[ScoreTerm], visible: Tensor | None = None) -> Tensor | None:
    """The sum of all terms, [1 or B, 1 or H, T, S], or None where there are none."""
    total: Tensor | None = None
    for term in terms:
        bias = term.form(visible)
        total = bias if total is None else total + bias
    return total
