"""Article A's sentence, its vectors, and attention without projections, softmax(X X^T / sqrt(D)) X, which A1 and A5 share."""

from __future__ import annotations

import torch
from torch import Tensor

from ordinate.attention import Mask, attend
from ordinate.data import WordVectors
from ordinate.position import indices

__all__ = ["SENTENCE", "plain_attention", "sentence_vectors"]

SENTENCE = ("the", "animal", "did", "not", "cross", "the", "street", "because", "it", "was", "too", "tired")


def sentence_vectors(vectors: WordVectors, words: tuple[str, ...] = SENTENCE) -> Tensor:
    """The words' vectors [T, D] in float64, so that what is measured is not the rounding of float32."""
    return torch.from_numpy(vectors.vectors(words).astype("float64"))


def plain_attention(embeddings: Tensor, mask: Mask | None = None) -> tuple[Tensor, Tensor]:
    """Outputs [..., T, D] and weights [..., T, T] of one head whose queries, keys and values are the embeddings themselves."""
    x = embeddings.reshape(-1, 1, *embeddings.shape[-2:])
    positions = indices.consecutive(x.shape[-2])
    outputs, weights = attend(x, x, x, query_positions=positions, mask=mask, impl="reference", return_weights=True)
    return outputs.reshape(embeddings.shape), weights.reshape(*embeddings.shape[:-1], x.shape[-2])
