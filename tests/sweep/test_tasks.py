"""Every task can be solved from its tokens, its chance level is what a blind guess gets, and longer rows ask the same."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from ordinate.errors import ArgumentError, UnknownNameError
from ordinate.sweep.corpus import Corpus, read_corpus
from ordinate.sweep.tasks import NOT_SCORED, TASKS, Rows, Task, make_task

LENGTH, LONGEST = 64, 256
EXACT = [name for name in TASKS if name != "text"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    path = tmp_path_factory.mktemp("corpus") / "text"
    path.write_bytes(b"the quick brown fox jumps over the lazy dog, again and again; " * 200)
    return read_corpus(path)


# Solutions that look at one row's tokens, written for a reader: no tensors, no knowledge of how rows were drawn.


def k_back(row: list[int]) -> dict[int, int]:
    return {place: row[place - 8] for place in range(8, len(row))}


def lookup(row: list[int]) -> dict[int, int]:
    values = {(token - 16) // 16: (token - 16) % 16 for token in row if 16 <= token < 80}
    return {place: values[token - 80] for place, token in enumerate(row) if 80 <= token < 84}


def copy(row: list[int]) -> dict[int, int]:
    half = len(row) // 2
    return {half + place: row[place] for place in range(half)}


def reverse(row: list[int]) -> dict[int, int]:
    half = len(row) // 2
    return {half + place: row[half - 1 - place] for place in range(half)}


def sort(row: list[int]) -> dict[int, int]:
    half = len(row) // 2
    return {half + place: value for place, value in enumerate(sorted(row[:half]))}


def induction(row: list[int]) -> dict[int, int]:
    """The successor seen most often before, which one step in four leaves for anything."""
    found, after = {}, {}
    for place, token in enumerate(row):
        if place:
            after.setdefault(row[place - 1], Counter())[token] += 1
        if token in after:
            found[place] = after[token].most_common(1)[0][0]
    return found


def flip_flop(row: list[int]) -> dict[int, int]:
    found, written = {}, None
    for place, token in enumerate(row):
        if token < 2:
            written = token
        elif token == 4:
            found[place] = written
    return found


def states(row: list[int]) -> dict[int, int]:
    """Moves three things about, behind a token that begins the row; an order's number is its place in the dictionary."""
    assert row[0] == 3
    found, things = {}, list("abc")
    for place, token in enumerate(row):
        if token < 2:
            things[token], things[token + 1] = things[token + 1], things[token]
        found[place] = ["abc", "acb", "bac", "bca", "cab", "cba"].index("".join(things))
    return found


SOLUTIONS: dict[str, Callable[[list[int]], dict[int, int]]] = {
    "k-back": k_back, "lookup": lookup, "copy": copy, "reverse": reverse, "sort": sort, "induction": induction,
    "flip-flop": flip_flop, "states": states,
}  # fmt: skip


def right(rows: Rows, answers: list[dict[int, int]]) -> float:
    asked = [(row, place) for row, place in (rows.targets != NOT_SCORED).nonzero().tolist()]
    return sum(answers[row].get(place) == int(rows.targets[row, place]) for row, place in asked) / len(asked)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("length", [LENGTH, LONGEST])
def test_the_answer_can_be_read_off_the_tokens(name: str, length: int) -> None:
    rows = make_task(name, LENGTH, LONGEST).rows(20, length, 3, "test")
    share = right(rows, [SOLUTIONS[name](row) for row in rows.tokens.tolist()])
    # a walk that jumps can show the wrong successor first: most often is not always
    assert share > 0.9 if name == "induction" else share == 1.0


@pytest.mark.parametrize("name", [name for name in EXACT if name != "sort"])
def test_chance_is_what_a_blind_guess_gets(name: str) -> None:
    task = make_task(name, LENGTH, LONGEST)
    targets = task.rows(3000, LENGTH, 0, "test").targets[:, -task.last :]
    targets = targets[targets != NOT_SCORED]
    best_constant = int(torch.bincount(targets).max()) / len(targets)
    assert abs(best_constant - task.chance(LENGTH)) < 0.015


