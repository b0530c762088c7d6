"""Transformers of diffusers: configs as their repositories publish them, and diffusers' own classes as witnesses."""

from __future__ import annotations

import importlib
import inspect
import json
import math
from pathlib import Path
from typing import Any

import pytest

from ordinate.errors import DataError, MissingDataError
from ordinate.inspection import inspect_config
from ordinate.inspection.families.diffusion import DIFFUSION

FLUX = {"attention_head_dim": 128, "num_attention_heads": 24, "num_layers": 19, "num_single_layers": 38}

PUBLISHED: list[tuple[str, dict[str, Any], tuple[Any, ...]]] = [
    # class, what its file says, (kind, layout, pairs of each axis, base, heads, width of the stream, layers of all stacks)
    ("FluxTransformer2DModel", FLUX, ("rope3d", "interleaved", [8, 28, 28], 1e4, 24, 3072, 57)),
    ("ChromaTransformer2DModel", FLUX, ("rope3d", "interleaved", [8, 28, 28], 1e4, 24, 3072, 57)),
    ("Flux2Transformer2DModel", {}, ("rope4d", "interleaved", [16, 16, 16, 16], 2e3, 48, 6144, 56)),
    ("QwenImageTransformer2DModel", {"axes_dims_rope": [16, 56, 56]},
     ("rope3d", "interleaved", [8, 28, 28], 1e4, 24, 3072, 60)),
    ("WanTransformer3DModel", {"num_attention_heads": 12, "num_layers": 30, "attention_head_dim": 128},
     ("rope3d", "interleaved", [22, 21, 21], 1e4, 12, 1536, 30)),
    ("WanTransformer3DModel", {}, ("rope3d", "interleaved", [22, 21, 21], 1e4, 40, 5120, 40)),
    ("SkyReelsV2Transformer3DModel", {}, ("rope3d", "interleaved", [22, 21, 21], 1e4, 16, 2048, 32)),
    ("HunyuanVideoTransformer3DModel", {"rope_axes_dim": [16, 56, 56], "rope_theta": 256.0},
     ("rope3d", "interleaved", [8, 28, 28], 256, 24, 3072, 60)),
    ("HunyuanImageTransformer2DModel", {}, ("rope2d", "interleaved", [32, 32], 256, 28, 3584, 60)),
    ("CosmosTransformer3DModel", {"rope_scale": [2.0, 1.0, 1.0], "num_attention_heads": 16, "attention_head_dim": 128},
     ("rope3d", "half", [22, 21, 21], 1e4, 16, 2048, 28)),
    ("CogView4Transformer2DModel", {"num_attention_heads": 32, "attention_head_dim": 128, "num_layers": 28},
     ("rope2d", "half", [32, 32], 1e4, 32, 4096, 28)),
    ("CogVideoXTransformer3DModel", {"use_rotary_positional_embeddings": True, "num_attention_heads": 48, "num_layers": 42},
     ("rope3d", "interleaved", [8, 12, 12], 1e4, 48, 3072, 42)),
    ("CogVideoXTransformer3DModel", {}, ("sinusoidal", None, None, None, 30, 1920, 30)),
    ("ZImageTransformer2DModel", {}, ("rope3d", "interleaved", [16, 24, 24], 256, 30, 3840, 30)),
    ("Lumina2Transformer2DModel", {}, ("rope3d", "interleaved", [16, 16, 16], 1e4, 24, 2304, 26)),
    ("Kandinsky5Transformer3DModel", {"model_dim": 1792, "axes_dims": [16, 24, 24]},
     ("rope3d", "interleaved", [8, 12, 12], 1e4, 28, 1792, 32)),
    ("StableAudioDiTModel", {}, ("rope", "half", None, 1e4, 24, 1536, 24)),
    ("SD3Transformer2DModel", {"num_layers": 24, "num_attention_heads": 24, "pos_embed_max_size": 192},
     ("sinusoidal", None, None, None, 24, 1536, 24)),
    ("PixArtTransformer2DModel", {}, ("sinusoidal", None, None, None, 16, 1152, 28)),
    ("SanaTransformer2DModel", {"interpolation_scale": None}, ("none", None, None, None, 70, 2240, 20)),
    ("AuraFlowTransformer2DModel", {}, ("learned", None, None, None, 12, 3072, 36)),
    ("LTXVideoTransformer3DModel", {}, ("rope3d", "interleaved", None, 1e4, 32, 2048, 28)),
    ("AllegroTransformer3DModel", {}, ("rope3d", "half", [16, 16, 16], 1e4, 24, 2304, 32)),
    ("Kandinsky6Transformer3DModel", {}, ("rope3d", "interleaved", [16, 24, 24], 1e4, 32, 4096, 60)),
    ("MiniMaxH3Transformer3DModel", {}, ("rope3d", "half", [16, 16, 16], 1e4, 56, 5376, 50)),
    ("Ideogram4Transformer2DModel", {"mrope_section": [24, 20, 20]}, ("rope3d", "half", None, 5e6, 18, 4608, 34)),
    ("AceStepTransformer1DModel", {}, ("rope", "half", None, 1e6, 16, 2048, 24)),
    ("LongCatAudioDiTTransformer", {}, ("rope", "half", None, 1e5, 24, 1536, 24)),
    ("PriorTransformer", {}, ("learned", None, None, None, 32, 2048, 20)),
    ("MochiTransformer3DModel", {}, ("rope3d", None, None, None, 24, 3072, 48)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "told", "expected"), PUBLISHED, ids=[f"{name}-{index}" for index, (name, _, _) in enumerate(PUBLISHED)]
)
def test_a_published_config_is_read_as_its_class_runs(name: str, told: dict[str, Any], expected: tuple[Any, ...]) -> None:
    read = inspect_config({"_class_name": name, "_diffusers_version": "0.36.0", **told})
    part = read.main
    turn = part.layers[0].rotation
    pairs = turn.sections.value if turn is not None and turn.sections is not None else None
    found = (
        part.kind,
        turn.layout.value if turn else None,
        pairs,
        turn.base.value if turn else None,
        part.layers[0].attention.num_heads.value,
        part.hidden_size.value,
        sum(len(layer.indices) for layer in part.layers),
    )
    assert found == expected
    assert read.model_type.value == name
    assert part.cache is None
    assert not read.findings


