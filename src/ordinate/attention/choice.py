"""Which implementation `attend` takes under "auto", and why: the one place where it is decided, and where it can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import torch

from ordinate.errors import ArgumentError, RefusedError
from ordinate.position.protocols import adds_to_values, biases_scores, computes_scores

if TYPE_CHECKING:
    from ordinate.attention.attend import Encoding

__all__ = ["Choice", "Implementation", "choose"]

Implementation = Literal["auto", "reference", "sdpa", "blocked", "flex"]


@dataclass(frozen=True)
class Choice:
    """An implementation and the reason for it, in words."""

    impl: Literal["reference", "sdpa", "blocked", "flex"]
    reason: str


def choose(
    encoding: Encoding | Sequence[Encoding] | None = None,
    *,
    dtype: torch.dtype = torch.float32,
    impl: Implementation = "auto",
    return_weights: bool = False,
) -> Choice:
    """What `attend` will take for such a call.

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
    given = () if encoding is None else tuple(encoding) if isinstance(encoding, list | tuple) else (encoding,)
    if impl not in get_args(Implementation):
        raise ArgumentError(
            "impl", expected=f"one of {list(get_args(Implementation))}", got=impl, hint="leave it out for 'auto'"
        )
    needs_weights = [one for one in given if adds_to_values(one)]
    scoring = [one for one in given if computes_scores(one)]
    if impl != "auto":
        forms_weights = impl == "reference"
        if not forms_weights and (return_weights or needs_weights or (scoring and impl == "sdpa")):
            raise RefusedError("impl", expected="an implementation that forms weights", got=impl, hint="take impl='reference'")
        return Choice(impl, "it was named")
    if return_weights:
        return Choice("reference", "weights were asked for")
    if needs_weights:
        return Choice("reference", f"{type(needs_weights[0]).__name__} adds to values, by weights")
    if scoring:
        return Choice("reference", f"{type(scoring[0]).__name__} computes the scores")
    if dtype in (torch.float16, torch.bfloat16) and any(biases_scores(one) for one in given):
        return Choice("reference", f"the bias would be rounded to {dtype} by the kernel")
    return Choice("sdpa", "torch's kernel does all of it")
