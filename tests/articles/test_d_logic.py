"""The claims of article D on logic-gate networks come out as foreseen, and doctored inputs change the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from ordinate.articles.d import (
    configurations,
    d16_gates,
    d17_discretising,
    d18_two_digits,
    d19_ten_digits,
    d22_depth,
    d25_tables,
    d32_gates_and_weights,
)
from ordinate.articles.d.configurations import Trained
from ordinate.articles.d.d17_discretising import Accuracies
from ordinate.articles.d.d18_two_digits import ScoredCircuit
from ordinate.articles.d.d19_ten_digits import Grown
from ordinate.articles.d.logic_digits import digits_for, network
from ordinate.data import digits
from ordinate.lab.claim import Inputs
from ordinate.lab.measurement import Measurement, Verdict, judge
from ordinate.logic.circuit.gates import coefficients, gate_table
from tests.articles.drawn_circuits import layered
from tests.external import needs, required

pytestmark = pytest.mark.usefixtures("undrawn")


def verdict(measurement: Measurement) -> Verdict:
    return judge(measurement.checks)[0]


# D16


def coefficients_of(name: str) -> tuple[float, float, float, float]:
    return coefficients(gate_table(name))


@pytest.mark.parametrize("gate", ["and", "xor", "not b", "true"])
def test_d16_one_wrong_number_of_one_gate_refutes_it(gate: str) -> None:
    def wrong(name: str) -> tuple[float, float, float, float]:
        c0, c1, c2, c3 = coefficients_of(name)
        return (c0, c1, c2, c3 + 0.5) if name == gate else (c0, c1, c2, c3)

    assert verdict(d16_gates.gates(coefficients_of, d16_gates.PRINTED)) is Verdict.REPRODUCED
    assert verdict(d16_gates.gates(wrong, d16_gates.PRINTED)) is Verdict.REFUTED


def test_d16_another_printed_form_refutes_it() -> None:
    printed = {**d16_gates.PRINTED, "or": lambda a, b: np.maximum(a, b)}
    assert verdict(d16_gates.gates(coefficients_of, printed)) is Verdict.REFUTED


# D17


def gaps(soft: Sequence[tuple[float, float]], hard: Sequence[tuple[float, float]], tested: int = 10_000) -> Verdict:
    measured = d17_discretising.discretising(
        (1, 2), [Accuracies(*one) for one in soft], [Accuracies(*one) for one in hard], "some digits", tested
    )
    return verdict(measured)


def test_d17_the_verdict_follows_the_gaps() -> None:
    assert gaps([(0.97, 0.9695), (0.98, 0.9799)], [(0.96, 0.96)] * 2) is Verdict.REPRODUCED
    assert gaps([(0.97, 0.96), (0.98, 0.9799)], [(0.96, 0.96)] * 2) is Verdict.CORRECTED
    assert gaps([(0.97, 0.96), (0.98, 0.9799)], [(0.96, 0.95)] * 2) is Verdict.REFUTED


def test_d17_few_test_images_cannot_tell() -> None:
    assert gaps([(0.97, 0.9695), (0.98, 0.9799)], [(0.96, 0.96)] * 2, tested=450) is Verdict.NOT_TESTABLE


def test_d17_networks_that_learned_nothing_tell_nothing() -> None:
    assert gaps([(0.1, 0.1), (0.1, 0.1)], [(0.1, 0.1)] * 2) is Verdict.NOT_TESTABLE


def test_d17_straight_through_there_is_nothing_to_discretise() -> None:
    size = d17_discretising.Size(depths=(2,), width=100, epochs=6)
    result = d17_discretising.trained(digits().fewer(600, 200), size, 2, "hard", 0)
    assert result.gap == 0.0
    assert result.hard > 0.2


# D18


def test_d18_the_verdict_follows_the_articles_number() -> None:
    few = ScoredCircuit(30, 0.9986, np.ones((28, 28), np.int64))

    def of(gates: int, accuracy: float, tested: int = 2115) -> Verdict:
        return verdict(d18_two_digits.two_digits(ScoredCircuit(gates, accuracy), few, "MNIST", tested, 18_000))

    assert of(972, 0.9925) is Verdict.REPRODUCED
    assert of(972, 0.98) is Verdict.REFUTED
    assert of(3000, 0.9925) is Verdict.REFUTED
    assert of(972, 0.9925, tested=90) is Verdict.NOT_TESTABLE


def test_d18_the_picture_counts_what_gates_read() -> None:
    result = d18_two_digits.grown_circuit(digits(classes=(0, 1)), 6, 0)
    assert result.used is not None
    assert result.used.shape == (8, 8)
    assert 2 <= result.used.sum() <= 2 * result.gates


# D19

ROUNDS = [(100, 0.9), (500, 0.949), (1000, 0.96)]


def ten(
    small: float = 0.669,
    most_votes: float = 0.9,
    large: float | None = 0.9485,
    tested: int = 10_000,
    more_gates: float = 0.7,
) -> Measurement:
    circuit = layered(30, 0)
    scores = [
        (d19_ten_digits._MORE_VOTES[0], small),
        (d19_ten_digits._MORE_VOTES[1], 0.8),
        (d19_ten_digits._MORE_VOTES[2], most_votes),
        (d19_ten_digits._MORE_GATES, more_gates),
    ]
    if large is not None:
        scores += [(d19_ten_digits._A_TENTH, large), (d19_ten_digits._DENSE, 0.96)]
    runs = [Trained(one, 4000, 3000, accuracy, circuit) for one, accuracy in scores]
    two = Trained(configurations.ARTICLE[0], 4000, 973, 0.9927, circuit)
    return d19_ten_digits.ten_digits(runs, two, Grown(ROUNDS, 1000, 0.96), "digits", tested)


def test_d19_the_verdict_follows_the_ceiling_and_its_cause() -> None:
    assert verdict(ten()) is Verdict.REPRODUCED
    assert verdict(ten(large=0.92)) is Verdict.REFUTED
    assert verdict(ten(small=0.9)) is Verdict.REFUTED  # no ceiling
    assert verdict(ten(most_votes=0.68)) is Verdict.REFUTED  # votes are not the cause
    assert verdict(ten(more_gates=0.9)) is Verdict.REFUTED  # gates are, votes or none


def test_d19_draws_the_articles_table_with_two_digits_and_without_the_convolution() -> None:
    rows = ten().tables[0].rows
    assert [row[0] for row in rows] == [2, 10, 10, 2, *[10] * 7]
    assert [row[5] for row in rows[:3]] == [50, 40, 400]
    assert "no convolution, hidden 4,000 x 2" in [row[1] for row in rows]
    assert "kernel 8, hidden 4,000 and 400" in [row[1] for row in rows]


def test_d19_other_images_are_not_held_against_the_article() -> None:
    few = ten(large=None, tested=450)
    assert verdict(few) is Verdict.NOT_TESTABLE
    assert "--full" in few.untested[0][1]


def test_d19_a_network_that_learned_nothing_tells_nothing() -> None:
    assert verdict(ten(most_votes=0.1, small=0.1, large=0.1)) is Verdict.NOT_TESTABLE


def test_a_configuration_is_what_the_article_names() -> None:
    names = [one.name for one in configurations.ARTICLE]
    assert names == ["kernel 4, hidden 100", "kernel 8, hidden 400", "kernel 16, hidden 4,000 x 2"]
    small = configurations.ARTICLE[0].but(iterations=10)
    result = configurations.trained(small, digits(classes=(0, 1)), 0)
    assert result.simplified == result.circuit.num_gates < result.gates
    assert result.gates == 4 * 7 * 36 + 4 * 3 * 9 + 100  # trees of 7 gates at 6 by 6 places, ORs of 2 by 2, the dense layer


# D22


def norms(first: float) -> d22_depth.Norms:
    return {
        (name, begun): [[first if begun == "random" else 0.9, *[0.95] * 10, 1.0]]
        for name in ("raw", "light", "walsh")
        for begun in ("random", "residual")
    }


SOFTMAXES = {
    0.01: d22_depth.Softmax(3.0, 0.4, [3.1, 2.0]),
    1.0: d22_depth.Softmax(0.03, 0.0, [2.3, 0.2]),
    100.0: d22_depth.Softmax(1e-4, 0.0, [2.3, 2.29]),
}


def test_d22_gradients_that_arrive_refute_it() -> None:
    assert verdict(d22_depth.depth(norms(1e-6), SOFTMAXES, "digits")) is Verdict.REPRODUCED
    assert verdict(d22_depth.depth(norms(0.5), SOFTMAXES, "digits")) is Verdict.REFUTED


@pytest.mark.parametrize("temperature", [0.01, 100.0])
def test_d22_a_temperature_without_its_effect_refutes_it(temperature: float) -> None:
    same = {**SOFTMAXES, temperature: SOFTMAXES[1.0]}
    assert verdict(d22_depth.depth(norms(1e-6), same, "digits")) is Verdict.REFUTED


def test_d22_a_network_that_learned_nothing_tells_nothing() -> None:
    idle = {**SOFTMAXES, 1.0: d22_depth.Softmax(0.03, 0.0, [2.3, 2.2])}
    assert verdict(d22_depth.depth(norms(1e-6), idle, "digits")) is Verdict.NOT_TESTABLE


def test_d22_the_softmax_has_both_effects() -> None:
    data = digits().fewer(300)
    low, even, high = (d22_depth.softmax_at(data, temperature, 0) for temperature in (0.01, 1.0, 100.0))
    assert low.silent > 0.1 > even.silent
    assert high.gradient < 0.05 * even.gradient < 0.05 * low.gradient
    assert even.losses[-1] < low.losses[-1] - 0.5


def test_d22_residual_gates_keep_the_gradient_of_twelve_layers() -> None:
    data = digits().fewer(300)
    kept = {begun: d22_depth.gradient_norms(data, "raw", begun, 0) for begun in ("random", "residual")}
    assert len(kept["random"]) == 12
    assert kept["random"][0] < 1e-4 * kept["random"][-1]
    assert kept["residual"][0] > 0.3 * kept["residual"][-1]


# D25


def scores(logic: float, nanoseconds: float = 20.0, permuted: float = 0.6) -> d25_tables.Scores:
    folds = {
        "logistic regression": [0.98, 0.97],
        "small net": [0.975, 0.97],
        "trained": [logic] * 2,
        "grown": [logic - 0.01] * 2,
    }
    return d25_tables.Scores(folds, permuted, nanoseconds, 60)


def test_d25_the_verdict_follows_accuracy_and_time() -> None:
    assert verdict(d25_tables.tables(scores(0.97))) is Verdict.REPRODUCED
    assert verdict(d25_tables.tables(scores(0.95))) is Verdict.REFUTED
    assert verdict(d25_tables.tables(scores(0.97, nanoseconds=5000.0))) is Verdict.REFUTED


def test_d25_accuracy_on_permuted_labels_takes_the_word_away() -> None:
    assert verdict(d25_tables.tables(scores(0.97, permuted=0.9))) is Verdict.NOT_TESTABLE


def test_d25_thresholds_come_from_the_training_rows_alone() -> None:
    known = load_breast_cancer()
    rows, labels = known.data[:200], known.target[:200].astype(np.int64)
    circuit = d25_tables._grown(rows, labels, 0)
    assert circuit.inputs is not None
    assert circuit.inputs.num_features == 30
    assert (circuit.inputs.threshold.reshape(30, 5) <= rows.max(0)[:, None]).all()
    assert (d25_tables._predict(circuit, rows) == labels).mean() > 0.9


# what they share


def test_quick_runs_stay_on_the_embedded_digits_and_full_ones_take_mnist_where_it_is(tmp_path: Path) -> None:
    assert "8 by 8" in digits_for(Inputs()).source
    assert "8 by 8" in digits_for(Inputs(full=True, data=tmp_path)).source


@pytest.mark.parametrize(("gates", "depth"), [(973, 2), (2961, 2), (12207, 2), (800, 4)])
def test_a_network_has_about_the_gates_asked_for_and_never_more(gates: int, depth: int) -> None:
    made = network(64, gates, depth, 10, 0).num_gates
    assert gates - 10 * depth <= made <= gates


@pytest.mark.slow
@needs("mnist")
def test_d18_on_mnist_thirty_grown_gates_pass_the_articles_973() -> None:
    data = digits_for(Inputs(full=True, data=required("mnist").parent), classes=(0, 1))
    result = d18_two_digits.grown_circuit(data, 30, 0)
    assert result.gates <= 30
    assert result.accuracy >= 0.998


# D32


def units(tables: int = 174, wrong: int = 0) -> list[d32_gates_and_weights.Unit]:
    return [d32_gates_and_weights.Unit(8, 424, tables, wrong)]


def weighed(trained: int = 700, circuit: int = 120, **unit: int) -> Verdict:
    nets = [(160, 0.7), (610, 0.91), (1210, 0.93)]
    result = Grown([(60, 0.8), (circuit, 0.93)], circuit, 0.93)
    return verdict(d32_gates_and_weights.gates_and_weights(nets, (trained, 0.9), result, units(**unit), "digits"))


def test_d32_the_verdict_follows_how_many_gates_stand_for_a_weight_and_what_a_weight_costs() -> None:
    assert weighed() is Verdict.CORRECTED
    assert weighed(circuit=2000) is Verdict.REPRODUCED
    assert weighed(trained=500) is Verdict.REFUTED
    assert weighed(tables=5) is Verdict.REFUTED
    assert weighed(wrong=1) is Verdict.NOT_TESTABLE


def test_d32_every_product_of_three_bits_added_to_every_sum_is_right() -> None:
    numbers = np.arange(1 << 12)
    bits = (numbers[:, None] >> np.arange(12) & 1).astype(bool)
    a, b, c = numbers & 7, numbers >> 3 & 7, numbers >> 6
    circuit = d32_gates_and_weights.multiply_add(3)
    np.testing.assert_array_equal(circuit.count(bits) @ (1 << np.arange(6)), (a * b + c) % 64)
