"""Scores of queries with a vector for each distance: time and memory beyond the scores, and how both grow with the tokens.

Ways: "skew" (ours, `MusicRelative` in both directions), "general" (ours, for any positions), "published" (pad and reshape of
all 2n - 1 products, Transformer-XL's trick made right), "explicit" (a [T, S, D] tensor of vectors, one head at a time,
contracted with the queries: Shaw et al. 2018 as written). Time is taken in one process, interleaved, medians of `--rounds`,
one thread. Peak memory is the kernel's high-water mark of a fresh process for each way and size, less what was resident
before, less the scores (and, for training, their gradient). Run: python bench/relative_scores.py
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch
from peak import exponent, in_fresh_process, peak_bytes
from torch import Tensor

from ordinate.lab.machine import machine, versions
from ordinate.position import MusicRelative

HEADS, HEAD_DIM = 4, 64
Scores = Callable[[Tensor], Tensor]


def ours(music: MusicRelative, impl: str, tokens: int) -> Scores:
    steps = torch.arange(tokens)

    def scores(query: Tensor) -> Tensor:
        music.impl = impl
        return music.bias(steps, steps, query, query, scale=1.0)

    return scores


def published(music: MusicRelative, tokens: int) -> Scores:
    def scores(query: Tensor) -> Tensor:
        rows = music.max_distance - torch.arange(tokens - 1, -tokens, -1)
        wide = torch.nn.functional.pad(query @ music.table[:, rows].transpose(-1, -2), (1, 0))
        shifted = wide.reshape(1, HEADS, 2 * tokens, tokens)[:, :, 1:].reshape(1, HEADS, tokens, 2 * tokens - 1)
        return shifted[..., :tokens]

    return scores


def explicit(music: MusicRelative, tokens: int) -> Scores:
    def scores(query: Tensor) -> Tensor:
        steps = torch.arange(tokens)
        rows = music.max_distance - (steps[:, None] - steps)
        return torch.stack([torch.einsum("btd,tsd->bts", query[:, h], music.table[h][rows]) for h in range(HEADS)], dim=1)

    return scores


def ways(tokens: int) -> dict[str, Scores]:
    torch.manual_seed(0)
    music = MusicRelative(HEADS, HEAD_DIM, tokens - 1, bidirectional=True)
    made = {"skew": ours(music, "skew", tokens), "general": ours(music, "general", tokens)}
    return made | {"published": published(music, tokens), "explicit": explicit(music, tokens)}


def measure(way: str, tokens: int, training: bool) -> None:
    """In a fresh process: print the bytes that one call takes at its peak, beyond the scores."""
    torch.set_num_threads(1)

    def call(size: int) -> int:
        scores = ways(size)[way]
        query = torch.randn(1, HEADS, size, HEAD_DIM, requires_grad=training)

        def run() -> Tensor:
            with torch.set_grad_enabled(training):
                out = scores(query)
                if training:
                    out.backward(torch.ones_like(out))
            return out

        return peak_bytes(run) - HEADS * size * size * query.element_size() * (2 if training else 1)

    call(64)  # libraries and their buffers come in once
    print(json.dumps([call(tokens)]))


def peak(way: str, tokens: int, training: bool) -> int:
    return in_fresh_process(__file__, "--measure", way, str(tokens), *(["--training"] if training else []), runs=3)[0]


def seconds(tokens: int, names: list[str], rounds: int) -> dict[str, float]:
    """Median wall time of each way, the ways taking turns."""
    made = ways(tokens)
    query = torch.randn(1, HEADS, tokens, HEAD_DIM)
    taken: dict[str, list[float]] = {name: [] for name in names}
    with torch.no_grad():
        agreed = made["explicit" if tokens <= 512 else "general"](query)
        for name in names:
            torch.testing.assert_close(made[name](query), agreed, rtol=1e-4, atol=1e-4)
        for _ in range(rounds):
            for name in names:
                start = time.perf_counter()
                made[name](query)
                taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in taken.items()}


def table(title: str, rows: dict[str, list[str]], head: list[str]) -> None:
    print(f"\n{title}")
    width = max(len(cell) for line in (head, *rows.values()) for cell in line)
    for name, cells in ({"": head} | rows).items():
        print(f"  {name:<18}" + "".join(f"{cell:>{width + 2}}" for cell in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="timed calls of each way")
    parser.add_argument("--largest", type=int, default=8192, help="tokens of the largest row whose memory is measured")
    parser.add_argument("--measure", nargs=2, metavar=("WAY", "TOKENS"), help=argparse.SUPPRESS)
    parser.add_argument("--training", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure[0], int(given.measure[1]), given.training)
        return

    torch.set_num_threads(1)
    print(f"relative scores, {HEADS} heads of {HEAD_DIM} channels, float32, one thread")
    print(f"  {machine()}\n  {versions()}")
    sizes = [size for size in (1024, 2048, 4096, 8192, 16384) if size <= given.largest]
    result: dict[str, object] = {"bench": "relative_scores", "heads": HEADS, "head_dim": HEAD_DIM, "memory_tokens": sizes}

    for training in (False, True):
        told, rows = {}, {}
        for way, most in (("skew", 16384), ("general", 4096), ("published", 4096), ("explicit", 2048)):
            measured = [size for size in sizes if size <= most]
            peaks = [peak(way, size, training) for size in measured]
            growth = exponent(measured, [float(p) for p in peaks])
            told[way] = {"bytes": peaks, "growth_exponent": round(growth, 2)}
            missing = ["-"] * (len(sizes) - len(measured))
            rows[way] = [f"{p / 2**20:.1f}" for p in peaks] + missing + [f"n^{growth:.2f}"]
        kind = "forward and backward" if training else "forward"
        result["training_peak" if training else "forward_peak"] = told
        table(f"peak memory beyond the scores, MiB, {kind}", rows, [str(size) for size in sizes] + ["growth"])

    timed = {}
    for tokens in (256, 512, 1024, 2048):
        names = ["skew", "general", "published", "explicit"] if tokens <= 1024 else ["skew", "general", "published"]
        timed[tokens] = seconds(tokens, names, given.rounds)
    rows = {}
    for way in ("skew", "general", "published", "explicit"):
        rows[way] = [f"{1e3 * times[way]:.1f}" if way in times else "-" for times in timed.values()]
    rows["explicit / skew"] = [f"{t['explicit'] / t['skew']:.1f}x" if "explicit" in t else "-" for t in timed.values()]
    rows["published / skew"] = [f"{t['published'] / t['skew']:.2f}x" for t in timed.values()]
    table("forward, ms, medians", rows, [str(tokens) for tokens in timed])
    result["forward_seconds"] = {str(tokens): {k: round(v, 6) for k, v in t.items()} for tokens, t in timed.items()}
    print()
    print(json.dumps(result | {"machine": machine(), "versions": versions()}))


if __name__ == "__main__":
    main()
