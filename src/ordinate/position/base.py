"""What the modules of each interface share: `forward`, their main method, and a repr that is the call that made them.

Also two questions about where code runs: whether values may be looked at, and whether a transform of functions is at work.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from ordinate.records import repr_from_signature

__all__ = [
    "AddedEncoding",
    "PositionEncoding",
    "QueryKeyEncoding",
    "ScoreBias",
    "full_precision",
    "under_transform",
    "values_at_hand",
]

Arguments = ParamSpec("Arguments")


def values_at_hand(tensor: Tensor) -> bool:
    """Whether the values of a tensor may be looked at: not in a graph that is captured, on the meta device or under `vmap`.

    >>> values_at_hand(torch.arange(3)), values_at_hand(torch.arange(3, device="meta"))
    (True, False)
    """
    if torch.compiler.is_compiling() or tensor.is_meta:
        return False
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        if torch._C._functorch.is_batchedtensor(tensor):
            return False
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return True


def under_transform() -> bool:
    """Whether a transform of functions is at work (`vmap`, `grad`, `jvp`), which sees plain operations only."""
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


def full_precision(method: Callable[Arguments, Tensor]) -> Callable[Arguments, Tensor]:
    """The method of a module without autocast: score terms are formed in float32 or wider, whatever surrounds them."""

    @functools.wraps(method)
    def wrapped(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Tensor:
        device = next(value.device.type for value in (*args, *kwargs.values()) if isinstance(value, Tensor))
        if device == "meta" or not torch.is_autocast_enabled(device):
            return method(*args, **kwargs)
        with torch.autocast(device, enabled=False):
            return method(*args, **kwargs)

    return wrapped


class PositionEncoding(nn.Module):
    """A module whose repr is the call that made it; settings are kept under the names of the arguments."""

    def _passed(self) -> dict[str, Any]:
        """Arguments whose stored value differs from the one passed (a default worked out from the others): what to show."""
        return {}

    def __repr__(self) -> str:
        return repr_from_signature(self, **self._passed())


class AddedEncoding(PositionEncoding):
    """An encoding with `encode`; called on embeddings, it adds its vectors to them."""

    def encode(self, positions: Tensor, *, dtype: Any = None) -> Tensor:
        """Vectors [T, D] or [B, T, D] of `positions`."""
        raise NotImplementedError

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """x [B, T, D], or heads [B, H, T, D], plus the vectors of its positions, in the dtype of `x`."""
        vectors = self.encode(positions, dtype=x.dtype)
        return x + (vectors.unsqueeze(1) if vectors.ndim == 3 and x.ndim == 4 else vectors)


class QueryKeyEncoding(PositionEncoding):
    """An encoding with `rotate_query` and `rotate_key`; called on both, it returns both."""

    def rotate_query(self, query: Tensor, positions: Tensor) -> Tensor:
        """query [B, H, T, D] at its positions."""
        raise NotImplementedError

    def rotate_key(self, key: Tensor, positions: Tensor) -> Tensor:
        """key [B, G, S, D] at its positions."""
        raise NotImplementedError

    def forward(
        self, query: Tensor, key: Tensor, query_positions: Tensor, key_positions: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """`rotate_query` and `rotate_key`; keys stand at the positions of the queries where they have none of their own."""
        key_positions = query_positions if key_positions is None else key_positions
        return self.rotate_query(query, query_positions), self.rotate_key(key, key_positions)


class ScoreBias(PositionEncoding):
    """An encoding with `bias`, which is what a call returns."""

    needs_content: bool = False

    def bias(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """A bias that broadcasts to [B, H, T, S]."""
        raise NotImplementedError

    def forward(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float | None = None,
        **others: Any,
    ) -> Tensor:
        """`bias`, with the same arguments."""
        return self.bias(query_positions, key_positions, query, key, scale, **others)