@pytest.mark.parametrize("length", [LENGTH, LONGEST])
def test_the_chance_of_sorting_is_that_of_one_more_than_the_last(length: int) -> None:
    task = make_task("sort", LENGTH, LONGEST)
    rows = task.rows(400, length, 0, "test")
    guessed = (rows.tokens[:, -task.last :] + 1 == rows.targets[:, -task.last :]).double().mean()
    assert abs(float(guessed) - task.chance(length)) < 0.02


def test_the_chance_of_text_is_a_model_of_single_bytes(corpus: Corpus) -> None:
    task = make_task("text", LENGTH, LONGEST, corpus)
    train, held_out = Counter(corpus.train.tolist()), corpus.validation.tolist()
    total = len(corpus.train) + 256
    bits = -sum(math.log2((train[byte] + 1) / total) for byte in held_out) / len(held_out)
    assert task.chance(LENGTH) == pytest.approx(bits, rel=1e-12)
    pairs = Counter(itertools.pairwise(corpus.train.tolist()))
    firsts = Counter(corpus.train.tolist()[:-1])
    steps = list(itertools.pairwise(held_out))
    better = -sum(math.log2((pairs[step] + 1) / (firsts[step[0]] + 256)) for step in steps) / len(steps)
    assert task.learned_at == pytest.approx(better, rel=1e-12)
    assert task.learned(better - 0.1)
    assert not task.learned(better + 0.1)


def test_the_next_byte_of_a_text_is_the_target(corpus: Corpus) -> None:
    rows = make_task("text", LENGTH, LONGEST, corpus).rows(8, LENGTH, 0, "test")
    assert torch.equal(rows.tokens[:, 1:], rows.targets[:, :-1])
    text = bytes(corpus.test.tolist())
    assert all(bytes(row.tolist()) in text for row in rows.tokens)


@pytest.mark.parametrize("name", [name for name in TASKS if name not in ("sort", "states")])
def test_longer_rows_end_in_the_same_targets(name: str, corpus: Corpus) -> None:
    task: Task = make_task(name, LENGTH, LONGEST, corpus)
    short, *longer = (task.rows(10, length, 5, "test").targets[:, -task.last :] for length in (64, 128, 256))
    assert all(torch.equal(short, other) for other in longer)
    assert bool((short != NOT_SCORED).any())


@pytest.mark.parametrize("name", EXACT)
def test_rows_differ_by_seed_and_split_and_repeat_with_them(name: str) -> None:
    task = make_task(name, LENGTH, LONGEST)
    drawn = task.rows(4, 128, 0, "test").tokens
    assert torch.equal(drawn, task.rows(4, 128, 0, "test").tokens)
    assert not torch.equal(drawn, task.rows(4, 128, 1, "test").tokens)
    assert not torch.equal(drawn, task.rows(4, 128, 0, "validation").tokens)
    assert int(drawn.max()) < task.vocabulary


def test_the_depth_of_a_needle_is_where_it_lies() -> None:
    task = make_task("lookup", LENGTH, LONGEST)
    rows = task.rows(50, LONGEST, 1, "test")
    assert rows.depths is not None
    for row, tokens in enumerate(rows.tokens.tolist()):
        hay = len(tokens) - task.last
        for place in range(hay, len(tokens)):
            key = tokens[place] - 80
            needle = next(n for n, token in enumerate(tokens) if 16 + 16 * key <= token < 32 + 16 * key)
            assert abs(needle / hay - float(rows.depths[row, place])) < 4 / hay


def test_what_cannot_be_made_is_refused(corpus: Corpus) -> None:
    with pytest.raises(UnknownNameError, match="one of text, lookup, k-back"):
        make_task("riddle", 64, 128)
    with pytest.raises(ArgumentError, match="at least 16 tokens, got 8"):
        make_task("copy", 8, 16)
    with pytest.raises(ArgumentError, match="corpus: expected a corpus"):
        make_task("text", 64, 128)


def test_a_corpus_shorter_than_a_row_is_refused(tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(b"x" * 1000)
    with pytest.raises(ArgumentError, match=r"more than 128 bytes in each split.*got 100 to test on in short"):
        make_task("text", 64, 128, read_corpus(tmp_path / "short"))