def test_each_axis_has_a_schedule_over_its_own_share() -> None:
    turn = inspect_config({"_class_name": "FluxTransformer2DModel"}).layers[0].rotation
    assert turn is not None
    own = [1e4 ** (-2 * i / dim) for dim in (16, 56, 56) for i in range(dim // 2)]
    assert turn.inverse_frequencies() == pytest.approx(own, rel=1e-12)


@pytest.mark.parametrize("factor", [1e308, 1e-308, 0.0, -1.0])
def test_a_factor_that_cannot_be_meant_has_no_frequencies(factor: float) -> None:
    config = {"_class_name": "CosmosTransformer3DModel", "rope_scale": [factor, 1.0, 1.0], "num_attention_heads": 16}
    rotation = inspect_config(config).main.layers[0].rotation
    assert rotation is not None
    assert rotation.written == ()
    assert rotation.rule.value == "ntk"


def test_a_class_that_nobody_read_and_axes_that_cannot_be_meant_are_said() -> None:
    unread = inspect_config({"_class_name": "BrandNewTransformer3DModel", "num_layers": 2})
    assert unread.main.kind is None
    assert [finding.id for finding in unread.findings] == ["model-type-unknown"]
    for axes in ([15, 56, 56], [], [16, "x"], "no", [0, 0, 0], [1e300, 2]):
        odd = inspect_config({"_class_name": "FluxTransformer2DModel", "axes_dims_rope": axes})
        assert odd.layers[0].rotation is not None
        assert odd.layers[0].rotation.inverse_frequencies() is None
        assert odd.severity == "error"


def test_the_catalogue_turns_as_diffusers_does() -> None:
    embeddings = pytest.importorskip("diffusers.models.embeddings")
    torch = pytest.importorskip("torch")
    from ordinate.position import build

    module = importlib.import_module("diffusers.models.transformers.transformer_flux")
    read = inspect_config({"_class_name": "FluxTransformer2DModel", "num_attention_heads": 2})
    assert read.spec is not None
    rotary = build(read.spec)
    ids = torch.tensor([[0, 0, 0], [0, 3, 5], [1, 2, 7]])
    x = torch.randn(1, 2, 3, 128)
    theirs = embeddings.apply_rotary_emb(x, module.FluxPosEmbed(10000, [16, 56, 56])(ids.float()))
    torch.testing.assert_close(rotary(x, ids), theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(DIFFUSION))
def test_defaults_are_those_of_the_class(name: str) -> None:
    diffusers = pytest.importorskip("diffusers")
    try:
        kind = getattr(diffusers, name)
    except (AttributeError, RuntimeError, ImportError) as error:
        pytest.skip(f"diffusers here has no {name}: {error}")
    signature = inspect.signature(kind.__init__).parameters
    for key, value in DIFFUSION[name].defaults.items():
        if name == "OmniGenTransformer2DModel" and key == "rope_theta":
            continue  # ours for rope_base
        theirs = signature[key].default
        if theirs is not None:
            assert (list(theirs) if isinstance(theirs, tuple | list) else theirs) == (
                list(value) if isinstance(value, tuple | list) else value
            ), key


WITNESSES = [
    # module, class of the rotation, its arguments, where it is fed, ours
    ("transformer_wan", "WanRotaryPosEmbed", (128, (1, 2, 2), 64), "WanTransformer3DModel"),
    ("transformer_skyreels_v2", "SkyReelsV2RotaryPosEmbed", (128, (1, 2, 2), 64), "SkyReelsV2Transformer3DModel"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("module", "kind", "arguments", "name"), WITNESSES)
def test_tables_of_rotation_are_those_of_diffusers(module: str, kind: str, arguments: tuple[Any, ...], name: str) -> None:
    pytest.importorskip("diffusers")
    made = getattr(importlib.import_module(f"diffusers.models.transformers.{module}"), kind)(*arguments)
    turn = inspect_config({"_class_name": name}).layers[0].rotation
    assert turn is not None
    ours = turn.inverse_frequencies()
    assert ours is not None
    assert made.freqs_cos[1, ::2].tolist() == pytest.approx([math.cos(f) for f in ours], rel=1e-6)
    assert made.freqs_sin[1, ::2].tolist() == pytest.approx([math.sin(f) for f in ours], rel=1e-5, abs=1e-7)


@pytest.mark.slow
def test_frequencies_that_the_code_writes_out_are_those_of_diffusers() -> None:
    pytest.importorskip("diffusers")
    torch = pytest.importorskip("torch")

    def ours(name: str, **settings: Any) -> list[float]:
        turn = inspect_config({"_class_name": name, **settings}).layers[0].rotation
        assert turn is not None
        return list(turn.inverse_frequencies() or ())

    cosmos = importlib.import_module("diffusers.models.transformers.transformer_cosmos")
    cos, sin = cosmos.CosmosRotaryPosEmbed(128, rope_scale=(2.0, 1.0, 3.0))(torch.zeros(1, 1, 2, 4, 4))
    turned = torch.atan2(sin, cos)[-1, :64].tolist()  # frame, row and column 1
    assert ours("CosmosTransformer3DModel", rope_scale=[2.0, 1.0, 3.0]) == pytest.approx(turned, rel=1e-5)
    ltx = importlib.import_module("diffusers.models.transformers.transformer_ltx")
    made = ltx.LTXVideoRotaryPosEmbed(2048)
    cos, sin = made(torch.zeros(1, 1, 2048), video_coords=torch.tensor([[[20 * 0.5001], [2048 * 0.5001], [2048 * 0.5001]]]))
    frequencies = ours("LTXVideoTransformer3DModel")
    angles = [0.0002 * frequency for frequency in frequencies]  # the fraction .5001 is the coordinate .0002
    assert [math.sin(angle) for angle in angles[:900]] == pytest.approx(sin[0, 0, ::2].tolist()[:900], abs=2e-3)
    embeddings = importlib.import_module("diffusers.models.embeddings")
    parts = embeddings.get_3d_rotary_pos_embed_allegro(96, ((0, 0), (4, 4)), (4, 4), 4, (2.2, 2.0, 2.0))[:3]
    turned = [angle for cos, sin in parts for angle in torch.atan2(sin, cos)[1, :16].tolist()]
    assert ours("AllegroTransformer3DModel") == pytest.approx(turned, rel=1e-5)


def test_a_pipeline_points_to_its_transformer_and_names_its_text_encoders(tmp_path: Path) -> None:
    index = {"_class_name": "FluxPipeline", "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"]}
    index |= {"text_encoder": ["transformers", "CLIPTextModel"], "text_encoder_2": ["transformers", "T5EncoderModel"]}
    index |= {"transformer": ["diffusers", "FluxTransformer2DModel"], "image_encoder": [None, None]}
    (tmp_path / "model_index.json").write_text(json.dumps(index))
    with pytest.raises(MissingDataError, match="transformer"):
        inspect_config(tmp_path)
    (tmp_path / "transformer").mkdir()
    (tmp_path / "transformer" / "config.json").write_text(json.dumps({"_class_name": "FluxTransformer2DModel", **FLUX}))
    for source in (tmp_path, tmp_path / "model_index.json"):
        read = inspect_config(source)
        assert read.model_type.value == "FluxTransformer2DModel"
        assert "text_encoder (CLIPTextModel), text_encoder_2 (T5EncoderModel)" in read.findings[-1].message
    (tmp_path / "model_index.json").write_text(json.dumps({"_class_name": "OddPipeline", "vae": ["diffusers", "VAE"]}))
    with pytest.raises(DataError, match="a pipeline with a part transformer"):
        inspect_config(tmp_path)
