"""Training: the same cell gives the same bits, losses fall, and one that leaves its course is noted."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from torch.nn.functional import cross_entropy

from ordinate.sweep.cell import Cell
from ordinate.sweep.encodings import entry
from ordinate.sweep.tasks import NOT_SCORED, make_task
from ordinate.sweep.training import draw_positions, fit, loss_of, new_model, train

CELL = Cell("k-back", "rope", 0, train_length=16, test_lengths=(16, 32), steps=30, dim=32, heads=2)
TASK = make_task("k-back", 16, 32)


def test_the_same_cell_gives_the_same_bits_twice_and_another_seed_others() -> None:
    first, again = train(CELL, TASK, 3e-3), train(CELL, TASK, 3e-3)
    assert first.losses == again.losses
    assert all(torch.equal(a, b) for a, b in zip(first.model.parameters(), again.model.parameters(), strict=True))
    assert train(dataclasses.replace(CELL, seed=1), TASK, 3e-3).losses != first.losses


def test_the_loss_falls_and_tokens_are_counted() -> None:
    trained = train(CELL, TASK, 3e-3)
    assert sum(trained.losses[-5:]) < sum(trained.losses[:5])
    assert trained.tokens == 30 * 16 * 16
    assert trained.seconds > 0
    assert trained.diverged is None


def test_encodings_share_the_weights_they_start_from() -> None:
    rope, alibi = (new_model(dataclasses.replace(CELL, encoding=name), TASK) for name in ("rope", "alibi"))
    assert all(torch.equal(a, b) for a, b in zip(rope.parameters(), alibi.parameters(), strict=True))


def test_torchs_own_generator_is_left_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(dataclasses.replace(CELL, steps=2), TASK, 3e-3)
    assert torch.equal(torch.rand(3), expected)


def test_a_training_that_leaves_its_course_is_noted() -> None:
    trained = train(CELL, TASK, 0.0)
    assert trained.diverged is None
    with torch.no_grad():
        trained.model.head.weight.fill_(1e38)
    fit(trained, CELL, TASK, length=16, steps=5, seed=0)
    assert trained.diverged == 0


def test_the_loss_is_that_of_the_targets_that_are_asked() -> None:
    model = new_model(CELL, TASK).eval()
    rows = TASK.rows(4, 16, 0, "test")
    logits = model(rows.tokens, torch.arange(16))
    expected = cross_entropy(logits.flatten(0, 1), rows.targets.flatten(), ignore_index=NOT_SCORED)
    torch.testing.assert_close(loss_of(model, rows.tokens, rows.targets, torch.arange(16)), expected)


def test_random_positions_rise_within_the_longest_row() -> None:
    generator = torch.Generator().manual_seed(0)
    drawn = draw_positions(entry("random-rope"), 16, 64, generator)
    assert len(drawn) == 16
    assert bool((drawn.diff() > 0).all())
    assert drawn.tolist() != list(range(16))
    assert int(drawn.max()) < 64
    assert draw_positions(entry("random-rope"), 64, 64, generator).tolist() == list(range(64))
    assert draw_positions(entry("rope"), 16, 64, generator).tolist() == list(range(16))


@pytest.mark.parametrize("name", ["learned", "sinusoidal"])
def test_what_is_added_begins_at_the_size_of_embeddings(name: str) -> None:
    model = new_model(dataclasses.replace(CELL, encoding=name), TASK)
    tokens = model.embedding.weight.detach() * math.sqrt(32)
    added = model.encodings[0].encode(torch.arange(16))
    assert 0.5 < float(added.detach().std() / tokens.std()) < 1.5
