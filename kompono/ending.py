"""How a run ended, or what is wrong with one that came to its end: one name each, from the native loop to the result.

Messages are for people and may change; programs ask for the kind: `result.status.kind == "not finite"`.
"""

from __future__ import annotations

from enum import StrEnum


class Ending(StrEnum):
    """The kind of an end. Each is also the word that files keep."""

    # as planned
    DONE = "done"  # the end time was reached
    ENDED = "ended"  # an event, or who drives the run, asked for its end

    # the native loop or the method cannot go on
    NOT_FINITE = "not finite"  # NaN or infinity in the state or its rate
    STEP_TOO_SMALL = "step too small"  # the error stays above its bound however small the step
    TOO_MANY_EVENTS = "too many events"  # one event causes the next, without end
    OFF_CONSTRAINTS = "off constraints"  # no projection leads back to the conditions
    UNMET = "unmet"  # an event or a sample switches a condition on where it is not met
    TOO_FAST = "too fast"  # a body turns by more than a radian in one step of the discrete engine
    NO_FORCES = "no forces fit"  # no forces of contact and friction are consistent with the motion (Painleve)
    GUARD_NOT_FINITE = "guard not finite"  # the guard of an event is NaN
    HOPELESS = "hopeless"  # so many more steps would be needed that the end is not reached

    # somebody or something from outside ended it
    STOPPED = "stopped"  # a callable raised, or gave a reason to stop
    INTERRUPTED = "interrupted"  # by the user
    ELSEWHERE = "elsewhere"  # a part that runs elsewhere gives no answers any more
    NO_ROOM = "no room"  # memory is full
    NOT_ASSEMBLED = "not assembled"  # a run of an ensemble has no consistent start

    # its numbers are no motion of the machine
    GROWN = "grown"  # beyond all bounds
    OPEN = "open"  # conditions are violated
    CHANNEL = "channel"  # a channel is infinite or not a number
    ENERGY = "energy"  # energy came from or went to nowhere
    STEP = "step"  # the step is too long for the motion

    # what a file says
    UNFINISHED = "unfinished"  # the run was going on when the file was written
    UNKNOWN = "unknown"  # it did not end as planned; the file does not say how

    @property
    def ok(self) -> bool:
        """Whether this is an end as planned."""
        return self in (Ending.DONE, Ending.ENDED)
