"""From `package.module:object` or `file.py:object` to the object, without leaving a trace in its package."""

from __future__ import annotations

import importlib
import importlib.util
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import ismodule
from pathlib import Path
from typing import Any

from ordinate.arguments import did_you_mean
from ordinate.errors import ArgumentError, DataError, MissingDataError, UnknownNameError

__all__ = ["is_interrupt", "resolve"]


def resolve(name: str, argument: str = "subject") -> Any:
    """The object that `name` names; the current folder is looked in as well, and no bytecode is written.

    Args:
        name: `package.module:object`, `package.module:object.attribute`, or `path/to/file.py:object`.
        argument: how the caller names it, for the messages.

    Raises:
        ArgumentError: no colon.
        MissingDataError: a file that is not there.
        DataError: a module that does not import; its own error is shown.
        UnknownNameError: the module has no such object.

    >>> resolve("math:tau") > 6
    True
    """
    place, colon, path = name.rpartition(":")
    if not colon or not place or not path:
        example = (
            f"{name}:NAME, with the name of a function or class in it" if name.endswith(".py") else "mypackage.rope:rotate"
        )
        raise ArgumentError(argument, expected="package.module:object or file.py:object", got=name, hint=f"such as {example}")
    with _without_traces():
        try:
            module = _from_file(Path(place), argument) if place.endswith(".py") else importlib.import_module(place)
        except MissingDataError:
            raise
        except BaseException as problem:
            if is_interrupt(problem):
                raise
            says = f"{type(problem).__name__}: {' '.join(str(problem).split())}"
            raise DataError(argument, expected=f"a module {place!r} that imports", got=says) from problem
    thing: Any = module
    for part in path.split("."):
        if not hasattr(thing, part):
            known = [name for name in dir(thing) if not name.startswith("_") and not ismodule(getattr(thing, name, None))]
            some = f"{', '.join(known[:12])}{', ...' if len(known) > 12 else ''}"
            raise UnknownNameError(argument, expected=f"one of {some} in {place}", got=part, hint=did_you_mean(part, known))
        thing = getattr(thing, part)
    return thing


def is_interrupt(error: BaseException) -> bool:
    """Whether somebody pressed Ctrl-C: a KeyboardInterrupt where interrupts are ignored is the subject's own."""
    return isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def _from_file(path: Path, argument: str) -> Any:
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no such file"
        raise MissingDataError(argument, expected="a Python file", got=f"{path}, {what}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module


@contextmanager
def _without_traces() -> Iterator[None]:
    """The current folder importable, and no `__pycache__` written beside the subject."""
    before, here = sys.dont_write_bytecode, str(Path.cwd())
    sys.dont_write_bytecode = True
    added = here not in sys.path and "" not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.dont_write_bytecode = before
        if added:
            sys.path.remove(here)
