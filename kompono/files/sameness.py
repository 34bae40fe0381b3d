"""Equal content: whether two assemblies of a file are one component that occurs twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from kompono.files.assembly import Assembly

_WORDS = ("where", "file", "notes", "hints")  # where it was written does not matter


def content(value: Any, *, unnamed: bool = True) -> Any:
    """A key of what an assembly consists of; equal keys, equal components, whatever they are called (`unnamed`)."""
    if isinstance(value, Assembly):  # by what its instances are, not by the keys the file has for them
        kinds = {key: content(part, unnamed=False) for key, part in value.parts.items()}
        instances = tuple((kinds[each.of], content(replace(each, of=""))) for each in value.instances)
        rest = replace(value, name="" if unnamed else value.name, parts={}, instances=())
        parts = [(each.name, content(getattr(rest, each.name))) for each in fields(rest) if each.name not in _WORDS]
        return instances, tuple(parts)
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
