"""What a keeper of a part is made of: the functions by which it is asked, wherever they come from.

Operations of functions are numbered by their names in order, so both sides know them without being told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from kompono.sealed.shape import Described, Variant

_TIED = "tied_"  # how functions begin that are told the forces of all rows of laws inside
_ASSEMBLING = ("rates", "reach", "conditions", "masses")  # of a sealed part, asked before a run
_TOLD = ("move", "condense", "gap", "drift", "report", "guards", "law_guards", "law_look", "law_condense", "law_push",
         "law_free", "law_respond")  # fmt: skip
_TOLD_TOO = ("violated_", "signal_", "network_")  # how others begin


class Gives(Enum):
    """What the results of a function are."""

    VALUES = "values"  # go to who asked
    STARTS = "starts"  # go to who asked, but only of the start moved by offsets: for assembly, never of a run
    RATE = "rate"  # of x, stays with the keeper
    JUMP = "jump"  # changes of speeds alone, stays with the keeper
    STATE = "state"  # x corrected, stays with the keeper
    SAMPLED = "sampled"  # x after an instant of samples, stays with the keeper
    MODES = "modes"  # take the place of some entries of x; the vector stays
    UNKNOWN = "unknown"  # of a file from a later version: it is refused


@dataclass(frozen=True)
class KeptFunction:
    """A closed function of a column: `others` numbers beside x, `before` of them before it. It is asked with the handle
    of x in the place of x, also if it does not take x (`takes`).
    """

    name: str
    takes: bool
    before: int
    others: int
    results: int
    gives: Gives
    entries: tuple[int, ...] = ()  # of x, that results of kind MODES take the place of
    still: bool = False  # without what it gives for the speeds of the start, which are nobody's business


@dataclass(frozen=True)
class KeptPart:
    """The length of x, which entries of it are speeds, the functions by number, and the entries that are modes of laws,
    unit by unit.
    """

    size: int
    speeds: tuple[int, ...]
    functions: tuple[KeptFunction, ...]
    modes: tuple[int, ...] = ()

    @property
    def called(self) -> tuple[str, ...]:
        """Names of the functions that are called."""
        return tuple(dict.fromkeys(function.name for function in self.functions if function.results))


def gives(name: str) -> Gives:
    """What a function gives, by its name; one that is told forces of laws gives what it gives without."""
    name = name.removeprefix(_TIED)
    if name.startswith("switch_"):
        return Gives.MODES
    if name == "resolve":
        return Gives.RATE
    if name in ("moved", "law_resolve"):
        return Gives.JUMP
    if name in _ASSEMBLING:
        return Gives.STARTS
    if name.startswith("tick_"):
        return Gives.SAMPLED
    if name == "normalize" or name.startswith("corrected_"):
        return Gives.STATE
    return Gives.VALUES if name in _TOLD or name.startswith(_TOLD_TOO) else Gives.UNKNOWN


def tells(what: Gives) -> bool:
    """Whether results go to who asked."""
    return what in (Gives.VALUES, Gives.STARTS)


def numbered(names: Iterable[str]) -> dict[str, int]:
    """The number of each function, by name."""
    return {name: number for number, name in enumerate(sorted(names))}


def place_of_x(groups: Sequence[str], sizes: Mapping[str, int]) -> tuple[bool, int]:
    """Whether x is among the groups a function takes, and how many numbers come before it, or before its signals."""
    before = groups[: groups.index("x")] if "x" in groups else groups
    return "x" in groups, sum(sizes[group] for group in before)


def kept_variant(variant: Variant, stem: str) -> KeptPart:
    """The keeper of a sealed part, entered by one of its ports; functions are called `stem` and their number there."""
    sizes = variant.sizes()
    first = variant.coordinates + variant.speeds
    modes = tuple(range(first, variant.size))

    def kept(name: str, described: Described) -> KeptFunction:
        takes, before = place_of_x(described.groups, sizes)
        others = described.arguments - (variant.size if takes else 0)
        what = gives(name)
        entries = modes if what is Gives.MODES else ()
        given = takes, before, others, described.results, what, entries
        return KeptFunction(f"{stem}_{described.number}", *given, still=name == "rates")

    functions = tuple(kept(name, variant.functions[name]) for name in numbered(variant.functions))
    of_laws = tuple(first + place for unit in variant.laws.units for place in unit.modes)
    return KeptPart(variant.size, tuple(range(variant.coordinates, first)), functions, of_laws)
