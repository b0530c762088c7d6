"""Whole models with random weights: what one attention layer answers, computed again from its own projections.

The models come from transformers; hidden states and positions go in, our encoding and `attend` stand for the layer's middle.
"""

from __future__ import annotations

import importlib

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from ordinate.attention import Causal, Documents, attend
from ordinate.position import AxialRotary, LearnedGrid, MultimodalRotary, Sinusoidal, SinusoidalGrid, indices

pytest.importorskip("transformers")

TEXT = {
    "vocab_size": 50,
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
}


def family(name: str):
    return importlib.import_module(f"transformers.models.{name}.modeling_{name}")


def seen(model: nn.Module, layer: nn.Module, *inputs, **named) -> tuple[Tensor, Tensor]:
    """What went into `layer` and what came out, while the model runs."""
    taken = {}

    def note(module, args, kwargs, output):
        taken["in"] = args[0] if args else kwargs["hidden_states"]
        taken["out"] = output[0] if isinstance(output, tuple) else output

    handle = layer.register_forward_hook(note, with_kwargs=True)
    with torch.no_grad():
        model.eval()(*inputs, **named)
    handle.remove()
    return taken["in"], taken["out"]


def again(layer: nn.Module, hidden: Tensor, encoding: nn.Module, positions: Tensor, mask=None) -> Tensor:
    """The layer's answer with our encoding and attention between its own projections."""

    def split(name: str) -> Tensor:
        heads = getattr(layer, f"{name}_proj")(hidden).unflatten(-1, (-1, layer.head_dim))
        normed = getattr(layer, f"{name}_norm", lambda x: x)(heads)
        return normed.transpose(1, 2)

    with torch.no_grad():
        out = attend(split("q"), split("k"), split("v"), query_positions=positions, encoding=encoding, mask=mask)
        return layer.o_proj(out.transpose(1, 2).flatten(-2))


@pytest.mark.parametrize(
    ("name", "kind", "rope", "settings"),
    [
        ("qwen2_vl", "Qwen2VLText", {"mrope_section": [2, 3, 3]}, {"layout": "half", "sections": (2, 3, 3)}),
        ("qwen2_5_vl", "Qwen2_5_VLText", {"mrope_section": [2, 3, 3]}, {"layout": "half", "sections": (2, 3, 3)}),
        (
            "qwen3_vl",
            "Qwen3VLText",
            {"mrope_section": [4, 2, 2], "mrope_interleaved": True},
            {"layout": "half", "sections": (4, 2, 2), "arrangement": "interleaved"},
        ),
        (
            "glm4v",
            "Glm4vText",
            {"mrope_section": [1, 1, 2], "partial_rotary_factor": 0.5},
            {"layout": "interleaved", "sections": (1, 1, 2), "rotary_dim": 8},
        ),
    ],
)
def test_text_layers_that_read_images_and_videos(name, kind, rope, settings):
    modeling = family(name)
    config = getattr(modeling, f"{kind}Config")(**TEXT, rope_parameters={"rope_type": "default", "rope_theta": 10000.0, **rope})
    torch.manual_seed(0)
    model = getattr(modeling, f"{kind}Model")(config)
    positions = indices.multimodal([4, (1, 4, 6), 3, (3, 4, 2, 1.0), 2], spatial_merge=2, tokens_per_second=2)
    embeddings = torch.randn(1, len(positions), 64)
    layer = model.layers[1].self_attn
    hidden, theirs = seen(
        model, layer, inputs_embeds=embeddings, position_ids=positions.T[:, None], attention_mask=None, use_cache=False
    )
    encoding = MultimodalRotary(16, base=10000.0, **settings)
    assert_close(again(layer, hidden, encoding, positions, Causal()), theirs, rtol=0, atol=2e-6)


def test_qwen2_vl_reads_patches_square_by_square_and_images_apart():
    modeling = family("qwen2_vl")
    config = modeling.Qwen2VLVisionConfig(depth=2, embed_dim=64, hidden_size=32, num_heads=2, mlp_ratio=1, patch_size=4)
    torch.manual_seed(0)
    model = modeling.Qwen2VisionTransformerPretrainedModel(config)
    sizes = [(4, 6), (2, 4)]
    patches = torch.randn(32, 3 * 2 * 4 * 4)
    layer = model.blocks[1].attn
    hidden, theirs = seen(model, layer, patches, grid_thw=torch.tensor([[1, *size] for size in sizes]))
    positions = torch.cat([indices.grid(*size, merge=2) for size in sizes])
    apart = Documents(indices.documents([24, 8]))
    with torch.no_grad():
        q, k, v = layer.qkv(hidden).reshape(1, 32, 3, 2, 32).permute(2, 0, 3, 1, 4)
        out = attend(q, k, v, query_positions=positions, encoding=AxialRotary.named("qwen2-vl", 32), mask=apart)
        ours = layer.proj(out.transpose(1, 2).flatten(-2))[0]
    assert_close(ours, theirs, rtol=0, atol=2e-6)


