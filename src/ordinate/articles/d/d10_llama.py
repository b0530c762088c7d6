"""D10's Llama-shaped model beside the reference implementation, which is the one in transformers (arXiv 2302.13971)."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch

from ordinate.attention import Decoder

__all__ = ["llama_difference"]


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
