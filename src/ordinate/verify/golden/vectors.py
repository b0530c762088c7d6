"""From a case to its vectors: inputs, parameters, outputs in three precisions, and how far a port may be off.

Outputs are formed in float64 and rounded to float32 and bfloat16 at the very end: they are the nearest numbers to the truth,
not what some float32 implementation gives.
"""

from __future__ import annotations

import inspect
import math
import re
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.position import build
from ordinate.position.protocols import (
    adds_to_embeddings,
    adds_to_values,
    biases_scores,
    computes_scores,
    rotates_heads,
    rotates_queries_and_keys,
)
from ordinate.spec import PositionSpec
from ordinate.verify.golden.cases import Case
from ordinate.verify.precision import UNIT
from ordinate.verify.references.biases import BiasSettings, bias, sandwich

__all__ = ["SCHEMA", "vectors"]

SCHEMA = "ordinate.golden/1"
"""Name and version of the format; the number grows when a field changes its meaning or goes."""

BATCH = 1
HEADS_WITHOUT_SETTING = 2


def vectors(case: Case) -> dict[str, Any]:
    """Everything that a port is compared with for `case`, as plain JSON types.

    >>> from ordinate.verify.golden.cases import CASES
    >>> vectors(CASES["alibi"])["outputs"]["bias"]["shape"]
    [8, 2, 9]
    """
    encoding = build(PositionSpec.from_dict(case.spec())).double()
    _fill(encoding)
    inputs = _inputs(case, encoding)
    with torch.no_grad():
        outputs = _outputs(case, encoding, inputs)
    kind = type(encoding)
    return {
        "schema": SCHEMA,
        "id": case.id,
        "encoding": case.encoding,
        "says": (inspect.getdoc(kind) or "").split("\n")[0],
        "source": _source(kind),
        "settings": dict(case.settings),
        "scaling": None if case.scaling is None else dict(case.scaling),
        "length": case.length,
        "parameters": {name: _tensor(parameter.detach()) for name, parameter in encoding.named_parameters()},
        "inputs": {name: _tensor(tensor) for name, tensor in inputs.items()},
        "outputs": {name: _rounded(tensor) for name, tensor in outputs.items()},
        "tolerances": {name: _tolerances(name, tensor, case, inputs) for name, tensor in outputs.items()},
    }


def _fill(encoding: nn.Module) -> None:
    """Parameters of a fixed rule, short in decimals: the nth of all is ((37 n mod 101) - 50) / 100."""
    count = 0
    with torch.no_grad():
        for parameter in encoding.parameters():
            steps = torch.arange(count, count + parameter.numel(), dtype=torch.float64)
            parameter.copy_(((37 * steps % 101 - 50) / 100).reshape(parameter.shape))
            count += parameter.numel()


def _numbers(*shape: int, start: int) -> Tensor:
    """Values between -1 and 1 that bfloat16 holds exactly: ((53 n mod 127) - 63) / 64."""
    steps = torch.arange(start, start + math.prod(shape), dtype=torch.float64)
    return ((53 * steps % 127 - 63) / 64).reshape(shape)


def _inputs(case: Case, encoding: nn.Module) -> dict[str, Tensor]:
    keys = case.positions if case.key_positions is None else case.key_positions
    inputs = {"positions": torch.tensor(case.positions)}
    if case.key_positions is not None:
        inputs = {"query_positions": torch.tensor(case.positions), "key_positions": torch.tensor(keys)}
    heads = int(case.settings.get("num_heads", HEADS_WITHOUT_SETTING))
    width = int(case.settings.get("head_dim", _inner(case).get("head_dim", 8)))
    queries, tokens = (BATCH, heads, len(case.positions), width), (BATCH, heads, len(keys), width)
    content = bool(getattr(encoding, "needs_content", False)) or computes_scores(encoding)
    if rotates_queries_and_keys(encoding) or (content and not rotates_heads(encoding)):
        inputs["query"], inputs["key"] = _numbers(*queries, start=0), _numbers(*tokens, start=math.prod(queries))
    elif rotates_heads(encoding):
        inputs["x"] = _numbers(*queries, start=0)
    elif hasattr(encoding, "mix"):
        inputs["x"] = _numbers(BATCH, len(case.positions), int(case.settings["dim"]), start=0)
    if adds_to_values(encoding):
        raw = _numbers(BATCH, heads, len(case.positions), len(keys), start=5) + 1.5
        inputs["weights"] = raw / raw.sum(-1, keepdim=True)
    return inputs


def _inner(case: Case) -> dict[str, Any]:
    """The settings of a rotation that an encoding wraps."""
    rotary = case.settings.get("rotary")
    return dict(rotary["settings"]) if rotary else {}


