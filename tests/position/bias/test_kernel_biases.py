"""Kerple, Sandwich and FIRE against their papers' formulas, written out with other means."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from ordinate.attention import Causal, attend
from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.position import FIRE, Kerple, Sandwich, Sinusoidal, indices


@pytest.mark.parametrize("kernel", ["log", "power"])
def test_kerple_is_its_formula_pair_by_pair(kernel):
    kerple = Kerple(3, kernel=kernel).double()
    r1, r2 = [0.5, 1.25, 3.0], [0.25, 0.75, 1.5]
    kerple.set_coefficients(torch.tensor(r1), torch.tensor(r2))
    at, by = [0, 5, 100_000], [3, 5, 0, 99_999]
    bias = kerple.bias(torch.tensor(at), torch.tensor(by)).detach()
    for h in range(3):
        for i, m in enumerate(at):
            for j, n in enumerate(by):
                away = abs(m - n)
                expected = -r1[h] * (math.log(1 + r2[h] * away) if kernel == "log" else away ** r2[h])
                assert float(bias[h, i, j]) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(raw=st.floats(-80, 80), kernel=st.sampled_from(["log", "power"]))
def test_the_constraints_hold_at_any_value_of_the_parameters(raw, kernel):
    kerple = Kerple(1, kernel=kernel).double()
    with torch.no_grad():
        kerple.raw_r1.fill_(raw)
        kerple.raw_r2.fill_(raw)
    r1, r2 = (float(r.detach()) for r in kerple.coefficients())
    assert r1 > 0
    assert 0 < r2 <= (2.0 if kernel == "power" else math.inf)


@pytest.mark.parametrize("kernel", ["log", "power"])
def test_kerple_stays_a_conditionally_positive_definite_kernel(kernel):
    """The paper's claim: for any weights that sum to 0, sum_ij c_i c_j k(i - j) is not negative."""
    torch.manual_seed(0)
    positions, weights = torch.arange(60), torch.randn(200, 60, dtype=torch.float64)
    weights -= weights.mean(-1, keepdim=True)
    for _ in range(5):
        kernels = Kerple(4, kernel=kernel).double().bias(positions, positions).detach()
        forms = torch.einsum("ci,hij,cj->hc", weights, kernels, weights)
        assert float(forms.min()) > -1e-9


@pytest.mark.parametrize(("kernel", "highest"), [("log", (2.0, 1.0)), ("power", (1.0, 2.0))])
def test_kerple_starts_where_the_authors_start(kernel, highest):
    torch.manual_seed(0)
    r1, r2 = (r.detach() for r in Kerple(4000, kernel=kernel).coefficients())
    for r, high in ((r1, highest[0]), (r2, highest[1])):
        assert 0.009 < float(r.min()) < 0.03
        assert high - 0.03 < float(r.max()) < high
        assert float(r.mean()) == pytest.approx(high / 2, rel=0.05)


def test_kerple_with_exponent_one_is_alibi_with_a_slope():
    kerple = Kerple(2, kernel="power").double()
    kerple.set_coefficients(torch.tensor([0.5, 0.25]), torch.ones(2))
    positions = torch.arange(9)
    away = (positions[:, None] - positions[None]).abs().double()
    assert_close(kerple.bias(positions, positions), torch.stack((-0.5 * away, -0.25 * away)))


def test_the_gradient_of_the_power_is_finite_on_the_diagonal():
    """d/dr 0^r is 0 log 0."""
    kerple = Kerple(2, kernel="power")
    kerple.bias(torch.arange(4), torch.arange(4)).sum().backward()
    assert kerple.raw_r2.grad.isfinite().all()
    assert (kerple.raw_r2.grad != 0).all()


def test_sandwich_is_the_product_of_sinusoids_over_the_compression():
    """The authors' listing, in numpy: embeddings of absolute positions, multiplied, and divided by 8 h / H."""
    heads, dim, base, length = 12, 128, 1e4, 600
    i = np.arange(dim // 2)
    angles = np.arange(length)[:, None] / base ** (2 * i / dim)
    embedded = np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)
    compression = np.arange(1, heads + 1) * 8 / heads
    expected = (embedded @ embedded.T)[None] / compression[:, None, None]
    positions = torch.arange(length)
    assert_close(Sandwich(heads).bias(positions, positions).double(), torch.from_numpy(expected), rtol=1e-6, atol=2e-6)
    ours = Sinusoidal(dim).encode(positions, dtype=torch.float64)
    assert_close(torch.from_numpy(expected[0]), ours @ ours.T / compression[0], rtol=1e-9, atol=1e-9)


def test_sandwich_far_out_is_what_it_is_near():
    sandwich, near = Sandwich(4, dim=64, base=5000.0), torch.arange(50)
    assert torch.equal(sandwich.bias(near + 10**9, near + 10**9), sandwich.bias(near, near))


