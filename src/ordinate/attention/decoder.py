"""`Decoder`: a Llama-shaped language model, small enough to read, with any encoding of the catalogue.

Blocks of x + attention(norm(x)) and x + feed_forward(norm(x)), then a norm and a projection to the vocabulary. Reading other
people's checkpoints is in `checkpoint`, choosing tokens in `generation`.
Sources: Touvron et al. 2023, arXiv 2302.13971, section 2.2; Zhang and Sennrich 2019, arXiv 1910.07467 (RMS norm); Shazeer 2020,
arXiv 2002.05202 (SwiGLU).

A long row can be split over processes (`gather_over`): each holds some of its queries, and keys and values come together layer
by layer. Encodings and masks look at positions, so a shard needs nothing but its own (`indices.shard`, plain or zig-zag), and
the keys' gathered in the same order. The communication is PyTorch's: an all-gather of keys and values that carries gradients
back, as its own context parallelism does for FlexAttention and Llama 3 did in training (Llama team 2024, arXiv 2407.21783,
section 3.3.2). PyTorch's `torch.distributed.tensor.experimental.context_parallel` passes a ring through CUDA kernels and masks
by index; for a CPU it has none (torch 2.13). This way works on both, for packed rows too, at the price of all keys of one layer
in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import torch
import torch.distributed
from torch import Tensor, nn
from torch.nn.functional import linear, silu

from ordinate.arguments import check_integer
from ordinate.attention.backend_selection import Implementation
from ordinate.attention.cache import KVCache
from ordinate.attention.checkpoint import open_checkpoint
from ordinate.attention.encodings import Encoding, as_encodings, cached_width, own_scale, position_axes
from ordinate.attention.generation import generate
from ordinate.attention.layers import MultiHeadAttention
from ordinate.attention.masks import Causal, Documents, Mask, Window
from ordinate.attention.norm import RMSNorm
from ordinate.attention.plan import AttentionPlan, self_attention_plans
from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError
from ordinate.position import indices
from ordinate.position.protocols import adds_to_embeddings
from ordinate.shapes import check_shape

__all__ = ["Block", "Decoder", "Group", "SwiGLU", "gather_over", "load_decoder"]


class SwiGLU(nn.Module):
    """W_down (silu(W_gate x) * W_up x), gate and up in one projection.

    Source: Shazeer 2020, arXiv 2002.05202, eq. 6.
    """

    def __init__(self, dim: int, hidden_dim: int, *, bias: bool = False) -> None:
        super().__init__()
        self.gate_up = nn.Linear(dim, 2 * hidden_dim, bias=bias)
        self.down = nn.Linear(hidden_dim, dim, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """[..., dim] to [..., dim]."""
        both, half = self.gate_up(x), self.down.in_features
        return self.down(silu(both.narrow(-1, 0, half)) * both.narrow(-1, half, half))


class Block(nn.Module):
    """One layer: attention and a feed-forward network, each behind a norm and beside the stream."""

    def __init__(self, dim: int, attention: MultiHeadAttention, hidden_dim: int, norm_eps: float, bias: bool) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(dim, norm_eps)
        self.attention = attention
        self.feed_forward_norm = RMSNorm(dim, norm_eps)
        self.feed_forward = SwiGLU(dim, hidden_dim, bias=bias)

    def forward(self, x: Tensor, batch: int, plan: AttentionPlan, layer: int, only: Tensor | None = None) -> Tensor:
        """The tokens of `batch` rows, [B T, dim] to [B T, dim], under a plan that all layers of its kind share.

        With `only`, numbers of tokens, the others end at attention: they have left their keys, and nobody asks for more.
        """
        x = x + self.attention.planned(self.attention_norm(x), batch, plan, layer)[0]
        if only is not None:
            x = x.index_select(0, only)
        return x + self.feed_forward(self.feed_forward_norm(x))


class Decoder(nn.Module):
    """A causal language model: token numbers to logits.

    Args:
        vocabulary: number of tokens.
        dim: channels of the stream.
        num_layers: blocks.
        num_heads, num_key_value_heads, head_dim: as in `MultiHeadAttention`.
        hidden_dim: channels inside the feed-forward network.
        encoding: any encoding, shared by all layers. One that adds to embeddings is added once, in front of the first.
        windows: keys that a query sees (itself and the nearest before): one number for all layers, or one a layer, None for all
            keys.
        norm_eps: of the RMS norms.
        bias, output_bias, feed_forward_bias: on queries, keys and values; on attention's output; in the feed-forward network.
        query_key_norm: as in `MultiHeadAttention`.
        scale: factor on the products of queries and keys, 1 / sqrt(head_dim) by default.
        tied: use the embedding as the projection to the vocabulary.
        impl: as in `attend`.

    Raises:
        ArgumentError: sizes below 1, heads that do not divide, windows for another number of layers.

    >>> from ordinate.position import Rotary
    >>> model = Decoder(vocabulary=100, dim=32, num_layers=2, num_heads=4, hidden_dim=64, encoding=Rotary(8, layout="half"))
    >>> model(torch.tensor([[1, 2, 3]])).shape
    torch.Size([1, 3, 100])
    >>> model.generate(torch.tensor([[1, 2, 3]]), max_new_tokens=2).shape
    torch.Size([1, 5])
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        dim: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        num_key_value_heads: int | None = None,
        head_dim: int | None = None,
        encoding: Encoding | Sequence[Encoding] | None = None,
        windows: int | Sequence[int | None] | None = None,
        norm_eps: float = 1e-6,
        bias: bool = False,
        output_bias: bool = False,
        feed_forward_bias: bool = False,
        query_key_norm: bool = False,
        scale: float | None = None,
        tied: bool = False,
        impl: Implementation = "auto",
    ) -> None:
        super().__init__()
        for name, size in (("vocabulary", vocabulary), ("num_layers", num_layers), ("hidden_dim", hidden_dim)):
            check_integer(name, size, minimum=1)
        encodings = as_encodings(encoding)
        self.encoding_modules = nn.ModuleList([one for one in encodings if isinstance(one, nn.Module)])
        self.added = tuple(one for one in encodings if adds_to_embeddings(one))
        self.encodings = tuple(one for one in encodings if not adds_to_embeddings(one))
        self.windows = (windows,) * num_layers if isinstance(windows, int) or windows is None else tuple(windows)
        if len(self.windows) != num_layers:
            raise ArgumentError(
                "windows", expected=f"one for each of the {num_layers} layers", got=len(self.windows), hint="None sees all keys"
            )
        self.rules: dict[int | None, Mask] = {keys: Causal() if keys is None else Window(keys) for keys in self.windows}
        self.embedding = nn.Embedding(vocabulary, dim)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            attention = MultiHeadAttention(
                dim,
                num_heads,
                num_key_value_heads=num_key_value_heads,
                head_dim=head_dim,
                bias=bias,
                output_bias=output_bias,
                query_key_norm=query_key_norm,
                norm_eps=norm_eps,
                scale=scale if scale is not None else own_scale(self.encodings),
                impl=impl,
            )
            self.blocks.append(Block(dim, attention, hidden_dim, norm_eps, feed_forward_bias))
        as_encodings(self.encodings, head_dim=attention.head_dim)
        self.norm = RMSNorm(dim, norm_eps)
        self.head = None if tied else nn.Linear(dim, vocabulary, bias=False)
        self.vocabulary, self.dim, self.num_heads, self.impl = vocabulary, dim, num_heads, impl
        for module in self.modules():  # 0.02 as in GPT-2 and Llama's training code; torch's own embeddings are 50 times that
            if isinstance(module, nn.Linear | nn.Embedding) and not any(module is part for part in self.encoding_modules):
                nn.init.normal_(module.weight, std=0.02)

    def forward(
        self,
        input_ids: Tensor,
        positions: Tensor | None = None,
        *,
        token_mask: Tensor | None = None,
        documents: Tensor | None = None,
        cache: KVCache | None = None,
        group: Group | None = None,
        last_only: bool = False,
    ) -> Tensor:
        """Logits [B, T, vocabulary], or [B, 1, vocabulary] of each row's last real token with `last_only`.

        Args:
            input_ids: integers [B, T].
            positions: [T] or [B, T] (with the encoding's axes last). By default 0, 1, 2, ..., padding not counted, or behind
                what the cache holds. Packed and sharded rows must give theirs.
            token_mask: bool [B, T], true where the token is real.
            documents: integers [T] or [B, T], the document of each token in packed rows.
            cache: as `new_cache` makes it; the tokens go in. Under no_grad or inference_mode.
            group: the processes among which the rows are split, see `gather_over`.
            last_only: leave the other tokens' logits out.

        Raises:
            ArgumentError: token numbers outside the vocabulary; a full cache; positions that go backwards in it.
            PositionRangeError: a row longer than a learned table.
            RefusedError: a cache together with documents or a group; a scaling that depends on length, past the trained one.
            ShapeError, ArgumentTypeError: what does not fit.
        """
        sizes = check_shape("input_ids", input_ids, "B T")
        _check_tokens(input_ids, self.vocabulary)
        if token_mask is not None:
            check_shape("token_mask", token_mask, "B T", B=sizes["B"], T=sizes["T"])
        if cache is not None:
            _refuse_in_cache(documents, group)
            cache.check_model(len(self.blocks), sizes["B"], self.embedding.weight)
        if positions is None and (cache is None or token_mask is not None or self.added):
            positions = _usual_positions(input_ids, token_mask, documents, cache, group)
        x = self.embedding(input_ids)
        for one in self.added:
            assert positions is not None
            x = x + one.encode(positions).to(x.dtype)
        plans = self._plans(x, positions, token_mask, documents, cache, group)
        x = x.flatten(0, 1)
        only = _last_tokens(input_ids, token_mask) if last_only else None
        for layer, (block, window) in enumerate(zip(self.blocks, self.windows, strict=True)):
            x = block(x, sizes["B"], plans[window], layer, only if layer + 1 == len(self.blocks) else None)
        next(iter(plans.values())).close()
        x = self.norm(x)
        logits = linear(x, self.embedding.weight) if self.head is None else self.head(x)
        return logits.unflatten(0, (sizes["B"], -1))

    def new_cache(self, batch: int, *, capacity: int | None = None, growing: bool = False, sink_keys: int = 0) -> KVCache:
        """An empty cache for all layers.

        Where every layer has the same window it holds that window and no more, whatever the capacity; where only some have
        one, it holds all keys and the mask hides them.

        Args:
            batch: rows B.
            capacity: tokens a row; may be left out where all layers have a window.
            growing: double the capacity when it is reached.
            sink_keys: first tokens of a row that stay, where all layers have the same window.
        """
        attention = self.blocks[0].attention
        assert isinstance(attention, MultiHeadAttention)
        window = self.windows[0] if len(self.rules) == 1 else None
        if window is None and sink_keys:
            raise ArgumentError(
                "sink_keys", expected="0, since no window makes tokens leave", got=sink_keys, hint="leave it out"
            )
        weight, shared = self.embedding.weight, attention.num_key_value_heads
        return KVCache(
            batch,
            shared,
            cached_width(self.encodings, shared, attention.head_dim, weight),
            capacity=capacity if window is None else None,
            window_keys=window,
            sink_keys=sink_keys,
            growing=growing and window is None,
            value_dim=attention.head_dim,
            num_layers=len(self.blocks),
            axes=position_axes(self.encodings),
            dtype=weight.dtype,
            device=weight.device,
        )

    def generate(self, input_ids: Tensor, *, max_new_tokens: int, **settings: Any) -> Tensor:
        """Token numbers [B, T + new]: the prompts, and what the model goes on with; see `ordinate.attention.generate`."""
        return generate(self, input_ids, max_new_tokens=max_new_tokens, **settings)

    @classmethod
    def from_pretrained(
        cls, directory: str | Path, *, dtype: torch.dtype | None = None, device: torch.device | str = "cpu"
    ) -> Decoder:
        """A Llama, Mistral, Qwen2 or Qwen3 checkpoint from a Hugging Face folder, in evaluation mode.

        Args:
            directory: a folder with config.json and safetensors files.
            dtype: of the parameters; by default as they are stored.
            device: the device to put the model on.

        Raises:
            MissingDataError: no folder, config or safetensors file.
            DataError: a config without a size it must have, or that contradicts itself; a truncated file; tensors that are
                missing, unexpected or of another shape, all of them named.
            RefusedError: another family, another activation, a quantised model.
        """
        checkpoint = open_checkpoint(directory)
        with torch.device("meta"):
            model = cls(**checkpoint.settings)
        checkpoint.check(model)
        model = model.to(dtype or checkpoint.dtype).to_empty(device=device).eval()
        _lay_out_for_single_tokens(model)
        checkpoint.fill(model)
        return model

    def _plans(
        self,
        x: Tensor,
        positions: Tensor | None,
        token_mask: Tensor | None,
        documents: Tensor | None,
        cache: KVCache | None,
        group: Group | None,
    ) -> dict[int | None, AttentionPlan]:
        """What the layers of each window share."""
        gather = None if group is None else gather_over(group)
        rules: list[Mask | None] = []
        for rule in self.rules.values():
            if cache is not None and cache.sink_keys:
                rule = Causal()  # the cache has let go of what is out of the window, the sinks apart
            if documents is not None:
                rule = rule & Documents(documents, None if gather is None else gather(documents, -1))
            rules.append(rule)
        plans = self_attention_plans(
            self.encodings,
            rules,
            positions,
            batch=x.shape[0],
            heads=self.num_heads,
            tokens=x.shape[1],
            dtype=x.dtype,
            impl=self.impl,
            token_mask=token_mask,
            cache=cache,
            gather=gather,
        )
        return dict(zip(self.rules, plans, strict=True))


