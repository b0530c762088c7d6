import threading

import pytest
import torch
from torch.testing import assert_close

from ordinate.position import blocked_rotation
from ordinate.position.blocked_rotation import rotate_blocks
from ordinate.position.rotation import reference_rotation

LAYOUTS = ["half", "interleaved"]


def case(shape=(2, 4, 500, 16), dtype=torch.float32):
    x = torch.randn(shape).to(dtype)
    return x, *torch.randn(2, shape[2], shape[3] // 2)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocked_rotation, "_BLOCK_BYTES", 1024)
    monkeypatch.setattr(blocked_rotation, "_kept", threading.local())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_one_token_of_more_heads_than_a_block_holds(small_blocks, layout, dtype):
    x, cos, sin = case((2, 300, 3, 16), dtype)
    expected = reference_rotation(x, cos, sin, layout)
    assert_close(
        rotate_blocks(x, torch.empty_like(x), cos, sin, layout, 0), expected, rtol=0, atol=0.05 if dtype.itemsize == 2 else 1e-5
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_many_short_rows_share_a_block(small_blocks, layout, monkeypatch):
    x, cos, sin = case((300, 2, 2, 4))
    cut = blocked_rotation._Cut(x.shape, 256)
    assert cut.rows > 1
    assert 300 % cut.rows  # the last block is smaller
    assert_close(rotate_blocks(x, torch.empty_like(x), cos, sin, layout, 0), reference_rotation(x, cos, sin, layout))
    per_row = torch.randn(2, 300, 2, 2)
    assert_close(rotate_blocks(x, torch.empty_like(x), *per_row, layout, 0), reference_rotation(x, *per_row, layout))


def test_working_memory_is_kept_by_the_thread_and_not_shared():
    x, cos, sin = case()
    rotate_blocks(x, torch.empty_like(x), cos, sin, "half", 0)
    mine = blocked_rotation._kept.scratch
    rotate_blocks(x, torch.empty_like(x), cos, sin, "half", 0)
    assert blocked_rotation._kept.scratch is mine
    seen = []

    def elsewhere():
        found = rotate_blocks(x, torch.empty_like(x), cos, sin, "half", 0)
        seen.append((found, blocked_rotation._kept.scratch is mine))

    threads = [threading.Thread(target=elsewhere) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = reference_rotation(x, cos, sin, "half")
    for found, shared in seen:
        assert_close(found, expected)
        assert not shared


def test_a_call_within_a_call_has_working_memory_of_its_own():
    with blocked_rotation._scratch(torch.float32) as (outer, _), blocked_rotation._scratch(torch.float32) as (inner, _):
        assert outer.data_ptr() != inner.data_ptr()


def test_a_failure_gives_the_working_memory_back():
    x, cos, sin = case()
    rotate_blocks(x, torch.empty_like(x), cos, sin, "half", 0)
    mine = blocked_rotation._kept.scratch
    with pytest.raises(RuntimeError):
        rotate_blocks(x, torch.empty_like(x), cos, sin[:, :3], "half", 0)
    assert blocked_rotation._kept.scratch is mine
