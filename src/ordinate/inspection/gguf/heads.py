"""The heads of one kind of layer of a GGUF file, and what a token of it leaves in llama.cpp's cache."""

from __future__ import annotations

from ordinate.inspection.gguf.keys import Keys
from ordinate.inspection.provenance import Value, unknown
from ordinate.inspection.record import Attention

__all__ = ["Heads"]


class Heads:
    """Reads heads and widths layer by layer.

    Args:
        keys: the file's metadata.
        num_layers: of the stack.
        hidden: channels of the embedding.
    """

    def __init__(self, keys: Keys, num_layers: int, hidden: Value) -> None:
        self.keys, self.hidden = keys, hidden
        self.query = keys.counts("attention.head_count", num_layers)
        self.key_value = keys.counts("attention.head_count_kv", num_layers)

    def counted(self, index: int) -> tuple[int | None, int | None]:
        """Query heads and key-value heads of a layer as the file counts them."""
        return tuple(None if counts is None else counts[0][index] for counts in (self.query, self.key_value))  # type: ignore[return-value]

    def of(self, index: int, recurrent: str, windowed: bool) -> Attention:
        keys = self.keys
        heads = _of_layer(self.query, index) or unknown("no attention.head_count")
        kv_heads = _of_layer(self.key_value, index) or (
            Value(heads.value, "family", "llama.cpp's default: as many as query heads") if heads.known else heads
        )
        if recurrent:
            none = Value(None, "derived", f"a {recurrent} layer keeps no keys")
            state = self._state_width() if recurrent != "no attention" else Value(0, "derived", "the layer keeps nothing")
            return Attention(
                Value(recurrent, "derived", "no key-value heads, or the architecture's rhythm"),
                heads,
                kv_heads,
                none,
                none,
                _zero(),
                state,
            )
        key, value = (self._width(which, heads, windowed) for which in ("key", "value"))
        rank = keys.count("attention.kv_lora_rank")
        if rank is not None:
            return self._latent_attention(heads, rank, key, value)
        sort = "multi-head" if heads.value == kv_heads.value else "multi-query" if kv_heads.value == 1 else "grouped-query"
        known = kv_heads.known and key.known and value.known
        width = (
            Value(kv_heads.value * (key.value + value.value), "derived", "key-value heads * (key width + value width)")
            if known
            else unknown("a head's width or number is unknown")
        )
        told = Value(sort, "derived", "query heads and key-value heads") if kv_heads.known else unknown("no head counts")
        return Attention(told, heads, kv_heads, key, value, width, _zero())

    def _width(self, which: str, heads: Value, windowed: bool) -> Value:
        keys = self.keys
        told = (keys.count(f"attention.{which}_length_swa") if windowed else None) or keys.count(f"attention.{which}_length")
        if told is not None:
            return told
        if not heads.known or not heads.value or not self.hidden.known:
            return unknown(f"no attention.{which}_length, and embedding_length / head_count cannot be formed")
        return Value(self.hidden.value // heads.value, "derived", "embedding_length / attention.head_count")

    def _latent_attention(self, heads: Value, rank: Value, key: Value, value: Value) -> Attention:
        """DeepSeek's: newer files keep the latent itself, files of before May 2025 have no *_mla keys and keep whole heads."""
        keys = self.keys
        full_key, full_value = keys.count("attention.key_length_mla"), keys.count("attention.value_length_mla")
        turned = keys.count("rope.dimension_count")
        sort = Value("multi-head latent", "derived", rank.detail)
        if full_key is not None and full_value is not None and turned is not None:
            width = Value(rank.value + turned.value, "derived", f"{rank.detail} + {turned.detail}")
            return Attention(sort, heads, heads, full_key, full_value, width, _zero())
        keys.find(
            "latent-cache-expanded",
            "info",
            "the file has no *_length_mla keys: llama.cpp caches whole heads instead of the latent",
            {f"{self.keys.architecture}.attention.key_length_mla": None},
            "convert again for a far smaller cache",
        )
        whole = heads.value * (key.value + value.value) if heads.known and key.known and value.known else None
        width = Value(whole, "derived", "query heads * (key width + value width)") if whole else unknown("no head widths")
        return Attention(sort, heads, heads, key, value, width, _zero())

    def _state_width(self) -> Value:
        """Numbers one recurrent layer keeps: llama.cpp's n_embd_r + n_embd_s."""
        keys = self.keys
        short = keys.count("shortconv.l_cache")
        if short is not None and self.hidden.known:
            return Value(self.hidden.value * (short.value - 1), "derived", f"embedding_length * ({short.detail} - 1)")
        if (head := keys.count("wkv.head_size")) is not None and self.hidden.known:
            shifts = keys.count("token_shift_count") or Value(2, "family", "llama.cpp's default")
            width = self.hidden.value * (head.value + shifts.value)
            return Value(width, "derived", f"embedding_length * ({head.detail} + token_shift_count)")
        inner, state, kernel = (keys.count(f"ssm.{name}") for name in ("inner_size", "state_size", "conv_kernel"))
        if inner is None or state is None or kernel is None:
            return unknown("no ssm.inner_size, ssm.state_size and ssm.conv_kernel")
        groups = keys.count("ssm.group_count", 0)
        rolled = (kernel.value - 1) * (inner.value + 2 * (groups.value if groups else 0) * state.value)
        formula = "(ssm.conv_kernel - 1) (ssm.inner_size + 2 ssm.group_count ssm.state_size) + ssm.inner_size ssm.state_size"
        return Value(rolled + inner.value * state.value, "derived", formula)


def _of_layer(counts: tuple[tuple[int, ...], Value] | None, index: int) -> Value | None:
    if counts is None:
        return None
    listed, value = counts
    return Value(listed[index], "file", f"{value.detail}[{index}]" if isinstance(value.value, list) else value.detail)


def _zero() -> Value:
    return Value(0, "derived", "none kept")
