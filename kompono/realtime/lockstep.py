"""Controllers in another process that the run waits for: one answer for each sample, however long it takes.

A link in a live run never waits, so an answer acts a frame later and results depend on the clock. In lockstep the run
stands still until the answer to this very instant has come: results do not depend on how fast either side is.
"""

from __future__ import annotations

from kompono.errors import RunError
from kompono.given import number
from kompono.realtime.frame import Live
from kompono.realtime.link import Link


class Lockstep:
    """A callable for a `Controller` that asks the other side of a link and waits for its answer.

    `Controller(Lockstep(Udp(5005, outputs=["angle"], inputs=["torque"], wait=10)), reads=[...], writes=[...], ...)`.
    `outputs` and `inputs` of the link name what is read and written, in that order, for the other side, which is a
    `UdpClient` or a `SharedMemoryClient` and sends its inputs once for each frame. No answer within `timeout` [s] ends
    the run.
    """

    def __init__(self, link: Link, *, timeout: float = 10.0) -> None:
        if not isinstance(link, Link) or link.inputs is None:
            fix = 'Use e.g. Lockstep(Udp(5005, outputs=["angle"], inputs=["torque"])).'
            raise RunError("lockstep needs a link with names of its inputs.", fix=fix)
        self.link = link
        self.timeout = number(timeout, "timeout [s]", error=RunError, positive=True, fix="Use e.g. timeout=10.")
        self._open = False

    def reset(self) -> None:
        """A run begins: meet the other side."""
        self.run_over()
        outputs, inputs = tuple(self.link.outputs), tuple(self.link.inputs or ())
        self.link.open(Live(outputs, dict.fromkeys(outputs, ""), inputs, 0.0, 0.0))
        self._open = True

    def run_over(self) -> None:
        """The run has ended: tell the other side."""
        if self._open:
            self._open = False
            self.link.close()

    def __call__(self, time: float, *values: float) -> list[float] | float:
        if len(values) != len(self.link.outputs):
            fix = "Give as many reads as the link has outputs."
            raise RunError(f"{len(values)} values are read, and the link sends {len(self.link.outputs)}.", fix=fix)
        answer = self.link.exchange(time, values, self.timeout)
        return answer[0] if len(answer) == 1 else answer
