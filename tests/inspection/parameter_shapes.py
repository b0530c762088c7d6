"""How many parameters each family has as a function of its config, found in transformers' own models on the meta device.

`memory/parameters.json` is this table; run this file (model types as arguments, all language models without) to write it anew.
A small model is built with sizes that differ from each other, and every dimension of every parameter is matched to a sum of
products of sizes; how often a shape occurs is matched to the numbers of layers. Models of other sizes must then have exactly as
many parameters as the table says, else the family is left out.
"""

from __future__ import annotations

import collections
import json
import logging
import sys
import warnings
from pathlib import Path
from typing import Any

SYMBOLS = {
    "H": ("hidden_size", "n_embd", "d_model"),
    "A": ("num_attention_heads", "n_head", "n_heads"),
    "G": ("num_key_value_heads", "num_kv_heads"),
    "D": ("head_dim",),
    "I": ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"),
    "V": ("vocab_size",),
    "L": ("num_hidden_layers", "n_layer", "n_layers"),
    "E": ("num_local_experts", "num_experts", "n_routed_experts"),
    "M": ("moe_intermediate_size",),
    "S": ("shared_expert_intermediate_size", "shared_intermediate_size"),
    "N": ("n_shared_experts",),
    "K": ("first_k_dense_replace",),
    "R": ("kv_lora_rank",),
    "Q": ("q_lora_rank",),
    "X": ("qk_nope_head_dim",),
    "Y": ("qk_rope_head_dim",),
    "W": ("v_head_dim",),
    "P": ("max_position_embeddings", "n_positions", "n_ctx"),
}
FLAGS = ("attention_bias", "mlp_bias", "use_bias", "qkv_bias", "bias", "use_qk_norm", "qk_layernorm", "use_qkv_bias")
SETS = [
    {"H": 120, "A": 6, "G": 2, "D": 22, "I": 308, "V": 1009, "L": 3, "E": 5, "M": 52, "S": 68, "N": 3, "K": 1}
    | {"R": 28, "Q": 44, "X": 14, "Y": 10, "W": 29, "P": 251},
    {"H": 160, "A": 8, "G": 2, "D": 26, "I": 412, "V": 907, "L": 5, "E": 6, "M": 76, "S": 92, "N": 3, "K": 2}
    | {"R": 36, "Q": 60, "X": 18, "Y": 14, "W": 30, "P": 269},
    {"H": 96, "A": 4, "G": 4, "D": 38, "I": 212, "V": 1021, "L": 4, "E": 3, "M": 44, "S": 84, "N": 1, "K": 1}
    | {"R": 20, "Q": 52, "X": 22, "Y": 6, "W": 34, "P": 199},
]
EXCLUDED = {"bailing_hybrid", "dory", "ernie4_5_moe", "flint", "hrm_text", "jetmoe", "olmoe", "rwkv", "xglm", "xlm"}
"""Types whose config, written out and counted again, gives another number: keys in it are read under other names."""

Terms = list[list[Any]]
CANDIDATES: list[Terms] = [
    *([[1, s]] for s in ["H", "I", "V", "D", "E", "M", "S", "P", "R", "Q", "A", "G", "W"]),
    [[1, "AD"]], [[1, "GD"]], [[2, "AD"]], [[2, "GD"]], [[1, "AD"], [2, "GD"]], [[1, "AX"], [1, "AY"]], [[1, "AX"], [1, "AW"]],
    [[1, "AW"]], [[1, "R"], [1, "Y"]], [[1, "NM"]], [[2, "NM"]], [[1, "X"], [1, "Y"]], [[1, "P"], [2, ""]], [[2, "D"]],
    *([[c, s]] for c in (2, 3, 4) for s in ["H", "I", "M", "S"]),
]  # fmt: skip
"""What a dimension may be: sums of products of sizes, the likelier first."""


def value(terms: Terms, sizes: dict[str, int]) -> int:
    total = 0
    for factor, letters in terms:
        product = factor
        for letter in letters:
            product *= sizes[letter]
        total += product
    return total


def config_of(kind: type, sizes: dict[str, int], *, headed: bool = True, **flags: Any) -> tuple[Any, dict[str, int]]:
    """A config of such sizes, and the sizes it has; `headed` states the width of a head though the class declares none."""
    probe = kind()
    settings: dict[str, Any] = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": False, **flags}
    used = dict(sizes)
    for letter, names in SYMBOLS.items():
        present = [name for name in names if hasattr(probe, name)]
        fixed = present and isinstance(getattr(kind, present[0], None), property)
        if not present or fixed or (letter in "KQNR" and getattr(probe, present[0]) is None):
            used.pop(letter, None)
            continue
        settings[present[0]] = sizes[letter]
    if "D" not in used:
        used["D"] = sizes["D"] if headed else sizes["H"] // sizes["A"]
        if headed:
            settings["head_dim"] = sizes["D"]
    if "G" not in used:
        used["G"] = sizes["A"]
    for name, number in (("num_experts_per_tok", 2), ("n_group", 1), ("topk_group", 1), ("moe_topk", 2)):
        if hasattr(probe, name):
            settings[name] = number
    if "R" in used and "G" in used:
        settings["num_key_value_heads"] = used["G"] = used["A"]
    return kind(**settings), used


