"""What laws at an event take for nothing, for all who settle them: in native code (`law_settle`) and in Python."""

from __future__ import annotations

from kompono.translate.program import LAW_EVENTS

BRIEF = 1e-6  # a step [s] where its length is not known, or next to nothing
TOUCHING = 1e-9  # a gap [m, rad] below this is closed, or about to be
RESTING = 1e-9  # a speed [m/s, rad/s] of a gap below this is none
SLOW = 1e-8  # a slip speed [m/s, rad/s] below this is none
LOWEST = 5e-12  # a rebound [m] below this is none
PARTING = 1e-4  # a speed [m/s, rad/s] above which a gap opens whatever closes it: higher than LOWEST below 1000 m/s^2
NEAR = 1e-6  # of a limit: less than this from it is a tie
ROUNDING = 1e-10  # of the limit that made it slip
STRIKES, CLOSES, OPENS, STICKS, SLIPS = range(len(LAW_EVENTS))
