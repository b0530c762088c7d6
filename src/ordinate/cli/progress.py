"""What a long command is doing, on standard error, where somebody may be watching."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["bar", "steps"]


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
def bar(what: str) -> Iterator[Callable[..., None]]:
    """A bar that leaves no trace; what it yields is told how many are done, of how many, and what to say beside it.

    Args:
        what: is being done, in a few words.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    with Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as shown:
        task = shown.add_task("", total=None)

        def tell(done: int, total: int, words: str = "") -> None:
            shown.update(task, completed=done, total=total, description=words)

        yield tell
