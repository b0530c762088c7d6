"""A time limit on calls into code that is not ours.

Where a signal can be had (main thread, POSIX) a timer raises inside the subject, so even `while True` ends; elsewhere the call
runs in a daemon thread that is abandoned. Neither can end a loop inside C code that never comes back to Python: the command
line therefore runs the whole check in a process of its own, which it ends.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["TimeLimitExceeded", "with_time_limit"]

Answer = TypeVar("Answer")


class TimeLimitExceeded(BaseException):
    """The subject did not answer in time. No `Exception`, so that a subject's own `except Exception` does not swallow it."""


def with_time_limit(call: Callable[[], Answer], seconds: float) -> Answer:
    """The answer of `call`, or `TimeLimitExceeded` after that many seconds.

    >>> with_time_limit(lambda: 2 + 2, 1.0)
    4
    """
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        return _by_signal(call, seconds)
    return _by_thread(call, seconds)


def _overtime(seconds: float) -> TimeLimitExceeded:
    return TimeLimitExceeded(f"no answer within {seconds:g} s")


def _by_signal(call: Callable[[], Answer], seconds: float) -> Answer:
    def ring(*_: object) -> None:
        raise _overtime(seconds)

    before = signal.signal(signal.SIGALRM, ring)
    # again and again: an exception inside a destructor or a bare except is lost
    waiting = signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        return call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if waiting[0]:  # someone else's alarm (a test runner's) goes on
            signal.setitimer(signal.ITIMER_REAL, *waiting)


def _by_thread(call: Callable[[], Answer], seconds: float) -> Answer:
    answers: list[Any] = []
    problems: list[BaseException] = []

    def work() -> None:
        try:
            answers.append(call())
        except BaseException as problem:
            problems.append(problem)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(seconds)
    if problems:
        raise problems[0]
    if not answers:
        raise _overtime(seconds)
    return answers[0]
