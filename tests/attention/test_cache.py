"""A cache against plain lists of tokens: whatever goes in, a query sees what a list would have kept."""

import math
import os

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from ordinate.attention import KVCache
from ordinate.errors import (
    ArgumentError,
    ArgumentTypeError,
    DataError,
    MissingDataError,
    OutputError,
    RefusedError,
    ShapeError,
)
from ordinate.position import indices

HEADS, DIM = 2, 4


def tokens(numbers):
    """Keys that carry the token's number, [B, G, T, D], from numbers [B, T]."""
    return torch.as_tensor(numbers, dtype=torch.float32)[:, None, :, None].expand(-1, HEADS, -1, DIM).contiguous()


def put(cache, numbers, positions, token_mask=None):
    return cache.append(tokens(numbers), -tokens(numbers), positions, token_mask=token_mask)


def seen(held, row, query):
    """Numbers and positions that one query sees, in order of position."""
    visible = held.visible
    every = torch.ones(held.keys.shape[2], dtype=torch.bool)
    if visible is not None:
        every = visible[row if visible.shape[0] > 1 else 0, query if visible.shape[1] > 1 else 0]
    numbers, positions = held.keys[row, 0, every, 0], held.positions[row, every]
    assert_close(held.values[row, 1, every, 3], -numbers)
    order = positions.argsort()
    return list(zip(numbers[order].tolist(), positions[order].tolist(), strict=True))


def kept(row, window, sinks):
    """What a list keeps of (number, position) pairs in the order in which they came."""
    if window is None:
        return list(row)
    return row[:sinks] + row[sinks:][-window:]


@settings(deadline=None, max_examples=60)
@given(
    data=st.data(),
    batch=st.integers(1, 3),
    chunks=st.lists(st.integers(1, 6), min_size=1, max_size=7),
    kind=st.sampled_from(["capacity", "growing", "window", "sinks"]),
    padded=st.booleans(),
)
def test_every_query_sees_what_a_list_would_have_kept(data, batch, chunks, kind, padded):
    window, sinks = {"window": (3, 0), "sinks": (3, 2)}.get(kind, (None, 0))
    room = {"window_keys": window, "sink_keys": sinks} if window else {"capacity": sum(chunks) if kind == "capacity" else 2}
    cache = KVCache(batch, HEADS, DIM, growing=kind == "growing", **room)
    rows = [[] for _ in range(batch)]
    number = 0
    for length in chunks:
        real = torch.ones(batch, length, dtype=torch.bool)
        if padded:
            real = torch.tensor(
                data.draw(st.lists(st.lists(st.booleans(), min_size=length, max_size=length), min_size=batch, max_size=batch))
            )
        numbers = torch.arange(number, number + length).expand(batch, length)
        number += length
        before = [row[-1][1] if row else -1 for row in rows]
        steps = torch.tensor(data.draw(st.lists(st.integers(1, 3), min_size=length, max_size=length))).cumsum(0)
        positions = torch.tensor(before).unsqueeze(1) + steps
        held = put(cache, numbers, positions, real if padded else None)
        for row in range(batch):
            for query in range(length):
                if not real[row, query]:
                    continue
                rows[row].append((float(numbers[row, query]), int(positions[row, query])))
                found = [pair for pair in seen(held, row, query) if pair[1] <= positions[row, query]]  # a causal mask does this
                assert found == kept(rows[row], window, sinks)
    assert cache.lengths.tolist() == [len(row) for row in rows]


def test_a_chunk_and_single_steps_leave_the_same_cache():
    whole, singly = KVCache(1, HEADS, DIM, window_keys=4, sink_keys=1), KVCache(1, HEADS, DIM, window_keys=4, sink_keys=1)
    put(whole, [list(range(11))], torch.arange(11))
    for step in range(11):
        put(singly, [[step]], torch.tensor([step]))
    one, other = whole.contents(), singly.contents()
    assert_close(one.keys, other.keys)
    assert torch.equal(one.positions, other.positions)
    assert one.positions.sort().values.tolist() == [[0, 7, 8, 9, 10]]


