"""ONNX files and nodes as functions of numpy arrays, run by onnxruntime on the CPU.

A file is called by the names of its inputs. A node (RotaryEmbedding of opset 23 or of com.microsoft, Attention of opset 23 or
24) is cut out with the constants that it reads; what it reads from other nodes becomes an input, so that a rotation inside a
whole model can be checked alone.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ordinate.arguments import check_choice
from ordinate.errors import ArgumentError, DataError, MissingDataError, MissingExtraError
from ordinate.extras import install_command
from ordinate.verify.observation import Unsupported

__all__ = ["is_onnx", "onnx_function"]

_CONTRIB = "com.microsoft"
_INPUTS = {
    ("RotaryEmbedding", ""): ("x", "cos_cache", "sin_cache", "position_ids"),
    ("RotaryEmbedding", _CONTRIB): ("x", "position_ids", "cos_cache", "sin_cache"),
    ("Attention", ""): ("query", "key", "value", "attention_mask", "past_key", "past_value"),
}
"""What the inputs of an operator are, by its name and domain, in the names that the adapters know."""
_FLOATS = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}


def is_onnx(subject: Any) -> bool:
    """Whether a subject is an ONNX model in memory, `FILE.onnx` or `FILE.onnx:NODE`."""
    if isinstance(subject, str | Path):
        return str(subject).endswith(".onnx") or ".onnx:" in str(subject)
    return type(subject).__name__ == "ModelProto"


def onnx_function(subject: Any) -> Callable[..., Any]:
    """The function that a model or one of its nodes computes.

    Args:
        subject: a `ModelProto`, `FILE.onnx` or `FILE.onnx:NODE`, by the node's name, or its operator where there is one such.

    Returns:
        A function of numpy arrays whose parameters are the inputs. Its `table_rows` are the positions that constant tables of
        cosines have, or None.

    Raises:
        MissingExtraError: onnx or onnxruntime is not installed.
        MissingDataError: no such file.
        DataError: a file that is no ONNX model, or that onnxruntime does not run.
        UnknownNameError: no such node.
        ArgumentError: an operator that is none of a position or of attention.
    """
    for name in ("onnx", "onnxruntime"):
        if importlib.util.find_spec(name) is None:
            raise MissingExtraError(name, expected="installed", got="nothing", hint=install_command("onnx"))
    onnx: Any = importlib.import_module("onnx")
    model, node = subject, ""
    if isinstance(subject, str | Path):
        place, _, node = str(subject).partition(".onnx:")
        path = Path(place if place.endswith(".onnx") else place + ".onnx")
        if not path.is_file():
            raise MissingDataError("subject", expected="an ONNX file", got=str(path))
        try:
            model = onnx.load(str(path))
        except Exception as error:
            raise DataError("subject", expected="an ONNX model", got=f"{type(error).__name__}: {error}") from None
    return _Graph(onnx, _cut_out(onnx, model, node) if node else model).function()


class _Graph:
    """A model with one session, and what its inputs are."""

    def __init__(self, onnx: Any, model: Any) -> None:
        runtime: Any = importlib.import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.log_severity_level = 4  # what it raises says the same
        options.intra_op_num_threads = 1
        try:
            self.session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            says = " ".join(str(error).split())[:300]
            raise DataError("subject", expected="a model that onnxruntime runs", got=says) from None
        self.inputs = {one.name: one for one in self.session.get_inputs()}
        tables = [one.dims[0] for one in model.graph.initializer if "cos" in one.name.lower() and len(one.dims) == 2]
        self.table_rows = int(min(tables)) if tables else None

    def function(self) -> Callable[..., Any]:
        """A plain function, which needs no copies: a session has no state."""

        def call(**arrays: Any) -> Any:
            return self._run(arrays)

        names = [self._parameter(name) for name in self.inputs if name not in ("past_key", "past_value")]
        parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        call.table_rows = self.table_rows  # type: ignore[attr-defined]
        return call

    def _parameter(self, name: str) -> str:
        """One position for a row, which the contrib operator takes for its first token, is an offset."""
        return "offset" if name == "position_ids" and self.inputs[name].shape == [1] else name

    def _run(self, arrays: dict[str, Any]) -> Any:
        fed, heads = {}, None
        if "offset" in arrays and "offset" not in self.inputs:
            arrays["position_ids"] = np.array([arrays.pop("offset")])
        if "past_key" in self.inputs:
            arrays = _with_past(arrays)
        for name, array in arrays.items():
            asked, array = self.inputs[name], np.asarray(array)
            if asked.type in _FLOATS and array.dtype.kind == "f" and array.dtype != _FLOATS[asked.type]:
                raise Unsupported(f"its {name} is {asked.type.removeprefix('tensor(').rstrip(')')}, not {array.dtype}")
            if asked.type == "tensor(bool)":
                array = array.astype(bool)
            elif asked.type == "tensor(int64)":
                array = array.astype(np.int64)
            elif asked.type == "tensor(int32)":
                array = array.astype(np.int32)
            if name == "attention_mask" and array.ndim == 2:
                queries = arrays["query"].shape[-2]
                array = np.repeat(array[:, None, None], queries, axis=2)  # of keys, for every head and query
            if len(asked.shape) == 3 and array.ndim == 4:
                heads = heads or array.shape[1]
                array = np.swapaxes(array, 1, 2).reshape(array.shape[0], array.shape[2], -1)
            fed[name] = np.ascontiguousarray(array)
        try:
            answers = self.session.run(None, fed)
        except Exception as error:
            says = " ".join(str(error).split())[:300]
            raise DataError("subject", expected="a run of onnxruntime on these inputs", got=says) from None
        return [_unfolded(one, heads) for one in answers][0 if len(answers) != 2 else slice(None)]


def _unfolded(answer: Any, heads: int | None) -> Any:
    """[B, T, H D] as [B, H, T, D], where the inputs were folded so."""
    if heads is None or answer.ndim != 3:
        return answer
    return np.swapaxes(answer.reshape(*answer.shape[:2], heads, -1), 1, 2)


def _with_past(arrays: dict[str, Any]) -> dict[str, Any]:
    """Keys and values of tokens before the queries as the cache."""
    new = arrays["query"].shape[-2]
    old = arrays["key"].shape[-2] - new
    return {
        **arrays,
        "past_key": arrays["key"][..., :old, :],
        "past_value": arrays["value"][..., :old, :],
        "key": arrays["key"][..., old:, :],
        "value": arrays["value"][..., old:, :],
    }


def _cut_out(onnx: Any, model: Any, name: str) -> Any:
    """The model of one node and its constants."""
    nodes = [node for node in model.graph.node if node.name == name] or [
        node for node in model.graph.node if node.op_type == name
    ]
    known = [node.name for node in model.graph.node if (node.op_type, node.domain) in _INPUTS and node.name]
    if len(nodes) != 1:
        check_choice("subject", name, tuple(known))
    (node,) = nodes
    names = _INPUTS.get((node.op_type, node.domain))
    if names is None:
        raise ArgumentError(
            "subject", expected="a node RotaryEmbedding or Attention", got=f"{node.op_type} of {node.domain or 'ai.onnx'}"
        )
    helper, kinds = onnx.helper, onnx.TensorProto
    constants = _constants(onnx, model)
    inputs, initializers, renamed = [], [], []
    for place, of in enumerate(node.input):
        if not of:
            renamed.append("")
            continue
        role = names[place]
        renamed.append(role)
        if of in constants:
            tensor = kinds()
            tensor.CopyFrom(constants[of])
            tensor.name = role
            initializers.append(tensor)
            continue
        kind = kinds.INT64 if role == "position_ids" else kinds.BOOL if role == "attention_mask" else kinds.FLOAT
        rank = 2 if "cache" in role or role == "position_ids" else 4
        inputs.append(helper.make_tensor_value_info(role, kind, [None] * rank))
    alone = helper.make_node(node.op_type, renamed, ["output"], name=node.name, domain=node.domain)
    alone.attribute.extend(node.attribute)
    outputs = [helper.make_tensor_value_info("output", kinds.FLOAT, [None] * 4)]
    graph = helper.make_graph([alone], "node", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=list(model.opset_import), ir_version=min(model.ir_version, 11))


def _constants(onnx: Any, model: Any) -> dict[str, Any]:
    """Tensors by name that no input changes: initializers and Constant nodes."""
    found = {one.name: one for one in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            found[node.output[0]] = node.attribute[0].t
    return found
