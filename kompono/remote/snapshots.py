"""Snapshots of sessions that travel to the customer and back, and that only the server can read or make.

A box is a header (version, marks of the key, the customer's certificate and the part), a nonce, and the number of the
last frame and the state, locked with ChaCha20-Poly1305 under a key derived from the server's for this customer, part
and session. The marks tell people why a box is refused; what refuses it is the lock.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import struct
from pathlib import Path

from kompono.errors import RemoteError
from kompono.remote.interface import Refused
from kompono.remote.packages import needed
from kompono.trust import Untrusted, make_folder, make_own, open_own, read_all, write_all

_HEAD = struct.Struct("<4s8s8s8s")
_VERSION = b"KSN1"
_NUMBER = struct.Struct("<Q")
_NONCE = 12
_ANEW = "Start the run anew."


class Snapshots:
    """Locks and opens with the server's key (32 bytes)."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._cipher = needed("cryptography.hazmat.primitives.ciphers.aead").ChaCha20Poly1305

    def lock(self, data: bytes, number: int, customer: str, part: bytes, session: bytes) -> bytes:
        """A box with the state after frame `number`."""
        head, nonce = self._head(customer, part), os.urandom(_NONCE)
        cipher = self._cipher(self._derived(customer, part, session))
        return head + nonce + cipher.encrypt(nonce, _NUMBER.pack(number) + data, head)

    def unlock(self, box: bytes, customer: str, part: bytes, session: bytes) -> tuple[int, bytes]:
        """Number and state; Refused if the box was not made here for the same customer, part and session."""
        start = _HEAD.size + _NONCE
        if len(box) < start + _NUMBER.size + 16:
            raise Refused("the snapshot was cut.", fix=_ANEW)
        self._check_marks(box[: _HEAD.size], self._head(customer, part))
        head, nonce = box[: _HEAD.size], box[_HEAD.size : start]
        try:
            data = self._cipher(self._derived(customer, part, session)).decrypt(nonce, box[start:], head)
        except Exception:  # InvalidTag
            raise Refused("the snapshot was altered, or is of another session.", fix=_ANEW) from None
        return _NUMBER.unpack_from(data)[0], data[_NUMBER.size :]

    def _check_marks(self, found: bytes, wanted: bytes) -> None:
        names = ("of another version", "locked by another server", "another customer's", "of another part")
        for name, one, other in zip(names, _HEAD.unpack(found), _HEAD.unpack(wanted), strict=True):
            if one != other:
                raise Refused(f"the snapshot is {name}, or was altered.", fix=_ANEW)

    def _head(self, customer: str, part: bytes) -> bytes:
        return _HEAD.pack(
            _VERSION, _mark(b"key", self._key), _mark(b"customer", customer.encode()), _mark(b"part", part)
        )

    def _derived(self, customer: str, part: bytes, session: bytes) -> bytes:
        bound = b"kompono snapshot 1\0" + hashlib.sha256(customer.encode()).digest() + part + session
        return hmac.digest(self._key, bound, "sha256")


def _mark(kind: bytes, data: bytes) -> bytes:
    return hashlib.sha256(b"kompono mark of " + kind + b"\0" + data).digest()[:8]


def key_in(path: Path) -> bytes:
    """The server's key, made if there is none; refused if others can read it."""
    try:
        make_folder(path.parent)
        if not path.exists():
            write_all(make_own(path), os.urandom(32))
        key = read_all(open_own(path, secret=True))
    except Untrusted as error:
        raise RemoteError(f"the key for snapshots is not used: {error}.", path=str(path)) from error
    except OSError as error:
        raise RemoteError(f"cannot be read or made: {error.strerror}.", path=str(path)) from error
    if len(key) != 32:
        raise RemoteError("this is no key for snapshots: it has not 32 bytes.", path=str(path), fix="Move it away.")
    return key
