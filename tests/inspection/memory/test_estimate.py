"""The estimate as a whole: what fits, bounds, findings, bad input, and no heavy import."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ordinate.cli.app import app
from ordinate.errors import ArgumentError, RefusedError, UnknownNameError
from ordinate.inspection import estimate_memory

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "num_hidden_layers": 32,
    "intermediate_size": 14336,
    "max_position_embeddings": 8192,
    "torch_dtype": "bfloat16",
}


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["memory", *map(str, arguments)])


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    return path


@pytest.mark.parametrize("engine", ["transformers", "vllm", "llama.cpp"])
def test_the_longest_context_and_the_most_sequences_are_the_last_that_fit(engine: str) -> None:
    estimate = estimate_memory(LLAMA, context=4096, engine=engine)
    fit = estimate.fits(20 * 2**30)
    for limit, setting in ((fit.context, "context"), (fit.sequences, "sequences")):
        least, more = ({"context": 4096, setting: number} for number in (limit, limit + 1))
        assert estimate_memory(LLAMA, engine=engine, **least).total <= 20 * 2**30  # type: ignore[arg-type]
        assert estimate_memory(LLAMA, engine=engine, **more).total > 20 * 2**30  # type: ignore[arg-type]
    assert estimate.fits(1000).fits is False
    assert estimate.fits(1000).context == 0
    assert estimate.fits(20 * 2**30).fits is True
    unknown = estimate_memory({**LLAMA, "model_type": "xverse"}, context=4096, engine=engine)
    assert unknown.at_least
    assert unknown.fits(20 * 2**30).fits is None


def test_keys_and_values_may_be_of_two_types() -> None:
    both = estimate_memory(LLAMA, engine="llama.cpp", cache_type="q8_0", value_cache_type="q4_0").size_of("cache")
    assert both == 32 * 8192 * 1024 * (34 + 18) // 32


def test_a_window_keeps_what_each_program_keeps() -> None:
    config = {**LLAMA, "model_type": "mistral", "sliding_window": 1024}
    sizes = {
        engine: estimate_memory(config, engine=engine).size_of("cache") for engine in ("transformers", "vllm", "llama.cpp")
    }
    token = 32 * 2 * 1024 * 2
    assert sizes["transformers"] == 1023 * token
    assert sizes["llama.cpp"] == (1024 + 512) * token
    assert sizes["vllm"] == 8192 // 16 * 16 * token + 16 * token


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"sequences": 0}, ArgumentError, "sequences: expected an integer from 1"),
        ({"context": 0}, ArgumentError, "context: expected an integer from 1"),
        ({"cache_type": "q9"}, UnknownNameError, "cache_type: expected one of"),
        ({"cache_type": "q8_0", "engine": "vllm"}, RefusedError, "a type that vllm keeps a cache in"),
        ({"engine": "llama-cpp"}, UnknownNameError, 'did you mean "llama.cpp"'),
        ({"batch": -1}, ArgumentError, "batch"),
    ],
)
def test_bad_input_is_one_clear_line(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        estimate_memory(LLAMA, **options)
    silent = {key: value for key, value in LLAMA.items() if key != "max_position_embeddings"}
    with pytest.raises(ArgumentError, match="context"):
        estimate_memory({**silent, "model_type": "brand-new"})


def test_a_context_past_the_claim_is_a_finding_and_exit_1(config: Path) -> None:
    result = run(config, "--context", "16k", "--json")
    answer = json.loads(result.stdout)
    assert result.exit_code == 1
    assert [finding["id"] for finding in answer["findings"]] == ["context-past-claim"]
    assert run(config, "--context", "8k").exit_code == 0


def test_what_does_not_fit_is_exit_1_and_says_what_would(config: Path) -> None:
    result = run(config, "--fits", "1GiB", "--engine", "llama.cpp")
    assert result.exit_code == 1
    for words in ("it does not fit", "longest context", "a cache of q4_0"):
        assert words in result.stdout


@pytest.mark.parametrize("options", [["--fits", "lots"], ["--sequences", "none"], ["--context", "-1"], ["--engine", "mlx"]])
def test_wrong_use_is_exit_2_in_one_line(config: Path, options: list[str]) -> None:
    result = run(config, *options)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


def test_the_bar_is_drawn(config: Path, tmp_path: Path) -> None:
    result = run(config, "--figure", tmp_path / "memory.svg")
    assert result.exit_code == 0, result.output
    assert "full attention" in (tmp_path / "memory.svg").read_text() or "<svg" in (tmp_path / "memory.svg").read_text()


def test_an_estimate_imports_nothing_heavy(config: Path) -> None:
    code = (
        "import sys; from ordinate.inspection import estimate_memory; estimate_memory(sys.argv[1]);"
        "print([name for name in ('torch', 'numpy', 'matplotlib', 'safetensors') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(config)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
