"""FMPy, which reads descriptions and calls functions of FMUs; the extra `fmi`."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kompono.errors import ModelError


def fmpy(name: str = "") -> Any:
    """FMPy, or a module of it."""
    try:
        return importlib.import_module(f"fmpy.{name}" if name else "fmpy")
    except ImportError as error:
        raise ModelError("FMUs need FMPy, which is not installed.", fix="Try: pip install 'kompono[fmi]'") from error


@contextmanager
def same_folder() -> Iterator[None]:
    """FMPy changes the current folder when a library does not load; here it is the same afterwards."""
    before = os.getcwd()
    try:
        yield
    finally:
        os.chdir(before)
