"""Positions with axes within `attend`: masks that go by the order of the tokens, decoding, packing, padding."""

import math
import re

import pytest
import torch
from torch.testing import assert_close

from ordinate.attention import Causal, Documents, Padding, Window, attend
from ordinate.errors import RefusedError, ShapeError
from ordinate.position import ALiBi, AxialRotary, LearnedGrid, MultimodalRotary, indices

PARTS = [3, (1, 2, 3), 2, (2, 2, 2), 4]


def heads(tokens, batch=1):
    return torch.randn(3, batch, 2, tokens, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def rotary():
    return MultimodalRotary(16, layout="half", sections=(2, 3, 3))


def by_hand(q, k, v, visible):
    """Attention of rotated queries and keys under a mask given token by token."""
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~visible, -math.inf)
    return scores.softmax(-1) @ v


def test_a_causal_mask_goes_by_the_order_of_text_and_patches():
    """Patches of one image have equal times, and still see only those read before them."""
    positions = indices.multimodal(PARTS)
    n = len(positions)
    q, k, v = heads(n)
    found = attend(q, k, v, query_positions=positions, encoding=rotary(), mask=Causal())
    turned = (rotary().rotate(x, positions) for x in (q, k))
    assert_close(found, by_hand(*turned, v, torch.ones(n, n).tril().bool()))


def test_a_text_token_decoded_behind_images_sees_all_of_them():
    positions = indices.multimodal(PARTS)
    n = len(positions)
    q, k, v = heads(n)
    whole = attend(q, k, v, query_positions=positions, encoding=rotary(), mask=Causal())
    last = indices.following(positions[:-1]).reshape(1)
    step = attend(q[:, :, -1:], k, v, query_positions=last, key_positions=positions, encoding=rotary(), mask=Causal())
    assert_close(step, whole[:, :, -1:])


def test_rows_of_different_make_up_share_a_batch():
    rows = [indices.multimodal(PARTS), indices.multimodal([2, (1, 1, 4), 1])]
    positions, mask = indices.padded(rows)
    q, k, v = heads(positions.shape[1], batch=2)
    together = attend(q, k, v, query_positions=positions, encoding=rotary(), mask=Causal() & Padding(mask), empty_rows="zeros")
    for row, alone in enumerate(rows):
        start = positions.shape[1] - len(alone)
        only = [x[row : row + 1, :, start:] for x in (q, k, v)]
        assert_close(together[row : row + 1, :, start:], attend(*only, query_positions=alone, encoding=rotary(), mask=Causal()))


def test_packed_rows_of_text_and_images_do_not_see_each_other():
    first, second = indices.multimodal([2, (1, 2, 2)]), indices.multimodal([1, (1, 1, 3), 2])
    positions = torch.cat((first, second))
    q, k, v = heads(len(positions))
    packed = attend(q, k, v, query_positions=positions, encoding=rotary(), mask=Causal() & Documents(indices.documents([6, 6])))
    for here, alone in ((slice(0, 6), first), (slice(6, 12), second)):
        only = [x[:, :, here] for x in (q, k, v)]
        assert_close(packed[:, :, here], attend(*only, query_positions=alone, encoding=rotary(), mask=Causal()))


def test_every_implementation_reads_in_the_same_order():
    positions = indices.multimodal(PARTS)
    q, k, v = heads(len(positions))
    expected = attend(q, k, v, query_positions=positions, encoding=rotary(), mask=Causal(), impl="reference")
    for impl in ("sdpa", "blocked"):
        found = attend(q, k, v, query_positions=positions, encoding=rotary(), mask=Causal(), impl=impl)
        assert_close(found, expected)


def test_an_image_without_a_mask_attends_to_all_of_itself():
    positions = indices.grid(2, 3)
    q, k, v = heads(6)
    axial = AxialRotary(16, layout="interleaved")
    found = attend(q, k, v, query_positions=positions, encoding=axial)
    turned = (axial.rotate(x, positions) for x in (q, k))
    assert_close(found, by_hand(*turned, v, torch.ones(6, 6).bool()))


def test_two_encodings_over_the_same_axes_go_together():
    positions = indices.grid(2, 3)
    q, k, v = heads(6)
    grid, axial = LearnedGrid((2, 3), 16).double(), AxialRotary(16, layout="half")
    found = attend(q, k, v, query_positions=positions, encoding=[grid, axial])
    added = grid.encode(positions)
    turned = (axial.rotate(x + added, positions) for x in (q, k))
    assert_close(found, by_hand(*turned, v, torch.ones(6, 6).bool()))


def test_a_window_along_one_axis_is_refused_for_positions_with_several():
    positions = indices.multimodal(PARTS)
    q, k, v = heads(len(positions))
    with pytest.raises(RefusedError, match="a Window, which counts positions along one axis"):
        attend(q, k, v, query_positions=positions, encoding=rotary(), mask=Causal() & ~Window(2))
    text = indices.consecutive(len(positions))
    attend(q, k, v, query_positions=text, encoding=rotary(), mask=Causal() & Window(2))


def test_encodings_over_different_axes_are_refused_together():
    q, k, v = heads(6)
    with pytest.raises(RefusedError, match=re.escape("got AxialRotary with 2, ALiBi with 1")):
        attend(q, k, v, query_positions=indices.grid(2, 3), encoding=[AxialRotary(16, layout="half"), ALiBi(2)])


def test_a_sequence_is_no_grid():
    q, k, v = heads(6)
    with pytest.raises(ShapeError, match=re.escape("expected positions with 2 axes, [T, 2] or [B, T, 2], got shape (6,)")):
        attend(q, k, v, query_positions=indices.consecutive(6), encoding=AxialRotary(16, layout="half"))
