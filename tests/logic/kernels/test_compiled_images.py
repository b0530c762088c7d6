"""Signals that lie image by image: compiled loops on eight images at once give what torch gives, of any size and layout."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

pytest.importorskip("numba", reason="needs the extra fast")

from ordinate.logic import LogicDense
from ordinate.logic.kernels.gates import relaxed_gates, signals_of


def formula(x: Tensor, numbers: Tensor, wiring: Tensor) -> Tensor:
    """All gates on images [B, F], in double precision."""
    first, second = x.double()[:, wiring[0]], x.double()[:, wiring[1]]
    a0, a1, a2, a3 = numbers.double().T
    return a0 + a1 * first + a2 * second + a3 * first * second


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(1, 20), st.integers(2, 20), st.integers(0, 99))
def test_values_and_gradients_are_those_of_the_formula(gates: int, images: int, signals: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(images, signals, generator=generator, requires_grad=True)
    numbers = torch.randn(gates, 4, generator=generator, requires_grad=True)
    wiring = torch.randint(0, signals, (2, gates), generator=generator)  # a gate may read one signal twice
    slope = torch.randn(images, gates, generator=generator)
    ours = relaxed_gates(x.T, numbers, wiring).T
    theirs = formula(x, numbers, wiring)
    torch.testing.assert_close(ours, theirs.float())
    found = torch.autograd.grad((ours * slope).sum(), (x, numbers))
    wanted = torch.autograd.grad((theirs * slope).sum(), (x, numbers))
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("wants", [(True, False), (False, True)])
def test_one_gradient_alone_is_the_same_as_with_the_other(wants: tuple[bool, bool]) -> None:
    x, numbers, slope = torch.rand(21, 30), torch.rand(50, 4), torch.rand(21, 50)
    wiring = torch.randint(0, 30, (2, 50))

    def gradients(wanted: tuple[bool, bool]) -> list[Tensor | None]:
        given = [part.clone().requires_grad_(want) for part, want in zip((x, numbers), wanted, strict=True)]
        (relaxed_gates(given[0].T, given[1], wiring).T * slope).sum().backward()
        return [part.grad for part in given]

    both, alone = gradients((True, True)), gradients(wants)
    for whole, part, want in zip(both, alone, wants, strict=True):
        assert (part is not None) == want
        assert part is None or torch.equal(part, whole)


def test_answers_lie_as_the_images_do_and_no_copy_is_kept() -> None:
    images = torch.rand(16, 40)
    signals = signals_of(images)
    assert signals.data_ptr() == images.data_ptr()
    layer = LogicDense(40, 24)
    assert layer(images).is_contiguous()
    assert layer(images.T.contiguous().T).T.is_contiguous()


def test_a_gradient_in_the_other_layout_is_taken_too() -> None:
    x, numbers, wiring, slope = (
        torch.rand(9, 11, requires_grad=True),
        torch.rand(13, 4),
        torch.randint(0, 11, (2, 13)),
        torch.rand(9, 13),
    )
    plain = torch.autograd.grad((relaxed_gates(x.T, numbers, wiring).T * slope).sum(), x)[0]
    turned = torch.autograd.grad((relaxed_gates(x.T, numbers, wiring) * slope.T.contiguous()).sum(), x)[0]
    assert torch.equal(plain, turned)
