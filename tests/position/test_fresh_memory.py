import sys

import pytest
import torch

from ordinate.position.fresh_memory import LARGE_PAGE_BYTES, _madvise, in_large_pages


@pytest.mark.parametrize("elements", [0, 1, LARGE_PAGE_BYTES // 4 - 1, LARGE_PAGE_BYTES // 4, 3_000_001])
def test_the_hint_changes_neither_values_nor_place(elements):
    fresh = torch.arange(float(elements))
    place = fresh.data_ptr()
    assert in_large_pages(fresh) is fresh
    assert fresh.data_ptr() == place
    assert torch.equal(fresh, torch.arange(float(elements)))


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
