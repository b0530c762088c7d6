import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from ordinate.attention import Causal, attend
from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.position import ALiBi, MusicRelative, Rotary, ShawRelative, indices


def test_plain_shards_are_stretches_and_zigzag_shards_are_one_from_each_end():
    steps = torch.arange(100, 112)
    assert [indices.shard(steps, rank, 3).tolist() for rank in range(3)] == [
        [100, 101, 102, 103],
        [104, 105, 106, 107],
        [108, 109, 110, 111],
    ]
    assert [indices.shard(steps, rank, 3, zigzag=True).tolist() for rank in range(3)] == [
        [100, 101, 110, 111],
        [102, 103, 108, 109],
        [104, 105, 106, 107],
    ]
    assert indices.shard(steps.repeat(2, 1), 1, 3, zigzag=True).tolist() == [[102, 103, 108, 109]] * 2


@given(size=st.integers(0, 5), world_size=st.integers(1, 5), zigzag=st.booleans())
def test_unshard_puts_any_tensor_back(size, world_size, zigzag):
    length = size * world_size * 2
    whole = torch.randn(2, length, 3, generator=torch.Generator().manual_seed(0))
    shards = [whole[:, indices.shard(torch.arange(length), rank, world_size, zigzag)] for rank in range(world_size)]
    assert torch.equal(torch.cat(shards, dim=1)[:, indices.unshard(length, world_size, zigzag)], whole)


@given(size=st.integers(1, 4), world_size=st.integers(1, 6))
def test_zigzag_gives_every_rank_the_same_causal_work(size, world_size):
    steps = torch.arange(size * world_size * 2)
    work = {int((indices.shard(steps, rank, world_size, zigzag=True) + 1).sum()) for rank in range(world_size)}
    assert len(work) == 1


@given(
    sizes=st.lists(st.integers(0, 3), max_size=4), world_size=st.integers(1, 4), zigzag=st.booleans(), batch=st.integers(1, 2)
)
def test_shards_by_document_are_put_back_and_share_the_work_of_each(sizes, world_size, zigzag, batch):
    lengths = [size * world_size * 2 for size in sizes]
    positions = indices.on_every_axis(indices.from_lengths(lengths).repeat(batch, 1), 3)
    shards = [indices.shard(positions, rank, world_size, zigzag, lengths=lengths) for rank in range(world_size)]
    order = indices.unshard(sum(lengths), world_size, zigzag, lengths=lengths)
    assert torch.equal(torch.cat(shards, dim=1)[:, order], positions)
    if zigzag:
        assert len({int((part[0, :, 0] + 1).sum()) for part in shards}) == 1


def test_axes_stay_together_in_a_shard():
    positions = indices.grid(4, 3)
    assert torch.equal(indices.shard(positions, 1, 2, axes=True), positions[6:])
    assert torch.equal(indices.shard(positions.repeat(2, 1, 1), 1, 2), positions[6:].repeat(2, 1, 1))


