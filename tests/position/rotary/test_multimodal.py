"""Multimodal rotations against plain ones, a float64 formula, and the models that have them."""

import math
import re
from types import SimpleNamespace

import pytest
import torch
from torch.testing import assert_close

from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.position import MultimodalRotary, Rotary, indices
from ordinate.position.frequencies import DynamicNTK, Linear, YaRN
from ordinate.position.rotary.multimodal import axis_of_pairs
from tests.position.timm_files import timm_layers

PARTS = [4, (1, 4, 6), 3, (3, 2, 2), 2]


def heads(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def config(head_dim, sections, base=1e6, **more):
    rope = {"rope_type": "default", "rope_theta": base, "mrope_section": sections, **more}
    return SimpleNamespace(
        rope_parameters=rope, head_dim=head_dim, max_position_embeddings=4096, hidden_size=2 * head_dim, num_attention_heads=2
    )


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize(
    ("sections", "arrangement"),
    [((2, 3, 3), "contiguous"), ((4, 2, 2), "interleaved"), ((2, 3, 3), "alternating"), ((2, 2, 2, 2), "contiguous")],
)
def test_every_pair_turns_by_the_position_on_its_axis(layout, sections, arrangement):
    rotary = MultimodalRotary(16, layout=layout, sections=sections, arrangement=arrangement)
    positions = torch.randint(0, 5000, (7, len(sections)), generator=torch.Generator().manual_seed(1))
    cos, sin = rotary.tables(positions, dtype=torch.float64)
    for pair, axis in enumerate(axis_of_pairs(sections, arrangement)):
        for token, place in enumerate(positions[:, axis].tolist()):
            angle = place * 10000 ** (-2 * pair / 16)
            assert math.isclose(cos[token, pair], math.cos(angle), abs_tol=1e-11)
            assert math.isclose(sin[token, pair], math.sin(angle), abs_tol=1e-11)


@pytest.mark.parametrize("scaling", [None, Linear(4.0), YaRN(4.0, 64)])
def test_text_is_turned_as_by_the_plain_rotation(scaling):
    plain = Rotary(16, layout="half", rotary_dim=12, base=1e6, scaling=scaling)
    for arrangement in ("contiguous", "interleaved", "alternating"):
        ours = MultimodalRotary(
            16, layout="half", sections=(2, 2, 2), arrangement=arrangement, rotary_dim=12, base=1e6, scaling=scaling
        )
        x, text = heads(2, 3, 9, 16), indices.consecutive(9, start=100)
        assert_close(ours.rotate(x, text), plain.rotate(x, text), rtol=0, atol=1e-14)
        rows = torch.stack((text, text + 7))
        assert_close(ours.rotate(x, indices.on_every_axis(rows, 3)), plain.rotate(x, rows), rtol=0, atol=1e-14)


def test_qwen2_vl_turns_contiguous_sections():
    model = pytest.importorskip("transformers.models.qwen2_vl.modeling_qwen2_vl")
    theirs = model.Qwen2VLRotaryEmbedding(config(32, [4, 6, 6]))
    positions = indices.multimodal(PARTS)
    q, k = heads(2, 2, 3, len(positions), 32).float()
    cos, sin = theirs(q, positions.T[:, None])
    ours = MultimodalRotary(32, layout="half", sections=(4, 6, 6), base=1e6)
    for x, expected in zip((q, k), model.apply_rotary_pos_emb(q, k, cos, sin), strict=True):
        assert_close(ours.rotate(x, positions), expected, rtol=0, atol=5e-6)


def test_qwen3_vl_interleaves_axes_while_pairs_stay_halves_apart():
    model = pytest.importorskip("transformers.models.qwen3_vl.modeling_qwen3_vl")
    theirs = model.Qwen3VLTextRotaryEmbedding(config(32, [6, 5, 5], mrope_interleaved=True))
    positions = indices.multimodal(PARTS)
    q, k = heads(2, 2, 3, len(positions), 32).float()
    cos, sin = theirs(q, positions.T[:, None])
    ours = MultimodalRotary(32, layout="half", sections=(6, 5, 5), arrangement="interleaved", base=1e6)
    for x, expected in zip((q, k), model.apply_rotary_pos_emb(q, k, cos, sin), strict=True):
        assert_close(ours.rotate(x, positions), expected, rtol=0, atol=5e-6)


def test_glm_4v_turns_part_of_the_head_in_neighbouring_pairs():
    model = pytest.importorskip("transformers.models.glm4v.modeling_glm4v")
    theirs = model.Glm4vTextRotaryEmbedding(config(32, [2, 3, 3], base=10000.0, partial_rotary_factor=0.5))
    positions = indices.multimodal(PARTS)
    q, k = heads(2, 2, 3, len(positions), 32).float()
    cos, sin = theirs(q, positions.T[:, None])
    ours = MultimodalRotary(32, layout="interleaved", sections=(2, 3, 3), rotary_dim=16)
    for x, expected in zip((q, k), model.apply_rotary_pos_emb(q, k, cos, sin), strict=True):
        assert_close(ours.rotate(x, positions), expected, rtol=0, atol=5e-6)


def test_ernie_alternates_height_and_width_and_gives_time_the_slow_pairs():
    """Its config has the sections as height, width, time; here they follow the axes of the positions."""
    model = pytest.importorskip("transformers.models.ernie4_5_vl_moe.modeling_ernie4_5_vl_moe")
    theirs = model.Ernie4_5_VLMoeTextRotaryEmbedding(config(32, [6, 6, 4], base=500000.0))
    positions = indices.multimodal(PARTS)
    q, k = heads(2, 2, 3, len(positions), 32).float()
    cos, sin = theirs(q, positions.T[:, None])
    ours = MultimodalRotary(32, layout="interleaved", sections=(4, 6, 6), arrangement="alternating", base=500000.0)
    for x, expected in zip((q, k), model.apply_rotary_pos_emb(q, k, cos, sin), strict=True):
        assert_close(ours.rotate(x, positions), expected, rtol=0, atol=5e-6)


def test_timm_has_the_same_interleaving_for_sections_that_find_their_place():
    layers = timm_layers("pos_embed_sincos")
    theirs = layers.RotaryEmbeddingMRope(32, mrope_section=(6, 5, 5))
    grid = indices.grid(3, 5)
    positions = torch.cat((torch.zeros(15, 1, dtype=torch.int64), grid), dim=-1)
    x = heads(1, 2, 15, 32).float()
    ours = MultimodalRotary(32, layout="half", sections=(6, 5, 5), arrangement="interleaved")
    assert_close(
        ours.rotate(x, positions), layers.apply_rot_embed_cat(x, theirs.get_embed([3, 5]), half=True), rtol=0, atol=5e-6
    )


def test_sections_that_an_interleaving_silently_clamps_are_refused_with_those_it_has_in_truth():
    """timm and transformers take (8, 12, 12) for 32 pairs and give 11, 11, 10."""
    layers = timm_layers("pos_embed_sincos")
    theirs = layers.RotaryEmbeddingMRope(64, mrope_section=(8, 12, 12))
    assert theirs.axis.bincount().tolist() == [11, 11, 10]
    with pytest.raises(
        ArgumentError, match=re.escape("a model trained with it has sections (11, 11, 10) in truth: pass those")
    ):
        MultimodalRotary(64, layout="half", sections=(8, 12, 12), arrangement="interleaved")
    ours = MultimodalRotary(64, layout="half", sections=(11, 11, 10), arrangement="interleaved")
    assert axis_of_pairs(ours.sections, "interleaved") == tuple(theirs.axis.tolist())


def test_decoding_behind_an_image_continues_at_the_next_number():
    """The last tokens of a row come out the same one by one, at `following`, as within the whole."""
    rotary, x = MultimodalRotary(16, layout="half", sections=(2, 3, 3)), heads(1, 2, 13, 16)
    whole = indices.multimodal([3, (1, 2, 3), 4])
    prompt = indices.multimodal([3, (1, 2, 3)])
    later = indices.consecutive(4, start=indices.following(prompt))
    assert_close(rotary.rotate(x[:, :, 9:], later), rotary.rotate(x, whole)[:, :, 9:], rtol=0, atol=0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: MultimodalRotary(32, layout="half", sections=(4, 4, 4)), ArgumentError, "that sum to 16 (half the rotated"),
        (lambda: MultimodalRotary(32, layout="half", sections=(8, 12, 12)), ArgumentError, "got (8, 12, 12), which sum to 32"),
        (lambda: MultimodalRotary(32, layout="half", sections=(16,)), ArgumentError, "two axes or more that sum to 16"),
        (lambda: MultimodalRotary(32, layout="half", sections=()), ArgumentError, "got (), which sum to 0"),
        (lambda: MultimodalRotary(32, layout="half", sections=(20, -2, -2)), ArgumentError, "positive numbers of pairs"),
        (
            lambda: MultimodalRotary(32, layout="half", sections=16),
            ArgumentTypeError,
            "one number of pairs for each axis, got int",
        ),
        (
            lambda: MultimodalRotary(32, layout="half", sections=(4, 6, 6), arrangement="mixed"),
            ArgumentError,
            "arrangement: expected one of contiguous, interleaved, alternating, got 'mixed'",
        ),
        (
            lambda: MultimodalRotary(32, layout="half", sections=(4, 5, 7), arrangement="alternating"),
            ArgumentError,
            "equal sections after the first",
        ),
        (
            lambda: MultimodalRotary(32, layout="half", sections=(4, 6, 6), rotary_dim=64),
            ArgumentError,
            "at most head_dim (32)",
        ),
        (
            lambda: MultimodalRotary(32, layout="half", sections=(4, 6, 6), scaling=DynamicNTK(2.0, 64)),
            RefusedError,
            "scaling: expected a scaling that is the same for every length, got DynamicNTK",
        ),
        (
            lambda: MultimodalRotary(32, layout="half", sections=(4, 6, 6), scaling="yarn"),
            ArgumentTypeError,
            "scaling: expected a record",
        ),
    ],
)
def test_bad_settings_are_refused_in_words(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()


def test_text_positions_of_a_batch_are_refused_rather_than_taken_for_axes():
    rotary = MultimodalRotary(16, layout="half", sections=(2, 3, 3))
    with pytest.raises(ShapeError, match=re.escape("text goes through indices.on_every_axis")):
        rotary.rotate(torch.zeros(2, 1, 9, 16), torch.zeros(2, 9).long())
    with pytest.raises(ShapeError, match="one position for each of the 3 tokens"):
        rotary.rotate(torch.zeros(2, 1, 3, 16), torch.zeros(2, 3).long())
