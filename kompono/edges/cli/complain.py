"""What went wrong, in a few lines: the exception and the line of the user's file it came from. `--debug` shows all."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import kompono
from kompono.errors import KomponoError

OURS = str(Path(kompono.__file__).parent)
LIBRARY = tuple(filter(None, (sysconfig.get_paths().get(name) for name in ("stdlib", "purelib", "platlib"))))
LINES, WIDTH = 4, 400  # of a message that are shown


def say(text: str) -> None:
    """One message on stderr, if anybody can still read it."""
    with suppress(OSError, ValueError, AttributeError):
        print(f"kompono: {text}", file=sys.stderr, flush=True)


def mute() -> None:
    """Let go of a stdout that nobody reads or that has no room, so that Python does not complain again at its end."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_all(error: BaseException) -> None:
    """The whole traceback, for `--debug`."""
    with suppress(OSError, ValueError, AttributeError):
        traceback.print_exception(error)


def brief(error: BaseException) -> str:
    """An exception in a few lines, with the user's line it came from, or a request to report it if it is ours."""
    if isinstance(error, KomponoError):
        return "\n".join([str(error), *getattr(error, "__notes__", [])])
    if isinstance(error, OSError) and error.strerror:
        named = f"{error.filename!r}: " if error.filename is not None else ""
        return cut(f"{named}{error.strerror}")
    if isinstance(error, MemoryError):
        return "memory ended. Record less (--every N, --channels GLOB)."
    what = cut("".join(traceback.format_exception_only(error)).strip())
    place = origin(error)
    if place:
        return f"{what}\n  at {place}"
    frames = traceback.extract_tb(error.__traceback__)
    last = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{what}{last}\n  Nothing in your files is known to be the cause; --debug shows where it came from."


def cut(text: str) -> str:
    """The beginning of a message that is too long."""
    lines = [line if len(line) <= WIDTH else f"{line[:WIDTH]} ..." for line in text.splitlines()]
    return "\n".join(lines if len(lines) <= LINES else [*lines[:LINES], "..."])


def origin(error: BaseException) -> str:
    """`FILE:LINE in NAME: code` of the innermost line that is neither ours nor of a library; empty if there is none."""
    found = ""
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if _is_users(code.co_filename):
            line = linecache.getline(code.co_filename, trace.tb_lineno, trace.tb_frame.f_globals).strip()
            found = f"{code.co_filename}:{trace.tb_lineno} in {code.co_name}" + (f": {line}" if line else "")
        trace = trace.tb_next
    return found


def _is_users(file: str) -> bool:
    examples = os.path.join(OURS, "examples")
    return Path(file).is_file() and (file.startswith(examples) or not file.startswith((OURS, *LIBRARY)))


def background(debug: bool) -> Callable[[Any], None]:
    """What threads and finalizers do with exceptions nobody catches: one message, and a traceback only if asked for."""

    def tell(what: Any) -> None:
        error = what.exc_value
        if error is not None and not isinstance(error, SystemExit):
            show_all(error) if debug else say(f"in the background: {brief(error)}")

    return tell
