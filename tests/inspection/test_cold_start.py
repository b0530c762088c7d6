"""A reading starts in a blink: no heavy import, and few times the cost of starting Python."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

TOLD = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "rope_theta": 500000.0,
    "max_position_embeddings": 8192,
}
READ = "import sys; from ordinate.inspection import inspect_config; inspect_config(sys.argv[1]).to_dict()"
HEAVY = ("torch", "numpy", "matplotlib", "jinja2", "scipy", "typer", "rich", "importlib.metadata")


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(TOLD), encoding="utf-8")
    return str(path)


def test_a_reading_imports_nothing_heavy(config: str) -> None:
    code = f"{READ}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code, config], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def processor_seconds(*arguments: str) -> float:
    """Median over five runs; processor time, which other work on the machine does not stretch as it does the clock."""
    spent = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(spent)


def test_a_reading_costs_less_than_twenty_bare_starts(config: str) -> None:
    assert processor_seconds("-c", READ, config) < 20 * processor_seconds("-c", "pass")
