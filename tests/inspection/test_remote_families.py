"""Families whose code comes with the checkpoint: what stored copies of it do, worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ordinate.inspection import inspect_config

HYMBA = {
    "model_type": "hymba",
    "hidden_size": 1600,
    "num_attention_heads": 25,
    "num_key_value_heads": 5,
    "rope": True,
    "num_hidden_layers": 32,
    "sliding_window": 1024,
    "max_position_embeddings": 8192,
    "orig_max_position_embeddings": 2048,
    "rope_type": "ntk",
    "rope_theta": 10000.0,
    "mamba_expand": 2,
    "mamba_d_conv": 4,
    "mamba_d_state": 16,
    "global_attn_idx": [0, 15, 31],
    "kv_reuse_group": [[i, i + 1] for i in range(1, 15, 2)] + [[16, 17, 18]] + [[i, i + 1] for i in range(19, 30, 2)],
}
PLAMO_2: dict[str, Any] = {"model_type": "plamo2", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32}
PLAMO_2 |= {"num_key_value_heads": 4, "full_attention_idx": [1]}
PLAMO_3: dict[str, Any] = {"model_type": "plamo3", "hidden_size": 4096, "num_hidden_layers": 8, "num_attention_heads": 32}
PLAMO_3 |= {"num_key_value_heads": 4, "head_dim": 128, "sliding_window": 2048, "sliding_window_pattern": 8}
PLAMO_3 |= {"rope_theta": 1e6, "rope_local_theta": 10000.0, "max_position_embeddings": 4096}
OURO: dict[str, Any] = {"model_type": "ouro", "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 16}
OURO |= {"num_hidden_layers": 24, "rope_theta": 1e6, "max_position_embeddings": 65536}
ERNIE: dict[str, Any] = {"model_type": "ernie4_5_moe_vl", "hidden_size": 2560, "num_attention_heads": 20}
ERNIE |= {"num_key_value_heads": 4, "num_hidden_layers": 28, "rope_theta": 500000, "freq_allocation": 20}
ERNIE |= {"max_position_embeddings": 131072}
LING: dict[str, Any] = {"model_type": "bailing_moe_v2", "hidden_size": 2048, "num_attention_heads": 16}
LING |= {"num_key_value_heads": 4, "head_dim": 128, "num_hidden_layers": 20, "partial_rotary_factor": 0.5, "rope_theta": 6e5}
PHI: dict[str, Any] = {"model_type": "phi4mm", "hidden_size": 3072, "num_attention_heads": 24, "num_key_value_heads": 8}
PHI |= {"num_hidden_layers": 32, "partial_rotary_factor": 0.75, "rope_theta": 1e4, "max_position_embeddings": 131072}

TURNS: list[tuple[str, dict[str, Any], tuple[Any, ...]]] = [
    # name, what the file says, (layout, channels that turn, base, pairs of the axes), and where it was read
    ("hymba", HYMBA, ("half", 64, 1e4 * (2 * 4 - 1) ** (64 / 62), None)),  # modeling_hymba.py, LlamaRotaryEmbedding
    ("plamo2", PLAMO_2, ("half", 128, 1e4, None)),  # vLLM, plamo2.py: the whole of hidden_size_per_head
    ("plamo3", PLAMO_3, ("half", 128, 1e6, None)),  # vLLM, plamo3.py
    ("ouro", OURO, ("half", 128, 1e6, None)),  # vLLM, ouro.py
    ("ernie4_5_moe_vl", ERNIE, ("interleaved", 128, 5e5, [22, 22, 20])),  # modeling_ernie4_5_vl.py
    ("neobert", {"model_type": "neobert"}, ("interleaved", 64, 1e4, None)),
    ("bailing_moe_v2", LING, ("half", 64, 6e5, None)),  # vLLM, bailing_moe.py: rotate_half over the first channels
    ("phi4mm", PHI, ("half", 96, 1e4, None)),  # modeling_phi4mm.py: int(head_dim x partial_rotary_factor)
]


@pytest.mark.parametrize(("told", "expected"), [turn[1:] for turn in TURNS], ids=[turn[0] for turn in TURNS])
def test_each_family_turns_as_its_code_does(told: dict[str, Any], expected: tuple[Any, ...]) -> None:
    read = inspect_config(told)
    turn = read.main.layers[0].rotation
    assert turn is not None
    pairs = turn.sections.value if turn.sections is not None else None
    assert (turn.layout.value, turn.rotary_dim.value, pairs) == (expected[0], expected[1], expected[3])
    assert turn.base.value == pytest.approx(expected[2], rel=1e-12)
    assert not read.findings


FOX: dict[str, Any] = {"hidden_size": 2048, "num_hidden_layers": 24, "num_heads": 32}
PROJECT_FOX = {"model_type": "forgetting_transformer-project_fox", **FOX, "max_position_embeddings": 2048}


@pytest.mark.parametrize(
    ("told", "kinds"),
    [
        ({"model_type": "forgetting_transformer", **FOX}, ["forget-gates"]),
        (PROJECT_FOX, ["forget-gates"]),
        ({**PROJECT_FOX, "use_rope": True, "rope_base": 1e6}, ["forget-gates", "rope"]),
        ({**PROJECT_FOX, "use_rope": True, "fgate_type": "none"}, ["rope"]),
        ({"model_type": "path_attn", **FOX}, ["path"]),
        ({"model_type": "path_attn", **FOX, "use_forget_gate": True}, ["path", "forget-gates"]),
    ],
)
def test_gates_and_products_of_matrices_act_on_scores(told: dict[str, Any], kinds: list[str]) -> None:
    """flash-linear-attention's and the authors' configuration classes; a rotation there has two halves."""
    read = inspect_config(told)
    (layer,) = read.main.layers
    assert [one.kind.value for one in layer.encodings] == kinds
    assert not [finding for finding in read.findings if finding.severity == "error"]
    for one in layer.encodings:
        assert one.where == ("queries and keys" if one.kind.value == "rope" else "scores")
        if one.rotation is not None:
            assert (one.rotation.layout.value, one.rotation.base.value) == ("half", told.get("rope_base", 5e5))


def groups(told: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Layers, numbers a token, window and state of each kind of layer that keeps something."""
    cache = inspect_config({**told, "torch_dtype": "bfloat16"}).cache
    assert cache is not None
    return sorted((each.layers, each.width, each.window or 0, each.state) for each in cache.groups)


