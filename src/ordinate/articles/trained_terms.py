"""A trained model's scores taken apart, which A6, A7 and B8 share: what is due to words, to places, and to both.

The model adds sinusoids to its embeddings and norms the sum. Given a token's standard deviation the norm is linear, so the
scores of the first layer split exactly into the article's four terms, projections included.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ordinate.articles.sweep_runs import trained_on
from ordinate.lab.claim import Inputs
from ordinate.sweep.cell import Cell
from ordinate.sweep.corpus import read_corpus
from ordinate.sweep.model import SweepDecoder
from ordinate.sweep.tasks import Task
from ordinate.sweep.training import new_model

__all__ = ["TERMS", "four_terms_of", "layer_weights", "profile", "shares", "sinusoid_cell", "trained_and_fresh"]

TERMS = ("content . content", "content . position", "position . content", "position . position")
_ROWS = 16


def sinusoid_cell(task: str, seed: int, inputs: Inputs) -> Cell:
    """A small decoder with added sinusoids: rows of 56 tokens for k-back, so that k is article A's 7; 64 channels as there."""
    length, steps = {"k-back": (56, 220), "lookup": (32, 120), "text": (64, 120)}[task]
    return Cell(
        task,
        "sinusoidal",
        seed,
        train_length=length,
        test_lengths=(length, 2 * length),
        steps=steps * (8 if inputs.full else 1),
        learning_rates=(5e-3,),
        corpus=read_corpus().digest if task == "text" else "",
    )


def trained_and_fresh(cell: Cell) -> tuple[SweepDecoder, SweepDecoder, Task, Tensor]:
    """The cell's model after and before training, its task, and rows to look at, [16, T]."""
    trained, task = trained_on(cell)
    return trained.model, new_model(cell, task), task, task.rows(_ROWS, cell.train_length, cell.seed, "test").tokens


@torch.no_grad()
def four_terms_of(model: SweepDecoder, tokens: Tensor) -> Tensor:
    """The terms of the first layer's scores, float64 [4, B, H, T, T], in the order of `TERMS`; they add up to the scores."""
    block: Any = model.blocks[0]
    content = model.embedding(tokens).double() * math.sqrt(model.dim)
    place = model.encodings[0].encode(torch.arange(tokens.shape[1]), dtype=torch.float64).expand_as(content)
    norm, weight = block.norm_attention, block.to_heads.weight.double()
    deviation = ((content + place).var(-1, unbiased=False, keepdim=True) + norm.eps).sqrt()
    to_query, to_key, _ = weight.view(3, model.heads, -1, model.dim)

    def normed(part: Tensor) -> Tensor:
        return (part - part.mean(-1, keepdim=True)) / deviation * norm.weight.double()

    query = [torch.einsum("btd,hed->bhte", normed(part), to_query) for part in (content, place)]
    key = [torch.einsum("btd,hed->bhte", normed(part), to_key) for part in (content, place)]
    return torch.stack([q @ k.mT for q in query for k in key]) / math.sqrt(to_query.shape[1])


@torch.no_grad()
def layer_weights(model: SweepDecoder, tokens: Tensor) -> list[Tensor]:
    """The attention weights of each layer, [B, H, T, T], on tokens [B, T]."""
    batch, length = tokens.shape
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    result = []
    for block, stream in zip(model.blocks, model.streams(tokens, torch.arange(length)), strict=False):
        one: Any = block
        heads = one.to_heads(one.norm_attention(stream)).view(batch, length, 3, model.heads, model.dim // model.heads)
        query, key, _ = heads.permute(2, 0, 3, 1, 4)
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        result.append(scores.masked_fill(future, float("-inf")).softmax(-1))
    return result


def shares(terms: Tensor) -> Tensor:
    """What share of the scores' variance each term [4, B, H, T, T] carries, [4], mean over the heads.

    Variances are within a query's row and over the keys it may see: softmax does not notice what all keys of a row share.
    """
    visible = torch.ones(terms.shape[-2:], dtype=torch.bool).tril()
    means = terms.masked_fill(~visible, 0).sum(-1, keepdim=True) / visible.sum(-1, keepdim=True)
    variance = ((terms - means) ** 2)[..., visible].mean((1, 3))
    return (variance / variance.sum(0)).mean(1)


def profile(terms: Tensor, farthest: int) -> Tensor:
    """Position with position by distance, mean over rows, queries and keys: [H, farthest + 1], distance 0 first."""
    position = terms[3].mean(0)
    return torch.stack([position.diagonal(-distance, 1, 2).mean(-1) for distance in range(farthest + 1)], 1)
