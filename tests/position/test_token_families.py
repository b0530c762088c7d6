"""Positions from token ids: equal to a token-by-token reference, to transformers where it is right, and whole in parts."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
import torch

from ordinate.errors import ArgumentError, ShapeError, UnknownNameError
from ordinate.position import indices
from ordinate.position.indices import TOKEN_FAMILIES, TokenFamily, from_tokens
from ordinate.verify.peers import rope_index
from ordinate.verify.references.multimodal import Part, Row, multimodal_positions, row_of
from tests.external import required


def drawn(draw: random.Random, family: TokenFamily, sound: bool = False, seconds: tuple[float, ...] = (1.0, 0.5, 0.25)) -> Row:
    """A row of up to six parts, text at both ends."""
    kinds = ["text", "image", "sound" if sound else "video", *(["audio"] if family.audio else [])]
    parts = [Part("text", size=draw.randint(1, 4))]
    for _ in range(draw.randint(0, 5)):
        kind, side = draw.choice(kinds), family.spatial_merge
        frames = 1 if kind == "image" else draw.randint(1, 6) * family.temporal_merge
        grid = (frames, side * draw.randint(1, 4), side * draw.randint(1, 4))
        parts.append(Part(kind, size=draw.randint(1, 30), grid=grid, seconds=draw.choice(seconds)))
    return row_of(family, [*parts, Part("text", size=2)])


def batch(rows: list[Row], side: str) -> tuple[torch.Tensor, torch.Tensor]:
    longest = max(len(row.tokens) for row in rows)
    tokens, mask = torch.full((len(rows), longest), 3), torch.zeros(len(rows), longest, dtype=torch.long)
    for number, row in enumerate(rows):
        real = slice(longest - len(row.tokens), longest) if side == "left" else slice(0, len(row.tokens))
        tokens[number, real], mask[number, real] = torch.tensor(row.tokens), 1
    return tokens, mask


def given(family: TokenFamily, *rows: Row) -> dict[str, list]:
    timed = family.tokens_per_second is not None and not family.frames_apart
    return {
        "image_grids": [grid for row in rows for grid in row.images],
        "video_grids": [grid for row in rows for grid in row.videos],
        "seconds_per_frame": [one for row in rows for one in row.seconds] if timed else [],
    }


@pytest.mark.parametrize("name", TOKEN_FAMILIES)
def test_rows_padded_and_packed_are_those_of_the_reference(name):
    family, draw = TOKEN_FAMILIES[name], random.Random(name)
    for _ in range(25):
        sound = family.audio is not None and draw.random() < 0.5
        rows = [drawn(draw, family, sound, (1.0, 0.5, 2 / 3, 2 / 41)) for _ in range(3)]
        expected = [torch.tensor(row.positions(family)) for row in rows]
        for side in ("left", "right"):
            tokens, mask = batch(rows, side)
            got = from_tokens(tokens, family, mask=mask, **given(family, *rows))
            for number, positions in enumerate(expected):
                assert torch.equal(got[number][mask[number].bool()], positions)
                assert int(indices.following(got)[number]) == int(positions.max()) + 1  # so decoding goes on there
        packed = torch.cat([torch.tensor(row.tokens) for row in rows])
        owners = indices.documents([len(row.tokens) for row in rows])
        assert torch.equal(from_tokens(packed, family, documents=owners, **given(family, *rows)), torch.cat(expected))


def test_a_row_by_hand():
    """Two words, an image of 2 x 3 tokens, a word; a video of two frames; a word: 2 + 3, then past its largest axis."""
    family = TokenFamily(image=9, video=8)
    tokens = torch.tensor([1, 1, *[9] * 6, 1, *[8] * 4, 1])
    got = from_tokens(tokens, family, image_grids=[(1, 4, 6)], video_grids=[(2, 4, 2)])
    time = [0, 1, 2, 2, 2, 2, 2, 2, 5, 6, 6, 7, 7, 8]
    row = [0, 1, 2, 2, 2, 3, 3, 3, 5, 6, 7, 6, 7, 8]
    column = [0, 1, 2, 3, 4, 2, 3, 4, 5, 6, 6, 6, 6, 8]
    assert got.T.tolist() == [time, row, column]


def test_a_frame_at_a_whole_time_stands_there_whatever_the_float():
    """Three frames a second, merged by two: 2/3 s each, so frame 15 is at 10 s, position 250 of 25 a second, not 249."""
    family = replace(TOKEN_FAMILIES["qwen2.5-omni"], spatial_merge=1)
    for seconds in ([2 / 3], torch.tensor([2 / 3])):
        tokens = torch.full((16,), family.video)
        times = from_tokens(tokens, family, video_grids=[(16, 1, 1)], seconds_per_frame=seconds)[:, 0]
        assert times[15] == 250
        assert times[14] == 233  # 233.33, floored after the product; 14 * floor(16.67) would be 224


@pytest.mark.parametrize("name", TOKEN_FAMILIES)
def test_chunks_that_follow_each_other_are_the_whole(name):
    family, draw = TOKEN_FAMILIES[name], random.Random(name)
    rows = [drawn(draw, family), drawn(draw, family), drawn(draw, family)]
    whole = from_tokens(torch.tensor(sum((row.tokens for row in rows), ())), family, **given(family, *rows))
    parts, start = [], 0
    for row in rows:
        parts.append(from_tokens(torch.tensor(row.tokens), family, start=start, **given(family, row)))
        start = int(indices.following(parts[-1]))
    assert torch.equal(torch.cat(parts), whole)
    decoded = indices.on_every_axis(indices.consecutive(3, start=indices.following(whole)), 3)
    longer = torch.tensor([*sum((row.tokens for row in rows), ()), 3, 3, 3])
    assert torch.equal(from_tokens(longer, family, **given(family, *rows))[-3:], decoded)


THEIRS = {name for name in TOKEN_FAMILIES if not TOKEN_FAMILIES[name].frames_apart and "omni" not in name}


def after_the_larger_side(positions, kinds):
    """Where transformers 5 goes on after a video: the larger side of a frame, whatever its times."""
    return max(max(row, column) for _, row, column in positions) + 1


def after_the_last_chunk(positions, kinds):
    """Where transformers goes on after a video with its sound: the last stretch of two seconds of one of the two."""
    return max(positions[-1]) + 1


@pytest.mark.parametrize("name", TOKEN_FAMILIES)
def test_transformers_stands_where_we_do_or_where_its_own_rule_puts_it(name):
    """Its rule differs behind a video (by design of 5.x) and nowhere else: with that rule the reference gives its numbers.

    Right is what stands behind the largest number: the paper's section 2.1, transformers 4 and ERNIE's own processor say so;
    with the other rule text shares its times with the video before it.
    """
    pytest.importorskip("transformers")
    family, draw, theirs = TOKEN_FAMILIES[name], random.Random(name), rope_index(name)
    family = TokenFamily.from_config(theirs.__self__.config.to_dict())
    differ = 0
    for turn in range(30):
        whole = (1.0, 2.0) if name == "qwen3-omni" else (1.0, 0.5, 0.25)  # exact in float32; what else it does, tests below say
        rows = [drawn(draw, family, seconds=whole) for _ in range(draw.randint(1, 3))]
        tokens, mask = batch(rows, ("left", "right")[turn % 2])
        got, delta = theirs(**arguments(name, family, tokens, mask, rows))
        ours = from_tokens(tokens, family, mask=mask, **given(family, *rows))
        for number, row in enumerate(rows):
            real = mask[number].bool()
            expected = ours[number][real]
            if name in THEIRS:
                seconds = given(family, row)["seconds_per_frame"]
                expected = torch.tensor(
                    multimodal_positions(row.tokens, family, row.images, row.videos, seconds, behind=after_the_larger_side)
                )
                differ += not torch.equal(expected, ours[number][real])
            assert torch.equal(got[:, number, real].T.long(), expected)
            assert int(delta[number]) == int(expected.max()) + 1 - len(row.tokens)
    assert (differ > 0) == (name in THEIRS)


def arguments(name, family, tokens, mask, rows):
    """What `get_rope_index` of a family takes."""
    grids = given(family, *rows)
    images, videos = (torch.tensor(grids[kind]) if grids[kind] else None for kind in ("image_grids", "video_grids"))
    result = {"input_ids": tokens, "image_grid_thw": images, "video_grid_thw": videos, "attention_mask": mask}
    seconds = torch.tensor(grids["seconds_per_frame"])
    if family.audio is None:
        timed = {} if family.tokens_per_second is None else {"second_per_grid_ts": seconds}
        return {**result, "mm_token_type_ids": torch.stack([family.kinds(row) for row in tokens]), **timed}
    heard = [size for row in rows for size in row.audios]
    features = [4 * size if family.marks_share else 100 * (size // 13) + 8 * (size % 13) for size in heard]
    return {**result, "second_per_grids": seconds, "audio_seqlens": torch.tensor(features)}


@pytest.mark.parametrize(("name", "seconds", "frame", "theirs"), [
    ("qwen2.5-vl", 2 / 41, 41, 7), ("qwen2.5-omni", 2 / 25, 5, 9), ("qwen3-omni", 0.5, 1, 12.5),
])  # fmt: skip
def test_transformers_rounds_times_in_float32_or_does_not_floor_them(name, seconds, frame, theirs):
    """A frame stands at floor(frame * seconds * tokens_per_second); its float32 product falls just below a whole number.

    At 41 frames a second, two in one, frame 41 is at 2 s, so at 8 of 4 a second (7 there); at 25 a second frame 5 is at 0.4 s,
    so at 10 of 25 (9 there). Qwen3-Omni's numbers there are not whole: 12.5 where vLLM (read at commit e86cd31) has 12.
    """
    pytest.importorskip("transformers")
    rule = rope_index(name)
    family = TokenFamily.from_config(rule.__self__.config.to_dict())
    row = row_of(family, [Part("video", grid=(frame + 1, 2, 2), seconds=seconds)])
    tokens = torch.tensor([row.tokens])
    got = rule(**arguments(name, family, tokens, torch.ones_like(tokens), [row]))[0][0, 0, frame + 1]
    ours = from_tokens(tokens, family, **given(family, row))[0, frame + 1, 0]
    assert float(got) - 1 == theirs
    assert int(ours) - 1 == {2 / 41: 8, 2 / 25: 10, 0.5: 12}[seconds]


@pytest.mark.parametrize(("name", "right", "theirs"), [("qwen2.5-omni", 34, 13), ("qwen3-omni", 9, 6)])
def test_text_behind_a_video_with_its_sound_starts_behind_both(name, right, theirs):
    """transformers looks at the last piece alone: sound that ends before the frames do puts the text among them.

    2.5: both marks at 1; frames at 2 and 2 + 30, ten steps of sound from 2 to 11: the marks behind stand at 33, text at 34. 3:
    marks at 1 and 2; one frame of 4 x 1 from row 3 to 6, one step of sound at 3: marks behind at 7 and 8, text at 9.
    """
    pytest.importorskip("transformers")
    rule = rope_index(name)
    family = TokenFamily.from_config(rule.__self__.config.to_dict())
    part = {
        "qwen2.5-omni": Part("sound", size=10, grid=(2, 2, 2), seconds=1.2),
        "qwen3-omni": Part("sound", size=1, grid=(1, 8, 2)),
    }[name]
    row = row_of(family, [Part("text", size=1), part, Part("text", size=1)])
    tokens = torch.tensor([row.tokens])
    ours = from_tokens(tokens, family, **given(family, row))[0]
    got = rule(**arguments(name, family, tokens, torch.ones_like(tokens), [row]), use_audio_in_video=True)[0][:, 0].T
    assert torch.equal(got[:-3].long(), ours[:-3])
    assert ours[-1].tolist() == [right] * 3
    assert got[-1].tolist() == [theirs] * 3


def test_a_family_is_read_off_a_config():
    config = json.loads((required("configs") / "Qwen2.5-VL-3B.json").read_text())
    assert TokenFamily.from_config(config).tokens_per_second == config["vision_config"]["tokens_per_second"] == 2
    omni = {"model_type": "qwen2_5_omni", "thinker_config": {"audio_token_index": 5, "position_id_per_seconds": 10}}
    assert (TokenFamily.from_config(omni).audio, TokenFamily.from_config(omni).tokens_per_second) == (5, 10)
    with pytest.raises(UnknownNameError, match="model_type"):
        TokenFamily.from_config({"model_type": "llama"})


NINE = TokenFamily(image=9, video=8)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: from_tokens(torch.tensor([9]), "qwen"), UnknownNameError, "qwen2-vl"),
        (lambda: from_tokens(torch.tensor([9]), NINE), ArgumentError, "image_grids"),
        (lambda: from_tokens(torch.tensor([9, 9, 9]), NINE, image_grids=[(1, 2, 4)]), ArgumentError, "image_grids"),
        (lambda: from_tokens(torch.tensor([9]), NINE, image_grids=[(1, 2, 4)]), ArgumentError, "2 tokens"),
        (lambda: from_tokens(torch.tensor([1]), NINE, image_grids=[(1, 2, 4)]), ArgumentError, "expected 0 grids"),
        (lambda: from_tokens(torch.tensor([8]), NINE, video_grids=[(1, 2, 3)]), ArgumentError, "video_grids"),
        (lambda: from_tokens(torch.tensor([9]), NINE, image_grids=[(2, 2)]), ShapeError, "frames, height, width"),
        (lambda: from_tokens(torch.tensor([8]), NINE, video_grids=[(1, 2, 2)], seconds_per_frame=[1.0]), ArgumentError, "none"),
        (lambda: from_tokens(torch.tensor([8]), "qwen2.5-vl", video_grids=[(1, 2, 2)]), ArgumentError, "1 times, one a video"),
        (lambda: from_tokens(torch.tensor([1, 2]), NINE, mask=torch.ones(3)), ShapeError, "mask"),
        (lambda: from_tokens(torch.tensor([1, 2]), NINE, documents=torch.tensor([0, 1]), start=3), ArgumentError, "start"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(call, error, words):
    with pytest.raises(error, match=words):
        call()
