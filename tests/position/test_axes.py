"""Positions with axes: grids against loops and published coordinates, multimodal rows against Qwen's own indices."""

import math
import re
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.position import indices
from ordinate.position.axes import Grid, following, grid, multimodal, on_every_axis, padded, reading_order
from tests.position.timm_files import timm_layers


def test_a_grid_is_read_row_by_row_and_frame_by_frame():
    assert grid(2, 3).tolist() == [[y, x] for y in range(2) for x in range(3)]
    assert grid(2, 1, 3).tolist() == [[t, y, x] for t in range(2) for y in range(1) for x in range(3)]
    assert grid(2, 3).dtype is torch.int64


def test_indices_offers_the_functions_for_positions_with_axes():
    assert (indices.grid, indices.multimodal, indices.following, indices.padded) == (grid, multimodal, following, padded)
    assert (indices.on_every_axis, indices.Grid) == (on_every_axis, Grid)


def test_tokens_without_a_patch_stand_at_zero_in_front():
    assert grid(1, 2, prefix=2, coordinates="ordinal").tolist() == [[0, 0], [0, 0], [1, 1], [1, 2]]


def test_a_merge_reads_square_by_square():
    found = grid(2, 2, 4, merge=2).tolist()
    squares = [[t, y, x + right] for t in (0, 1) for right in (0, 2) for y in (0, 1) for x in (0, 1)]
    assert found == squares
    assert torch.equal(
        grid(4, 6, coordinates="centred", merge=2).unique(dim=0), grid(4, 6, coordinates="centred").unique(dim=0)
    )


@pytest.mark.parametrize("normalise", ["separate", "max", "min"])
def test_centred_coordinates_are_those_of_dinov3(normalise):
    theirs = timm_layers("pos_embed_sincos").make_coords_dinov3(3, 5, normalize_coords=normalise)
    ours = grid(3, 5, coordinates="centred", normalise=normalise)
    assert ours.dtype is torch.float64
    assert_close(ours.float(), theirs, rtol=0, atol=2e-7)
    if normalise == "separate":
        model = pytest.importorskip("transformers.models.dinov3_vit.modeling_dinov3_vit")
        assert_close(
            ours.float(), model.get_patches_center_coordinates(3, 5, torch.float32, torch.device("cpu")), atol=2e-7, rtol=0
        )


def test_corner_coordinates_are_timms_pixel_grid():
    build = timm_layers("pos_embed_sincos")._build_grid
    assert_close(grid(3, 5, coordinates="corners").float(), build([3, 5], grid_type="pixel").flatten(0, 1), rtol=0, atol=1e-7)
    assert grid(1, 2, coordinates="corners").tolist() == [[-1, -1], [-1, 1]]


def test_a_reference_stretches_the_pretrained_grid_as_eva_does():
    build = timm_layers("pos_embed_sincos")._build_grid
    theirs = build([6, 10], grid_type="index", ref_feat_shape=[16, 16]).flatten(0, 1)
    assert_close(grid(6, 10, reference=(16, 16)).float(), theirs, rtol=0, atol=2e-6)


def test_detr_coordinates_count_from_one_and_end_just_below_a_turn():
    ys = [2 * math.pi * y / (2 + 1e-6) for y in (1, 2)]
    xs = [2 * math.pi * x / (3 + 1e-6) for x in (1, 2, 3)]
    assert_close(grid(2, 3, coordinates="detr"), torch.tensor([[y, x] for y in ys for x in xs], dtype=torch.float64))


def test_text_image_text_has_one_number_for_text_and_three_for_patches():
    """Case mrope-text-image-text."""
    positions = multimodal([3, Grid(1, 2, 3), 2])
    t, h, w = positions.T.tolist()
    assert t == [0, 1, 2, 3, 3, 3, 3, 3, 3, 6, 7]
    assert h == [0, 1, 2, 3, 3, 3, 4, 4, 4, 6, 7]
    assert w == [0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7]
    assert int(following(positions)) - len(positions) == -3


