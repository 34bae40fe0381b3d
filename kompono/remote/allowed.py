"""Who may ask for which part, and how much: a TOML file of the supplier's.

[[customer]]
name = "Car Ltd"                # as in the customer's certificate
fingerprint = "3f2a..."         # and/or of that very certificate, as `kompono cert show` prints it
parts = ["damper", "strut"]     # or ["*"]
rate = 2000                     # evaluations per second, of each part; faster runs wait
evaluations = 1000000           # in all, of each part
sessions = 4                    # at the same time
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kompono.errors import RemoteError, suggest
from kompono.remote.interface import Refused

_KEYS = ("name", "fingerprint", "parts", "rate", "evaluations", "sessions")


@dataclass(frozen=True)
class Peer:
    """Who is at the other end of a connection."""

    name: str
    fingerprint: str  # of the certificate, 64 digits; of no certificate: empty
    place: str = ""  # the address it comes from


@dataclass(frozen=True)
class Grant:
    """What one customer is allowed."""

    name: str  # empty: whoever has the certificate
    fingerprint: str  # empty: whatever certificate of that name
    parts: tuple[str, ...]
    rate: float = math.inf
    evaluations: int | None = None
    sessions: int | None = None

    @property
    def account(self) -> str:
        """Under what its evaluations are counted."""
        return self.name or self.fingerprint

    def fits(self, peer: Peer) -> bool:
        """Whether it is given to somebody."""
        by_name = not self.name or self.name == peer.name
        return by_name and (not self.fingerprint or self.fingerprint == peer.fingerprint)


@dataclass(frozen=True)
class Allowed:
    """All grants of a server."""

    grants: tuple[Grant, ...]

    def grant(self, peer: Peer, part: str, offered: Mapping[str, Any]) -> Grant:
        """What a customer is allowed of a part; Refused with the reason if nothing."""
        own = [grant for grant in self.grants if grant.fits(peer)]
        if not own:
            mark = f" ({peer.fingerprint[:16]}...)" if peer.fingerprint else ""
            raise Refused(f"{peer.name!r}{mark} is no customer of this server.", fix="Ask the supplier to be added.")
        mine = [name for name in offered if any({name, "*"} & set(grant.parts) for grant in own)]
        for grant in own:
            if part in offered and {part, "*"} & set(grant.parts):
                return grant
        if part in offered:
            raise Refused(f"{peer.name!r} is not allowed to use {part!r}.", fix="Ask the supplier.")
        raise Refused(f"there is no part {part!r} here.", fix=suggest(part, mine))


def anyone(parts: tuple[str, ...] = ("*",)) -> Allowed:
    """Everything for everybody who gets through: for loopback without TLS."""
    return Allowed((Grant("", "", parts),))


def read_allowed(path: str | Path, offered: Mapping[str, Any]) -> Allowed:
    """The file, checked: a name that is not on offer is a mistake."""
    where = str(path)
    try:
        with open(path, "rb") as source:
            found = tomllib.load(source)
    except OSError as error:
        raise RemoteError(f"cannot be read: {error.strerror}.", path=where, fix="Is the name right?") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RemoteError(f"is no TOML: {error}.", path=where) from error
    rows = found.get("customer")
    if set(found) != {"customer"} or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise RemoteError("it holds tables [[customer]] and nothing else.", path=where, fix="See docs/remote.md.")
    return Allowed(tuple(_grant(row, f"{where}, customer {k + 1}", offered) for k, row in enumerate(rows)))


def _grant(row: dict[str, Any], where: str, offered: Mapping[str, Any]) -> Grant:
    for key in row:
        if key not in _KEYS:
            raise RemoteError(f"there is no {key!r}.", path=where, fix=suggest(key, _KEYS))
    name, mark, parts = row.get("name", ""), row.get("fingerprint", ""), row.get("parts")
    if not isinstance(name, str) or not isinstance(mark, str) or not (name or mark):
        raise RemoteError("a customer has a name or a fingerprint, or both, as texts.", path=where)
    mark = mark.replace(" ", "").replace(":", "").casefold()
    if mark and (len(mark) != 64 or set(mark) - set("0123456789abcdef")):
        raise RemoteError("a fingerprint has 64 digits.", path=where, fix="`kompono cert show FILE` prints it.")
    if not isinstance(parts, list) or not parts or not all(isinstance(part, str) for part in parts):
        raise RemoteError('parts are a list of names, or ["*"].', path=where)
    for part in parts:
        if part != "*" and part not in offered:
            raise RemoteError(f"no part {part!r} is served.", path=where, fix=suggest(part, offered))
    rate = row.get("rate", math.inf)
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not rate >= 1:
        raise RemoteError(f"rate = {rate!r}: evaluations per second, 1 or more.", path=where)
    return Grant(
        name, mark, tuple(parts), float(rate), _count(row, "evaluations", where), _count(row, "sessions", where)
    )


def _count(row: dict[str, Any], key: str, where: str) -> int | None:
    value = row.get(key)
    if value is not None and (type(value) is not int or value < 0):
        raise RemoteError(f"{key} = {value!r}: a number of them is whole and not negative.", path=where)
    return value
