"""Read a sealed file. Order: limits, format, hashes, signature; trust is asked by whoever wants to use the code.

Until all of these are passed, no byte of machine code leaves this module: damaged objects abort the process in LLVM.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kompono.errors import SealedError
from kompono.sealed import archive, crypto, keys
from kompono.sealed.manifest import Manifest, parse, understand

_AGAIN = "Get the file again from its author."


@dataclass(frozen=True)
class SealedFile:
    """A file that is whole and signed by the author it names; nothing is said about who that is."""

    path: str
    manifest: Manifest
    members: Mapping[str, bytes] = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """Of its author's key."""
        return crypto.fingerprint(self.manifest.key)


def read_sealed(path: str | Path) -> SealedFile:
    """The file, if it is as its author signed it."""
    where = str(path)
    try:
        with open(path, "rb") as source:
            data = source.read(archive.LARGEST + 1)
    except OSError as error:
        fix = "Is the name right? Relative names start at the current folder."
        raise SealedError(f"cannot be read: {error.strerror}.", path=where, fix=fix) from error
    return open_sealed(data, where)


def open_sealed(data: bytes, path: str) -> SealedFile:
    """The same from bytes."""
    members = archive.unpack(data, path)
    if "manifest.json" not in members:
        raise SealedError("it has no manifest.", path=path, fix=_AGAIN)
    text = members.pop("manifest.json")
    found = parse(text, path)
    if "signature" not in members:
        raise SealedError("it is not signed.", path=path, fix="Ask its author to seal it with a key.")
    signature = members.pop("signature")
    _check_hashes(found["members"], members, path)
    name, key = _author(found["author"], path)
    if not crypto.signed_by(key, signature, text):
        raise SealedError(
            f"the signature is not that of {name!r} ({crypto.fingerprint(key)}): the file was altered.", path=path,
            fix=_AGAIN,
        )  # fmt: skip
    return SealedFile(path, understand(found, text, path), members)


def _check_hashes(listed: object, members: Mapping[str, bytes], path: str) -> None:
    if not isinstance(listed, dict) or set(listed) != set(members):
        raise SealedError("members are missing, or there are others than were sealed.", path=path, fix=_AGAIN)
    for name, data in members.items():
        if listed[name] != hashlib.sha256(data).hexdigest():
            raise SealedError(f"its member {name} is damaged or altered.", path=path, fix=_AGAIN)


def _author(found: object, path: str) -> tuple[str, bytes]:
    try:
        assert isinstance(found, dict)
        key = bytes.fromhex(found["key"])
        assert len(key) == 32
        return keys.checked_name(found["name"]), key
    except (AssertionError, ValueError, KeyError, TypeError, SealedError) as error:
        raise SealedError("its author is not named.", path=path, fix=_AGAIN) from error
