"""Counts the bytes that torch holds while something runs, which B5, C6 and D10 measure memory with.

Every storage that an operation makes is counted from its making to its end, so the peak is the algorithm's own, whatever the
allocator keeps and whatever ran before.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

__all__ = ["LiveBytes"]


class LiveBytes(TorchDispatchMode):
    """Within `with LiveBytes() as live:` counts the bytes of new storages; `live.peak` is the most at any one time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._seen: set[int] = set()

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), options: Mapping[str, Any] | None = None
    ) -> Any:
        inputs = {id(x.untyped_storage()) for x in tree_leaves((arguments, options)) if isinstance(x, Tensor)}
        result = function(*arguments, **(options or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor):
                storage = tensor.untyped_storage()
                key = storage.data_ptr()
                if key and key not in self._seen and id(storage) not in inputs:
                    self._seen.add(key)
                    self.now += storage.nbytes()
                    weakref.finalize(storage, self._gone, key, storage.nbytes())
        self.peak = max(self.peak, self.now)
        return result

    def _gone(self, key: int, size: int) -> None:
        self._seen.discard(key)
        self.now -= size
