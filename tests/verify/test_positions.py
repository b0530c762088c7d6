"""Builders of positions: right ones pass, wrong ones are named, and transformers' own are held beside the published rule."""

from __future__ import annotations

import importlib
import random

import pytest
import torch
from torch import Tensor

from ordinate.errors import ArgumentError
from ordinate.position import indices
from ordinate.verify import check_positions
from ordinate.verify.properties.positions import multimodal_positions


def of_cache(past_length: int, length: int) -> Tensor:
    return indices.appended(past_length, length)


def zig_zag(length: int, rank: int, world_size: int) -> Tensor:
    return indices.shard(torch.arange(length), rank, world_size, zigzag=True)


def plain_shards(length: int, rank: int, world_size: int) -> Tensor:
    return torch.arange(length).chunk(world_size)[rank]


RIGHT = [
    lambda attention_mask: indices.from_mask(attention_mask),
    lambda lengths: indices.from_lengths(lengths),
    of_cache,
    plain_shards,
    zig_zag,
]


@pytest.mark.parametrize("subject", RIGHT)
def test_a_right_builder_passes(subject):
    verdict = check_positions(subject)
    assert verdict.passed, verdict


WRONG = {
    "builder-padding-counts": lambda attention_mask: torch.arange(attention_mask.shape[1]).repeat(len(attention_mask), 1),
    "builder-counts-from-one": lambda attention_mask: attention_mask.cumsum(1),
    "builder-reads-the-first-row": lambda mask: indices.from_mask(mask)[:1].repeat(len(mask), 1),
    "documents-run-on": lambda lengths: torch.arange(int(lengths.sum())),
    "builder-forgets-the-cache": lambda start_pos, seq_len: torch.arange(seq_len),
    "builder-one-ahead": lambda past_length, length: torch.arange(length) + past_length + bool(past_length),
}


@pytest.mark.parametrize("cause", WRONG)
def test_a_wrong_builder_is_named(cause):
    verdict = check_positions(WRONG[cause])
    assert not verdict.passed
    assert verdict.causes[0].id == cause


def test_shards_that_overlap_are_seen():
    def overlap(length: int, rank: int, world_size: int) -> Tensor:
        return torch.arange(length)[rank * length // world_size : (rank + 1) * length // world_size + 1]

    assert "shards" in check_positions(overlap).failed[0].evidence


def test_names_that_say_nothing_are_refused():
    with pytest.raises(ArgumentError, match="attention_mask"):
        check_positions(lambda a, b: a)


def test_the_published_rule_by_hand():
    """Two words, an image of 2 x 3 tokens, one word: the word stands after the image's largest axis, 2 + 3."""
    expected = [(0, 0, 0), (1, 1, 1), (2, 2, 2), (2, 2, 3), (2, 2, 4), (2, 3, 2), (2, 3, 3), (2, 3, 4), (5, 5, 5)]
    assert multimodal_positions([0, 0, *[1] * 6, 0], [(1, 4, 6)]) == expected


@pytest.fixture(scope="module")
def qwen2_vl():
    pytest.importorskip("transformers")
    modeling = importlib.import_module("transformers.models.qwen2_vl.modeling_qwen2_vl")
    configuration = importlib.import_module("transformers.models.qwen2_vl.configuration_qwen2_vl")
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 64}
    vision = {"depth": 1, "embed_dim": 16, "hidden_size": 16, "num_heads": 2}
    rope = {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0}
    text = {**sizes, "num_key_value_heads": 2, "rope_parameters": rope}
    return modeling.Qwen2VLModel(configuration.Qwen2VLConfig(text_config=text, vision_config=vision))


def test_images_of_transformers_stand_where_the_rule_says(qwen2_vl):
    draw = random.Random(0)
    for _ in range(40):
        grids = [(1, 2 * draw.randint(1, 5), 2 * draw.randint(1, 5)) for _ in range(draw.randint(1, 3))]
        types = [0] * draw.randint(1, 4)
        for _, height, width in grids:
            types += [1] * (height * width // 4) + [0] * draw.randint(1, 4)
        row = torch.tensor([types])
        theirs, delta = qwen2_vl.get_rope_index(row + 1, row, torch.tensor(grids))
        expected = multimodal_positions(types, grids)
        assert theirs[:, 0].T.tolist() == [list(position) for position in expected]
        assert int(delta) == max(map(max, expected)) + 1 - len(types)


def test_what_transformers_builds_after_a_long_video_is_a_finding(qwen2_vl):
    """5.24 goes on after the larger side of a frame; the paper, and its own earlier versions, after the largest position."""
    verdict = check_positions(qwen2_vl.get_rope_index)
    for right in ("text-alone", "images", "short-video", "left-padding", "decode"):
        assert verdict.outcome(right).status == "passed", verdict
    assert [outcome.id for outcome in verdict.failed] == ["long-video"]
