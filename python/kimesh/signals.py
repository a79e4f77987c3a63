"""Ctrl-C and SIGTERM while a mesh runs: the first one ends the run in order, a second one Python."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType

_DEFAULTS = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}


class StopOnSignals:
    """Takes the signals that nobody else has taken; only Python's main thread may do so."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._process: int | None = None  # the one that took the signals; None: they are given back

    def take(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._process = os.getpid()
        for number, default in _DEFAULTS.items():
            if _is_free(number, default):
                signal.signal(number, self._handle)

    def has_taken(self) -> bool:
        return self._process is not None

    def give_back(self) -> None:
        """In a thread that may not do so, it is left to the next signal, which then is Python's."""
        self._process = None
        if threading.current_thread() is not threading.main_thread():
            return
        for number, default in _DEFAULTS.items():
            if signal.getsignal(number) == self._handle:
                signal.signal(number, default)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        # A forked child inherits the handlers, and the mesh is its parent's.
        is_for_the_mesh = self._process == os.getpid()
        self.give_back()
        if is_for_the_mesh:
            self._stop()
        # A handler of the program that has called this one decides by itself what the signal does.
        elif signal.getsignal(number) == _DEFAULTS[signal.Signals(number)]:
            signal.raise_signal(number)


def _is_free(number: signal.Signals, default: object) -> bool:
    """Whether nobody wants the signal: its handler is Python's, or that of a mesh which has given
    it back in another thread."""
    handler = signal.getsignal(number)
    owner = getattr(handler, "__self__", None)
    return handler == default or (isinstance(owner, StopOnSignals) and not owner.has_taken())