def test_pixtral_packs_images_of_different_sizes():
    modeling = family("pixtral")
    config = modeling.PixtralVisionConfig(
        hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, image_size=64, patch_size=8
    )
    torch.manual_seed(0)
    model = modeling.PixtralVisionModel(config)
    layer = model.transformer.layers[1].attention
    sizes = torch.tensor([[24, 40], [48, 16]])
    hidden, theirs = seen(model, layer, torch.randn(2, 3, 48, 40), image_sizes=sizes)
    positions = torch.cat([indices.grid(3, 5), indices.grid(6, 2)])
    apart = Documents(indices.documents([15, 12]))
    assert_close(again(layer, hidden, AxialRotary.named("pixtral", 32), positions, apart), theirs, rtol=0, atol=2e-6)


def test_dinov3_on_an_image_that_is_not_square():
    modeling = family("dinov3_vit")
    config = modeling.DINOv3ViTConfig(
        hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, image_size=64, num_register_tokens=4
    )
    torch.manual_seed(0)
    model = modeling.DINOv3ViTModel(config)
    layer = next(module for module in reversed(list(model.modules())) if isinstance(module, modeling.DINOv3ViTAttention))
    hidden, theirs = seen(model, layer, torch.randn(1, 3, 48, 80))
    encoding = AxialRotary.named("dinov3", 32)
    assert_close(again(layer, hidden, encoding, encoding.positions(3, 5, prefix=5)), theirs, rtol=0, atol=5e-6)


def test_vit_adds_its_learned_grid_and_stretches_it():
    modeling = family("vit")
    config = modeling.ViTConfig(
        hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, image_size=64, patch_size=16
    )
    torch.manual_seed(0)
    embeddings = modeling.ViTModel(config).eval().embeddings
    nn.init.normal_(embeddings.position_embeddings)
    nn.init.normal_(embeddings.cls_token)
    ours = LearnedGrid.from_table(embeddings.position_embeddings.detach(), (4, 4), class_tokens=1)
    for height, width in ((64, 64), (48, 112)):
        image = torch.randn(2, 3, height, width)
        with torch.no_grad():
            theirs = embeddings(image, interpolate_pos_encoding=True)
            tokens = torch.cat((embeddings.cls_token.expand(2, -1, -1), embeddings.patch_embeddings(image)), dim=1)
        assert_close(tokens + ours.table(height // 16, width // 16), theirs, rtol=0, atol=1e-6)


def test_vit_mae_starts_with_sinusoids_whose_width_comes_first():
    """transformers 5.24 leaves the table of a model built anew at zero: the projection is marked as done before the embeddings
    are reached. With the mark taken off it writes what the checkpoints carry."""
    modeling = family("vit_mae")
    config = modeling.ViTMAEConfig(
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        image_size=64,
        patch_size=16,
    )
    embeddings = modeling.ViTMAEModel(config).embeddings
    embeddings.patch_embeddings.projection._is_hf_initialized = False
    embeddings.position_embeddings._is_hf_initialized = False
    embeddings.initialize_weights()
    theirs = embeddings.position_embeddings.detach()[0]
    assert_close(SinusoidalGrid.named("mae", 32).table(4, 4, class_tokens=1), theirs, rtol=0, atol=1e-6)


def test_whisper_adds_halved_sinusoids_behind_its_convolutions():
    modeling = family("whisper")
    config = modeling.WhisperConfig(
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_source_positions=50,
        num_mel_bins=8,
        vocab_size=60,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    torch.manual_seed(0)
    encoder = modeling.WhisperModel(config).encoder
    features = torch.randn(1, 8, 100)
    hidden, _ = seen(encoder, encoder.layers[0], features)
    with torch.no_grad():
        frames = nn.functional.gelu(encoder.conv2(nn.functional.gelu(encoder.conv1(features)))).transpose(1, 2)
    ours = Sinusoidal(32, layout="half").encode(indices.consecutive(50))
    assert_close(frames + ours, hidden, rtol=0, atol=1e-5)
