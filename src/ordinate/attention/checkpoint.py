"""From a Hugging Face folder of a Llama, Mistral, Qwen2 or Qwen3 model to a `Decoder` with the same numbers.

What the config says about position (frequencies, their scaling, windows, heads) is read by `ordinate.inspection`; the sizes of
the rest are read here. Every tensor is looked at before one is loaded, and all that is wrong is told at once.
Sources: Touvron et al. 2023, arXiv 2302.13971; Jiang et al. 2023, arXiv 2310.06825; Yang et al. 2024, arXiv 2407.10671.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ordinate.attention.decoder import Decoder
from ordinate.attention.shards import Shards
from ordinate.errors import DataError, MissingDataError, RefusedError
from ordinate.inspection import inspect_config
from ordinate.position import build

__all__ = ["load_decoder"]


@dataclass(frozen=True)
class _Family:
    """What a family's code fixes and its configs do not say: which projections have a bias, whether heads are normalised.

    A bias is True, False, or the name of the key that says so.
    """

    bias: bool | str
    output_bias: bool | str
    feed_forward_bias: bool | str
    query_key_norm: bool = False


_FAMILIES = {
    "llama": _Family("attention_bias", "attention_bias", "mlp_bias"),
    "mistral": _Family(False, False, False),
    "qwen2": _Family(True, False, False),
    "qwen3": _Family("attention_bias", "attention_bias", False, query_key_norm=True),
}

_STORED = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}

_HARMLESS = re.compile(r"\.rotary_emb\.inv_freq$")  # tables that old Llama checkpoints carry along


def load_decoder(directory: str | Path, *, dtype: torch.dtype | None = None, device: torch.device | str = "cpu") -> Decoder:
    """A checkpoint as a `Decoder`, in evaluation mode.

    Args:
        directory: a folder with config.json and safetensors files.
        dtype: of the parameters; by default as they are stored.
        device: where the model shall be.

    Raises:
        MissingDataError: no folder, config or safetensors file.
        DataError: a config without a size it must have, or that cannot be meant; a truncated file; tensors that are missing,
            unexpected or of another shape, all of them named.
        RefusedError: another family, another activation, a quantised model.
    """
    directory = Path(directory)
    if not (directory / "config.json").is_file():
        raise MissingDataError(
            str(directory), expected="a folder with config.json", got="none", hint="pass the folder, not one of its files"
        )
    config = _config(directory / "config.json")
    shards = Shards(directory)
    with torch.device("meta"):
        model = Decoder(**_settings(config, str(directory / "config.json")))
    plan = {ours: list(theirs) for ours, theirs in _origins(model)}
    expected = {name: shape for theirs in plan.values() for name, shape in theirs}
    _check_tensors(shards, expected, directory, tied=model.head is None)
    stored = _STORED[shards.kind("model.embed_tokens.weight")]
    model = model.to(dtype or stored).to_empty(device=device).eval()
    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for ours, theirs in plan.items():
            row = 0
            for name, shape in theirs:
                parameters[ours][row : row + shape[0]] = shards.tensor(name)
                row += shape[0]
    if model.head is None and "lm_head.weight" in shards.names:
        _check_tied(model.embedding.weight, shards.tensor("lm_head.weight"), directory)
    return model


def _config(path: Path) -> Mapping[str, Any]:
    from ordinate.inspection.files import read_document

    config = read_document(path).config
    if config is None:
        raise DataError(str(path), expected="a JSON config", got="another format", hint="pass a Hugging Face folder")
    return config


def _settings(config: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The arguments of the `Decoder` that a config describes."""
    kind = config.get("model_type")
    family = _FAMILIES.get(kind) if isinstance(kind, str) else None
    if family is None:
        raise RefusedError("model_type", expected=f"one of {sorted(_FAMILIES)}", got=kind, hint="other families differ in code")
    if config.get("quantization_config"):
        raise RefusedError(
            "quantization_config", expected="tensors of plain numbers", got="a quantised model", hint="take the full one"
        )
    if config.get("hidden_act", "silu") != "silu":
        raise RefusedError("hidden_act", expected="'silu'", got=config["hidden_act"], hint="SwiGLU is what Decoder has")

    seen = inspect_config(dict(config), name=where)
    wrong = [finding for finding in seen.findings if finding.severity == "error"]
    if wrong:
        raise DataError(where, expected="a config that can be meant", got=wrong[0].message, hint=wrong[0].hint)
    if seen.spec is None or any(layer.spec != seen.spec for layer in seen.layers):
        raise RefusedError(
            where, expected="one position encoding for all layers", got=f"{seen.kind}", hint="see ordinate inspect"
        )
    scaling, attention = seen.spec.scaling, seen.layers[0].attention
    windows = {index: layer.window_keys.value for layer in seen.layers for index in layer.indices}
    head_dim = attention.head_dim.value
    softmax_factor = 1.0 if scaling is None else scaling.softmax_factor
    return {
        "vocabulary": _size(config, "vocab_size", where),
        "dim": _size(config, "hidden_size", where),
        "hidden_dim": _size(config, "intermediate_size", where),
        "num_layers": _size(config, "num_hidden_layers", where),
        "num_heads": attention.num_heads.value,
        "num_key_value_heads": attention.num_kv_heads.value,
        "head_dim": head_dim,
        "encoding": build(seen.spec),
        "windows": [windows[index] for index in sorted(windows)],
        "norm_eps": float(config.get("rms_norm_eps", 1e-6)),
        "bias": _said(config, family.bias),
        "output_bias": _said(config, family.output_bias),
        "feed_forward_bias": _said(config, family.feed_forward_bias),
        "query_key_norm": family.query_key_norm,
        "scale": None if softmax_factor == 1 else softmax_factor / head_dim**0.5,
        "tied": bool(config.get("tie_word_embeddings", False)),
    }


