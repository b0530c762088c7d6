"""Tokens a second of greedy generation with a cache: ours beside transformers (SDPA) on the same checkpoint, in one process.

    python bench/generation.py [--sizes 64x5,256x6,288x6] [--threads 1,2] [--rounds 7]

Both continue the same prompt of 512 tokens by 128, in turn, and must agree on every token. Reported are medians over the rounds
and the median of each round's ratio. With one thread the clock is CPU time, which a busy machine disturbs less; with more it is
wall time. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

import torch
import transformers
from transformers import LlamaConfig, LlamaForCausalLM

from ordinate.attention import Decoder

SIZES = {  # hidden size, layers, heads, key-value heads, feed-forward channels, vocabulary
    "64x5": (64, 5, 8, 4, 172, 512),  # the shape of stories260K
    "256x6": (256, 6, 8, 4, 688, 4096),
    "288x6": (288, 6, 6, 6, 768, 32000),  # the shape of stories15M
    "512x8": (512, 8, 8, 4, 1376, 8192),
}
PROMPT, NEW = 512, 128


def models(size: str) -> tuple[LlamaForCausalLM, Decoder]:
    hidden, layers, heads, shared, inner, vocabulary = SIZES[size]
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=shared,
        intermediate_size=inner,
        vocab_size=vocabulary,
        max_position_embeddings=2048,
        attn_implementation="sdpa",
        eos_token_id=None,
        bos_token_id=None,
    )
    theirs = LlamaForCausalLM(config).eval()
    with tempfile.TemporaryDirectory() as directory:
        theirs.save_pretrained(directory)
        return theirs, Decoder.from_pretrained(directory)


def seconds(run: Callable[[], torch.Tensor], threads: int) -> tuple[float, torch.Tensor]:
    clock = time.process_time if threads == 1 else time.perf_counter
    begin = clock()
    result = run()
    return clock() - begin, result


def measure(size: str, threads: int, rounds: int) -> dict[str, object]:
    torch.set_num_threads(threads)
    theirs, ours = models(size)
    prompt = torch.randint(1, SIZES[size][-1], (1, PROMPT), generator=torch.Generator().manual_seed(1))
    settings = {"attention_mask": torch.ones_like(prompt), "do_sample": False, "pad_token_id": 0}
    times: dict[str, list[float]] = {"theirs": [], "ours": []}
    for round_number in range(rounds + 1):
        spent, expected = seconds(lambda: theirs.generate(prompt, max_new_tokens=NEW, **settings), threads)
        spent_here, found = seconds(lambda: ours.generate(prompt, max_new_tokens=NEW), threads)
        assert torch.equal(expected, found), "the two must generate the same tokens"
        if round_number:  # the first is a warm-up
            times["theirs"].append(spent)
            times["ours"].append(spent_here)
    ratios = [a / b for a, b in zip(times["theirs"], times["ours"], strict=True)]
    return {
        "size": size,
        "threads": threads,
        "clock": "cpu" if threads == 1 else "wall",
        "tokens_per_second": {name: round(NEW / statistics.median(spent), 1) for name, spent in times.items()},
        "ratio": round(statistics.median(ratios), 3),
        "ratio_range": [round(min(ratios), 3), round(max(ratios), 3)],
        "same_tokens": True,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="64x5,256x6,288x6")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    print(f"torch {torch.__version__}, transformers {transformers.__version__}, prompt {PROMPT}, new tokens {NEW}, float32")
    rows = []
    for threads in (int(text) for text in given.threads.split(",")):
        for size in given.sizes.split(","):
            row = measure(size, threads, given.rounds)
            rows.append(row)
            print(f"{size:>6}  {threads} thread(s)  {row['tokens_per_second']}  ratio {row['ratio']} {row['ratio_range']}", flush=True)
    print(json.dumps({"benchmark": "generation", "rows": rows}))


if __name__ == "__main__":
    main()
