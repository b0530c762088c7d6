"""Serves the page on the loopback address, at a free port, to one person."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ordinate.errors import DataError, OrdinateError
from ordinate.explore.presets import facts
from ordinate.inspection import inspect_config

__all__ = ["serve"]

_LONGEST = 4 << 20


def serve(page: str, port: int = 0) -> ThreadingHTTPServer:
    """A server for the page, not yet running: `server.server_port` is its port, `server.serve_forever()` runs it.

    A config that is posted to `/inspect` is answered with its facts, read as `ordinate inspect` reads it.

    Args:
        page: the page as text.
        port: 0 takes any that is free.

    >>> server = serve("<!doctype html>")
    >>> server.server_address[0]
    '127.0.0.1'
    >>> server.server_close()
    """
    content = page.encode("utf-8", "backslashreplace")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.split("?")[0] in ("/", "/index.html"):
                self._answer(200, "text/html; charset=utf-8", content)
            else:
                self._answer(404, "text/plain", b"not here")

        def do_POST(self) -> None:
            host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
            length = int(self.headers.get("Content-Length") or 0)
            if self.path != "/inspect" or host not in ("127.0.0.1", "localhost") or not 0 < length <= _LONGEST:
                self._answer(404, "text/plain", b"not here")
                return
            try:
                config = json.loads(self.rfile.read(length))
                if not isinstance(config, dict):  # a string would be taken for a path
                    raise DataError("file", expected="a JSON object", got=type(config).__name__)
                result: dict[str, Any] = facts(inspect_config(config), "dropped file")
            except (OrdinateError, ValueError, RecursionError) as error:
                result = {"error": " ".join(str(error).split())}
            self._answer(200, "application/json", json.dumps(result).encode())

        def _answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing is logged: standard error is for errors."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)
