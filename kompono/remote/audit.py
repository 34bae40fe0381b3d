"""The supplier's log: one line of JSON for every session that begins or ends and every refusal. Never contents.

{"when": "2026-01-31T12:00:00Z", "what": "ended", "who": "Car Ltd", "certificate": "3f2a...", "from": "ipv4:...",
 "part": "damper", "session": "9c01...", "frames": 6000, "evaluations": 6000}
"""

from __future__ import annotations

import datetime
import json
import os
import stat
import threading
from pathlib import Path

from kompono.errors import RemoteError
from kompono.remote.allowed import Peer


class Audit:
    """Appends to a file of mode 600; with None, keeps nothing."""

    def __init__(self, path: Path | None) -> None:
        self._lock, self._file = threading.Lock(), None
        if path is None:
            return
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except OSError as error:
            raise RemoteError(f"the log cannot be written: {error.strerror}.", path=str(path)) from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise RemoteError("the log is no plain file.", path=str(path))
        self._file = os.fdopen(descriptor, "ab")

    def write(self, what: str, peer: Peer | None = None, **facts: object) -> None:
        """One line, on disk when this returns: what cannot be logged is not answered."""
        now = datetime.datetime.now(datetime.UTC)
        line: dict[str, object] = {"when": f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03d}Z", "what": what}
        if peer is not None:
            line |= {"who": peer.name, "certificate": peer.fingerprint, "from": peer.place}
        with self._lock:
            if self._file is None:
                return
            self._file.write(json.dumps(line | facts, ensure_ascii=True).encode() + b"\n")
            self._file.flush()

    def close(self) -> None:
        """No more lines."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
