import sys

import pytest
import torch

from ordinate.huge_pages import LARGE_PAGE_BYTES, _madvise, empty_on_large_pages, in_large_pages


@pytest.mark.parametrize("elements", [0, 1, LARGE_PAGE_BYTES // 4 - 1, LARGE_PAGE_BYTES // 4, 3_000_001])
def test_the_hint_changes_neither_values_nor_place(elements):
    fresh = torch.arange(float(elements))
    place = fresh.data_ptr()
    assert in_large_pages(fresh) is fresh
    assert fresh.data_ptr() == place
    assert torch.equal(fresh, torch.arange(float(elements)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.uint8])
@pytest.mark.parametrize("shape", [(0, 3), (2, 3), (1000, 2097), (1, LARGE_PAGE_BYTES)])
def test_a_new_tensor_is_contiguous_and_keeps_what_is_written(shape, dtype):
    fresh = empty_on_large_pages(torch.empty(0, dtype=dtype), *shape)
    assert fresh.shape == shape
    assert fresh.dtype == dtype
    assert fresh.is_contiguous()
    fresh.fill_(3)
    assert bool((fresh == 3).all())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="large pages are asked for on Linux")
def test_a_large_new_tensor_starts_on_a_large_page():
    assert empty_on_large_pages(torch.empty(0), 1000, 2097).data_ptr() % LARGE_PAGE_BYTES == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the hint is of Linux")
def test_the_kernel_takes_the_hint():
    advise = _madvise()
    fresh = torch.empty(LARGE_PAGE_BYTES)
    start = fresh.data_ptr() // 4096 * 4096
    assert advise is not None
    assert advise(start, LARGE_PAGE_BYTES, 14) in (0, -1)  # -1: a kernel built without large pages


def test_other_systems_go_without(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    _madvise.cache_clear()
    try:
        assert _madvise() is None
        assert in_large_pages(torch.ones(LARGE_PAGE_BYTES)).sum() == LARGE_PAGE_BYTES
    finally:
        _madvise.cache_clear()
