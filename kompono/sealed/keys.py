"""A user's own key: one half signs the parts this user seals, the other opens numbers locked for this user.

It is one file, `key.json` in the configuration folder, mode 600. Its public halves are a *card*, which may be given to
anybody: customers trust it, authors lock numbers for it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kompono.errors import SealedError
from kompono.sealed import crypto, files

_HEX = re.compile("[0-9a-f]{64}")
_LARGEST = 10_000


@dataclass(frozen=True)
class Card:
    """The public halves of somebody's key."""

    name: str
    author: bytes  # verifies what they sign
    recipient: bytes  # locks for them

    @property
    def fingerprint(self) -> str:
        """Of the key they sign with."""
        return crypto.fingerprint(self.author)

    def text(self) -> str:
        """The card as a file."""
        card = {"kompono card": 1, "name": self.name, "author": self.author.hex(), "recipient": self.recipient.hex()}
        return json.dumps(card, indent=1) + "\n"


@dataclass(frozen=True)
class Identity:
    """Somebody's key, both private halves."""

    name: str
    signing: bytes
    opening: bytes

    @property
    def card(self) -> Card:
        """Its public halves."""
        return Card(self.name, crypto.verifying_key(self.signing), crypto.locking_key(self.opening))

    def __repr__(self) -> str:
        return f"Identity({self.name!r})"


def place() -> Path:
    """The file of the user's own key."""
    return files.directory() / "key.json"


def new_identity(name: str) -> Identity:
    """Make a key without keeping it."""
    return Identity(checked_name(name), crypto.new_signing_key(), crypto.new_opening_key())


def make(name: str) -> Identity:
    """Make the user's own key and keep it; refused if there is one."""
    identity = new_identity(name)
    secrets = {"signing": identity.signing.hex(), "opening": identity.opening.hex()}
    files.write(place(), json.dumps({"kompono key": 1, "name": name, **secrets}).encode(), new=True)
    return identity


def own() -> Identity | None:
    """The user's own key, if there is one."""
    data = files.read(place(), private=True)
    if data is None:
        return None
    found = _fields(data, "kompono key", ("signing", "opening"), str(place()))
    return Identity(*found)


def needed() -> Identity:
    """The user's own key."""
    identity = own()
    if identity is None:
        raise SealedError("you have no key to sign with.", fix='Make one: kompono keys new --name "Your Name"')
    return identity


def read_card(path: str | Path) -> Card:
    """The card in a file."""
    try:
        with open(path, "rb") as source:
            data = source.read(_LARGEST + 1)
    except OSError as error:
        raise SealedError(f"cannot be read: {error.strerror}.", path=str(path)) from error
    return Card(*_fields(data, "kompono card", ("author", "recipient"), str(path)))


def _fields(data: bytes, kind: str, keys: tuple[str, str], path: str) -> tuple[str, bytes, bytes]:
    wrong = SealedError(f"this is no {kind}.", path=path, fix="`kompono keys show --out FILE` writes a card.")
    try:
        found: Any = json.loads(data) if len(data) <= _LARGEST else None
    except (ValueError, RecursionError):
        raise wrong from None
    if not isinstance(found, dict) or found.get(kind) != 1 or set(found) != {kind, "name", *keys}:
        raise wrong
    if not all(isinstance(found[key], str) and _HEX.fullmatch(found[key]) for key in keys):
        raise wrong
    return checked_name(found["name"], path), bytes.fromhex(found[keys[0]]), bytes.fromhex(found[keys[1]])


def checked_name(name: Any, path: str = "") -> str:
    """The name of a person or company: one line of printable characters."""
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name.strip()) <= len(name) <= 80:
        raise SealedError("a name is one line of 1 to 80 printable characters.", path=path, fix='--name "Your Name"')
    return name