def test_hymba_keeps_one_cache_for_each_group_and_a_state_in_every_layer() -> None:
    token, state = 5 * (64 + 128), 3200 * 4 * 2 + 3200 * 16 * 4
    assert groups(HYMBA) == [(3, token, 0, state), (14, token, 1024, state), (15, 0, 1024, state)]
    assert inspect_config({**HYMBA, "rope": False}).kind == "none"


def test_plamo_2_alternates_and_plamo_3_has_two_bases() -> None:
    state = 64 * 128 * 4 * 2 + 64 * 128 * 64 * 4
    assert groups(PLAMO_2) == [(1, 1024, 0, 0), (15, 1024, 2048, 0), (16, 0, 0, state)]
    layers = inspect_config(PLAMO_3).main.layers
    assert [(layer.indices, layer.rotation.base.value) for layer in layers if layer.rotation] == [
        ((7,), 1e6),
        (tuple(range(7)), 1e4),
    ]


def test_layers_that_run_four_times_keep_four_caches() -> None:
    assert groups(OURO) == [(4 * 24, 2 * 16 * 128, 0, 0)]
    assert groups({**OURO, "total_ut_steps": 2}) == [(2 * 24, 2 * 16 * 128, 0, 0)]


def test_rwkv_7_keeps_a_square_matrix_a_head() -> None:
    told = {"model_type": "rwkv7", "hidden_size": 2048, "num_hidden_layers": 24, "head_dim": 64}
    assert groups(told) == [(24, 0, 0, 2 * 2048 * 2 + 32 * 64 * 64 * 4)]