class PublishedFIRE(nn.Module):
    """The listing of the paper's appendix: consecutive positions from 0."""

    def __init__(self, fire):
        super().__init__()
        self.mlp = nn.Sequential(fire.first, nn.ReLU(), fire.last)
        self.c, self.multiplier, self.start = fire.c, fire.threshold_scale, fire.initial_threshold

    def forward(self, length, dtype):
        positions = torch.arange(length, dtype=dtype)
        distance = positions[:, None] - positions[None, :]
        threshold = torch.abs(self.multiplier * self.start)
        normaliser = torch.max(positions, threshold)[:, None]
        distance = torch.log(torch.abs(self.c * distance) + 1)
        normaliser = torch.log(torch.abs(self.c * normaliser) + 1) + 1e-6
        return self.mlp((distance / normaliser).unsqueeze(-1)).permute(2, 0, 1)


@pytest.mark.parametrize("multiplier", [1.0, -0.5, 0.01])
def test_fire_is_the_published_listing_in_values_and_gradients(multiplier):
    torch.manual_seed(0)
    fire = FIRE(6, initial_threshold=20.0).double()
    with torch.no_grad():
        fire.threshold_scale.fill_(multiplier)
    positions, weights = torch.arange(50), torch.randn(6, 50, 50, dtype=torch.float64)
    ours, theirs = fire.bias(positions, positions), PublishedFIRE(fire)(50, torch.float64)
    assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    parameters = list(fire.parameters())
    for ours_grad, theirs_grad in zip(
        torch.autograd.grad((ours * weights).sum(), parameters),
        torch.autograd.grad((theirs * weights).sum(), parameters),
        strict=True,
    ):
        assert_close(ours_grad, theirs_grad, rtol=1e-9, atol=1e-9)


def test_fire_depends_on_the_distance_alone_up_to_its_threshold_and_on_the_query_past_it():
    torch.manual_seed(0)
    fire, near = FIRE(4, initial_threshold=100.0).double(), torch.arange(30)
    assert_close(fire.bias(near + 60, near + 60), fire.bias(near, near), rtol=1e-12, atol=1e-12)
    assert (fire.bias(near + 200, near + 200) - fire.bias(near, near)).abs().max() > 1e-3


def test_fire_does_not_depend_on_the_length_of_the_row():
    torch.manual_seed(0)
    fire = FIRE(2, initial_threshold=5.0).double()
    q, k, v = torch.randn(3, 1, 2, 40, 8, dtype=torch.float64)
    steps = indices.consecutive(40)
    whole = attend(q, k, v, query_positions=steps, encoding=fire, mask=Causal())
    for t in (0, 4, 5, 39):
        one = attend(
            q[:, :, t : t + 1],
            k[:, :, : t + 1],
            v[:, :, : t + 1],
            query_positions=steps[t : t + 1],
            key_positions=steps[: t + 1],
            encoding=fire,
            mask=Causal(),
        )
        assert_close(one, whole[:, :, t : t + 1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("make", [lambda: Kerple(2), lambda: Kerple(2, kernel="power"), lambda: FIRE(2)])
def test_a_module_in_bfloat16_still_works_in_float32(make):
    """Only the parameters are rounded; 4,096 and 4,097 are one number in bfloat16."""
    torch.manual_seed(0)
    module = make()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(parameter.bfloat16())
    at, by = torch.tensor([4097]), torch.tensor([0, 1])
    exact = module.bias(at, by)
    assert torch.equal(module.bfloat16().bias(at, by), exact)
    assert exact.dtype is torch.float32
    assert (exact[..., 0] != exact[..., 1]).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Kerple(2, kernel="rbf"), ArgumentError, "kernel: expected 'log' or 'power', got rbf"),
        (lambda: Kerple(0), ArgumentError, "num_heads: expected an integer of at least 1"),
        (
            lambda: Kerple(2).set_coefficients(torch.ones(3), torch.ones(2)),
            ShapeError,
            r"r1: expected \[2\], one a head, got shape \(3,\)",
        ),
        (
            lambda: Kerple(2).set_coefficients(torch.ones(2), torch.tensor([0.0, 1.0])),
            ArgumentError,
            "r2: expected numbers above 0 and below inf",
        ),
        (
            lambda: Kerple(1, kernel="power").set_coefficients(torch.ones(1), torch.tensor([2.5])),
            ArgumentError,
            "r2: expected numbers above 0 and below 2.0",
        ),
        (lambda: Sandwich(4, dim=7), ArgumentError, "dim: expected an even, positive number"),
        (lambda: Sandwich(4, base=0.0), ArgumentError, "base: expected a finite number above 1"),
        (lambda: FIRE(4, hidden_dim=0), ArgumentError, "hidden_dim: expected an integer of at least 1"),
        (lambda: FIRE(4, hidden_dim=2.5), ArgumentTypeError, "hidden_dim: expected an integer"),
        (lambda: FIRE(4, initial_c=0.0), ArgumentError, "initial_c: expected a finite number above 0, got 0.0"),
        (
            lambda: FIRE(4, initial_threshold="L"),
            ArgumentTypeError,
            "initial_threshold: expected a finite number",
        ),
        (
            lambda: FIRE(4).bias(torch.arange(3).half(), torch.arange(3)),
            ArgumentTypeError,
            "query_positions: expected positions",
        ),
    ],
)
def test_bad_settings_are_errors_that_say_what_to_do(call, error, message):
    with pytest.raises(error, match=message):
        call()
