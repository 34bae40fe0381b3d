"""Sessions of a run as its file keeps them: words and arrays of numbers, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kompono.elsewhere.session import KEPT, KeptSession
from kompono.errors import RunError

_WORD = "elsewhere"
_NUMBER = 8  # bytes


def filed(sessions: Sequence[KeptSession]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Words and arrays; bytes of lines are filled up to whole numbers."""
    words = [{**one.fields, "length": len(one.line)} for one in sessions]
    arrays = {
        f"{_WORD} {k}": np.frombuffer(one.line + bytes(-len(one.line) % _NUMBER), dtype="<f8")
        for k, one in enumerate(sessions)
    }
    return {_WORD: words}, arrays


def unfiled(words: Mapping[str, Any], arrays: Mapping[str, np.ndarray], count: int) -> list[KeptSession]:
    """So many sessions from a file."""
    found = words.get(_WORD, [])
    try:
        lines = [arrays[f"{_WORD} {k}"].tobytes()[: int(word["length"])] for k, word in enumerate(found)]
        kept = [KeptSession({name: int(w[name]) for name in KEPT}, b) for w, b in zip(found, lines, strict=True)]
    except (KeyError, TypeError, ValueError):
        kept = []
    if len(kept) != count:
        raise RunError("the file does not hold what parts elsewhere need to go on.", fix="Begin the run again.")
    return kept
