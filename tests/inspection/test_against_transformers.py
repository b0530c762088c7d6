"""transformers as a witness: modules built from a spec turn as its own do, and it does silently what findings say it does.

Slow: each model type loads its modeling file. `pytest -m slow -s tests/inspection/test_against_transformers.py` prints the
counts of the sweep over all registered model types.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import logging
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ordinate.inspection import inspect_config

pytestmark = pytest.mark.slow

SIZES = {"hidden_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2, "vocab_size": 64}


def neighbour(name: str) -> ModuleType:
    """A file of this folder that is also a script."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    logging.disable(logging.NOTSET)


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512, "rope_theta": 1e4}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 512,
    "rope_theta": 5e5,
}
ROTATIONS: list[tuple[str, dict[str, Any]]] = [
    ("llama", {}),
    ("llama", {"rope_parameters": YARN, "max_position_embeddings": 2048}),
    ("llama", {"rope_parameters": LLAMA3, "max_position_embeddings": 4096}),
    ("llama", {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 1e4}}),
    ("mistral", {}),
    ("qwen2", {}),
    ("qwen3", {"head_dim": 32}),
    ("gemma", {"head_dim": 64}),
    ("phi3", {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}}),
    ("gpt_neox", {}),
    ("stablelm", {}),
    ("glm", {"head_dim": 32}),
    ("glm4", {"head_dim": 32}),
    ("glm4_moe", {"head_dim": 32}),
    ("cohere", {}),
    ("ernie4_5", {"head_dim": 32}),
    ("helium", {"head_dim": 32}),
    ("nemotron", {"head_dim": 32}),
    ("persimmon", {}),
    ("olmo2", {}),
    ("gpt_oss", {"head_dim": 32}),
]


@pytest.mark.parametrize(("name", "more"), ROTATIONS, ids=[f"{name}-{index}" for index, (name, _) in enumerate(ROTATIONS)])
def test_a_module_built_from_the_spec_turns_as_the_librarys_own(name: str, more: dict[str, Any]) -> None:
    import torch
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    from ordinate.position import build

    config = CONFIG_MAPPING[name](**SIZES, pad_token_id=0, **more)
    module = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
    rotary = next(kind for key, kind in vars(module).items() if key.endswith("RotaryEmbedding"))(config)
    layer = inspect_config(config.to_dict()).layers[0]
    assert layer.spec is not None
    ours = build(layer.spec)

    generator = torch.Generator().manual_seed(0)
    positions = torch.arange(40)
    query = torch.randn(1, 4, 40, layer.attention.head_dim.value, generator=generator)
    cos, sin = rotary(query, positions[None])
    theirs, _ = _apply(module, query, cos, sin)
    factor = layer.rotation.cos_sin_factor if layer.rotation is not None else None
    mine = ours.rotate(query, positions)
    assert factor is not None
    torch.testing.assert_close(mine, theirs, rtol=2e-5, atol=2e-5)


def _apply(module: ModuleType, query: Any, cos: Any, sin: Any) -> Any:
    import torch

    turned = cos.shape[-1] * (2 if module.__name__.endswith("gpt_oss") else 1)
    if turned < query.shape[-1] and module.__name__.rsplit("_", 1)[-1] in ("stablelm", "persimmon", "phi"):
        head, rest = query[..., :turned], query[..., turned:]  # these split the head outside the function
        rotated, _ = module.apply_rotary_pos_emb(head, head, cos, sin)
        return torch.cat((rotated, rest), -1), None
    return module.apply_rotary_pos_emb(query, query, cos, sin)


def config_of(told: dict[str, Any]) -> Any:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    rest = copy.deepcopy(told)  # the library writes into the dictionaries it is given
    return CONFIG_MAPPING[rest.pop("model_type")].from_dict(rest)


LLAMA = {"model_type": "llama", **SIZES, "max_position_embeddings": 8192}


