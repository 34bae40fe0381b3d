"""Who made what, and where: so that nothing that was declared is lost without a word.

An element acts in a model only if it is a member of a subsystem. One that is made and never assigned would be left out
silently, so making an element leaves a record: with the subsystem whose `__init__` was running, and with the bodies and
joints it is built on. When a model is translated, `translate/ownership.py` looks through the records.
"""

from __future__ import annotations

import functools
import sys
import threading
from types import CodeType
from typing import TYPE_CHECKING, Any

from kompono.model.declared import Declared

if TYPE_CHECKING:
    from kompono.model.element import Element

Record = tuple["Element", CodeType, int]  # an element, and the code and instruction that made it; models have many


class _Running(threading.local):
    """What is being made at present, the innermost last: the records of a subsystem, None for any other element."""

    def __init__(self) -> None:
        self.stack: list[list[Record] | None] = []


_running = _Running()
_CALL = Declared.__call__.__code__
_TRANSLATOR = "kompono.translate"  # what it adds to a model for itself has no owner


def watch(kind: type[Element]) -> None:
    """Let the `__init__` of a class leave a record when it is through; elements that fail leave none."""
    init: Any = vars(kind).get("__init__") or _inherited(kind)

    @functools.wraps(init)
    def make(self: Any, *args: Any, **options: Any) -> None:
        if type(self).__init__ is not make:  # called by a class derived from this one
            init(self, *args, **options)
            return
        stack = _running.stack
        stack.append(self._records())
        try:
            init(self, *args, **options)
        finally:
            own = stack.pop()
        if own:
            self._keep(own)
        around: Any = stack[-1] if stack else ()
        if around is not None:  # what an element makes for itself needs no owner
            frame = sys._getframe(1)
            if frame.f_code is _CALL and frame.f_back is not None:
                frame = frame.f_back
            if frame.f_globals["__name__"].startswith(_TRANSLATOR):
                return
            record = (self, frame.f_code, frame.f_lasti)
            if stack:
                around.append(record)
            for other in self._built_on():
                other._users = (*other._users, record)

    kind.__init__ = make  # type: ignore[misc]


def _inherited(kind: type) -> Any:
    def init(self: Any, *args: Any, **options: Any) -> None:
        super(kind, self).__init__(*args, **options)

    return init


def place(record: Record) -> str:
    """Where an element was made, for messages."""
    _, code, instruction = record
    line = next((line for start, end, line in code.co_lines() if start <= instruction < end), code.co_firstlineno)
    return f"{code.co_filename}, line {line}"
