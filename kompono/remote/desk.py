"""The supplier's desk: opens sessions for customers who may, hands them frames and replies, and writes the log.

It knows streams of messages (`talk`), not what carries them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kompono.remote import messages
from kompono.remote.allowed import Allowed, Grant, Peer
from kompono.remote.audit import Audit
from kompono.remote.interface import Refused, Served
from kompono.remote.limits import Ledger, Meter
from kompono.remote.messages import Malformed, Open, Welcome
from kompono.remote.session import HangUp, Replaced, Session
from kompono.remote.snapshots import Snapshots

OPENING = 10.0  # [s] within which a stream says what it wants


@dataclass(frozen=True)
class Rules:
    """Limits of a server, whoever asks."""

    sessions: int = 64  # at the same time
    largest: int = 16 << 20  # bytes of a message
    idle: float = 600.0  # [s] after which a session is put away; its customer can bring it back
    frames: int = 64  # between snapshots
    seconds: float = 1.0  # between snapshots


class Desk:
    """All sessions of a server."""

    def __init__(
        self, parts: Mapping[str, Served], allowed: Allowed, snapshots: Snapshots, ledger: Ledger, audit: Audit,
        rules: Rules,
    ) -> None:  # fmt: skip
        self._parts, self._allowed, self._snapshots, self._ledger = parts, allowed, snapshots, ledger
        self._audit, self.rules = audit, rules
        self._lock = threading.Lock()
        self._sessions: dict[bytes, Session] = {}
        self._meters: dict[tuple[Grant, str], Meter] = {}
        self._streams, self._closing = 0, False
        self._silent: dict[HangUp, float] = {}  # streams that have not said what they want, since when

    def talk(self, incoming: Iterator[bytes], peer: Peer, hang_up: HangUp) -> Iterator[bytes]:
        """One stream: what is said to it."""
        session, part = None, ""
        with self._lock:
            self._streams += 1
        self._silent[hang_up] = time.monotonic()
        try:
            opening = messages.unpack_open(next(incoming))
            self._silent.pop(hang_up, None)
            part = opening.part
            session, welcome = self._open(opening, peer, hang_up)
            yield welcome
            every = (self.rules.frames, self.rules.seconds)
            for data in incoming:
                asked = messages.unpack_ask(data)
                if asked is None:
                    self._end(session, "ended")
                    return
                yield session.answer(*asked, hang_up, self._boxed, every)
        except (StopIteration, Replaced):
            return
        except (Refused, Malformed) as error:
            yield self._refused(error, peer, part, session)
        except Exception as error:  # of the part: what it says is the supplier's business
            self._audit.write("failed", peer, part=part, why=f"{type(error).__name__}: {error}"[:500])
            if session is not None:
                self._end(session, "ended")
            yield messages.pack_refusal("the part failed while answering; the supplier's log says why.")
        finally:
            self._silent.pop(hang_up, None)
            if session is not None:
                session.leave(hang_up)
            with self._lock:
                self._streams -= 1

    def _open(self, opening: Open, peer: Peer, hang_up: HangUp) -> tuple[Session, bytes]:
        grant = self._allowed.grant(peer, opening.part, self._parts)
        served = self._parts[opening.part]
        session = self._session(opening, peer, grant, served)
        try:
            kind, frame = session.begin(opening, self._snapshots, hang_up, self.rules.largest)
        except BaseException:
            self._forget(session)
            session.leave(hang_up)  # which is to be told why
            session.end()
            raise
        word = ("opened", "resumed", "restored")[kind]
        self._audit.write(word, peer, part=opening.part, session=session.name.hex(), frames=session.at)
        left = session.meter.left
        welcome = Welcome(
            kind, session.at, self.rules.largest, grant.rate, messages.UNLIMITED if left is None else left,
            served.digest, frame,
        )  # fmt: skip
        return session, welcome.pack()

    def _session(self, opening: Open, peer: Peer, grant: Grant, served: Served) -> Session:
        """The session of that name, or a new one."""
        with self._lock:
            if self._closing:
                raise Replaced
            session = self._sessions.get(opening.session)
            if session is not None:
                if (session.peer.fingerprint, session.part) != (peer.fingerprint, opening.part):
                    raise Refused("the session is of another customer or part.")
                return session
            own = [one for one in self._sessions.values() if one.meter.grant is grant]
            self._make_room(own, grant.sessions, "you have")
            self._make_room(list(self._sessions.values()), self.rules.sessions, "the server has")
            meter = self._meters.setdefault((grant, opening.part), Meter(grant, opening.part, self._ledger))
            if meter.left == 0:
                meter.admit()  # refuses
            session = self._sessions[opening.session] = Session(opening.session, opening.part, served, peer, meter)
            return session

    def _make_room(self, sessions: list[Session], limit: int | None, whose: str) -> None:
        """Put away the session that is without a stream for longest, if there are too many; Refused if all are busy."""
        if limit is None or len(sessions) < limit:
            return
        idle = sorted((one for one in sessions if not one.attached), key=lambda one: one.touched)
        if not idle:
            raise Refused(f"{whose} {limit} sessions open, no more are allowed.", fix="Run fewer at the same time.")
        del self._sessions[idle[0].name]
        self._log_end(idle[0], "put away")
        idle[0].end()

    def _boxed(self, session: Session, data: bytes) -> bytes:
        served = self._parts[session.part]
        return self._snapshots.lock(data, session.at, session.peer.fingerprint, served.digest, session.name)

    def _refused(self, error: Refused | Malformed, peer: Peer, part: str, session: Session | None) -> bytes:
        sentence = f"{error.reason} {error.fix}".strip() if isinstance(error, Refused) else str(error)
        self._audit.write("refused", peer, part=messages.printable(part)[:100], why=sentence)
        if session is not None:
            self._end(session, "ended")
        return messages.pack_refusal(sentence)

    def _end(self, session: Session, word: str) -> None:
        self._forget(session)
        self._log_end(session, word)

    def _forget(self, session: Session) -> None:
        with self._lock:
            if self._sessions.get(session.name) is session:
                del self._sessions[session.name]

    def _log_end(self, session: Session, word: str) -> None:
        facts = {"session": session.name.hex(), "frames": session.frames, "evaluations": session.evaluations}
        self._audit.write(word, session.peer, part=session.part, **facts)

    def tidy(self) -> None:
        """Put away sessions nobody has used for long, and hang up on streams that say nothing; called now and then."""
        now = time.monotonic()
        with self._lock:
            old = [one for one in self._sessions.values() if now - one.touched > self.rules.idle]
        for session in old:
            self._end(session, "put away")
            session.end()
        for hang_up, since in list(self._silent.items()):
            if now - since > OPENING:
                self._silent.pop(hang_up, None)
                hang_up()

    def close(self) -> None:
        """End all sessions: their customers find nobody, and try again."""
        with self._lock:
            self._closing, sessions = True, list(self._sessions.values())
        for session in sessions:
            self._end(session, "put away")
            session.end()

    def quiet(self, grace: float) -> bool:
        """Whether all streams are over, within `grace` [s]: a part may be busy."""
        until = time.monotonic() + grace
        while self._streams and time.monotonic() < until:
            time.sleep(0.01)
        return not self._streams
