"""How a subject is called: the subject as it came, what its parameters are for, and which of the possible ways makes sense."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.resolve import is_interrupt
from ordinate.verify.adapters.arrays import check_arrays, from_array, to_array
from ordinate.verify.limits import TimeLimitExceeded, with_time_limit
from ordinate.verify.observation import NoExceptionError, Unsupported, describe_error

__all__ = ["ROLES", "Call", "Callee", "Subject", "best_of", "calls", "consecutive", "parameters", "same_in_every_row"]

_METHODS = (
    ("rotate_query", "rotate_key"),
    ("rotate",),
    ("rotate_queries_or_keys",),
    ("encode",),
    ("bias",),
    ("compute_bias",),
)


class Callee:
    """A callable that is not ours, and the object it belongs to: called under a time limit, and copied with its state.

    Args:
        subject: a function, a bound method, a module, or an object with one of the usual methods.
        seconds: time limit of one call.
        arrays: the library whose arrays it takes, one of `arrays.ARRAYS`.
        device: where it runs; what it returns is compared on the CPU.

    Raises:
        ArgumentTypeError: nothing that can be called.
        ArgumentError: a device that is not there.
    """

    def __init__(self, subject: Any, seconds: float = 10.0, arrays: str = "torch", device: str = "cpu") -> None:
        if isinstance(subject, type | str | bytes) or not (
            callable(subject) or any(hasattr(subject, name[0]) for name in _METHODS)
        ):
            raise ArgumentTypeError(
                "subject",
                expected="something to call, or an object with rotate, encode or bias",
                got=f"the class {subject.__name__}" if isinstance(subject, type) else type(subject).__name__,
                hint="make an object of the class first" if isinstance(subject, type) else "pass the function itself",
            )
        self.seconds, self.arrays, self.device = seconds, check_arrays(arrays), _checked_device(device)
        self.owner = getattr(subject, "__self__", None) if inspect.ismethod(subject) else subject
        if inspect.ismethod(subject):
            self.names: tuple[str, ...] = (subject.__name__,)
        else:
            self.names = next((n for n in _METHODS if all(callable(getattr(subject, part, None)) for part in n)), ())
        self.foreign_types: list[str] = []
        self.libraries: set[str] = set()
        """Whose arrays it answered with, noted by all copies."""
        self.wrapped = False  # a module only by our wrapping
        self.copies = not inspect.isfunction(self.owner) and not inspect.isbuiltin(self.owner)
        if self.device.type not in ("cpu", "meta") and isinstance(self.owner, nn.Module):
            self.owner = copy.deepcopy(self.owner).to(self.device)

    @property
    def module(self) -> nn.Module | None:
        """The torch module that the subject is or belongs to."""
        return self.owner if isinstance(self.owner, nn.Module) and not self.wrapped else None

    @property
    def targets(self) -> list[Callable[..., Any]]:
        """What to call: one, or two where queries and keys are treated apart."""
        if self.names:
            return [getattr(self.owner, name) for name in self.names]
        assert callable(self.owner)
        return [self.owner]

    def fresh(self) -> Callee:
        """A copy with state of its own; a function stays itself, its module-level caches included."""
        if not self.copies:
            return self.with_owner(self.owner)
        try:
            return self.with_owner(copy.deepcopy(self.owner))
        except Exception:
            other = self.with_owner(self.owner)
            other.copies = False  # what cannot be copied is used as it is
            return other

    def with_owner(self, owner: Any) -> Callee:
        """The same way of calling, of another object."""
        other = copy.copy(self)
        other.owner, other.foreign_types = owner, []
        return other

    def call(self, arguments: list[Any], named: Mapping[str, Any], which: int = 0) -> Any:
        """The answer of the subject, within the time limit."""
        target = self.targets[which]
        arguments, named = [self._there(one) for one in arguments], {name: self._there(one) for name, one in named.items()}
        try:
            return with_time_limit(lambda: target(*arguments, **named), self.seconds)
        except (Exception, TimeLimitExceeded):
            raise
        except BaseException as error:  # SystemExit and the like must not pass for the checker's own
            if is_interrupt(error):
                raise
            raise NoExceptionError(error).with_traceback(error.__traceback__) from None

    def _there(self, value: Any) -> Any:
        """An argument on the device, in the arrays of the library."""
        return to_array(value.to(self.device), self.arrays) if isinstance(value, Tensor) else value

    def tensor(self, answer: Any) -> Tensor:
        """The answer as a tensor on the CPU; what else it was is noted in `foreign_types`."""
        if self.arrays != "torch":
            self.libraries.add(type(answer).__module__.split(".")[0].removesuffix("lib"))
            answer = from_array(answer) if from_array(answer) is not None else answer
        if isinstance(answer, Tensor) and self.device.type != "cpu" and answer.layout == torch.strided:
            if answer.device.type != self.device.type:
                self.foreign_types.append(f"a tensor on {answer.device}")
            return answer if answer.is_meta else answer.cpu()
        if isinstance(answer, Tensor) and answer.layout != torch.strided:
            self.foreign_types.append("a sparse tensor")
            return answer.to_dense()
        if isinstance(answer, Tensor):
            if type(answer) in (Tensor, nn.Parameter):
                return answer
            with torch._C.DisableTorchFunctionSubclass():  # a subclass may answer for its own comparisons
                return answer.as_subclass(Tensor)
        if isinstance(answer, np.ndarray | np.generic | list | float | int):
            self.foreign_types.append(f"{type(answer).__module__.split('.')[0]}.{type(answer).__name__}")
            return torch.as_tensor(np.asarray(answer))
        raise ArgumentTypeError(
            "subject", expected="a tensor back", got=f"{type(answer).__name__}", hint="return the tensor itself"
        )


def _checked_device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except Exception as error:
        raise ArgumentError("device", expected="a device that is there", got=name, hint=describe_error(error, 100)) from None
    return device


def parameters(target: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """The parameters of a callable without self; None where Python cannot tell (compiled extensions)."""
    called = target.forward if isinstance(target, nn.Module) else target
    try:
        known = list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):
        return None
    return [one for one in known if one.kind not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)]


ROLES: dict[str, tuple[str, ...]] = {
    "query": ("q", "query", "queries", "xq", "query_states", "q_states", "query_layer"),
    "key": ("k", "key", "keys", "xk", "key_states", "k_states", "key_layer"),
    "value": ("v", "value", "values", "xv", "value_states"),
    "x": (
        "x",
        "t",
        "tensor",
        "input",
        "inputs",
        "hidden_states",
        "hidden",
        "states",
        "u",
        "vec",
        "embeddings",
        "token_embedding",
    ),
    "positions": (
        "positions",
        "position_ids",
        "pos",
        "input_pos",
        "position",
        "pos_ids",
        "token_positions",
        "positions_ids",
        "p",
    ),
    "query_positions": ("query_positions", "q_pos", "q_positions", "pos_i", "query_pos", "pos_q"),
    "key_positions": ("key_positions", "k_pos", "k_positions", "pos_j", "key_pos", "kv_positions", "pos_k"),
    "offset": ("offset", "start_pos", "start", "past_len", "past_length", "cache_len", "pos_offset", "past_key_values_length"),
    "cos": ("cos", "cos_emb", "cosine", "cos_table", "freqs_cos", "cos_cached", "cos_cache"),
    "sin": ("sin", "sin_emb", "sine", "sin_table", "freqs_sin", "sin_cached", "sin_cache"),
    "table": (
        "freqs_cis",
        "freqs",
        "rope",
        "rope_cache",
        "cos_sin",
        "cos_sin_cache",
        "rotary_emb",
        "emb",
        "rotary_pos_emb",
        "pe",
    ),
    "length": ("length", "seq_len", "seq_length", "sequence_length", "n", "size", "max_len", "seqlen", "num_tokens"),
    "query_length": ("query_length", "q_len", "qlen", "i", "query_len", "tgt_len", "num_queries"),
    "key_length": ("key_length", "k_len", "klen", "j", "key_len", "src_len", "kv_len", "num_keys"),
    "num_heads": ("num_heads", "heads", "n_heads", "n_head", "h", "num_attention_heads", "total_num_heads"),
    "head_dim": ("head_dim", "dim", "d", "d_model", "channels", "hidden_size", "embedding_dim", "d_k"),
    "base": ("base", "theta", "rope_theta", "rotary_base"),
    "key_mask": ("attention_mask", "key_mask", "padding_mask", "key_padding_mask", "mask"),
    "distance": ("distance", "distances", "relative_position", "relative_positions", "rel_pos"),
    "dtype": ("dtype",),
    "tokens": ("input_ids", "tokens", "ids", "idx", "token_ids"),
    "causal": ("causal", "is_causal"),
    "lengths": ("lengths", "seqlens", "doc_lengths", "document_lengths"),
    "boundaries": ("cu_seqlens", "cumulative_lengths", "cu_seq_lens"),
    "documents": ("documents", "document_ids", "doc_ids", "segment_ids", "sequence_ids", "seq_ids"),
    "height": ("height", "grid_h", "num_rows"),
    "width": ("width", "grid_w", "num_columns", "num_cols"),
    "rank": ("rank", "cp_rank", "shard_index"),
    "world_size": ("world_size", "cp_size", "num_shards", "shards"),
    "token_types": ("token_types", "mm_token_type_ids", "modalities"),
    "image_grids": ("image_grids", "image_grid_thw"),
    "video_grids": ("video_grids", "video_grid_thw"),
    "seconds": ("seconds_per_frame", "second_per_grid_ts", "second_per_grids", "video_second_per_grid"),
    "audio_features": ("audio_seqlens", "audio_feature_lengths"),
    "sound": ("use_audio_in_video",),
}
"""What a parameter is for, by the names that the field uses."""

_BY_NAME = {name: role for role, names in ROLES.items() for name in names}


@dataclass(frozen=True)
class Call:
    """Which argument has which role. A name of None is passed by place."""

    roles: tuple[str, ...]
    names: tuple[str | None, ...]

    @classmethod
    def by_place(cls, *roles: str) -> Call:
        """All arguments by place."""
        return cls(roles, (None,) * len(roles))

    def arguments(self, values: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and named arguments for the values by role."""
        places, named = [], {}
        for role, name in zip(self.roles, self.names, strict=True):
            if name is None:
                places.append(values[role])
            else:
                named[name] = values[role]
        return places, named

    def __str__(self) -> str:
        return "(" + ", ".join(self.roles) + ")"


