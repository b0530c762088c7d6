"""Builders of positions: right ones pass, wrong ones are named, and transformers' own are held beside the published rule."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ordinate.errors import ArgumentError, UnknownNameError
from ordinate.position import indices
from ordinate.position.indices import TokenFamily
from ordinate.verify import check_positions
from ordinate.verify.peers import rope_index, rows_of
from ordinate.verify.references.multimodal import multimodal_positions


def of_cache(past_length: int, length: int) -> Tensor:
    return indices.appended(past_length, length)


def zig_zag(length: int, rank: int, world_size: int) -> Tensor:
    return indices.shard(torch.arange(length), rank, world_size, zigzag=True)


def plain_shards(length: int, rank: int, world_size: int) -> Tensor:
    return torch.arange(length).chunk(world_size)[rank]


def of_documents(lengths: Tensor, rank: int, world_size: int) -> Tensor:
    return indices.shard(indices.from_lengths(lengths), rank, world_size, zigzag=True, lengths=lengths)


def with_tokens(input_ids: Tensor, rank: int, world_size: int) -> tuple[Tensor, Tensor]:
    positions = torch.arange(input_ids.shape[1])[None]
    return tuple(indices.shard(one, rank, world_size, zigzag=True) for one in (input_ids, positions))


RIGHT = [
    lambda attention_mask: indices.from_mask(attention_mask),
    lambda lengths: indices.from_lengths(lengths),
    lambda cu_seqlens: indices.from_cumulative(cu_seqlens),
    lambda document_ids: indices.from_documents(document_ids),
    of_cache,
    plain_shards,
    zig_zag,
    of_documents,
    with_tokens,
    lambda height, width: indices.grid(height, width),
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
    "documents-of-the-first-row": lambda doc_ids: indices.from_documents(doc_ids[0]).repeat(len(doc_ids), 1),
    "shards-count-from-zero": lambda seq_len, cp_rank, cp_size: torch.arange(seq_len // cp_size),
    "grid-by-columns": lambda height, width: torch.cartesian_prod(torch.arange(width), torch.arange(height)).flip(-1),
}


@pytest.mark.parametrize("cause", WRONG)
def test_a_wrong_builder_is_named(cause):
    verdict = check_positions(WRONG[cause])
    assert not verdict.passed
    assert verdict.causes[0].id == cause


def test_a_mask_behind_a_cache_counts_the_cached_tokens():
    def of_mask(attention_mask, past_key_values_length=0):
        return indices.from_mask(attention_mask)[:, past_key_values_length:]

    def new_tokens_alone(attention_mask, past_key_values_length=0):
        return indices.from_mask(attention_mask[:, past_key_values_length:])

    assert check_positions(of_mask).outcome("decode").status == "passed"
    assert [one.id for one in check_positions(new_tokens_alone).failed] == ["decode"]


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
    assert multimodal_positions([0, 0, *[1] * 6, 0], TokenFamily(image=1), [(1, 4, 6)]) == expected


def test_rows_of_tokens_are_checked_with_the_family_that_is_named():
    verdict = check_positions(rows_of("qwen2.5-vl"), family="qwen2.5-vl")
    assert verdict.passed, verdict
    asked = {outcome.id for outcome in verdict.outcomes if outcome.status == "passed"}
    assert {"frame-times", "whole-times", "chunked-prefill", "packing", "no-mask", "mixture", "long-video"} <= asked
    assert not check_positions(rows_of("qwen2.5-vl"), family="qwen3-vl").passed  # whose frames stand apart
    with pytest.raises(UnknownNameError, match=r"qwen2\.5-vl"):
        check_positions(rows_of("qwen2.5-vl"), family="qwen")


def test_an_image_that_counts_its_tokens_is_named():
    def every_token(input_ids, image_grid_thw, attention_mask):
        positions = indices.from_mask(attention_mask)
        return positions.expand(3, *positions.shape), torch.zeros(len(input_ids), 1)

    def swapped(input_ids, image_grid_thw, video_grid_thw, attention_mask):
        grids = {"image_grids": image_grid_thw, "video_grids": video_grid_thw}
        return indices.from_tokens(input_ids, "qwen2-vl", **grids, mask=attention_mask)[..., [0, 2, 1]].movedim(-1, 0)

    assert not check_positions(every_token).passed
    assert [cause.id for cause in check_positions(swapped).causes] == ["axes-exchanged"]


FOUND = {
    "qwen2-vl": {"long-video": "text-behind-the-larger-side"},
    "qwen2.5-vl": {"long-video": "text-behind-the-larger-side", "whole-times": "times-in-float32"},
    "qwen3-vl": {},
    "qwen3.5": {},
    "glm-4v": {},
    "ernie-vl": {"long-video": "text-behind-the-larger-side"},
    "qwen2.5-omni": {
        "whole-times": "times-in-float32",
        "behind-sound": "text-behind-the-last-piece",
        "behind-tall-frame": "text-behind-the-last-piece",
        "decode-text": None,  # a row of one token beside padding: its next token at 2, for the mask's 1 fills the padding
    },
    "qwen3-omni": {
        "frame-times": "times-not-floored",
        "whole-times": "times-not-floored",
        "behind-tall-frame": "text-behind-the-last-piece",
        "no-mask": None,  # it indexes the mask
        "decode-text": None,
    },
}


@pytest.mark.parametrize("family", FOUND)
def test_what_transformers_builds_is_found_and_named(family):
    """Of 5.24; tests/position/test_token_families.py says why another value is right. Take out what is mended."""
    pytest.importorskip("transformers")
    verdict = check_positions(rope_index(family))
    assert {outcome.id for outcome in verdict.failed} == set(FOUND[family]), verdict
    for failed, cause in FOUND[family].items():
        assert verdict.outcome(failed).causes[:1] == (() if cause is None else (cause,))
