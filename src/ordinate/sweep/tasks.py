"""What is trained and tested: rows of tokens with the targets that are scored, for nine tasks that separate encodings.

A task draws rows of any length. What is scored in the last quarter of the training length is drawn first, so rows of L, 2L,
4L and 8L tokens from one seed end in the same questions with the same answers, and only what lies before them grows. Each
task has a chance level, the score of who has not looked; its tests hold a solution that reads the answer off the tokens.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ordinate.arguments import did_you_mean
from ordinate.errors import ArgumentError, UnknownNameError
from ordinate.sweep.corpus import Corpus

__all__ = ["NOT_SCORED", "TASKS", "Rows", "Task", "make_task"]

NOT_SCORED = -100  # the target that torch's cross entropy leaves out
_COUNTED = 2_000_000  # bytes whose pairs are counted: more would not move the second decimal


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one length.

    Args:
        tokens: int64 [B, T].
        targets: int64 [B, T], what is predicted at each token, `NOT_SCORED` where nothing is asked.
        depths: float [B, T], for a question about one place: how deep in the context that place is, 0 the beginning; else
            None.
    """

    tokens: Tensor
    targets: Tensor
    depths: Tensor | None = None

    def cut(self, length: int) -> Rows:
        """The last `length` tokens: what is left when the context is cut."""
        return Rows(
            self.tokens[:, -length:], self.targets[:, -length:], None if self.depths is None else self.depths[:, -length:]
        )


@dataclass(frozen=True)
class Task:
    """One task at one training length.

    Args:
        name: as in `TASKS`.
        vocabulary: number of tokens.
        unit: "accuracy", or "bits per byte" where less is better.
        last: how many targets at the end of a row are scored, the same at every length.
        chance: length to the score of who has not looked.
        learned_at: the score at the training length from which a model counts as having learned the task.
        draw: rows, length, generator and split to `Rows`.
    """

    name: str
    vocabulary: int
    unit: str
    last: int
    chance: Callable[[int], float]
    learned_at: float
    draw: Callable[[int, int, torch.Generator, str], Rows]

    @property
    def higher_is_better(self) -> bool:
        """Whether a larger score is the better one."""
        return self.unit == "accuracy"

    def learned(self, score: float) -> bool:
        """Whether `score` at the training length is enough to speak of extrapolation at all."""
        return score >= self.learned_at if self.higher_is_better else score <= self.learned_at

    def rows(self, count: int, length: int, seed: int, split: str) -> Rows:
        """Rows [count, length]; the same seed and split end in the same targets at every length."""
        generator = torch.Generator().manual_seed(1_000_003 * seed + {"train": 1, "validation": 2, "test": 3}[split])
        return self.draw(count, length, generator, split)


def make_task(name: str, train_length: int, longest: int, corpus: Corpus | None = None) -> Task:
    """The task `name` for models trained at `train_length` and tested at up to `longest` tokens.

    Raises:
        UnknownNameError: no such task.
        ArgumentError: a length too short for the task, a corpus shorter than a row.

    >>> task = make_task("k-back", 16, 64)
    >>> short, long = task.rows(2, 16, 0, "test"), task.rows(2, 64, 0, "test")
    >>> torch.equal(short.targets[:, -task.last :], long.targets[:, -task.last :])
    True
    """
    if name not in TASKS:
        raise UnknownNameError("task", expected=f"one of {', '.join(TASKS)}", got=name, hint=did_you_mean(name, TASKS))
    if train_length < 16:
        raise ArgumentError(
            "train_length", expected="at least 16 tokens", got=train_length, hint="shorter rows hold no question"
        )
    if name == "text":
        if corpus is None:
            raise ArgumentError("corpus", expected="a corpus", got=None, hint="read_corpus() gives one")
        return text(train_length, longest, corpus)
    kind: Any = TASKS[name][0]
    task: Task = kind(train_length, longest)
    return task


