"""Real configs: every fact of the shared table comes out of the raw file.

The table (`configs/facts.csv` of the external data, fourteen rows of it in `tests/cases`) was made by hand and checked against
transformers, not from this reader.
"""

from __future__ import annotations

import csv
import math
from typing import Any

import pytest

from ordinate.inspection import inspect_config
from ordinate.inspection.records import Inspection, LayerKind
from tests.external import CONFIGS, needs

TABLE = CONFIGS / "facts.csv"
FACTS = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines()))

RULES = {"default": "none", "dynamic-ntk(qwen1)": "stepped-ntk"}
"""The table writes "default" where transformers does, and names the first Qwen's rule by its family."""


def told(inspection: Inspection) -> dict[str, Any]:
    """What the reader says, under the table's column names; the row is about the first kind of layer that rotates."""
    layers = inspection.layers
    layer: LayerKind = next((one for one in layers if one.rotation is not None), layers[0])
    turn = layer.rotation
    frequencies = turn.inverse_frequencies() if turn is not None else None
    settings = turn.settings if turn is not None else {}
    return {
        "kind": inspection.kind,
        "layout": None if turn is None else turn.layout.value,
        "rotary_dim": None if turn is None else turn.rotary_dim.value,
        "head_dim": layer.attention.head_dim.value,
        "theta": None if turn is None else turn.base.value,
        "scaling_type": None if turn is None else turn.rule.value,
        "scaling_factor": settings["factor"].value if "factor" in settings else None,
        "original_context": settings["original_context"].value if "original_context" in settings else None,
        "claimed_context": inspection.contexts.claimed.value,
        "n_heads": layer.attention.num_heads.value,
        "n_kv_heads": layer.attention.num_kv_heads.value,
        "n_layers": inspection.main.num_layers.value,
        "inv_freq_first": frequencies[0] if frequencies else None,
        "inv_freq_last": frequencies[-1] if frequencies else None,
        "attention_factor": None if turn is None else turn.cos_sin_factor,
    }


def agrees(column: str, fact: str, value: Any) -> bool:
    if column == "layout" and fact == "unknown":
        return value is None
    if column == "scaling_type":
        return RULES.get(fact, fact) == value
    try:
        number = float(fact)
    except ValueError:
        return fact == value
    return value is not None and math.isclose(number, float(value), rel_tol=1e-6)


@needs("configs")
def test_the_table_has_all_107_files() -> None:
    assert len(FACTS) == 107


@pytest.mark.parametrize("row", FACTS, ids=lambda row: row["file"])
def test_every_fact_that_applies_comes_out(row: dict[str, str]) -> None:
    value = told(inspect_config(CONFIGS / row["file"]))
    wrong = {name: (row[name], value[name]) for name in value if row[name] and not agrees(name, row[name], value[name])}
    assert wrong == {}


SILENT = [row for row in FACTS if row["kind"] == "rope" and not row["theta"]]


@pytest.mark.parametrize("row", SILENT, ids=lambda row: row["file"])
def test_what_the_file_cannot_tell_is_unknown(row: dict[str, str]) -> None:
    turn = inspect_config(CONFIGS / row["file"]).layers[0].rotation
    assert turn is not None
    assert not turn.base.known or not turn.rotary_dim.known
    assert turn.inverse_frequencies() is None


SECTIONS = {
    "GLM-4.1V.json": ([8, 12, 12], "sections"),
    "Qwen2.5-Omni.json": ([16, 24, 24], "sections"),
    "Qwen2.5-VL-3B.json": ([16, 24, 24], "sections"),
    "Qwen3-VL-4B.json": ([24, 20, 20], "interleaved"),
    "Qwen3-VL-4b-eagle3-bothtypes.json": ([24, 20, 20], "interleaved"),
}
"""Of the table's notes: pairs for each axis, and whether the axes alternate."""


@needs("configs")
@pytest.mark.parametrize("name", SECTIONS)
def test_the_sections_of_several_axes_come_out(name: str) -> None:
    turn = inspect_config(CONFIGS / name).layers[0].rotation
    assert turn is not None
    assert turn.sections is not None
    assert (turn.sections.value, turn.sharing) == SECTIONS[name]


EXPECTED_FINDINGS = {
    "MiniCPM-V-4.json": {"digits-mistyped", "original-above-claimed"},
    "Mixtral-EAGLE-arch-mismatch.json": {"class-contradicts-type"},
    "Phi-4-mini-reasoning.json": {"model-type-unknown"},
    "LWM-Text-Chat-1M.json": {"name-promises-more"},
    "modernbert-cls.json": {"position-type-misleads"},
    "jina-embeddings-v2-base-en.json": {"stock-class-ignores-position-type"},
    "c4ai-command-r-v01.json": {"contexts-disagree"},
    "Qwen2.5-VL-eagle3-mrope.json": {"sections-ignored"},
    "Qwen3-VL-4b-eagle3-bothtypes.json": {"sections-ignored"},
    "GLM-4.1V.json": {"transformers-ignores-flat-text"},
    "gemma-3-1b-it.json": {"transformers-ignores-flat-text"},
}
"""Files whose notes name something suspicious; all the others must raise no warning."""


@pytest.mark.parametrize("row", FACTS, ids=lambda row: row["file"])
def test_warnings_come_where_the_notes_say_and_nowhere_else(row: dict[str, str]) -> None:
    found = {finding.id for finding in inspect_config(CONFIGS / row["file"]).findings if finding.severity != "info"}
    assert found == EXPECTED_FINDINGS.get(row["file"], set())


@needs("configs")
def test_the_parts_of_a_model_that_sees_hears_and_talks_are_told_apart() -> None:
    parts = {part.name: part for part in inspect_config(CONFIGS / "Qwen2.5-Omni.json").parts}
    assert parts["text"].path == "thinker_config.text_config"
    assert (parts["text"].kind, parts["vision"].kind, parts["audio"].kind) == ("mrope", "rope2d", "sinusoidal")
    assert parts["talker"].layers[0].attention.num_heads.value == 12
    assert len(parts["vision"].layers) == 2  # windows in all but four layers
    assert parts["vision"].layers[0].indices == (7, 15, 23, 31)


@needs("configs")
def test_layers_that_do_not_rotate_are_told_apart() -> None:
    layers = {layer.name: layer for layer in inspect_config(CONFIGS / "EXAONE-4.0-32B.json").layers}
    assert layers["sliding attention"].kind == "rope"
    assert layers["full attention"].kind == "none"
    assert layers["full attention"].indices == tuple(range(3, 64, 4))
    assert layers["sliding attention"].window_keys.value == 4096


def test_no_value_of_any_part_comes_without_provenance() -> None:
    for row in FACTS:
        for _, layer in inspect_config(CONFIGS / row["file"]).walk():
            for encoding in layer.encodings:
                assert encoding.kind.detail, row["file"]
                if encoding.rotation is not None:
                    turn = encoding.rotation
                    for value in (turn.layout, turn.base, turn.rotary_dim, turn.head_dim, turn.rule, *turn.settings.values()):
                        assert value.detail, row["file"]
                        assert value.known or value.value is None
