"""What a long command is doing, on standard error, where somebody watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["bar", "steps"]


@contextmanager
def bar(title: str) -> Iterator[Callable[..., None]]:
    """A bar that leaves no trace; it yields `advance(done, total, label="")`.

    Where nobody watches nothing is drawn: an error would not be one line otherwise.

    Args:
        title: what is being done, in a few words.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, TimeElapsedColumn, TimeRemainingColumn

    with _display(title, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()) as update:

        def advance(done: int, total: int, label: str = "") -> None:
            update(completed=done, total=total, description=label)

        yield advance


@contextmanager
def steps(title: str) -> Iterator[Callable[[str], None]]:
    """A spinner for work of unknown length; it yields `say(label)`, which shows what is being done at the moment."""
    from rich.progress import SpinnerColumn, TimeElapsedColumn

    with _display(title, SpinnerColumn(), TimeElapsedColumn()) as update:
        yield lambda label: update(description=label)


@contextmanager
def _display(title: str, *columns: Any) -> Iterator[Callable[..., None]]:
    from rich.progress import Progress, TextColumn

    from ordinate.cli.tables import console

    screen = console(stderr=True)
    with Progress(
        TextColumn(title),
        *columns,
        TextColumn("{task.description}"),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    ) as display:
        task = display.add_task("", total=None)
        yield lambda **changes: display.update(task, **changes)
