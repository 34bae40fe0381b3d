"""The first words of a session: what a customer wants (hello), and what a supplier says of the part (welcome).

Both are JSON. A welcome has the shape of the part, as a sealed file would publish it, and nothing of its numbers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from kompono.compile.far import MOST_LANES
from kompono.errors import RemoteError, SealedError
from kompono.sealed.manifest import spell
from kompono.sealed.shape import Shape
from kompono.sealed.shape_data import from_data, to_data

PROTOCOL = 4  # of greetings and frames
_LARGEST = 1 << 24  # bytes of a welcome


@dataclass(frozen=True)
class Hello:
    """The entry of a variant (None: the part stands on a ground of its own), and for how many runs at once."""

    entry: str | None
    lanes: int = 1

    def pack(self) -> bytes:
        """As it is sent."""
        return spell({"protocol": PROTOCOL, "base": self.entry, "lanes": self.lanes})

    @staticmethod
    def unpack(data: bytes) -> Hello:
        """As it was sent; RemoteError if it is something else."""
        found = _parsed(data[:4096] if len(data) <= 4096 else b"")
        if found.get("protocol") != PROTOCOL:
            raise RemoteError(
                f"the customer speaks version {_told(found.get('protocol'))} of the protocol, the supplier {PROTOCOL}.",
                fix="Use the same version of Kompono.",
            )  # fmt: skip
        entry, lanes = found.get("base"), found.get("lanes")
        if not (entry is None or isinstance(entry, str)) or type(lanes) is not int or not 1 <= lanes <= MOST_LANES:
            raise RemoteError("the first message was not understood.")
        return Hello(entry, lanes)


@dataclass(frozen=True)
class PartWelcome:
    """What the part shows, whether its coordinates have to be kept of unit length (by variant), and which it is."""

    shape: Shape
    turns: tuple[bool, ...]
    digest: str

    def pack(self) -> bytes:
        """As it is sent."""
        data = {"protocol": PROTOCOL, "shape": to_data(self.shape), "turns": list(self.turns), "digest": self.digest}
        return spell(data)

    @staticmethod
    def unpack(data: bytes, path: str) -> PartWelcome:
        """As it was sent, checked field by field."""
        found = _parsed(data if len(data) <= _LARGEST else b"")
        if found.get("protocol") != PROTOCOL:
            raise RemoteError(
                f"the supplier speaks version {_told(found.get('protocol'))} of the protocol, this is {PROTOCOL}.",
                path=path, fix="Use the same version of Kompono.",
            )  # fmt: skip
        try:
            shape = from_data(found.get("shape"), path, "Ask the supplier.")
        except SealedError as error:
            raise RemoteError(str(error), path=path) from error
        turns, digest = found.get("turns"), found.get("digest")
        turns = turns if isinstance(turns, list) and all(type(turn) is bool for turn in turns) else []
        named = isinstance(digest, str) and len(digest) <= 128 and digest.isalnum()
        if len(turns) != len(shape.variants) or not named:
            raise RemoteError("what the supplier says of the part is not in order.", path=path)
        return PartWelcome(shape, tuple(turns), str(digest))


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        found: Any = json.loads(data.decode("ascii"))
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def _told(version: Any) -> str:
    return str(version) if type(version) is int and 0 <= version < 1 << 31 else "?"
