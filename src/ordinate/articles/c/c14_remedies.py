"""C14. The article: against losing the middle, developers use chunking and semantic search.

What varies is what a trained model sees of a context four times as long as its training rows: all of it; each chunk
of it with the questions, the most confident answer kept; the tokens that its own first layer finds most like the question,
places left out. The recall task is C10's, and so is the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from ordinate.articles.sweep_runs import mean_sd, small_cell, trained_on
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.sweep.evaluation import DEPTHS
from ordinate.sweep.model import SweepDecoder
from ordinate.sweep.tasks import Task

__all__ = ["CLAIM", "measure", "remedies"]

CLAIM = Claim(
    id="C14",
    title="Chunking and search help recall",
    place="C208-212",
    statement=(
        "Because facts in the middle of a huge document are recalled less well, developers rely on chunking strategies and "
        "semantic search systems to lessen this."
    ),
    remark="The simplest form of each is built around a small model; bands are ours.",
    setup="smaller",
    setup_detail="a rotary model of two layers trained at 32 tokens and asked at 128, where it has lost the beginning",
    varies="what of the long context the model sees",
    band="each remedy recalls at least 10 points more than the whole context does; chunks without the needle at most 40 %",
    seeds=2,
    budget_seconds=15,
    shares="recall models",
)

_TRAINED, _LONG = 32, 128
_WAYS = ("whole context", "chunks", "search")


def measure(inputs: Inputs) -> Measurement:
    """Claim C14 on C10's short training, or with --full on one of ten times the steps."""
    steps = 1200 if inputs.full else 120
    return remedies([_recall(seed, steps) for seed in inputs.seeds], steps)


def remedies(runs: Sequence[Mapping[str, Sequence[float]]], steps: int) -> Measurement:
    """Claim C14 on any recalls.

    Args:
        runs: for each seed the recall by eighths of the context: "whole context", "chunks", "search", and "chunks without the
            needle", where the chunk that holds the answer is left out.
        steps: of training, for the reader.
    """
    mean = {name: fmean(fmean(run[name]) for run in runs) for name in runs[0]}
    printed = {name: mean_sd([fmean(run[name]) for run in runs]) for name in mean}
    checks = [
        *(
            Check.at_least(f"recall with {way}, less with the whole context", mean[way] - mean["whole context"], 0.1)
            for way in _WAYS[1:]
        ),
        Check.at_most("recall with the whole context", mean["whole context"], 0.9, role=Role.CONTROL),
        Check.at_most(
            "recall with chunks, the one with the needle left out", mean["chunks without the needle"], 0.4, role=Role.CONTROL
        ),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"recall at {_LONG // _TRAINED} times the training length: whole context {printed['whole context']}, "
        f"chunks {printed['chunks']}, search {printed['search']}",
        meaning={
            Verdict.REPRODUCED: f"Given the whole context the model recalls {printed['whole context']}; with chunks of the "
            f"trained length, with the most confident answer kept, {printed['chunks']}; with the tokens that its "
            f"own first layer finds most like the questions, {printed['search']}. Both bring the needle within the length that "
            "the model knows, wherever it lay, and that is all they do here: the loss of this model is with distance, not in "
            "the middle (C10). Chunking costs a pass a chunk, search one comparison with every token.",
            Verdict.REFUTED: f"Not every remedy recalls more than the whole context ({printed['whole context']}): chunks "
            f"{printed['chunks']}, search {printed['search']}.",
        },
        inputs=f"C10's recall task, rotary decoder of 2 layers, 64 channels, {steps} steps at {_TRAINED} tokens; 128 rows of "
        f"{_LONG} tokens, 8 questions each",
        tables=[
            Table(
                "Recall, mean ± spread over the seeds",
                ("what the model sees", "recall"),
                [(name, printed[name]) for name in mean],
            )
        ],
        figures=[_picture(runs)],
    )


def _recall(seed: int, steps: int) -> dict[str, list[float]]:
    cell = small_cell("lookup", "rope", seed, steps=steps, tested_rows=128)
    trained, task = trained_on(cell)
    with torch.no_grad():
        return _by_depth(trained.model, task, cell.tested_rows, seed)