def _lay_out_for_single_tokens(model: Decoder) -> None:
    """Lay the memory of wide weights out by input channel, which makes the product with one token two to four times as fast.

    BLAS takes the product of a vector and a matrix [out, in] by its rows, each a sum over the inputs, at a third of the
    memory's speed; by its columns it reaches it. The weights stay what they are in every other respect; `state_dict` gives
    them in the usual layout.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding) and module.weight.device.type == "cpu":
            rows, columns = module.weight.shape
            if (
                rows > columns
                and module.weight.dtype is torch.float32
                and (module is not model.embedding or model.head is None)
            ):
                module.weight = nn.Parameter(torch.empty(columns, rows, dtype=module.weight.dtype).t())
    model.register_state_dict_post_hook(_usual_layout)


def _usual_layout(module: nn.Module, state_dict: dict[str, Any], prefix: str, metadata: Any) -> None:
    for name, tensor in state_dict.items():
        state_dict[name] = tensor.contiguous()


def load_decoder(directory: str | Path, *, dtype: torch.dtype | None = None, device: torch.device | str = "cpu") -> Decoder:
    """A checkpoint as a `Decoder`: the same as `Decoder.from_pretrained`.

    >>> model = load_decoder("Qwen2.5-0.5B")  # doctest: +SKIP
    >>> load_decoder("nowhere")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ordinate.errors.MissingDataError: nowhere: expected a folder with config.json, got none; ...
    """
    return Decoder.from_pretrained(directory, dtype=dtype, device=device)


def _check_tokens(input_ids: Tensor, vocabulary: int) -> None:
    """Raise unless `input_ids` are integers from 0 to vocabulary - 1 (looked at in eager mode on a CPU)."""
    if input_ids.dtype not in (torch.int64, torch.int32):
        raise ArgumentTypeError("input_ids", expected="token numbers, int64", got=str(input_ids.dtype), hint="call .long()")
    if torch.compiler.is_compiling() or input_ids.device.type != "cpu" or input_ids.numel() == 0:
        return  # on a device the embedding's own check speaks up
    lowest, highest = (int(end) for end in input_ids.aminmax())
    if lowest < 0 or highest >= vocabulary:
        raise ArgumentError(
            "input_ids",
            expected=f"token numbers from 0 to {vocabulary - 1}",
            got=lowest if lowest < 0 else highest,
            hint="the tokenizer and the model must belong together",
        )


def _refuse_in_cache(documents: Tensor | None, group: Group | None) -> None:
    """Raise where rows that go into a cache are packed or split."""
    if documents is not None or group is not None:
        raise RefusedError(
            "cache",
            expected="rows that are neither packed nor split",
            got="documents" if documents is not None else "a group",
            hint="generate each document in a row of its own, on one process",
        )


def _usual_positions(
    input_ids: Tensor, token_mask: Tensor | None, documents: Tensor | None, cache: KVCache | None, group: Group | None
) -> Tensor:
    """0, 1, 2, ... for the real tokens of every row, or what follows in the cache; packed and split rows must give theirs."""
    if documents is not None or group is not None:
        raise ArgumentError(
            "positions",
            expected="the positions of packed or sharded rows",
            got=None,
            hint="pass indices.from_lengths(lengths), or indices.shard(positions, rank, world_size)",
        )
    if token_mask is None:
        tokens = input_ids.shape[1]
        return indices.consecutive(tokens, device=input_ids.device) if cache is None else cache.following(tokens)
    steps = indices.from_mask(token_mask)
    if cache is None:
        return steps
    return cache.following(1) + (steps if cache.axes is None else steps.unsqueeze(-1))


def _last_tokens(input_ids: Tensor, token_mask: Tensor | None) -> Tensor:
    """[B]: the place of each row's last real token among the tokens of all rows."""
    batch, tokens = input_ids.shape
    starts = torch.arange(0, batch * tokens, tokens, device=input_ids.device)
    if token_mask is None:
        return starts + tokens - 1
    return starts + torch.where(token_mask.bool(), torch.arange(tokens, device=input_ids.device), 0).amax(-1)


