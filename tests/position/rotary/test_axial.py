"""Axial rotations against a float64 rotation of complex numbers and against the models that have them."""

import cmath
import math
import re
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.position import AxialRotary, indices
from ordinate.position.rotary.axial import AXIAL_CONVENTIONS
from tests.position.timm_files import timm_layers


def turned(x, angles, layout):
    """x [D] with pair p turned by angles[p], as complex numbers in plain Python."""
    half = len(angles)
    out = x.tolist()
    for pair, angle in enumerate(angles):
        i, j = (pair, pair + half) if layout == "half" else (2 * pair, 2 * pair + 1)
        z = complex(out[i], out[j]) * cmath.exp(1j * angle)
        out[i], out[j] = z.real, z.imag
    return torch.tensor(out, dtype=torch.float64)


def heads(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("axes", [2, 3])
def test_every_axis_turns_its_own_pairs_by_its_own_ladder(layout, axes):
    rotary = AxialRotary(24, layout=layout, axes=axes)
    positions = indices.grid(*(2, 3, 4)[:axes])
    x = heads(1, 1, len(positions), 24)
    out = rotary.rotate(x, positions)
    share = 12 // axes
    for token, position in enumerate(positions.tolist()):
        angles = [place * 10000 ** (-pair / share) for place in position for pair in range(share)]
        assert_close(out[0, 0, token], turned(x[0, 0, token], angles, layout), rtol=0, atol=1e-12)


def test_sections_share_the_pairs_unequally_and_leave_the_rest():
    """The 3-D split of video models such as Wan: 2 (D/6) channels each for height and width, what is left for time."""
    rotary = AxialRotary(16, layout="interleaved", axes=3, sections=(3, 2, 2))
    x, position = heads(1, 1, 1, 16), torch.tensor([[4, 1, 2]])
    angles = [4 * 10000 ** (-pair / 3) for pair in range(3)] + [place * f for place in (1, 2) for f in (1.0, 0.01)]
    assert_close(rotary.rotate(x, position)[0, 0, 0], turned(x[0, 0, 0], angles, "interleaved"), rtol=0, atol=1e-12)
    assert torch.equal(rotary.rotate(x, position)[..., 14:], x[..., 14:])


def test_order_puts_width_before_height_without_touching_positions():
    plain, swapped = AxialRotary(16, layout="half"), AxialRotary(16, layout="half", order=(1, 0))
    positions = indices.grid(3, 4)
    x = heads(1, 2, 12, 16)
    assert_close(swapped.rotate(x, positions), plain.rotate(x, positions.flip(-1)), rtol=0, atol=0)


def test_qwen2_vl_images_turn_as_in_the_model():
    model = pytest.importorskip("transformers.models.qwen2_vl.modeling_qwen2_vl")
    config = SimpleNamespace(rope_parameters={"rope_type": "axial", "rope_theta": 10000.0}, head_dim=32)
    positions = indices.grid(5, 7)
    cos, sin = model.Qwen2VLVisionRotaryEmbedding(config)(torch.zeros(1), positions)
    q, k = heads(2, 35, 4, 32).float()
    theirs = model.apply_rotary_pos_emb_vision(q, k, cos, sin)
    ours = AxialRotary.named("qwen2-vl", 32)
    for x, expected in zip((q, k), theirs, strict=True):
        assert_close(ours.rotate(x.transpose(0, 1)[None], positions)[0].transpose(0, 1), expected, rtol=0, atol=3e-6)


def test_pixtral_deals_one_ladder_to_both_axes_as_in_the_model():
    model = pytest.importorskip("transformers.models.pixtral.modeling_pixtral")
    config = SimpleNamespace(rope_parameters={"rope_type": "axial", "rope_theta": 10000.0}, head_dim=32)
    positions = indices.grid(5, 7)
    cos, sin = model.PixtralVisionRotaryEmbedding(config)(torch.zeros(1), positions)
    q, k = heads(2, 1, 4, 35, 32).float()
    theirs = model.apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=0)
    ours = AxialRotary.named("pixtral", 32)
    for x, expected in zip((q, k), theirs, strict=True):
        assert_close(ours.rotate(x, positions), expected, rtol=0, atol=3e-6)


