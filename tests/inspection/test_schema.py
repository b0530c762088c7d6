"""The documented schema holds for what `to_dict` tells."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ordinate.inspection import inspect_config
from ordinate.inspection.records import SCHEMA
from tests.external import CONFIGS

ROOT = Path(__file__).resolve().parents[2]
TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "null": type(None),
}


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    text = (ROOT / "docs" / "inspect-schema.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```json\n(.*?)```", text, re.S)
    assert len(blocks) == 1
    told: dict[str, Any] = json.loads(blocks[0])
    return told


def violations(schema: Any, told: Any, root: dict[str, Any], at: str = "$") -> list[str]:
    """What of `told` breaks `schema`: the part of JSON Schema that the document uses, and no more."""
    if "$ref" in schema:
        return violations(root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], told, root, at)
    if "anyOf" in schema:
        tried = [violations(option, told, root, at) for option in schema["anyOf"]]
        return [] if not all(tried) else tried[0]
    known = {"$schema", "$defs", "type", "enum", "properties", "required", "additionalProperties", "items"}
    assert set(schema) <= known, f"the checker does not know {set(schema) - known}"
    found = []
    if "enum" in schema and told not in schema["enum"]:
        found.append(f"{at}: {told!r} is none of {schema['enum']}")
    if "type" in schema:
        names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        if not any(isinstance(told, TYPES[name]) and (name == "boolean" or not isinstance(told, bool)) for name in names):
            return [f"{at}: {type(told).__name__} is none of {names}"]
    if isinstance(told, dict):
        properties, extra = schema.get("properties", {}), schema.get("additionalProperties", True)
        found += [f"{at}: {name} is missing" for name in schema.get("required", []) if name not in told]
        for name, value in told.items():
            inner = properties.get(name, extra)
            if inner is False:
                found.append(f"{at}: {name} is not documented")
            elif isinstance(inner, dict):
                found += violations(inner, value, root, f"{at}.{name}")
    if isinstance(told, list) and "items" in schema:
        for index, value in enumerate(told):
            found += violations(schema["items"], value, root, f"{at}[{index}]")
    return found


def test_the_documented_name_is_the_one_that_is_told(schema: dict[str, Any]) -> None:
    assert schema["properties"]["schema"]["enum"] == [SCHEMA]


def test_the_checker_sees_what_is_missing_extra_or_of_another_type(schema: dict[str, Any]) -> None:
    told = inspect_config({"model_type": "llama"}).to_dict()
    del told["kind"]
    told["more"] = 1
    told["parts"][0]["name"] = 5
    found = violations(schema, told, schema)
    assert any("kind is missing" in line for line in found)
    assert any("more is not documented" in line for line in found)
    assert any("name: int" in line for line in found)


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"model_type": "llama", "rope_theta": float("nan")},
        {"model_type": "t5"},
        {"model_type": "whisper"},
        {"model_type": "qwen2_5_omni"},
        {"model_type": "deepseek_v4"},
        {"model_type": "jamba"},
        {"model_type": "never-heard-of"},
    ],
    ids=str,
)
def test_the_schema_holds_for_families_of_every_sort(schema: dict[str, Any], told: dict[str, Any]) -> None:
    answer = json.loads(json.dumps(inspect_config(told).to_dict(), allow_nan=False))
    assert violations(schema, answer, schema) == []


def test_the_schema_holds_for_every_shared_config(schema: dict[str, Any]) -> None:
    for path in sorted(CONFIGS.glob("*.json")):
        answer = json.loads(json.dumps(inspect_config(path).to_dict(), allow_nan=False))
        assert violations(schema, answer, schema) == [], path.name
