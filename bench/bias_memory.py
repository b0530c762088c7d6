"""Attention with a bias at 1,024 to 8,192 tokens: peak memory, how it grows, and time.

Ways: "blocked" (ours, `attend(..., impl="blocked")`), "flex" (torch's FlexAttention with our score_mod and mask, forward only
on a CPU), and "sdpa" (torch's kernel with the bias and the mask made whole, as `impl="sdpa"` does). Timed beside them, "kernel"
is torch's kernel alone, its bias and mask made before the clock starts. Causal rows, float32.

Peak memory is the kernel's high-water mark, reset before the call, less what was resident then: outputs and gradients count,
inputs do not. Each way and bias has a fresh process, sizes rising, whose allocator gives freed tensors back. FlexAttention is
compiled for the size before, outside the count. Time is taken in one process, the ways in turns, medians.
Run: python bench/bias_memory.py
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable

import torch
from interleaved import median_seconds
from peak import exponent, in_fresh_process, peak_bytes
from torch import nn

from ordinate.attention import Causal, attend
from ordinate.lab.machine import machine, versions
from ordinate.position import FIRE, ALiBi, T5Bias

HEADS, HEAD_DIM = 4, 64
BIASES: dict[str, Callable[[], nn.Module]] = {
    "alibi": lambda: ALiBi(HEADS, learned=True),
    "t5": lambda: T5Bias(HEADS, bidirectional=False),
    "fire": lambda: FIRE(HEADS),
}
# (way, training, most tokens): whole biases stop where they would fill the machine, FIRE at half, with 32 units a pair
WAYS = (
    ("blocked", False, 16384),
    ("blocked", True, 16384),
    ("flex", False, 16384),
    ("sdpa", False, 8192),
    ("sdpa", True, 4096),
)
MAY_GROW = 1.1  # exponent of peak memory that still counts as linear


def call(way: str, bias: str, tokens: int, training: bool) -> Callable[[], object]:
    """One forward pass, or forward and backward, ready to run."""
    torch.manual_seed(0)
    inputs = [torch.randn(1, HEADS, tokens, HEAD_DIM, requires_grad=training) for _ in range(3)]
    encoding, steps = BIASES[bias](), torch.arange(tokens)
    if way == "kernel":
        hidden = steps[:, None] < steps
        whole = encoding.bias(steps, steps).detach().masked_fill(hidden, float("-inf")).unsqueeze(0)
        return lambda: torch.nn.functional.scaled_dot_product_attention(*inputs, attn_mask=whole)

    def run() -> object:
        with torch.set_grad_enabled(training):
            out = attend(*inputs, query_positions=steps, encoding=encoding, mask=Causal(), impl=way)  # type: ignore[call-overload]
            if training:
                out.backward(torch.ones_like(out))
                for tensor in (*inputs, *encoding.parameters()):
                    tensor.grad = None
        return out.detach()

    return run


def measure(way: str, bias: str, sizes: list[int], training: bool) -> None:
    """In a fresh process: print the bytes that a call of each size takes at its peak."""
    torch.set_num_threads(1)
    peaks = []
    for tokens in sizes:
        call(way, bias, tokens if way == "flex" else 64, training)()  # kernels and libraries come in before the count
        peaks.append(peak_bytes(call(way, bias, tokens, training)))
    print(json.dumps(peaks))


def table(title: str, rows: dict[str, list[str]], head: list[str]) -> None:
    print(f"\n{title}")
    width = max(len(cell) for line in (head, *rows.values()) for cell in line)
    for name, cells in ({"": head} | rows).items():
        print(f"  {name:<26}" + "".join(f"{cell:>{width + 2}}" for cell in cells), flush=True)


def memory(sizes: list[int], biases: list[str]) -> dict[str, dict[str, object]]:
    told: dict[str, dict[str, object]] = {}
    rows: dict[str, list[str]] = {}
    for bias in biases:
        for way, training, most in WAYS:
            fits = most // 2 if (way, bias) == ("sdpa", "fire") else most
            measured = [size for size in sizes if size <= fits]
            flags = ["--training"] if training else []
            peaks = in_fresh_process(__file__, "--measure", way, bias, ",".join(map(str, measured)), *flags)
            growth = exponent(measured, peaks)
            name = f"{bias} {way}{', training' if training else ''}"
            told[name] = {"bytes": peaks, "growth_exponent": round(growth, 2)}
            cells = [f"{peak / 2**20:.0f}" for peak in peaks] + ["-"] * (len(sizes) - len(measured))
            rows[name] = [*cells, f"n^{growth:.2f}"]
    table("peak memory of a call, MiB", rows, [*map(str, sizes), "growth"])
    return told


def times(sizes: list[int], biases: list[str], rounds: int, clock: str) -> dict[str, dict[str, dict[str, float]]]:
    told: dict[str, dict[str, dict[str, float]]] = {}
    for training in (False, True):
        rows: dict[str, list[str]] = {}
        kind = "forward and backward" if training else "forward"
        told[kind] = {}
        for bias in biases:
            timed = [size for size in sizes if size <= 2048 or not (training and bias == "fire")]
            names = ["blocked", "sdpa"] + ([] if training else ["flex", "kernel"])
            medians = [
                median_seconds({way: call(way, bias, size, training) for way in names}, rounds, clock=clock) for size in timed
            ]
            for way in names:
                rows[f"{bias} {way}"] = [f"{1e3 * at[way]:.0f}" for at in medians] + ["-"] * (len(sizes) - len(timed))
                told[kind][f"{bias} {way}"] = {str(size): round(at[way], 4) for size, at in zip(timed, medians, strict=True)}
            ratios = [f"{at['blocked'] / at['sdpa']:.2f}x" for at in medians]
            rows[f"{bias} blocked / sdpa"] = ratios + ["-"] * (len(sizes) - len(timed))
        table(f"{kind}, ms, medians of {rounds}", rows, [*map(str, sizes)])
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="timed turns of each way")
    parser.add_argument("--largest", type=int, default=8192, help="tokens of the largest row whose memory is measured")
    parser.add_argument("--largest-timed", type=int, default=4096, help="tokens of the largest row that is timed")
    parser.add_argument("--biases", nargs="+", choices=BIASES, default=list(BIASES), help="which biases")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu where others use the machine too")
    parser.add_argument("--measure", nargs=3, metavar=("WAY", "BIAS", "SIZES"), help=argparse.SUPPRESS)
    parser.add_argument("--training", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        way, bias, wanted = given.measure
        measure(way, bias, [int(size) for size in wanted.split(",")], given.training)
        return
    torch.set_num_threads(1)
    print(f"attention with a bias, causal, {HEADS} heads of {HEAD_DIM} channels, float32, one thread")
    print(f"  {machine()}\n  {versions()}")
    sizes = [size for size in (1024, 2048, 4096, 8192, 16384) if size <= given.largest]
    peaks = memory(sizes, given.biases)
    steep = {name: told["growth_exponent"] for name, told in peaks.items() if "sdpa" not in name}
    worst = max(steep, key=lambda name: steep[name])
    print(f"\nsteepest growth without a whole bias: n^{steep[worst]} ({worst}); linear is n^1, allowed n^{MAY_GROW}")
    timed_sizes = [size for size in (1024, 2048, 4096) if size <= given.largest_timed]
    timed = times(timed_sizes, given.biases, given.rounds, given.clock)
    result = {"bench": "bias_memory", "heads": HEADS, "head_dim": HEAD_DIM, "tokens": sizes, "peak": peaks, "seconds": timed}
    print()
    print(json.dumps(result | {"linear": steep[worst] <= MAY_GROW, "machine": machine(), "versions": versions()}))


if __name__ == "__main__":
    main()
