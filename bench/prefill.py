"""A whole row through one layer of attention, beside torch's kernel with the same projections and nothing else.

"bare" is what a reader would write by hand: one product for queries, keys and values, `scaled_dot_product_attention` with
is_causal, one product for the output; "bare, turned" has queries and keys rotated by transformers' formula in between. Ours
does the same with positions checked, the mask made from them, and the rotation of the encoding. Beside them a whole decoder
against transformers'. Interleaved, medians. Run: python bench/prefill.py
"""

from __future__ import annotations

import argparse
import json

import torch
from generation import models
from interleaved import median_seconds
from torch import Tensor
from torch.nn.functional import linear, scaled_dot_product_attention

from ordinate.attention import Causal, MultiHeadAttention
from ordinate.lab.machine import machine, versions
from ordinate.position import Rotary, indices

MAY_TAKE = 1.05


def bare(layer: MultiHeadAttention, x: Tensor, tables: tuple[Tensor, Tensor] | None) -> Tensor:
    heads, shared = layer.num_heads, layer.num_key_value_heads
    projected = linear(x, layer.query_key_value.weight).unflatten(-1, (heads + 2 * shared, layer.head_dim)).transpose(1, 2)
    query, key, value = projected.split((heads, shared, shared), dim=1)
    if tables is not None:
        query, key = turned(query, *tables), turned(key, *tables)
    out = scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=heads != shared)
    return linear(out.transpose(1, 2).flatten(2), layer.output.weight)


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def measure(dim: int, heads: int, shared: int, tokens: int, batch: int, rounds: int, clock: str) -> dict[str, object]:
    torch.manual_seed(0)
    plain = MultiHeadAttention(dim, heads, num_key_value_heads=shared).eval()
    rotary = MultiHeadAttention(dim, heads, num_key_value_heads=shared, encoding=Rotary(dim // heads, layout="half")).eval()
    x, steps, mask = torch.randn(batch, tokens, dim), indices.consecutive(tokens), Causal()

    def with_tables() -> Tensor:
        cos, sin = rotary.encodings[0].tables(steps)  # type: ignore[union-attr]
        return bare(rotary, x, (torch.cat((cos, cos), dim=-1), torch.cat((sin, sin), dim=-1)))

    ways = {
        "bare": lambda: bare(plain, x, None),
        "ordinate": lambda: plain(x, steps, mask=mask),
        "bare, turned": with_tables,
        "ordinate, turned": lambda: rotary(x, steps, mask=mask),
    }
    with torch.inference_mode():
        torch.testing.assert_close(ways["ordinate"](), ways["bare"](), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(ways["ordinate, turned"](), ways["bare, turned"](), rtol=1e-4, atol=1e-5)
        seconds = median_seconds(ways, rounds, clock=clock)
    ratios = {
        "plain": seconds["ordinate"] / seconds["bare"],
        "turned": seconds["ordinate, turned"] / seconds["bare, turned"],
    }
    return {
        "size": f"{batch} x {tokens} tokens, {dim} channels, {heads} heads, {shared} key-value heads",
        "milliseconds": {name: round(1000 * spent, 2) for name, spent in seconds.items()},
        "ratios": {name: round(ratio, 3) for name, ratio in ratios.items()},
        "reached": max(ratios.values()) <= MAY_TAKE,
    }


def decoders(rounds: int, clock: str) -> dict[str, object]:
    theirs, ours = models("256 x 6")
    ids = torch.randint(1, 4096, (1, 512), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        ways = {"transformers": lambda: theirs(ids, logits_to_keep=1), "ordinate": lambda: ours(ids, last_only=True)}
        seconds = median_seconds(ways, rounds, clock=clock)
    return {
        "size": "a decoder of 6 layers and 256 channels, 512 tokens",
        "milliseconds": {name: round(1000 * spent, 2) for name, spent in seconds.items()},
        "ratios": {"ordinate / transformers": round(seconds["ordinate"] / seconds["transformers"], 3)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rows = [
        measure(*size, arguments.rounds, arguments.clock)
        for size in ((256, 8, 8, 512, 1), (512, 8, 8, 512, 1), (512, 8, 2, 512, 4), (512, 8, 8, 2048, 1))
    ]
    rows.append(decoders(arguments.rounds, arguments.clock))
    print(f"float32, {arguments.threads} thread(s), {arguments.clock} time")
    for row in rows:
        print(f"{row['size']}: {row['milliseconds']} ms, ratios {row['ratios']}")
    print(json.dumps({"benchmark": "prefill", "machine": machine(), "versions": versions(), "rows": rows}))


if __name__ == "__main__":
    main()
