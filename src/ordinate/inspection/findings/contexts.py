"""Checks of contexts: factors that do not fit, numbers that look mistyped, claims that disagree, names that promise more."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ordinate.inspection.findings.checked_part import CheckedPart
from ordinate.inspection.records import Finding

__all__ = ["CHECKS"]

CONTEXT_KEYS = (
    "max_position_embeddings",
    "n_positions",
    "max_sequence_length",
    "max_seq_len",
    "max_seq_length",
    "seq_length",
    "n_ctx",
    "model_max_length",
)
SLACK = 8
"""Tokens by which two contexts may differ for rows that positions skip, or for special tokens."""


def factor_misfits(checked: CheckedPart) -> Iterator[Finding]:
    """A factor says how many times the context before scaling the model reaches; the claim should be that."""
    turn = checked.scaled
    if turn is None or turn.rule.value not in ("yarn", "longrope"):
        return
    factor, original, claimed = (
        turn.settings.get("factor"),
        turn.settings.get("original_context"),
        checked.part.contexts.claimed,
    )
    if factor is None or original is None or factor.source != "file" or original.source != "file" or not claimed.known:
        return
    reach = factor.value * original.value
    if abs(claimed.value - reach) <= 0.01 * reach or abs(claimed.value - original.value) <= SLACK:
        return
    headroom = claimed.value <= 1.25 * original.value  # Qwen3 claims 40,960 over 32,768, and keeps it under YaRN
    yield Finding(
        "factor-misfits-contexts",
        "info" if headroom else "warning",
        f"factor {factor.value:g} x original context {original.value} is {reach:g} tokens, the file claims {claimed.value}",
        {**checked.stated(factor), **checked.stated(original), **checked.stated(claimed)},
        f"for {claimed.value} tokens the factor is {claimed.value / original.value:.4g}",
    )


def claims_beyond_training(checked: CheckedPart) -> Iterator[Finding]:
    """An original context above the claimed one: one of the two is wrong, or was edited."""
    turn, claimed = checked.scaled, checked.part.contexts.claimed
    if turn is None or not claimed.known:
        return
    original = turn.settings.get("original_context")
    if original is None or original.source != "file" or original.value <= claimed.value:
        return
    yield Finding(
        "original-above-claimed",
        "warning",
        f"the context before scaling ({original.value}) is longer than the claimed one ({claimed.value})",
        {**checked.stated(original), **checked.stated(claimed)},
        "correct the one that was edited",
    )


def digits_mistyped(checked: CheckedPart) -> Iterator[Finding]:
    """A context that becomes a round number, or another context of the file, when two neighbouring digits are swapped."""
    contexts = dict(_contexts(checked))
    for path, value in contexts.items():
        others = {other for where, other in contexts.items() if where != path}
        if value % 256 == 0 or value in others:
            continue
        for swapped in _swaps(value):
            if swapped in others or swapped & (swapped - 1) == 0:
                yield Finding(
                    "digits-mistyped",
                    "warning",
                    f"{path} {value} is {swapped} with two digits swapped",
                    {path: value},
                    f"write {swapped} if that was meant",
                )
                break


def _contexts(checked: CheckedPart) -> Iterator[tuple[str, int]]:
    for key in (*CONTEXT_KEYS, "original_max_position_embeddings"):
        if isinstance(checked.keys.get(key), int) and not isinstance(checked.keys[key], bool):
            yield checked.section.at(key), checked.keys[key]
    for turn in checked.turns:
        original = turn.settings.get("original_context")
        if original is not None and original.source == "file" and isinstance(original.value, int):
            yield original.detail, original.value


def _swaps(value: int) -> Iterator[int]:
    digits = str(value)
    if not 1000 <= value <= 10**8:
        return
    for place in range(len(digits) - 1):
        left, right = digits[place], digits[place + 1]
        if left != right and not (place == 0 and right == "0"):
            yield int(digits[:place] + right + left + digits[place + 2 :])


def contexts_disagree(checked: CheckedPart) -> Iterator[Finding]:
    """More than one key claims a context, and they differ."""
    contexts = {path: value for path, value in _contexts(checked) if path.rsplit(".", 1)[-1] in CONTEXT_KEYS}
    stated = [path for path in contexts if 0 < contexts[path] < 10**9]
    if len(stated) < 2 or max(contexts[p] for p in stated) - min(contexts[p] for p in stated) <= SLACK:
        return
    trained = checked.part.contexts.trained
    split = trained.source == "file" and trained.detail in contexts  # the family keeps the trained context in a key of its own
    trained_key = checked.source.family.trained and checked.section.at(checked.source.family.trained[0]) in contexts
    yield Finding(
        "contexts-disagree",
        "info" if split or trained_key else "warning",
        "the file states different contexts: " + ", ".join(f"{path} {contexts[path]}" for path in stated),
        {path: contexts[path] for path in stated},
        f"{checked.part.contexts.claimed.detail} is taken as the claim; serve no more than the model was trained for",
    )


def name_promises_more(checked: CheckedPart) -> Iterator[Finding]:
    """The name of the file or of the checkpoint says a context that the file does not claim."""
    claimed = checked.part.contexts.claimed
    if not checked.main or not claimed.known or not checked.turns:
        return
    for where, name in (("name", checked.name), ("_name_or_path", checked.raw.get("_name_or_path"))):
        if not isinstance(name, str):
            continue
        promised = _promised(name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1], checked)
        if promised is not None and promised > 1.5 * claimed.value:
            yield Finding(
                "name-promises-more",
                "warning",
                f'"{name}" promises about {promised} tokens, the file claims {claimed.value}',
                {where: name, **checked.stated(claimed)},
                "look for a base or a scaling that was set outside the file",
            )
            return


def _promised(name: str, checked: CheckedPart) -> int | None:
    stem = name.removesuffix(".json").removesuffix(".gguf")
    match = re.search(r"(?<![A-Za-z0-9.])(\d{1,4})[kK](?![A-Za-z0-9])", stem)
    if match is not None:
        return int(match[1]) * 1000
    match = re.search(r"(?<![A-Za-z0-9.])([1-9]|10)[mM](?![A-Za-z0-9])", stem)
    width = checked.part.hidden_size.value
    if match is not None and width is not None and width >= 1024:  # narrower models name their parameters in millions
        return int(match[1]) * 1_000_000
    return None


def base_unusual(checked: CheckedPart) -> Iterator[Finding]:
    """A base far from any in use for text: 10,000 to 10^9 in long models, some hundreds in image towers."""
    for turn in checked.turns:
        base = turn.base
        if base.source != "file" or len(turn.axes) > 1 or turn.rotary_dim.value in (None, 2):
            continue
        if checked.main and not 500 <= base.value <= 1e11:
            yield Finding(
                "base-unusual",
                "warning",
                f"a base of {base.value:g} is far from those in use (10,000 to 1e9)",
                checked.stated(base),
                "check its digits",
            )


CHECKS = (
    factor_misfits,
    claims_beyond_training,
    digits_mistyped,
    contexts_disagree,
    name_promises_more,
    base_unusual,
)
