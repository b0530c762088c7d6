"""Generation: prompts in, the model's continuation out, one token a step with the keys and values of all before in a cache.

Greedy, or drawn after temperature, top-k and top-p, in this order. Sources: Fan et al. 2018, arXiv 1805.04833 (top-k); Holtzman
et al. 2019, arXiv 1904.09751 (top-p).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ordinate.arguments import check_integer
from ordinate.attention.cache import KVCache
from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.shapes import check_shape

__all__ = ["CachedModel", "Sampling", "generate"]


class CachedModel(Protocol):
    """What `generate` needs of a language model; `ordinate.attention.Decoder` is one."""

    def new_cache(self, batch: int, *, capacity: int | None = None) -> KVCache:
        """An empty cache for so many rows and tokens."""
        ...

    def __call__(
        self, input_ids: Tensor, *, token_mask: Tensor | None = None, cache: KVCache | None = None, last_only: bool = False
    ) -> Tensor:
        """Logits [B, T, vocabulary], or [B, 1, vocabulary] with `last_only`; the tokens go into the cache."""
        ...


@dataclass(frozen=True)
class Sampling:
    """How a token is drawn from logits.

    Args:
        temperature: logits are divided by it.
        top_k: only the so many likeliest tokens stay.
        top_p: of those, only the likeliest that together reach this probability; the first always stays.

    Raises:
        ArgumentError: a temperature of zero or less, top_k below 1, top_p outside (0, 1].

    >>> Sampling(temperature=0.7, top_p=0.9)
    Sampling(temperature=0.7, top_k=None, top_p=0.9)
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.temperature, bool) or not isinstance(self.temperature, int | float):
            raise ArgumentTypeError(
                "temperature", expected="a number", got=type(self.temperature).__name__, hint="leave it out for greedy"
            )
        if not math.isfinite(self.temperature) or self.temperature <= 0:
            raise ArgumentError(
                "temperature",
                expected="a positive, finite number",
                got=self.temperature,
                hint="leave it out to take the likeliest token every time",
            )
        if self.top_k is not None:
            check_integer("top_k", self.top_k, minimum=1)
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ArgumentError("top_p", expected="a probability in (0, 1]", got=self.top_p, hint="0.9 keeps the likeliest 90%")

    def probabilities(self, logits: Tensor) -> Tensor:
        """logits [B, vocabulary] to probabilities of the same shape, float32 or wider; what is cut has 0."""
        scores = logits.to(torch.promote_types(logits.dtype, torch.float32)) / self.temperature
        if self.top_k is not None and self.top_k < scores.shape[-1]:
            least = scores.topk(self.top_k, dim=-1).values[..., -1:]
            scores = scores.masked_fill(scores < least, float("-inf"))
        chances = scores.softmax(-1)
        if self.top_p is not None and self.top_p < 1:
            ranked, order = chances.sort(-1, descending=True)
            before = ranked.cumsum(-1) - ranked  # what likelier tokens have together
            cut = torch.zeros_like(chances, dtype=torch.bool).scatter(-1, order, before >= self.top_p)
            chances = chances.masked_fill(cut, 0.0)
            chances = chances / chances.sum(-1, keepdim=True)
        return chances


def generate(
    model: CachedModel,
    input_ids: Tensor,
    *,
    max_new_tokens: int,
    token_mask: Tensor | None = None,
    eos: int | Collection[int] | None = None,
    pad: int | None = None,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | int | None = None,
    prefill_tokens: int | None = None,
) -> Tensor:
    """Continue prompts, greedily unless a `temperature` is given.

    Args:
        model: the decoder.
        input_ids: integers [B, T]; shorter prompts are padded, usually on the left.
        max_new_tokens: tokens to add at most.
        token_mask: bool [B, T], true where a prompt's token is real; needed where there is padding.
        eos: the token, or tokens, that end a row; generation stops early when every row has ended.
        pad: what stands behind the end of a row; by default `eos`, the first of them.
        temperature: draw, with logits divided by it.
        top_k, top_p: cut unlikely tokens before drawing, see `Sampling`.
        generator: of the draws, or a seed; required for drawing.
        prefill_tokens: read prompts in chunks of so many tokens, which bounds memory; all at once by default.

    Returns:
        [B, T + new], the prompts as they came and what follows.

    Raises:
        ArgumentError: an empty prompt, a temperature of zero or less, top_k or top_p without a temperature, drawing without a
            generator; and as `Decoder.forward`.
        PositionRangeError: more tokens in all than a learned table has positions.

    >>> from ordinate.attention import Decoder
    >>> from ordinate.position import Rotary
    >>> model = Decoder(vocabulary=50, dim=32, num_layers=1, num_heads=4, hidden_dim=64, encoding=Rotary(8, layout="half"))
    >>> generate(model, torch.tensor([[7, 8, 9]]), max_new_tokens=4, temperature=0.8, generator=0).shape
    torch.Size([1, 7])
    """
    sizes = check_shape("input_ids", input_ids, "B T")
    check_integer("max_new_tokens", max_new_tokens, minimum=1)
    if token_mask is not None:
        check_shape("token_mask", token_mask, "B T", B=sizes["B"], T=sizes["T"])
        token_mask = None if bool(token_mask.bool().all()) else token_mask.bool()
    if input_ids.numel() == 0 or (token_mask is not None and not bool(token_mask.any(-1).all())):
        raise ArgumentError("input_ids", expected="at least one token a row", got="an empty prompt", hint="begin with <bos>")
    sampling, generator = _sampling(temperature, top_k, top_p, generator, input_ids.device)
    ends = _ends(eos, input_ids)
    if pad is not None:
        largest = getattr(model, "vocabulary", None)
        check_integer("pad", pad, minimum=0, maximum=None if largest is None else largest - 1)
    filler = pad if pad is not None else 0 if ends is None else int(ends[0])

    with torch.inference_mode():
        rows = _rows(model, input_ids, max_new_tokens, token_mask, sampling, generator, ends, filler, prefill_tokens)
    return torch.cat(rows, dim=1)  # outside, so that it is a tensor like any other


