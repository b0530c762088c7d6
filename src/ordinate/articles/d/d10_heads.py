"""D10. The article: multi-head, grouped-query and multi-query attention; the cache shrinks accordingly.

What varies is the number G of key-value heads under 32 query heads. A token's keys and values take 2 G D numbers. With one head
a group the layer must be plain multi-head attention, compared with torch's own; a grouped layer must be the multi-head layer
whose keys and values are repeated, and the reverse cannot be had. Where transformers is installed, a Llama-shaped model is held
against its implementation.

D10's Llama-shaped model beside the reference implementation, which is the one in transformers (arXiv 2302.13971).
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from ordinate.attention import Causal, Decoder, MultiHeadAttention
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, boxes, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import indices

__all__ = ["CLAIM", "heads", "llama_difference", "measure"]

CLAIM = Claim(
    id="D10",
    title="Heads, shared or not",
    place="D744-756, D758-967",
    statement=(
        "Multi-head attention is most expressive and has a large KV cache, multi-query attention shares one pair of "
        "keys and values and makes it much smaller, grouped-query attention lies between; as in Llama's code."
    ),
    setup="same",
    setup_detail="Llama's shape against the implementation in transformers where it is installed",
    varies="the number of key-value heads, of 32 query heads",
    band=(
        "bytes a token in proportion to the key-value heads, exactly; one head a group equals torch's multi-head layer to 1e-12"
    ),
    budget_seconds=40,
)

_HEADS, _HEAD_DIM, _SHARED, _HELD = 32, 128, (32, 8, 4, 1), 64
_SMALL_DIM, _SMALL_HEADS, _TOKENS = 32, 4, 12

Layer = Callable[..., MultiHeadAttention]


def measure(inputs: Inputs) -> Measurement:
    """Claim D10 on the package's layers, and on transformers' Llama where that is installed."""
    return heads(MultiHeadAttention, inputs.seeds[0], llama_difference(inputs.seeds[0]))


def heads(make: Layer, seed: int, llama: float | None) -> Measurement:
    """Claim D10 on any layer.

    Args:
        make: (dim, num_heads, num_key_value_heads=, head_dim=) to a layer with `new_cache`.
        seed: of weights and tokens.
        llama: the largest difference of logits from the reference implementation; None where there is none to ask.
    """
    measured = [_cache_bytes(make, shared) for shared in _SHARED]
    by_hand = [2 * shared * _HEAD_DIM * 2 for shared in _SHARED]
    torch.manual_seed(seed)
    x = torch.randn(2, _TOKENS, _SMALL_DIM, dtype=torch.float64)
    with torch.no_grad():
        plain = make(_SMALL_DIM, _SMALL_HEADS, num_key_value_heads=_SMALL_HEADS).double()
        from_torch = _largest(_run(plain, x) - _by_torch(plain, x))
        grouped = make(_SMALL_DIM, _SMALL_HEADS, num_key_value_heads=2).double()
        repeated = _largest(_run(grouped, x) - _run(_repeated(make, grouped), x))
        shared_one = make(_SMALL_DIM, _SMALL_HEADS, num_key_value_heads=1).double()
        repeated_one = _largest(_run(shared_one, x) - _run(_repeated(make, shared_one), x))
        # the best grouped layer for a plain one's keys and values, as published for turning one into the other: their means
        squeezed = _largest(_run(plain, x) - _run(_averaged(make, plain), x))
    checks = [
        *(
            Check.near(f"bytes a token in the cache, {shared} key-value heads, 16 bit", result, expected, 0)
            for shared, result, expected in zip(_SHARED, measured, by_hand, strict=True)
        ),
        Check.at_most("difference of one head a group from torch's multi-head attention", from_torch, 1e-12),
        Check.at_most("difference of two groups from a multi-head layer that repeats keys and values", repeated, 1e-12),
        Check.at_most("difference of one shared head from the same", repeated_one, 1e-12),
        Check.at_least(
            "difference of a multi-head layer from one whose heads are averaged in pairs", squeezed, 0.01, role=Role.CONTROL
        ),
    ]
    untested = []
    if llama is None:
        untested.append(("a Llama-shaped block beside the reference implementation", "transformers is not installed"))
    else:
        checks.append(
            Check.at_most("difference of logits from transformers' Llama, float32", llama, 1e-4, role=Role.GENERALISATION)
        )
    ratio = measured[0] / measured[-1]
    beside = "" if llama is None else f" A Llama-shaped model with two groups gives transformers' logits to {llama:.0e}."
    return Measurement(
        checks=checks,
        key_figure=f"{measured[0]:,} bytes a token and layer with 32 key-value heads, {measured[1]:,} with 8, {measured[-1]:,} "
        "with 1",
        meaning={
            Verdict.REPRODUCED: f"The cache shrinks exactly with the key-value heads, {ratio:.0f} times for one. With one head "
            "a group the grouped layer is multi-head attention, number for number. Every grouped layer is a multi-head layer "
            "with repeated keys and values, so multi-head can express whatever the others can; the reverse fails, a layer "
            "whose heads differ cannot be had from shared ones by averaging them, which is why models are trained on after the "
            f"change.{beside} How much quality the sharing costs is not measured here.",
        },
        inputs=f"the cache: {_HEADS} query heads of {_HEAD_DIM} channels, bfloat16; equality: {_SMALL_HEADS} heads, {_TOKENS} "
        "tokens, causal, float64",
        tables=[
            Table(
                f"Cache of one layer, {_HEADS} query heads of {_HEAD_DIM} channels in 16 bit",
                ("kind", "key-value heads", "bytes a token", "MiB for 8,192 tokens", "of multi-head"),
                [
                    (_kind(shared), shared, result, result * 8192 / 2**20, result / measured[0])
                    for shared, result in zip(_SHARED, measured, strict=True)
                ],
            )
        ],
        figures=[_steps(), _picture(measured)],
        untested=untested,
    )


def _kind(shared: int) -> str:
    return {_HEADS: "multi-head", 1: "multi-query"}.get(shared, f"grouped, {shared} groups")


def _cache_bytes(make: Layer, shared: int) -> int:
    """Bytes a token of the cache that a layer of the full size makes for itself."""
    with torch.device("meta"):  # the projections are not needed: 67 million numbers
        layer = make(_HEADS * _HEAD_DIM, _HEADS, num_key_value_heads=shared, head_dim=_HEAD_DIM).bfloat16()
    return int(layer.new_cache(1, capacity=_HELD).nbytes) // _HELD


def _run(layer: MultiHeadAttention, x: Tensor) -> Tensor:
    return layer(x, indices.consecutive(x.shape[1]), mask=Causal())


def _largest(difference: Tensor) -> float:
    return float(difference.abs().max())


def _by_torch(layer: MultiHeadAttention, x: Tensor) -> Tensor:
    """torch's own layer with the same weights."""
    other = nn.MultiheadAttention(_SMALL_DIM, _SMALL_HEADS, bias=False, batch_first=True, dtype=x.dtype)
    other.in_proj_weight.copy_(layer.query_key_value.weight)
    other.out_proj.weight.copy_(layer.output.weight)
    ahead = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
    output: Tensor = other(x, x, x, attn_mask=ahead, need_weights=False)[0]
    return output


