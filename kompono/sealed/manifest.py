"""The manifest of a sealed file: versions, author, shape, and the hash of every other member.

It is JSON of one spelling (sorted keys, no spaces, ASCII), so its bytes can be signed, and a reader that parses it sees
all that was signed and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kompono.errors import SealedError
from kompono.sealed import keys
from kompono.sealed.shape import Shape
from kompono.sealed.shape_data import from_data, to_data

FORMAT = 1  # of the file: members, fields of the manifest
ABI = 1  # of the code: its arguments, the groups, how borders are packed (see docs/sealed.md)
_KEYS = {"format", "abi", "kompono", "author", "shape", "code", "numbers", "members"}
_LANES = {1, 2, 4, 8, 16}
_DAMAGED = "Get the file again from its author."


@dataclass(frozen=True)
class Manifest:
    """What a file says about itself."""

    shape: Shape
    author: str
    key: bytes  # of the author
    kompono: str  # version that sealed it
    code: str  # what its functions are called by
    targets: Mapping[str, tuple[int, ...]]  # target -> lanes there is code for
    numbers: int  # in the table
    recipients: tuple[str, ...]  # fingerprints of those it is locked for; none: for everybody
    members: Mapping[str, str]  # hashes
    digest: str  # of the manifest itself

    @property
    def bound(self) -> bytes:
        """What locked numbers are bound to: all code, and what it is called by."""
        return bound_to(self.code, self.members)


def bound_to(code: str, members: Mapping[str, str]) -> bytes:
    """A hash of the code in a file."""
    listed = sorted((name, digest) for name, digest in members.items() if name.startswith("code/"))
    return hashlib.sha256(json.dumps([ABI, code, listed]).encode()).digest()


def spell(data: Any) -> bytes:
    """The one spelling of data as JSON."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def write_manifest(
    shape: Shape, author: keys.Card, kompono: str, code: str, targets: Mapping[str, tuple[int, ...]], numbers: int,
    recipients: tuple[str, ...], members: Mapping[str, bytes],
) -> bytes:  # fmt: skip
    """The bytes to be signed."""
    return spell(
        {
            "format": FORMAT,
            "abi": ABI,
            "kompono": kompono,
            "author": {"name": author.name, "key": author.author.hex()},
            "shape": to_data(shape),
            "code": {"name": code, "targets": {name: list(lanes) for name, lanes in targets.items()}},
            "numbers": {"count": numbers, "recipients": list(recipients)},
            "members": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
        }
    )


def parse(data: bytes, path: str) -> dict[str, Any]:
    """The manifest as data, of this version and in its one spelling; nothing in it is believed yet."""
    try:
        found: Any = json.loads(data.decode("ascii"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise SealedError("its manifest is damaged.", path=path, fix=_DAMAGED) from error
    if not isinstance(found, dict) or not isinstance(found.get("format"), int):
        raise SealedError("its manifest is damaged.", path=path, fix=_DAMAGED)
    if found["format"] != FORMAT:
        raise SealedError(
            f"it is a sealed part of format {found['format']}, this Kompono knows format {FORMAT}.", path=path,
            fix="Use another version of Kompono, or ask its author to seal it again.",
        )  # fmt: skip
    told = found.get("kompono")
    plain_words = isinstance(told, str) and told.isprintable() and len(told) <= 40 and type(found.get("abi")) is int
    if set(found) != _KEYS or spell(found) != data or not plain_words:  # what messages show is shown on terminals
        raise SealedError("its manifest is damaged.", path=path, fix=_DAMAGED)
    return found


def _refuse(word: str) -> Any:
    raise ValueError(word)


def understand(found: dict[str, Any], data: bytes, path: str) -> Manifest:
    """The manifest of a file whose signature is right."""
    if found["abi"] != ABI:
        raise SealedError(
            f"its code was made for version {found['abi']} of the interface (by Kompono {found['kompono']}), this one "
            f"has version {ABI}.", path=path, fix="Use another version of Kompono, or ask its author to seal it again.",
        )  # fmt: skip
    shape = from_data(found["shape"], path)
    try:
        code, numbers = found["code"], found["numbers"]
        manifest = Manifest(
            shape=shape,
            author=found["author"]["name"],
            key=bytes.fromhex(found["author"]["key"]),
            kompono=found["kompono"],
            code=str(code["name"]),
            targets={name: tuple(map(int, lanes)) for name, lanes in code["targets"].items()},
            numbers=int(numbers["count"]),
            recipients=tuple(map(str, numbers["recipients"])),
            members=found["members"],
            digest=hashlib.sha256(data).hexdigest(),
        )
        wanted = {member(name, width) for name, widths in manifest.targets.items() for width in widths}
        wanted |= {f"numbers/{plain(mark)}.box" for mark in manifest.recipients} or {"numbers.bin"}
        widths = [set(lanes) for lanes in manifest.targets.values()]
        if wanted != set(manifest.members) or not all(1 in lanes and lanes <= _LANES for lanes in widths):
            raise ValueError("members")
        if not manifest.code.isalpha() or not manifest.code.isascii() or not 0 <= numbers["count"] < 1 << 24:
            raise ValueError("code")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SealedError("its manifest is not in order.", path=path, fix="Ask its author to seal it again.") from error
    return manifest


def member(target: str, lanes: int) -> str:
    """The member with the code for a target on so many lanes."""
    return f"code/{target}-{lanes}.o"


def plain(fingerprint: str) -> str:
    """A fingerprint without spaces."""
    return fingerprint.replace(" ", "")