def test_parts_may_be_many_or_none_and_a_part_may_be_empty():
    assert multimodal([]).shape == (0, 3)
    assert multimodal([0, 2]).T.tolist() == [[0, 1]] * 3
    two = multimodal([(1, 1, 2), (1, 2, 1), 1])
    assert two.T.tolist() == [[0, 0, 2, 2, 4], [0, 0, 2, 3, 4], [0, 1, 2, 2, 4]]
    assert multimodal([Grid(1, 4, 6)], spatial_merge=2).tolist() == multimodal([Grid(1, 2, 3)]).tolist()


def test_a_video_longer_than_it_is_wide_pushes_the_text_behind_it_past_its_last_frame():
    positions = multimodal([1, Grid(5, 2, 2), 1])
    assert positions[-1].tolist() == [6, 6, 6]
    assert positions[:, 0].diff().min() >= 0


def qwen(version: str):
    """`get_rope_index` of the Hugging Face model, on a row given as parts, with the grids before the merge of 2 x 2."""
    model = pytest.importorskip(f"transformers.models.{version}.modeling_{version}")
    kind = next(getattr(model, name) for name in dir(model) if re.fullmatch(r"Qwen[0-9_]+VLModel", name))
    vision = SimpleNamespace(spatial_merge_size=2, tokens_per_second=2)

    def of(parts, seconds=None, split=False):
        types, images, videos = [], [], []
        for part in parts:
            if isinstance(part, int):
                types += [0] * part
                continue
            kind_of_part = 1 if part[0] == 1 and not split else 2
            (images if kind_of_part == 1 else videos).append(list(part[:3]))
            types += [kind_of_part] * (part[0] * part[1] * part[2] // 4)
        self = SimpleNamespace(config=SimpleNamespace(vision_config=vision))
        self.get_vision_position_ids = kind.get_vision_position_ids.__get__(self)
        row = torch.zeros(1, len(types), dtype=torch.int64)
        more = {} if seconds is None else {"second_per_grid_ts": torch.tensor(seconds)}
        ids, delta = kind.get_rope_index(
            self,
            row,
            torch.tensor([types]),
            image_grid_thw=torch.tensor(images) if images else None,
            video_grid_thw=torch.tensor(videos) if videos else None,
            **more,
        )
        return ids[:, 0].T, int(delta)

    return of


def test_rows_of_text_and_images_are_those_of_qwen2_vl():
    for parts in ([4, (1, 4, 6), 3], [(1, 2, 2), 1, (1, 8, 2), 2], [1, (1, 2, 10), 5, (1, 6, 4)]):
        theirs, delta = qwen("qwen2_vl")(parts)
        ours = multimodal(parts, spatial_merge=2)
        assert torch.equal(ours, theirs)
        assert int(following(ours)) - len(ours) == delta


def test_short_videos_are_those_of_qwen2_vl_and_long_ones_follow_the_paper_instead():
    """transformers 5.24 puts text after a video at start + max(height, width) / 2, also where the video has more frames than
    that; its times then come again. Qwen2-VL (arXiv 2409.12191, section 2.1): "the position numbering for each modality is
    initialized by incrementing the maximum position ID of the preceding modality by one"."""
    theirs, _ = qwen("qwen2_vl")([2, (3, 4, 6), 2])
    assert torch.equal(multimodal([2, (3, 4, 6), 2], spatial_merge=2), theirs)
    long = [2, (9, 4, 4), 2]
    theirs, ours = qwen("qwen2_vl")(long)[0], multimodal(long, spatial_merge=2)
    assert torch.equal(ours[:-2], theirs[:-2])
    assert theirs[-2, 0] == 4  # among the video's times 2, ..., 10
    assert ours[-2].tolist() == [11, 11, 11]


@pytest.mark.parametrize("seconds", [0.5, 1.0, 2 / 30, 0.1])
def test_seconds_per_frame_space_the_times_as_in_qwen2_5_vl(seconds):
    video = (6, 4, 4)
    theirs, _ = qwen("qwen2_5_vl")([3, video], seconds=[seconds])
    ours = multimodal([3, Grid(*video, seconds)], spatial_merge=2, tokens_per_second=2)
    assert torch.equal(ours, theirs)


def test_a_whole_number_of_ticks_is_not_lost_to_the_floats():
    """0.29 seconds at 100 ticks a second are 29 ticks; 0.29 * 100 is 28.999999999999996."""
    times = multimodal([Grid(3, 1, 1, 0.29)], tokens_per_second=100)[:, 0]
    assert times.tolist() == [0, 29, 58]


def test_frames_that_timestamps_separate_are_parts_of_their_own_in_qwen3_vl():
    of = qwen("qwen3_vl")
    parts = [2, (1, 4, 4), 3, (1, 4, 4), 1]
    theirs, delta = of(parts, split=True)
    ours = multimodal(parts, spatial_merge=2)
    assert torch.equal(ours, theirs)
    assert int(following(ours)) - len(ours) == delta


parts_of_rows = st.lists(
    st.one_of(st.integers(0, 5), st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4)).map(lambda g: Grid(*g))),
    max_size=5,
)


