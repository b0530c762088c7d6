"""What the properties of several kinds share: probes, what may happen to a module on its way, and compilation."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.verify.adapters.calling import Callee
from ordinate.verify.limits import TimeLimitExceeded, with_time_limit
from ordinate.verify.observation import Comparison, Fact, Observation, Property, Unsupported

__all__ = [
    "bfloat16_and_back",
    "compile_property",
    "copied",
    "emptied",
    "exact_in_half",
    "holds_tensors",
    "left_padded",
    "module_of",
    "module_properties",
    "only_torch",
    "state_dict_property",
]


def only_torch(subject: Any) -> None:
    """Raises where gradients and compilation are not torch's."""
    if subject.callee.arrays != "torch":
        raise Unsupported("it is no torch code, so gradients and compilation are not looked at")


def left_padded(length: int = 9, padding: int = 4) -> tuple[Tensor, Tensor]:
    """A mask [2, T] whose second row begins with padding, and the positions [2, T] that count real tokens from 0."""
    mask = torch.ones(2, length, dtype=torch.long)
    mask[1, :padding] = 0
    return mask, (mask.cumsum(-1) - 1).clamp_min(0)


# what may happen to a torch module: casts, an empty device, a checkpoint, a copy --------------------------------------------


def module_of(callee: Callee) -> nn.Module:
    """The module, or the reason why there is none to ask."""
    if callee.module is None:
        raise Unsupported("it is no torch module")
    return callee.module


def _copy_of(callee: Callee) -> tuple[Callee, nn.Module]:
    module_of(callee)
    fresh = callee.fresh()
    return fresh, module_of(fresh)


def bfloat16_and_back(callee: Callee) -> Callee:
    """A copy after `.bfloat16()` and `.float()`."""
    fresh, module = _copy_of(callee)
    return fresh.with_owner(module.bfloat16().float())


def exact_in_half(callee: Callee) -> Callee:
    """A copy whose parameters are whole numbers of bfloat16, so that a cast of them alone may lose nothing."""
    fresh, module = _copy_of(callee)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(parameter.bfloat16().to(parameter.dtype))
    return fresh


def emptied(callee: Callee) -> Callee:
    """A copy that went through the meta device: what its state dict does not hold is NaN, as it would be anything."""
    state = {name: tensor.clone() for name, tensor in module_of(callee).state_dict().items()}
    fresh, module = _copy_of(callee)
    empty = module.to("meta").to_empty(device=callee.device)
    for tensor in (*empty.parameters(), *empty.buffers()):
        if tensor.is_floating_point():
            tensor.data.fill_(float("nan"))
    empty.load_state_dict(state)
    return fresh.with_owner(empty)


def copied(callee: Callee) -> Callee:
    """A deep copy, which must not share state."""
    if not callee.copies:
        raise Unsupported("a function has no state to copy")
    return callee.with_owner(copy.deepcopy(callee.owner))


def holds_tensors(module: nn.Module) -> bool:
    """Whether a cast could change anything."""
    return any(torch.is_floating_point(tensor) for tensor in (*module.parameters(), *module.buffers()))


def _state_dict(subject: Any, case: Any) -> Observation:
    module = module_of(subject.callee)
    learned = {name for name, _ in module.named_parameters()}
    extra = sorted(name for name in module.state_dict() if name not in learned)
    says = f"the state dict holds {', '.join(extra)}, which settings say already" if extra else "the state dict holds no table"
    return Observation(facts=[Fact(not extra, says)])


state_dict_property = Property("state-dict", "The state dict holds what is learned and no table", _state_dict, storage=True)


def module_properties(what: str, beside: Callable[[Any, Any, Any, str], Observation], spoils: str) -> tuple[Property, ...]:
    """Cast, meta device, state dict and copy, for subjects whose result must stay the same.

    Args:
        what: the result's name.
        beside: (subject before, subject after, case, what) -> both results beside each other.
        spoils: what a cast must not spoil.
    """

    def cast(subject: Any, case: Any) -> Observation:
        exact = exact_in_half(subject.callee)
        after = subject.calling(bfloat16_and_back(exact))
        return beside(subject.calling(exact), after, case, f"{what} after module.bfloat16().float()")

    def meta(subject: Any, case: Any) -> Observation:
        after = subject.calling(emptied(subject.callee))
        return beside(subject.fresh(), after, case, f"{what} after to('meta'), to_empty and load_state_dict")

    def same(subject: Any, case: Any) -> Observation:
        return beside(subject.fresh(), subject.calling(copied(subject.callee)), case, f"{what} of a copy")

    return (
        Property("module-cast", f"A cast of the module and back spoils {spoils}", cast, storage=True),
        Property("meta-device", "Built on the meta device and loaded, it is the same", meta, storage=True),
        state_dict_property,
        Property("copies", "A copy gives the same", same),
    )


# compilation ------------------------------------------------------------------------------------------------------------

COMPILE_SECONDS = 6.0
LENGTHS = (9, 10, 23, 40)


def compile_property(at_length: Callable[[Any, Any, Any, int], Comparison]) -> Property:
    """One compilation serves every length, in the same numbers.

    Torch may first take a length as a constant, then as a symbol; from then on one graph has to serve every length.

    Args:
        at_length: (subject, compiled subject, case, length) -> the result of the compiled one beside the other's.
    """

    def observe(subject: Any, case: Any) -> Observation:
        only_torch(subject)
        callee = subject.callee.fresh()
        running = subject.calling(callee)
        return _one_compilation(callee, lambda length: at_length(subject, running, case, length))

    return Property("compile", "One compilation serves every length", observe, cheap=False)


def _one_compilation(callee: Callee, at: Callable[[int], Comparison]) -> Observation:
    """Compile what `callee` calls, and count graphs over four lengths."""
    graphs: list[object] = []

    def counting(graph: Any, example_inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    import torch._dynamo  # its first import takes a second, which is not the subject's

    torch._dynamo.reset()
    compiled = [torch.compile(target, backend=counting, dynamic=True) for target in callee.targets]
    callee.call = lambda arguments, named, which=0: compiled[which](*arguments, **named)  # type: ignore[method-assign]
    counts: list[int] = []
    comparisons: list[Comparison] = []

    def at_lengths() -> None:
        for length in LENGTHS:
            comparisons.append(at(length))
            counts.append(len(graphs))
            if len(counts) > 2 and counts[-1] > counts[1]:
                return  # seen; each further graph would take seconds

    trace = logging.getLogger("torch.__trace")
    handlers, trace.handlers = trace.handlers, []  # where logs are caught, as under pytest, torch's trace of itself floods them
    try:
        with_time_limit(at_lengths, COMPILE_SECONDS)
    except TimeLimitExceeded:
        says = f"after {COMPILE_SECONDS:g} s of compiling, with {len(graphs)} graphs for {len(counts)} lengths, it was stopped"
        raise Unsupported(says) from None
    finally:
        trace.handlers = handlers
        torch._dynamo.reset()
    again = counts[-1] - counts[1]
    says = f"{counts[1]} graphs for two lengths and {again} more for another"
    return Observation(comparisons, [Fact(again == 0, f"it recompiles: {says}")], note=f"{says}, same numbers")
