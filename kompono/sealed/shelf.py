"""Where translations are kept that know locked numbers: nobody reads them but whom these are locked for.

What is traced around a sealed part has numbers in it that follow from those of the part: how easily it is moved at its
start, and where that is. If the author locked them, all that is kept of such a model is locked too, by a key that
follows from the private key which opens the file; and so is how it is called.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Protocol

from kompono.model.element import Element
from kompono.sealed import crypto
from kompono.sealed.element import Sealed, code_of


class _Shelf(Protocol):
    def get(self, name: str) -> bytes | None: ...

    def put(self, name: str, data: bytes) -> None: ...


class LockedShelf:
    """A shelf on which everything is locked by a key (32 bytes)."""

    def __init__(self, shelf: _Shelf, key: bytes) -> None:
        self._shelf, self._key = shelf, key

    def get(self, name: str) -> bytes | None:
        """What was put under a name, or nothing."""
        hidden = self._shelf.get(self._called(name))
        return None if hidden is None else crypto.seek(hidden, self._key, name)

    def put(self, name: str, data: bytes) -> None:
        """Keep something under a name."""
        self._shelf.put(self._called(name), crypto.hide(data, self._key, name))

    def _called(self, name: str) -> str:
        return hashlib.blake2b(name.encode(), digest_size=32, key=self._key).hexdigest()


def shelf_for(shelf: _Shelf, parts: Iterable[Element]) -> _Shelf:
    """The shelf for a model with these parts: a locked one if some of them have locked numbers."""
    secrets = sorted({code_of(part).secret for part in parts if isinstance(part, Sealed)} - {b""})
    return LockedShelf(shelf, hashlib.sha256(b"".join(secrets)).digest()) if secrets else shelf
