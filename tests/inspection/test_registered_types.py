"""Types that transformers registers and that were read last: facts of their code, and the sizes of its models."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import pytest

from ordinate.inspection import inspect_config
from tests.inspection.library_coverage import coverage

UNREADABLE = {"timm_backbone", "timm_wrapper", "gemma3n_vision"}
"""Their network is timm's, named by a key of the file."""


def test_the_position_code_of_every_registered_type_has_been_read() -> None:
    assert set(coverage()["unknown"]) == UNREADABLE
    for model_type in UNREADABLE:
        assert "timm" in inspect_config({"model_type": model_type}).parameters_on_position.detail


FACTS: list[tuple[str, dict[str, Any], list[tuple[Any, ...]]]] = [
    # type, what the file says, of each kind of layer: name, number, encodings, heads, head, keys seen, channels turned
    ("dots3_note_text", {}, [
        ("indexed attention", 13, {"rope"}, 128, 192, None, 64),
        ("sliding attention", 33, {"rope"}, 64, 256, 512, 64),
    ]),
    ("inkling_text", {}, [
        ("hybrid", 11, {"learned"}, 64, 128, None, None),
        ("hybrid sliding", 55, {"learned"}, 64, 128, 512, None),
    ]),
    ("inkling_text", {"local_layer_ids": [0], "num_hidden_layers": 3}, [
        ("hybrid", 2, {"learned"}, 64, 128, None, None),
        ("hybrid sliding", 1, {"learned"}, 64, 128, 512, None),
    ]),
    ("moshi_depth", {}, [("sliding attention", 6, {"none"}, 16, 64, 8, None)]),
    ("clvp_encoder", {}, [("full attention", 20, {"rope"}, 12, 64, None, 32)]),
    ("clvp_encoder", {"use_rotary_embedding": False}, [("full attention", 20, set(), 12, 64, None, None)]),
    ("clvp_decoder", {}, [("full attention", 30, {"learned"}, 16, 64, None, None)]),
    ("perceiver", {}, [("full attention", 26, {"learned", "fourier"}, 8, 160, None, None)]),
    ("pix2struct_vision_model", {}, [("full attention", 12, {"learned"}, 12, 64, None, None)]),
    ("pp_formulanet_text", {}, [("full attention", 8, {"learned"}, 16, 32, None, None)]),
    ("tipsv2_text_model", {}, [("full attention", 12, {"sinusoidal"}, 12, 64, None, None)]),
    ("videoprism_text_model", {}, [("full attention", 12, {"sinusoidal"}, 12, 64, None, None)]),
    ("sam_mask_decoder", {}, [("full attention", 2, {"fourier"}, 8, 32, None, None)]),
    ("sam3_detr_encoder", {}, [("full attention", 6, {"sinusoidal"}, 8, 32, None, None)]),
    ("sam3_detr_decoder", {}, [("full attention", 6, {"sinusoidal", "learned"}, 8, 32, None, None)]),
    ("fun_asr_nano_encoder", {}, [("full attention", 70, {"sinusoidal"}, 4, 128, None, None)]),
    ("granite_speech5_encoder", {}, [("full attention", 16, {"shaw"}, 8, 128, None, None)]),
    ("moonshine_streaming_encoder", {}, [("full attention", 6, {"none"}, 8, 40, None, None)]),
    ("phi4_multimodal_audio", {}, [("full attention", 24, {"learned"}, 16, 64, None, None)]),
    ("patchtsmixer", {}, [("full attention", 3, {"none"}, None, None, None, None)]),
    ("patchtsmixer", {"use_positional_encoding": True}, [("full attention", 3, {"sinusoidal"}, None, None, None, None)]),
    ("seamless_m4t", {"position_embeddings_type": "rotary", "t2u_decoder_layers": 5}, [
        ("speech encoder", 24, {"rope"}, 16, 64, None, 64),
        ("encoder", 24, {"sinusoidal"}, 16, 64, None, None),
        ("decoder", 24, {"sinusoidal"}, 16, 64, None, None),
        ("t2u encoder", 6, {"sinusoidal"}, 16, 64, None, None),
        ("t2u decoder", 5, {"sinusoidal"}, 16, 64, None, None),
    ]),
    ("fastspeech2_conformer", {"decoder_layers": 3}, [
        ("encoder", 4, {"transformer-xl"}, 2, 192, None, None),
        ("decoder", 3, {"transformer-xl"}, 2, 192, None, None),
    ]),
    ("efficientloftr", {}, [("full attention", 4, {"rope2d"}, 8, 32, None, None)]),
    ("idefics2_perceiver", {}, [("full attention", 3, {"none"}, 16, 96, None, None)]),
]  # fmt: skip