def shapes(config: Any) -> dict[tuple[str, tuple[int, ...]], int]:
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    counted: collections.Counter[tuple[str, tuple[int, ...]]] = collections.Counter()
    for name, parameter in model.named_parameters():
        kind = "head" if name.startswith(("lm_head", "embed_out", "output")) else "body"
        counted[kind, tuple(parameter.shape)] += 1
    return dict(counted)


def total(counted: dict[tuple[str, tuple[int, ...]], int]) -> int:
    result = 0
    for (_, shape), count in counted.items():
        product = count
        for axis in shape:
            product *= axis
        result += product
    return result


def matched(shape: tuple[int, ...], sizes: dict[str, int]) -> list[Terms] | None:
    dims = []
    for axis in shape:
        fits = [
            terms
            for terms in CANDIDATES
            if all(letter in sizes for _, letters in terms for letter in letters) and value(terms, sizes) == axis
        ]
        if not fits and axis > 8:
            return None
        dims.append(fits[0] if fits else [[axis, ""]])
    return dims


def rows_of(kind: type, **options: Any) -> list[list[Any]] | None:
    """Rows of [head or body, dimensions, count as [constant, per layer, per dense layer]]."""
    base = SETS[0]
    variants = [base, base | {"L": 5}, base | {"L": 5, "K": 2}]
    built = [config_of(kind, sizes, **options) for sizes in variants]
    counts = [shapes(config) for config, _ in built]
    rows = []
    for key in counts[0]:
        dims = matched(key[1], built[0][1])
        if dims is None or any(key not in other for other in counts):
            return None
        a, b, c = (other[key] for other in counts)
        per_layer = (b - a) / 2
        per_dense = float(c - b) if "K" in built[0][1] else 0.0
        constant = a - per_layer * 3 - per_dense * (1 if "K" in built[0][1] else 0)
        if any(number != int(number) for number in (per_layer, per_dense, constant)):
            return None
        rows.append([key[0], dims, [int(constant), int(per_layer), int(per_dense)]])
    return rows


def counted_by(rows: list[list[Any]], sizes: dict[str, int]) -> int:
    result = 0
    for _, dims, (constant, per_layer, per_dense) in rows:
        product = constant + per_layer * sizes["L"] + per_dense * sizes.get("K", 0)
        for terms in dims:
            product *= value(terms, sizes)
        result += product
    return result


def entry_of(model_type: str) -> dict[str, Any] | None:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    kind = CONFIG_MAPPING[model_type]
    for headed in (True, False):
        try:
            rows = rows_of(kind, headed=headed)
            built = [config_of(kind, sizes, headed=headed) for sizes in SETS]
            if rows is not None and all(total(shapes(config)) == counted_by(rows, used) for config, used in built):
                return _entry(kind, rows, headed)
        except Exception:
            if not headed:
                raise
    return None


def _entry(kind: type, rows: list[list[Any]], headed: bool) -> dict[str, Any]:
    probe = kind()
    keys = {letter: [name for name in names if hasattr(probe, name)] for letter, names in SYMBOLS.items()}
    if headed and not keys["D"]:
        keys["D"] = ["head_dim"]
    defaults = {letter: getattr(probe, names[0], None) for letter, names in keys.items() if names}
    entry: dict[str, Any] = {"keys": {letter: names for letter, names in keys.items() if names}, "rows": rows}
    entry["defaults"] = {letter: value for letter, value in defaults.items() if type(value) is int}
    entry["tied"] = bool(getattr(probe, "tie_word_embeddings", False))
    flags = {}
    for flag in FLAGS:
        usual = getattr(probe, flag, None)
        if not isinstance(usual, bool):
            continue
        other = None
        try:
            changed = rows_of(kind, headed=headed, **{flag: not usual})
            config, used = config_of(kind, SETS[1], headed=headed, **{flag: not usual})
            if changed is not None and total(shapes(config)) == counted_by(changed, used):
                other = changed
        except Exception:
            other = None
        if other != rows:
            flags[flag] = [usual, other]
    return entry | ({"flags": flags} if flags else {})


TABLE = Path(__file__).parents[2] / "src" / "ordinate" / "inspection" / "memory" / "parameters.json"


def main(arguments: list[str]) -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    table = json.loads(TABLE.read_text()) if arguments and TABLE.exists() else {}
    for model_type in arguments or sorted(set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES) - EXCLUDED):
        try:
            entry = entry_of(model_type)
        except Exception as error:  # a class that cannot be built this small
            entry = None
            print(model_type, type(error).__name__, str(error)[:120].replace("\n", " "), file=sys.stderr)
        if entry is not None:
            table[model_type] = entry
        print(model_type, "counted" if entry else "left out", flush=True)
        rows = (f"{json.dumps(name)}: {json.dumps(table[name], sort_keys=True)}" for name in sorted(table))
        TABLE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
