"""A long row split over processes: each holds some of its queries, and keys and values come together layer by layer.

Encodings and masks look at positions, so a shard needs nothing but its own (`indices.shard`, plain or zig-zag), and the keys'
gathered in the same order. The communication is PyTorch's: an all-gather of keys and values that carries gradients back, as its
own context parallelism does for FlexAttention and Llama 3 did in training (Llama team 2024, arXiv 2407.21783, section 3.3.2).

PyTorch's `torch.distributed.tensor.experimental.context_parallel` passes a ring through the CUDA kernels of
`scaled_dot_product_attention` and masks by index. It has none for a CPU (torch 2.13 says that the operator
`_scaled_dot_product_flash_attention_for_cpu` "does not have a sharding strategy registered"). This way works on both, for
packed rows too, at the price of all keys of one layer in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
import torch.distributed
from torch import Tensor

from ordinate.errors import RefusedError

__all__ = ["Group", "gather_over"]

Group: TypeAlias = "torch.distributed.ProcessGroup"


def gather_over(group: Group) -> Callable[[Tensor, int], Tensor]:
    """What joins a tensor with those of the other processes of `group`, by rank, along an axis: (tensor, axis) -> tensor.

    Every process must hold as many tokens. The gradient of a process's tensor is summed over what all make of it, so a loss
    that each process takes over its own tokens adds up: parameters' gradients are then summed over the group, as with data
    parallelism.

    Raises:
        RefusedError: torch.distributed is not initialised.
    """
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        raise RefusedError(
            "group",
            expected="a process group of torch.distributed",
            got="no processes: it is not initialised",
            hint="call torch.distributed.init_process_group, and start the program with torchrun",
        )
    import torch.distributed._functional_collectives as collectives  # slow to import, and few need it

    if hasattr(collectives, "all_gather_single"):  # torch 2.13 renamed it, and gave it gradients
        plain = carrying = collectives.all_gather_single
    else:
        plain, carrying = collectives.all_gather_tensor, collectives.all_gather_tensor_autograd

    def gather(tensor: Tensor, axis: int) -> Tensor:
        sent = tensor.to(torch.uint8) if tensor.dtype is torch.bool else tensor
        all_gather = carrying if sent.is_floating_point() else plain
        joined = collectives.wait_tensor(all_gather(sent.movedim(axis, 0).contiguous(), 0, group))
        return joined.movedim(0, axis).to(tensor.dtype)

    return gather