@pytest.mark.parametrize("zigzag", [False, True])
@pytest.mark.parametrize(
    "encoding",
    [Rotary(8, layout="half"), ALiBi(2), ShawRelative(8, 3).double(), MusicRelative(2, 8, 11).double()],
    ids=["rotary", "alibi", "shaw", "music"],
)
def test_attention_of_shards_put_together_is_attention_of_the_whole(encoding, zigzag):
    q, k, v = torch.randn(3, 1, 2, 12, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    steps = torch.arange(12)
    whole = attend(q, k, v, query_positions=steps, encoding=encoding, mask=Causal())
    parts = []
    for rank in range(3):
        held = indices.shard(steps, rank, 3, zigzag)
        parts.append(attend(q[:, :, held], k, v, query_positions=held, key_positions=steps, encoding=encoding, mask=Causal()))
    assert_close(torch.cat(parts, dim=2)[:, :, indices.unshard(12, 3, zigzag)], whole)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: indices.shard(torch.arange(10), 0, 3), ArgumentError, "divides by 3"),
        (lambda: indices.shard(torch.arange(10), 0, 5, zigzag=True), None, ""),
        (lambda: indices.shard(torch.arange(15), 0, 5, zigzag=True), ArgumentError, "divides by 10 .2 x world_size., got 15"),
        (lambda: indices.shard(torch.arange(9), 3, 3), ArgumentError, "rank: expected a rank below world_size .3., got 3"),
        (lambda: indices.shard(torch.arange(9), -1, 3), ArgumentError, "rank: expected an integer of at least 0"),
        (lambda: indices.shard(torch.arange(9), 0, 0), ArgumentError, "world_size: expected an integer of at least 1"),
        (lambda: indices.shard(torch.zeros(1, 2, 3, 4), 0, 1), ShapeError, "positions"),
        (lambda: indices.shard(torch.arange(8), 0, 2, lengths=[4, 2]), ArgumentError, "sum to the 8 tokens"),
        (lambda: indices.shard(torch.arange(8), 0, 2, zigzag=True, lengths=[6, 2]), ArgumentError, "lengths: .*divides by 4"),
        (lambda: indices.unshard(9, 2), ArgumentError, "divides by 2"),
        (lambda: indices.randomised(5, 4, generator=0), ArgumentError, "max_length: expected at least length .5., got 4"),
        (lambda: indices.randomised(5, 9, generator=None), ArgumentTypeError, "a torch.Generator or a seed, got NoneType"),
        (lambda: indices.randomised(-1, 9, generator=0), ArgumentError, "length: expected an integer of at least 0"),
        (lambda: indices.in_cache(0, sinks=4, window=2), ArgumentError, "length: expected an integer of at least 1"),
        (lambda: indices.in_cache(5, sinks=4, window=0), ArgumentError, "window: expected an integer of at least 1"),
        (lambda: indices.in_cache(5, sinks=-4, window=1), ArgumentError, "sinks: expected an integer of at least 0"),
        (lambda: indices.in_cache(5.0, sinks=4, window=1), ArgumentTypeError, "length: expected an integer"),
    ],
)
def test_sizes_that_do_not_fit_are_refused_in_words(call, error, words):
    if error is None:
        call()
        return
    with pytest.raises(error, match=words):
        call()


@given(length=st.integers(0, 20), spare=st.integers(0, 200), seed=st.integers(0, 5))
def test_randomised_positions_rise_and_stay_in_range(length, spare, seed):
    drawn = indices.randomised(length, length + spare, generator=seed, batch=3)
    assert drawn.shape == (3, length)
    assert drawn.dtype is torch.int64
    assert (drawn.diff(dim=-1) > 0).all()
    assert ((drawn >= 0) & (drawn < length + spare)).all()
    assert torch.equal(drawn, indices.randomised(length, length + spare, generator=seed, batch=3))


def test_a_generator_moves_on_and_rows_are_drawn_apart():
    generator = torch.Generator().manual_seed(7)
    first, second = (indices.randomised(16, 2048, generator=generator) for _ in range(2))
    assert not torch.equal(first, second)
    rows = indices.randomised(16, 2048, generator=7, batch=2)
    assert torch.equal(rows[0], first)
    assert not torch.equal(rows[0], rows[1])
    assert indices.randomised(4, 9, generator=0, batch=0).shape == (0, 4)


def test_every_position_is_drawn_equally_often():
    counts = indices.randomised(8, 32, generator=3, batch=4000).flatten().bincount(minlength=32)
    expected = 4000 * 8 / 32
    assert ((counts - expected).abs() < 5 * (expected * 0.75) ** 0.5).all()  # five standard deviations


@given(length=st.integers(1, 40), sinks=st.integers(0, 6), window=st.integers(1, 8))
def test_a_streaming_cache_holds_sinks_and_the_newest_without_a_gap_in_places(length, sinks, window):
    held, places = indices.in_cache(length, sinks=sinks, window=window)
    expected = [token for token in range(length) if token < sinks or token >= length - window]
    assert held.tolist() == expected
    assert places.tolist() == list(range(len(expected)))
