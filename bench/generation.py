"""Tokens a second of greedy generation with a cache: ours beside transformers (SDPA) on the same checkpoint, in one process.

Both go on from the same prompt of 512 tokens by 128, in turns, and must agree on every token. The checkpoints are random Llamas
of four sizes, float32. With one thread the clock may be the time that the thread was given (`--clock cpu`), which a busy
machine disturbs less. Run: python bench/generation.py
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

import torch
from interleaved import median_seconds
from transformers import LlamaConfig, LlamaForCausalLM

from ordinate.attention import Decoder
from ordinate.lab.machine import machine, versions

SIZES = {  # hidden size, layers, heads, key-value heads, feed-forward channels, vocabulary
    "64 x 5": (64, 5, 8, 4, 172, 512),  # the shape of stories260K
    "256 x 6": (256, 6, 8, 4, 688, 4096),
    "288 x 6": (288, 6, 6, 6, 768, 32000),  # the shape of stories15M: a third of the time is the product with the vocabulary
    "512 x 8": (512, 8, 8, 4, 1376, 8192),  # waits for memory: 125 MB of weights a token
}
PROMPT, NEW = 512, 128
MUST_REACH = 1.5


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


def measure(size: str, rounds: int, clock: str) -> dict[str, object]:
    theirs, ours = models(size)
    prompt = torch.randint(1, SIZES[size][-1], (1, PROMPT), generator=torch.Generator().manual_seed(1))
    settings = {"attention_mask": torch.ones_like(prompt), "do_sample": False, "pad_token_id": 0}
    ways = {
        "transformers": lambda: theirs.generate(prompt, max_new_tokens=NEW, **settings),
        "ordinate": lambda: ours.generate(prompt, max_new_tokens=NEW),
    }
    assert torch.equal(ways["transformers"](), ways["ordinate"]()), "the two must generate the same tokens"
    seconds = median_seconds(ways, rounds, clock=clock)
    ratio = seconds["transformers"] / seconds["ordinate"]
    return {
        "size": size,
        "threads": torch.get_num_threads(),
        "clock": clock,
        "tokens_per_second": {name: round(NEW / spent, 1) for name, spent in seconds.items()},
        "ratio": round(ratio, 3),
        "reached": ratio >= MUST_REACH,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="*", default=list(SIZES)[:3], choices=list(SIZES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"prompt {PROMPT}, new tokens {NEW}, float32, {arguments.threads} thread(s), {arguments.clock} time")
    rows = []
    for size in arguments.sizes:
        row = measure(size, arguments.rounds, arguments.clock)
        rows.append(row)
        speeds = "  ".join(f"{name} {speed:7.1f}/s" for name, speed in row["tokens_per_second"].items())  # type: ignore[attr-defined]
        print(f"{size:>8}  {speeds}  ratio {row['ratio']}", flush=True)
    print(json.dumps({"benchmark": "generation", "machine": machine(), "versions": versions(), "rows": rows}))


if __name__ == "__main__":
    main()
