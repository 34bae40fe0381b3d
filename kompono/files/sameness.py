"""Equal content: whether two assemblies of a file are one component that occurs twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

_WORDS = ("where", "file", "notes")  # where it was written does not matter


def content(value: Any) -> Any:
    """A key of what an assembly consists of; equal keys, equal components."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = [(each.name, content(getattr(value, each.name))) for each in fields(value) if each.name not in _WORDS]
        return type(value).__name__, tuple(parts)
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if isinstance(value, Mapping):
        return tuple((key, content(each)) for key, each in value.items())
    if isinstance(value, list | tuple):
        return tuple(content(each) for each in value)
    return value
