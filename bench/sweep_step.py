"""A training step of `ordinate sweep` at 64 tokens: tokens a second on one core, and where the time goes.

The ratio is to the bare matrix products of the same step (every linear layer's forward product and both of its backward ones,
the attention's six per layer, the head's), on tensors that are there already: what no framework can go below on this machine.
Parts are timed in turns with the whole step, medians. Evaluation is timed beside: all lengths of a default cell against its
training. Run: python bench/sweep_step.py [--encodings rope shaw ...]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from interleaved import median_seconds
from torch import Tensor, nn

from ordinate.lab.machine import machine, versions
from ordinate.sweep.cell import Cell
from ordinate.sweep.encodings import entry
from ordinate.sweep.evaluation import evaluate
from ordinate.sweep.presets import QUICK
from ordinate.sweep.tasks import make_task
from ordinate.sweep.training import loss_of, new_model

WANTED = 20_000  # tokens a second


def bare_products(cell: Cell, asked: int, vocabulary: int) -> Callable[[], object]:
    """Every matrix product of a step and nothing else; `asked` targets go through the head."""
    tokens, dim, length, heads = cell.batch_rows * cell.train_length, cell.dim, cell.train_length, cell.heads
    linear = [(tokens, dim, 3 * dim), (tokens, dim, dim), (tokens, dim, 4 * dim), (tokens, 4 * dim, dim)] * cell.layers
    linear.append((asked, dim, vocabulary))
    operands = [(torch.randn(n, i), torch.randn(o, i), torch.randn(n, o)) for n, i, o in linear]
    shape = (cell.batch_rows * heads, length)
    query, key, value, out = (torch.randn(*shape, dim // heads) for _ in range(4))
    weights = torch.randn(*shape, length)

    def run() -> None:
        for x, w, gradient in operands:
            x @ w.T
            gradient @ w
            gradient.T @ x
        for _ in range(cell.layers):
            query @ key.transpose(1, 2)
            weights @ value
            out @ value.transpose(1, 2)
            weights.transpose(1, 2) @ out
            weights @ key
            weights.transpose(1, 2) @ query

    return run


def parts(cell: Cell) -> tuple[dict[str, Callable[[], object]], int]:
    """The whole step and its parts, ready to run, and the tokens of a step."""
    task = make_task(cell.task, cell.train_length, cell.test_lengths[-1])
    model = new_model(cell, task).train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-6, betas=(0.9, 0.99), weight_decay=0.0, fused=True)
    generator, positions = torch.Generator().manual_seed(0), torch.arange(cell.train_length)
    rows = task.draw(cell.batch_rows, cell.train_length, generator, "train")
    state: dict[str, Tensor] = {}

    def draw() -> object:
        return task.draw(32 * cell.batch_rows, cell.train_length, generator, "train")

    def forward() -> None:
        state["loss"] = loss_of(model, rows.tokens, rows.targets, positions)

    def both() -> None:
        forward()
        optimiser.zero_grad()
        state["loss"].backward()

    def clip() -> object:
        return nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)

    def step() -> None:
        both()
        clip()
        float(state["loss"].detach())
        optimiser.step()

    step()
    asked = int((rows.targets >= 0).sum())
    return {
        "step": step,
        "forward": forward,
        "forward and backward": both,
        "clip": clip,
        "fused AdamW": optimiser.step,
        "drawing 32 batches": draw,
        "bare products": bare_products(cell, asked, task.vocabulary),
    }, cell.batch_rows * cell.train_length


def evaluation_seconds(cell: Cell, clock: str) -> float:
    """Of all lengths of a cell, cut contexts included."""
    task = make_task(cell.task, cell.train_length, cell.test_lengths[-1])
    model, longest = new_model(cell, task).eval(), cell.test_lengths[-1]
    now = {"wall": time.perf_counter, "cpu": time.thread_time}[clock]
    begun = now()
    evaluate(model, entry(cell.encoding), task, cell.test_lengths, count=cell.tested_rows, seed=0, longest=longest)
    return now() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encodings", nargs="+", default=list(QUICK.encodings), help="which encodings")
    parser.add_argument("--rounds", type=int, default=15, help="timed turns of each part")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu where others use the machine too")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"a step of a sweep: 2 layers of 64 channels, 16 rows of 64 tokens, float32, one thread\n  {machine()}\n  {versions()}"
    )
    columns = (("tokens/s", 10), ("of bare", 9), ("forward", 9), ("backward", 10), ("clip", 7), ("AdamW", 7), ("draw", 7))
    print(f"  {'encoding':<14}" + "".join(f"{name:>{width}}" for name, width in columns) + f"{'evaluation':>12}")
    results: dict[str, Any] = {}
    for name in arguments.encodings:
        cell = next(cell for cell in QUICK.cells() if cell.encoding == name and cell.task == "k-back")
        runs, tokens = parts(cell)
        at = median_seconds(runs, arguments.rounds, clock=arguments.clock)
        at["drawing"] = at.pop("drawing 32 batches") / 32
        whole = at["step"] + at["drawing"]
        share = evaluation_seconds(cell, arguments.clock) / (whole * cell.steps)
        results[name] = {
            "tokens_per_second": round(tokens / whole),
            "bare_products_share": round(at["bare products"] / whole, 3),
            "evaluation_to_training": round(share, 3),
            "seconds": {part: round(value, 6) for part, value in at.items()},
        }
        backward = at["forward and backward"] - at["forward"]
        shares = [at["forward"] / whole, backward / whole, at["clip"] / whole, at["fused AdamW"] / whole, at["drawing"] / whole]
        print(
            f"  {name:<14}{tokens / whole:>10,.0f}{at['bare products'] / whole:>9.0%}"
            + "".join(f"{value:>{width}.0%}" for value, width in zip(shares, (9, 10, 7, 7, 7), strict=True))
            + f"{share:>12.0%}",
            flush=True,
        )
    slowest = min(results, key=lambda name: results[name]["tokens_per_second"])
    median_share = statistics.median(one["bare_products_share"] for one in results.values())
    print(f"\nslowest: {slowest}, {results[slowest]['tokens_per_second']:,} tokens a second; wanted {WANTED:,}")
    print(f"bare matrix products are {median_share:.0%} of a step (median of the encodings)\n")
    result = {"bench": "sweep_step", "wanted": WANTED, "encodings": results, "machine": machine(), "versions": versions()}
    print(json.dumps(result | {"enough": results[slowest]["tokens_per_second"] >= WANTED}))


if __name__ == "__main__":
    main()
