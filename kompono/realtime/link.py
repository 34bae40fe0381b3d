"""Both ends of a connection: a link is an observer of a live run, a client is its other side in another process.

Transports derive from them and only move bytes. At each frame a link takes the newest inputs that have arrived, sends
the outputs and goes on: nothing waits for the other side, so its answer acts one frame later.
"""

from __future__ import annotations

import time as clock
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np

from kompono.errors import RunError, suggest
from kompono.given import number, shown, texts
from kompono.realtime.frame import Live, LiveFrame
from kompono.realtime.packet import HELLO, INPUTS, MOST, OUTPUTS, OVER, Mailbox, Packet, encode, layout_mark
from kompono.realtime.seal import FROM, TO, Seal, SealedMailbox, checked_key

AGAIN = 0.1  # s without an answer, after which outputs are sent again
LOOKS, PAUSE = 20, 2e-5  # looks for an answer without a pause, and pauses [s] between those that follow


class Link(ABC):
    """The simulation's end. `outputs` are sent each frame, by name or glob; `inputs` are received (None: all).

    The run begins when the other side was heard, if that takes no longer than `wait` [s] (0: it begins at once). With a
    `key` only who has it is heard. Numbers of packets that are more than `_jump` ahead are not believed.
    """

    _jump: int | None = None

    def __init__(
        self, *, outputs: str | Iterable[str], inputs: Iterable[str] | None, wait: float, checksum: bool, exact: bool,
        key: bytes | str | None = None,
    ) -> None:  # fmt: skip
        fix = 'Give names or globs, e.g. ["pin.angle", "*.force.*"].'
        self.outputs = list(texts(outputs, "outputs", error=RunError, fix=fix))
        self.inputs = None if inputs is None else list(texts(inputs, "inputs", error=RunError, fix=fix))
        if number(wait, "wait", error=RunError, fix="Give seconds, 0 for not at all.") < 0:
            raise RunError(f"wait {shown(wait)} is negative.", fix="Give seconds, 0 for not at all.")
        self.wait, self.checksum, self._exact = wait, checksum, exact
        self._key, self._seal = checked_key(key), None
        self.mailbox = Mailbox(0, {})
        self._sent = 0

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called in reports."""

    @abstractmethod
    def _connect(self) -> None:
        """Be ready for the other side."""

    @abstractmethod
    def _arrived(self) -> Iterable[bytes]:
        """What has come since the last frame; must not wait."""

    @abstractmethod
    def _put(self, data: bytes) -> None:
        """Send; must neither wait nor fail."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Free everything."""

    def _greeted(self) -> None:  # noqa: B027 (most transports have nothing to do)
        """The last packet taken was a good one."""

    def _left(self) -> None:  # noqa: B027
        """The other side has gone."""

    def open(self, live: Live) -> None:
        """Agree on names and be ready for the other side."""
        self._columns, self._places = live.find(self.outputs), live.find_inputs(self.inputs)
        names = [live.channels[i] for i in self._columns]
        inputs = [live.inputs[i] for i in self._places]
        if max(len(names), len(inputs)) > MOST:
            raise RunError(f"a packet holds at most {MOST} values, not {len(names)}.", fix="Send fewer outputs.")
        self._mark = layout_mark(inputs, names)
        self.mailbox = self._mailbox({HELLO: 0, INPUTS: len(inputs), OVER: 0})
        self._sent = 0
        self._time = 0.0
        self._early: Packet | None = None
        self._connect()
        try:
            self._wait()
        except BaseException:
            self._disconnect()
            raise

    def _mailbox(self, counts: dict[int, int]) -> Mailbox:
        if self._key is None:
            return Mailbox(self._mark, counts, checksum=self.checksum, exact=self._exact, jump=self._jump)
        self._seal = Seal(self._key, FROM)
        return SealedMailbox(self._mark, counts, self._seal)

    def _wait(self) -> None:
        end = clock.monotonic() + self.wait
        heard = self.wait <= 0
        while not heard:
            self._early = self._receive()
            heard = self._early is not None or self.mailbox.greeted > 0
            if not heard and clock.monotonic() > end:
                raise RunError(f"{self.name}: nobody was heard within {self.wait:g} s.", fix="Start the other side.")
            if not heard:
                clock.sleep(0.002)

    def __call__(self, frame: LiveFrame) -> None:
        """Take the newest inputs and send the outputs."""
        newest, self._early = self._receive() or self._early, None
        if newest is not None:
            frame.write(self._places, newest.values)
        self._time = frame.time
        self._send(OUTPUTS, frame.values[self._columns])

    def exchange(self, time: float, values: Sequence[float], timeout: float) -> list[float]:
        """Send outputs and wait for the inputs that answer them; TimeoutError if none come within `timeout` [s]."""
        begun, sent, looks = clock.monotonic(), -1.0, 0
        self._time = time
        while True:
            now = clock.monotonic() - begun
            if now > timeout:
                raise TimeoutError(f"no answer of the other side for {timeout:g} s")
            if now - sent > AGAIN:  # at first, and again if it was lost
                self._send(OUTPUTS, values)
                sent = now
            newest, self._early = self._receive() or self._early, None
            if newest is not None and newest.time == time:
                return newest.values.tolist()
            looks += 1
            if looks > LOOKS:
                clock.sleep(PAUSE)

    def _receive(self) -> Packet | None:
        newest = None
        for data in self._arrived():
            packet = self.mailbox.take(data)
            if packet is not None and packet.kind == OVER:
                self._left()
            elif packet is not None:
                self._greeted()
                newest = packet if packet.kind == INPUTS else newest
            elif isinstance(self.mailbox, SealedMailbox) and self.mailbox.asked:
                self._answer(self._packet(HELLO, other=self.mailbox.asked))
                self.mailbox.asked = 0
        return newest

    def _answer(self, data: bytes) -> None:  # noqa: B027
        """Send to who sent the last packet, and to nobody else."""

    def _packet(self, kind: int, values: np.ndarray | Sequence[float] = (), other: int | None = None) -> bytes:
        self._sent += 1
        return encode(
            kind, self._mark, self._sent, self._time, values, checksum=self.checksum, seal=self._seal, other=other
        )

    def _send(self, kind: int, values: np.ndarray | Sequence[float] = ()) -> None:
        self._put(self._packet(kind, values))

    def close(self) -> None:
        """Tell the other side that the run is over, and let go."""
        self._send(OVER)
        self._disconnect()

    def report(self) -> dict[str, Any]:
        """What was sent, accepted, lost, and ignored by reason."""
        return {"name": self.name, "sent": self._sent, **self.mailbox.report()}


