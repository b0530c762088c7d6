"""Layers: relaxed gates against an explicit formula, discrete ones against truth tables, shapes, gradients, refusals."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError, UnknownNameError
from ordinate.logic import GroupSum, LogicConv2d, LogicDense, OrPooling2d, Thresholds
from ordinate.logic.circuit.gates import GATE_NAMES, coefficients, output
from ordinate.logic.kernels.gates import by_rows, relaxed_gates
from ordinate.logic.network.parametrisation import MODES, PARAMETRISATIONS


def by_hand(x: Tensor, numbers: Tensor, wiring: Tensor) -> Tensor:
    """The formula gate by gate, [gates, B]."""
    rows = []
    for gate in range(wiring.shape[1]):
        a, b = x[wiring[0, gate]], x[wiring[1, gate]]
        rows.append(numbers[gate, 0] + numbers[gate, 1] * a + numbers[gate, 2] * b + numbers[gate, 3] * a * b)
    return torch.stack(rows)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 40), st.integers(1, 5), st.integers(2, 12), st.integers(0, 9))
def test_values_and_gradients_are_those_of_the_formula(gates: int, batch: int, signals: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(signals, batch, generator=generator, dtype=torch.float64, requires_grad=True)
    numbers = torch.randn(gates, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    wiring = torch.randint(0, signals, (2, gates), generator=generator)  # a gate may read one signal twice
    slope = torch.randn(gates, batch, generator=generator, dtype=torch.float64)
    ours = torch.autograd.grad((relaxed_gates(x, numbers, wiring) * slope).sum(), (x, numbers))
    theirs = torch.autograd.grad((by_hand(x, numbers, wiring) * slope).sum(), (x, numbers))
    torch.testing.assert_close(relaxed_gates(x, numbers, wiring), by_hand(x, numbers, wiring))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("wants", [(True, True), (True, False), (False, True)])
def test_compiled_loops_and_torch_agree_in_every_gradient(wants: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba", reason="needs the extra fast")
    x, numbers = (torch.rand(shape, requires_grad=want) for shape, want in zip(((30, 70), (100, 4)), wants, strict=True))
    wiring, slope = torch.randint(0, 30, (2, 100)), torch.rand(70, 100).T
    asked = [tensor for tensor in (x, numbers) if tensor.requires_grad]
    compiled = relaxed_gates(x, numbers, wiring)
    ours = torch.autograd.grad((compiled * slope).sum(), asked)
    monkeypatch.setattr("ordinate.logic.kernels.gates._HAS_KERNELS", False)
    torch.testing.assert_close(relaxed_gates(x, numbers, wiring), compiled)
    torch.testing.assert_close(torch.autograd.grad((relaxed_gates(x, numbers, wiring) * slope).sum(), asked), ours)


@pytest.mark.parametrize("shape", [(1, 1), (33, 70), (64, 32), (0, 5), (7, 0)])
def test_signals_by_rows_are_the_transposed(shape: tuple[int, int]) -> None:
    x = torch.rand(shape, requires_grad=True)
    rows = by_rows(x)
    assert rows.is_contiguous()
    assert torch.equal(rows, x.T)
    slope = torch.rand(shape[::-1])
    assert torch.equal(torch.autograd.grad((rows * slope).sum(), x)[0], slope.T)


def test_many_blocks_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ordinate.logic.kernels.gates._HAS_KERNELS", False)
    x, numbers, wiring = torch.rand(30, 7, requires_grad=True), torch.randn(100, 4), torch.randint(0, 30, (2, 100))
    whole = relaxed_gates(x, numbers, wiring)
    (gradient,) = torch.autograd.grad(whole.sum(), x)
    monkeypatch.setattr("ordinate.logic.kernels.gates._BLOCK_ELEMENTS", 7)
    parts = relaxed_gates(x, numbers, wiring)
    assert torch.equal(parts, whole)
    torch.testing.assert_close(torch.autograd.grad(parts.sum(), x)[0], gradient)


@pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)
def test_in_evaluation_bits_give_the_bits_of_the_truth_tables(parametrisation: str) -> None:
    layer = LogicDense(6, 40, parametrisation=parametrisation, initialisation="random", seed=3).eval()
    bits = torch.randint(0, 2, (50, 6)).float()
    tables, wiring = layer.tables().tolist(), layer.wiring
    expected = [
        [output(tables[gate], int(row[wiring[0, gate]]), int(row[wiring[1, gate]])) for gate in range(40)] for row in bits
    ]
    assert layer(bits).tolist() == expected
    assert len(set(tables)) > 6


@pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)
@pytest.mark.parametrize("table", range(16), ids=GATE_NAMES)
def test_every_gate_can_be_set_and_at_full_certainty_is_its_relaxed_form(parametrisation: str, table: int) -> None:
    layer = LogicDense(2, 1, wiring=torch.tensor([[0], [1]]), parametrisation=parametrisation)
    layer.gates.set_tables(torch.tensor([table]), certainty=1 - 1e-6)
    assert layer.tables().tolist() == [table]
    a0, a1, a2, a3 = coefficients(table)
    x, y = 0.3, 0.8
    assert layer(torch.tensor([x, y])).item() == pytest.approx(a0 + a1 * x + a2 * y + a3 * x * y, abs=1e-3)


@pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)
def test_residual_gates_begin_as_their_first_input(parametrisation: str) -> None:
    layer = LogicDense(10, 60, parametrisation=parametrisation, certainty=0.9, seed=1)
    x = torch.rand(40, 10)
    assert torch.equal(layer.eval()(x), x[:, layer.wiring[0]])
    first = x[:, layer.wiring[0]]
    assert (layer.train()(x) - first).abs().mean().item() < 0.15


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)
def test_every_mode_trains_every_parameter(mode: str, parametrisation: str) -> None:
    torch.manual_seed(0)
    layer = LogicDense(8, 30, parametrisation=parametrisation, mode=mode, initialisation="random")
    (layer(torch.rand(16, 8)) * torch.rand(16, 30)).sum().backward()
    assert layer.gates.weight.grad is not None
    assert (layer.gates.weight.grad.abs().sum(-1) > 0).all()


def test_hard_forward_is_discrete_and_its_gradient_is_the_mixtures() -> None:
    hard = LogicDense(8, 30, mode="hard", initialisation="random", seed=5)
    soft = LogicDense(8, 30, mode="soft", initialisation="random", seed=5)
    bits = torch.randint(0, 2, (20, 8)).float()
    out = hard(bits)
    torch.testing.assert_close(out, hard.eval()(bits))
    hard.train()
    slope = torch.randn(20, 30)
    (ours,) = torch.autograd.grad((hard(bits) * slope).sum(), hard.gates.weight)
    (mixture,) = torch.autograd.grad((soft(bits) * slope).sum(), soft.gates.weight)
    torch.testing.assert_close(ours, mixture)


def test_gumbel_samples_gates_in_proportion_to_their_softmax() -> None:
    torch.manual_seed(1)
    layer = LogicDense(2, 20_000, wiring=torch.tensor([[0], [1]]).expand(2, 20_000), parametrisation="raw", mode="gumbel_hard")
    with torch.no_grad():
        layer.gates.weight.zero_()
        layer.gates.weight[:, 8] = torch.log(torch.tensor(15.0))  # AND half of the time
    out = layer(torch.tensor([[1.0, 1.0], [0.0, 0.0]])).detach()
    assert set(out.unique().tolist()) <= {0.0, 1.0}
    # of the other fifteen gates seven give 1 at (1, 1) and eight at (0, 0)
    assert float(out[0].mean()) == pytest.approx(0.5 + 0.5 * 7 / 15, abs=0.015)
    assert float(out[1].mean()) == pytest.approx(0.5 * 8 / 15, abs=0.015)


@pytest.mark.parametrize("shape", [(6,), (1, 6), (3, 6), (2, 3, 6), (0, 6), (2, 0, 6)])
def test_leading_axes_are_kept(shape: tuple[int, ...]) -> None:
    layer = LogicDense(6, 9, initialisation="random")
    x = torch.rand(shape)
    assert layer(x).shape == (*shape[:-1], 9)
    if x.numel():
        flat = torch.stack([layer(row) for row in x.reshape(-1, 6)])
        torch.testing.assert_close(layer(x).reshape(-1, 9), flat)


def test_a_learned_wiring_finds_the_signals_that_matter() -> None:
    """x0 and x7 hold the answer; candidates of other gates must not."""
    torch.manual_seed(0)
    layer = LogicDense(8, 4, wiring="learned", candidates=4, initialisation="random", seed=1)
    layer.learned_wiring.candidates.copy_(torch.arange(8).reshape(2, 1, 4).expand(2, 4, 4))  # type: ignore[union-attr]
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.1)
    for _ in range(150):
        x = torch.randint(0, 2, (64, 8)).float()
        loss = (layer(x) - (x[:, :1] * x[:, 7:])).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    found = (layer.wiring == torch.tensor([[0], [7]])).all(0)
    assert int(found.sum()) >= 3  # a gate may settle on a neighbour; each begins with another wish
    assert layer.tables()[found].tolist() == [8] * int(found.sum())
    bits = torch.randint(0, 2, (30, 8)).float()
    assert torch.equal(layer.eval()(bits)[:, found], (bits[:, :1] * bits[:, 7:]).expand(-1, int(found.sum())))


def test_the_wiring_is_in_the_state_dict() -> None:
    first, second = LogicDense(9, 12, seed=1), LogicDense(9, 12, seed=2)
    assert not torch.equal(first.wiring, second.wiring)
    second.load_state_dict(first.state_dict())
    x = torch.rand(5, 9)
    assert torch.equal(first(x), second(x))


CONVOLUTION = [nn.Unflatten(-1, (1, 3, 4)), LogicConv2d(1, 3, receptive_field=2), OrPooling2d(2), nn.Flatten(-3)]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    "make",
    [
        lambda: LogicDense(12, 20),
        lambda: nn.Sequential(LogicDense(12, 20), GroupSum(4, tau=2.0)),
        lambda: nn.Sequential(*CONVOLUTION),
    ],
)
def test_eager_equals_compiled(make) -> None:
    torch._dynamo.reset()
    layer = make()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    x = torch.rand(7, 12, requires_grad=True)
    torch.testing.assert_close(compiled(x), layer(x))
    slope = torch.rand_like(layer(x))
    ours = torch.autograd.grad((compiled(x) * slope).sum(), [x, *layer.parameters()])
    theirs = torch.autograd.grad((layer(x) * slope).sum(), [x, *layer.parameters()])
    torch.testing.assert_close(ours, theirs)


def tree_by_hand(layer: LogicConv2d, image: Tensor) -> Tensor:
    """The convolution place by place, kernel by kernel, gate by gate, on bits."""
    padded = nn.functional.pad(image, (layer.padding,) * 4)
    field, tables = layer.receptive_field, layer.tables()
    rows, columns = layer.output_size(*image.shape[-2:])
    out = torch.zeros(layer.out_channels, rows, columns)
    for kernel in range(layer.out_channels):
        for row in range(rows):
            for column in range(columns):
                top, left = row * layer.stride, column * layer.stride
                window = padded[:, top : top + field, left : left + field].flatten()
                values = [int(window[leaf]) for leaf in layer.leaves[kernel]]
                for level in tables:
                    gates = level[kernel].tolist()
                    values = [output(gate, values[2 * n], values[2 * n + 1]) for n, gate in enumerate(gates)]
                out[kernel, row, column] = values[0]
    return out


@pytest.mark.parametrize(("stride", "padding", "depth"), [(1, 0, 1), (1, 1, 2), (2, 1, 3), (3, 2, 2)])
def test_a_convolution_is_its_trees_at_every_place(stride: int, padding: int, depth: int) -> None:
    layer = LogicConv2d(2, 3, depth=depth, stride=stride, padding=padding, initialisation="random", seed=4).eval()
    image = torch.randint(0, 2, (2, 2, 7, 6)).float()
    expected = torch.stack([tree_by_hand(layer, one) for one in image])
    assert torch.equal(layer(image), expected)
    assert torch.equal(layer(image[0]), expected[0])


@pytest.mark.parametrize("lead", [(), (0,), (3,), (2, 3), (2, 0)])
def test_leading_axes_of_images_are_kept(lead: tuple[int, ...]) -> None:
    convolution, pooling = LogicConv2d(2, 3, padding=1, initialisation="random"), OrPooling2d(2)
    x = torch.rand(*lead, 2, 6, 4)
    found = pooling(convolution(x))
    assert found.shape == (*lead, 3, 3, 2)
    if x.numel():
        one_by_one = torch.stack([pooling(convolution(image)) for image in x.reshape(-1, 2, 6, 4)])
        torch.testing.assert_close(found.reshape(-1, 3, 3, 2), one_by_one)


def test_a_convolution_shares_its_gates_between_places() -> None:
    layer = LogicConv2d(1, 4, depth=2)
    assert sum(parameter.numel() for parameter in layer.parameters()) == 4 * 3 * 4
    layer(torch.rand(2, 1, 8, 8)).sum().backward()
    assert all((level.weight.grad.abs().sum(-1) > 0).all() for level in layer.levels)


@pytest.mark.parametrize("relaxation", ["max", "probabilistic"])
@pytest.mark.parametrize(("kernel", "stride", "padding"), [(2, None, 0), (3, 2, 1), (2, 1, 0)])
def test_pooling_is_or(relaxation: str, kernel: int, stride: int | None, padding: int) -> None:
    layer = OrPooling2d(kernel, stride=stride, padding=padding, relaxation=relaxation)
    bits = torch.randint(0, 2, (2, 3, 6, 7)).float()
    step = stride or kernel
    padded = nn.functional.pad(bits, (padding,) * 4)
    found = layer(bits)
    for row in range(found.shape[-2]):
        for column in range(found.shape[-1]):
            window = padded[..., row * step : row * step + kernel, column * step : column * step + kernel]
            assert torch.equal(found[..., row, column], window.flatten(-2).any(-1).float())
    assert torch.equal(layer(bits[None, None])[0, 0], found)


def test_probabilistic_pooling_is_the_probability_of_any() -> None:
    x = torch.tensor([[[0.5, 0.2], [0.0, 0.1]]])
    assert OrPooling2d(2, relaxation="probabilistic")(x).item() == pytest.approx(1 - 0.5 * 0.8 * 0.9)


def test_group_sum_counts_divides_and_adds() -> None:
    x = torch.rand(4, 3, 12)
    scores = GroupSum(3, tau=2.5, beta=[1.0, -2.0, 0.5])(x)
    for label in range(3):
        expected = x[..., 4 * label : 4 * label + 4].sum(-1) / 2.5 + [1.0, -2.0, 0.5][label]
        torch.testing.assert_close(scores[..., label], expected)


def test_thresholds_are_thermometers_feature_by_feature() -> None:
    layer = Thresholds(torch.tensor([[0.2, 0.8], [5.0, 6.0], [0.0, -1.0]]))
    assert layer(torch.tensor([0.8, 5.5, 0.0])).tolist() == [1.0, 0.0, 1.0, 0.0, 0.0, 1.0]


def test_learned_thresholds_move_to_where_the_answer_changes() -> None:
    torch.manual_seed(0)
    layer = Thresholds(torch.full((1, 1), 0.2), learned=True, temperature=0.1)
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.02)
    for _ in range(200):
        x = torch.rand(256, 1)
        loss = (layer(x) - (x > 0.6).float()).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert layer.values.item() == pytest.approx(0.6, abs=0.05)
    assert set(layer(torch.rand(50, 1)).detach().unique().tolist()) == {0.0, 1.0}  # forward it is bits, in training too


REFUSED = [
    (lambda: LogicDense(6, 4)(torch.rand(3, 5)), ShapeError, r"shape \(\.\.\., 6\), got \(3, 5\)"),
    (lambda: LogicDense(6, 4)(torch.ones(3, 6, dtype=torch.int64)), ArgumentTypeError, "a floating tensor.*got torch.int64"),
    (lambda: LogicDense(6, 4, parametrisation="dense"), UnknownNameError, "one of raw, light, walsh, got 'dense'"),
    (lambda: LogicDense(6, 4, mode="firm"), UnknownNameError, "one of soft, hard, gumbel_soft, gumbel_hard, got 'firm'"),
    (lambda: LogicDense(6, 4, initialisation="zeros"), UnknownNameError, "expected 'residual' or 'random'"),
    (
        lambda: LogicDense(6, 4, certainty=1.0),
        ArgumentError,
        "certainty: expected a finite number above 0.5 and below 1",
    ),
    (lambda: LogicDense(6, 4, temperature=0.0), ArgumentError, "temperature: expected a finite number above 0"),
    (lambda: LogicDense(1, 4), ArgumentError, "in_features"),
    (lambda: LogicConv2d(2, 3)(torch.rand(1, 8, 8)), ShapeError, r"shape \(\.\.\., 2, height, width\), got \(1, 8, 8\)"),
    (lambda: LogicConv2d(1, 3, receptive_field=5)(torch.rand(1, 4, 4)), ArgumentError, "at least 5 by 5.*got 4 by 4"),
    (lambda: LogicConv2d(1, 3, depth=0), ArgumentError, "depth: expected an integer of at least 1, got 0"),
    (lambda: LogicConv2d(1, 3, receptive_field=1), ArgumentError, "at least two signals"),
    (lambda: LogicConv2d(2, 3, channels_read=3), ArgumentError, "channels_read: expected at most 2 channels, got 3"),
    (lambda: LogicConv2d(2, 3, channels_read=0), ArgumentError, "channels_read: expected an integer of at least 1, got 0"),
    (lambda: OrPooling2d(2, padding=2), ArgumentError, "at most half of the window"),
    (lambda: OrPooling2d(2, relaxation="sum"), UnknownNameError, "'max' or 'probabilistic', got 'sum'"),
    (lambda: GroupSum(3)(torch.rand(2, 10)), ShapeError, r"F a multiple of 3 classes, got \(2, 10\)"),
    (lambda: GroupSum(0), ArgumentError, "num_classes: expected an integer of at least 1, got 0"),
    (lambda: GroupSum(2, tau=0.0), ArgumentError, "tau: expected a finite number above 0"),
    (lambda: GroupSum(2, beta=[1.0, 2.0, 3.0]), ArgumentError, "beta: expected a finite number, or 2 of them"),
    (lambda: Thresholds(torch.zeros(3)), ArgumentError, r"thresholds \[features, thresholds\], got \(3,\)"),
    (lambda: Thresholds(torch.tensor([[float("nan")]])), ArgumentError, "finite thresholds"),
    (lambda: Thresholds(torch.zeros(3, 2))(torch.rand(2, 4)), ShapeError, r"shape \(\.\.\., 3\), got \(2, 4\)"),
    (lambda: Thresholds.quantiles(torch.zeros(0, 3), 2), ArgumentError, "rows of features"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_wrong_use_is_refused_and_says_what_to_do(call, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