class Counting(TorchDispatchMode):
    """Numbers that operations write; views write none."""

    def __init__(self):
        super().__init__()
        self.written = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and not function.is_view:
            self.written += result.numel()
        return result


@pytest.mark.parametrize("room", [{"capacity": 5000}, {"window_keys": 3000}])
def test_an_append_costs_the_new_token_whatever_the_cache_holds(room):
    cache = KVCache(2, HEADS, DIM, **room)
    put(cache, torch.zeros(2, 10), torch.arange(10))
    written = []
    for start in (10, 4000):
        if start > 10:
            put(cache, torch.zeros(2, start - 11), torch.arange(11, start))
        with Counting() as counting:
            put(cache, torch.zeros(2, 1), torch.tensor([start]))
        written.append(counting.written)
    assert written[0] == written[1] < 100


def test_an_append_moves_nothing_that_is_there():
    cache = KVCache(1, HEADS, DIM, capacity=64)
    places = {put(cache, [[step]], torch.tensor([step])).keys.data_ptr() for step in range(64)}
    assert len(places) == 1


def test_growth_doubles_so_that_copies_are_few():
    cache, places = KVCache(1, HEADS, DIM, capacity=2, growing=True), []
    for step in range(100):
        put(cache, [[step]], torch.tensor([step]))
        places.append(cache.capacity)
    assert sorted(set(places)) == [2, 4, 8, 16, 32, 64, 128]


def test_a_full_cache_says_so_and_keeps_what_it_holds():
    cache = KVCache(1, HEADS, DIM, capacity=4)
    put(cache, [[0, 1, 2]], torch.arange(3))
    with pytest.raises(ArgumentError, match="cache: expected at most 4 tokens a row, got 5, of which 3 were there"):
        put(cache, [[3, 4]], torch.tensor([3, 4]))
    assert cache.lengths.tolist() == [3]
    held = put(cache, [[3]], torch.tensor([3]))
    assert held.keys[0, 0, :, 0].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("new", "row"), [([[3, 2]], 0), ([[5, 5]], 0), ([[2, 3]], 0), ([[1, 2]], 0), ([[3, 4], [2, 3]], 1), ([[3, 4], [4, 4]], 1)]
)
def test_positions_that_go_backwards_or_stand_still_are_refused(new, row):
    cache = KVCache(len(new), HEADS, DIM, capacity=9)
    put(cache, torch.zeros(len(new), 3), torch.arange(3))
    with pytest.raises(ArgumentError, match=rf"positions that rise.* in row {row} .*last one in the cache: 2"):
        put(cache, torch.zeros(len(new), 2), torch.tensor(new))
    put(cache, torch.zeros(len(new), 2), torch.tensor([3, 9]))  # nothing was harmed


def test_positions_of_padding_are_not_looked_at():
    cache = KVCache(2, HEADS, DIM, capacity=9)
    mask = torch.tensor([[0, 0, 1], [1, 1, 1]])
    held = put(cache, [[7, 7, 1], [1, 2, 3]], indices.from_mask(mask), mask)
    assert seen(held, 0, 2) == [(1.0, 0)]
    with pytest.raises(ArgumentError, match="in row 1"):
        put(cache, [[1, 2], [1, 2]], torch.tensor([[1, 2], [3, 3]]), torch.ones(2, 2))


def test_positions_with_axes_rise_in_reading_order():
    cache = KVCache(1, HEADS, DIM, capacity=9, axes=3)
    put(cache, torch.zeros(1, 6), indices.multimodal([1, (1, 2, 2), 1]))
    assert cache.following(2).tolist() == [[[4, 4, 4], [5, 5, 5]]]
    with pytest.raises(ArgumentError, match="positions that rise"):
        put(cache, torch.zeros(1, 1), torch.tensor([[3, 3, 3]]))


