"""B11. The article, after Vaswani et al. 2017: sinusoids translate as well as positions learned from scratch.

What varies is what is added to the embeddings. The text is made up, the task is the paper's kind: English clauses of a small
grammar into a language with Japanese order. Every noun phrase gets a particle, adjectives stand in the opposite order and the
verb comes last, so each word's place in the answer depends on the words before it. One decoder reads the source and writes the
translation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import torch
from torch import Tensor

from ordinate.articles.sweep_runs import mean_sd, small_cell
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import canvas, rows_of_marks, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.sweep.tasks import NOT_SCORED, Rows, Task
from ordinate.sweep.training import train

__all__ = ["CLAIM", "WORDS", "clauses", "measure", "translated", "translation"]

CLAIM = Claim(
    id="B11",
    title="Sinusoids translate as well as a table",
    place="B49",
    statement="The paper reports that sinusoids, which are not learned, perform no worse than positions learned from scratch.",
    remark="The paper's task is translation; the language, the model and the bands are ours. B7 has next-byte prediction.",
    setup="smaller",
    setup_detail="a made-up language of 24 words and clauses of up to 11 of them, not the paper's English and German",
    varies="what is added to the embeddings, and the seed",
    band="whole clauses right: sinusoids at most 2 points behind the table, and 20 points ahead of no positions",
    seeds=2,
    budget_seconds=30,
)

_ARTICLES, _ADJECTIVES, _NOUNS, _VERBS = (
    ("a", "the"),
    ("big", "small", "old", "red"),
    ("dog", "cat", "man", "bird"),
    ("sees", "bites", "likes", "chases"),
)
_TARGET = {
    "the": "sono", "big": "ookii", "small": "chiisai", "old": "furui", "red": "akai", "dog": "inu", "cat": "neko",
    "man": "otoko", "bird": "tori", "sees": "miru", "bites": "kamu", "likes": "konomu", "chases": "ou",
}  # fmt: skip
WORDS = ("<pad>", "<translate>", "<end>", *_ARTICLES, *_ADJECTIVES, *_NOUNS, *_VERBS, *_TARGET.values(), "ga", "o")
"""The vocabulary: marks, the English words, the others, the particles of subject and object."""

_LENGTH = 26


def clauses(count: int, generator: torch.Generator) -> list[list[str]]:
    """Clauses such as "the big dog bites a man", drawn evenly from all words."""

    def one(words: Sequence[str]) -> str:
        return words[int(torch.randint(len(words), (), generator=generator))]

    def phrase() -> list[str]:
        adjectives = int(torch.randint(4, (), generator=generator))
        return [one(_ARTICLES), *(one(_ADJECTIVES) for _ in range(adjectives)), one(_NOUNS)]

    return [[*phrase(), one(_VERBS), *phrase()] for _ in range(count)]


def translated(clause: Sequence[str]) -> list[str]:
    """The clause in the other language.

    >>> " ".join(translated("the big dog bites a man".split()))
    'sono ookii inu ga otoko o kamu'
    """
    verb = next(place for place, word in enumerate(clause) if word in _VERBS)

    def phrase(part: Sequence[str]) -> list[str]:
        adjectives = [word for word in part if word in _ADJECTIVES]
        return [_TARGET[word] for word in (*part[: part[0] == "the"], *reversed(adjectives), part[-1])]

    return [*phrase(clause[:verb]), "ga", *phrase(clause[verb + 1 :]), "o", _TARGET[clause[verb]]]


def measure(inputs: Inputs) -> Measurement:
    """Claim B11 on short trainings, or with --full on ones six times as long."""
    steps = 1500 if inputs.full else 300
    return translation(
        {
            "sinusoidal": [_right("sinusoidal", seed, steps) for seed in inputs.seeds],
            "learned": [_right("learned", seed, steps) for seed in inputs.seeds],
            "none": [_right("none", seed, steps) for seed in inputs.seeds[:1]],
        },
        steps,
    )


def translation(results: Mapping[str, Sequence[Mapping[str, float]]], steps: int) -> Measurement:
    """Claim B11 on any shares of `clauses` and `words` that are right, by what is added, one a seed."""
    behind = [a["clauses"] - b["clauses"] for a, b in zip(results["sinusoidal"], results["learned"], strict=True)]
    right = {name: fmean(run["clauses"] for run in runs) for name, runs in results.items()}
    checks = [
        Check.at_least("clauses right, sinusoids less table", fmean(behind), -0.02),
        Check.at_least("clauses right, table less no positions", right["learned"] - right["none"], 0.2, role=Role.CONTROL),
        Check.at_most("clauses right, sinusoids less table", fmean(behind), 0.02, role=Role.LIMIT),
    ]
    printed = {name: mean_sd([run["clauses"] for run in runs]) for name, runs in results.items()}
    return Measurement(
        checks=checks,
        key_figure=f"clauses without a mistake: sinusoids {printed['sinusoidal']}, learned table {printed['learned']}, "
        f"no positions {printed['none']}",
        meaning={
            Verdict.REPRODUCED: f"Translating into another order needs places ({printed['none']} of clauses are right without "
            f"them), and it does not matter whether they are learned: sinusoids reach {printed['sinusoidal']}, the table "
            f"{printed['learned']} after equal training. That is a matter of speed: after five times as many steps (--full) a "
            "model without positions translates every clause too, as its causal mask tells it the order.",
            Verdict.REFUTED: f"Sinusoids translate {printed['sinusoidal']} of the clauses, the table {printed['learned']}.",
            Verdict.NOT_TESTABLE: f"Without positions {printed['none']} of the clauses are right: the causal mask tells "
            "this model enough, so nothing can be said of what is added.",
        },
        inputs=f"new clauses every step, {steps} steps of 16 rows, 2 layers of 64 channels, tested on 256 clauses; a clause is "
        "right when every word is, given the right ones before",
        tables=[
            Table(
                "Share that is right, mean ± spread over the seeds",
                ("added", "words", "whole clauses"),
                [(name, mean_sd([run["words"] for run in runs]), printed[name]) for name, runs in results.items()],
            )
        ],
        figures=[_picture(results)],
    )


def _draw(count: int, generator: torch.Generator) -> Rows:
    number = {word: place for place, word in enumerate(WORDS)}
    tokens = torch.zeros(count, _LENGTH, dtype=torch.long)
    targets = torch.full_like(tokens, NOT_SCORED)
    for row, clause in enumerate(clauses(count, generator)):
        answer = [*translated(clause), "<end>"]
        whole = [number[word] for word in (*clause, "<translate>", *answer)]
        tokens[row, : len(whole) - 1] = torch.tensor(whole[:-1])
        targets[row, len(clause) : len(whole) - 1] = torch.tensor(whole[len(clause) + 1 :])
    return Rows(tokens, targets)


def _right(encoding: str, seed: int, steps: int) -> dict[str, float]:
    cell = replace(small_cell("k-back", encoding, seed, steps=steps), train_length=_LENGTH, test_lengths=(_LENGTH, 2 * _LENGTH))
    task = Task(
        "translation", len(WORDS), "accuracy", _LENGTH, lambda _: 0.0, 0.5, lambda n, _, generator, __: _draw(n, generator)
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        model = train(cell, task, cell.learning_rates[0]).model
    finally:
        torch.set_num_threads(threads)
    rows = _draw(256, torch.Generator().manual_seed(seed + 10_000))
    with torch.no_grad():
        right: Tensor = model(rows.tokens, torch.arange(_LENGTH)).argmax(-1) == rows.targets
    asked = rows.targets != NOT_SCORED
    return {"words": float(right[asked].double().mean()), "clauses": float((right | ~asked).all(1).double().mean())}


def _picture(results: Mapping[str, Sequence[Mapping[str, float]]]) -> Figure:
    with canvas(1, height=2.2, width=5.4) as (figure, axes):
        right = {name: [run["clauses"] for run in runs] for name, runs in results.items()}
        rows_of_marks(axes, right, "share of clauses without a mistake")
        axes.set_xlim(-0.03, 1.03)
    return Figure(
        "clauses",
        to_svg(figure),
        caption="Clauses translated without a mistake, a mark a seed.",
        alt="; ".join(f"{name} " + ", ".join(f"{run['clauses']:.2f}" for run in runs) for name, runs in results.items()),
    )
