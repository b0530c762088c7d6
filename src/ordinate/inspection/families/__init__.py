"""The table of families: for each model type, what its code does that its config does not say.

One row is one entry in a neighbour file; `library.json` beside it holds the defaults of transformers' own config classes, so
that a key missing from a file means what it means there. A type without a row is unknown, with the reason, or is read from its
keys where they speak for themselves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from ordinate.inspection.families.decoders import DECODERS, decoder
from ordinate.inspection.families.diffusion import DIFFUSION
from ordinate.inspection.families.encoders import ENCODERS
from ordinate.inspection.families.hybrids import HYBRIDS
from ordinate.inspection.families.latent import LATENT
from ordinate.inspection.families.perception import PERCEPTION
from ordinate.inspection.families.remote import REMOTE
from ordinate.inspection.families.sound import SOUND
from ordinate.inspection.reader.input_encodings import fixed
from ordinate.inspection.reader.rotary import RotaryRule, rope
from ordinate.inspection.reader.row_types import Family

__all__ = ["FAMILIES", "GENERIC_ROTARY", "family_of", "family_of_architecture", "generic_unknown", "library"]

FAMILIES: dict[str, Family] = {**PERCEPTION, **SOUND, **ENCODERS, **DECODERS, **HYBRIDS, **LATENT, **REMOTE, **DIFFUSION}

GENERIC_ROTARY = decoder(rope(RotaryRule(layout=None)))
"""For a type without a row whose file holds keys of a rotation: everything but the layout can be read."""

VERSION = "transformers 5.24"


def generic_unknown(reason: str) -> Family:
    """For a type without a row whose keys say nothing about position: layers, heads and contexts are read as they are named."""
    return decoder(fixed("", "unknown", reason))


@cache
def library() -> Mapping[str, Any]:
    """Defaults of the config classes of transformers, by model type: keys, and which sections are parts of their own."""
    # plain open: importlib.resources would double the time that a reading takes from a cold start
    with open(os.path.join(os.path.dirname(__file__), "library.json"), encoding="utf-8") as file:
        defaults: dict[str, Any] = json.load(file)
    return defaults


def family_of(model_type: str) -> Family | None:
    """The row of a model type, completed with the library's defaults; None for a type nobody here knows."""
    known = library().get(model_type)
    row = FAMILIES.get(model_type)
    if row is None and known is None:
        return None
    if known is None and row is not None:
        return row if row.origin else replace(row, origin=f"the code of {model_type}")
    assert known is not None
    origin = f"{model_type} in {VERSION}"
    if row is None:
        reason = "" if known["parts"] else f"the position code of {origin} has not been read"
        return Family((), parts=known["parts"], defaults=known["defaults"], origin=origin, unknown=reason)
    return replace(
        row,
        parts={**known["parts"], **row.parts},
        defaults={**known["defaults"], **row.defaults},
        spellings=frozenset(known.get("spellings", ())) if row.spellings is None else row.spellings,
        origin=row.origin or origin,
    )


def family_of_architecture(architecture: str) -> str | None:
    """The model type whose class an entry of `architectures` names: "Phi3ForCausalLM" is phi3; None where none fits."""
    stem = architecture
    for suffix in ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel", "ForMaskedLM", "Model"):
        cut = stem.find(suffix)
        if cut > 0:
            stem = stem[:cut]
            break
    return _classes().get(stem.lower())


@cache
def _classes() -> dict[str, str]:
    names = {}
    for model_type in (*library(), *FAMILIES):
        names[model_type.replace("_", "").replace("-", "").lower()] = model_type
    return {**names, **ARCHITECTURES}


ARCHITECTURES = {
    "jinabert": "jina_bert",
    "chronos2": "chronos2",
    "new": "new",
    "internlm2": "internlm2",
    "llavallama": "llama",
    "qwen": "qwen",
}
"""Classes whose stem is not the model type without its underscores."""
