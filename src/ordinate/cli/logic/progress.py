"""What a long command is doing, on standard error, where somebody may be watching."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["counted", "steps"]


@contextmanager
def steps(title: str) -> Iterator[Callable[[str], None]]:
    """A moving sign with what is being done at the moment and for how long; what it yields changes the words.

    Where nobody watches nothing is drawn: an error would not be one line otherwise.
    """
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    with Progress(
        SpinnerColumn(),
        TextColumn(title),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("", total=None)
        yield lambda words: bar.update(task, description=words)


@contextmanager
def counted(what: str, total: int) -> Iterator[Callable[[int, str], None]]:
    """A bar of `total` things; what it yields is told how many are done, and what to say beside the bar."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    with Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, words: bar.update(task, completed=done, description=words)
