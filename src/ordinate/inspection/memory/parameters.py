"""How many parameters a model has, from its config alone: a table of shapes by family, evaluated without torch.

`parameters.json` was derived from transformers' own models on the meta device (5.24), and a test compares it with them: for
each family the shapes of its parameters as sums of products of sizes, and how often each occurs: a constant, a number a layer
and a number for each leading dense layer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from ordinate.inspection.records import Inspection

__all__ = ["count_parameters", "counted_families"]


UNEVEN: dict[str, Any] = {"decoder_sparse_step": 1, "mlp_only_layers": [], "moe_layer_freq": 1, "per_layer_config": {}}
"""Keys that give single layers other shapes, with the value at which they do not."""


@cache
def _table() -> dict[str, Any]:
    with open(os.path.join(os.path.dirname(__file__), "parameters.json"), encoding="utf-8") as file:
        table: dict[str, Any] = json.load(file)
    return table


def counted_families() -> list[str]:
    """Model types whose parameters can be counted from a config."""
    return sorted(_table())


def count_parameters(config: Mapping[str, Any], inspection: Inspection) -> int | str:
    """The number of parameters, or the reason why it is unknown.

    Args:
        config: the whole file.
        inspection: what was read from it, for the model type and the place of its settings.
    """
    if len(inspection.parts) > 1:
        return "no weights lie beside the config, and the parameters of a model of several parts are not counted from it"
    part = inspection.main
    entry = _table().get(part.model_type.value)
    if entry is None:
        return f"no weights lie beside the config, and the parameters of {part.model_type.value} are not counted from it"
    section: Any = config
    for key in part.path.split(".") if part.path else ():
        section = section.get(key, {}) if isinstance(section, Mapping) else {}
    if section.get("block_configs"):
        return "no weights lie beside the config, and its layers differ from block to block"
    uneven = [key for key, usual in UNEVEN.items() if section.get(key, usual) not in (usual, None)]
    if uneven:
        return f"no weights lie beside the config, and what {uneven[0]} changes is not counted from it"
    sizes = _sizes(entry, section)
    if isinstance(sizes, str):
        return sizes
    rows = entry["rows"]
    for flag, (usual, other) in entry.get("flags", {}).items():
        if section.get(flag, usual) is not usual:
            if other is None or rows is not entry["rows"]:
                return f"no weights lie beside the config, and {flag} is not counted from it"
            rows = other
    tied = section.get("tie_word_embeddings", config.get("tie_word_embeddings", entry["tied"]))
    return sum(_count(row, sizes) for row in rows if not (tied and row[0] == "head" and len(row[1]) > 1))


def _sizes(entry: Mapping[str, Any], section: Mapping[str, Any]) -> dict[str, int] | str:
    """The sizes that the table's letters stand for: as the file says, else the class's default."""
    sizes: dict[str, int] = {}
    for letter, names in entry["keys"].items():
        key = next((name for name in names if section.get(name) is not None), names[0])
        value = section.get(key, entry["defaults"].get(letter))
        if value is None:
            value = entry["defaults"].get(letter) if letter not in "DGI" else None
        if type(value) is int and 0 <= value < 10**7:
            sizes[letter] = value
        elif value is not None:
            return f"no weights lie beside the config, and its {key} is no number"
    if "H" not in sizes or "A" not in sizes or not sizes["A"]:
        return "no weights lie beside the config, and it states no width or heads"
    sizes.setdefault("G", sizes["A"])
    sizes.setdefault("D", sizes["H"] // sizes["A"])
    sizes.setdefault("I", 4 * sizes["H"])
    letters = {letter for row in entry["rows"] for terms in row[1] for _, names in terms for letter in names} | {"L"}
    lacking = sorted(letters - set(sizes))
    if lacking:
        names = " and ".join(entry["keys"].get(letter, [letter])[0] for letter in lacking)
        return f"no weights lie beside the config, and it states no {names}"
    return sizes


def _count(row: list[Any], sizes: Mapping[str, int]) -> int:
    constant, per_layer, per_dense = row[2]
    result = int(constant + per_layer * sizes["L"] + per_dense * sizes.get("K", 0))
    for terms in row[1]:
        axis = 0
        for factor, letters in terms:
            product = factor
            for letter in letters:
                product *= sizes[letter]
            axis += product
        result *= axis
    return result
