"""One line on the terminal while something takes longer than a second, and what is worth to be told: `logging` carries
it, under the name `kompono`.
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self

PATIENCE = 1.0  # [s]


class Notice:
    """`with Notice("compiling"):` shows the text and the seconds spent, on a terminal only; `text` may change."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._begun = time.perf_counter()

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def _show(self) -> None:
        wait, width = PATIENCE, 0
        while not self._done.wait(wait):
            line = f"{self.text} ... {time.perf_counter() - self._begun:.0f} s"
            print(f"\r{line:{width}s}", end="", file=sys.stderr, flush=True)
            wait, width = 0.5, max(width, len(line))
        if width:
            print(f"\r{'':{width}s}\r", end="", file=sys.stderr, flush=True)

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()


def tell(text: str, urgent: bool = False) -> None:
    """Say something to who listens (`kompono run --verbose`); what is urgent reaches everybody."""
    import logging  # a model is declared without it

    logging.getLogger("kompono").log(logging.WARNING if urgent else logging.INFO, text)