def test_time_may_be_continuous_but_not_half_of_it():
    cache = KVCache(1, HEADS, DIM, capacity=9)
    held = put(cache, [[0, 1]], torch.tensor([0.25, 1.5]))
    assert held.positions.tolist() == [[0.25, 1.5]]
    with pytest.raises(ArgumentTypeError, match="count tokens or measure time throughout"):
        put(cache, [[2]], torch.tensor([2]))


def test_following_positions_count_on_from_each_row():
    cache = KVCache(2, HEADS, DIM, capacity=9)
    assert cache.following(2).tolist() == [[0, 1], [0, 1]]
    mask = torch.tensor([[0, 1, 1], [1, 1, 1]])
    put(cache, torch.zeros(2, 3), indices.from_mask(mask), mask)
    assert cache.following(2).tolist() == [[2, 3], [3, 4]]


def test_reset_forgets_tokens_and_keeps_the_room():
    cache = KVCache(1, HEADS, DIM, capacity=4)
    put(cache, [[1, 2, 3]], torch.arange(3))
    place = cache.contents().keys.data_ptr()
    cache.reset()
    assert (cache.num_cached, cache.capacity, cache.following(1).tolist()) == (0, 4, [[0]])
    held = put(cache, [[8]], torch.tensor([0]))
    assert held.keys.data_ptr() == place
    assert held.keys[..., 0].unique().tolist() == [8.0]


def test_select_reorders_repeats_and_drops_rows():
    cache = KVCache(3, HEADS, DIM, capacity=8)
    mask = torch.tensor([[1, 0], [1, 1], [1, 1]])
    put(cache, [[10, 0], [20, 21], [30, 31]], torch.arange(2), mask)
    cache.select(torch.tensor([2, 0, 0, 1]))
    assert (cache.batch, cache.lengths.tolist()) == (4, [2, 1, 1, 2])
    held = put(cache, [[1], [2], [3], [4]], cache.following(1))
    rows = [[number for number, _ in seen(held, row, 0)] for row in range(4)]
    assert rows == [[30, 31, 1], [10, 2], [10, 3], [20, 21, 4]]


@pytest.mark.parametrize("room", [{"capacity": 9}, {"window_keys": 3, "sink_keys": 1}, {"capacity": 2, "growing": True}])
def test_a_saved_cache_goes_on_as_if_nothing_had_happened(room, tmp_path):
    cache = KVCache(2, HEADS, DIM, num_layers=1, **room)
    mask = torch.tensor([[0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]])
    put(cache, torch.arange(12).view(2, 6), indices.from_mask(mask), mask)
    cache.save(tmp_path / "cache.safetensors")
    again = KVCache.load(tmp_path / "cache.safetensors")
    assert repr(again) == repr(cache)
    for step in range(2):
        one, other = (put(each, [[step], [step]], each.following(1)) for each in (cache, again))
        assert [seen(one, row, 0) for row in range(2)] == [seen(other, row, 0) for row in range(2)]


def test_a_cache_moves_between_dtypes_but_its_positions_do_not():
    cache = KVCache(1, HEADS, DIM, capacity=300)
    put(cache, torch.zeros(1, 258), torch.arange(258))
    assert cache.to(dtype=torch.bfloat16) is cache
    assert (cache.dtype, cache.contents().positions[0, -1].item()) == (torch.bfloat16, 257)


def test_a_cache_made_while_generating_can_be_used_after():
    with torch.inference_mode():
        cache = KVCache(1, HEADS, DIM, capacity=4)
        put(cache, [[1]], torch.tensor([0]))
        cache.select(torch.tensor([0]))
    put(cache, [[2]], torch.tensor([1]))
    assert cache.num_cached == 2