@given(parts_of_rows)
def test_every_part_starts_one_past_everything_before_it(parts):
    positions, seen = multimodal(parts), 0
    for part in parts:
        size = part if isinstance(part, int) else math.prod(part[:3])
        here, before, seen = positions[seen : seen + size], positions[:seen], seen + size
        if size:
            assert here[0].tolist() == [int(before.max()) + 1 if len(before) else 0] * 3
    assert seen == len(positions)


@given(parts_of_rows)
def test_reading_order_is_the_order_of_the_tokens(parts):
    positions = multimodal(parts)
    order, keys = reading_order(positions, positions)
    assert order.tolist() == keys.tolist() == list(range(len(positions)))


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=1, max_size=12), st.integers(0, 12))
def test_reading_order_compares_positions_as_tuples(rows, cut):
    positions = torch.tensor(rows)
    order, keys = reading_order(positions[:cut], positions[cut:])
    ranks = torch.cat((order, keys)).tolist()
    distinct = sorted(set(rows))
    assert ranks == [distinct.index(row) for row in rows]


def test_reading_order_takes_rows_of_a_batch_and_shared_keys():
    queries, keys = torch.tensor([[[0, 1]], [[2, 0]]]), torch.tensor([[0, 0], [1, 5]])
    order, of_keys = reading_order(queries, keys)
    assert order.tolist() == [[1], [2]]
    assert of_keys.tolist() == [[0, 2], [0, 1]]


def test_the_next_text_token_of_each_row_ignores_padding_on_either_side():
    rows = [multimodal([3, (1, 2, 3), 2]), multimodal([2])]
    for side in ("left", "right"):
        positions, mask = padded(rows, side=side)
        assert following(positions).tolist() == [8, 2]
        assert mask.sum(-1).tolist() == [11, 2]
        assert all(torch.equal(positions[row][mask[row]], rows[row]) for row in (0, 1))
    assert indices.consecutive(2, start=following(positions)).tolist() == [[8, 9], [2, 3]]


def test_padding_stands_where_from_mask_puts_it():
    rows = [indices.consecutive(2), indices.consecutive(4)]
    for side in ("left", "right"):
        positions, mask = padded(rows, side=side)
        assert torch.equal(positions, indices.from_mask(mask))


