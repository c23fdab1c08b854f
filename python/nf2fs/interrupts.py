# SPDX-License-Identifier: BSD-2-Clause
"""Signals that end a command: the first one stops it at the next safe place, none of them in the
middle of one."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Interrupted(BaseException):
    """A signal asked the command to end. `done` says what was done by then, `number` which signal
    it was."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number
        self.done: str | None = None


_shields = 0
_safe_places = 0
_waiting: int | None = None
_ending = False
_hook = None  # that of the caller, from `raise_once` to `ignore`
AGAIN_S = 0.001


def end_quietly(name: str) -> None:
    """While a command is loaded a signal ends the process with one line; see `raise_once`."""

    def handler(number: int, _frame) -> None:
        os.write(2, f"{name}: interrupted\n".encode())
        os._exit(128 + number)

    _set(handler)


def ignore() -> None:
    """All is done, or given up: what is left is to say so, and the end of the process. A signal in
    there must not make a command that has said what it did seem interrupted."""
    global _hook
    _set(signal.SIG_IGN)
    if _hook is not None:
        _stop_timer()
        sys.unraisablehook, _hook = _hook, None


def _set(handler) -> None:
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # such as nohup asks for
            signal.signal(number, handler)


def raise_once() -> None:
    """From now on the first signal raises Interrupted, outside of shields; later ones change
    nothing."""
    global _ending, _waiting, _hook
    _ending, _waiting = False, None
    if _hook is None:
        _hook, sys.unraisablehook = sys.unraisablehook, _swallowed
    _set(_handle)


def _swallowed(lost) -> None:
    """Python goes on where a handler raises in a finalizer, such as those of an import: the signal
    comes again, a moment later."""
    if issubclass(lost.exc_type, Interrupted):
        _come_again(lost.exc_value.number)
    elif _hook is not None:
        _hook(lost)


def _come_again(number: int) -> None:
    global _ending
    _ending = False

    def handler(_number: int, frame) -> None:
        _stop_timer()
        _handle(number, frame)

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, AGAIN_S)


def _stop_timer() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _handle(number: int, _frame) -> None:
    global _ending, _waiting
    if _ending:
        return
    if _shields or _safe_places:
        _waiting = number
        return
    _ending = True
    raise Interrupted(number)


def _raise_waiting() -> None:
    global _ending, _waiting
    if _waiting is not None and not _ending:
        number, _waiting, _ending = _waiting, None, True
        raise Interrupted(number)


@contextmanager
def shield() -> Iterator[None]:
    """What is done inside is done whole: a signal of `raise_once` waits for its end. Signals come in
    the main thread alone, so the others need none."""
    global _shields
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _shields += 1
    try:
        yield
    finally:
        _shields -= 1
    if not _shields and not _safe_places:
        _raise_waiting()


@contextmanager
def safe_places() -> Iterator[None]:
    """Inside, a signal of `raise_once` waits for the next `check`: an exception from a handler may
    come
    anywhere, also where Python swallows it (in a finalizer)."""
    global _safe_places
    _safe_places += 1
    try:
        yield
    finally:
        _safe_places -= 1
    if not _shields and not _safe_places:
        _raise_waiting()


def check() -> None:
    """A safe place: raises Interrupted if a signal waits for one."""
    if not _shields:
        _raise_waiting()
