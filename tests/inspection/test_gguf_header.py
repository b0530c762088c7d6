"""The header reader against the package `gguf`, which writes the files and reads them back as witness."""

from __future__ import annotations

import functools
import io
import resource
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.errors import DataError
from ordinate.inspection.files import read_document
from ordinate.inspection.gguf_header import MAGIC, Header, Skipped, read_header

gguf = pytest.importorskip("gguf")

SCALARS: dict[str, tuple[str, Any]] = {
    "llama.uint8": ("add_uint8", 200),
    "llama.int8": ("add_int8", -100),
    "llama.uint16": ("add_uint16", 60_000),
    "llama.int16": ("add_int16", -30_000),
    "llama.block_count": ("add_uint32", 4_000_000_000),
    "llama.int32": ("add_int32", -2_000_000_000),
    "llama.rope.freq_base": ("add_float32", 500_000.0),
    "llama.bool": ("add_bool", True),
    "llama.name": ("add_string", "Größe 型"),
    "llama.uint64": ("add_uint64", 2**63),
    "llama.int64": ("add_int64", -(2**62)),
    "llama.float64": ("add_float64", 1.1),
    "llama.attention.head_count_kv": ("add_array", [8, 0, 8]),
    "llama.flags": ("add_array", [True, False]),
}
DIVISORS = np.array([1.0, 1.5, 8.0], dtype=np.float32)


