"""Which requests a server here answers: those that were sent to it by its own name, by nobody else's page.

A page from elsewhere can let a browser send requests to this machine. They carry the name they were sent to (Host) and
the page they come from (Origin), and that page can make up neither. A name that merely leads here today (DNS rebinding)
is not ours: on this machine that is localhost; beyond it an address in numbers, the name of this computer, or the one
the server was told to listen on. A page may ask for more only at the very place it came from.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Sequence

HERE = ("127.0.0.1", "localhost", "::1")
CONNECTIONS = 64  # at a time
PATIENCE = 10.0  # s for a request to be there as a whole
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "SAMEORIGIN",
}
_PLACE = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?")


def refusal(bound: str, hosts: Sequence[str], origins: Sequence[str]) -> str:
    """Why a request is not answered by a server that listens on `bound`; empty if it is. All headers of a kind."""
    place = _place(hosts[0]) if len(hosts) == 1 else None
    if place is None or not _is_ours(place[0], bound):
        return "this server is not known by that name; open the address it printed"
    if not origins:
        return ""
    scheme, _, rest = origins[0].partition("://")
    if len(origins) > 1 or scheme not in ("http", "https") or _place(rest, scheme) != _place(hosts[0], scheme):
        return "requests of other pages are not answered"
    return ""


def is_here(host: str) -> bool:
    """Whether a server that listens on `host` can be reached from this machine only."""
    return host in HERE or _is_loopback(host)


def _place(text: str, scheme: str = "http") -> tuple[str, int] | None:
    """Name and port of an address, or nothing if it is none."""
    match = _PLACE.fullmatch(text)
    if match is None:
        return None
    return match[1].strip("[]").lower(), int(match[2] or (443 if scheme == "https" else 80))


def _is_ours(name: str, bound: str) -> bool:
    if name in HERE or name == bound.strip("[]").lower():
        return True
    if is_here(bound):
        return False
    computer = socket.gethostname().lower()
    return _is_number(name) or name in (computer, computer.partition(".")[0], f"{computer.partition('.')[0]}.local")


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(name: str) -> bool:
    return _is_number(name) and ipaddress.ip_address(name).is_loopback
