"""Write a sealed file from what was compiled and what shall be public."""

from __future__ import annotations

import hashlib
import os
import struct
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from kompono.errors import SealedError
from kompono.sealed import archive, crypto, keys
from kompono.sealed.manifest import bound_to, member, plain, write_manifest
from kompono.sealed.read import SealedFile, open_sealed
from kompono.sealed.shape import Shape


def write_sealed(
    path: str | Path, shape: Shape, code: str, objects: Mapping[str, Mapping[int, bytes]], table: bytes, *,
    author: keys.Identity, version: str, recipients: Sequence[keys.Card] = (),
) -> SealedFile:  # fmt: skip
    """Write a file and read it back. `objects`: by target and lanes; `table`: the numbers taken out of them."""
    starts = [value for variant in shape.variants for value in variant.start]
    numbers = table + struct.pack(f"<{len(starts)}d", *starts)
    members = {member(name, lanes): data for name, made in objects.items() for lanes, data in made.items()}
    targets = {name: tuple(made) for name, made in objects.items()}
    card = author.card
    marks = tuple(dict.fromkeys(crypto.fingerprint(recipient.recipient) for recipient in recipients))
    hashes = _hashes(members)
    for recipient in recipients:
        box = crypto.lock(numbers, recipient.recipient, bound_to(code, hashes))
        members[f"numbers/{plain(crypto.fingerprint(recipient.recipient))}.box"] = box
    if not recipients:
        members["numbers.bin"] = numbers
    text = write_manifest(shape, card, version, code, targets, len(table) // 8, marks, members)
    data = archive.pack({"manifest.json": text, "signature": crypto.sign(author.signing, text), **members})
    sealed = open_sealed(data, str(path))
    _put(Path(path), data)
    return sealed


def _hashes(members: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}


def _put(path: Path, data: bytes) -> None:
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
            temporary = Path(file.name)
            try:
                file.write(data)
                file.close()
                temporary.chmod(0o644)
                os.replace(temporary, path)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise SealedError(f"cannot be written: {error.strerror}.", path=str(path)) from error
