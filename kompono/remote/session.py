"""The supplier's end of one session: each frame is evaluated once, however often it is sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from kompono.remote import messages
from kompono.remote.allowed import Peer
from kompono.remote.interface import Refused, Servant, Served
from kompono.remote.kept import WINDOW
from kompono.remote.limits import Meter
from kompono.remote.snapshots import Snapshots

HangUp = Callable[[], object]  # ends a stream


class Replaced(Exception):
    """The customer has come back on another stream; this one is over."""


class Session:
    """A servant, how far it is, and the replies its customer may not have seen."""

    def __init__(self, name: bytes, part: str, served: Served, peer: Peer, meter: Meter) -> None:
        self.name, self.part, self.peer, self.meter, self._served = name, part, peer, meter, served
        self._lock = threading.Lock()
        self.at = self.evaluations = self.frames = 0
        self.touched = time.monotonic()
        self._servant: Servant | None = None
        self._welcome = b""
        self._window: dict[int, tuple[bytes, bytes]] = {}  # frame and message of the reply, by number
        self._snapshot_at, self._snapshot_when = 0, time.monotonic()
        self._hang_up: HangUp | None = None
        self._over = False

    @property
    def attached(self) -> bool:
        """Whether a stream is there."""
        return self._hang_up is not None

    def begin(
        self, opening: messages.Open, snapshots: Snapshots, hang_up: HangUp, largest: int
    ) -> tuple[int, bytes]:  # fmt: skip
        """Give the session a stream, and a servant if it has none: what kind of welcome it is, and the frame."""
        with self._lock:
            if self._over:
                raise Replaced
            if self._hang_up is not None:
                self._hang_up()
            self._hang_up = hang_up
            self.touched = time.monotonic()
            if self._servant is not None:
                return messages.LIVE, self._welcome
            servant, self._welcome = self._served.opener(self.part, opening.hello, self.peer.name)
            if opening.snapshot:
                bound = (self.peer.fingerprint, self._served.digest, opening.origin)
                number, data = snapshots.unlock(opening.snapshot, *bound)
                servant.restore(data)
                self.at = self._snapshot_at = number
            _check_size(servant, opening, largest)
            self._servant = servant
            return messages.RESTORED if opening.snapshot else messages.NEW, self._welcome

    def leave(self, hang_up: HangUp) -> None:
        """A stream is over; the session stays for a while."""
        if self._hang_up is hang_up:
            self._hang_up = None
            self.touched = time.monotonic()

    def answer(
        self, number: int, seen: int, frame: bytes, hang_up: HangUp,
        snapshot: Callable[[Session, bytes], bytes], every: tuple[int, float],
    ) -> bytes:  # fmt: skip
        """The message with the reply to a frame, with a snapshot every so many frames or seconds."""
        with self._lock:
            servant = self._servant
            if self._hang_up is not hang_up or servant is None:
                raise Replaced
            self.touched = time.monotonic()
            for old in [key for key in self._window if key <= seen]:
                del self._window[old]
            if number != self.at + 1:
                return self._again(number, frame)
            if len(self._window) >= 2 * WINDOW:
                raise Refused(f"more than {WINDOW} frames are under way.")
            reply = self._evaluated(servant, frame)
            self.at = number
            frames, seconds = every
            box = b""
            if number - self._snapshot_at >= frames or self.touched - self._snapshot_when >= seconds:
                box = snapshot(self, servant.snapshot())
                self._snapshot_at, self._snapshot_when = number, self.touched
            message = messages.pack_reply(number, reply, box)
            self._window[number] = (frame, message)
            return message

    def _again(self, number: int, frame: bytes) -> bytes:
        """The same reply to a frame that was sent again."""
        if number > self.at:
            raise Refused(f"frame {number} came after frame {self.at}.")
        sent, message = self._window.get(number, (None, b""))
        if sent is None:
            raise Refused(f"frame {number} is too old to be sent again.")
        if sent != frame:
            raise Refused(f"two different frames have the number {number}.")
        return message

    def _evaluated(self, servant: Servant, frame: bytes) -> bytes:
        self.meter.admit()
        before = servant.evaluations
        try:
            return servant.answer(frame)
        finally:
            used = servant.evaluations - before
            self.evaluations += used
            self.frames += 1
            self.meter.count(used)

    def end(self) -> None:
        """Forget the servant, and hang up."""
        self._over = True
        hang_up, self._hang_up, self._servant = self._hang_up, None, None
        if hang_up is not None:
            hang_up()


def _check_size(servant: Servant, opening: messages.Open, largest: int) -> None:
    """Refuse a part whose snapshot could be handed out but not be taken back."""
    size = len(servant.snapshot())
    if size + len(opening.hello) + 1024 > largest:
        raise Refused(
            f"the state of the part, {size} bytes, is larger than the server takes back ({largest}).",
            fix="Run fewer at the same time (lanes), or ask the supplier to raise --largest-frame.",
        )