def calls(target: Callable[..., Any], known: tuple[str, ...], guesses: tuple[tuple[str, ...], ...]) -> list[Call]:
    """Ways to call `target`: by its parameters' names where all that it requires are known, and by place as `guesses` say.

    Args:
        target: what is called.
        known: the roles that this kind of subject can be passed.
        guesses: roles by place, likeliest first, for parameters whose names say nothing.
    """
    present = parameters(target)
    if present is None:
        return [Call.by_place(*guess) for guess in guesses]
    ways: list[Call] = []
    roles: list[tuple[str, inspect.Parameter]] = []
    clear = True
    for one in present:
        role = _BY_NAME.get(one.name.lower())
        optional = one.default is not inspect.Parameter.empty
        if role == "length" and optional:
            continue  # a row's length where something else says the positions: left to the subject
        if role in known and role is not None and role not in [name for name, _ in roles]:
            roles.append((role, one))
        elif not optional:
            clear = False
    if clear and roles:
        ways.append(_by_name(roles))
        needed = [pair for pair in roles if pair[1].default is inspect.Parameter.empty]
        if needed and len(needed) < len(roles):
            ways.append(_by_name(needed))
    required = sum(one.default is inspect.Parameter.empty for one in present)
    places = [one for one in present if one.kind is not inspect.Parameter.KEYWORD_ONLY]
    if not clear or not roles:
        ways += [Call.by_place(*guess) for guess in guesses if required <= len(guess) <= len(places)]
    return ways