def test_the_library_drops_rope_parameters_beside_rope_scaling() -> None:
    told = {**LLAMA, "rope_parameters": {"rope_theta": 1e6}, "rope_scaling": {"type": "linear", "factor": 4.0}}
    assert config_of(told).rope_parameters["rope_theta"] == 10000.0
    assert "transformers-drops-rope-parameters" in {finding.id for finding in inspect_config(told).findings}
    turn = inspect_config(told).layers[0].rotation
    assert turn is not None
    assert turn.base.value == 1e6


def test_the_library_takes_rope_type_without_a_word() -> None:
    told = {**LLAMA, "rope_scaling": {"type": "linear", "rope_type": "yarn", "factor": 2.0}}
    assert config_of(told).rope_parameters["rope_type"] == "yarn"


def test_the_library_takes_the_claimed_context_where_yarn_has_no_original_one() -> None:
    told = {**LLAMA, "rope_scaling": {"type": "yarn", "factor": 4.0}}
    assert config_of(told).rope_parameters["original_max_position_embeddings"] == 8192
    turn = inspect_config(told).layers[0].rotation
    assert turn is not None
    assert (turn.settings["original_context"].value, turn.settings["original_context"].source) == (8192, "assumed")


def test_the_library_ignores_the_base_of_some_types() -> None:
    from ordinate.inspection.findings.engines import KEEPS_OWN_PARAMETERS

    for name in KEEPS_OWN_PARAMETERS:
        kept = config_of({"model_type": name, "rope_theta": 123456.0}).rope_parameters["rope_theta"]
        assert kept != 123456.0, name
    assert config_of({"model_type": "gpt_oss", "rope_theta": 123456.0}).rope_parameters["rope_theta"] == 123456.0


def test_the_library_fails_on_a_null_head_under_yarn() -> None:
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
    from transformers.models.qwen2.modeling_qwen2 import Qwen2RotaryEmbedding

    told = {**LLAMA, "head_dim": None, "rope_scaling": {k: v for k, v in YARN.items() if k != "rope_theta"}}
    with pytest.raises(TypeError, match="NoneType"):
        Qwen2RotaryEmbedding(config_of({**told, "model_type": "qwen2"}))
    LlamaRotaryEmbedding(config_of(told))  # its class computes the head
    assert "transformers-fails-on-null-head" not in {finding.id for finding in inspect_config(told).findings}


def test_the_library_reads_flat_text_for_a_few_composite_types_only() -> None:
    from ordinate.inspection.findings.engines import ADOPTS_FLAT_TEXT

    told = {"hidden_size": 1236, "num_hidden_layers": 3}
    adopting = {name for name in ADOPTS_FLAT_TEXT if config_of({"model_type": name, **told}).text_config.hidden_size == 1236}
    assert adopting == ADOPTS_FLAT_TEXT
    for name in ("gemma3", "glm4v", "qwen3_vl", "llava", "mistral3"):
        assert config_of({"model_type": name, **told}).text_config.hidden_size != 1236, name


def test_the_library_takes_a_base_of_zero_without_a_word() -> None:
    assert config_of({**LLAMA, "rope_theta": 0}).rope_parameters["rope_theta"] == 0


def test_the_table_of_defaults_is_the_librarys() -> None:
    defaults = neighbour("library_defaults")
    assert defaults.LIBRARY.read_text(encoding="utf-8") == defaults.as_text(defaults.gather())


LIBRARY_ERRS = {
    "minimax_m3_vl_text": "the file states rotary_dim 64; the class documents the key and reads only partial_rotary_factor",
}
"""Types where the library's own module is not what its own file says."""


@pytest.mark.timeout(1200)
def test_no_registered_model_type_is_read_wrongly() -> None:
    verdicts = list(neighbour("library_sweep").sweep())
    counts = Counter(verdict.verdict for verdict in verdicts)
    print("\n" + ", ".join(f"{name} {counts[name]}" for name in ("right", "no rotation", "unchecked", "unknown", "wrong")))
    wrong = {verdict.model_type: verdict.reason for verdict in verdicts if verdict.verdict == "wrong"}
    assert set(wrong) <= set(LIBRARY_ERRS), wrong
    assert counts["right"] > 400
    assert all(verdict.reason for verdict in verdicts)
