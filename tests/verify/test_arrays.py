"""Subjects of other array libraries are checked like those of torch: right ones pass, wrong ones are named."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import torch

from ordinate.errors import ArgumentError, UnknownNameError
from ordinate.position import Rotary
from ordinate.verify import check_bias, check_embedding, check_rotary
from ordinate.verify.adapters.rotary import adapt_rotary
from ordinate.verify.checks import CHECKERS
from ordinate.verify.isolation import check_in_process
from ordinate.verify.observation import observe
from ordinate.verify.properties.rotary import ON_DEVICE
from ordinate.verify.references.rotation import RotarySettings
from tests.verify.proof.correct import rotation


class Array:
    """Somebody's array, of which nothing is known but that it speaks DLPack."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


def of_dlpack(x: Any, positions: Any) -> Array:
    right = rotation(np)
    return Array(right(np.from_dlpack(x.detach()), np.from_dlpack(positions)))


def test_a_right_rotation_passes_and_a_shifted_one_is_named():
    verdict = check_rotary(rotation(np), arrays="numpy")
    assert verdict.passed, verdict
    for asked in ("gradients", "compile", "module-cast"):
        assert verdict.outcome(asked).status == "not applicable"
    assert "torch" in verdict.outcome("compile").evidence
    verdict = check_rotary(rotation(np, offset=1), arrays="numpy", only=["by-position", "left-padding", "packing"])
    assert verdict.causes[0].id == "starts-at-one"


@pytest.mark.slow
@pytest.mark.parametrize("offset", [0, 1])
def test_rotations_of_jax_in_a_process_of_their_own(offset, tmp_path):
    pytest.importorskip("jax", reason="jax is not installed")
    source = inspect.getsource(rotation).replace("ModuleType", "Any").replace("Callable[..., Any]", "Any")
    text = f"from typing import Any\nimport jax.numpy\n{source}\nrope = rotation(jax.numpy, {offset})\n"
    (tmp_path / "mine.py").write_text(text)
    request = {"subject": f"{tmp_path}/mine.py:rope", "kind": "rotary", "settings": {"arrays": "jax"}}
    verdict = check_in_process(request, seconds=500)
    assert verdict.passed is (offset == 0), verdict
    assert [cause.id for cause in verdict.causes] == ["starts-at-one"] * offset


def test_numpy_has_no_bfloat16_and_that_is_no_fault():
    verdict = check_rotary(rotation(np), arrays="numpy", only=["answers-in-kind", "half-precision"])
    assert verdict.outcome("answers-in-kind").status == "passed"
    assert verdict.outcome("half-precision").evidence == "numpy has no bfloat16"


def test_any_array_that_speaks_dlpack_is_read():
    only = ["linear", "layout", "frequencies", "offsets"]
    assert check_rotary(of_dlpack, arrays="dlpack", only=only).passed
    assert check_rotary(of_dlpack, arrays="auto", only=only).passed
    assert check_rotary(rotation(np), arrays="auto", only=only).passed


def test_what_answers_with_arrays_of_jax_is_asked_with_them():
    jax = pytest.importorskip("jax", reason="jax is not installed")

    def rope(x, positions):  # takes tensors too, and has no float64 to give back
        x, theta = jax.numpy.asarray(x), jax.numpy.asarray(positions)[..., None] * 1e4 ** -(jax.numpy.arange(0, 64, 2) / 64)
        theta = theta[:, None] if theta.ndim == 3 else theta
        a, b = jax.numpy.split(x, 2, -1)
        cos, sin = jax.numpy.cos(theta), jax.numpy.sin(theta)
        return jax.numpy.concatenate((a * cos - b * sin, a * sin + b * cos), -1).astype(x.dtype)

    assert check_rotary(rope, arrays="auto", only=["answers-in-kind"]).passed


