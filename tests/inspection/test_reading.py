"""Reading configs from files, directories, standard input and a hub, and refusing all that is none in one line."""

from __future__ import annotations

import http.server
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ordinate.errors import DataError, MissingDataError, MissingExtraError, OrdinateError
from ordinate.inspection.files import DEPTH_LIMIT, SIZE_LIMIT, parse_config, read_document
from tests.external import CONFIGS

LLAMA = {"model_type": "llama", "rope_theta": 500000.0, "max_position_embeddings": 8192}


def written(directory: Path, data: bytes | str, name: str = "config.json") -> Path:
    path = directory / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def refusal(source: Path | str) -> str:
    """The one line that refuses `source`."""
    with pytest.raises(OrdinateError) as caught:
        read_document(source)
    line = str(caught.value)
    assert "\n" not in line
    return line


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_a_config_reads_the_same_in_every_encoding_that_editors_write(tmp_path: Path, encoding: str) -> None:
    assert read_document(written(tmp_path, json.dumps(LLAMA).encode(encoding))).config == LLAMA


def test_a_directory_means_its_config(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps(LLAMA))
    written(tmp_path, "{}", "generation_config.json")
    document = read_document(tmp_path)
    assert (document.config, document.path, document.name) == (LLAMA, path, str(tmp_path))


def test_a_directory_without_a_config_says_what_it_holds(tmp_path: Path) -> None:
    written(tmp_path, "{}", "tokenizer.json")
    assert "tokenizer.json" in refusal(tmp_path)


def test_a_directory_with_one_gguf_file_means_that_file(tmp_path: Path) -> None:
    written(tmp_path, b"GGUF" + bytes([3, 0, 0, 0]) + bytes(16), "model.gguf")
    header = read_document(tmp_path).header
    assert header is not None
    assert header.version == 3


def test_standard_input_is_read_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(json.dumps(LLAMA).encode("utf-16"))

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert read_document("-").config == LLAMA


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "an empty file"),
        (b"  \n", "an empty file"),
        (b"model_type: llama", "begins with"),
        (b'{"rope_theta": 10000.0, "hidden', "cut off"),
        (b'{"rope_theta": 10000.0,', "cut off"),
        (b"[1, 2]", "got a list"),
        (b'"llama"', "got a string"),
        (b"null", "got null"),
        (b'{"rope_theta": NaN}', "a finite number for rope_theta"),
        (b'{"text_config": {"rope_theta": 1e400}}', "a finite number for text_config.rope_theta"),
        (b'{"rope_scaling": {"short_factor": [1.0, -Infinity]}}', "a finite number for rope_scaling.short_factor"),
        (b'{"rope\\ntheta": NaN}', "a finite number for 'rope\\ntheta'"),
        (b'{"a": ' + b"9" * 5000 + b"}", "numbers of sane length"),
        (b'{"rope_theta": 10000.0, "x": 1, "rope_theta": 1000000.0}', '"rope_theta" 2 times: 10000.0, 1000000.0'),
        (b'{"text_config": {"x": {}, "x": 2}}', '"x" 2 times: an object, 2'),
        (b'{"a": "\\ud800"}', "half a character"),
        (b'{"\\ud800": 1}', "half a character"),
        (b"\x80\x02}q\x00", "got a pickle"),
        (b"PK\x03\x04" + bytes(200), "JSON"),
        (b"[" * 100_000, "levels of nesting"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "levels of nesting"),
        (b'{"a":' * (DEPTH_LIMIT + 2) + b"1" + b"}" * (DEPTH_LIMIT + 2), f"at most {DEPTH_LIMIT} levels"),
    ],
    ids=range(22),
)
def test_what_is_no_config_is_refused_in_one_line_that_says_why(tmp_path: Path, data: bytes, told: str) -> None:
    path = written(tmp_path, data)
    line = refusal(path)
    assert told in line
    assert str(path) in line


def test_an_infinity_where_no_position_is_read_is_left_alone(tmp_path: Path) -> None:
    path = written(tmp_path, '{"text_config": {"time_step_limit": [0.0, Infinity]}}')
    assert read_document(path).config == {"text_config": {"time_step_limit": [0.0, float("inf")]}}


def test_a_huge_file_is_refused_by_its_size_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.write(b'{"a": "')
        file.truncate(200 * 2**20)  # sparse: costs no disk
    before = _peak_memory()
    line = refusal(path)
    assert f"at most {SIZE_LIMIT // 2**20} MiB" in line
    assert "209,715,200 bytes" in line
    assert _peak_memory() - before < SIZE_LIMIT


def test_an_endless_stream_is_refused_at_the_limit() -> None:
    line = refusal("/dev/zero")
    assert f"at most {SIZE_LIMIT // 2**20} MiB" in line


def _peak_memory() -> int:
    resource = pytest.importorskip("resource")
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * 1024


def test_a_loop_of_links_a_dangling_link_and_a_missing_file_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "dangling.json").symlink_to("gone.json")
    assert "symbolic link" in refusal(tmp_path / "loop.json").lower()
    assert "a link to gone.json, which is not there" in refusal(tmp_path / "dangling.json")
    assert "nothing there" in refusal(tmp_path / "missing.json")
    (tmp_path / "config.json").symlink_to("config.json")
    assert "symbolic link" in refusal(tmp_path).lower()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_the_right_to_read_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, "{}")
    path.chmod(0)
    assert "Permission denied" in refusal(path)


