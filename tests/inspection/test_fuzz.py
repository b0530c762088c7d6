"""Mutated configs and GGUF headers: an answer without NaN or one of the package's errors, in little time and memory."""

from __future__ import annotations

import copy
import io
import json
import random
import resource
import struct
import time
from pathlib import Path
from typing import Any

import pytest

from ordinate.errors import OrdinateError
from ordinate.inspection import estimate_memory, extend, inspect_config, inspect_document
from ordinate.inspection.families.llama_cpp import ARCHITECTURES
from ordinate.inspection.files import Document
from ordinate.inspection.gguf_header import read_header
from tests.external import CASES

CONFIGS = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((CASES / "configs").glob("*.json"))]
CONFIGS += [
    {"_class_name": "FluxTransformer2DModel", "axes_dims_rope": [16, 56, 56], "num_layers": 2, "attention_head_dim": 128},
    {"_class_name": "CosmosTransformer3DModel", "rope_scale": [2.0, 1.0, 1.0], "num_attention_heads": 16},
    {"model_type": "hymba", "hidden_size": 1600, "num_attention_heads": 25, "num_hidden_layers": 4, "kv_reuse_group": [[1, 2]]}
    | {"rope": True, "rope_type": "ntk", "rope_theta": 1e4, "orig_max_position_embeddings": 2048, "mamba_expand": 2},
    {"model_type": "dots3_note_text", "per_layer_config": {"2": {"kv_lora_rank": 256, "qk_rope_head_dim": 64}}},
    {"model_type": "inkling2_loop_text", "loop_layer_index_start": 1, "loop_layer_index_end": 3, "loop_num_passes": 3},
    {"model_type": "plamo2", "mamba_step": 2, "full_attention_idx": [1], "num_hidden_layers": 4, "hidden_size": 64},
    {"model_type": "seamless_m4t", "position_embeddings_type": "rotary"},
    {"model_type": "whisper", "encoder_layers": 2, "decoder_layers": 2, "d_model": 64, "max_source_positions": 1500},
]
SECONDS, MEGABYTES = 2.0, 500
JUNK: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63, 10**30, 1e308, 1e-308, 0.5, -0.5, 1.5, "", "NaN", "inf", "4"),
    *([], [1], [1.0, 2.0], ["full_attention"], [[1]], {}, {"a": 1}, {"rope_type": "yarn"}, "llama", "yarn", "<script>"),
]
KEYS = [
    *("rope_theta", "rope_scaling", "rope_parameters", "head_dim", "layer_types", "block_configs", "num_key_value_heads"),
    *("model_type", "architectures", "text_config", "max_position_embeddings", "partial_rotary_factor", "sliding_window"),
]
GGUF_KEYS = [
    *("block_count", "embedding_length", "attention.head_count", "attention.head_count_kv", "context_length"),
    *("rope.freq_base", "rope.dimension_count", "attention.sliding_window", "rope.scaling.type", "rope.scaling.factor"),
    *("attention.kv_lora_rank", "attention.key_length", "ssm.inner_size", "full_attention_interval"),
    *("attention.shared_kv_layers", "rope.dimension_sections"),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value[:4]) if isinstance(value, list) else ()
    inner = [(*path, key) for key, _ in items]
    return inner + [place for key, item in items for place in places(item, (*path, key))]