def _outputs(case: Case, encoding: Any, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    query_positions = inputs.get("positions", inputs.get("query_positions"))
    key_positions = inputs.get("positions", inputs.get("key_positions"))
    assert query_positions is not None
    assert key_positions is not None
    outputs: dict[str, Tensor] = {}
    if hasattr(encoding, "inverse_frequencies"):
        takes = inspect.signature(encoding.inverse_frequencies).parameters
        outputs["inverse_frequencies"] = encoding.inverse_frequencies(case.length) if takes else encoding.inverse_frequencies()
    if adds_to_embeddings(encoding):
        exact = "dtype" in inspect.signature(encoding.encode).parameters
        outputs["vectors"] = encoding.encode(query_positions, **({"dtype": torch.float64} if exact else {}))
    if rotates_heads(encoding):
        lengths = {} if case.length is None else {"length": case.length}
        outputs["rotated"] = encoding.rotate(inputs["x"], query_positions, **lengths)
    elif rotates_queries_and_keys(encoding):
        outputs["rotated_query"] = encoding.rotate_query(inputs["query"], query_positions)
        outputs["rotated_key"] = encoding.rotate_key(inputs["key"], key_positions)
    elif hasattr(encoding, "mix"):
        outputs["mixed"] = encoding.mix(inputs["x"], query_positions)
    if biases_scores(encoding):
        content = (inputs["query"], inputs["key"]) if "query" in inputs else ()
        outputs["bias"] = encoding.bias(query_positions, key_positions, *content)
        if outputs["bias"].dtype is not torch.float64:
            outputs["bias"] = _exactly(case, query_positions, key_positions)
    if computes_scores(encoding):
        outputs["scores"] = encoding.scores(inputs["query"], inputs["key"], query_positions, key_positions)
    if adds_to_values(encoding):
        term = encoding.value_term(inputs["weights"], query_positions, key_positions)
        if term is not None:
            outputs["value_term"] = term
    return {name: tensor.detach() for name, tensor in outputs.items()}


def _exactly(case: Case, query_positions: Tensor, key_positions: Tensor) -> Tensor:
    """Biases that the encodings give in float32 at most, by the rule itself."""
    settings = dict(case.settings)
    if case.encoding == "alibi":
        return bias(
            query_positions, key_positions, BiasSettings(settings["num_heads"], symmetric=settings.get("symmetric", False))
        )
    assert case.encoding == "sandwich"
    return sandwich(query_positions, key_positions, settings["num_heads"], settings["dim"])


def _tolerances(name: str, output: Tensor, case: Case, inputs: dict[str, Tensor]) -> dict[str, dict[str, Any]]:
    """For each precision what is allowed, absolute + per_position * |position of the token|, and why."""
    finite = output[output.isfinite()]
    largest = max(float(finite.abs().max()) if finite.numel() else 0.0, 1.0)
    by_token = name in ("rotated", "vectors", "rotated_query", "rotated_key")
    positions = torch.cat([inputs[key].double().flatten() for key in inputs if key.endswith("positions")])
    turns = case.encoding in _TURNING and name != "inverse_frequencies"
    tolerances = {}
    for label, dtype in (("float64", torch.float64), ("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        unit, wide = UNIT[dtype], UNIT[torch.float64 if dtype is torch.float64 else torch.float32]
        absolute, per_position = 16 * unit * largest, 4 * wide * largest if turns else 0.0
        reason = f"16 roundings of {label}, {unit:.3g} each, of values up to {largest:.3g}"
        if turns:
            formed = "float64" if dtype is torch.float64 else "float32"
            reason += f"; angles formed in {formed} are off by up to 4 u radians a position, u = {wide:.3g}"
            if not by_token:
                absolute, per_position = absolute + per_position * float(positions.abs().max()), 0.0
        tolerances[label] = {
            "absolute": float(f"{absolute:.3g}"),
            "per_position": float(f"{per_position:.3g}"),
            "reason": reason,
        }
    return tolerances


_TURNING = (
    "sinusoidal",
    "sinusoidal-grid",
    "rotary",
    "learned-rotary",
    "axial-rotary",
    "mixed-rotary",
    "multimodal-rotary",
    "xpos",
    "pope",
    "sandwich",
    "transformer-xl",
    "self-extend",
    "rerope",
    "leaky-rerope",
    "dual-chunk",
    "streaming-llm",
)


def _tensor(tensor: Tensor) -> dict[str, Any]:
    """Shape, dtype and numbers in row-major order."""
    integers = not tensor.is_floating_point()
    return {"shape": list(tensor.shape), "dtype": "int64" if integers else "float64", "data": _listed(tensor)}


def _rounded(tensor: Tensor) -> dict[str, Any]:
    """The numbers in float64, and as the nearest ones of two narrower formats."""
    return {
        "shape": list(tensor.shape),
        "float64": _listed(tensor.double()),
        "float32": _listed(tensor.float().double()),
        "bfloat16": _listed(tensor.bfloat16().double()),
    }


def _listed(tensor: Tensor) -> list[Any]:
    """Numbers; infinities, which JSON does not have, as "inf" and "-inf"."""
    flat = tensor.flatten().tolist()
    return [value if not isinstance(value, float) or math.isfinite(value) else str(value) for value in flat]


def _source(kind: type) -> str:
    """The line of the docstring that says where the rule comes from."""
    text = inspect.getdoc(kind) or ""
    match = re.search(r"^Source: (.*?)(?=\n\s*\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return " ".join(match[1].split()) if match else ""
