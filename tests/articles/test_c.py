"""The claims of article C come out as foreseen, and doctored inputs change the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from ordinate.articles.c import (
    c1_worked_example,
    c2_bag_of_words,
    c3_sinusoids,
    c4_fifty_positions,
    c5_learned_table,
    c6_relative,
    c7_rope,
    c11_axes,
)
from ordinate.articles.c.c11_axes import grid_checks, multimodal_checks, time_checks
from ordinate.articles.sentence import plain_attention
from ordinate.attention import Causal
from ordinate.lab.claim import Inputs
from ordinate.lab.measurement import Measurement, Verdict, judge
from ordinate.position import (
    ALiBi,
    AxialRotary,
    LearnedTable,
    MultimodalRotary,
    Rotary,
    Sinusoidal,
    SinusoidalGrid,
    TimeEncoding,
)

pytestmark = pytest.mark.usefixtures("undrawn")

SEEDS = range(3)


def verdict(measurement: Measurement) -> Verdict:
    return judge(measurement.checks)[0]


def value(measurement: Measurement, name: str) -> float:
    (result,) = [check.value for check in measurement.checks if name in check.name]
    return result


def paper(width: int, positions: Tensor) -> Tensor:
    return Sinusoidal(width).encode(positions, dtype=torch.float64)


# C1


@pytest.mark.parametrize(
    "encode",
    [
        lambda positions: Sinusoidal(4, layout="half").encode(positions, dtype=torch.float64),
        lambda positions: paper(4, positions).roll(1, -1),  # cosines first
        lambda positions: paper(4, positions) * 0,
        lambda positions: paper(4, positions * 0),  # right at 0, and the same everywhere
    ],
)
def test_c1_another_encoding_refutes_it(encode: Any) -> None:
    assert verdict(c1_worked_example.worked_example(encode, c1_worked_example.WORD)) is Verdict.REFUTED


def test_c1_another_word_refutes_it() -> None:
    measured = c1_worked_example.worked_example(lambda positions: paper(4, positions), (0.51, -0.22, 0.88, 0.15))
    assert verdict(measured) is Verdict.REFUTED


# C2


def with_first(way: Any) -> Any:
    """The claim's ways, the first exchanged."""
    return lambda seed: {**c2_bag_of_words.ways(seed), "plain attention": way}


@pytest.mark.parametrize(
    "way",
    [
        lambda x: plain_attention(x, Causal())[0].mean(1),
        lambda x: plain_attention(x + 1e-6 * paper(32, torch.arange(5)))[0].mean(1),  # far below what a chart shows
        lambda x: plain_attention(x)[0][:, -1],  # the last token instead of a pool
    ],
)
def test_c2_anything_that_tells_the_order_refutes_it(way: Any) -> None:
    measured = c2_bag_of_words.bag_of_words(c2_bag_of_words.drawn_embeddings, with_first(way), SEEDS)
    assert verdict(measured) is Verdict.REFUTED


def test_c2_words_that_are_all_alike_tell_nothing() -> None:
    same = c2_bag_of_words.drawn_embeddings(0)["the"]
    words = dict.fromkeys(("the", "dog", "bit", "man"), same)
    assert verdict(c2_bag_of_words.bag_of_words(lambda seed: words, c2_bag_of_words.ways, SEEDS)) is Verdict.NOT_TESTABLE


# C3


class Doctored(Sinusoidal):
    """The encoding, with a change of its values."""

    def __init__(self, change: Any) -> None:
        super().__init__(64)
        self.change = change

    def encode(self, positions: Tensor, *, dtype: torch.dtype | None = None) -> Tensor:
        return self.change(super().encode(positions, dtype=dtype), positions)


def test_c3_values_past_one_refute_it() -> None:
    assert verdict(c3_sinusoids.sinusoids(Doctored(lambda x, positions: 1.001 * x), 0)) is Verdict.REFUTED


def test_c3_angles_in_float32_refute_it() -> None:
    single = Doctored(lambda x, positions: c3_sinusoids.TableInBuffer.rows(positions, 64).double())
    assert verdict(c3_sinusoids.sinusoids(single, 0)) is Verdict.REFUTED


