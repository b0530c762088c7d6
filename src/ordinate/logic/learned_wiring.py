"""A wiring that is learned: each gate input chooses among a few candidate signals.

In training an input is the softmax mixture of its candidates, or the best one with the gradient of the mixture; in evaluation
it is the best one. Bacellar et al. 2024, "Differentiable Weightless Neural Networks" (arXiv 2410.11112, learnable mapping), and
Yue and Jha 2024 (arXiv 2407.00198) learn wirings so.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from ordinate.errors import ArgumentError

__all__ = ["LearnedWiring"]


class LearnedWiring(nn.Module):
    """Candidates of each gate input, and how much each is wanted.

    Args:
        in_features: signals to choose from.
        out_features: gates.
        candidates: signals each input chooses among, all different within a gate.
        hard: forward the best candidate alone, with the gradient of the mixture.
        temperature: divides the wishes.
        seed: of the candidates and of the first wishes.

    Raises:
        ArgumentError: more candidates than half of the signals.

    >>> LearnedWiring(20, 3, candidates=4).wiring().shape
    torch.Size([2, 3])
    """

    candidates: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        candidates: int = 8,
        hard: bool = False,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if not 1 <= candidates <= in_features // 2:
            raise ArgumentError(
                "candidates",
                expected=f"1 to {in_features // 2}, half of the {in_features} signals",
                got=candidates,
                hint="the two inputs of a gate choose among different signals",
            )
        self.hard, self.temperature = hard, temperature
        generator = np.random.default_rng(seed)
        drawn = generator.random((out_features, in_features)).argpartition(2 * candidates - 1, axis=1)[:, : 2 * candidates]
        drawn = generator.permuted(drawn, axis=1).reshape(out_features, 2, candidates).transpose(1, 0, 2)
        self.register_buffer("candidates", torch.from_numpy(np.ascontiguousarray(drawn).astype(np.int64)))
        wishes = torch.randn(2, out_features, candidates, generator=torch.Generator().manual_seed(seed))
        self.wishes = nn.Parameter(0.1 * wishes)

    def wiring(self) -> Tensor:
        """The discrete wiring, int64 [2, out_features]: the most wanted candidates."""
        return self.candidates.gather(-1, self.wishes.detach().argmax(-1, keepdim=True)).squeeze(-1)

    def mixed(self, x: Tensor) -> Tensor:
        """What the inputs read in training: [F, B] to [2 out_features, B], all first inputs, then all second ones."""
        shares = torch.softmax(self.wishes / self.temperature, -1)
        if self.hard:
            best = torch.zeros_like(shares).scatter_(-1, shares.argmax(-1, keepdim=True), 1.0)
            shares = best + (shares - shares.detach())
        read = x[self.candidates.flatten(0, 1)]  # [2 out, candidates, B]
        return torch.bmm(shares.flatten(0, 1).unsqueeze(1), read).squeeze(1)
