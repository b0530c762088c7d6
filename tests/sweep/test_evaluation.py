"""Scores: the same last targets, the cut context, depth, and what happens past the end of a table."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from ordinate.position.bias.distance import distances
from ordinate.sweep.cell import Cell
from ordinate.sweep.encodings import entry
from ordinate.sweep.evaluation import TEMPERATURES, depth_scores, evaluate, score
from ordinate.sweep.model import SweepDecoder
from ordinate.sweep.tasks import make_task
from ordinate.sweep.training import new_model


class Knows(SweepDecoder):
    """A decoder in name: it answers k-back from the tokens, and fails on the first token of a row and past `reach`."""

    def __init__(self, back: int, reach: int = 10**9) -> None:
        super().__init__(16, dim=8, layers=1, heads=1, encodings=())
        self.back, self.reach = back, reach

    def forward(self, tokens: Tensor, positions: Tensor) -> Tensor:
        answers = tokens.roll(self.back, 1)
        wrong = (positions >= self.reach) | (positions == self.back)
        return torch.nn.functional.one_hot(torch.where(wrong, (answers + 1) % 16, answers), 16).double()


def of(name: str, encoding: str) -> dict[str, Any]:
    cell = Cell(name, encoding, 0, train_length=32, test_lengths=(32, 64, 128), dim=32, heads=2)
    task = make_task(name, 32, 128)
    torch.manual_seed(1)
    return evaluate(new_model(cell, task).eval(), entry(encoding), task, (32, 64, 128), count=6, seed=0, longest=128)


def test_the_last_targets_and_the_whole_window_are_kept_apart() -> None:
    task = make_task("k-back", 32, 128)
    found = evaluate(Knows(4), entry("none"), task, (32, 64), count=8, seed=0, longest=128)
    assert found["32"]["last"] == found["64"]["last"] == found["64"]["cut"] == 1.0
    assert found["32"]["whole"] == pytest.approx(27 / 28)  # the first of 28 targets is answered wrongly
    assert found["64"]["whole"] == pytest.approx(59 / 60)


def test_the_cut_context_can_beat_the_whole_one() -> None:
    found = evaluate(Knows(4, reach=32), entry("none"), make_task("k-back", 32, 64), (32, 64), count=8, seed=0, longest=64)
    assert found["64"]["last"] == 0.0
    assert found["64"]["cut"] == 1.0


def test_bits_are_those_of_the_formula() -> None:
    class Text(Knows):
        def forward(self, tokens: Tensor, positions: Tensor) -> Tensor:
            return torch.zeros(*tokens.shape, 16)

    import dataclasses

    task = dataclasses.replace(make_task("k-back", 32, 64), unit="bits per byte")
    rows = task.rows(3, 32, 0, "test")
    assert score(Text(4), task, rows, torch.arange(32)).last == pytest.approx(math.log2(16))


def test_chunks_do_not_change_the_score(monkeypatch: pytest.MonkeyPatch) -> None:
    before = of("lookup", "rope")
    monkeypatch.setattr("ordinate.sweep.evaluation._CHUNK_TOKENS", 1)
    after = of("lookup", "rope")
    for length in before:
        assert after[length]["last"] == pytest.approx(before[length]["last"])
        assert after[length]["depth"] == pytest.approx(before[length]["depth"])


@pytest.mark.parametrize("encoding", ["learned", "music"])
def test_past_its_table_an_encoding_is_clamped_and_that_is_kept_apart(encoding: str) -> None:
    found = of("k-back", encoding)
    assert found["32"]["beyond"] is False
    assert found["32"]["last"] is not None
    for length in ("64", "128"):
        assert found[length]["beyond"] is True
        assert found[length]["last"] is None
        assert 0 <= found[length]["clamped"] <= 1
        assert 0 <= found[length]["cut"] <= 1


def test_a_clamped_table_of_distances_is_that_of_clipped_distances() -> None:
    cell = Cell("k-back", "music", 0, train_length=16, test_lengths=(16, 32), dim=32, heads=2)
    from ordinate.sweep.evaluation import table_as_if

    model = new_model(cell, make_task("k-back", 16, 32))
    short = model.encodings[0]
    steps, query = torch.arange(32), torch.randn(1, 2, 32, 16)
    with table_as_if(model, entry("music"), 32), torch.no_grad():
        found = model.encodings[0].bias(steps, steps, query, query, scale=1.0)
    clipped = 15 - distances(steps, steps).clamp(0, 15)  # row 0 is the farthest past
    expected = torch.einsum("bhtd,htsd->bhts", query, short.table.detach()[:, clipped])
    past = distances(steps, steps) >= 0
    torch.testing.assert_close(found[..., past], expected[..., past])
    assert model.encodings[0] is short


def test_depths_are_averaged_by_part() -> None:
    task = make_task("lookup", 32, 64)
    rows = task.rows(200, 64, 0, "test")
    assert rows.depths is not None
    right = (rows.depths[:, -task.last :] < 0.5).double()  # a model that remembers the first half
    from ordinate.sweep.evaluation import Scored

    found = depth_scores(Scored(0.0, 0.0, right), rows, task)
    assert found == [1.0] * 4 + [0.0] * 4


def test_the_tuned_temperature_is_chosen_by_length_and_put_back() -> None:
    cell = Cell("k-back", "none-temperature", 0, train_length=32, test_lengths=(32, 64), dim=32, heads=2)
    model = new_model(cell, make_task("k-back", 32, 64)).eval()
    found = evaluate(model, entry("none-temperature"), make_task("k-back", 32, 64), (32, 64), count=16, seed=0, longest=64)
    assert all(found[n]["temperature"] in TEMPERATURES for n in found)
    assert model.temperature == 1.0