class Client(ABC):
    """The other side of a link, in any process: `for frame in client: client.send({"torque": ...})`.

    `inputs` and `outputs` are the names the link was given, in the same order. `timeout` [s] is how long to wait for
    the simulation. `time` is the simulated time [s] of the last outputs.
    """

    def __init__(
        self, *, inputs: Sequence[str], outputs: Sequence[str], timeout: float, checksum: bool, exact: bool,
        key: bytes | str | None = None,
    ) -> None:  # fmt: skip
        self.inputs, self.outputs, self.timeout, self.checksum = tuple(inputs), tuple(outputs), timeout, checksum
        self._mark = layout_mark(self.inputs, self.outputs)
        self._key, self._exact = checked_key(key), exact
        self._begin()
        self.time = 0.0
        self._sent = 0
        self._values: dict[str, float] = {}

    @abstractmethod
    def _connect(self) -> None:
        """Find the simulation."""

    @abstractmethod
    def _get(self, timeout: float) -> bytes | None:
        """The next bytes, or nothing after `timeout` [s]."""

    @abstractmethod
    def _put(self, data: bytes) -> None:
        """Send."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Free everything."""

    def _begin(self) -> None:
        counts = {OUTPUTS: len(self.outputs), OVER: 0}
        self._seal = None if self._key is None else Seal(self._key, TO)
        if self._seal is None:
            self.mailbox = Mailbox(self._mark, counts, checksum=self.checksum, exact=self._exact)
        else:
            self.mailbox = SealedMailbox(self._mark, {**counts, HELLO: 0}, self._seal)

    def _hello(self) -> None:
        self._sent = 0 if self._seal is None else self._sent + 1
        self._put(self._packet(HELLO))

    def _packet(self, kind: int, values: Sequence[float] = ()) -> bytes:
        time = 0.0 if kind == HELLO else self.time
        return encode(kind, self._mark, self._sent, time, values, checksum=self.checksum, seal=self._seal)

    def __enter__(self) -> Self:
        self._begin()
        self._connect()
        return self

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._leave()
        self._disconnect()

    def _leave(self) -> None:  # noqa: B027
        """Let another one have the place."""

    def __iter__(self) -> Iterator[dict[str, float]]:
        """The outputs, frame by frame, until the run is over; frames that were missed are left out."""
        while (outputs := self.receive()) is not None:
            yield outputs

    def receive(self) -> dict[str, float] | None:
        """Wait for new outputs, by name; None when the run is over, TimeoutError if nothing comes."""
        begun = clock.monotonic()
        newest: Packet | None = None
        while newest is None:
            if clock.monotonic() - begun > self.timeout:
                wrong = f"; ignored: {dict(self.mailbox.ignored)}" if self.mailbox.ignored else ""
                raise TimeoutError(f"no outputs of the simulation for {self.timeout:g} s{wrong}")
            if not self.mailbox.accepted:
                self._hello()  # it may have been started later than we
            data = self._get(0.1)
            while data is not None:
                packet = self.mailbox.take(data)
                if packet is not None and packet.kind == HELLO:  # now we know its session
                    self._hello()
                else:
                    newest = packet or newest
                data = None if packet is not None and packet.kind == OVER else self._get(0.0)
        self.time = newest.time
        return None if newest.kind == OVER else dict(zip(self.outputs, newest.values.tolist(), strict=True))

    def send(self, values: Mapping[str, float]) -> None:
        """Send inputs by name; those not given stay at what was sent last."""
        for name in values:
            if name not in self.inputs:
                raise RunError(f"{name!r} is not among the inputs.", fix=suggest(name, self.inputs))
        self._values.update(values)
        missing = [name for name in self.inputs if name not in self._values]
        if missing:
            raise RunError("it has no value yet.", path=missing[0], fix="Give all inputs the first time.")
        self._sent += 1
        numbers = [self._values[name] for name in self.inputs]
        self._put(self._packet(INPUTS, numbers))