def written(path: Path, *, big_endian: bool = False, tokens: int = 1000) -> Path:
    order = gguf.GGUFEndian.BIG if big_endian else gguf.GGUFEndian.LITTLE
    writer = gguf.GGUFWriter(path, "llama", endianess=order)
    writer.add_token_list([f"token {index}" for index in range(tokens)])
    writer.add_token_scores([0.0] * tokens)
    for key, (method, value) in SCALARS.items():
        getattr(writer, method)(key, value)
    writer.add_tensor("blk.0.attn_q.weight", np.ones((64, 32), dtype=np.float16))
    writer.add_tensor("rope_freqs.weight", DIVISORS)
    writer.add_tensor("output.weight", np.ones((7, 32), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def header_of(path: Path) -> Header:
    header = read_document(path).header
    assert header is not None
    return header


@pytest.mark.parametrize("big_endian", [False, True], ids=["little", "big"])
def test_every_value_is_what_the_witness_reads(tmp_path: Path, big_endian: bool) -> None:
    path = written(tmp_path / "model.gguf", big_endian=big_endian)
    header, witness = header_of(path), gguf.GGUFReader(path)
    assert (header.version, header.byte_order) == (3, "big" if big_endian else "little")
    fields = {key: field.contents() for key, field in witness.fields.items() if not key.startswith("GGUF.")}
    assert list(header.metadata) == list(fields)
    for key, value in header.metadata.items():
        if isinstance(value, Skipped):
            assert (key.startswith("tokenizer."), value.items) == (True, len(fields[key]))
        else:
            assert value == fields[key]
            assert type(value) is type(fields[key])
    assert header.num_tensors == len(witness.tensors)
    by_name = {tensor.name: tensor for tensor in witness.tensors}
    for name, tensor in header.tensors.items():
        assert tensor.shape == tuple(by_name[name].shape.tolist())
        assert tensor.ggml_type == int(by_name[name].tensor_type)
    assert header.tensors["rope_freqs.weight"].values == tuple(DIVISORS.tolist())
    assert "output.weight" not in header.tensors  # says nothing about position


def test_version_2_reads_like_version_3(tmp_path: Path) -> None:
    path = written(tmp_path / "model.gguf")
    expected = header_of(path)
    data = bytearray(path.read_bytes())
    data[4:8] = struct.pack("<I", 2)
    path.write_bytes(data)
    header = header_of(path)
    assert (header.version, header.metadata, header.tensors) == (2, expected.metadata, expected.tensors)


def test_version_1_counts_with_32_bits(tmp_path: Path) -> None:
    def text(value: str) -> bytes:
        return struct.pack("<I", len(value)) + value.encode()

    body = MAGIC + struct.pack("<III", 1, 1, 3)  # one tensor, three keys
    body += text("general.architecture") + struct.pack("<I", 8) + text("llama")
    body += text("tokenizer.ggml.tokens") + struct.pack("<III", 9, 8, 2) + text("a") + text("bc")
    body += text("llama.block_count") + struct.pack("<II", 4, 32)
    body += text("output.weight") + struct.pack("<IIIIQ", 2, 4, 5, 0, 0)
    body += bytes(-len(body) % 32) + bytes(4 * 20)
    path = tmp_path / "old.gguf"
    path.write_bytes(body)
    header = header_of(path)
    assert header.version == 1
    assert header.metadata["llama.block_count"] == 32
    assert header.metadata["tokenizer.ggml.tokens"] == Skipped("array of strings", 2)


def test_a_file_cut_anywhere_is_refused_in_one_line(tmp_path: Path) -> None:
    whole = written(tmp_path / "model.gguf", tokens=20).read_bytes()
    path = tmp_path / "cut.gguf"
    for length in [*range(0, len(whole) - 7 * 32 * 4, 23), len(whole) - 1 - 4096]:
        path.write_bytes(whole[:length])
        with pytest.raises(DataError) as caught:
            read_document(path)
        assert "\n" not in str(caught.value)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"where tensors reach to byte|in the middle of the header"):
        read_document(path)


def body(*parts: bytes) -> io.BytesIO:
    return io.BytesIO(b"".join(parts))


def key(name: str) -> bytes:
    return struct.pack("<Q", len(name)) + name.encode()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (struct.pack("<IQQ", 3, 0, 2**60), "at most 65,536 keys"),
        (struct.pack("<IQQ", 3, 2**60, 0), "at most 1,048,576 tensors"),
        (struct.pack("<IQQ", 9, 0, 0), "version 1, 2 or 3, got 9"),
        (struct.pack("<IQQ", 0, 0, 0), "version 1, 2 or 3, got 0"),
        (struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**50), "a key of at most 65,536 bytes"),
        (struct.pack("<IQQ", 3, 0, 1) + key("a") + struct.pack("<I", 77), "one of the 13 types"),
        (struct.pack("<IQQ", 3, 0, 1) + key("a") + struct.pack("<IIQ", 9, 8, 2**60), "a list of at most 4,194,304 texts"),
        (struct.pack("<IQQ", 3, 0, 1) + key("a") + struct.pack("<IIQ", 9, 9, 3), "items of type 9"),
        (struct.pack("<IQQ", 3, 0, 1) + key("a") + struct.pack("<IIQ", 9, 4, 2**61), "an end at byte"),
        (struct.pack("<IQQ", 3, 0, 1) + key("a") + struct.pack("<IQ", 8, 2**61), "an end at byte"),
        (struct.pack("<IQQ", 3, 0, 2) + (key("a") + struct.pack("<II", 4, 1)) * 2, "'a' twice"),
        (struct.pack("<IQQ", 3, 0, 1) + key("general.alignment") + struct.pack("<II", 4, 0), "an alignment"),
        (struct.pack("<IQQ", 3, 1, 0) + key("t") + struct.pack("<I", 9), "at most 4 axes"),
    ],
    ids=range(13),
)
def test_counts_and_types_that_cannot_be_are_refused(data: bytes, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_header(body(data), "input")


def test_absurd_counts_in_a_file_are_measured_against_its_size(tmp_path: Path) -> None:
    path = tmp_path / "absurd.gguf"
    path.write_bytes(MAGIC + struct.pack("<IQQ", 3, 0, 60_000) + bytes(100))
    with pytest.raises(DataError, match="room for them"):
        read_document(path)
    path.write_bytes(MAGIC + struct.pack("<IQQ", 3, 0, 1) + key("a") + struct.pack("<IIQ", 9, 4, 2**30) + bytes(100))
    with pytest.raises(DataError, match="fits the file"):
        read_document(path)


@functools.cache
def sample() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        return written(Path(directory) / "model.gguf", tokens=30).read_bytes()[:4000]


@settings(max_examples=150, deadline=None)
@given(changes=st.lists(st.tuples(st.integers(4, 1500), st.integers(0, 255)), min_size=1, max_size=6), cut=st.integers(8, 4000))
def test_a_damaged_header_gives_a_header_or_one_line(changes: list[tuple[int, int]], cut: int) -> None:
    data = bytearray(sample())
    for at, value in changes:
        data[at % len(data)] = value
    try:
        header = read_header(io.BytesIO(bytes(data[4:cut])), "input")
    except DataError as error:
        told = str(error)
    else:
        told = f"version {header.version}"
    assert "\n" not in told


def test_a_header_read_from_a_pipe_is_the_same(tmp_path: Path) -> None:
    path = written(tmp_path / "model.gguf")
    program = (
        "from ordinate.inspection.files import read_document\n"
        "header = read_document('-').header\n"
        "print(header.metadata['llama.rope.freq_base'], header.num_tensors)"
    )
    with path.open("rb") as file:
        piped = subprocess.run([sys.executable, "-c", program], input=file.read(), capture_output=True, check=True, timeout=60)
    assert piped.stdout.split() == [b"500000.0", b"3"]


def test_the_header_of_40_gigabytes_takes_less_than_a_second_and_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_uint32("llama.block_count", 32)
    writer.add_token_list([f"token{index}" for index in range(150_000)])
    writer.add_token_merges([f"to ken{index}" for index in range(280_000)])
    for index in range(500):
        writer.add_tensor_info(f"blk.{index}.attn_q.weight", (4096, 4096), np.dtype(np.float32), 4096 * 4096 * 4)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    with path.open("r+b") as file:
        file.truncate(40 * 10**9)  # sparse: costs no disk
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    header = header_of(path)
    assert time.perf_counter() - start < 1.0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024  # kilobytes
    assert header.metadata["tokenizer.ggml.merges"] == Skipped("array of strings", 280_000)
    assert header.num_tensors == 500


def test_a_key_with_a_line_end_or_without_an_end_makes_one_short_line() -> None:
    for key in (b"general\nx", b"k" * 5000):
        data = struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", len(key)) + key + struct.pack("<I", 99)
        with pytest.raises(DataError, match="types of GGUF") as refused:
            read_header(io.BytesIO(data), "model.gguf")
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 300
