"""Live runs over UDP: for controllers in another process, on another computer or on hardware."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kompono.errors import RunError
from kompono.given import flag, number, plain, shown, text
from kompono.realtime.link import Client, Link
from kompono.realtime.packet import OVER

HERE = "127.0.0.1"
PER_FRAME = 256  # packets looked at in one frame at most, so that a flood cannot hold up the run
LARGEST = 65_535
JUMP = 10_000  # packets that may be lost in a row


def _address(host: str, port: int) -> tuple[Any, Any]:
    """Family and address of a host."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    except (OSError, OverflowError) as error:
        raise RunError(f"there is no address {host}:{port}: {error}.", fix="Use e.g. host='127.0.0.1'.") from None
    return found[0], found[4]


def _host(host: Any) -> str:
    return text(host, "the host", error=RunError, fix="Use e.g. host='127.0.0.1'.")


def _port(port: Any) -> int:
    value = plain(port)
    if value is None or not 0 <= value <= LARGEST or value != int(value):
        raise RunError(f"the port {shown(port)} is no number of one.", fix="Use e.g. port=5005.")
    return int(value)


class Udp(Link):
    """An observer that exchanges packets (see `kompono.realtime.packet`) with whoever greets it.

    Listens on `host`:`port`, by default on this machine only. The first sender of a good packet, its address and port,
    is the other side until it leaves or says nothing good for `hold` [s]; nobody else is heard. Outputs go there, or to
    `peer` (host, port) from the start; then only that host is heard. `checksum=False` neither sends nor demands one.
    With a `key` (16 bytes or more, the same on both sides) packets of others are worth nothing.
    """

    _jump = JUMP

    def __init__(
        self, port: int, *, outputs: str | Iterable[str], inputs: Iterable[str] | None = None, host: str = HERE,
        peer: tuple[str, int] | None = None, wait: float = 0.0, checksum: bool = True, hold: float = 2.0,
        key: bytes | str | None = None,
    ) -> None:  # fmt: skip
        checksum = flag(checksum, "checksum =", error=RunError)
        super().__init__(outputs=outputs, inputs=inputs, wait=wait, checksum=checksum, exact=True, key=key)
        if number(hold, "hold", error=RunError, fix="Use e.g. hold=2 [s].") < 0:
            raise RunError(f"hold={hold!r}: a time [s] is not negative.", fix="Use e.g. hold=2.")
        self.host, self.port, self.hold = _host(host), _port(port), hold
        if peer is not None and (not isinstance(peer, tuple | list) or len(peer) != 2):
            raise RunError(f"the peer {shown(peer)} is no address.", fix='Use peer=("192.168.0.7", 5006).')
        self.peer = None if peer is None else (_host(peer[0]), _port(peer[1]))
        self.unsent = 0

    @property
    def name(self) -> str:
        """What it is called in reports."""
        return f"udp {self.host}:{self.port}"

    def _connect(self) -> None:
        family, address = _address(self.host, self.port)
        self._to = None if self.peer is None else _address(*self.peer)[1]
        self._only = None if self._to is None else self._to[0]
        self._from: Any = None
        self._held: Any = None
        self._heard = 0.0
        self.unsent = 0
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        try:
            self._socket.bind(address)
        except OSError as error:
            self._socket.close()
            raise RunError(f"cannot listen on {self.host}:{self.port}: {error}.", fix="Use another port.") from None
        self._socket.setblocking(False)
        self.port = self._socket.getsockname()[1]  # port 0 lets the system choose one

    def _arrived(self) -> Iterator[bytes]:
        for _ in range(PER_FRAME):
            try:
                data, self._from = self._socket.recvfrom(LARGEST)
            except BlockingIOError:
                break
            except OSError:  # an earlier packet of ours found nobody
                continue
            if self._is_foreign():
                self.mailbox.ignored["foreign"] += 1
                continue
            yield data
        else:
            return  # there may be more of the one that is held
        if self._held is not None and time.monotonic() - self._heard > self.hold:
            self._let_go()

    def _is_foreign(self) -> bool:
        if self._held is not None:
            return self._from != self._held
        return self._only is not None and self._from[0] != self._only

    def _greeted(self) -> None:
        self._held, self._heard = self._from, time.monotonic()
        if self.peer is None:
            self._to = self._from

    def _left(self) -> None:
        self._let_go()
        if self.peer is None:
            self._to = None

    def _let_go(self) -> None:
        self._held = None
        self.mailbox.forget()

    def _answer(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self._socket.sendto(data, self._from)

    def _put(self, data: bytes) -> None:
        if self._to is None:
            return
        try:
            self._socket.sendto(data, self._to)
        except OSError:
            self.unsent += 1

    def _disconnect(self) -> None:
        self._socket.close()

    def report(self) -> dict[str, Any]:
        """What was sent, could not be sent, was accepted, lost, and ignored by reason."""
        return {**super().report(), "unsent": self.unsent}


class UdpClient(Client):
    """The other side of `Udp`, for a simulation that listens on `host`:`port`."""

    def __init__(
        self, port: int, *, inputs: Sequence[str], outputs: Sequence[str], host: str = HERE, timeout: float = 10.0,
        checksum: bool = True, key: bytes | str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(inputs=inputs, outputs=outputs, timeout=timeout, checksum=checksum, exact=True, key=key)
        self.host, self.port = _host(host), _port(port)

    def _connect(self) -> None:
        family, address = _address(self.host, self.port)
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.connect(address)  # the system lets no other sender through

    def _get(self, timeout: float) -> bytes | None:
        self._socket.settimeout(timeout)
        try:
            return self._socket.recv(LARGEST)
        except (TimeoutError, BlockingIOError):
            return None
        except OSError:  # nobody listens there, which is told at once
            time.sleep(timeout)
            return None

    def _leave(self) -> None:
        self._sent += 1
        self._put(self._packet(OVER))

    def _put(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # nobody listens yet
            self._socket.send(data)

    def _disconnect(self) -> None:
        self._socket.close()