def test_biases_and_embeddings_of_numpy():
    def bias(query_length: int, key_length: int) -> np.ndarray:
        steps = np.arange(key_length)
        distance = steps[key_length - query_length :, None] - steps
        return -(2.0 ** -np.arange(1, 9, dtype=np.float32))[:, None, None] * distance.astype(np.float32)

    def embedding(positions: np.ndarray) -> np.ndarray:
        theta = positions[..., None] * 10000.0 ** (-np.arange(0, 64, 2) / 64)
        return np.stack((np.sin(theta), np.cos(theta)), -1).reshape(*positions.shape, 64).astype(np.float32)

    assert check_bias(bias, arrays="numpy", skip=["compile"]).passed
    assert check_embedding(embedding, arrays="numpy", skip=["compile"]).passed


def test_an_unknown_library_and_a_device_that_is_not_there_are_refused():
    with pytest.raises(UnknownNameError, match="arrays"):
        check_rotary(rotation(np), arrays="cupy")
    with pytest.raises(ArgumentError, match="device"):
        check_rotary(Rotary(64, layout="half"), device="nowhere")
    if not torch.cuda.is_available():
        with pytest.raises(ArgumentError, match="device"):
            check_rotary(Rotary(64, layout="half"), device="cuda")


def right(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    frequencies = 10000.0 ** -(torch.arange(0, x.shape[-1], 2, device=x.device) / x.shape[-1])
    theta = positions.to(x.device).float()[..., None] * frequencies
    cos, sin = (table if table.ndim == 2 else table[:, None] for table in (theta.cos(), theta.sin()))
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)


def odd_address(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """A kernel that loads 16 bytes at once from the address below."""
    return right(x.roll(1) if x.data_ptr() % 16 else x, positions)


def wide_rows(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """A kernel that takes the rows for contiguous."""
    return right(x if x.stride(-2) == x.shape[-1] else x.flip(-1), positions)


def many_rows(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """A launch of one block a row and head, of which 65,535 run."""
    turned = right(x, positions)
    return turned if x.shape[0] * x.shape[1] < 1 << 16 else torch.cat((turned[:-1], torch.zeros_like(turned[-1:])))


def padded_heads(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """A kernel that pads heads to a power of two and pairs channels there."""
    wide = 1 << (x.shape[-1] - 1).bit_length()
    return right(torch.nn.functional.pad(x, (0, wide - x.shape[-1])), positions)[..., : x.shape[-1]]


def unsteady(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    unsteady.calls += 1
    return right(x, positions) * (1 + (unsteady.calls % 3) * 1.2e-7)


unsteady.calls = 0


def no_empty_launch(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    if not x.numel():
        raise RuntimeError("invalid configuration argument")
    return right(x, positions)


@pytest.mark.parametrize(
    ("subject", "fails"),
    [
        (right, set()),
        (odd_address, {"addresses"}),
        (wide_rows, {"addresses"}),
        (many_rows, {"many-rows"}),
        (padded_heads, {"head-sizes"}),
        (unsteady, {"repeats"}),
        (no_empty_launch, {"launches"}),
    ],
)
def test_what_devices_show_is_seen(subject, fails):
    """The properties that `--device cuda` adds, asked of the CPU, where faults of kernels are played."""
    settings = RotarySettings.checked(64, None, layout="half")
    adapted = adapt_rotary(subject, settings)
    case = CHECKERS["rotary"].case(adapted, settings)
    results = {asked.id: observe(asked, adapted, case) for asked in ON_DEVICE}
    assert {name for name, result in results.items() if result.status == "failed"} == fails, results
    assert results["streams"].reason == "the device has no streams"


@pytest.mark.slow  # torch imports much for its first operation there
def test_the_meta_device_is_asked_for_shapes_and_dtypes():
    verdict = check_rotary(Rotary(64, layout="half"), device="meta")
    assert verdict.passed, verdict
    assert [outcome.id for outcome in verdict.outcomes if outcome.status == "passed"] == ["launches"]
    assert all("meta device" in one.evidence for one in verdict.outcomes if one.status == "not applicable")

    def halves(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return Rotary(64, layout="half").rotate(x, positions).to(torch.float32 if x.device.type == "cpu" else torch.float16)

    assert not check_rotary(halves, device="meta").passed