def _by_name(roles: list[tuple[str, inspect.Parameter]]) -> Call:
    return Call(
        tuple(role for role, _ in roles),
        tuple(None if one.kind is inspect.Parameter.POSITIONAL_ONLY else one.name for _, one in roles),
    )


class Subject:
    """A subject adapted to its kind.

    Args:
        callee: what is called.
        form: the way of calling it; its string describes it.
        settings: what it is meant to be.
        assumed: what nobody said and was taken for granted.
    """

    def __init__(self, callee: Callee, form: Any, settings: Any, assumed: tuple[str, ...] = ()) -> None:
        self.callee, self.form, self.settings, self.assumed = callee, form, settings, assumed
        self.no_answer = ""
        """Why it answers no call at all, where that is so."""
        self.asked_as: Any = None
        """The form of another subject, for a known fault that is asked for no more than that one."""

    def fresh(self) -> Self:
        """The same subject with state of its own."""
        return self.calling(self.callee.fresh())

    def calling(self, callee: Callee) -> Self:
        """Another subject called in the same way."""
        other = copy.copy(self)
        other.callee = callee
        return other

    @property
    def asked_form(self) -> Any:
        """The form whose limits hold."""
        return self.asked_as or self.form

    @property
    def roles(self) -> tuple[str, ...]:
        """What it can be passed."""
        return self.asked_form.call.roles

    @property
    def description(self) -> str:
        """How it is called."""
        return str(self.form)


