"""What a file is, by its beginning, and that messages name it."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save
from typer.testing import CliRunner

from ordinate.cli.app import app
from ordinate.file_kinds import kind_of_bytes, kind_of_file


def npy() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.zeros(3))
    return stream.getvalue()


def zipped() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a", "b")
    return stream.getvalue()


def pickled() -> bytes:
    stream = io.BytesIO()
    torch.save({"a": 1}, stream, _use_new_zipfile_serialization=False)
    return stream.getvalue()


FILES = {
    "a.npy": (npy(), "a NumPy array (.npy)"),
    "a.safetensors": (save({"a": np.zeros(3)}), "a safetensors file"),
    "a.zip": (zipped(), "a zip archive"),
    "a.json.gz": (gzip.compress(b"{}"), "a gzip file"),
    "a.pt": (pickled(), "a PyTorch file"),
    "b.pt": (zipped(), "a PyTorch file"),
    "a.pkl": (pickled(), "a pickle"),
    "a.xlsx": (zipped(), "an Excel workbook"),
    "a.7z": (b"7z\xbc\xaf\x27\x1c" + bytes(32), "a 7z archive"),
    "a.onnx": (b"\x08\x07\x12\x07pytorch" + bytes(32), "an ONNX model"),
    "a.db": (b"SQLite format 3\0" + bytes(32), "a SQLite database"),
    "a.parquet": (b"PAR1" + bytes(32), "a Parquet file"),
    "a.bin": (bytes(range(256)), "a binary file of an unknown kind"),
    "a.graphml": (b'<?xml version="1.0"?><graphml></graphml>', "GraphML"),
    "page": (b"<!doctype html>", "XML or HTML"),
    "a.tsv": (b"pre\tpost\n1\t2\n", "a table (tsv)"),
    "a.csv": (b"pre,post\n1,2\n", "a table (csv)"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("words", [["inspect"], ["logic", "run"], ["memory"]], ids=" ".join)
def test_a_message_names_what_it_found(name: str, words: list[str], tmp_path: Path) -> None:
    content, kind = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    assert kind_of_file(path) == kind
    done = CliRunner().invoke(app, [*words, str(path)])
    assert done.exit_code == 2
    assert done.stderr.endswith(f", got {kind}\n") or f", got {kind};" in done.stderr


def test_what_says_nothing_is_not_guessed(tmp_path: Path) -> None:
    assert kind_of_bytes(b"") is None
    assert kind_of_bytes(b"hello") is None
    assert kind_of_file(tmp_path) == "a folder"
    assert kind_of_file(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["inspect", "https://huggingface.co/Qwen/Qwen3-8B/blob/main/config.json"], "pass Qwen/Qwen3-8B, its id on the hub"),
        (["inspect", "https://example.org/config.json"], "got a web address; download it first"),
        (["inspect", "hf://Qwen/Qwen3-8B"], "pass Qwen/Qwen3-8B, its id on the hub"),
        (["inspect", "file:///models/config.json"], "pass /models/config.json, its path"),
        (["inspect", ""], "FILE: expected a file, a directory or an id on the hub, got an empty name"),
        (["verify", "math:sin", "--layout", "neox"], "got 'neox'; did you mean \"half\"?"),
        (["verify", "math:sin", "--layout", "gpt-j"], "got 'gpt-j'; did you mean \"interleaved\"?"),
        (["verify", "math:sin", "--kind", "RoPE"], "got 'RoPE'; did you mean \"rotary\"?"),
        (["extend", "FILE", "--to", "256k", "--method", "YaRN"], "got 'YaRN'; did you mean \"yarn\"?"),
        (["extend", "FILE", "--to", "256k", "--dialect", "llamacpp"], "got 'llamacpp'; did you mean \"llama.cpp\"?"),
        (["memory", "FILE", "--figure", "x.jpgg"], "--figure: expected a name that ends in .png, .svg or .pdf"),
        (["lab", "A99"], "A has A1 to A8; `ordinate lab --list` shows them all"),
        (["lab", "--claims", "FILE"], "model.json, JSON"),
        (["golden", "mine.py:rope"], "to check code of your own: ordinate verify"),
        (["inspect", "mine.py:rope"], "to check code: ordinate verify"),
        (["verify", "mine.py"], "such as mine.py:NAME, with the name of a function or class in it"),
        (["reservoir", "show", "--data", "TWICE"], "pass --duplicates sum where counts are split"),
        (["golden", "rotery"], 'CASE: expected a case of `ordinate golden --list`, got rotery; did you mean "rotary-'),
        (["verify", "nofile.py:rope"], "SUBJECT: expected a Python file, got nofile.py, no such file"),
        (["memory", "FILE", "--fits", "24"], "--fits: expected a size with its unit, got 24 bytes; such as 24GiB"),
        (["memory", "FILE", "--engine", "vlmm"], "--engine: expected one of transformers, vllm, llama.cpp, got 'vlmm'"),
        (["choose", "--trained", "1k", "--needed", "many"], "--needed: expected a whole number such as 131072"),
        (["sweep", "--encoding", "roope", "--quick"], "--encoding: expected one of"),
        (["reservoir", "laterality", "--null", "foo", "--draws", "1"], "--nulls: expected one of"),
        (["lab", "A1", "--data", "nowhere"], "--data: expected a folder"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)  # fmt: skip
def test_a_message_speaks_of_what_was_typed(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = Path(__file__).parents[1] / "docs" / "examples" / "model.json"
    (tmp_path / "twice.csv").write_text("pre,post\na,b\na,b\n")
    files = {"FILE": str(model), "TWICE": "twice.csv"}
    done = CliRunner().invoke(app, [files.get(word, word) for word in words])
    assert done.exit_code == 2
    assert said in done.stderr
