"""What a parameter is for, by the names that the field gives it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ordinate.verify.adapters.native import parameters

__all__ = ["ROLES", "Plan", "plans"]

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
    "cos": ("cos", "cos_emb", "cosine", "cos_table", "freqs_cos", "cos_cached"),
    "sin": ("sin", "sin_emb", "sine", "sin_table", "freqs_sin", "sin_cached"),
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
}

_BY_NAME = {name: role for role, names in ROLES.items() for name in names}


@dataclass(frozen=True)
class Plan:
    """Which argument plays which role. `names` is None where arguments go by place alone."""

    roles: tuple[str, ...]
    names: tuple[str | None, ...]

    def arguments(self, given: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and named arguments for the values by role."""
        places, named = [], {}
        for role, name in zip(self.roles, self.names, strict=True):
            if name is None:
                places.append(given[role])
            else:
                named[name] = given[role]
        return places, named

    def __str__(self) -> str:
        return "(" + ", ".join(self.roles) + ")"


def plans(target: Callable[..., Any], known: tuple[str, ...], guesses: tuple[tuple[str, ...], ...]) -> list[Plan]:
    """Ways to call `target`: by its parameters' names where all that it requires are known, and by place as `guesses` say.

    Args:
        known: the roles that this kind of subject can be given.
        guesses: roles by place, likeliest first, for parameters whose names say nothing.
    """
    found = parameters(target)
    if found is None:
        return [Plan(guess, (None,) * len(guess)) for guess in guesses]
    ways: list[Plan] = []
    roles: list[tuple[str, inspect.Parameter]] = []
    clear = True
    for one in found:
        role = _BY_NAME.get(one.name.lower())
        optional = one.default is not inspect.Parameter.empty
        if role == "length" and optional:
            continue  # a row's length where something else says the positions: left to the subject
        if role in known and role is not None and role not in [name for name, _ in roles]:
            roles.append((role, one))
        elif one.default is inspect.Parameter.empty:
            clear = False
    if clear and roles:
        ways.append(_plan(roles))
        needed = [pair for pair in roles if pair[1].default is inspect.Parameter.empty]
        if needed and len(needed) < len(roles):
            ways.append(_plan(needed))
    required = sum(one.default is inspect.Parameter.empty for one in found)
    places = [one for one in found if one.kind is not inspect.Parameter.KEYWORD_ONLY]
    if not clear or not roles:
        ways += [Plan(guess, (None,) * len(guess)) for guess in guesses if required <= len(guess) <= len(places)]
    return ways


def _plan(roles: list[tuple[str, inspect.Parameter]]) -> Plan:
    """By place while parameters can be given so and none is left out, by name from there on."""
    return Plan(
        tuple(role for role, _ in roles),
        tuple(None if one.kind is inspect.Parameter.POSITIONAL_ONLY else one.name for _, one in roles),
    )
