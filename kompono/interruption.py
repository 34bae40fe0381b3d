"""Ctrl-C, and what the command line takes like it: never lost, and never at the cost of what is there to keep.

While a model is built there is nothing to keep: `KeyboardInterrupt` is raised at once. CasADi may clear it on the way,
or turn it into an error of its own; so it is remembered, raised again every tenth of a second, and at the latest where
the function ends that was to be interrupted. From the moment a run begins (`keep`) it is only noted: the run looks at
`asked`, ends, and hands over its results, however often somebody asks meanwhile. Python functions of the user that are
called in a run and do not come back are interrupted when they are asked a second time.

Signals are heard by the main thread only; elsewhere nothing is installed and nothing is ever asked. One listener serves
all that is called inside the outermost `listening`, at the end of which the former handlers are put back.
"""

from __future__ import annotations

import _thread
import functools
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar, cast

AGAIN = 0.1  # [s] after which a request that nobody heard is raised again

F = TypeVar("F", bound=Callable[..., Any])
_calling: set[CodeType] = set()  # functions inside which users' functions are called
_active: Listener | None = None


class Listener:
    """What is known of requests to end: how often they came, and whether there is something to keep by now."""

    def __init__(self) -> None:
        self.asked = 0
        self.keeps = False
        self.number: signal.Signals = signal.SIGINT  # the last signal
        self._previous: dict[int, Any] = {}
        self._open = True
        self.insisting = 0  # functions that shall not end without having heard
        self._knocks = False  # whether the next signal is one of our own
        self._knocker = False  # whether a thread repeats the request
        self._around = sys.exc_info()[1]
        self._lock = threading.Lock()

    def keep(self) -> None:
        """From here on there is something to keep: requests are noted. One that was cleared on the way here counts."""
        if self.asked and not self.keeps:
            raise KeyboardInterrupt
        self.keeps = True

    def release(self) -> None:
        """All that was to be kept is safe: requests are raised again, also one that came meanwhile."""
        self.keeps = False
        if self.asked:
            raise KeyboardInterrupt

    def install(self, signals: tuple[int, ...]) -> None:
        """Hear these signals, but leave a hang-up ignored by `nohup` to it."""
        for number in signals:
            if number not in self._previous:
                before = signal.getsignal(number)
                if before is signal.SIG_IGN and number != signal.SIGINT:
                    continue
                self._previous[number] = before
                signal.signal(number, self._hear)

    def restore(self) -> None:
        """Give signals back to whom they belong."""
        with self._lock:
            self._open = False  # nobody knocks any more
        for number, before in self._previous.items():
            signal.signal(number, signal.SIG_DFL if before is None else before)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        knock, self._knocks = self._knocks, False
        if not self._open or (knock and self.keeps):
            self.asked += not knock
            return
        former = self._previous.get(number)
        if not self.keeps and callable(former) and former is not signal.default_int_handler and not knock:
            former(number, frame)  # who has a handler of his own decides what it means
            return
        self.asked += not knock
        self.number = signal.Signals(number)
        if self.keeps:
            if self.asked > 1 and _in_a_call(frame):
                raise KeyboardInterrupt
            return
        self._repeat()
        handled = sys.exc_info()[1]
        on_its_way = isinstance(handled, KeyboardInterrupt) and handled is not self._around
        if not on_its_way and (frame is None or frame.f_code not in _OWN):
            raise KeyboardInterrupt

    def _repeat(self) -> None:
        if self.insisting and not self._knocker:
            self._knocker = True
            _thread.start_new_thread(self._knock, ())  # `threading` may hold a lock where the signal came

    def _knock(self) -> None:
        while True:
            time.sleep(AGAIN)
            with self._lock:
                if not self._open or self.keeps or not self.insisting:
                    self._knocker = False
                    return
                self._knocks = True
                _thread.interrupt_main(self.number)


class listening:
    """`with listening() as heard:` notices Ctrl-C and other `signals`; `insist` raises at its end what was cleared."""

    def __init__(self, *signals: int, insist: bool = False) -> None:
        self._signals, self._insist = (signal.SIGINT, *signals), insist

    def __enter__(self) -> Listener:
        global _active
        here = threading.current_thread() is threading.main_thread()
        self._listener = _active if here and _active is not None else Listener()
        self._outermost = here and _active is None
        self._before = self._listener.asked
        self._listener.insisting += self._insist
        if self._outermost:
            _active = self._listener
            self._listener.install(self._signals)
        return self._listener

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        global _active
        heard = self._listener
        if self._outermost:
            heard.restore()
            _active = None
        heard.insisting -= self._insist
        cleared = heard.asked > self._before and not heard.keeps
        if self._insist and cleared and (error is None or isinstance(error, Exception)):
            raise KeyboardInterrupt from error


_OWN = {function.__code__ for function in (listening.__enter__, listening.__exit__, Listener.install, Listener.restore)}


def heeded(function: F) -> F:
    """The same function, which no request to end goes past unheard."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        with listening(insist=True):
            return function(*arguments, **options)

    return cast(F, call)


def calls_users(function: F) -> F:
    """Mark a function inside which functions of the user are called: these can be interrupted."""
    _calling.add(function.__code__)
    return function


def _in_a_call(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code in _calling:
            return True
        frame = frame.f_back
    return False


def asked_anywhere() -> int:
    """How often the work on the main thread was asked to end, for threads that watch over it."""
    return _active.asked if _active is not None else 0


def asked() -> int:
    """How often somebody has asked the present work to end."""
    on_main = threading.current_thread() is threading.main_thread()
    return _active.asked if _active is not None and on_main else 0