def test_dinov3_turns_centred_patches_and_leaves_class_and_register_tokens():
    model = pytest.importorskip("transformers.models.dinov3_vit.modeling_dinov3_vit")
    config = model.DINOv3ViTConfig(hidden_size=64, num_attention_heads=2, image_size=64, patch_size=16, num_register_tokens=4)
    theirs = model.DINOv3ViTRopePositionEmbedding(config).eval()
    cos, sin = theirs(torch.zeros(1, 3, 48, 80))  # 3 x 5 patches
    q, k = heads(2, 1, 2, 5 + 15, 32).float()
    expected = model.apply_rotary_pos_emb(q, k, cos, sin)
    ours = AxialRotary.named("dinov3", 32)
    positions = ours.positions(3, 5, prefix=5)
    for x, other in zip((q, k), expected, strict=True):
        assert_close(ours.rotate(x, positions), other, rtol=0, atol=2e-5)  # their angles are float32, up to 2 pi
        assert torch.equal(ours.rotate(x, positions)[:, :, :5], x[:, :, :5])


def test_timm_has_the_same_dinov3():
    layers = timm_layers("pos_embed_sincos")
    theirs = layers.RotaryEmbeddingDinoV3(32).eval()
    x = heads(1, 2, 15, 32).float()
    ours = AxialRotary.named("dinov3", 32)
    expected = layers.apply_rot_embed_cat(x, theirs.get_embed([3, 5]), half=True)
    assert_close(ours.rotate(x, ours.positions(3, 5)), expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize("reference", [None, (4, 4)])
def test_eva02_turns_as_in_timm_at_the_pretrained_grid_and_at_another(reference):
    layers = timm_layers("pos_embed_sincos")
    theirs = layers.RotaryEmbeddingCat(32, in_pixels=False, ref_feat_shape=None if reference is None else list(reference))
    x = heads(1, 2, 15, 32).float()
    ours = AxialRotary.named("eva02", 32, reference=reference)
    expected = layers.apply_rot_embed_cat(x, theirs.get_embed([3, 5]))
    assert_close(ours.rotate(x, ours.positions(3, 5)), expected, rtol=0, atol=5e-6)


@pytest.mark.parametrize("schedule", ["octaves", "linear"])
def test_pixel_frequencies_are_those_of_timm(schedule):
    layers = timm_layers("pos_embed_sincos")
    theirs = layers.RotaryEmbeddingCat(32, in_pixels=True, max_res=224, linear_bands=schedule == "linear")
    x = heads(1, 2, 15, 32).float()
    ours = AxialRotary.named("timm-pixel", 32, schedule=schedule)
    expected = layers.apply_rot_embed_cat(x, theirs.get_embed([3, 5]))
    assert_close(ours.rotate(x, ours.positions(3, 5)), expected, rtol=0, atol=2e-4)  # float32 angles up to 112 pi


def test_rotary_embedding_torch_has_the_same_axes_in_pixels_and_in_steps():
    library = pytest.importorskip("rotary_embedding_torch")
    x = heads(1, 2, 15, 32).float()
    for ours, theirs in (
        (AxialRotary(32, layout="interleaved"), library.RotaryEmbedding(16)),
        (
            AxialRotary(32, layout="interleaved", schedule="linear", resolution=10.0, coordinates="corners"),
            library.RotaryEmbedding(16, freqs_for="pixel", max_freq=10),
        ),
    ):
        freqs = theirs.get_axial_freqs(3, 5).flatten(0, 1)
        expected = library.apply_rotary_emb(freqs, x)
        assert_close(ours.rotate(x, ours.positions(3, 5)), expected, rtol=0, atol=1e-5)


def test_llama4_images_count_from_one_with_width_first_and_the_class_token_last():
    model = pytest.importorskip("transformers.models.llama4.modeling_llama4")
    config = SimpleNamespace(
        image_size=42, patch_size=14, hidden_size=64, num_attention_heads=2, rope_parameters={"rope_theta": 10000.0}
    )
    table = model.Llama4VisionRotaryEmbedding._compute_freqs_ci(config)
    q, k = heads(2, 1, 10, 2, 32).float()
    expected, _ = model.vision_apply_rotary_emb(q, k, table)
    ours = AxialRotary.named("llama4", 32)
    positions = torch.cat((ours.positions(3, 3), torch.zeros(1, 2, dtype=torch.int64)))
    assert_close(ours.rotate(q.transpose(1, 2), positions).transpose(1, 2), expected, rtol=0, atol=3e-6)


def test_rope_vit_axial_turns_width_first_with_base_100():
    """`compute_axial_cis` of the authors: x = t mod width, then y, 1 / 100^(4 i / D)."""
    ours, x = AxialRotary.named("rope-vit", 16), heads(1, 1, 6, 16)
    out = ours.rotate(x, ours.positions(2, 3))
    for token in range(6):
        angles = [place * 100 ** (-4 * i / 16) for place in (token % 3, token // 3) for i in range(4)]
        assert_close(out[0, 0, token], turned(x[0, 0, token], angles, "interleaved"), rtol=0, atol=1e-12)


@pytest.mark.parametrize("convention", sorted(AXIAL_CONVENTIONS))
def test_a_named_encoding_is_the_call_that_it_prints(convention):
    made = AxialRotary.named(convention, 32)
    again = eval(repr(made), {"AxialRotary": AxialRotary})
    assert again.frequencies() == made.frequencies()
    assert torch.equal(again.positions(2, 3), made.positions(2, 3))


@pytest.mark.parametrize("convention", sorted(AXIAL_CONVENTIONS))
@given(dy=st.integers(-50, 50), dx=st.integers(-50, 50), y=st.integers(0, 999), x=st.integers(0, 999))
def test_the_score_depends_on_the_offsets_alone(convention, dy, dx, y, x):
    rotary, (q, k) = AxialRotary.named(convention, 16), heads(2, 1, 1, 1, 16)
    before = [7] * (rotary.axes - 2)  # of text, or of the frame: equal for both

    def score(at_q, at_k):
        at_q, at_k = [*before, *at_q], [*before, *at_k]
        return (rotary.rotate(q, torch.tensor([at_q])) * rotary.rotate(k, torch.tensor([at_k]))).sum()

    assert_close(score((y, x), (y + dy, x + dx)), score((0, 0), (dy, dx)), rtol=0, atol=1e-8)


def test_rows_of_a_batch_may_have_grids_of_their_own():
    rotary, x = AxialRotary(16, layout="half"), heads(2, 3, 6, 16)
    grids = [indices.grid(2, 3), indices.grid(3, 2)]
    together = rotary.rotate(x, torch.stack(grids))
    for row in (0, 1):
        assert_close(together[row : row + 1], rotary.rotate(x[row : row + 1], grids[row]), rtol=0, atol=0)


def test_far_coordinates_are_as_exact_as_near_ones():
    rotary, far = AxialRotary(8, layout="half", sections=(2, 2)), [2**24, 2**24 + 1]
    cos, _ = rotary.tables(torch.tensor([far]))
    expected = [math.cos(place * f) for place in far for f in (1.0, 0.01)]
    assert_close(cos[0].double(), torch.tensor(expected, dtype=torch.float64), rtol=0, atol=6e-8)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: AxialRotary(15, layout="half"), ArgumentError, "head_dim: expected an even, positive number"),
        (lambda: AxialRotary(16, layout="llama"), ArgumentError, "layout: expected 'half'"),
        (lambda: AxialRotary(16, layout="half", axes=1), ArgumentError, "axes: expected 2 or 3, got 1"),
        (lambda: AxialRotary(16, layout="half", axes=3), ArgumentError, "for example (2, 2, 2), which leaves 4 channels"),
        (
            lambda: AxialRotary(16, layout="half", sections=(5, 4)),
            ArgumentError,
            "at most 8 (half the rotated channels), got (5, 4)",
        ),
        (
            lambda: AxialRotary(16, layout="half", sections=(8, 0)),
            ArgumentError,
            "sections: expected positive numbers of pairs",
        ),
        (lambda: AxialRotary(16, layout="half", sections=(2, 2, 2)), ArgumentError, "one number for each of 2 axes"),
        (lambda: AxialRotary(16, layout="half", sections="44"), ArgumentTypeError, "sections: expected one number of pairs"),
        (
            lambda: AxialRotary(16, layout="half", sections=(4.0, 4)),
            ArgumentTypeError,
            "sections: expected an integer, got float 4.0",
        ),
        (lambda: AxialRotary(16, layout="half", schedule="pixel"), ArgumentError, "schedule: expected one of own, dealt"),
        (
            lambda: AxialRotary(16, layout="half", schedule="linear"),
            ArgumentError,
            "resolution: expected a number for the schedules",
        ),
        (lambda: AxialRotary(16, layout="half", resolution=9.0), ArgumentError, "got 9.0 with schedule='own'"),
        (lambda: AxialRotary(16, layout="half", schedule="linear", resolution=1.0), ArgumentError, "a finite number above 2"),
        (
            lambda: AxialRotary(16, layout="half", schedule="dealt", sections=(5, 3)),
            ArgumentError,
            "equal sections with sch",
        ),
        (
            lambda: AxialRotary(16, layout="half", order=(0, 0)),
            ArgumentError,
            "order: expected each of [0, 1] once, got (0, 0)",
        ),
        (lambda: AxialRotary(16, layout="half", base=0.0), ArgumentError, "base: expected a finite number above 1"),
        (lambda: AxialRotary(16, layout="half", coordinates="unit"), ArgumentError, "coordinates: expected one of"),
        (lambda: AxialRotary(16, layout="half", coordinates="detr", reference=(4, 4)), ArgumentError, "reference: expected"),
        (lambda: AxialRotary.named("vit", 16), ArgumentError, "convention: expected one of dinov3, eva02"),
    ],
)
def test_bad_settings_are_refused_in_words(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()


@pytest.mark.parametrize(
    ("positions", "error", "words"),
    [
        (torch.arange(6), ShapeError, "expected positions with 2 axes, [T, 2] or [B, T, 2], got shape (6,)"),
        (torch.zeros(6, 3).long(), ShapeError, "got shape (6, 3); make them with indices.grid"),
        (torch.zeros(5, 2).long(), ShapeError, "one position for each of the 6 tokens"),
        (torch.zeros(3, 6, 2).long(), ShapeError, "B=2"),
        (torch.zeros(6, 2).half(), ArgumentTypeError, "got torch.float16"),
        (torch.full((6, 2), math.nan), ArgumentError, "expected finite positions"),
        ([[0, 0]] * 6, ArgumentTypeError, "expected a tensor [T, 2] or [B, T, 2], got list"),
    ],
)
def test_positions_without_the_right_axes_are_refused_in_words(positions, error, words):
    with pytest.raises(error, match=re.escape(words)):
        AxialRotary(16, layout="half").rotate(torch.zeros(2, 1, 6, 16), positions)


@pytest.mark.parametrize(("convention", "sizes"), [("flux", (16, 56, 56)), ("wan", (44, 42, 42))])
def test_diffusion_transformers_turn_frames_rows_and_columns_so(convention, sizes):
    """Pair by pair: each axis has its own channels, neighbours turned by coordinate * 10000^(-2 i / size)."""
    rotary, positions = AxialRotary.named(convention, 128), indices.grid(2, 3, 4) + torch.tensor([3, 5, 7])
    x = torch.randn(1, 2, 24, 128, dtype=torch.float64)
    found, start = rotary.rotate(x, positions), 0
    for axis, size in enumerate(sizes):
        for pair in range(size // 2):
            a, b = x[..., start + 2 * pair], x[..., start + 2 * pair + 1]
            angle = positions[:, axis].double() * 10000.0 ** (-2 * pair / size)
            assert_close(found[..., start + 2 * pair], a * angle.cos() - b * angle.sin())
            assert_close(found[..., start + 2 * pair + 1], a * angle.sin() + b * angle.cos())
        start += size


def test_a_prompt_and_its_image_stand_as_flux_and_qwen_image_have_them():
    flux = indices.text_and_image(3, 2, 2)
    assert flux.tolist() == [[0, 0, 0]] * 3 + [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]]
    qwen = indices.text_and_image(2, 3, 4, convention="qwen-image")
    assert qwen[:2].tolist() == [[2, 2, 2], [3, 3, 3]]
    assert sorted({row for _, row, _ in qwen[2:].tolist()}) == [-2, -1, 0]
    assert sorted({column for _, _, column in qwen[2:].tolist()}) == [-2, -1, 0, 1]
    video = indices.text_and_image(1, 2, 2, frames=3, convention="qwen-image")
    assert sorted({frame for frame, _, _ in video[1:].tolist()}) == [0, 1, 2]
    with pytest.raises(ArgumentError, match="convention: expected 'flux' or 'qwen-image'"):
        indices.text_and_image(1, 2, 2, convention="sd3")
