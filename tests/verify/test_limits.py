"""A call that does not come back is stopped, whichever thread asks."""

from __future__ import annotations

import threading
import time

import pytest

from ordinate.verify.limits import TimeLimitExceeded, with_time_limit


def forever() -> None:
    while True:
        pass


def test_an_endless_loop_is_stopped_in_the_main_thread():
    begin = time.monotonic()
    with pytest.raises(TimeLimitExceeded, match=r"0\.2 s"):
        with_time_limit(forever, 0.2)
    assert time.monotonic() - begin < 5


def test_a_subject_that_catches_every_exception_is_stopped_too():
    def stubborn() -> None:
        while True:
            try:
                time.sleep(0.01)
            except Exception:  # as careless subjects do
                continue

    with pytest.raises(TimeLimitExceeded):
        with_time_limit(stubborn, 0.2)


def test_another_thread_waits_no_longer_than_the_limit():
    caught: list[BaseException] = []

    def ask() -> None:
        try:
            with_time_limit(lambda: time.sleep(3), 0.2)
        except TimeLimitExceeded as overtime:
            caught.append(overtime)

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(2)
    assert not asking.is_alive()
    assert len(caught) == 1


def test_answers_and_exceptions_pass_through():
    assert with_time_limit(lambda: 3, 1) == 3
    with pytest.raises(ZeroDivisionError):
        with_time_limit(lambda: 1 // 0, 1)
