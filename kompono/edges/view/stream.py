"""What goes between a run in this process and its pages: rows of channels to them, orders from them.

Rows are numbered. Every page asks for what is behind the last one it has and waits until there is more, so a slow page
loses old rows and never the newest. Orders are small JSON objects; whatever is none is not heard.
"""

from __future__ import annotations

import base64
import json
import threading
from collections import deque
from typing import Any

import numpy as np

ROWS = 256  # kept for pages that are behind
ORDERS = 1000  # that wait; a page that sends more is not heard
LARGEST = 65_536  # bytes of an order


class Stream:
    """Rows to pages, orders from them; any thread may call anything."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._rows: deque[str] = deque(maxlen=ROWS)
        self._count = 0
        self._latest = ""  # row of the present page
        self._orders: deque[dict[str, Any]] = deque()
        self.ended = False

    def send(self, time: float, values: np.ndarray) -> None:
        """A row of channels at a time [s]."""
        numbers = base64.b64encode(np.asarray(values, dtype="<f4").tobytes()).decode()
        text = f'{{"time":{float(time)!r},"row":"{numbers}"}}' if np.isfinite(time) else "{}"
        self._put(text, text)

    def tell(self, **words: Any) -> None:
        """Something else a page should know: `begin`, `failure`, `over` (there is another page to load)."""
        self._put(json.dumps(words), "" if "over" in words else self._latest)

    def begin(self) -> tuple[int, list[str]]:
        """What a page that has just been loaded should hear first: the newest row; and the number to go on from."""
        with self._changed:
            return self._count, [self._latest] if self._latest else []

    def _put(self, text: str, latest: str) -> None:
        with self._changed:
            self._latest = latest
            self._rows.append(text)
            self._count += 1
            self._changed.notify_all()

    def after(self, number: int, patience: float) -> tuple[int, list[str]]:
        """Messages behind the one of a number, and the number of the last; waits up to `patience` [s] for some."""
        with self._changed:
            self._changed.wait_for(lambda: self._count > number or self.ended, patience)
            fresh = min(self._count - number, len(self._rows))
            return self._count, list(self._rows)[len(self._rows) - fresh :] if fresh > 0 else []

    @property
    def count(self) -> int:
        """How many messages there were."""
        return self._count

    def order(self, data: bytes) -> bool:
        """An order of a page; whether it was understood."""
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            return False
        if not isinstance(found, dict) or not isinstance(found.get("do"), str) or len(self._orders) >= ORDERS:
            return False
        with self._changed:
            self._orders.append(found)
            self._changed.notify_all()
        return True

    def orders(self, patience: float = 0.0) -> list[dict[str, Any]]:
        """All orders that wait; waits up to `patience` [s] for one."""
        with self._changed:
            if patience > 0:
                self._changed.wait_for(lambda: bool(self._orders) or self.ended, patience)
            found = list(self._orders)
            self._orders.clear()
            return found

    def end(self) -> None:
        """Let everybody go who waits."""
        with self._changed:
            self.ended = True
            self._changed.notify_all()
