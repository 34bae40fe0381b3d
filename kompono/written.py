"""Our own source files: which there are, and a hash of what is in them, for names in the cache."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent


def files(folder: str) -> list[str]:
    """Paths of all sources below a folder of the package, in order; that of a single file."""
    return [str(ROOT / folder)] if folder.endswith(".py") else sorted(_below(str(ROOT / folder)))


def digest(places: Iterable[str]) -> str:
    """A hash (hexadecimal) of what is in folders and files: whoever changes one need not think of a version number."""
    found = hashlib.sha256()
    for place in places:
        for path in files(place):
            with open(path, "rb") as file:
                found.update(file.read())
    return found.hexdigest()


def _below(folder: str) -> list[str]:
    found = []
    for entry in os.scandir(folder):
        if entry.is_dir():
            found += _below(entry.path)
        elif entry.name.endswith(".py"):
            found.append(entry.path)
    return found
