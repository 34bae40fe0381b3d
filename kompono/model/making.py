"""Who made what, and where: so that nothing that was declared is lost without a word.

An element acts in a model only if it is a member of a subsystem. One that is made and never assigned would be left out
silently, so making an element leaves a record: with the subsystem whose `__init__` was running, and with the bodies and
joints it is built on. When a model is translated, `translate/declared/ownership.py` looks through the records. It is
done where classes are called (`declared.py`), with no call of its own around `__init__`: nested components are as many
calls deep.
"""

from __future__ import annotations

import threading
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kompono.model.element import Element

Record = tuple["Element", CodeType, int]  # an element, and the code and instruction that made it; models have many


class _Running(threading.local):
    """What is being made at present, the innermost last: the records of a subsystem, None for any other element."""

    def __init__(self) -> None:
        self.stack: list[list[Record] | None] = []


running = _Running()
_TRANSLATOR = "kompono.translate"  # what it adds to a model for itself has no owner


def note(element: Element, made: list[Record] | None, caller: FrameType) -> None:
    """Leave the record of an element whose `__init__` is through, with what was made in there and who called it."""
    if made:
        element._keep(made)
    stack = running.stack
    around: Any = stack[-1] if stack else ()
    if around is None or caller.f_globals["__name__"].startswith(_TRANSLATOR):
        return  # what an element makes for itself needs no owner
    record = (element, caller.f_code, caller.f_lasti)
    if stack:
        around.append(record)
    for other in element._built_on():
        other._users = (*other._users, record)


def place(record: Record) -> str:
    """Where an element was made, for messages."""
    _, code, instruction = record
    line = next((line for start, end, line in code.co_lines() if start <= instruction < end), code.co_firstlineno)
    return f"{code.co_filename}, line {line}"