def test_c3_a_parameter_refutes_it() -> None:
    module = Sinusoidal(64)
    module.register_parameter("gain", torch.nn.Parameter(torch.ones(1)))
    assert verdict(c3_sinusoids.sinusoids(module, 0)) is Verdict.REFUTED


def test_c3_a_constant_tells_nothing() -> None:
    assert verdict(c3_sinusoids.sinusoids(Doctored(lambda x, positions: 0 * x), 0)) is Verdict.NOT_TESTABLE


# C4


def test_c4_a_steeper_ladder_refutes_it() -> None:
    measured = c4_fifty_positions.fifty_positions(
        lambda positions: Sinusoidal(512, base=100.0).encode(positions, dtype=torch.float64)
    )
    assert verdict(measured) is Verdict.REFUTED


def test_c4_stripes_that_are_even_refute_not_exactly() -> None:
    def even(positions: Tensor) -> Tensor:
        table = paper(512, positions)
        table[:, 384::2], table[:, 385::2] = 0, 1
        return table

    assert verdict(c4_fifty_positions.fifty_positions(even)) is Verdict.REFUTED


# C5


class Wraps(LearnedTable):
    """Answers past the end with the rows from the start."""

    def encode(self, positions: Tensor) -> Tensor:
        return super().encode(positions % self.num_positions)


class Shifted(LearnedTable):
    """Answers with the row after."""

    def encode(self, positions: Tensor) -> Tensor:
        return super().encode(positions).roll(1, 0) if len(positions) > 1 else super().encode(positions)


def test_c5_a_table_that_wraps_refutes_it() -> None:
    measured = c5_learned_table.learned_table(Wraps, 0)
    assert verdict(measured) is Verdict.REFUTED
    assert value(measured, "positions past the end") == 0


def test_c5_a_table_that_answers_with_other_rows_tells_nothing() -> None:
    assert verdict(c5_learned_table.learned_table(Shifted, 0)) is Verdict.NOT_TESTABLE


# C6


