"""`KVCache`: keys, values and positions of the tokens seen so far, for one layer or for all layers of a model.

Positions are part of it, so that it is known how far each key is from a query; rows may have different lengths, and padding
never gets in. A cache never overflows or wraps in silence: without a window a token too many is an error or, where asked for,
growth by doubling; with a window the oldest tokens leave, and a chunk sees exactly what its tokens would have seen one by
one. Sources: Shazeer 2019, arXiv 1911.02150 (incremental decoding); Xiao et al. 2023, arXiv 2309.17453 (sinks).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import pad

from ordinate.arguments import check_integer
from ordinate.attention.cache_positions import CachePositions, Slots, write_slots
from ordinate.errors import ArgumentError, ArgumentTypeError, DataError, RefusedError, ShapeError
from ordinate.safetensors_io import read_tensors, write_tensors
from ordinate.shapes import check_shape

__all__ = ["CacheView", "Chunk", "KVCache"]

_METADATA_KEY = "ordinate.KVCache"


@dataclass(frozen=True)
class CacheView:
    """What attention sees of a cache after new tokens went in.

    Args:
        keys, values: [B, G, S, D] and [B, G, S, V], views of the cache where they can be: the next append changes them.
        positions: [B, S], or [B, S, A] where positions have axes.
        visible: bool [B or 1, T or 1, S], false for slots that are empty or out of reach; None where all are seen.
    """

    keys: Tensor
    values: Tensor
    positions: Tensor
    visible: Tensor | None


@dataclass(frozen=True)
class Chunk:
    """New tokens on their way into all layers of a cache: between `KVCache.open` and `KVCache.close`.

    Args:
        slots: where they go.
        new_positions: of the new tokens, [B, T] or [B, T, A].
        token_mask: bool [B, T], or None where every token is real.
        positions: as in `CacheView`.
        first: these tokens and no others are what their queries see, in rising order.
    """

    slots: Slots
    new_positions: Tensor
    token_mask: Tensor | None
    positions: Tensor
    first: bool

    @property
    def visible(self) -> Tensor | None:
        """As in `CacheView`."""
        return self.slots.visible


class KVCache:
    """Preallocated keys and values, with the position of each.

    Args:
        batch: rows B.
        num_key_value_heads: heads G of keys and values.
        head_dim: channels D of a key as it is cached (PoPE doubles them).
        capacity: tokens that fit, a row; not with `window_keys`.
        window_keys: keep only the last so many tokens of each row, those of `sink_keys` apart.
        sink_keys: with a window, the first so many tokens of each row stay for good.
        growing: double the capacity when it is reached, instead of raising.
        value_dim: channels V of a value, by default D.
        num_layers: layers that share positions and lengths.
        axes: numbers in a position, for encodings with several axes; None for plain positions.
        dtype, device: of keys and values; torch's defaults otherwise.

    Raises:
        ArgumentError: sizes below 1; both a capacity and a window, or neither; sinks or growth that make no sense.

    >>> cache = KVCache(1, 2, 8, capacity=16)
    >>> view = cache.append(torch.ones(1, 2, 3, 8), torch.ones(1, 2, 3, 8), torch.arange(3))
    >>> view.keys.shape, view.positions.tolist(), cache.lengths.tolist()
    (torch.Size([1, 2, 3, 8]), [[0, 1, 2]], [3])
    """

    def __init__(
        self,
        batch: int,
        num_key_value_heads: int,
        head_dim: int,
        *,
        capacity: int | None = None,
        window_keys: int | None = None,
        sink_keys: int = 0,
        growing: bool = False,
        value_dim: int | None = None,
        num_layers: int = 1,
        axes: int | None = None,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        value_dim = head_dim if value_dim is None else value_dim
        sizes = {"batch": batch, "num_key_value_heads": num_key_value_heads, "head_dim": head_dim, "value_dim": value_dim}
        sizes["num_layers"] = num_layers
        optional = {"capacity": capacity, "window_keys": window_keys, "axes": axes}
        for name, size in (sizes | {name: size for name, size in optional.items() if size is not None}).items():
            check_integer(name, size, minimum=1)
        if (capacity is None) == (window_keys is None):
            raise ArgumentError(
                "capacity",
                expected="either capacity or window_keys",
                got=f"capacity={capacity}, window_keys={window_keys}",
                hint="a window holds window_keys + sink_keys tokens, however long the row",
            )
        check_integer("sink_keys", sink_keys, minimum=0)
        if sink_keys and not window_keys:
            raise ArgumentError("sink_keys", expected="0 without window_keys, since no token leaves", got=sink_keys)
        if growing and window_keys is not None:
            raise ArgumentError("growing", expected="False with window_keys", got=growing, hint="a window does not grow")
        slots = (window_keys or 0) + sink_keys if capacity is None else capacity
        with torch.inference_mode(False):  # a cache made while generating may be used outside of it
            shape = (batch, num_key_value_heads, slots)
            self._keys = [torch.zeros(*shape, head_dim, dtype=dtype, device=device) for _ in range(num_layers)]
            self._values = [torch.zeros(*shape, value_dim, dtype=dtype, device=device) for _ in range(num_layers)]
        self.growing = growing
        self._positions = CachePositions(
            batch, slots, window_keys=window_keys, sink_keys=sink_keys, axes=axes, device=self.device
        )
        self._open: Chunk | None = None

    batch = property(lambda self: self._keys[0].shape[0], doc="Rows B.")
    num_layers = property(lambda self: len(self._keys), doc="Layers that share positions and lengths.")
    capacity = property(lambda self: self._keys[0].shape[2], doc="Tokens that fit, a row; in a window the sinks included.")
    window_keys = property(lambda self: self._positions.window_keys, doc="Tokens that stay, the sinks apart; None for all.")
    sink_keys = property(lambda self: self._positions.sink_keys, doc="First tokens of a row that stay for good.")
    axes = property(lambda self: self._positions.axes, doc="Numbers in a position, or None.")
    dtype = property(lambda self: self._keys[0].dtype, doc="Of keys and values.")
    device = property(lambda self: self._keys[0].device, doc="Where keys, values and positions live.")

    @property
    def nbytes(self) -> int:
        """Bytes of keys and values, used or not."""
        return sum(tensor.nbytes for tensor in (*self._keys, *self._values))

    @property
    def lengths(self) -> Tensor:
        """Tokens that each row has seen, int64 [B]; in a window that may be more than it holds."""
        return torch.tensor(self._positions.counts, device=self.device)

    @property
    def num_cached(self) -> int:
        """Tokens that the longest row holds."""
        return min(max(self._positions.counts), self.capacity)

    def following(self, tokens: int) -> Tensor:
        """Positions of the next `tokens` text tokens, [B, T] or [B, T, A]: they count on from the last one of each row."""
        return self._positions.following(tokens)

    def append(self, key: Tensor, value: Tensor, positions: Tensor, *, token_mask: Tensor | None = None) -> CacheView:
        """Put new tokens in, at the cost of those tokens alone, whatever the cache holds.

        Args:
            key: [B, G, T, D], with every encoding already applied.
            value: [B, G, T, V].
            positions: of the new tokens, [T] or [B, T] (with an axis A more where the cache has `axes`).
            token_mask: bool [B, T], true where the token is real; padding is left out.

        Raises:
            ArgumentError: a full cache, positions that do not rise.
            ShapeError, ArgumentTypeError: another batch, other heads, dtype or device.
            RefusedError: a cache of several layers (see `open`), keys that carry a gradient.
        """
        if self.num_layers != 1:
            raise RefusedError(
                "cache", expected="a cache of one layer", got=f"{self.num_layers} layers", hint="use open, write and close"
            )
        self.check(key, value)
        chunk = self.open(positions, token_mask=token_mask)
        keys, values = self.write(0, chunk, key, value)
        self.close(chunk)
        return CacheView(keys, values, chunk.positions, chunk.visible)

    def check(self, key: Tensor, value: Tensor) -> None:
        """Raise unless keys and values [B, G, T, D] of this kind can go in."""
        for name, new, store in (("key", key, self._keys[0]), ("value", value, self._values[0])):
            if new.dtype != store.dtype or new.device != store.device:
                raise ArgumentTypeError(
                    name,
                    expected=f"the cache's {store.dtype} on {store.device}",
                    got=f"{new.dtype} on {new.device}",
                    hint="make the cache with the model's dtype and device, or move it with to()",
                )
            if new.ndim != 4 or new.shape[:2] != store.shape[:2] or new.shape[-1] != store.shape[-1]:
                raise ShapeError(
                    name,
                    expected=f"a tensor [B G T D] with B={store.shape[0]}, G={store.shape[1]}, D={store.shape[-1]}",
                    got=f"shape {tuple(new.shape)}",
                    hint="make one for this batch and model",
                )
            if new.requires_grad and torch.is_grad_enabled():
                raise RefusedError(
                    name,
                    expected="keys and values without a gradient",
                    got="some that carry one",
                    hint="use a cache under torch.inference_mode() or torch.no_grad(), and train without one",
                )

    def check_model(self, num_layers: int, batch: int, weight: Tensor) -> None:
        """Raise unless this cache is for so many layers and rows, of the dtype (autocast apart) and device of `weight`."""
        if self.num_layers != num_layers or self.batch != batch:
            raise ShapeError(
                "cache",
                expected=f"layers and batch of the model: {num_layers} and {batch}",
                got=f"{self.num_layers} and {self.batch}",
                hint="make one with new_cache(batch, ...)",
            )
        differs = self.dtype != weight.dtype and not torch.is_autocast_enabled(weight.device.type)
        if differs or self.device != weight.device:
            raise ArgumentTypeError(
                "cache",
                expected=f"the model's {weight.dtype} on {weight.device}",
                got=f"{self.dtype} on {self.device}",
                hint="make one with new_cache(...) after moving the model, or move it with to()",
            )

    def open(self, positions: Tensor, *, tokens: int | None = None, token_mask: Tensor | None = None) -> Chunk:
        """Assign slots to new tokens in all layers: then `write` each layer, then `close`. Raises as `append`.

        Args:
            positions, token_mask: as in `append`.
            tokens: how many there are, where that is known apart from their positions.
        """
        token_mask = None if token_mask is None else token_mask.to(self.device, torch.bool)
        return self._opened(self._positions.checked(positions, token_mask, tokens), token_mask)

    def open_following(self, tokens: int) -> Chunk:
        """`open` for the next `tokens` text tokens at the positions of `following`, which need no check."""
        return self._opened(self._positions.following(tokens), None)

    def _opened(self, new: Tensor, token_mask: Tensor | None) -> Chunk:
        if self._open is not None:
            raise RefusedError(
                "cache",
                expected="a window whose last append was finished",
                got="one that an error interrupted after tokens had been overwritten",
                hint="reset() it and fill it again",
            )
        if self.window_keys is None:
            counts = self._positions.counts
            added = [new.shape[1]] * self.batch if token_mask is None else token_mask.sum(-1).tolist()
            self._make_room(max(count + more for count, more in zip(counts, added, strict=True)))
        first = token_mask is None and max(self._positions.counts) == 0
        slots, seen = self._positions.assign(new, token_mask)
        chunk = Chunk(slots, new, token_mask, seen, first and slots.span is not None)
        if self.window_keys is not None and max(slots.totals) > self.capacity:
            self._open = chunk  # it takes the slots of tokens that are still needed: there is no way back
        return chunk

    def write(self, layer: int, chunk: Chunk, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Put keys and values of one layer into their slots; returns what attention sees. `check` has been called."""
        return write_slots(self._keys[layer], chunk.slots, key), write_slots(self._values[layer], chunk.slots, value)

    def close(self, chunk: Chunk) -> None:
        """Count the tokens of `chunk`: all layers have been written."""
        self._positions.count(chunk.slots, chunk.new_positions, chunk.token_mask)
        self._open = None

    def contents(self, layer: int = 0) -> CacheView:
        """What a layer holds, for queries that add nothing (cross-attention)."""
        positions, counts = self._positions.positions, self._positions.counts
        if positions is None or min(counts) == 0:
            raise ArgumentError("cache", expected="at least one token in every row", got=counts, hint="append the keys first")
        cached = self.num_cached
        visible = None
        if min(counts) < cached:
            visible = (torch.arange(cached, device=self.device) < self.lengths.unsqueeze(-1)).unsqueeze(-2)
        return CacheView(self._keys[layer][:, :, :cached], self._values[layer][:, :, :cached], positions[:, :cached], visible)

    def reset(self) -> None:
        """Forget every token; the memory stays."""
        self._open = None
        old = self._positions
        self._positions = CachePositions(
            self.batch,
            self.capacity,
            window_keys=old.window_keys,
            sink_keys=old.sink_keys,
            axes=old.axes,
            device=old.device,
        )

    def select(self, rows: Tensor) -> None:
        """Make row i what row `rows[i]` was: the reorder of a beam search, or a change of the batch.

        Args:
            rows: integers [B'], each a row of the cache; rows may repeat.

        Raises:
            ArgumentTypeError: rows that are not integers.
            ArgumentError: a row that the cache does not have, or no row.
        """
        check_shape("rows", rows, "B")
        if rows.dtype not in (torch.int64, torch.int32):
            raise ArgumentTypeError("rows", expected="integers", got=str(rows.dtype), hint="pass the numbers of the beams")
        chosen = rows.tolist()
        if not chosen or min(chosen) < 0 or max(chosen) >= self.batch:
            raise ArgumentError("rows", expected=f"rows from 0 to {self.batch - 1}", got=chosen, hint="count within the batch")
        rows = rows.to(self.device)
        with torch.inference_mode(False):
            self._each(lambda layer: layer.index_select(0, rows))
            self._positions.select(rows)

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> KVCache:
        """Move it, and cast keys and values; positions keep their dtype. In place, as a module's `to`; returns itself."""
        with torch.inference_mode(False):
            self._each(lambda layer: layer.to(device, dtype))
            self._positions.to(self.device)
        return self

    def save(self, path: str | Path) -> None:
        """Write settings, lengths, positions, keys and values to one safetensors file.

        Slots that are empty in every row are left out.
        """
        place, cached = self._positions, self.num_cached
        tensors = {
            name: torch.stack([layer[:, :, :cached] for layer in layers])
            for name, layers in (("keys", self._keys), ("values", self._values))
        }
        if place.positions is not None and place.last is not None:
            tensors |= {"positions": place.positions[:, :cached], "last": place.last}
        settings = {
            "capacity": None if place.window_keys else place.capacity,
            "window_keys": place.window_keys,
            "sink_keys": place.sink_keys,
            "axes": place.axes,
            "growing": self.growing,
            "counts": place.counts,
        }
        write_tensors(path, tensors, {_METADATA_KEY: json.dumps(settings)})

    @classmethod
    def load(cls, path: str | Path, *, device: torch.device | str | None = None) -> KVCache:
        """The cache that `save` wrote.

        Raises:
            MissingDataError: no such file.
            DataError: a truncated file, or one that holds no cache.
        """
        tensors, metadata = read_tensors(path)
        try:
            settings = json.loads(metadata[_METADATA_KEY])
            keys, values, counts = tensors["keys"], tensors["values"], settings.pop("counts")
        except (KeyError, ValueError) as error:
            raise DataError(
                str(path), expected="a file that KVCache.save wrote", got=f"one without {error}", hint="models go to Decoder"
            ) from error
        num_layers, batch, heads, _, head_dim = keys.shape
        cache = cls(
            batch,
            heads,
            head_dim,
            value_dim=values.shape[4],
            num_layers=num_layers,
            dtype=keys.dtype,
            device=device,
            **settings,
        )
        for stores, saved in ((cache._keys, keys), (cache._values, values)):
            for store, layer in zip(stores, saved, strict=True):
                store[:, :, : layer.shape[2]] = layer.to(cache.device)
        if "positions" in tensors:
            cache._positions.restore(counts, tensors["positions"], tensors["last"])
        return cache

    def _make_room(self, needed: int) -> None:
        if needed <= self.capacity:
            return
        if not self.growing:
            raise ArgumentError(
                "cache",
                expected=f"at most {self.capacity} tokens a row",
                got=f"{needed}, of which {max(self._positions.counts)} were there",
                hint="make it with a larger capacity, with growing=True, or with window_keys and lose the oldest",
            )
        more = max(needed, 2 * self.capacity) - self.capacity
        with torch.inference_mode(False):
            self._each(lambda layer: pad(layer, (0, 0, 0, more)))
        self._positions.grow(more)

    def _each(self, change: Callable[[Tensor], Tensor]) -> None:
        self._keys, self._values = [change(layer) for layer in self._keys], [change(layer) for layer in self._values]

    def __repr__(self) -> str:
        size = (
            f"window_keys={self.window_keys}, sink_keys={self.sink_keys}" if self.window_keys else f"capacity={self.capacity}"
        )
        return (
            f"KVCache({self.batch}, {self._keys[0].shape[1]}, {self._keys[0].shape[3]}, {size}, "
            f"num_layers={self.num_layers}, dtype={self.dtype}, num_cached={self.num_cached})"
        )
