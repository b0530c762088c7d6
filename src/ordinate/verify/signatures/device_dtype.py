"""Faults of where numbers are kept: buffers that casts spoil, tables that an empty device loses, results in another dtype."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ordinate.position.rotary import Rotary
from ordinate.position.rotation import rotate_pairs
from ordinate.verify.references.ladders import magnitude
from ordinate.verify.references.rotation import RotarySettings, angles, frequencies, turned
from ordinate.verify.signatures.rotations import Both, alike, turn
from ordinate.verify.signatures.signature import signature

__all__: list[str] = []

DEVICE = "device and dtype"


class _Buffered(nn.Module):
    """Inverse frequencies in a buffer, so they follow every cast."""

    persistent = False

    def __init__(self, s: RotarySettings) -> None:
        super().__init__()
        self.s = s
        self.register_buffer("inv_freq", frequencies(s).float(), persistent=self.persistent)
        self.inv_freq: Tensor

    def forward(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        theta = self.s.sign * positions.double().unsqueeze(-1) * self.inv_freq.double()
        return turn(query, positions, self.s, theta=theta), turn(key, positions, self.s, theta=theta)


@signature(
    "frequencies-in-a-buffer",
    family=DEVICE,
    kind="rotary",
    read=Rotary,
    says="inverse frequencies in a buffer outside the state dict: a cast rounds them, an empty device loses them",
    seen="transformers 5.24: cosine off by 1.99; transformers#45902, gpt-neox#1168",
)
class _Transient(_Buffered):
    persistent = False


@signature(
    "frequencies-in-the-state-dict",
    family=DEVICE,
    kind="rotary",
    read=Rotary,
    says="inverse frequencies in the state dict: a cast rounds them, and a checkpoint brings back another base's",
    seen="x-transformers, older Llama checkpoints",
)
class _Persistent(_Buffered):
    persistent = True


@signature(
    "frequencies-in-a-parameter",
    family=DEVICE,
    kind="rotary",
    read=Rotary,
    says="inverse frequencies kept as a parameter, which a cast rounds for good",
    seen="rotary-embedding-torch 0.9.1",
)
class _Learned(_Buffered):
    def __init__(self, s: RotarySettings) -> None:
        super().__init__(s)
        rates = self.inv_freq
        del self.inv_freq
        self.inv_freq = nn.Parameter(rates, requires_grad=False)


@signature(
    "tables-in-a-buffer",
    family=DEVICE,
    kind="rotary",
    read=Rotary,
    says="tables of cosine and sine in a buffer outside the state dict: a cast rounds them, an empty device loses them",
    seen="",
)
class _Tables(nn.Module):
    def __init__(self, s: RotarySettings) -> None:
        super().__init__()
        self.s = s
        theta = angles(s, torch.arange(32_768), 1)
        self.register_buffer("cos", theta.cos().float(), persistent=False)
        self.register_buffer("sin", theta.sin().float(), persistent=False)
        self.cos: Tensor
        self.sin: Tensor

    def forward(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        theta = torch.atan2(self.sin[positions].double(), self.cos[positions].double())
        factor = (self.sin[positions].double().square() + self.cos[positions].double().square()).sqrt()

        def one(x: Tensor) -> Tensor:
            first = turned(x, positions, self.s, theta=theta)
            scale = torch.ones_like(first)
            from ordinate.verify.references.rotation import pairs

            a, b = pairs(self.s)
            shown = factor.unsqueeze(-3) if factor.ndim == 3 else factor
            scale[..., a] = scale[..., b] = shown.expand(*first.shape[:-1], shown.shape[-1])
            return (first * scale).to(x.dtype)

        return one(query), one(key)


@signature(
    "comes-back-in-float32",
    family=DEVICE,
    kind="rotary",
    read=rotate_pairs,
    says="a half-precision input promoted to float32 on its way out",
    seen="float32 tables times bfloat16 queries",
)
def _(s: RotarySettings) -> Both:
    return alike(lambda x, positions: turned(x, positions, s).to(torch.promote_types(x.dtype, torch.float32)))


@signature(
    "comes-back-in-float64",
    family=DEVICE,
    kind="rotary",
    read=rotate_pairs,
    says="every result in float64",
    seen="tables made with numpy",
)
def _(s: RotarySettings) -> Both:
    return alike(lambda x, positions: turned(x, positions, s))


@signature(
    "input-overwritten",
    family=DEVICE,
    kind="rotary",
    read=Rotary.rotate,
    says="the result written over the input",
    seen="in-place kernels without out=",
)
def _(s: RotarySettings) -> Both:
    def one(x: Tensor, positions: Tensor) -> Tensor:
        result = turn(x, positions, s)
        with torch.no_grad():
            x.copy_(result)
        return result

    return alike(one)


@signature(
    "gradient-lost",
    family=DEVICE,
    kind="rotary",
    read=rotate_pairs,
    says="the right numbers without a gradient",
    seen="torch.no_grad or .data around the rotation",
)
def _(s: RotarySettings) -> Both:
    return alike(lambda x, positions: turn(x.detach(), positions, s))


@signature(
    "gradient-not-turned-back",
    family=DEVICE,
    kind="rotary",
    read=rotate_pairs,
    says="a backward pass that turns the gradient forwards once more",
    seen="custom autograd functions",
)
def _(s: RotarySettings) -> Both:
    def one(x: Tensor, positions: Tensor) -> Tensor:
        result: Tensor = _Forwards.apply(x, positions, s)
        return result

    return alike(one)


class _Forwards(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: Tensor, positions: Tensor, s: RotarySettings) -> Tensor:
        ctx.kept = positions, s  # type: ignore[attr-defined]
        return turn(x, positions, s, factor=magnitude(s.scaling))

    @staticmethod
    def backward(ctx: object, gradient: Tensor) -> tuple[Tensor, None, None]:
        positions, s = ctx.kept  # type: ignore[attr-defined]
        return turn(gradient, positions, s), None, None
