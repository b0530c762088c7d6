"""What `torch.compile` makes of a subject: lengths after the second must bring no new graph, and give the same numbers.

Torch may first take a length as a constant, then as a symbol; from then on one graph has to serve every length.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from ordinate.verify.adapters.native import Native
from ordinate.verify.limits import Overtime, limited
from ordinate.verify.seen import Compared, Fact, Seen, unsupported

__all__ = ["one_compilation"]

SECONDS = 6.0
LENGTHS = (9, 10, 23, 40)


def one_compilation(native: Native, at: Callable[[int], Sequence[Compared]]) -> Seen:
    """Compile what `native` calls, and count graphs over four lengths.

    Args:
        native: the subject, which from here on calls its compiled self.
        at: what the compiled subject gives at a length, beside what it should.
    """
    graphs: list[object] = []

    def counting(graph: Any, example_inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    import torch._dynamo  # its first import takes a second, which is not the subject's

    torch._dynamo.reset()
    compiled = [torch.compile(target, backend=counting, dynamic=True) for target in native.targets]
    native.call = lambda arguments, named, which=0: compiled[which](*arguments, **named)  # type: ignore[method-assign]
    counts: list[int] = []
    compared: list[Compared] = []

    def at_lengths() -> None:
        for length in LENGTHS:
            compared.extend(at(length))
            counts.append(len(graphs))
            if len(counts) > 2 and counts[-1] > counts[1]:
                return  # seen; each further graph would take seconds

    trace = logging.getLogger("torch.__trace")
    handlers, trace.handlers = trace.handlers, []  # where logs are caught, as under pytest, torch's trace of itself floods them
    try:
        limited(at_lengths, SECONDS)
    except Overtime:
        told = f"after {SECONDS:g} s of compiling, with {len(graphs)} graphs for {len(counts)} lengths, it was stopped"
        raise unsupported(told) from None
    finally:
        trace.handlers = handlers
        torch._dynamo.reset()
    again = counts[-1] - counts[1]
    words = f"{counts[1]} graphs for two lengths and {again} more for another"
    return Seen(compared, [Fact(again == 0, f"it recompiles: {words}")], note=f"{words}, same numbers")
