"""Trees at many places against the formula gate by gate, compiled and not; pooling against torch's."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ordinate.logic.kernels.trees import largest_of_windows, relaxed_trees


def by_hand(x: Tensor, numbers: Tensor, leaves: Tensor) -> Tensor:
    """The formula, kernel by kernel and gate by gate."""
    roots = []
    for kernel in range(leaves.shape[0]):
        for place in range(leaves.shape[1]):
            values, gate = [x[leaf] for leaf in leaves[kernel, place]], 0
            while len(values) > 1:
                above = []
                for a, b in zip(values[::2], values[1::2], strict=True):
                    a0, a1, a2, a3 = numbers[kernel, gate]
                    above.append(a0 + a1 * a + a2 * b + a3 * a * b)
                    gate += 1
                values = above
            roots.append(values[0])
    return torch.stack(roots)


def drawn(dtype: torch.dtype, *, depth: int, batch: int, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(7, batch, generator=generator, dtype=dtype, requires_grad=True)
    numbers = torch.randn(3, 2**depth - 1, 4, generator=generator, dtype=dtype, requires_grad=True)
    leaves = torch.randint(0, 7, (3, 4, 2**depth), generator=generator)  # a gate may read one signal twice
    return x, numbers, leaves, torch.randn(12, batch, generator=generator, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@settings(max_examples=10, deadline=None)
@given(depth=st.integers(1, 4), batch=st.integers(1, 5), seed=st.integers(0, 99))
def test_values_and_gradients_are_those_of_the_formula(dtype: torch.dtype, depth: int, batch: int, seed: int) -> None:
    x, numbers, leaves, slope = drawn(dtype, depth=depth, batch=batch, seed=seed)
    found, expected = relaxed_trees(x, numbers, leaves), by_hand(x, numbers, leaves)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    ours = torch.autograd.grad((found * slope).sum(), (x, numbers))
    theirs = torch.autograd.grad((expected * slope).sum(), (x, numbers))
    torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("wants", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("batch", [1, 128, 300])  # less than a tile, a whole one, some and a rest
def test_compiled_trees_and_layers_of_gates_agree_in_every_gradient(
    wants: tuple[bool, bool], batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba", reason="needs the extra fast")
    x, numbers, leaves, slope = drawn(torch.float32, depth=3, batch=batch, seed=1)
    x, numbers = x.detach().requires_grad_(wants[0]), numbers.detach().requires_grad_(wants[1])
    asked = [tensor for tensor in (x, numbers) if tensor.requires_grad]
    compiled = relaxed_trees(x, numbers, leaves)
    ours = torch.autograd.grad((compiled * slope).sum(), asked)
    monkeypatch.setattr("ordinate.logic.kernels.gates._HAS_KERNELS", False)
    torch.testing.assert_close(relaxed_trees(x, numbers, leaves), compiled, rtol=1e-4, atol=1e-4)
    theirs = torch.autograd.grad((relaxed_trees(x, numbers, leaves) * slope).sum(), asked)
    torch.testing.assert_close(theirs, ours, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("size", "stride"), [(1, 1), (2, 2), (2, 1), (3, 2), (2, 3)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_pooling_and_its_gradient_are_those_of_torch(size: int, stride: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(size)
    # few values, so that many windows have several largest
    x = torch.randint(0, 3, (2, 7, 6, 5), generator=generator).to(dtype).requires_grad_()
    found = largest_of_windows(x, size, stride)
    expected = torch.nn.functional.max_pool2d(x.movedim(-1, 0), size, stride).movedim(0, -1)
    assert torch.equal(found, expected)
    slope = torch.randint(1, 9, found.shape, generator=generator).to(dtype)  # whole numbers: sums are exact in any order
    assert torch.equal(*(torch.autograd.grad((pooled * slope).sum(), x)[0] for pooled in (found, expected)))
