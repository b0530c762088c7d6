import math

import pytest
import torch
from torch.testing import assert_close

from ordinate.errors import ArgumentError
from ordinate.position import LearnedRotary, Rotary


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("settings", [{}, {"rotary_dim": 6, "rotated_channels": "last", "base": 500.0}])
def test_before_learning_it_is_the_fixed_one(layout, settings):
    x, steps = torch.randn(2, 3, 40, 16), torch.arange(40) * 100
    learned, fixed = LearnedRotary(16, layout=layout, **settings), Rotary(16, layout=layout, **settings)
    assert_close(learned.rotate(x, steps), fixed.rotate(x, steps), rtol=0, atol=1e-6)


def test_the_gradient_reaches_every_correction_and_is_that_of_finite_differences():
    rotary = LearnedRotary(8, layout="half").double()
    x, steps = torch.randn(1, 2, 5, 8, dtype=torch.float64), torch.arange(5)

    def turned(correction):
        return torch.func.functional_call(Wrapped(rotary), {"rotary.log_correction": correction}, (x, steps))

    start = torch.tensor([0.0, 0.1, -0.2, 0.3], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(turned, (start,))


class Wrapped(torch.nn.Module):
    def __init__(self, rotary):
        super().__init__()
        self.rotary = rotary

    def forward(self, x, steps):
        return self.rotary.rotate(x, steps)


def test_it_finds_the_frequency_that_the_data_was_turned_with():
    torch.manual_seed(0)
    true, learned = Rotary(2, layout="half"), LearnedRotary(2, layout="half")
    x, steps = torch.randn(1, 1, 3, 2), torch.arange(3)
    wanted = true.rotate(x, steps * 2)  # as if the frequency were 2 instead of 1
    with torch.no_grad():
        learned.log_correction.fill_(0.5)
    optimiser = torch.optim.LBFGS(learned.parameters(), max_iter=60, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        loss = (learned.rotate(x, steps) - wanted).square().sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    assert learned.inverse_frequencies().item() == pytest.approx(2.0, abs=1e-4)


def test_a_cast_to_half_precision_rounds_the_correction_and_never_the_ladder():
    rotary = LearnedRotary(128, layout="half").bfloat16()
    cos, _ = rotary.tables(torch.tensor([30_000]))
    exact = [math.cos(30_000 * 10000 ** (-2 * i / 128)) for i in range(64)]
    assert (cos[0].double() - torch.tensor(exact, dtype=torch.float64)).abs().max() <= 6e-8


def test_resetting_goes_back_to_the_ladder():
    rotary = LearnedRotary(8, layout="half")
    with torch.no_grad():
        rotary.log_correction.fill_(1.0)
    assert rotary.inverse_frequencies()[0].item() == pytest.approx(math.e)
    rotary.reset_parameters()
    assert rotary.inverse_frequencies().tolist() == Rotary(8, layout="half").inverse_frequencies().tolist()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"layout": "neox"}, "layout"),
        ({"layout": "half", "rotary_dim": 5}, "rotary_dim: .* got 5; use 4"),
        ({"layout": "half", "rotary_dim": 18}, r"rotary_dim: expected at most head_dim \(16\)"),
        ({"layout": "half", "base": 1.0}, "base"),
        ({"layout": "half", "rotated_channels": "none"}, "rotated_channels"),
    ],
)
def test_bad_settings_are_named(settings, words):
    with pytest.raises(ArgumentError, match=words):
        LearnedRotary(16, **settings)