class FromStart(ALiBi):
    """A bias that also looks at where the query stands."""

    def bias(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        return super().bias(query_positions, key_positions) * (1 + query_positions[:, None])


class Shared(ALiBi):
    """One bias for all heads."""

    def __init__(self, num_heads: int) -> None:
        super().__init__(1)

    def bias(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        return super().bias(query_positions, key_positions)


def exchanged(module: Any) -> Any:
    return lambda heads: {"Shaw": c6_relative.encodings(heads)["Shaw"], "ALiBi": module(heads)}


def test_c6_a_bias_that_knows_the_place_refutes_it() -> None:
    assert verdict(c6_relative.relative(exchanged(FromStart), 0)) is Verdict.REFUTED


def test_c6_one_bias_for_all_heads_refutes_the_cost() -> None:
    measured = c6_relative.relative(exchanged(Shared), 0)
    assert verdict(measured) is Verdict.REFUTED
    assert value(measured, "pair of tokens, ALiBi") < 0.5


# C7


def turned(rotary: Rotary) -> Any:
    return lambda x, positions: rotary.rotate(x[None, None], positions)[0, 0]


@pytest.mark.parametrize(
    "place",
    [
        c7_rope.sinusoids_added,
        lambda x, positions: 1.0001 * turned(Rotary(64, layout="half"))(x, positions),  # a factor on cos and sin
        lambda x, positions: turned(Rotary(64, layout="half"))(x, positions.double() ** 1.01),  # norms kept, distances not
    ],
)
def test_c7_what_is_no_rotation_by_the_position_refutes_it(place: Any) -> None:
    assert verdict(c7_rope.rope({"half": place}, c7_rope.sinusoids_added, SEEDS)) is Verdict.REFUTED


def test_c7_no_encoding_at_all_tells_nothing() -> None:
    none = {"half": lambda x, positions: x}
    assert verdict(c7_rope.rope(none, c7_rope.sinusoids_added, SEEDS)) is Verdict.NOT_TESTABLE


def test_c7_two_rotations_do_not_pass_for_sinusoids() -> None:
    half = turned(Rotary(64, layout="half"))
    measured = c7_rope.rope({"half": half}, half, SEEDS)
    assert verdict(measured) is Verdict.NOT_TESTABLE
    assert value(measured, "largest change of a norm, sinusoids added") < 1e-12


# C11


@pytest.fixture(scope="module")
def parts() -> Mapping[str, Any]:
    grids, axial = SinusoidalGrid(64), AxialRotary(64, layout="half")
    times = TimeEncoding(4, seasons=["hour_of_day", "day_of_week"])
    together = MultimodalRotary(64, layout="half", sections=(8, 12, 12))
    return {
        "on_grid": grid_checks(lambda positions: grids.encode(positions, dtype=torch.float64), axial.rotate, 0),
        "in_time": time_checks(lambda stamps: times.encode(stamps, dtype=torch.float64)),
        "in_one_space": multimodal_checks(together.rotate, (8, 12, 12), 0),
    }


def test_c11_a_grid_that_counts_in_one_row_refutes_it(parts: Mapping[str, Any]) -> None:
    def in_one_row(positions: Tensor) -> Tensor:
        return paper(64, positions @ torch.tensor([7, 1]))

    part = grid_checks(in_one_row, AxialRotary(64, layout="half").rotate, 0)
    measured = c11_axes.axes(**{**parts, "on_grid": part})
    assert verdict(measured) in (Verdict.REFUTED, Verdict.NOT_TESTABLE)
    assert value(measured, "product with the cell below over") < 0.9


def test_c11_a_rotation_that_sees_one_axis_twice_is_noticed(parts: Mapping[str, Any]) -> None:
    axial = AxialRotary(64, layout="half")

    def bent(x: Tensor, positions: Tensor) -> Tensor:
        return axial.rotate(x, torch.stack((positions[:, 0] * positions[:, 1], positions[:, 1]), dim=-1))

    part = grid_checks(lambda positions: SinusoidalGrid(64).encode(positions, dtype=torch.float64), bent, 0)
    assert verdict(c11_axes.axes(**{**parts, "on_grid": part})) is Verdict.REFUTED


@pytest.mark.parametrize(
    "encode",
    [
        lambda stamps: TimeEncoding(4, seasons=["day_of_week", "hour_of_day"]).encode(stamps, dtype=torch.float64),
        lambda stamps: TimeEncoding(4, seasons=["hour_of_day", "day_of_week"], utc_offset_seconds=3600).encode(
            stamps, dtype=torch.float64
        ),
    ],
)
def test_c11_another_calendar_refutes_it(parts: Mapping[str, Any], encode: Any) -> None:
    assert verdict(c11_axes.axes(**{**parts, "in_time": time_checks(encode)})) is Verdict.REFUTED


def test_c11_height_and_width_exchanged_refute_it(parts: Mapping[str, Any]) -> None:
    together = MultimodalRotary(64, layout="half", sections=(8, 12, 12))
    part = multimodal_checks(lambda x, positions: together.rotate(x, positions[:, [0, 2, 1]]), (8, 12, 12), 0)
    assert verdict(c11_axes.axes(**{**parts, "in_one_space": part})) is Verdict.REFUTED


def test_c11_tokens_that_are_only_counted_tell_nothing(parts: Mapping[str, Any]) -> None:
    plain = Rotary(64, layout="half")
    part = multimodal_checks(lambda x, positions: plain.rotate(x, torch.arange(x.shape[2])), (8, 12, 12), 0)
    assert verdict(c11_axes.axes(**{**parts, "in_one_space": part})) is Verdict.NOT_TESTABLE


def test_c11_the_parts_as_they_are_reproduce_it(parts: Mapping[str, Any]) -> None:
    assert verdict(c11_axes.axes(**parts)) is Verdict.REPRODUCED
    assert len(c11_axes.measure(Inputs()).figures) == 3
