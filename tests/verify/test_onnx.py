"""ONNX operators and files as subjects: right ones pass, wrong ones are named, what a file cannot be asked says why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ordinate.errors import ArgumentError, DataError, MissingDataError, UnknownNameError
from ordinate.verify import check_attention, check_rotary
from ordinate.verify.isolation import check_in_process

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
OPSETS = [onnx.helper.make_opsetid("", 23), onnx.helper.make_opsetid("com.microsoft", 1)]
FEW = ["linear", "layout", "frequencies", "by-position", "prefill-equals-decode", "left-padding", "packing", "far-positions"]


def value(name: str, rank: int) -> Any:
    kind = {"position_ids": "INT64", "attention_mask": "BOOL"}.get(name, "FLOAT")
    return onnx.helper.make_tensor_value_info(name, getattr(onnx.TensorProto, kind), [None] * rank)


def model(nodes: list[Any], inputs: list[Any], rank: int = 4, constants: dict[str, Any] | None = None, opsets=OPSETS) -> Any:
    kept = [onnx.numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = onnx.helper.make_graph(nodes, "rope", inputs, [value("y", rank)], kept)
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)


def rotary(
    domain: str = "", *, shift: int = 0, rank: int = 4, tables: bool = True, start: bool = False, **attributes: Any
) -> Any:
    """A graph of one RotaryEmbedding, perhaps behind an addition to its positions; `start` takes that of the first token."""
    theta = np.outer(np.arange(4200), 10000.0 ** -(np.arange(0, 64, 2) / 64))
    constants = {"cos_cache": np.cos(theta).astype("f"), "sin_cache": np.sin(theta).astype("f")} if tables else {}
    inputs = [value("x", rank), value("position_ids", 2), *([] if tables else [value("cos_cache", 2), value("sin_cache", 2)])]
    at = "position_ids"
    nodes = []
    if shift:
        constants["shift"], at = np.array(shift), "moved"
        nodes = [onnx.helper.make_node("Add", ["position_ids", "shift"], ["moved"])]
    order = ["x", at, "cos_cache", "sin_cache"] if domain else ["x", "cos_cache", "sin_cache", at]
    if start:
        inputs[1] = onnx.helper.make_tensor_value_info("position_ids", onnx.TensorProto.INT64, [1])
    heads = {"num_heads": 4} if rank == 3 else {}
    node = onnx.helper.make_node("RotaryEmbedding", order, ["y"], domain=domain, name="turn", **heads, **attributes)
    return model([*nodes, node], inputs, rank, constants)


def attention(*, past: bool = False, mask: bool = False, opset: int = 23, **attributes: Any) -> Any:
    names = ["query", "key", "value", "attention_mask" if mask else "", *(["past_key", "past_value"] if past else [])]
    outputs = ["y", *(["present_key", "present_value"] if past else [])]
    node = onnx.helper.make_node("Attention", names, outputs, name="attend", **attributes)
    return model([node], [value(name, 4) for name in names if name], opsets=[onnx.helper.make_opsetid("", opset)])


RIGHT = {
    "opset 23": (rotary(), "half"),
    "opset 23, interleaved": (rotary(interleaved=1), "interleaved"),
    "contrib": (rotary("com.microsoft"), "half"),
    "contrib, heads side by side": (rotary("com.microsoft", rank=3, interleaved=1), "interleaved"),
    "contrib, from a start": (rotary("com.microsoft", start=True), "half"),
    "tables as inputs": (rotary(tables=False), "half"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_rotation_passes(name):
    graph, layout = RIGHT[name]
    verdict = check_rotary(graph, layout=layout)
    assert verdict.passed, verdict
    for asked in ("gradients", "compile"):
        assert verdict.outcome(asked).status == "not applicable"
        assert "torch" in verdict.outcome(asked).evidence
    assert verdict.outcome("half-precision").status == "not applicable"


@pytest.mark.parametrize(
    ("graph", "stated", "cause"),
    [
        (rotary(shift=1), {}, "starts-at-one"),
        (rotary(interleaved=1), {"layout": "half"}, "other-layout"),
        (rotary("com.microsoft"), {"base": 500000.0}, "base-ignored"),
    ],
)
def test_a_wrong_rotation_is_named(graph, stated, cause):
    verdict = check_rotary(graph, only=FEW, **stated)
    assert [one.id for one in verdict.causes] == [cause]


@pytest.mark.parametrize("opset", [23, 24])
def test_attention_with_a_cache_passes(opset):
    verdict = check_attention(attention(past=True, opset=opset, is_causal=1), encoding="none")
    assert verdict.passed, verdict


@pytest.mark.parametrize(
    ("attributes", "cause"),
    [
        # without a cache ONNX aligns its causal mask with the first key, which no decoding can use
        ({"is_causal": 1}, "mask-from-the-top-left"),
        ({"is_causal": 1, "mask": True}, "mask-from-the-top-left"),
        ({"is_causal": 0}, "sees-everything"),
        ({"is_causal": 1, "past": True, "scale": 1.0}, "scale-missing"),
    ],
)
def test_wrong_attention_is_named(attributes, cause):
    verdict = check_attention(attention(**attributes), encoding="none")
    assert verdict.causes[0].id == cause, verdict


def test_a_node_of_a_larger_file_is_cut_out_with_its_constants(tmp_path):
    inside = rotary()
    before = onnx.helper.make_node("Mul", ["hidden", "hidden"], ["x"], name="before")
    graph = inside.graph
    graph.node.insert(0, before)
    del graph.input[0]
    graph.input.insert(0, value("hidden", 4))
    onnx.save(inside, tmp_path / "whole.onnx")
    assert check_rotary(f"{tmp_path}/whole.onnx:turn", only=FEW).passed
    request = {"subject": f"{tmp_path}/whole.onnx:RotaryEmbedding", "kind": "rotary", "settings": {"only": FEW}}
    assert check_in_process(request, seconds=100).passed
    with pytest.raises(UnknownNameError, match="turn"):
        check_rotary(f"{tmp_path}/whole.onnx:turns")
    with pytest.raises(MissingDataError, match="ONNX"):
        check_rotary(f"{tmp_path}/nowhere.onnx")
    with pytest.raises(ArgumentError, match="cpu for an ONNX model"):
        check_rotary(f"{tmp_path}/whole.onnx:turn", device="meta")
    (tmp_path / "text.onnx").write_text("no model")
    with pytest.raises(DataError, match="ONNX"):
        check_rotary(f"{tmp_path}/text.onnx")
