"""When code is made: at once as tables, natively for what is asked often.

A routine is a table that is walked (see `walked`, `walked_calls`) until all who use it in this process walked through
its code `MANY` times; then LLVM makes native code of it. Walking costs about 5 ns a row, LLVM as much as 20,000 walks
of the same rows: so nobody waits for code that hardly runs, and the walks before are no more than half of what LLVM
takes. Runs do not wait then, either: native code is made beside them and taken over between two chunks. Bits are the
same.

Native code that is in the cache is taken at once. `KOMPONO_EFFORT=full` has all code made natively before anything
runs; so have runs in real time, where nothing may get faster or slower on the way.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

MANY = 10_000  # walks through its code up to which a routine is walked

_spent: Counter[str] = Counter()  # walks through routines in this process, by object


def patient() -> bool:
    """Whether everything shall be native before it runs: `KOMPONO_EFFORT=full`."""
    return os.environ.get("KOMPONO_EFFORT") == "full"


def asked_often(walks: Mapping[str, float], more: int) -> bool:
    """Whether routines that are walked have been asked often, with as many evaluations `more`; these are counted.
    `walks` says how often one evaluation walks through the code of each: kernels of a schedule are shared.
    """
    often = False
    for key, times in walks.items():
        _spent[key] += round(more * times)
        often |= _spent[key] > MANY
    return often


class Takeover:
    """The function of a run that is walked, until native code has been made beside it.

    `make` makes it, in a thread. Called between chunks with the evaluations of the run so far; of these, so many were
    `counted` before.
    """

    def __init__(self, walked: Any, walks: Mapping[str, float], make: Callable[[], Any], counted: int = 0) -> None:
        self._now, self._walks, self._make = walked, walks, make
        self._counted = counted
        self._thread: threading.Thread | None = None
        self._better: Any = None
        self._failed: Exception | None = None

    @property
    def walked(self) -> int:
        """Evaluations that were walked, as far as they are counted."""
        return self._counted

    def __call__(self, evaluations: int) -> Any:
        """The function to go on with."""
        if self._better is not None:
            if self._now is not self._better:
                self._now, self._counted = self._better, evaluations
            return self._now
        if self._failed is not None:
            raise self._failed
        often = asked_often(self._walks, evaluations - self._counted)
        self._counted = evaluations
        if often and self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()
        return self._now

    def _work(self) -> None:
        try:
            self._better = self._make()
        except Exception as error:
            self._failed = error
