"""The customer's line to one instance of a remote part: frames are asked, and answered exactly once.

A broken link is tried again for `patience` seconds; then `LinkLost` says why. A server that was restarted knows nothing
of the session: it gets its own snapshot back and the frames after it, and goes on with the same bits (kept.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

from kompono.errors import KomponoError, RemoteError
from kompono.interruption import asked
from kompono.remote import messages
from kompono.remote.address import is_loopback, parse
from kompono.remote.credentials import Credentials, own
from kompono.remote.explain import explain
from kompono.remote.interface import LinkLost, Refused
from kompono.remote.kept import Kept, unpack
from kompono.remote.wire import Broken, Stream

PATIENCE = 60.0  # [s]
_CONTACT = 10.0  # [s] for the first contact: the address may be wrong
_FIRST, _LONGEST = 0.05, 2.0  # [s] between tries
_FINAL = {  # statuses that do not change by trying again
    "RESOURCE_EXHAUSTED": "the message is larger, or the sessions are more, than the server takes",
    "UNIMPLEMENTED": "what answers is no Kompono server, or one of another version",
}

T = TypeVar("T")


class Line:
    """`ask` one frame, or `post` on several lines and `collect` then, so that suppliers work at the same time.

    For one thread. `welcome` is the supplier's first frame, `round_trips` counts replies, `restored` how often a new
    server took the session over.
    """

    def __init__(
        self, address: str, hello: bytes, *, credentials: Credentials | None = None, insecure: bool = False,
        patience: float = PATIENCE, kept: bytes | None = None,
    ) -> None:  # fmt: skip
        self.address = parse(address)
        if insecure and not is_loopback(self.address.host):
            raise RemoteError(
                f"{self.address.host} is not an address of this machine: without TLS nothing is sent there.",
                path=str(self.address), fix="Leave out insecure=True, or write 127.0.0.1 or [::1].",
            )  # fmt: skip
        if not 0 < patience < float("inf"):
            raise RemoteError(f"patience is a time in seconds, not {patience!r}.", path=str(self.address))
        self._credentials = None if insecure else (credentials or own())
        self._hello, self.patience = hello, patience
        self._kept = unpack(kept) if kept is not None else Kept()
        self._stream: Stream | None = None
        self._ended: KomponoError | None = None
        self._trouble: float | None = None  # since when there was no new reply because of the link
        self.welcome, self.terms = b"", None
        self.round_trips = self.reconnected = self.restored = 0
        self._reach()

    def ask(self, frame: bytes) -> bytes:
        """The reply to a frame."""
        return self.collect(self.post(frame))

    def post(self, frame: bytes) -> int:
        """Send a frame; the ticket its reply is collected with."""
        self._check()
        if self.terms is not None and len(frame) + 32 > self.terms.largest:
            raise Refused(
                f"a frame of {len(frame)} bytes is larger than the server takes ({self.terms.largest}).",
                path=str(self.address), fix="Ask the supplier, or run fewer at the same time.",
            )  # fmt: skip
        number = self._kept.add(frame)
        if self._stream is not None:
            self._stream.send(messages.pack_ask(number, self._kept.seen, frame))
        return number

    def collect(self, ticket: int) -> bytes:
        """The reply to a frame that was posted; each once, in any order."""
        while (reply := self._kept.collect(ticket)) is None:
            self._check()
            try:
                self._receive()
            except Broken as broken:
                self._reach(broken)
            except KomponoError as error:
                self._fail(error)
        return reply

    def keep(self) -> bytes:
        """What another process needs to go on from here (`kept=`); from the last reply, if the link was lost."""
        if self._ended is None and self._kept.under_way:
            raise RemoteError("replies are still to be collected.", path=str(self.address))
        return self._kept.pack()

    def close(self) -> None:
        """Say that the session is over."""
        if self._stream is not None:
            self._stream.finish(bytes([messages.BYE]), min(self.patience, 2.0))
            self._stream = None
        self._ended = self._ended or RemoteError("the line was closed.", path=str(self.address))

    def _receive(self) -> None:
        if self._stream is None:
            raise Broken("OK", "the connection broke")
        number, reply, snapshot = _understood(messages.unpack_reply, self._message(self._stream, self.patience))
        if self._kept.take(number, reply, snapshot):
            self.round_trips += 1
            self._trouble = None

    def _message(self, stream: Stream, patience: float) -> bytes:
        """The next message that is no refusal."""
        try:
            data = stream.receive(patience)
        except Broken as broken:
            if broken.word in _FINAL:
                raise Refused(f"{_FINAL[broken.word]} ({messages.printable(broken.text)}).") from None
            raise
        sentence = messages.refusal_in(data)
        if sentence is not None:
            raise Refused(f"the supplier says: {sentence}")
        return data

    def _reach(self, broken: Broken | None = None) -> None:
        """Connect, and send again what was not answered; until it works or patience is over."""
        patience = self.patience if self.terms else min(self.patience, _CONTACT)
        self._trouble = self._trouble or time.monotonic()  # a server that breaks at the same frame again is no help
        until, wait = self._trouble + patience, _FIRST
        while True:
            self._drop()
            try:
                if broken is not None:
                    self._pause(wait, until, self._reason(broken, until), patience)
                    wait = min(2 * wait, _LONGEST)
                self._open(_left(until) if self.terms else self.patience)  # a part may take its time to be made
                self._trouble = self._trouble if self._kept.under_way else None
                return
            except Broken as again:
                broken = again
            except KomponoError as error:
                self._fail(error)

    def _open(self, patience: float) -> None:
        kept = self._kept
        stream = self._stream = Stream(self.address, self._credentials)
        opening = messages.Open(self.address.part, kept.session, self._hello, kept.origin, kept.snapshot)
        stream.send(opening.pack())
        welcome = _understood(messages.unpack_welcome, self._message(stream, patience))
        if kept.digest not in (b"", welcome.digest):
            raise Refused("the part was changed since this run began.", fix="Start the run anew.")
        again = kept.again(welcome.at)
        self.reconnected += bool(self.terms)
        self.restored += welcome.kind != messages.LIVE and bool(kept.digest)
        kept.digest, self.terms, self.welcome = welcome.digest, welcome, welcome.frame
        for number in again:
            stream.send(messages.pack_ask(number, kept.seen, kept.frames[number]))

    def _reason(self, broken: Broken, until: float) -> str:
        """What is the matter with a link that may come back."""
        if broken.word == "LATE":
            raise LinkLost(f"{broken.text}.", fix="Is the server busy, or the link down? Try a longer patience.")
        return broken.text if broken.word == "OK" else explain(self.address, self._credentials, _left(until))

    def _pause(self, wait: float, until: float, reason: str, patience: float) -> None:
        """Wait before the next try; LinkLost when there will be none."""
        end = min(time.monotonic() + wait, until)
        if end <= time.monotonic():
            raise LinkLost(f"{reason}; tried for {patience:g} s.", fix="Is the server running? Is the link up?")
        while (left := end - time.monotonic()) > 0:
            if asked():
                raise LinkLost(f"{reason}; the run was asked to end.")
            time.sleep(min(left, 0.1))

    def _drop(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _check(self) -> None:
        if self._ended is not None:
            raise self._ended

    def _fail(self, error: KomponoError) -> None:
        """The end of this line: every later call says the same."""
        self._drop()
        self._ended = error.at(str(self.address))
        raise self._ended

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _left(until: float) -> float:
    return max(until - time.monotonic(), 0.1)


def _understood(unpack: Callable[[bytes], T], data: bytes) -> T:
    try:
        return unpack(data)
    except messages.Malformed as error:
        fix = "Is it a Kompono server of the same version?"
        raise Refused(f"what the server said is not understood: {error}", fix=fix) from None
