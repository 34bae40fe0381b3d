"""What a file of a result holds, and its notes as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kompono.ending import Ending
from kompono.errors import FileError
from kompono.run_end import RunEnd


class Record(NamedTuple):
    """What a file holds: times (n,) [s], names of k channels, their values (n, k), and notes (plain JSON data)."""

    time: np.ndarray
    names: tuple[str, ...]
    table: np.ndarray
    notes: Mapping[str, Any]


def dump(notes: Mapping[str, Any]) -> str:
    """Notes as JSON; numpy scalars and arrays become plain numbers and lists, anything else its text."""
    return json.dumps(notes, default=lambda value: value.tolist() if hasattr(value, "tolist") else str(value))


def parse(path: Path, text: str | bytes) -> dict[str, Any]:
    """Notes out of their text."""
    notes = json.loads(text)
    if not isinstance(notes, dict):
        raise FileError(f"{str(path)!r} is no file of results: its notes are no table of names.")
    return notes


_SHAPES: dict[str, tuple[str, Any]] = {
    "units": ("units by channel", lambda v: _texts(v)),
    "status": ("a status", lambda v: _status(v)),
    "statistics": ("statistics by name", lambda v: isinstance(v, Mapping)),
    "model": ("the name of a model", lambda v: isinstance(v, str)),
    "scene": ("a scene", lambda v: v is None or isinstance(v, Mapping)),
    "origin": ("where a result comes from", lambda v: isinstance(v, Mapping)),
    "end": ("the end of a run", lambda v: RunEnd.from_data(v) is not None),
}


def check_notes(path: Path, notes: Mapping[str, Any]) -> None:
    """Refuse notes that are not those of a result."""
    for name, value in notes.items():
        if name not in _SHAPES:
            fix = "A later version may have written it; use that one."
            raise FileError(f"{str(path)!r} has notes this version does not know: {name!r}.", fix=fix)
        what, fits = _SHAPES[name]
        if not fits(value):
            raise FileError(f"{str(path)!r} is damaged: {name!r} in its notes is not {what}.")


def _texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values())


def _status(value: Any) -> bool:
    if not isinstance(value, Mapping) or set(value) - {"kind"} != {"ok", "message", "time"}:
        return False
    if "kind" in value and (value["kind"] not in list(Ending) or Ending(value["kind"]).ok != value["ok"]):
        return False
    time = value["time"]
    number = isinstance(time, int | float) and not isinstance(time, bool)
    return isinstance(value["ok"], bool) and isinstance(value["message"], str) and number