def _split(layer: MultiHeadAttention) -> tuple[Tensor, Tensor]:
    """W_Q [H D, C], and W_K and W_V as [2, G, D, C]."""
    wide = layer.num_heads * layer.head_dim
    weight = layer.query_key_value.weight
    return weight[:wide], weight[wide:].reshape(2, layer.num_key_value_heads, layer.head_dim, -1)


def _with(make: Layer, layer: MultiHeadAttention, query: Tensor, shared: Tensor) -> MultiHeadAttention:
    other = make(layer.dim, layer.num_heads, num_key_value_heads=shared.shape[1]).double()
    other.query_key_value.weight.copy_(torch.cat((query, shared.flatten(0, 2))))
    other.output.weight.copy_(layer.output.weight)
    return other


def _repeated(make: Layer, layer: MultiHeadAttention) -> MultiHeadAttention:
    """The multi-head layer whose heads have their group's keys and values."""
    query, shared = _split(layer)
    return _with(make, layer, query, shared.repeat_interleave(layer.num_heads // layer.num_key_value_heads, dim=1))


def _averaged(make: Layer, layer: MultiHeadAttention) -> MultiHeadAttention:
    """The layer of half as many key-value heads, each the mean of two (Ainslie et al. 2023, arXiv 2305.13245, section 2.1)."""
    query, shared = _split(layer)
    return _with(make, layer, query, shared.unflatten(1, (-1, 2)).mean(2))


def _picture(measured: list[int]) -> Figure:
    lengths = [2**power for power in range(10, 18)]
    with canvas(height=3.0) as (figure, axes):
        for shared, result, series in zip(_SHARED, measured, SERIES, strict=False):
            sizes = [result * 32 * length / 2**30 for length in lengths]
            axes.plot(lengths, sizes, **series, label=f"{_kind(shared)}: {result:,} bytes")
        axes.set(
            title="Cache of 32 layers, one row; bytes a token and layer",
            xlabel="tokens in the row",
            ylabel="GiB",
            xscale="log",
            yscale="log",
        )
        axes.set_xticks(lengths[::2], [f"{length:,}" for length in lengths[::2]])
        axes.minorticks_off()
        axes.grid(axis="y")
        axes.set_ylim(top=40 * measured[0] * 32 * lengths[-1] / 2**30)
        axes.legend(loc="upper left", ncols=2)
    return Figure(
        "cache",
        to_svg(figure),
        caption="What the cache of a model with 32 such layers takes in 16 bit, by the length of the row; both axes "
        "logarithmic.",
        alt="Four parallel rising lines, from multi-head at the top over grouped to multi-query, 32 times lower.",
    )


def _steps() -> Figure:
    """Every step of the article's listing with its shape: B rows, T tokens, S keys held, H query and G key-value heads."""
    across = {"query": (0.16, "queries"), "key": (0.5, "keys"), "value": (0.84, "values")}
    places = {"x\n[B, T, H D]": (0.5, 0.95)}
    arrows = []
    for name, (x, plural) in across.items():
        heads = "H" if name == "query" else "G"
        column = [f"{plural} = x W_{name[0]}\n[B, T, {heads}, D]"]
        if name != "value":
            column.append(f"turned by position (RoPE)\n[B, T, {heads}, D]#{name}")
        if name != "query":
            column.append(f"kept in the cache, read back\n[B, S, G, D]#{name}")
            column.append(f"each for H / G queries\n[B, H, S, D]#{name}")
        heights = {"query": (0.78, 0.62), "key": (0.78, 0.62, 0.46, 0.3), "value": (0.78, 0.46, 0.3)}[name]
        places |= {text: (x, y) for text, y in zip(column, heights, strict=True)}
        arrows += [("x\n[B, T, H D]", column[0], ""), *((one, other, "") for one, other in itertools.pairwise(column))]
    scores, result = "softmax(Q K^T / sqrt(D) + mask)\n[B, H, T, S]", "weights V, heads side by side, W_o\n[B, T, H D]"
    places |= {scores: (0.2, 0.13), result: (0.72, 0.13)}
    turned, keys, values = list(places)[2], list(places)[6], list(places)[9]
    arrows += [(turned, scores, ""), (keys, scores, ""), (scores, result, ""), (values, result, "")]
    with canvas(height=5.0) as (figure, axes):
        boxes(axes, places, arrows, accents=(turned, scores))
    return Figure(
        "steps",
        to_svg(figure),
        caption="The listing's steps and the shapes between them: B rows, T new tokens, S keys in the cache, H query heads, G "
        "key-value heads, D channels a head. Only queries and keys are turned; values carry no position.",
        alt="From x to queries, keys and values; queries and keys are turned by position; keys and values go through the "
        "cache and are repeated; scores by softmax; weights times values; the output projection.",
    )


def llama_difference(seed: int) -> float | None:
    """The largest difference of logits between our decoder and transformers' Llama with the same drawn weights.

    Two layers, four query heads in two groups, float32; the weights go through a checkpoint on disk. None where transformers or
    safetensors is not installed.
    """
    try:
        from safetensors.torch import save_file
        from transformers.models.llama import LlamaConfig, LlamaForCausalLM
    except ImportError:
        return None
    settings = {"vocab_size": 97, "hidden_size": 32, "intermediate_size": 64, "max_position_embeddings": 64}
    shape = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        # weights of 0.2, ten times the usual: at 0.02 all logits would be near 0 and agree by themselves
        reference = LlamaForCausalLM(LlamaConfig(**settings, **shape, initializer_range=0.2)).eval()
        tokens = torch.randint(97, (2, 40))
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        reference.config.save_pretrained(folder)
        save_file(reference.state_dict(), Path(folder) / "model.safetensors")
        ours = Decoder.from_pretrained(folder, dtype=torch.float32)
        return float((ours(tokens) - reference(tokens).logits).abs().max())