def test_an_error_of_the_system_is_told_in_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "{}")

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    assert "Permission denied" in refusal(path)


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "file.json/config.json", ""])
def test_names_that_no_file_can_have_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    written(tmp_path, "{}", "file.json")
    monkeypatch.chdir(tmp_path)
    refusal(name)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_arbitrary_bytes_give_a_config_or_one_line(data: bytes) -> None:
    try:
        told = type(parse_config(data, "input")).__name__
    except DataError as error:
        told = str(error)
    assert told == "dict" or "\n" not in told


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(sorted(path.name for path in CONFIGS.glob("*.json"))), draw=st.data())
def test_real_configs_with_a_few_bytes_changed_give_a_config_or_one_line(
    tmp_path: Path, name: str, draw: st.DataObject
) -> None:
    data = bytearray((CONFIGS / name).read_bytes()[:20_000])
    for _ in range(draw.draw(st.integers(1, 5))):
        data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    try:
        told = type(read_document(written(tmp_path, bytes(data))).config).__name__
    except OrdinateError as error:
        told = str(error)
    assert told == "dict" or "\n" not in told


class Hub(http.server.BaseHTTPRequestHandler):
    """As much of the hub as fetching one file of one model needs."""

    asked: list[str]

    def do_HEAD(self) -> None:
        self.answer(with_body=False)

    def do_GET(self) -> None:
        self.answer(with_body=True)

    def answer(self, *, with_body: bool) -> None:
        self.asked.append(f"{self.command} {self.path}")
        if self.path.startswith("/someone/model/resolve/") and self.path.endswith("/config.json"):
            body = json.dumps(LLAMA).encode()
            self.send_response(200)
            self.send_header("ETag", '"0123456789abcdef"')
            self.send_header("X-Repo-Commit", "0123456789abcdef0123456789abcdef01234567")
        else:
            body = b""
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def hub() -> Iterator[tuple[str, list[str]]]:
    handler = type("Handler", (Hub,), {"asked": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", handler.asked
    server.shutdown()
    thread.join()
    server.server_close()


def asked_in_a_fresh_process(
    name: str, directory: Path, **environment: str
) -> subprocess.CompletedProcess[str]:  # the library reads its environment when it is imported
    program = (
        "import sys, json\n"
        "from ordinate.errors import OrdinateError\n"
        "from ordinate.inspection.files import read_document\n"
        "try: print(json.dumps(read_document(sys.argv[1]).config))\n"
        "except OrdinateError as error: print(type(error).__name__, error)\n"
    )
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HF_") and "proxy" not in key.lower()}
    return subprocess.run(
        [sys.executable, "-c", program, name],
        env={**kept, "HF_HOME": str(directory / "cache"), **environment},
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


def test_a_hub_id_is_fetched_from_the_mirror_and_then_found_offline(tmp_path: Path, hub: tuple[str, list[str]]) -> None:
    pytest.importorskip("huggingface_hub")
    endpoint, asked = hub
    fetched = asked_in_a_fresh_process("someone/model", tmp_path, HF_ENDPOINT=endpoint)
    assert json.loads(fetched.stdout) == LLAMA
    assert any("/someone/model/resolve/main/config.json" in line for line in asked)
    requests = len(asked)
    offline = asked_in_a_fresh_process("someone/model", tmp_path, HF_ENDPOINT=endpoint, HF_HUB_OFFLINE="1")
    assert json.loads(offline.stdout) == LLAMA
    assert len(asked) == requests


def test_offline_a_model_that_is_not_cached_is_missing_in_one_line(tmp_path: Path, hub: tuple[str, list[str]]) -> None:
    pytest.importorskip("huggingface_hub")
    endpoint, asked = hub
    told = asked_in_a_fresh_process("someone/model", tmp_path, HF_ENDPOINT=endpoint, HF_HUB_OFFLINE="1").stdout
    assert told.startswith("MissingDataError someone/model: ")
    assert told.count("\n") == 1
    assert asked == []


def test_a_model_that_the_hub_does_not_have_is_missing_in_one_line(tmp_path: Path, hub: tuple[str, list[str]]) -> None:
    pytest.importorskip("huggingface_hub")
    told = asked_in_a_fresh_process("someone/else@v2", tmp_path, HF_ENDPOINT=hub[0]).stdout
    assert told.startswith("MissingDataError someone/else@v2: ")
    assert told.count("\n") == 1
    assert any("/someone/else/resolve/v2/config.json" in line for line in hub[1])


def test_a_file_of_the_same_name_goes_before_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "someone").mkdir()
    (tmp_path / "someone" / "model").mkdir()
    written(tmp_path / "someone" / "model", json.dumps(LLAMA))
    monkeypatch.chdir(tmp_path)
    assert read_document("someone/model").config == LLAMA


def test_without_the_extra_a_hub_id_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r"pip install huggingface_hub"):
        read_document("someone/model")


@pytest.mark.parametrize("name", ["models/llama.json", "weights.gguf", "../up", "a/b/c", "no such file"])
def test_what_cannot_be_a_hub_id_is_never_asked_for(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)  # asking would be another error
    with pytest.raises(MissingDataError, match="nothing there"):
        read_document(name)


def test_without_a_network_the_hub_is_asked_once(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    done = asked_in_a_fresh_process("someone/model", tmp_path, HF_ENDPOINT="http://127.0.0.1:9")  # where nobody listens
    assert done.stdout.startswith("MissingDataError someone/model: ")
    assert "Connect" in done.stdout  # why it failed, rather than that the cache is empty
    assert "Retrying" not in done.stderr