Group: TypeAlias = "torch.distributed.ProcessGroup"


def gather_over(group: Group) -> Callable[[Tensor, int], Tensor]:
    """What joins a tensor with those of the other processes of `group`, by rank, along an axis: (tensor, axis) -> tensor.

    Every process must hold as many tokens. The gradient of a process's tensor is summed over what all make of it, so a loss
    that each process takes over its own tokens adds up: parameters' gradients are then summed over the group, as with data
    parallelism.

    Raises:
        RefusedError: torch.distributed is not initialised.
    """
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        raise RefusedError(
            "group",
            expected="a process group of torch.distributed",
            got="no processes: it is not initialised",
            hint="call torch.distributed.init_process_group, and start the program with torchrun",
        )
    import torch.distributed._functional_collectives as collectives  # slow to import, and few need it

    if hasattr(collectives, "all_gather_single"):  # torch 2.13 renamed it, and gave it gradients
        plain = carrying = collectives.all_gather_single
    else:
        plain, carrying = collectives.all_gather_tensor, collectives.all_gather_tensor_autograd

    def gather(tensor: Tensor, axis: int) -> Tensor:
        sent = tensor.to(torch.uint8) if tensor.dtype is torch.bool else tensor
        all_gather = carrying if sent.is_floating_point() else plain
        joined = collectives.wait_tensor(all_gather(sent.movedim(axis, 0).contiguous(), 0, group))
        return joined.movedim(0, axis).to(tensor.dtype)

    return gather
