"""`ordinate explore`: a page to play with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["explore"]


def explore(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="A model's file to begin with, as for `ordinate inspect`.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the page there instead of serving it; it works offline.")
    ] = None,
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="Of the server; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Show how encodings work, in one page: frequencies, scalings, biases, memory, a circuit, a two-sided network.

    Without --out the page is served on this machine alone until Ctrl-C. Exit 0, or 2 for wrong use.
    """
    from ordinate.atomic_io import atomic_write, check_output
    from ordinate.explore import page_html

    if out is not None:
        check_output(out, name="--out")
    inspection = None
    if file is not None:
        from ordinate.inspection.files import read_document
        from ordinate.inspection.inspect import inspect_document

        inspection = inspect_document(read_document(file))
    page = page_html(inspection)
    if out is not None:
        typer.echo(f"page: {atomic_write(out, page, name='--out')}", err=True)
        return
    _serve(page, port, browser=browser)


def _serve(page: str, port: int, *, browser: bool) -> None:
    from ordinate.cli.tables import emit
    from ordinate.errors import ArgumentError
    from ordinate.explore.server import serve

    try:
        server = serve(page, port)
    except OSError as error:
        raise ArgumentError("--port", expected="a free port", got=f"{port}: {error.strerror}") from None
    address = f"http://127.0.0.1:{server.server_port}/"
    emit(f"{address}\n")
    typer.echo("Ctrl-C ends it", err=True)
    if browser:
        import webbrowser

        webbrowser.open(address)
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
