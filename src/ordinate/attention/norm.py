"""RMS norm in few operations: a step of decoding spends as long on starting them as on their work."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import rms_norm

__all__ = ["RMSNorm"]


class RMSNorm(nn.RMSNorm):
    """x / sqrt(mean(x^2) + eps) * weight, over the last axis, worked in float32 or wider.

    torch's own module has a fused kernel for GPUs and is used there. On a CPU it takes eight operations, this takes five, and
    a single token passes in less than half the time.

    Source: Zhang and Sennrich 2019, arXiv 1910.07467, eq. 4.

    >>> RMSNorm(2, 0.0)(torch.tensor([3.0, 4.0]))
    tensor([0.8485, 1.1314], grad_fn=<MulBackward0>)
    """

    def __init__(self, dim: int, eps: float) -> None:
        super().__init__(dim, eps)
        self.dim = dim
        self._floor = torch.tensor(eps, dtype=torch.float64, device="cpu")  # of no dimension, so it widens nothing

    def forward(self, x: Tensor) -> Tensor:
        """[..., dim] to [..., dim], same dtype."""
        if x.device.type != "cpu" or x.dtype in (torch.float16, torch.bfloat16):
            return rms_norm(x, self.normalized_shape, self.weight.to(x.dtype), self.eps)  # under autocast the two differ
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return x * torch.addcmul(self._floor, length, length, value=1 / self.dim).rsqrt_() * self.weight
