"""Attention with the encodings of 2025 and 2026 that read keys: a step of training on 512 tokens, a decode step behind 4,096.

Beside plain rotary attention in the same turns; the limit is to read keys and values once, as torch's kernel without an
encoding does. fla's kernels for PaTH and FoX are written in Triton and need a GPU, so no peer runs here.
8 heads of 64 channels, one thread, medians. Run: python bench/content_encodings.py
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

import torch
from interleaved import median_seconds
from torch import nn

from ordinate.attention import Causal, attend
from ordinate.lab.machine import machine, versions
from ordinate.position import GRAPE, ForgetGates, PaTH, PathIntegralBias, RePo, Rotary, SelectiveRotary

HEADS, HEAD_DIM = 8, 64
Ways = dict[str, Callable[[], object]]


def encodings() -> dict[str, Any]:
    path, gates = PaTH(HEADS, HEAD_DIM), ForgetGates(HEADS, HEAD_DIM)
    return {
        "no encoding": None,
        "rotary": Rotary(HEAD_DIM, layout="half"),
        "forget gates (FoX)": gates,
        "PaTH": path,
        "PaTH-FoX": [path, gates],
        "GRAPE": GRAPE(HEAD_DIM),
        "path integral (GRAPE)": PathIntegralBias(HEADS, HEAD_DIM),
        "selective rotary": SelectiveRotary(HEADS, HEAD_DIM, layout="half"),
        "RePo": RePo(HEADS, HEAD_DIM, layout="half"),
    }


def decode_step(keys: int) -> Ways:
    """Queries of one token, the last; keys that are turned as they enter a cache are not turned again."""
    q, (k, v) = torch.randn(1, HEADS, 1, HEAD_DIM), torch.randn(2, 1, HEADS, keys, HEAD_DIM)
    at, everywhere = torch.tensor([keys - 1]), torch.arange(keys)

    def way(encoding: Any) -> Callable[[], object]:
        turns = hasattr(encoding, "rotate") or hasattr(encoding, "rotate_query")
        query = (lambda: encoding.rotate(q, at)) if hasattr(encoding, "rotate") else (lambda: encoding.rotate_query(q, at))
        if turns:
            return lambda: attend(query(), k, v, query_positions=at, key_positions=everywhere)
        return lambda: attend(q, k, v, query_positions=at, key_positions=everywhere, encoding=encoding)

    return {name: way(encoding) for name, encoding in encodings().items()}


def training_step(tokens: int) -> Ways:
    """Output and gradients of queries, keys, values and what the encoding learns; memory linear in the tokens."""
    inputs = [x.requires_grad_() for x in torch.randn(3, 1, HEADS, tokens, HEAD_DIM).unbind(0)]
    positions = torch.arange(tokens)

    def way(encoding: Any) -> Callable[[], object]:
        learned = [w for one in encoding for w in one.parameters()] if isinstance(encoding, list) else []
        learned = list(encoding.parameters()) if isinstance(encoding, nn.Module) else learned
        reads = not (encoding is None or hasattr(encoding, "rotate") or hasattr(encoding, "rotate_query"))

        def step() -> object:
            out = attend(
                *inputs, query_positions=positions, encoding=encoding, mask=Causal(), impl="blocked" if reads else "auto"
            )
            return torch.autograd.grad(out.sum(), [*inputs, *learned], allow_unused=True)

        return step

    return {name: way(encoding) for name, encoding in encodings().items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="timed turns of each way")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu where others use the machine too")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"{HEADS} heads of {HEAD_DIM} channels, one thread\n  {machine()}\n  {versions()}")
    result: dict[str, object] = {"bench": "content_encodings", "clock": arguments.clock}
    for title in ("a decode step behind 4,096 keys", "a training step on 512 tokens"):
        decoding = title.startswith("a decode")
        rounds = arguments.rounds if decoding else max(3, arguments.rounds // 5)
        with torch.inference_mode(decoding):
            taken = median_seconds(decode_step(4096) if decoding else training_step(512), rounds, clock=arguments.clock)
        print(f"\n{title}: milliseconds, and multiples of rotary")
        for name, seconds in taken.items():
            print(f"  {name:<24}{1e3 * seconds:9.2f}{seconds / taken['rotary']:8.1f}x", flush=True)
        result[title] = {name: round(1e3 * seconds, 3) for name, seconds in taken.items()}
    print(f"\n{json.dumps(result | {'machine': machine(), 'versions': versions()})}")


if __name__ == "__main__":
    main()
