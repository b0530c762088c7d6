"""Model families of transformers, end to end on random weights: what reaches their attention against `Rotary`.

Each model runs twice with the same weights and tokens: once at given positions and once with every token at position 0, where
a rotation is the identity (times its factor). What its attention function receives in the second run is the unrotated query
and key, in the first the rotated one, whatever the family's projections and norms do before. Only a layer that sees the
embeddings directly is looked at, so nothing else can differ. transformers forms angles in float32, hence the tolerance.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
import torch
from torch.testing import assert_close

from ordinate.position import LogTemperature, Rotary, SteppedTemperature, convert_layout
from ordinate.position.frequencies import DynamicNTK, Linear, Llama3, LongRoPE, Proportional, YaRN

transformers = pytest.importorskip("transformers", reason="the oracle is not installed")

HEAD_DIM, TOKENS = 16, 6
POSITIONS = torch.tensor([[0, 1, 2, 50, 51, 7], [9, 8, 120, 3, 3, 200]])
SIZES = {
    "vocab_size": 97,
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": HEAD_DIM,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
OLDER = {
    "vocab_size": 97,
    "n_embd": 64,
    "n_head": 4,
    "n_layer": 1,
    "n_positions": 256,
    "rotary_dim": 8,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
EXPERTS = {"num_local_experts": 2, "num_experts": 2, "num_experts_per_tok": 1}
LATENT = {
    "head_dim": 8,
    "num_key_value_heads": 4,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 8,
    "kv_lora_rank": 16,
    "q_lora_rank": 24,
    "first_k_dense_replace": 1,
    "n_routed_experts": 2,
    "num_experts_per_tok": 1,
    "n_group": 1,
    "topk_group": 1,
}
ORIGINAL = {"original_max_position_embeddings": 64}
FACTORS = {"short_factor": [1.0 + 0.1 * i for i in range(8)], "long_factor": [1.0 + i for i in range(8)]}


def scaled(rule: str, base: float = 10000.0, **settings) -> dict:
    return {"rope_parameters": {"rope_type": rule, "rope_theta": base, **settings}}


@dataclass(frozen=True)
class Family:
    """A model type with what its config says beyond SIZES, and the rotation that it should come to."""

    model_type: str
    rotary: Rotary
    config: Mapping = field(default_factory=dict)
    length: int | None = None  # for scalings that depend on it
    name: str = ""


def half(head_dim=HEAD_DIM, **settings) -> Rotary:
    return Rotary(head_dim, layout="half", **settings)


def interleaved(head_dim=HEAD_DIM, **settings) -> Rotary:
    return Rotary(head_dim, layout="interleaved", **settings)


YARN = YaRN(4.0, 64)
FAMILIES = [
    Family("llama", half()),
    Family("mistral", half()),
    Family("mixtral", half(base=1e6), EXPERTS),
    Family("qwen2", half(base=1e6), scaled("default", 1e6)),
    Family("qwen3", half()),
    Family("gemma", half()),
    Family("gemma2", half()),
    Family("gemma3_text", half(), {"layer_types": ["sliding_attention"]}, name="gemma3 local"),
    Family(
        "gemma3_text",
        half(base=1e6, scaling=Linear(8.0)),
        {
            "layer_types": ["full_attention"],
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            },
        },
        name="gemma3 global",
    ),
    Family("phi", half(rotary_dim=8)),
    Family("phi3", half()),
    Family("gpt_neox", half(rotary_dim=4)),
    Family("gptj", interleaved(rotary_dim=8), OLDER),
    Family("cohere", interleaved(base=500000.0)),
    Family("cohere2", interleaved()),
    Family("glm", interleaved(rotary_dim=8)),
    Family("glm4", interleaved(rotary_dim=8)),
    Family("stablelm", half(rotary_dim=4)),
    Family("persimmon", half(rotary_dim=8)),
    Family("nemotron", half(rotary_dim=8)),
    Family("olmo", half()),
    Family("olmo2", half()),
    Family("starcoder2", half()),
    Family("granite", half()),
    Family("smollm3", half(base=2e6), {"no_rope_layers": [1]}),
    Family("helium", interleaved(base=1e5)),
    Family("ernie4_5", interleaved(base=5e5)),
    Family("modernbert", half(base=160000.0), {"layer_types": ["full_attention"]}),
    Family("llama4_text", interleaved(base=5e5), {**EXPERTS, "no_rope_layers": [1], "use_qk_norm": True}),
    Family("gpt_oss", half(base=150000.0, scaling=YaRN(32.0, 4096, truncate=False)), EXPERTS),
    Family("apertus", half(base=12e6, scaling=Llama3(8.0, 1.0, 4.0, 8192))),
    Family(
        "deepseek_v2",
        interleaved(16, rotary_dim=8, rotated_channels="last", scaling=YaRN(4.0, 64, mscale=1.0, mscale_all_dim=0.5)),
        {**LATENT, **scaled("yarn", factor=4.0, mscale=1.0, mscale_all_dim=0.5, **ORIGINAL)},
    ),
    Family("llama", half(scaling=Linear(4.0)), scaled("linear", factor=4.0), name="llama linear"),
    Family("llama", half(scaling=YARN), scaled("yarn", factor=4.0, **ORIGINAL), name="llama yarn"),
    Family(
        "llama",
        half(base=5e5, scaling=Llama3(8.0, 1.0, 4.0, 64)),
        scaled("llama3", 5e5, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, **ORIGINAL),
        name="llama llama3",
    ),
    Family(
        "llama",
        half(scaling=DynamicNTK(2.0, 128)),
        {**scaled("dynamic", factor=2.0), "max_position_embeddings": 128},
        length=201,
        name="llama dynamic",
    ),
    Family("llama", half(scaling=Proportional(0.25)), scaled("proportional", partial_rotary_factor=0.25), name="llama p-RoPE"),
    Family(
        "phi3",
        half(scaling=LongRoPE(**FACTORS, original_context=64, claimed_context=256)),
        {**scaled("longrope", factor=4.0, **FACTORS, **ORIGINAL), "original_max_position_embeddings": 64},
        length=201,
        name="phi3 longrope past its original context",
    ),
    Family(
        "phi3",
        half(scaling=LongRoPE(**FACTORS, original_context=202, claimed_context=256)),
        {
            **scaled("longrope", factor=256 / 202, original_max_position_embeddings=202, **FACTORS),
            "original_max_position_embeddings": 202,
        },
        length=201,
        name="phi3 longrope within it",
    ),
]


@pytest.fixture(scope="module")
def received():
    """What the attention functions of transformers were handed, call by call."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    calls = []

    def record(module, query, key, value, attention_mask=None, **settings):
        calls.append((query.clone(), key.clone()))
        return value.repeat_interleave(query.shape[1] // value.shape[1], dim=1).transpose(1, 2), None

    ALL_ATTENTION_FUNCTIONS.register("record", record)
    yield calls
    del ALL_ATTENTION_FUNCTIONS._global_mapping["record"]


def built(model_type: str, config: Mapping) -> torch.nn.Module:
    sizes = {} if config is OLDER else SIZES
    made = transformers.AutoConfig.for_model(model_type, **{**sizes, **config})
    torch.manual_seed(0)
    model = transformers.AutoModel.from_config(made, attn_implementation="record").eval()
    for parameter in model.parameters():  # biases and norms start at 0 and 1, which would hide a mistake
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def run(model: torch.nn.Module, received: list, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    received.clear()
    with torch.no_grad():
        model(torch.arange(3, 3 + positions.numel()).view(positions.shape), position_ids=positions)
    return received[0]


@pytest.mark.in_turn(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", FAMILIES, ids=[family.name or family.model_type for family in FAMILIES])
def test_queries_and_keys_reach_attention_as_the_model_turns_them(family, received):
    model, rotary = built(family.model_type, family.config), family.rotary
    turned, still = run(model, received, POSITIONS), run(model, received, torch.zeros_like(POSITIONS))
    factor = 1.0 if rotary.scaling is None else rotary.scaling.cos_sin_factor
    rotated = slice(0, rotary.rotary_dim) if rotary.rotated_channels == "first" else slice(-rotary.rotary_dim, None)
    other = Rotary(
        rotary.head_dim,
        layout="half" if rotary.layout == "interleaved" else "interleaved",
        rotary_dim=rotary.rotary_dim,
        base=rotary.base,
        scaling=rotary.scaling,
        rotated_channels=rotary.rotated_channels,
    )
    for theirs, plain in zip(turned, still, strict=True):
        plain = plain.clone()
        plain[..., rotated] /= factor
        scale = plain.abs().max()
        found = rotary.rotate(plain, POSITIONS, length=family.length)
        assert_close(found / scale, theirs / scale, rtol=0, atol=1e-4)
        assert (other.rotate(plain, POSITIONS, length=family.length) - theirs).abs().max() > 0.02 * scale  # it can fail


@pytest.mark.filterwarnings("ignore")
def test_deepseek_v3_turns_interleaved_pairs_and_leaves_them_in_halves(received):
    """Its code reads pairs (2i, 2i + 1) from the projections and writes (i, i + P): scores are those of "interleaved"."""
    config = {**LATENT, **scaled("yarn", factor=40.0, mscale=1.0, mscale_all_dim=1.0, **ORIGINAL)}
    model = built("deepseek_v3", config)
    query, key = run(model, received, POSITIONS)
    attention = model.layers[0].self_attn
    with torch.no_grad():
        hidden = model.layers[0].input_layernorm(model.embed_tokens(torch.arange(3, 15).view(2, 6)))
        plain_query = attention.q_b_proj(attention.q_a_layernorm(attention.q_a_proj(hidden))).view(2, 6, 4, 16).transpose(1, 2)
        plain_key = attention.kv_a_proj_with_mqa(hidden)[..., None, -8:].transpose(1, 2)
    scaling = YaRN(40.0, 64, mscale=1.0, mscale_all_dim=1.0)
    settings = {"layout": "interleaved", "scaling": scaling}
    ours = Rotary(16, rotary_dim=8, rotated_channels="last", **settings).rotate(plain_query, POSITIONS)
    our_key = Rotary(8, **settings).rotate(plain_key, POSITIONS)
    to_half = {"source": "interleaved", "target": "half"}
    assert_close(convert_layout(ours, rotary_dim=8, rotated_channels="last", **to_half), query, rtol=1e-4, atol=1e-4)
    assert_close(convert_layout(our_key, **to_half), key[:, :1, :, 8:], rtol=1e-4, atol=1e-4)
    products = ours[..., 8:] @ our_key.mT
    assert_close(products, query[..., 8:] @ key[..., 8:].mT, rtol=1e-4, atol=1e-3)
    assert attention.scaling == pytest.approx(16**-0.5 * scaling.softmax_factor)


@pytest.mark.filterwarnings("ignore")
def test_layers_of_llama_4_without_rotation_have_its_temperature(received):
    """transformers counts the tokens of the row here, not their positions, which is wrong under left padding."""
    plain, scaled_up = (
        run(
            built("llama4_text", {**EXPERTS, "no_rope_layers": [0], "floor_scale": step, "attn_scale": 0.3}),
            received,
            POSITIONS,
        )
        for step in (10**6, 2)
    )
    temperature, counted = SteppedTemperature(2, 0.3), torch.arange(TOKENS)
    assert_close(temperature.rotate_query(plain[0], counted), scaled_up[0])
    assert torch.equal(temperature.rotate_key(plain[1], counted), scaled_up[1])
    assert (plain[0] - scaled_up[0]).abs().max() > 0.1


@pytest.mark.filterwarnings("ignore")
def test_ministral_3_has_a_rotation_and_a_temperature(received):
    settings = {"factor": 4.0, "original_max_position_embeddings": 16, "llama_4_scaling_beta": 0.2}
    model = built("ministral3", scaled("yarn", 1e6, mscale=1.0, mscale_all_dim=1.0, **settings))
    turned, still = run(model, received, POSITIONS), run(model, received, torch.zeros_like(POSITIONS))
    rotary = half(base=1e6, scaling=YaRN(4.0, 16, attention_factor=1.0))
    query = SteppedTemperature(16, 0.2, ahead=0).rotate_query(rotary.rotate(still[0], POSITIONS), POSITIONS)
    assert_close(query, turned[0], rtol=1e-4, atol=2e-4)
    assert_close(rotary.rotate(still[1], POSITIONS), turned[1], rtol=1e-4, atol=2e-4)


@pytest.mark.filterwarnings("ignore")
def test_falcon_turns_halves(monkeypatch):
    from transformers.models.falcon import modeling_falcon

    calls, theirs = [], modeling_falcon.apply_rotary_pos_emb
    monkeypatch.setattr(
        modeling_falcon, "apply_rotary_pos_emb", lambda q, k, *t: calls.append((q, k, *theirs(q, k, *t))) or theirs(q, k, *t)
    )
    config = transformers.FalconConfig(vocab_size=97, hidden_size=64, num_hidden_layers=1, num_attention_heads=4, alibi=False)
    torch.manual_seed(0)
    with torch.no_grad():
        transformers.FalconModel(config).eval()(torch.arange(12).view(2, 6), position_ids=POSITIONS)
    q, k, turned_q, turned_k = calls[0]
    assert_close(half().rotate_both(q, k, POSITIONS), (turned_q, turned_k), rtol=1e-4, atol=1e-4)


def test_roformer_turns_interleaved_pairs():
    from transformers.models.roformer.modeling_roformer import RoFormerSelfAttention, RoFormerSinusoidalPositionalEmbedding

    table = RoFormerSinusoidalPositionalEmbedding(64, HEAD_DIM)
    table.weight.data.copy_(table.create_weight())
    q, k = torch.randn(2, 2, 3, 40, HEAD_DIM).unbind()
    theirs = RoFormerSelfAttention.apply_rotary_position_embeddings(table((2, 40))[None, None], q, k)
    assert_close(interleaved().rotate_both(q, k, torch.arange(40)), theirs, rtol=1e-4, atol=1e-4)


def test_the_first_qwen_scales_queries_by_the_logarithm_of_the_row():
    """`logn_tensor` of modeling_qwen.py, which transformers does not carry: log(i, seq_length) past it, for i from 1."""
    import math

    factors = torch.tensor([math.log(i, 16) if i > 16 else 1 for i in range(1, 201)])
    query = torch.randn(1, 2, 200, 8)
    assert_close(LogTemperature(16).rotate_query(query, torch.arange(200)), query * factors[:, None])
