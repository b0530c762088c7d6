"""What may happen to a torch module on its way: casts, an empty device, a checkpoint, a copy. The same for every kind."""

from __future__ import annotations

import copy

import torch
from torch import nn

from ordinate.verify.adapters.native import Native
from ordinate.verify.seen import Fact, unsupported

__all__ = ["cast_and_back", "copied", "emptied", "exact_in_half", "holds_tensors", "module_of", "state_fact"]


def _copy_of(native: Native) -> tuple[Native, nn.Module]:
    """A copy, and the module that it is."""
    module_of(native)
    fresh = native.fresh()
    return fresh, module_of(fresh)


def module_of(native: Native) -> nn.Module:
    """The module, or the reason why there is none to ask."""
    if native.module is None:
        raise unsupported("it is no torch module")
    return native.module


def cast_and_back(native: Native) -> Native:
    """A copy after `.bfloat16()` and `.float()`."""
    fresh, module = _copy_of(native)
    return fresh.with_owner(module.bfloat16().float())


def exact_in_half(native: Native) -> Native:
    """A copy whose parameters are whole numbers of bfloat16, so that a cast of them alone may lose nothing."""
    fresh, module = _copy_of(native)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(parameter.bfloat16().to(parameter.dtype))
    return fresh


def emptied(native: Native) -> Native:
    """A copy that went through the meta device: what its state dict does not hold is NaN, as it would be anything."""
    state = {name: tensor.clone() for name, tensor in module_of(native).state_dict().items()}
    fresh, module = _copy_of(native)
    empty = module.to("meta").to_empty(device="cpu")
    for tensor in (*empty.parameters(), *empty.buffers()):
        if tensor.is_floating_point():
            tensor.data.fill_(float("nan"))
    empty.load_state_dict(state)
    return fresh.with_owner(empty)


def state_fact(native: Native) -> Fact:
    """Whether the state dict holds parameters alone."""
    module = module_of(native)
    learned = {name for name, _ in module.named_parameters()}
    extra = sorted(name for name in module.state_dict() if name not in learned)
    if extra:
        return Fact(False, f"the state dict holds {', '.join(extra)}, which settings say already")
    return Fact(True, "the state dict holds no table")


def copied(native: Native) -> Native:
    """A deep copy, which must not share state."""
    if not native.copies:
        raise unsupported("a function has no state to copy")
    return native.with_owner(copy.deepcopy(native.owner))


def holds_tensors(module: nn.Module) -> bool:
    """Whether a cast could change anything."""
    return any(torch.is_floating_point(tensor) for tensor in (*module.parameters(), *module.buffers()))
