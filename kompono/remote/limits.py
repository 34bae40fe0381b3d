"""What a customer has used of a part: evaluations per second, by waiting, and in all, by an account on disk.

The account survives the server, however it ends: evaluations are written down in blocks before their replies are sent,
so a server that is killed has counted some too many, never too few.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

from kompono.errors import RemoteError
from kompono.remote.allowed import Grant
from kompono.remote.interface import Refused
from kompono.trust import make_own, write_all

_BLOCK = 1000  # evaluations written down ahead, at most a hundredth of what is allowed
_LONGEST = 10.0  # [s] an answer waits for its turn


class Ledger:
    """Evaluations by customer and part, in a file."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._lock = path, threading.Lock()
        self._used: dict[str, int] = {}
        self._written: dict[str, int] = {}
        if path is not None and path.exists():
            self._used = dict(_read(path))
            self._written = dict(self._used)

    def used(self, account: str, part: str) -> int:
        """So far."""
        return self._used.get(_entry(account, part), 0)

    def add(self, account: str, part: str, count: int, limit: int | None) -> None:
        """Count evaluations; those of a customer with a limit are on disk before this returns."""
        with self._lock:
            entry = _entry(account, part)
            now = self._used[entry] = self._used.get(entry, 0) + count
            if limit is not None and now >= self._written.get(entry, 0):
                self._written[entry] = now + min(_BLOCK, limit // 100)
                self._write(self._written)

    def close(self) -> None:
        """Write down what was really used."""
        with self._lock:
            self._write(self._used)

    def _write(self, counts: dict[str, int]) -> None:
        if self._path is None:
            return
        beside = self._path.with_name(f".{self._path.name}-{os.urandom(8).hex()}")
        try:
            write_all(make_own(beside), json.dumps({**self._used, **counts}, indent=1, sort_keys=True).encode())
            os.replace(beside, self._path)
        finally:
            beside.unlink(missing_ok=True)


def _entry(account: str, part: str) -> str:
    return f"{part} {account}"


def _read(path: Path) -> dict[str, int]:
    try:
        found = json.loads(path.read_bytes())
        if isinstance(found, dict) and all(type(value) is int and value >= 0 for value in found.values()):
            return found
    except (ValueError, RecursionError):
        pass
    except OSError as error:
        raise RemoteError(f"cannot be read: {error.strerror}.", path=str(path)) from error
    fix = "Put a copy back; removing it forgets what customers have used."
    raise RemoteError("the account of evaluations is damaged.", path=str(path), fix=fix)


class Meter:
    """The limits of one customer on one part, shared by all sessions."""

    def __init__(self, grant: Grant, part: str, ledger: Ledger) -> None:
        self.grant, self._part, self._ledger = grant, part, ledger
        self._lock, self._free = threading.Lock(), 0.0  # when the next evaluation may begin

    @property
    def left(self) -> int | None:
        """Evaluations that are left; None if there is no limit."""
        limit = self.grant.evaluations
        return None if limit is None else max(limit - self._ledger.used(self.grant.account, self._part), 0)

    def admit(self) -> None:
        """Before a frame: wait for its turn; Refused if nothing is left."""
        if self.left == 0:
            raise Refused(
                f"all {self.grant.evaluations} evaluations of {self._part!r} are used.",
                fix="Ask the supplier for more.",
            )
        wait = self._free - time.monotonic()
        if wait > _LONGEST:
            raise Refused(
                f"more than {self.grant.rate:g} evaluations per second were asked for, {wait:.0f} s ahead of it.",
                fix="Run fewer at the same time.",
            )
        if wait > 0:
            time.sleep(wait)

    def count(self, evaluations: int) -> None:
        """After a frame."""
        if evaluations <= 0:
            return
        self._ledger.add(self.grant.account, self._part, evaluations, self.grant.evaluations)
        if self.grant.rate < float("inf"):
            with self._lock:
                self._free = max(self._free, time.monotonic()) + evaluations / self.grant.rate