def consecutive(row: Tensor) -> bool:
    """Whether positions [T] count on from the first by one."""
    return bool((row == row[:1] + torch.arange(len(row))).all())


def same_in_every_row(positions: Tensor) -> bool:
    """Whether positions [T] or [B, T] are the same for the whole batch."""
    return positions.ndim == 1 or bool((positions == positions[:1]).all())


AnySubject = TypeVar("AnySubject", bound=Subject)


def best_of(
    candidates: Iterable[AnySubject],
    score: Callable[[AnySubject], tuple[int, AnySubject]],
    *,
    enough: int,
    expected: str,
    hint: str,
) -> tuple[int, AnySubject]:
    """The candidate with the highest score, the first among equals; `score` may return a better informed one.

    A subject that raises the same in every form, ends itself, or does not answer in time, has not been called wrongly: it is
    returned as it is with its `no_answer`, which becomes a failed property.

    Raises:
        ArgumentError: no way fits; the message shows what was tried.
    """
    tried: list[str] = []
    raised: dict[str, str] = {}
    best: tuple[int, AnySubject] | None = None
    first: AnySubject | None = None
    for candidate in candidates:
        first = first or candidate
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a wrong guess may well be warned about
                scored = score(candidate)
        except TimeLimitExceeded as error:
            candidate.no_answer = str(error)
            return 0, candidate
        except BaseException as error:
            if is_interrupt(error):
                raise
            says = describe_error(error, 160, with_line=not isinstance(error, Unsupported))
            if isinstance(error, NoExceptionError) or not isinstance(error, Exception):
                candidate.no_answer = f"it raises {says}"
                return 0, candidate
            tried.append(f"{candidate.description}: {says}")
            raised.setdefault("" if isinstance(error, Unsupported) else describe_error(error, 160), f"it raises {says}")
            continue
        if best is None or scored[0] > best[0]:
            best = scored
        if scored[0] >= enough:
            break
    if best is not None:
        return best
    if first is not None and len(raised) == 1 and "" not in raised:
        (first.no_answer,) = raised.values()
        return 0, first
    raise ArgumentError("subject", expected=expected, got="; ".join(dict.fromkeys(tried[:6])) or "no way to call it", hint=hint)
