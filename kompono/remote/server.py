"""A server of parts: puts the desk behind a listening port, and what it must remember into a folder.

The folder (mode 700) holds `snapshots.key`, `used.json` (evaluations by customer and part), `audit.jsonl` and a lock:
one server at a time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kompono.errors import RemoteError
from kompono.remote.address import check_part, checked_host, is_loopback
from kompono.remote.allowed import Allowed, anyone
from kompono.remote.audit import Audit
from kompono.remote.credentials import Credentials
from kompono.remote.desk import Desk, Rules
from kompono.remote.host import Host
from kompono.remote.interface import Served
from kompono.remote.limits import Ledger
from kompono.remote.snapshots import Snapshots, key_in
from kompono.sealed.files import directory
from kompono.trust import Untrusted, make_folder, own_folder

_TIDY = 0.5  # [s]


class Server:
    """Serves from when it is made until `close`. Without credentials: on loopback only, for everybody there."""

    def __init__(
        self, parts: Mapping[str, Served], *, host: str = "127.0.0.1", port: int = 0,
        credentials: Credentials | None = None, allowed: Allowed | None = None, state: str | Path | None = None,
        log: str | Path | None = None, rules: Rules | None = None,
    ) -> None:  # fmt: skip
        rules = rules or Rules()
        for name in parts:
            check_part(name)
        if credentials is None and not is_loopback(checked_host(host)):
            raise RemoteError(
                f"without certificates only this machine is served, and {host} is not an address of it for certain.",
                fix="Give certificates, or 127.0.0.1.",
            )  # fmt: skip
        if credentials is not None and allowed is None:
            raise RemoteError("who may ask for what is to be said.", fix="Give a list of customers (--clients FILE).")
        folder = _folder(Path(state) if state is not None else directory() / "serve")
        self._lock = _locked(folder)
        try:
            self._audit = Audit(Path(log) if log is not None else folder / "audit.jsonl")
            snapshots, self._ledger = Snapshots(key_in(folder / "snapshots.key")), Ledger(folder / "used.json")
            self._desk = Desk(parts, allowed or anyone(), snapshots, self._ledger, self._audit, rules)
            target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            self._host = Host(self._desk.talk, target, credentials, streams=rules.sessions, largest=rules.largest)
        except BaseException:
            os.close(self._lock)
            raise
        self.host, self.port = host, self._host.port
        self._over = threading.Event()
        self._tidying = threading.Thread(target=self._tidy, daemon=True, name="kompono remote tidy")
        self._tidying.start()
        self._audit.write("started", at=f"{host}:{self.port}", parts=sorted(parts))

    def _tidy(self) -> None:
        while not self._over.wait(_TIDY):
            self._desk.tidy()

    def close(self, grace: float = 1.0) -> bool:
        """Stop; frames that are being answered have `grace` [s]. False if a part is busy for longer."""
        if self._over.is_set():
            return True
        self._over.set()
        self._tidying.join()
        self._desk.close()
        self._host.stop(grace)
        quiet = self._desk.quiet(grace)
        self._ledger.close()
        self._audit.write("stopped")
        self._audit.close()
        os.close(self._lock)
        return quiet

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _folder(path: Path) -> Path:
    try:
        make_folder(path)
        return own_folder(path)
    except Untrusted as error:
        raise RemoteError(
            f"the folder of a server is its own: {error}.", path=str(path), fix="Name another."
        ) from error
    except OSError as error:
        raise RemoteError(f"cannot be used: {error.strerror}.", path=str(path), fix="Name another folder.") from error


def _locked(folder: Path) -> int:
    """A descriptor that keeps other servers out of a folder until it is closed, or the process ends."""
    file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        fcntl: Any = __import__("fcntl")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # Windows: files have no such locks
        pass
    except OSError:
        os.close(file)
        fix = "Give this one a folder of its own (--state)."
        raise RemoteError("another server uses this folder.", path=str(folder), fix=fix) from None
    return file
