"""No garbage collection while many objects are made that all stay: looking at them again and again took half of the
time of writing tables, and longer than the translation of a large model itself.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect nothing meanwhile; inside another such, and where somebody switched collection off, nothing changes."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
