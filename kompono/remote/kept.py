"""What a customer keeps of a session so that it can go on at a server that knows nothing of it any more.

That is the newest snapshot (which only the supplier can read) and all frames after it with their replies. Frames that
are sent again must get the replies they had: another reply means that the part is not the same, and is refused.
"""

from __future__ import annotations

import os
import struct

from kompono.errors import RemoteError
from kompono.remote.interface import Refused

WINDOW = 32  # frames under way at the same time
_MAGIC = b"kompono kept session 1\n"
_HEAD = struct.Struct("<16sQQ32sIII")
_ENTRY = struct.Struct("<II")


class Kept:
    """The customer's end of one session."""

    def __init__(self, session: bytes | None = None) -> None:
        self.session = session or os.urandom(16)
        self.origin, self.snapshot = b"", b""  # session it is of; the newest box
        self.base = 0  # number of the frame the snapshot was taken after
        self.seen = 0  # highest number with a reply
        self.last = 0  # highest number sent
        self.digest = b""  # of the part, once it is known
        self.frames: dict[int, bytes] = {}  # all after `base`
        self._replies: dict[int, bytes] = {}  # of these, those that came
        self._waiting: dict[int, bytes] = {}  # replies nobody has collected yet

    def add(self, frame: bytes) -> int:
        """The number of a new frame."""
        if self.last - self.seen >= WINDOW:
            raise RemoteError(f"{WINDOW} frames are under way already.", fix="Collect replies before posting more.")
        self.last += 1
        self.frames[self.last] = frame
        return self.last

    def again(self, at: int) -> list[int]:
        """Numbers of the frames to send to a session that has answered `at` frames."""
        first = min(at, self.seen) + 1
        if at > self.last or first <= self.base:
            raise Refused("the server's session is not where this run left it.", fix="Start the run anew.")
        return list(range(first, self.last + 1))

    def take(self, number: int, reply: bytes, snapshot: bytes) -> bool:
        """Keep a reply that came; whether it is a new one."""
        new = number == self.seen + 1
        if new and number in self.frames:
            self.seen = number
            self._replies[number] = self._waiting[number] = reply
        elif self._replies.get(number, reply) != reply:
            raise Refused(
                f"frame {number} was sent again and was answered differently: the part is not the same any more.",
                fix="Ask the supplier what was changed, and start the run anew.",
            )
        elif new or number > self.seen:
            raise Refused(f"the server answered frame {number}, which was not sent.")
        if snapshot and number > self.base:
            self._rebase(number, snapshot)
        return new

    def _rebase(self, number: int, snapshot: bytes) -> None:
        for old in range(self.base + 1, number + 1):
            del self.frames[old]
            self._replies.pop(old, None)
        self.base, self.snapshot, self.origin = number, snapshot, self.session

    def collect(self, number: int) -> bytes | None:
        """The reply to a frame, None if it has not come; each is handed over once."""
        if number in self._waiting:
            return self._waiting.pop(number)
        if not self.seen < number <= self.last:
            raise RemoteError(f"there is no reply to collect for ticket {number}.")
        return None

    @property
    def under_way(self) -> bool:
        """Whether a frame has no reply yet."""
        return self.seen != self.last

    def pack(self) -> bytes:
        """All that another process needs to go on after the last frame that was answered."""
        if self._waiting:
            raise RemoteError("replies are still to be collected.")
        frames = [(self.frames[number], reply) for number, reply in self._replies.items()]
        sizes = (len(self.origin), len(self.snapshot), len(frames))
        entries = [_MAGIC, _HEAD.pack(self.origin, self.base, self.seen, self.digest, *sizes), self.snapshot]
        for frame, reply in frames:
            entries += [_ENTRY.pack(len(frame), len(reply)), frame, reply]
        return b"".join(entries)


def unpack(data: bytes) -> Kept:
    """A session of its own that goes on from what was packed."""
    kept = Kept()
    try:
        if not data.startswith(_MAGIC):
            raise ValueError("magic")
        origin, kept.base, kept.last, kept.digest, known, size, count = _HEAD.unpack_from(data, len(_MAGIC))
        kept.seen, kept.origin = kept.last, origin[:known]
        start = len(_MAGIC) + _HEAD.size
        kept.snapshot = data[start : start + size]
        start += size
        for number in range(kept.base + 1, kept.base + count + 1):
            asked, answered = _ENTRY.unpack_from(data, start)
            middle = start + _ENTRY.size + asked
            kept.frames[number] = data[start + _ENTRY.size : middle]
            kept._replies[number] = data[middle : middle + answered]
            start = middle + answered
        if start != len(data) or kept.base + count != kept.last:
            raise ValueError("length")
    except (ValueError, struct.error):
        raise RemoteError("what was kept of a session with a supplier is damaged.", fix="Start the run anew.") from None
    return kept