def _exact(name: str, length: int, vocabulary: int, choices: int, draw: Callable[[int, int, torch.Generator], Rows]) -> Task:
    """A task with one right answer among `choices`."""
    chance = 1 / choices
    return Task(
        name,
        vocabulary,
        "accuracy",
        length // 4,
        lambda _: chance,
        chance + (1 - chance) / 2,
        lambda count, n, generator, split: draw(count, n, generator),
    )


def text(length: int, longest: int, corpus: Corpus) -> Task:
    """The next byte of a text. Chance is a model of single bytes; learned is better than a model of pairs of bytes."""
    for split in ("train", "validation", "test"):
        if len(corpus.split(split)) <= longest:
            raise ArgumentError(
                "--corpus",
                expected=f"more than {longest} bytes in each split, the longest row that is tested",
                got=f"{len(corpus.split(split))} to {'train on' if split == 'train' else 'test on'} in {corpus.name}",
                hint="give a longer text, or test shorter rows",
            )

    def draw(count: int, n: int, generator: torch.Generator, split: str) -> Rows:
        source = corpus.split(split)
        ends = torch.randint(longest, len(source), (count,), generator=generator)
        window = source[ends[:, None] + torch.arange(-n, 1)].long()
        return Rows(window[:, :-1], window[:, 1:])

    single, pairs = _byte_models(corpus)
    return Task("text", 256, "bits per byte", length // 4, lambda _: single, pairs, draw)


@functools.lru_cache(maxsize=4)
def _byte_models(corpus: Corpus) -> tuple[float, float]:
    """Bits a byte of the validation split under counts of single bytes and of pairs in training, one added to each."""
    train, held_out = corpus.train[:_COUNTED].long(), corpus.validation[:_COUNTED].long()
    counts = torch.bincount(train[:-1] * 256 + train[1:], minlength=65536).view(256, 256).double() + 1
    singles = torch.bincount(train, minlength=256).double() + 1
    single = -(singles / singles.sum()).log2()[held_out].mean()
    paired = -(counts / counts.sum(1, keepdim=True)).log2()[held_out[:-1], held_out[1:]].mean()
    return float(single), float(paired)


_SYMBOLS = 16


def k_back(length: int, longest: int) -> Task:
    """The token k places ago, k an eighth of the training length: random tokens, so nothing but the place helps."""
    back = length // 8

    def draw(count: int, n: int, generator: torch.Generator) -> Rows:
        end = torch.randint(_SYMBOLS, (count, length), generator=generator)
        tokens = torch.cat((torch.randint(_SYMBOLS, (count, n - length), generator=generator), end), 1)
        targets = torch.full_like(tokens, NOT_SCORED)
        targets[:, back:] = tokens[:, :-back]
        return Rows(tokens, targets)

    return _exact("k-back", length, _SYMBOLS, _SYMBOLS, draw)


_KEYS, _FILLERS = 4, 16


def lookup(length: int, longest: int) -> Task:
    """Needles in a haystack: four tokens, each a key with a value, among fillers; the last quarter asks for values by key.

    Token ids: values, then needles (key 16 + value), queries, fillers. A needle is one token, so one step of attention by
    content finds it; where it lies does not matter, and an encoding that looks near first must unlearn that.
    """
    asked, first_needle = length // 4, _SYMBOLS
    first_query = first_needle + _KEYS * _SYMBOLS
    first_filler = first_query + _KEYS

    def draw(count: int, n: int, generator: torch.Generator) -> Rows:
        values = torch.randint(_SYMBOLS, (count, _KEYS), generator=generator)
        questions = torch.randint(_KEYS, (count, asked), generator=generator)
        depth = torch.rand(count, _KEYS, generator=generator)
        hay = n - asked
        places = _apart((depth * hay).long(), hay)
        tokens = torch.randint(_FILLERS, (count, n), generator=generator) + first_filler
        tokens.scatter_(1, places, first_needle + torch.arange(_KEYS) * _SYMBOLS + values)
        tokens[:, hay:] = first_query + questions
        targets = torch.full_like(tokens, NOT_SCORED)
        targets[:, hay:] = values.gather(1, questions)
        depths = torch.zeros(count, n)
        depths[:, hay:] = depth.gather(1, questions)
        return Rows(tokens, targets, depths)

    return _exact("lookup", length, first_filler + _FILLERS, _SYMBOLS, draw)


def _apart(places: Tensor, size: int) -> Tensor:
    """Places [B, K] with those that fall on an earlier one moved to the next free one."""
    places = places.clone()
    for later in range(1, places.shape[1]):
        for _ in range(later):
            taken = (places[:, :later] == places[:, later : later + 1]).any(1)
            places[:, later] = torch.where(taken, (places[:, later] + 1) % size, places[:, later])
    return places


def copy(length: int, longest: int) -> Task:
    """Half a row, a separator, and the half again: the distance to what is copied grows with the row."""
    return _exact("copy", length, _SYMBOLS + 1, _SYMBOLS, _transduction(length, reverse=False))


def reverse(length: int, longest: int) -> Task:
    """Half a row, a separator, and the half backwards: the distance runs from one to the length of the row."""
    return _exact("reverse", length, _SYMBOLS + 1, _SYMBOLS, _transduction(length, reverse=True))


def _transduction(length: int, *, reverse: bool) -> Callable[[int, int, torch.Generator], Rows]:
    def draw(count: int, n: int, generator: torch.Generator) -> Rows:
        scored = torch.randint(_SYMBOLS, (count, length // 2), generator=generator)
        others = torch.randint(_SYMBOLS, (count, n // 2 - length // 2), generator=generator)
        source = torch.cat((scored, others) if reverse else (others, scored), 1)
        return _answered(source, source.flip(1) if reverse else source, separator=_SYMBOLS)

    return draw


def _answered(source: Tensor, answer: Tensor, separator: int) -> Rows:
    """source, separator, answer without its last token, which nothing is predicted from."""
    tokens = torch.cat((source, torch.full_like(source[:, :1], separator), answer[:, :-1]), 1)
    targets = torch.cat((torch.full_like(source, NOT_SCORED), answer), 1)
    return Rows(tokens, targets)


def sort(length: int, longest: int) -> Task:
    """Half a row of different numbers, a separator, and the same in rising order.

    Numbers are drawn from as many as the longest row has tokens, so a row of n tokens holds n / 2 of them, and to guess "one
    more than the last" is right in n / (2 longest) of cases: chance grows with the length. The last targets are the largest
    numbers of the row, so they alone are not the same at every length.
    """

    def draw(count: int, n: int, generator: torch.Generator) -> Rows:
        source = torch.rand(count, longest, generator=generator).argsort(1)[:, : n // 2]
        return _answered(source, source.sort(1).values, separator=longest)

    def chance(n: int) -> float:
        return n / 2 / longest

    return Task(
        "sort",
        longest + 1,
        "accuracy",
        length // 4,
        chance,
        chance(length) + (1 - chance(length)) / 2,
        lambda count, n, generator, split: draw(count, n, generator),
    )


def induction(length: int, longest: int) -> Task:
    """What followed this token last time: a walk along a rule of the row's own, left for a random token one time in four.

    Asked is the rule's successor, wherever the row has had it within its last L tokens.
    """

    def draw(count: int, n: int, generator: torch.Generator) -> Rows:
        rule = torch.rand(count, _SYMBOLS, generator=generator).argsort(1)
        end = _walk(rule, length, generator)
        tokens = torch.cat((_walk(rule, n - length, generator), end), 1) if n > length else end
        successor = rule.gather(1, tokens)
        known = torch.zeros(count, _SYMBOLS, dtype=torch.bool)
        targets = torch.full_like(tokens, NOT_SCORED)
        for place in range(n - length, n):
            here = tokens[:, place : place + 1]
            targets[:, place] = torch.where(known.gather(1, here), successor[:, place : place + 1], NOT_SCORED)[:, 0]
            if place + 1 < n:
                followed = tokens[:, place + 1] == successor[:, place]
                known.scatter_(1, here, known.gather(1, here) | followed[:, None])
        return Rows(tokens, targets)

    return _exact("induction", length, _SYMBOLS, _SYMBOLS, draw)


def _walk(rule: Tensor, steps: int, generator: torch.Generator) -> Tensor:
    count = rule.shape[0]
    jumps = torch.rand(count, steps, generator=generator) < 0.25
    jumps[:, :1] = True
    landings = torch.randint(_SYMBOLS, (count, steps), generator=generator)
    places = [landings[:, 0]]
    for step in range(1, steps):
        followed = rule.gather(1, places[-1][:, None])[:, 0]
        places.append(torch.where(jumps[:, step], landings[:, step], followed))
    return torch.stack(places, 1)


def flip_flop(length: int, longest: int) -> Task:
    """The bit that was written last: writes and reads, each one token in ten, among tokens with bits that are to be ignored.

    Token ids: write 0 and 1, ignore 0 and 1, read. The last L tokens begin with a write, so that longer rows ask the same.
    Source: Liu et al. 2023, arXiv 2306.00946 (flip-flop language modelling, its sparse setting).
    """

    def draw(count: int, n: int, generator: torch.Generator) -> Rows:
        end = _instructions(count, length, generator)
        tokens = torch.cat((_instructions(count, n - length, generator), end), 1) if n > length else end
        place = torch.where(tokens < 2, torch.arange(n), 0).cummax(1).values  # of the last write
        targets = torch.where(tokens == 4, tokens.gather(1, place), NOT_SCORED)
        return Rows(tokens, targets)

    return _exact("flip-flop", length, 5, 2, draw)


def _instructions(count: int, steps: int, generator: torch.Generator) -> Tensor:
    kind, bit = torch.rand(count, steps, generator=generator), torch.randint(2, (count, steps), generator=generator)
    tokens = torch.where(kind < 0.1, bit, torch.where(kind < 0.9, 2 + bit, 4))
    tokens[:, 0] = bit[:, 0]
    return tokens


_ORDERS = tuple(itertools.permutations(range(3)))
_MOVES = torch.tensor([[_ORDERS.index((b, a, c)), _ORDERS.index((a, c, b)), here] for here, (a, b, c) in enumerate(_ORDERS)])
"""The order of three things, by its number, after an exchange of the first two, of the last two, and after none."""


def states(length: int, longest: int) -> Task:
    """How three things stand after all exchanges so far: each token exchanges the first two, the last two, or none.

    A token of its own begins the row, from which the order is carried on. The answer depends on every token before it, so the
    last targets are not the same at every length, and the context cut to L does not hold them. An exchange is a reflection.
    Source: the word problem of S3 by its generators; of S5 in Merrill, Petty and Sabharwal 2024, arXiv 2404.08819.
    """

    def draw(count: int, n: int, generator: torch.Generator) -> Rows:
        tokens = torch.randint(3, (count, n), generator=generator)
        tokens[:, 0] = 3
        state, targets = torch.zeros(count, dtype=torch.int64), torch.zeros_like(tokens)
        for place in range(1, n):
            state = _MOVES[state, tokens[:, place]]
            targets[:, place] = state
        return Rows(tokens, targets)

    return _exact("states", length, 6, 6, draw)


TASKS: Mapping[str, tuple[Callable[..., Task], str]] = {
    "text": (text, "the next byte of a text"),
    "lookup": (lookup, "the value of a key, from a needle among fillers"),
    "k-back": (k_back, "the token k places ago"),
    "copy": (copy, "half a row again"),
    "reverse": (reverse, "half a row backwards"),
    "sort": (sort, "half a row of numbers in rising order"),
    "induction": (induction, "what followed this token last time"),
    "flip-flop": (flip_flop, "the bit that was written last, among much to ignore"),
    "states": (states, "how three things stand after every exchange so far"),
}
"""Each task by name: what makes it, and what is asked."""
