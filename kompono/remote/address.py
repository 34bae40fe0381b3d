"""Where a part is served: `supplier.example:7443/damper`, `10.0.0.5/damper`, `[::1]:7443/damper`."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from kompono.errors import RemoteError

PORT = 7443  # if none is given
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_FIX = 'Write it as "supplier.example:7443/damper".'


@dataclass(frozen=True)
class Address:
    """A part at a server."""

    host: str
    port: int
    part: str

    @property
    def target(self) -> str:
        """The server, as `host:port`."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.target}/{self.part}"


def parse(text: str) -> Address:
    """An address from what a user wrote."""
    if not isinstance(text, str):
        raise RemoteError(f"an address is a text, not {text!r}.", fix=_FIX)
    place, slash, part = text.partition("/")
    if not slash:
        raise RemoteError(f"the address {text!r} names no part.", fix=_FIX)
    check_part(part)
    bracketed = re.fullmatch(r"\[([^\]]*)\](?::(.*))?", place)
    if bracketed:
        host, port = bracketed[1], bracketed[2]
    else:
        host, colon, port = place.partition(":")
        port = port if colon else None
    return Address(checked_host(host), PORT if port is None else _port(port), part)


def check_part(name: str) -> str:
    """The name of a part on offer."""
    if not _NAME.fullmatch(name):
        raise RemoteError(f"{name!r} cannot be the name of a part.", fix="Letters, digits, dots, dashes: 1 to 100.")
    return name


def checked_host(host: str) -> str:
    """A host name or an address in numbers."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        if not _HOST.fullmatch(host):
            raise RemoteError(f"{host!r} is no host name.", fix=_FIX) from None
    return host


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 16):
        raise RemoteError(f"{text!r} is no port.", fix="Ports are numbers from 1 to 65535.")
    return int(text)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine for certain: an address in numbers, since names can be made to mean anything."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
