"""What native code needs to settle laws at an event, seen from both sides: one block of eight-byte fields, as of runs.

Everything a program says of its laws (kinds, rows, places of modes) is a table of whole numbers here, so that one
native function serves all programs. Times of the last events of each unit are kept here, too: Python and native code
count crowds together.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from kompono.compile.crowd import Crowd
from kompono.compile.fields import Fields, NativeFields
from kompono.translate.program import LAW_EVENTS, LawUnit, Program

SETTLE = "kompono.settle"  # the native name of the function of such a block
SETTLE_ASKS = ("law_view", "law_respond", "law_again")  # routines it asks, as far as a program has them
POINTERS = (
    "time", "state", "inputs", "parameters", "fired", "units", "given", "made", "gap", "rate", "w", "measures",
    "numbers", "answer", "reactions", "speeds", "work", "touching", "parted", "happened", "crowd", "counts", "view",
    "view_call", "respond", "respond_call", "again", "again_call", "met",
)  # fmt: skip
COUNTS = (
    "size", "first_speed", "speed_count", "first_mode", "unit_count", "row_count", "parameter_count", "first_event",
    "room", "acting",
)  # fmt: skip
REALS = ("step", "usual_step")
FIELDS = (*POINTERS, *COUNTS, *REALS)
_SHARED = Fields(FIELDS, POINTERS, REALS)
UNIT = ("kind", "row", "place", "level", "contact", "count", "length")  # numbers of a unit in the table
_ANSWERS = ("answer", "reactions", "speeds")  # what a force on a row does: to rows, measures, speeds
MOST_UNITS = 64  # of a program of which events are settled natively: to look at more takes longer than what it saves
HAPPENED = 2  # things that may happen to a unit at one event: it strikes, and it changes


class SettleBlock(ctypes.Structure):
    """Fields of one run."""

    _fields_ = _SHARED.declared()


class NativeSettleBlock(NativeFields):
    """The same fields from inside native code."""

    fields = _SHARED


class SettleMemory:
    """The block of a run with everything it points to; `crowd` counts events of units."""

    def __init__(self, program: Program, crowd: Crowd) -> None:
        view, respond = program.routines["law_view"], program.routines["law_respond"]
        units, self._seen = len(program.laws), [name for name, _ in view.outputs]
        table = np.array([_numbers(unit) for unit in program.laws], dtype=np.int64)
        sizes = dict(view.outputs)
        sizes |= {name: size for name, (_, size) in zip(_ANSWERS, respond.outputs, strict=True)}
        sizes |= {"given": dict(respond.inputs)["parameters"], "made": program.state_size, "happened": HAPPENED * units}
        again = program.routines.get("law_again", view)
        self._again = [name for name, _ in again.outputs]
        sizes |= {"work": max(view.workspace, respond.workspace, again.workspace, 1)}
        self._arrays = {name: np.zeros(size) for name, size in sizes.items()}
        self._arrays.setdefault("met", self._arrays["made"])  # else the state behind a blow is made from that one
        self._arrays |= {name: np.zeros(units, dtype=np.int64) for name in ("touching", "parted")}
        self._arrays |= {"units": table, "crowd": crowd.times, "counts": crowd.counts}
        first = len(program.coordinates)
        self.block = SettleBlock(
            size=program.state_size, first_speed=first, speed_count=len(program.speeds),
            first_mode=first + len(program.speeds), unit_count=units, row_count=dict(view.outputs)["gap"],
            parameter_count=len(program.parameters), first_event=len(program.events) - len(LAW_EVENTS) * units,
        )  # fmt: skip
        self.address = ctypes.addressof(self.block)

    def belong(self, **arrays: np.ndarray) -> None:
        """Take arrays of a run: its time, state, inputs, parameters, and which guards fired."""
        self._arrays |= arrays
        self._arrays["view_call"] = self._call("parameters", self._seen)
        self._arrays["respond_call"] = self._call("given", _ANSWERS)
        self._arrays["again_call"] = self._call("parameters", self._again)
        for name, array in self._arrays.items():
            setattr(self.block, name, array.ctypes.data)

    def _call(self, parameters: str, outputs: Sequence[str]) -> np.ndarray:
        """One evaluation of a routine, as `loop_map` reads it."""
        arrays = [self._arrays[name] for name in ("time", "made", "inputs", parameters, *outputs)]
        places = [number for array in arrays for number in (array.ctypes.data, 0)]
        return np.array([1, *places, self._arrays["work"].ctypes.data], dtype=np.int64)


def settles(program: Program, settler: object) -> bool:
    """Whether native code settles events of laws, as far as it can; `settler` is who does otherwise."""
    if not 0 < len(program.laws) <= MOST_UNITS or program.opaque or program.away or program.spread is not None:
        return False
    if "law_foretold" in program.routines:  # ports of parts that carry others jump, too
        return False
    return bool(getattr(settler, "natively", False))


def _numbers(unit: LawUnit) -> list[int]:
    """A unit in the table, as `UNIT` names it."""
    return [unit.kind, unit.row, unit.modes[0], int(unit.level == "speed"), unit.contact, unit.count, len(unit.modes)]