def test_a_window_that_an_error_caught_half_written_refuses_to_go_on():
    cache = KVCache(1, HEADS, DIM, window_keys=2, num_layers=2)
    chunk = cache.open(torch.arange(3))
    for layer in range(2):
        cache.write(layer, chunk, tokens([[0, 1, 2]]), tokens([[0, 1, 2]]))
    cache.close(chunk)
    cache.open(torch.tensor([3]))  # and here something raises
    with pytest.raises(RefusedError, match="interrupted after tokens had been overwritten"):
        cache.open(torch.tensor([3]))
    cache.reset()
    cache.open(torch.tensor([0]))


ONE = KVCache(2, HEADS, DIM, capacity=4)
NEW = torch.zeros(2, HEADS, 1, DIM)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: KVCache(0, 1, 8, capacity=4), ArgumentError, "batch: expected an integer of at least 1"),
        (lambda: KVCache(1, 1, 8), ArgumentError, "either capacity or window_keys"),
        (lambda: KVCache(1, 1, 8, capacity=4, window_keys=4), ArgumentError, "either capacity or window_keys"),
        (lambda: KVCache(1, 1, 8, capacity=4, sink_keys=1), ArgumentError, "sink_keys"),
        (lambda: KVCache(1, 1, 8, window_keys=4, growing=True), ArgumentError, "a window does not grow"),
        (lambda: ONE.append(NEW[:1], NEW[:1], torch.arange(1)), ShapeError, "make one for this batch and model"),
        (lambda: ONE.append(NEW[:, :1], NEW, torch.arange(1)), ShapeError, r"key: .* G=2"),
        (lambda: ONE.append(NEW, NEW[..., :3], torch.arange(1)), ShapeError, r"value: .* D=4"),
        (lambda: ONE.append(NEW.double(), NEW, torch.arange(1)), ArgumentTypeError, "key: expected the cache's torch.float32"),
        (lambda: ONE.append(NEW, NEW.to("meta"), torch.arange(1)), ArgumentTypeError, "value: .* on cpu, got .* on meta"),
        (lambda: ONE.append(NEW, NEW, torch.zeros(3, 1)), ShapeError, "with B=2, got shape"),
        (lambda: ONE.append(NEW.clone().requires_grad_(), NEW, torch.arange(1)), RefusedError, "inference_mode"),
        (lambda: ONE.select(torch.tensor([0, 2])), ArgumentError, "rows from 0 to 1"),
        (lambda: ONE.select(torch.tensor([0.0])), ArgumentTypeError, "rows: expected integers"),
        (lambda: ONE.contents(), ArgumentError, "at least one token in every row"),
        (lambda: KVCache(1, 1, 8, capacity=4, num_layers=2).append(NEW, NEW, torch.arange(1)), RefusedError, "of one layer"),
        (lambda: KVCache.load("nowhere.safetensors"), MissingDataError, "nowhere"),
        (lambda: ONE.save(os.path.join(__file__, "file")), OutputError, "a part of the path is a file"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_truncated_or_foreign_file_is_an_error(tmp_path):
    cache = KVCache(1, HEADS, DIM, capacity=4)
    put(cache, [[1, 2]], torch.arange(2))
    cache.save(tmp_path / "whole")
    data = (tmp_path / "whole").read_bytes()
    (tmp_path / "cut").write_bytes(data[:-7])
    with pytest.raises(DataError, match="cut: expected a complete safetensors file"):
        KVCache.load(tmp_path / "cut")
    from safetensors.torch import save_file

    save_file({"weight": torch.zeros(3)}, tmp_path / "model")
    with pytest.raises(DataError, match="model: expected a file that KVCache"):
        KVCache.load(tmp_path / "model")


@pytest.mark.parametrize("positions", [[math.nan], [0.0, math.nan], [math.inf]])
def test_positions_that_are_no_numbers_never_get_in(positions):
    cache = KVCache(1, HEADS, DIM, capacity=4)
    new = torch.zeros(1, HEADS, len(positions), DIM)
    with pytest.raises(ArgumentError, match="positions: expected finite positions"):
        cache.append(new, new, torch.tensor(positions))
    assert cache.num_cached == 0
