"""One token of decoding: making the tables and turning 32 query heads and 8 key heads, near and far out.

Ours in three ways: `rotate` for each, `rotate_both`, and `tables` once with `rotate_pairs`. Peers make their tables too, as
they do for each token: transformers' module and `apply_rotary_pos_emb`, rotary-embedding-torch's `rotate_queries_or_keys`,
x-transformers' module and function. One process, one thread, interleaved, medians. Run: python bench/decode.py
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable

import torch
from interleaved import median_seconds
from torch import Tensor

from ordinate.lab.machine import machine, versions
from ordinate.position import Rotary, rotate_pairs

HEAD_DIM = 128
Ways = dict[str, Callable[[], object]]


def ours(layout: str, query: Tensor, key: Tensor, position: Tensor) -> Ways:
    rotary = Rotary(HEAD_DIM, layout=layout)  # type: ignore[arg-type]

    def shared_tables() -> object:
        cos, sin = rotary.tables(position)
        return [rotate_pairs(x, cos, sin, layout=layout) for x in (query, key)]  # type: ignore[arg-type]

    return {
        f"{layout}: rotate, rotate": lambda: (rotary.rotate(query, position), rotary.rotate(key, position)),
        f"{layout}: rotate_both": lambda: rotary.rotate_both(query, key, position),
        f"{layout}: tables, rotate_pairs": shared_tables,
    }


def peers(query: Tensor, key: Tensor, position: Tensor) -> Ways:
    """The same by others; a library that is missing is left out."""
    ways: Ways = {}
    try:
        from transformers import LlamaConfig
        from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

        config = LlamaConfig(hidden_size=4096, num_attention_heads=32, num_key_value_heads=8, head_dim=HEAD_DIM)
        module, row = LlamaRotaryEmbedding(config), position[None]
        ways["transformers"] = lambda: apply_rotary_pos_emb(query, key, *module(query, row))
    except ImportError:
        pass
    try:
        from rotary_embedding_torch import RotaryEmbedding

        other, offset = RotaryEmbedding(HEAD_DIM), int(position)
        ways["rotary-embedding-torch"] = lambda: [other.rotate_queries_or_keys(x, offset=offset) for x in (query, key)]
    except ImportError:
        pass
    try:
        from x_transformers.x_transformers import RotaryEmbedding as XRotary
        from x_transformers.x_transformers import apply_rotary_pos_emb as apply_x

        third = XRotary(HEAD_DIM)

        def x_transformers() -> object:
            angles, _ = third(position)
            return apply_x(query, angles), apply_x(key, angles)

        ways["x-transformers"] = x_transformers
    except ImportError:
        pass
    return ways


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200, help="timed turns of each way")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu where others use the machine too")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"one token, 32 query heads and 8 key heads of {HEAD_DIM} channels, one thread\n  {machine()}\n  {versions()}")
    result: dict[str, object] = {
        "bench": "decode",
        "query_heads": 32,
        "key_heads": 8,
        "head_dim": HEAD_DIM,
        "clock": arguments.clock,
    }
    for dtype in (torch.float32, torch.bfloat16):
        for at in (10, 1_000_000):
            query, key = torch.randn(1, 32, 1, HEAD_DIM).to(dtype), torch.randn(1, 8, 1, HEAD_DIM).to(dtype)
            position = torch.tensor([at])
            ways = ours("half", query, key, position) | ours("interleaved", query, key, position) | peers(query, key, position)
            with torch.no_grad():
                taken = median_seconds(ways, arguments.rounds, repeat=5, clock=arguments.clock)
            name = f"{str(dtype).removeprefix('torch.')} at {at}"
            print(f"\n{name}: microseconds" + (", and multiples of transformers" if "transformers" in taken else ""))
            for way, seconds in taken.items():
                ratio = f" {seconds / taken['transformers']:6.2f}x" if "transformers" in taken else ""
                print(f"  {way:<32}{1e6 * seconds:9.1f}{ratio}")
            result[name] = {way: round(1e6 * seconds, 2) for way, seconds in taken.items()}
    print()
    print(json.dumps(result | {"machine": machine(), "versions": versions()}))


if __name__ == "__main__":
    main()