def test_heads_by_block_are_read_for_both_names_of_the_family() -> None:
    blocks = [{"attention": {"n_heads_in_group": 8}}, {"attention": {"no_op": True}}, {"attention": {"n_heads_in_group": 16}}]
    for name in ("nemotron-nas", "deci"):
        told = {"model_type": name, "hidden_size": 8192, "num_attention_heads": 64, "num_hidden_layers": 3}
        assert groups({**told, "block_configs": blocks}) == [(1, 2 * 4 * 128, 0, 0), (1, 2 * 8 * 128, 0, 0)]


def test_a_text_model_inside_is_read_by_its_own_type() -> None:
    inner = {"model_type": "qwen3", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
    for name in ("internvl_chat", "ovis2_5"):
        assert inspect_config({"model_type": name, "llm_config": inner}).main.model_type.value == "qwen3"


GTE: dict[str, Any] = {"model_type": "new", "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12}
GTE |= {"max_position_embeddings": 8192, "position_embedding_type": "rope", "rope_theta": 20000}


@pytest.mark.parametrize("mixed", [None, 0.625])
def test_gte_scales_by_its_own_rule(mixed: float | None) -> None:
    """modeling.py of new-impl, equations 6 and 10 to 13 there."""
    scaling = {"type": "ntk", "factor": 8.0} | ({} if mixed is None else {"mixed_b": mixed})
    turn = inspect_config({**GTE, "rope_scaling": scaling}).main.layers[0].rotation
    assert turn is not None
    if mixed is None:
        right = [(20000 * 8) ** (-2 * i / 64) / 8 ** (2 / 64) for i in range(32)]
    else:
        right = [20000 ** (-2 * i / 64) / math.exp(math.log(8) / 32**mixed * (i + 1) ** mixed) for i in range(32)]
    assert turn.inverse_frequencies() == pytest.approx(right, rel=1e-12)
    assert inspect_config(GTE).main.layers[0].rotation.inverse_frequencies()[1] == pytest.approx(20000 ** (-1 / 32))  # type: ignore[union-attr,index]


@pytest.mark.parametrize(
    ("told", "rows"),
    [
        ({**GTE, "position_embedding_type": "absolute"}, 8192),
        ({"model_type": "neobert", "rope": False, "max_length": 4096}, 4097),
    ],
)
def test_what_does_not_turn_has_a_table(told: dict[str, Any], rows: int) -> None:
    read = inspect_config(told)
    assert read.main.kind == "learned"
    assert read.main.layers[0].encodings[0].settings["rows"].value == rows


def test_rwkv_7_may_attend_in_some_layers() -> None:
    """fla/layers/rwkv7.py and fla/models/rwkv7: a state a layer, and `attn` for those that attend."""
    told: dict[str, Any] = {"model_type": "rwkv7", "hidden_size": 2048, "head_dim": 64, "num_hidden_layers": 24}
    assert inspect_config(told).cache.bytes_at(100) == 24 * (4 * 2048 * 64 + 2 * 2 * 2048)  # type: ignore[union-attr]
    attends = {"layers": [3, 7], "num_heads": 8, "num_kv_heads": 4, "window_size": 512, "rope_theta": 20000.0}
    read = inspect_config({**told, "attn": attends})
    assert [(layer.indices, layer.window_keys.value) for layer in read.layers if layer.rotation] == [((3, 7), 512)]
    assert read.cache.bytes_per_token.value == 2 * 4 * 256 * 2 * 2  # type: ignore[union-attr]
    assert not read.findings


def test_decilm_counts_heads_by_block_and_leaves_blocks_out() -> None:
    """modeling_decilm.py: num_attention_heads // n_heads_in_group; no_op and replace_with_linear keep nothing."""
    blocks = [{"attention": {"n_heads_in_group": size}} for size in (8, 16)]
    blocks += [{"attention": {"no_op": True}}, {"attention": {"replace_with_linear": True}}]
    told = {"model_type": "nemotron-nas", "hidden_size": 8192, "num_attention_heads": 64, "num_hidden_layers": 4}
    read = inspect_config({**told, "block_configs": blocks, "max_position_embeddings": 131072})
    assert read.cache.bytes_per_token.value == (8 + 4) * 2 * 128 * 2  # type: ignore[union-attr]
