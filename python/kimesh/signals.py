"""Ctrl-C and SIGTERM while a mesh runs: the first one ends the run in order, a second one Python."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_DEFAULTS = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}


class StopOnSignals:
    """Takes the signals that nobody else has taken; only Python's main thread may do so."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._taken: dict[signal.Signals, Any] = {}

    def take(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number, default in _DEFAULTS.items():
            if signal.getsignal(number) == default:
                self._taken[number] = signal.signal(number, self._handle)

    def give_back(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number, before in self._taken.items():
            if signal.getsignal(number) == self._handle:
                signal.signal(number, before)
        self._taken.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.give_back()
        self._stop()
