"""Checkpoints that transformers saved give the same logits here; all that is wrong with one is named."""

import copy
import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

from ordinate.attention import Causal, Decoder, Window
from ordinate.errors import DataError, MissingDataError, RefusedError
from ordinate.position.frequencies import Linear, Llama3, YaRN
from tests.attention.small_models import FAMILIES, theirs

pytest.importorskip("transformers", reason="the models' own code is the witness")

IDS = torch.randint(0, 99, (2, 90), generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_are_those_of_the_models_own_code(family, tmp_path):
    """90 tokens: past the windows of 8, past the trained context of 64 of the scalings."""
    model = theirs(family, tmp_path, shard="40KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 3
    ours = Decoder.from_pretrained(tmp_path)
    with torch.inference_mode():
        want, found = model(IDS).logits, ours(IDS)
    assert want.abs().max() > 1
    assert_close(found, want, rtol=0, atol=1e-4)


@pytest.mark.parametrize("family", ["llama", "qwen2-tied"])
def test_one_file_or_many_and_any_dtype_give_the_same_model(family, tmp_path):
    theirs(family, tmp_path / "one", dtype=torch.bfloat16)
    theirs(family, tmp_path / "many", dtype=torch.bfloat16, shard="40KB")
    one, many = Decoder.from_pretrained(tmp_path / "one"), Decoder.from_pretrained(tmp_path / "many")
    assert {parameter.dtype for parameter in one.parameters()} == {torch.bfloat16}
    for (name, here), there in zip(one.named_parameters(), many.parameters(), strict=True):
        assert torch.equal(here, there), name
    wide = Decoder.from_pretrained(tmp_path / "one", dtype=torch.float64)
    assert wide(IDS).dtype is torch.float64


@pytest.mark.parametrize("family", ["llama", "llama-tied"])
def test_wide_weights_are_laid_out_for_single_tokens_and_nothing_else_notices(family, tmp_path):
    model = theirs(family, tmp_path)
    ours = Decoder.from_pretrained(tmp_path)
    head = ours.embedding.weight if ours.head is None else ours.head.weight
    assert (head.shape, head.stride()) == ((99, 64), (1, 99))
    state = ours.state_dict()
    assert all(tensor.is_contiguous() for tensor in state.values())
    save_file(state, tmp_path / "saved.safetensors")
    again = copy.deepcopy(ours)
    again.load_state_dict(load_file(tmp_path / "saved.safetensors"))
    optimiser = torch.optim.AdamW(again.parameters(), lr=1e-3, fused=True)
    losses = []
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(again(IDS[:, :-1]).flatten(0, 1), IDS[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[2] < losses[0]
    want = torch.nn.functional.cross_entropy(model(IDS[:, :-1]).logits.flatten(0, 1), IDS[:, 1:].flatten())
    assert losses[0] == pytest.approx(float(want.detach()), rel=1e-4)


def test_the_config_decides_scalings_and_windows(tmp_path):
    found = {}
    for family in ("llama-llama3", "llama-yarn", "llama-linear", "mistral-window", "qwen2-windows", "qwen2"):
        theirs(family, tmp_path / family)
        found[family] = Decoder.from_pretrained(tmp_path / family)
    scalings = {family: model.encodings[0].scaling for family, model in found.items()}
    assert scalings["llama-llama3"] == Llama3(8.0, 1.0, 4.0, 64)
    assert scalings["llama-yarn"] == YaRN(4.0, 64)
    assert scalings["llama-linear"] == Linear(2.0)
    assert found["mistral-window"].windows == (8, 8, 8)
    assert found["mistral-window"].new_cache(1).capacity == 8
    assert found["qwen2-windows"].windows == (None, 8, 8)
    assert found["qwen2-windows"].rules == {None: Causal(), 8: Window(8)}
    assert found["qwen2"].windows == (None, None, None)


def edited(directory, change):
    """The one safetensors file of a folder, after `change` has had its tensors."""
    tensors = load_file(directory / "model.safetensors")
    change(tensors)
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})


def test_all_that_is_wrong_with_the_tensors_is_named_in_one_error(tmp_path):
    theirs("llama", tmp_path)

    def change(tensors):
        del tensors["model.layers.0.self_attn.q_proj.weight"], tensors["model.norm.weight"]
        tensors["model.layers.3.mlp.up_proj.weight"] = torch.zeros(96, 64)
        tensors["model.layers.1.mlp.down_proj.weight"] = torch.zeros(96, 64)
        tensors["model.layers.2.self_attn.k_proj.weight"] = torch.zeros(32, 64, dtype=torch.int8)

    edited(tmp_path, change)
    with pytest.raises(DataError) as raised:
        Decoder.from_pretrained(tmp_path)
    told = str(raised.value)
    assert "missing model.layers.0.self_attn.q_proj.weight, model.norm.weight;" in told
    assert "unexpected model.layers.3.mlp.up_proj.weight;" in told
    assert "misshapen model.layers.1.mlp.down_proj.weight [96, 64] for [64, 96];" in told
    assert "not of plain numbers model.layers.2.self_attn.k_proj.weight I8" in told


def test_tables_of_frequencies_that_old_files_carry_along_are_passed_over(tmp_path):
    model = theirs("llama", tmp_path)
    edited(tmp_path, lambda tensors: tensors.update({"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4)}))
    with torch.inference_mode():
        assert_close(Decoder.from_pretrained(tmp_path)(IDS), model(IDS).logits, rtol=0, atol=1e-4)


def test_a_head_beside_a_tied_embedding_must_be_the_same(tmp_path):
    model = theirs("llama-tied", tmp_path)
    embedding = model.model.embed_tokens.weight.detach().clone()
    edited(tmp_path, lambda tensors: tensors.update({"lm_head.weight": embedding}))
    Decoder.from_pretrained(tmp_path)
    edited(tmp_path, lambda tensors: tensors.update({"lm_head.weight": embedding + 1}))
    with pytest.raises(DataError, match=r"lm_head\.weight equal to the embedding"):
        Decoder.from_pretrained(tmp_path)


def test_a_truncated_file_is_named(tmp_path):
    theirs("llama", tmp_path, shard="40KB")
    last = sorted(tmp_path.glob("*.safetensors"))[-1]
    last.write_bytes(last.read_bytes()[:-5])
    with pytest.raises(DataError, match=f"{last.name}: expected a complete safetensors file"):
        Decoder.from_pretrained(tmp_path)
    last.unlink()
    with pytest.raises(MissingDataError, match=last.name):
        Decoder.from_pretrained(tmp_path)


def test_an_index_that_lies_is_an_error(tmp_path):
    theirs("llama", tmp_path, shard="40KB")
    index = tmp_path / "model.safetensors.index.json"
    told = json.loads(index.read_text())
    shards = sorted(set(told["weight_map"].values()))
    told["weight_map"]["model.norm.weight"] = next(s for s in shards if s != told["weight_map"]["model.norm.weight"])
    index.write_text(json.dumps(told))
    with pytest.raises(DataError, match=r"files have the tensors it says, got none of the name model\.norm\.weight"):
        Decoder.from_pretrained(tmp_path)
    told["weight_map"]["model.norm.weight"] = "../other.safetensors"
    index.write_text(json.dumps(told))
    with pytest.raises(DataError, match="files in this folder"):
        Decoder.from_pretrained(tmp_path)
    index.write_text("{")
    with pytest.raises(DataError, match="JSON with a weight_map"):
        Decoder.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"model_type": "gemma3_text"}, RefusedError, r"model_type: expected one of \['llama', 'mistral', 'qwen2', 'qwen3'\]"),
        ({"hidden_act": "gelu"}, RefusedError, "hidden_act"),
        ({"quantization_config": {"bits": 4}}, RefusedError, "plain numbers"),
        ({"vocab_size": None}, DataError, "vocab_size"),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 0}}, DataError, "a config that can be meant"),
        ({"num_hidden_layers": 4}, DataError, r"missing .*model\.layers\.3\.self_attn\.q_proj\.weight"),
        ({"vocab_size": 100}, DataError, r"misshapen model\.embed_tokens\.weight \[99, 64\] for \[100, 64\]"),
        ({"tie_word_embeddings": True}, DataError, r"lm_head\.weight equal to the embedding"),
    ],
)
def test_a_config_that_does_not_fit_is_refused_in_words(change, error, words, tmp_path):
    theirs("llama", tmp_path)
    config = json.loads((tmp_path / "config.json").read_text()) | change
    (tmp_path / "config.json").write_text(json.dumps({key: value for key, value in config.items() if value is not None}))
    with pytest.raises(error, match=words):
        Decoder.from_pretrained(tmp_path)


def test_a_folder_without_its_files_is_an_error(tmp_path):
    with pytest.raises(MissingDataError, match=r"a folder with config\.json"):
        Decoder.from_pretrained(tmp_path)
    theirs("llama", tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(MissingDataError, match=r"pytorch_model\.bin, which are pickles"):
        Decoder.from_pretrained(tmp_path)
