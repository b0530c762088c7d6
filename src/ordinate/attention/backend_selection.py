"""Which implementation `attend` takes under "auto", and why: the one place where it is decided, and where it can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch

from ordinate.arguments import check_choice
from ordinate.attention.encodings import Encoding
from ordinate.attention.transforms import kernel_obstacle
from ordinate.errors import RefusedError
from ordinate.position.protocols import adds_to_values, biases_scores, computes_scores

__all__ = ["Choice", "Implementation", "NamedImplementation", "choose"]

NamedImplementation = Literal["reference", "sdpa", "blocked", "flex"]
Implementation = Literal["auto", "reference", "sdpa", "blocked", "flex"]


@dataclass(frozen=True)
class Choice:
    """An implementation of attention and, in a sentence, the reason for it.

    >>> choose().impl
    'sdpa'
    """

    impl: NamedImplementation
    reason: str


def choose(
    encoding: Encoding | Sequence[Encoding] | None = None,
    *,
    dtype: torch.dtype = torch.float32,
    impl: Implementation = "auto",
    return_weights: bool = False,
) -> Choice:
    """The implementation that `attend` takes for such a call.

    Args:
        encoding: as for `attend`.
        dtype: of query, key and value.
        impl: as for `attend`; a name is taken as it is or refused, never replaced.
        return_weights: as for `attend`.

    Raises:
        ArgumentError: an unknown name.
        RefusedError: a named implementation that cannot do it.

    >>> from ordinate.position import ALiBi, Rotary
    >>> choose(Rotary(64, layout="half")).impl, choose(ALiBi(8), dtype=torch.bfloat16).impl
    ('sdpa', 'reference')
    >>> choose(ALiBi(8), dtype=torch.bfloat16).reason
    'the bias would be rounded to torch.bfloat16 by the kernel'
    """
    encodings = () if encoding is None else tuple(encoding) if isinstance(encoding, list | tuple) else (encoding,)
    adding = next((type(one).__name__ for one in encodings if adds_to_values(one)), None)
    scoring = next((type(one).__name__ for one in encodings if computes_scores(one)), None)
    obstacle = kernel_obstacle()
    if impl != "auto":
        check_choice("impl", impl, get_args(Implementation))
        if impl != "reference" and (return_weights or adding or (scoring and impl == "sdpa")):
            raise RefusedError("impl", expected="an implementation that forms weights", got=impl, hint="take impl='reference'")
        if impl == "sdpa" and obstacle in ("jvp", "a second derivative"):
            raise RefusedError(
                "impl", expected=f"an implementation that carries {obstacle}", got=impl, hint="take impl='reference'"
            )
        return Choice(impl, "it was named")
    if return_weights:
        return Choice("reference", "weights were asked for")
    if adding:
        return Choice("reference", f"{adding} adds to values, by weights")
    if scoring:
        return Choice("reference", f"{scoring} computes the scores")
    if dtype in (torch.float16, torch.bfloat16) and any(biases_scores(one) for one in encodings):
        return Choice("reference", f"the bias would be rounded to {dtype} by the kernel")
    if obstacle is not None:
        return Choice("reference", f"the kernel does not carry {obstacle}")
    return Choice("sdpa", "torch's kernel does all of it")
