"""Memory for a large result, asked for in a way that the kernel can hand over quickly.

A block of many MiB is mostly new to the process each time it is allocated, and Linux then clears it in pages of 4 KiB, one
interruption each: that costs several times the arithmetic that fills it. A hint (`madvise`, Linux 2.6.38) lets it use pages of
2 MiB. The hint changes no value and no size; where it is not understood, nothing happens.
"""

from __future__ import annotations

import ctypes
import functools
import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["empty_on_large_pages", "in_large_pages"]

LARGE_PAGE_BYTES = 2 << 20
_PAGE_BYTES = 4096
_MADV_HUGEPAGE = 14


def in_large_pages(fresh: Tensor) -> Tensor:
    """`fresh` itself, a tensor not yet written to, its pages to be handed over 2 MiB at a time where the system can.

    >>> import torch
    >>> in_large_pages(torch.empty(2, 3)).shape
    torch.Size([2, 3])
    """
    size = fresh.numel() * fresh.element_size()
    if size >= LARGE_PAGE_BYTES and fresh.device.type == "cpu" and (advise := _madvise()) is not None:
        start = fresh.data_ptr() // _PAGE_BYTES * _PAGE_BYTES
        end = -(-(fresh.data_ptr() + size) // _PAGE_BYTES) * _PAGE_BYTES
        advise(start, end - start, _MADV_HUGEPAGE)  # a refusal is no harm: pages stay small
    return fresh


def empty_on_large_pages(like: Tensor, *shape: int) -> Tensor:
    """An uninitialised tensor of the dtype and device of `like`; a large one starts on a large page and has whole ones.

    Of a few MiB, such as a layer's activations, the ends would otherwise be half of it. The address space that is asked for
    beyond is never touched.

    >>> import torch
    >>> empty_on_large_pages(torch.zeros(1), 2, 3).shape
    torch.Size([2, 3])
    """
    count = math.prod(shape)
    if count * like.element_size() < LARGE_PAGE_BYTES or like.device.type != "cpu" or _madvise() is None:
        return like.new_empty(shape)
    a_page = LARGE_PAGE_BYTES // like.element_size()
    whole = -(-count // a_page) * a_page
    space = like.new_empty(whole + a_page)
    start = -space.data_ptr() // like.element_size() % a_page
    return in_large_pages(space[start : start + whole])[:count].view(shape)


@functools.cache
def _madvise() -> Callable[[int, int, int], int] | None:
    """The C library's `madvise`, or None where there is none."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        advise = ctypes.CDLL(None).madvise
    except (OSError, AttributeError):
        return None
    advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return advise
