"""The customer's end of a connection: gRPC carries messages, and nothing else here knows it.

One bidirectional stream on a channel of its own. A reply wakes the asking thread directly; a watchman ends a stream
that is silent for too long.
"""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

from kompono.interruption import asked_anywhere
from kompono.remote.address import Address, is_loopback
from kompono.remote.credentials import Credentials
from kompono.remote.packages import needed

METHOD = "/kompono.Remote/Session"
LARGEST_REPLY = 1 << 28  # bytes
_WATCH = 0.1  # [s]
_HEALTHY = 1.0  # [s] within which a reply is still waited for when the run was asked to end
_ALIVE = 5000  # [ms] after which a silent connection is probed, and given up without an answer


class Broken(Exception):
    """The stream is over. `word` is gRPC's status, the text what it said."""

    def __init__(self, word: str, text: str) -> None:
        super().__init__(text)
        self.word, self.text = word, text


class Stream:
    """Messages there and back."""

    def __init__(self, address: Address, credentials: Credentials | None) -> None:
        grpc = needed("grpc")
        options = [
            ("grpc.use_local_subchannel_pool", 1),  # a connection of its own, tried when we say so
            ("grpc.max_receive_message_length", LARGEST_REPLY),
            ("grpc.max_send_message_length", -1),
            ("grpc.keepalive_time_ms", _ALIVE),
            ("grpc.keepalive_timeout_ms", _ALIVE),
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.enable_http_proxy", 0 if is_loopback(address.host) else 1),
        ]
        if credentials is None:
            self._channel = grpc.insecure_channel(address.target, options)
        else:
            shown = grpc.ssl_channel_credentials(credentials.authority, credentials.key, credentials.certificate)
            self._channel = grpc.secure_channel(address.target, shown, options)
        self._error: Any = grpc.RpcError
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._incoming: Any = self._channel.stream_stream(METHOD)(iter(self._outgoing.get, None))
        self._since, self._until, self._late, self._listens = 0.0, 0.0, False, False
        self._over = threading.Event()
        threading.Thread(target=self._watch, daemon=True, name="kompono remote watch").start()

    def send(self, data: bytes) -> None:
        """Hand a message over; what becomes of it shows when a reply is received."""
        self._outgoing.put(data)

    def receive(self, patience: float) -> bytes:
        """The next message; Broken if none comes within `patience` [s]."""
        self._since = time.monotonic()
        self._listens = threading.current_thread() is threading.main_thread()  # to whoever asks the run to end
        self._until = self._since + patience
        try:
            return next(self._incoming)
        except StopIteration:
            raise Broken("OK", "the server ended the connection") from None
        except self._error as error:
            if self._late:
                raise Broken("LATE", f"no answer for {time.monotonic() - self._since:.1f} s") from None
            raise Broken(error.code().name, str(error.details())) from None
        finally:
            self._until = 0.0

    def _watch(self) -> None:
        while not self._over.wait(_WATCH):
            until, now = self._until, time.monotonic()
            unwanted = self._listens and now - self._since > _HEALTHY and asked_anywhere()
            if until and (now > until or unwanted):
                self._late = True
                self._incoming.cancel()
                return

    def finish(self, last: bytes, patience: float) -> None:
        """Send a last message and wait until the server has ended the stream."""
        self.send(last)
        self._outgoing.put(None)
        try:
            while True:
                self.receive(patience)
        except Broken:
            self.close()

    def close(self) -> None:
        """End it now."""
        self._over.set()
        self._outgoing.put(None)
        self._incoming.cancel()
        self._channel.close()