def _by_depth(model: SweepDecoder, task: Task, count: int, seed: int) -> dict[str, list[float]]:
    rows = task.rows(count, _LONG, seed, "test")
    asked = task.last
    hay, questions = rows.tokens[:, :-asked], rows.tokens[:, -asked:]
    answers, depths = rows.targets[:, -asked:], rows.depths
    assert depths is not None
    size = _TRAINED - asked
    chunks = hay.unflatten(1, (-1, size))
    values = torch.stack(
        [_answers(model, torch.cat((chunks[:, number], questions), 1), asked) for number in range(chunks.shape[1])]
    )  # [chunks, B, asked, vocabulary]
    holds = torch.stack([_holds(chunks[:, number], answers, questions, task.vocabulary) for number in range(chunks.shape[1])])
    results = {
        "whole context": _answers(model, rows.tokens, asked).argmax(-1),
        "chunks": _most_confident(values),
        "search": _answers(model, torch.cat((_searched(model, hay, questions, size), questions), 1), asked).argmax(-1),
        "chunks without the needle": _most_confident(values.masked_fill(holds[..., None], 0)),
    }
    part = (depths[:, -asked:] * DEPTHS).long().clamp_max(DEPTHS - 1)
    return {
        name: [float((answered == answers)[part == number].double().mean()) for number in range(DEPTHS)]
        for name, answered in results.items()
    }


def _answers(model: SweepDecoder, tokens: Tensor, asked: int) -> Tensor:
    """Probabilities [B, asked, vocabulary] of the last tokens' answers."""
    return model(tokens, torch.arange(tokens.shape[1]))[:, -asked:].softmax(-1)


def _most_confident(values: Tensor) -> Tensor:
    """The answer [B, asked] of the chunk whose best answer is likeliest."""
    best = values.amax(-1).argmax(0)
    return values.argmax(-1).gather(0, best[None])[0]


def _holds(chunk: Tensor, answers: Tensor, questions: Tensor, vocabulary: int) -> Tensor:
    """Whether the needle of each question [B, asked] lies in the chunk [B, size]."""
    symbols, keys = 16, 4
    first_query = symbols + keys * symbols
    needle = symbols + (questions - first_query) * symbols + answers
    return (chunk[:, None] == needle[..., None]).any(-1)


def _searched(model: SweepDecoder, hay: Tensor, questions: Tensor, size: int) -> Tensor:
    """The `size` tokens of each row that its questions' first-layer queries score highest, in their order; no positions."""
    block: Any = model.blocks[0]
    heads = [
        block.to_heads(block.norm_attention(model.embedding(tokens) * math.sqrt(model.dim))).unflatten(-1, (3, model.heads, -1))
        for tokens in (questions, hay)
    ]
    scores = torch.einsum("bqhd,bthd->bqht", heads[0][:, :, 0], heads[1][:, :, 1])
    kept = scores.amax((1, 2)).topk(size, dim=1).indices.sort(1).values
    return hay.gather(1, kept)


def _picture(runs: Sequence[Mapping[str, Sequence[float]]]) -> Figure:
    with canvas(1, height=2.8, width=5.6) as (figure, axes):
        for name, series in zip(_WAYS, SERIES, strict=False):
            means = [fmean(column) for column in zip(*(run[name] for run in runs), strict=True)]
            axes.plot(range(DEPTHS), means, label=name, **series)
        axes.set_xticks([0, DEPTHS - 1], ["beginning", "end"])
        axes.set(ylabel="recall", title="Where the needle lies in 128 tokens", ylim=(0, 1.05))
        axes.grid(axis="y")
        axes.legend(loc="lower right")
    return Figure(
        "remedies",
        to_svg(figure),
        caption="Recall by the place of the needle, for a model trained at 32 tokens: the whole context, chunks, search.",
        alt="; ".join(
            f"{name}: " + ", ".join(f"{fmean(column):.2f}" for column in zip(*(run[name] for run in runs), strict=True))
            for name in _WAYS
        ),
    )