@pytest.mark.parametrize(("model_type", "told", "expected"), FACTS, ids=[f"{t}-{i}" for i, (t, _, _) in enumerate(FACTS)])
def test_layers_are_what_the_code_of_the_type_makes(
    model_type: str, told: dict[str, Any], expected: list[tuple[Any, ...]]
) -> None:
    layers = inspect_config({"model_type": model_type, **told}).main.layers
    found = [
        (
            layer.name,
            len(layer.indices),
            {encoding.kind.value for encoding in layer.encodings},
            layer.attention.num_heads.value,
            layer.attention.head_dim.value,
            layer.window_keys.value,
            layer.rotation.rotary_dim.value if layer.rotation is not None else None,
        )
        for layer in layers
    ]
    assert found == expected


def test_a_section_named_after_one_side_holds_that_side_alone() -> None:
    read = inspect_config({"model_type": "nougat", "decoder": {"model_type": "mbart", "decoder_layers": 10}})
    assert [(part.path, [layer.name for layer in part.layers], part.num_layers.value) for part in read.parts] == [
        ("decoder", ["decoder"], 10),
    ]
    bare = inspect_config({"model_type": "nougat"})
    assert {part.path: part.kind for part in bare.parts} == {"decoder": "learned", "encoder": "learned"}


def test_older_and_newer_files_of_dots3_say_the_same() -> None:
    older = {"model_type": "dots3_note_text", "num_hidden_layers": 4, "swa_kv_lora_rank": 256, "swa_rope_theta": 3e4}
    older["layer_types"] = ["full_attention", "full_attention", "sliding_attention", "full_attention"]
    theta = {"rope_type": "default", "rope_theta": 8e7}
    newer = {"model_type": "dots3_note_text", "num_hidden_layers": 4, "sliding_window": 512}
    newer["layer_types"] = [kind.replace("full", "indexed") for kind in older["layer_types"]]
    newer["per_layer_config"] = {"2": {"kv_lora_rank": 256, "qk_rope_head_dim": 64}}
    newer["rope_parameters"] = {"indexed_attention": theta, "sliding_attention": {**theta, "rope_theta": 3e4}}
    read = [inspect_config(file).main for file in (older, newer)]
    facts = [
        [(layer.name, layer.attention.cached_width.value, layer.rotation.base.value) for layer in part.layers if layer.rotation]
        for part in read
    ]
    assert facts[0] == facts[1]
    assert facts[0] == [("indexed attention", 512 + 64 + 128, 8e7), ("sliding attention", 256 + 64, 3e4)]


SIZES: list[tuple[str, dict[str, Any], str]] = [
    # type, settings of a small model, what its parameters for position are called
    ("inkling_text", {"num_hidden_layers": 6, "n_routed_experts": 4}, r"rel_logits_proj.proj"),
    ("clvp_decoder", {"num_hidden_layers": 1}, r"position_embeds_layer"),
    ("pp_formulanet_text", {"decoder_layers": 1}, r"embed_positions"),
    ("sam3_lite_text_text_model", {"num_hidden_layers": 2}, r"position_embedding"),
    ("clap_audio_model", {}, r"relative_position_bias_table"),
    ("seamless_m4t_v2", {"speech_encoder_layers": 2, "encoder_layers": 1}, r"distance_embedding"),
    ("seamless_m4t", {"speech_encoder_layers": 2}, r"linear_pos|pos_bias"),
    ("fastspeech2_conformer", {}, r"linear_pos|pos_bias"),
]


CLASSES = {
    *("InklingTextModel", "ClvpDecoder", "PPFormulaNetTextModel", "Sam3LiteTextTextModel", "ClapAudioModel"),
    *("SeamlessM4Tv2Model", "SeamlessM4TModel", "FastSpeech2ConformerModel"),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model_type", "settings", "names"), SIZES, ids=[size[0] for size in SIZES])
def test_as_many_numbers_are_learned_about_position_as_the_model_has(
    model_type: str, settings: dict[str, Any], names: str
) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.AutoConfig.for_model(model_type, **settings)
    module = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
    kinds = [each for each in vars(module).values() if inspect.isclass(each) and each.__module__ == module.__name__]
    kind = next(each for each in kinds if each.__name__ in CLASSES)
    with torch.device("meta"):
        model = kind(config)
    own = sum(value.numel() for name, value in model.named_parameters() if re.search(names, name))
    assert own > 0
    assert inspect_config({"model_type": model_type, **settings}).parameters_on_position.value == own
