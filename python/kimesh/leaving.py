"""How a node leaves its mesh: by a word of the program, or when the program is over without one."""

from __future__ import annotations

import os
import sys
import time
import traceback
import weakref

from kimesh import _core
from kimesh._core import Wish
from kimesh.signals import StopOnSignals

_LEAVE_S = 0.01  # between two looks whether a node that leaves has left


def leave_when_let_go(owner: object, node: _core.Node, signals: StopOnSignals) -> None:
    """Lets a node that starts now leave once nobody holds `owner` any more, or Python ends."""
    # The id alone: the error would keep the frames of its traceback alive.
    weakref.finalize(owner, _leave, node, signals, id(_last_error()), os.getpid())


def _leave(node: _core.Node, signals: StopOnSignals, old_error: int, process: int) -> None:
    """Other nodes learn of the error that ended the program. The last one before the start, whose
    id is `old_error`, did not. A forked child has no part in the mesh of its parent `process`."""
    if os.getpid() != process:
        return
    try:
        if node.is_running():
            error = _last_error()
            if error is not None and id(error) != old_error:
                node.fail(sentence_of(error))
            else:
                node.stop()
            wait_for_end(node)
    finally:
        signals.give_back()


def _last_error() -> BaseException | None:
    """The last exception that nobody caught. A notebook goes on after it."""
    return getattr(sys, "last_value", None)


def wait_for_end(node: _core.Node) -> None:
    """What the node still wishes for gets no answer any more."""
    while node.wait(0) is not Wish.END:
        node.take_events()
        time.sleep(_LEAVE_S)


def is_failure(error: BaseException) -> bool:
    """Whether an exception that leaves a loop says that it failed. Ctrl-C and `sys.exit(0)` do
    not."""
    if isinstance(error, SystemExit):
        return error.code not in (None, 0)
    return not isinstance(error, KeyboardInterrupt)


def sentence_of(error: BaseException) -> str:
    return f"the program's loop ended: {traceback.format_exception_only(error)[-1].strip()}"