def _rows(
    model: CachedModel,
    input_ids: Tensor,
    max_new_tokens: int,
    token_mask: Tensor | None,
    sampling: Sampling | None,
    generator: torch.Generator | None,
    ends: Tensor | None,
    filler: int,
    prefill_tokens: int | None,
) -> list[Tensor]:
    """The prompts [B, T] and the tokens of each step [B, 1]."""
    batch, tokens = input_ids.shape
    longest = tokens if token_mask is None else int(token_mask.sum(-1).max())
    cache = model.new_cache(batch, capacity=longest + max_new_tokens - 1)
    last = _prefill(model, input_ids, token_mask, cache, prefill_tokens)
    rows = [input_ids]
    ended = torch.zeros(batch, 1, dtype=torch.bool, device=input_ids.device)
    no_numbers = torch.zeros((), dtype=torch.bool, device=input_ids.device)
    for step in range(max_new_tokens):
        no_numbers = no_numbers | last.isnan().any()
        if (last.device.type == "cpu" or step + 1 == max_new_tokens) and bool(no_numbers):  # elsewhere every look would wait
            raise ArgumentError("model", expected="logits that are numbers", got="NaN", hint="look at its weights")
        token = _chosen(last, sampling, generator)
        if ends is not None:
            token = torch.where(ended, filler, token)
            ended = ended | torch.isin(token, ends)
        rows.append(token.to(input_ids.dtype))
        if step + 1 == max_new_tokens or (ends is not None and bool(ended.all())):
            break
        last = model(token, cache=cache)[:, -1]
    return rows


def _prefill(model: CachedModel, input_ids: Tensor, token_mask: Tensor | None, cache: KVCache, chunk: int | None) -> Tensor:
    """Logits [B, vocabulary] behind the last real token of each prompt, which may stand in any chunk."""
    if chunk is None:
        return model(input_ids, token_mask=token_mask, cache=cache, last_only=True)[:, -1]
    check_integer("prefill_tokens", chunk, minimum=1)
    last: Tensor | None = None
    for start in range(0, input_ids.shape[1], chunk):
        part = slice(start, start + chunk)
        real = None if token_mask is None else token_mask[:, part]
        logits = model(input_ids[:, part], token_mask=real, cache=cache, last_only=True)[:, -1]
        last = logits if last is None or real is None else torch.where(real.any(-1, keepdim=True), logits, last)
    assert last is not None
    return last


def _chosen(logits: Tensor, sampling: Sampling | None, generator: torch.Generator | None) -> Tensor:
    """One token a row, int64 [B, 1]."""
    if sampling is None:
        return logits.argmax(-1, keepdim=True)
    return torch.multinomial(sampling.probabilities(logits), 1, generator=generator)


def _sampling(
    temperature: float | None,
    top_k: int | None,
    top_p: float | None,
    generator: torch.Generator | int | None,
    device: torch.device,
) -> tuple[Sampling | None, torch.Generator | None]:
    if temperature is None:
        for name, value in (("top_k", top_k), ("top_p", top_p), ("generator", generator)):
            if value is not None:
                raise ArgumentError(
                    "temperature",
                    expected=f"a positive number, since {name} is for drawing",
                    got=None,
                    hint=f"pass temperature=1.0, or leave {name} out for greedy generation",
                )
        return None, None
    sampling = Sampling(temperature, top_k, top_p)
    if generator is None:
        raise ArgumentError("generator", expected="a seed or a torch.Generator", got=None, hint="pass generator=0, say")
    if not isinstance(generator, torch.Generator):
        seed = check_integer("generator", generator, minimum=-(2**63), maximum=2**64 - 1, hint="a seed, or a torch.Generator")
        generator = torch.Generator(device).manual_seed(seed)
    return sampling, generator


def _ends(eos: int | Collection[int] | None, input_ids: Tensor) -> Tensor | None:
    if eos is None:
        return None
    numbers = [check_integer("eos", number, minimum=0) for number in (eos if isinstance(eos, Collection) else [eos])]
    if not numbers:
        raise ArgumentError("eos", expected="a token number, or some", got="none", hint="leave it out to go on to the end")
    return torch.tensor(numbers, device=input_ids.device)
