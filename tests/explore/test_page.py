"""The page as a file and as a server."""

from __future__ import annotations

import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import ordinate.explore
from ordinate.cli.app import app
from ordinate.data import digits
from ordinate.explore import PRESETS, facts, page_html
from ordinate.explore.server import serve
from ordinate.inspection import inspect_config
from ordinate.logic import Circuit
from tests.external import CASES

SOURCE = Path(ordinate.explore.__file__).parent


def test_the_page_is_one_file_without_anything_to_fetch() -> None:
    page = page_html()
    assert len(page.encode()) < 3_000_000
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#|data:)""", page)
    assert "import(" not in page
    assert "@import" not in page
    assert "url(" not in page
    HTMLParser().feed(page)


def test_no_text_of_a_file_ends_the_element_that_holds_the_data() -> None:
    hostile = "</script><script>alert(1)</script><!--"
    page = page_html(inspect_config(PRESETS["GPT-2 (learned table)"] | {"model_type": hostile}, name=hostile))
    assert "alert(1)</script>" not in page
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    assert json.loads(data[1])["models"][0]["name"] == hostile


@pytest.mark.parametrize("path", sorted((CASES / "configs").glob("*.json")), ids=lambda path: path.stem)
def test_any_config_has_facts(path: Path) -> None:
    result = facts(inspect_config(path))
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert result["layers"]


def test_the_command_writes_a_page_that_begins_with_the_file(tmp_path: Path) -> None:
    out = tmp_path / "new" / "page.html"
    result = CliRunner().invoke(app, ["explore", str(CASES / "configs" / "Qwen3-8B.json"), "--out", str(out)])
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"page: {out}\n"
    data = re.search(r'id="data">(.*?)</script>', out.read_text(), re.DOTALL)
    assert data is not None
    assert json.loads(data[1])["models"][0]["name"].endswith("Qwen3-8B.json")


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    running = serve("<!doctype html>the page")
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


def ask(server: ThreadingHTTPServer, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    request = urllib.request.Request(f"http://127.0.0.1:{server.server_port}{path}", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def test_the_server_has_the_page_on_loopback_alone_and_reads_configs(server: ThreadingHTTPServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert ask(server, "/") == (200, b"<!doctype html>the page")
    assert ask(server, "/etc/passwd")[0] == 404
    config = PRESETS["Llama 3.1 8B"]
    status, body = ask(server, "/inspect", json.dumps(config).encode())
    assert (status, json.loads(body)) == (200, facts(inspect_config(config), "dropped file"))
    for bad in (b"{", b"[]", b'"x"', b"{}"):
        status, body = ask(server, "/inspect", bad)
        assert status == 200
        assert "error" in json.loads(body) or json.loads(body)["layers"] is not None


def test_another_site_cannot_use_the_server_by_its_name(server: ThreadingHTTPServer) -> None:
    assert ask(server, "/inspect", b"{}", Host="evil.example")[0] == 404


def test_the_circuit_of_the_page_reads_as_many_digits_as_it_says() -> None:
    stored = json.loads((SOURCE / "page" / "digits.json").read_text())
    gates = (stored["tables"], stored["a"], stored["b"], stored["votes"])
    circuit = Circuit(stored["num_inputs"], *gates, bias=stored["bias"], labels=stored["labels"])
    known = digits()
    right = (circuit.predict(known.test.bits(known.threshold)) == known.test.labels).mean()
    assert right == pytest.approx(stored["accuracy"])
    assert right > 0.9
    samples = np.array([[bit == "1" for bit in sample] for sample in stored["samples"]])
    assert circuit.predict(samples).tolist() == list(range(10))
