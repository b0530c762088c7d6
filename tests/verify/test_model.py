"""A loaded model against its own config, as it stands in memory."""

from __future__ import annotations

import importlib
import warnings

import pytest
import torch

from ordinate.errors import ArgumentTypeError, DataError, MissingDataError
from ordinate.verify import check_model

pytest.importorskip("transformers")

TINY = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def made(family: str, config: str, model: str, **settings: object) -> torch.nn.Module:
    torch.manual_seed(0)
    configuration = importlib.import_module(f"transformers.models.{family}.configuration_{family}")
    modeling = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    return getattr(modeling, model)(getattr(configuration, config)(**settings))


def llama(**settings: object) -> torch.nn.Module:
    return made("llama", "LlamaConfig", "LlamaForCausalLM", **{**TINY, **settings})


def check(model: object, **settings: object):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check_model(model, **settings)


def failed(verdict) -> list[str]:
    return [outcome.id for outcome in verdict.failed]


def test_a_healthy_model_fails_nothing_but_the_cast_that_transformers_does_not_bear():
    verdict = check(llama(), vocabulary=64)
    assert failed(verdict) == ["module-cast"]
    assert verdict.causes[0].id == "frequencies-in-a-buffer"
    assert verdict.outcome("logits: prefill-equals-decode").status == "passed"
    assert verdict.outcome("save-and-load").status == "passed"


@pytest.mark.parametrize("edit", ["linear", "base"])
def test_a_config_edited_after_loading_is_told_by_its_tables(edit):
    model = llama()
    told = {"rope_type": "default", "rope_theta": 500000.0}
    if edit == "linear":
        told = {"rope_type": "linear", "factor": 8.0, "rope_theta": 10000.0}
    model.config.rope_parameters = told
    verdict = check(model, behaviour=False)
    assert {"frequencies", "rebuilt-from-config", "save-and-load"} <= set(failed(verdict))
    assert verdict.causes[0].id == {"linear": "scaling-ignored", "base": "base-ignored"}[edit]


def test_a_model_cast_to_bfloat16_is_told_by_its_far_angles():
    verdict = check(llama().bfloat16(), behaviour=False)
    assert {"frequencies", "far-positions"} <= set(failed(verdict))
    assert verdict.causes[0].id == "frequencies-in-bfloat16"


def test_each_kind_of_layer_is_held_to_its_own_base():
    settings = {**TINY, "num_hidden_layers": 6, "head_dim": 16}
    verdict = check(made("gemma3", "Gemma3TextConfig", "Gemma3ForCausalLM", **settings), behaviour=False)
    assert verdict.outcome("full attention: frequencies").status == "passed"
    assert verdict.outcome("sliding attention: frequencies").status == "passed"
    assert sorted(verdict.identified.values()) == [10000.0, 1000000.0]


def test_learned_tables_are_counted_and_a_missing_row_is_seen():
    settings = {
        "vocab_size": 64,
        "n_embd": 32,
        "n_layer": 1,
        "n_head": 4,
        "n_positions": 48,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    model = made("gpt2", "GPT2Config", "GPT2LMHeadModel", **settings)
    assert check(model, behaviour=False).outcome("tables").status == "passed"
    model.config.n_positions = 96
    assert check(model, behaviour=False).outcome("tables").status == "failed"


def test_a_folder_is_loaded_and_what_is_none_is_refused(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        llama().save_pretrained(tmp_path / "model")
    assert check(tmp_path / "model", behaviour=False).outcome("frequencies").status == "passed"
    with pytest.raises(MissingDataError, match=r"config\.json"):
        check(tmp_path / "nowhere")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text('{"model_type": "nobody-knows"}')
    with pytest.raises(DataError, match="nobody-knows"):
        check(tmp_path / "broken")
    with pytest.raises(ArgumentTypeError, match="check_rotary"):
        check(torch.nn.Linear(2, 2))
