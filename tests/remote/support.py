"""Servers, certificates and broken networks for tests, all on this machine."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from remote.summing import Summing, opener

from kompono.remote import Served, certificates, credentials
from kompono.remote.allowed import Allowed, Grant
from kompono.remote.line import Line
from kompono.remote.server import Server

HELLO = struct.pack("<d", 0.5)
PROGRAM = Path(__file__).with_name("summing.py")
COMMAND = "import sys; from kompono.edges.cli import main; sys.exit(main())"
VALUES = [(-1) ** k * (0.1 + 0.37 * k) for k in range(40)]
FRAMES = [struct.pack("<d", value) for value in VALUES]


def undisturbed(frames: list[bytes] | None = None) -> list[bytes]:
    """The replies without a network."""
    servant = Summing(0.5)
    return [servant.answer(frame) for frame in frames or FRAMES]


class Papers:
    """A folder of certificates: an authority, a supplier for 127.0.0.1, customers."""

    def __init__(self, folder: Path, name: str = "Ada") -> None:
        self.folder, self.authority = folder, certificates.make_authority(f"{name} authority")
        certificates.write_pair(folder, "authority", self.authority)
        self.put("supplier", certificates.make_supplier(self.authority, name, ["127.0.0.1", "10.77.1.2"], 2))
        self.customer("Car Ltd")

    def put(self, stem: str, pair: certificates.Pair) -> None:
        certificates.write_pair(self.folder, stem, pair)

    def customer(self, name: str) -> credentials.Credentials:
        """Credentials of a customer, made if they are not there."""
        stem = certificates.slug(name)
        if not (self.folder / f"{stem}.pem").exists():
            self.put(stem, certificates.make_customer(self.authority, name, 2))
        return self.read(stem, "customer")

    def read(self, stem: str, role: str) -> credentials.Credentials:
        place = self.folder
        return credentials.read(place / f"{stem}.pem", place / f"{stem}.key", place / "authority.pem", role)


def served(make: Callable[..., Any] = opener, digest: bytes = bytes(32)) -> Served:
    return Served(make, digest)


def server(folder: Path, papers: Papers | None = None, *grants: Grant, **options: Any) -> Server:
    """A server in this process, of a part `sum`."""
    options.setdefault("parts", {"sum": served()})
    if papers is not None:
        options["credentials"] = papers.read("supplier", "supplier")
        options["allowed"] = Allowed(grants or (Grant("Car Ltd", "", ("*",)),))
    return Server(options.pop("parts"), state=folder, **options)


def line(port: int, shown: credentials.Credentials | None = None, part: str = "sum", **options: Any) -> Line:
    """A line to a server on this machine."""
    options.setdefault("patience", 10.0)
    return Line(f"127.0.0.1:{port}/{part}", HELLO, credentials=shown, insecure=shown is None, **options)


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as found:
        return found.getsockname()[1]


class Process:
    """`kompono serve` as a process of its own, which can be killed."""

    def __init__(self, folder: Path, port: int, *more: str, prefix: tuple[str, ...] = (), name: str = "opener") -> None:
        words = [f"sum={PROGRAM}:{name}", "--port", str(port), "--state", str(folder), *more]
        if "--cert" not in more:
            words.append("--insecure-loopback")
        environment = {**os.environ, "PYTHONPATH": str(PROGRAM.parents[2])}
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-c", COMMAND, "serve", *words], env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        assert self.said.startswith("serving sum"), self.process.communicate()[1]

    def kill(self) -> None:
        """As the system does when memory ends."""
        self.end(signal.SIGKILL)

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Exit code, and what was said on stderr."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=120)
        return self.process.returncode, errors


class Proxy:
    """A network between customer and server that can be cut: it forwards connections while it is up."""

    def __init__(self, target: int) -> None:
        self._target, self._open, self.accepted, self.up = target, set[socket.socket](), 0, True
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                self.accepted += 1
                if not self.up:
                    here.close()
                    continue
                there = socket.create_connection(("127.0.0.1", self._target))
                self._open |= {here, there}
                for one, other in ((here, there), (there, here)):
                    threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    def _pump(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(1 << 16):
                other.sendall(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """Break every connection."""
        for end in self._open:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._open.clear()

    def close(self) -> None:
        self._listener.close()
        self.cut()


@contextmanager
def proxy(target: int) -> Iterator[Proxy]:
    made = Proxy(target)
    try:
        yield made
    finally:
        made.close()