def _size(config: Mapping[str, Any], key: str, where: str) -> int:
    size = config.get(key)
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise DataError(where, expected=f"a positive whole number {key}", got=size, hint="fetch the config again")
    return size


def _said(config: Mapping[str, Any], key: bool | str) -> bool:
    return bool(config.get(key, False)) if isinstance(key, str) else key


def _origins(model: Decoder) -> Iterator[tuple[str, Iterator[tuple[str, tuple[int, ...]]]]]:
    """For each parameter, the tensors whose rows it is made of, in order, each with its shape."""
    for ours, parameter in model.named_parameters():
        yield ours, _parts(model, ours, tuple(parameter.shape))


_NAMES = {
    "embedding": "model.embed_tokens",
    "norm": "model.norm",
    "head": "lm_head",
    "attention_norm": "input_layernorm",
    "feed_forward_norm": "post_attention_layernorm",
    "attention.output": "self_attn.o_proj",
    "attention.query_norm": "self_attn.q_norm",
    "attention.key_norm": "self_attn.k_norm",
    "feed_forward.down": "mlp.down_proj",
}


def _parts(model: Decoder, ours: str, shape: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    module, kind = ours.rsplit(".", 1)
    prefix = ""
    if module.startswith("blocks."):
        _, number, module = module.split(".", 2)
        prefix = f"model.layers.{number}."
    if module == "attention.query_key_value":
        attention: Any = model.blocks[0].attention
        wide, narrow = attention.num_heads * attention.head_dim, attention.num_key_value_heads * attention.head_dim
        for letter, rows in (("q", wide), ("k", narrow), ("v", narrow)):
            yield f"{prefix}self_attn.{letter}_proj.{kind}", (rows, *shape[1:])
    elif module == "feed_forward.gate_up":
        for name in ("gate", "up"):
            yield f"{prefix}mlp.{name}_proj.{kind}", (shape[0] // 2, *shape[1:])
    else:
        yield f"{prefix}{_NAMES[module]}.{kind}", shape


def _check_tensors(shards: Shards, expected: Mapping[str, tuple[int, ...]], directory: Path, *, tied: bool) -> None:
    found = {name: shards.shape(name) for name in shards.names if not _HARMLESS.search(name)}
    if tied:
        found.pop("lm_head.weight", None)
    wrong = []
    if missing := [name for name in expected if name not in found]:
        wrong.append("missing " + ", ".join(missing))
    if extra := [name for name in found if name not in expected]:
        wrong.append("unexpected " + ", ".join(extra))
    both = [name for name in expected if name in found]
    if misshapen := [name for name in both if found[name] != expected[name]]:
        wrong.append("misshapen " + ", ".join(f"{name} {list(found[name])} for {list(expected[name])}" for name in misshapen))
    if coded := [name for name in both if shards.kind(name) not in _STORED]:
        wrong.append("not of plain numbers " + ", ".join(f"{name} {shards.kind(name)}" for name in coded))
    if wrong:
        raise DataError(
            str(directory),
            expected=f"the {len(expected)} tensors that its config.json describes",
            got="; ".join(wrong),
            hint="config and tensors must belong to one another",
        )


def _check_tied(embedding: Tensor, head: Tensor, directory: Path) -> None:
    if head.shape != embedding.shape or not torch.equal(head.to(embedding), embedding):
        raise DataError(
            str(directory),
            expected="an lm_head.weight equal to the embedding, since tie_word_embeddings is true",
            got="another",
            hint="set tie_word_embeddings to false if the model has a head of its own",
        )