def test_text_on_every_axis_is_the_same_number_thrice():
    assert on_every_axis(torch.tensor([[1, 2]]), 3).tolist() == [[[1, 1, 1], [2, 2, 2]]]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: grid(4), ArgumentError, "size: expected (height, width) or (frames, height, width), got (4,)"),
        (lambda: grid(4, 0), ArgumentError, "size: expected an integer of at least 1, got 0"),
        (lambda: grid(4, 2.5), ArgumentTypeError, "size: expected an integer"),
        (lambda: grid(2, 2, coordinates="unit"), ArgumentError, "coordinates: expected one of pixel, ordinal, centred"),
        (lambda: grid(2, 2, normalise="mean"), ArgumentError, "normalise: expected 'separate', 'max' or 'min', got mean"),
        (lambda: grid(2, 2, reference=(4, 4, 4)), ArgumentError, "reference: expected 2 sizes, with coordinates='pixel'"),
        (lambda: grid(2, 2, reference=(4, 4), coordinates="centred"), ArgumentError, "got (4, 4) with 'centred'"),
        (lambda: grid(2, 2, prefix=-1), ArgumentError, "prefix: expected an integer of at least 0, got -1"),
        (
            lambda: grid(4, 3, merge=2),
            ArgumentError,
            "size: expected a height and width that the merge (2) divides, got (4, 3)",
        ),
        (lambda: multimodal([-1]), ArgumentError, "parts: expected an integer of at least 0, got -1"),
        (lambda: multimodal([(2, 2)]), ArgumentTypeError, "parts: expected a number of text tokens, or Grid(frames, height"),
        (lambda: multimodal(["image"]), ArgumentTypeError, "got str; an image is Grid(1, height, width)"),
        (
            lambda: multimodal([(1, 3, 4)], spatial_merge=2),
            ArgumentError,
            "parts: expected a height and width that the merge (2) divides, got (3, 4)",
        ),
        (lambda: multimodal([(1, 0, 4)]), ArgumentError, "parts: expected an integer of at least 1, got 0"),
        (lambda: multimodal([(2, 2, 2, 0.5)]), ArgumentError, "tokens_per_second: expected a number, since a part says"),
        (lambda: multimodal([1], tokens_per_second=0), ArgumentError, "tokens_per_second: expected a positive number, got 0"),
        (lambda: multimodal([(2, 2, 2, -1.0)], tokens_per_second=2), ArgumentError, "seconds per frame, 0 or more, got -1.0"),
        (lambda: following(torch.zeros(4).long()), ShapeError, "positions: expected a tensor [T A | B T A]"),
        (lambda: following(torch.zeros(0, 3).long()), ShapeError, "expected at least one token, got none"),
        (lambda: padded([]), ArgumentError, "rows: expected at least one row, none empty, got []"),
        (lambda: padded([torch.arange(2)], side="top"), ArgumentError, "side: expected 'left' or 'right', got top"),
        (lambda: on_every_axis(torch.arange(2), 0), ArgumentError, "axes: expected an integer of at least 1, got 0"),
    ],
)
def test_what_is_no_grid_or_part_is_refused_in_words(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()


@pytest.mark.parametrize(("height", "width", "alpha"), [(3, 4, 0.5), (5, 5, 1.0), (2, 7, 0.0), (1, 1, 0.5)])
def test_patches_on_a_circle_are_as_far_from_every_token_of_text_and_stand_as_the_authors_put_them(height, width, alpha):
    found = indices.circle(height, width, radius=10, alpha=alpha)
    text = torch.arange(5.0, dtype=torch.float64)[:, None].expand(-1, 3)
    apart = torch.cdist(text, found)
    torch.testing.assert_close(apart, apart[:, :1].expand_as(apart))
    # their steps: move to the middle, angle by arctangent stretched to the whole turn, mixed with the order, then a plane
    row, column = torch.meshgrid(torch.arange(height).double(), torch.arange(width).double(), indexing="ij")
    row, column = row - row.amax() / 2, column - column.amax() / 2
    angle = torch.atan2(row, column)
    span = angle.max() - angle.min()
    angle = (angle - angle.min()) / span * 2 * math.pi if span > 0 else angle
    order = torch.arange(height * width).double().reshape(height, width) / (height * width) * 2 * math.pi
    angle = (alpha * angle + (1 - alpha) * order).flatten()
    normal = torch.ones(3, dtype=torch.float64) / math.sqrt(3)
    first = torch.stack((-normal[1], normal[0], torch.tensor(0.0))) / torch.linalg.norm(normal[:2])
    second = torch.linalg.cross(normal, first)
    expected = 10 * (angle.cos()[:, None] * first + angle.sin()[:, None] * second)  # column, row, time
    torch.testing.assert_close(found, expected.flip(-1))


def test_a_circle_has_a_radius_and_a_share() -> None:
    for settings in ({"radius": 0.0}, {"alpha": 1.5}):
        with pytest.raises(ArgumentError, match=next(iter(settings))):
            indices.circle(2, 2, **settings)
