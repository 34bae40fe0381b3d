"""What crosses between a run and a part that is kept elsewhere: frames of little-endian doubles, and their operations.

Each vector of such a part (a state, a rate) stays with its *keeper* under a number that the run chose; vectors are made
once and never changed. In the run's own vectors the part has one entry, the *handle*: the number, and which session it
belongs to. A frame is a list of operations, worked off one after the other:

    frame      FRAME, sequence number, doubles in all, values wanted; operations
    operation  code, number of the vector it makes (0: none), doubles of arguments; arguments
    reply      FRAME, sequence number, status, values; one flag a lane (1: a vector that was to be checked is not
               finite); values in the order they were asked for

Arguments are rows of one double a lane. Handles among them name vectors by their number; 0 is the vector of zeros.
Whoever is sent the same frame twice gives the same reply.
"""

from __future__ import annotations

from enum import IntEnum

FRAME = 7304.0  # also the version
HEADER = 4  # doubles before the operations, or before the flags
OPERATION = 3  # doubles before arguments
SESSION_BITS, NUMBER_BITS = 16, 33
PINNED = 1 << 32  # numbers from here on are of recorded states
RING = 4096  # newer vectors that may be made before one is forgotten; recorded states have a ring of their own
MOST_LANES = 64


class Op(IntEnum):
    """Operations every keeper knows; FUNCTION + k is the k-th function of its part, by its column with the handle of x
    in the place of x."""

    COMBINE = 1  # base, then factor and vector by turns -> base + sum of factor * vector
    COMBINE_SPEEDS = 2  # other, then as COMBINE: speeds of the sum, all else of `other`
    PIN = 3  # vector -> the same as a recorded state
    COMPARE = 4  # corrected, state: size of the correction (SIZES), 1 if nothing differs, 1 if all is finite, 1 if a
    # speed differs by more than `SLOW`
    ERROR = 5  # state, end, rates of stages, size of the step, tolerances: level of its error, 1 if all is finite
    CHECK = 7  # vector: raise the flag of the reply if it is not finite
    START = 8  # offsets (size) -> the start of the part, moved by these
    MODES = 9  # state: modes of its laws
    SETTLE = 10  # state, modes of laws -> the state with these modes
    PUSH = 11  # state, factor, jump -> the state with speeds + factor * jump
    MODES_OF = 12  # state, other state -> the first with modes of laws of the other
    FUNCTION = 16


class Broken(IntEnum):
    """Why a frame was not answered."""

    NOTHING = 0
    FORM = 1  # lengths, codes or numbers that make no sense
    FORGOTTEN = 2  # it names a vector that is gone or never was
    LINK = 3  # no reply, or one to another frame
    REFUSED = 4  # it asks for what would show the inside (`descent`)


ROWS = {Op.COMPARE: 4, Op.ERROR: 2}  # of values in the reply
LARGE_CHANGE, LOST = 1e-6, 1e-3  # of a projection: from there on another is needed; the state is not near
SIZES = 0.0, LOST**2, 1.0  # what is told of a correction: it is small, large, or more than that (squares)


# -- how generated code calls the desk (`desk`), where this is found

ASK, GO, TAKE, POST, FLAGS = IMPORTS = tuple(f"kompono.far.{name}" for name in ("ask", "go", "take", "post", "flags"))
DECLARATIONS = f"""declare void @{ASK}(i64, ptr, ptr, i64, i64) nounwind
declare void @{GO}(ptr) nounwind
declare void @{TAKE}(ptr, ptr, i64) nounwind
declare void @{POST}(i64, ptr, ptr, i64, ptr, i64, i64) nounwind
declare ptr @{FLAGS}(ptr) nounwind"""
VECTOR, LASTING, NOTHING = range(3)  # what a posted operation makes


def spell_ask(op: int, whose: str, arguments: str, count: int, values: int) -> str:
    """Ask for `values` doubles."""
    return f"call void @{ASK}(i64 {op}, ptr {whose}, ptr {arguments}, i64 {count}, i64 {values})"


def spell_go(whose: str) -> str:
    """Send what was asked."""
    return f"call void @{GO}(ptr {whose})"


def spell_take(whose: str, out: str, values: int) -> str:
    """Wait for `values` doubles."""
    return f"call void @{TAKE}(ptr {whose}, ptr {out}, i64 {values})"


def spell_post(op: int, whose: str, arguments: str, count: int, out: str, lanes: int, kind: int = VECTOR) -> str:
    """Post an operation; the handle of what it makes goes to `out`."""
    return f"call void @{POST}(i64 {op}, ptr {whose}, ptr {arguments}, i64 {count}, ptr {out}, i64 {lanes}, i64 {kind})"


def spell_flags(whose: str) -> str:
    """The address of the flags of a session."""
    return f"call ptr @{FLAGS}(ptr {whose})"