def mutated(config: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    config = copy.deepcopy(config)
    for _ in range(draw.randint(1, 4)):
        paths = places(config)
        path = draw.choice(paths) if paths and draw.random() < 0.7 else (draw.choice(KEYS),)
        place: Any = config
        for key in path[:-1]:
            place = place[key]
        if draw.random() < 0.15 and isinstance(place, dict):
            place.pop(path[-1], None)
        else:
            place[path[-1]] = copy.deepcopy(draw.choice(JUNK))
    return config


def check_message(error: OrdinateError) -> None:
    assert "\n" not in str(error)
    assert len(str(error)) < 700


def check_config(config: dict[str, Any], draw: random.Random) -> None:
    text = json.dumps(config)
    document = Document("config.json", None, config=json.loads(text), text=text)
    inspection = inspect_document(document)
    answer = json.dumps(inspection.to_dict(), allow_nan=False)
    assert "nan" not in {part.strip('" ') for part in answer.split(":")}
    severities = {finding.severity for finding in inspection.findings}
    assert (inspection.severity is None) == (not severities)
    for part in inspection.parts:
        if part.cache is not None and part.cache.bytes_per_token.known:
            assert part.cache.bytes_per_token.value >= 0
    try:
        json.dumps(estimate_memory(document, context=draw.choice([1, 4096, 10**6])).to_dict(), allow_nan=False)
        json.dumps(extend(document, inspection, draw.choice([1, 8192, 10**6])).to_dict(), allow_nan=False)
    except OrdinateError as error:
        check_message(error)


def header_bytes(draw: random.Random) -> bytes:
    """A header of some architecture, then bent: values of other types, counts that cannot be, bytes flipped, an early end."""
    name = draw.choice(sorted(ARCHITECTURES))

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    entries = [text("general.architecture") + struct.pack("<I", 8) + text(name)]
    for key in GGUF_KEYS:
        kind = draw.choice([4, 4, 4, 6, 8, 7, 9, 12, 5])
        value = {
            4: lambda: struct.pack("<I", draw.choice([0, 1, 2, 8, 32, 64, 128, 4096, 2**31])),
            5: lambda: struct.pack("<i", draw.choice([-1, 4, 2**30])),
            6: lambda: struct.pack("<f", draw.choice([1e4, 5e5, 0.0, float("nan"), float("inf"), -1.0])),
            7: lambda: struct.pack("<B", 1),
            8: lambda: text(draw.choice(["yarn", "linear", "longrope", "x"])),
            9: lambda: struct.pack("<IQ", 4, 4) + struct.pack("<4I", *(draw.choice([0, 1, 8, 64]) for _ in range(4))),
            12: lambda: struct.pack("<d", draw.choice([1e4, 1e300, -0.0])),
        }[kind]()
        entries.append(text(f"{name}.{key}") + struct.pack("<I", kind) + value)
    data = bytearray(struct.pack("<IQQ", 3, 0, len(entries)) + b"".join(entries))
    for _ in range(draw.choice([0, 0, 1, 2, 8])):
        data[draw.randrange(len(data))] = draw.randrange(256)
    return bytes(data[: draw.choice([len(data), len(data), draw.randrange(len(data))])])


def check_header(data: bytes) -> None:
    header = read_header(io.BytesIO(data), "model.gguf")
    document = Document("model.gguf", None, header=header)
    inspection = inspect_document(document)
    json.dumps(inspection.to_dict(), allow_nan=False)
    try:
        json.dumps(estimate_memory(document, context=4096).to_dict(), allow_nan=False)
        extend(document, inspection, 10**6)
    except OrdinateError as error:
        check_message(error)


def run(cases: int, seed: int) -> None:
    draw = random.Random(seed)
    slowest = 0.0
    for number in range(cases):
        started = time.process_time()
        try:
            if number % 2:
                check_header(header_bytes(draw))
            else:
                check_config(mutated(draw.choice(CONFIGS), draw), draw)
        except OrdinateError as error:
            check_message(error)
        slowest = max(slowest, time.process_time() - started)
    assert slowest < SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 < MEGABYTES + 1500  # the test run itself imports torch


def test_a_few_hundred_bent_files_are_read_or_refused() -> None:
    run(400, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_thousand_bent_files_are_read_or_refused(seed: int) -> None:
    run(10_000, 100 + seed)


def test_what_is_drawn_escapes_what_came_from_the_file(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    from ordinate.inspection.figure import write_html

    config = {"model_type": "<script>alert(1)</script>", "hidden_size": 64, "num_attention_heads": 4, "rope_theta": 1e4}
    write_html(inspect_config({**config, "num_hidden_layers": 2}, name="<b>x</b>"), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>" not in page
    assert "<b>x</b>" not in page
