"""What a supplier is asked about a part before a run: of states that are so far from the start of the part.

Assembly and decisions about rank ask what they need. A sample of all functions says whether the part is still the one
that a translation was kept for: its digest is what the supplier says that it is, this is what it does. Of speeds inside
nothing is kept, so they stay those of the start.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.compile.far import FRAME, HEADER, Op
from kompono.errors import RemoteError
from kompono.sealed.kept import kept_variant, numbered, tells
from kompono.sealed.shape import Described

if TYPE_CHECKING:
    from kompono.elsewhere.remote import RemoteCode

REMEMBERED = 1 << 14  # values asked before a run that are not asked again
_MOST = 1 << 15  # doubles that are asked for, and given, in a frame
_MOVED = 0.01  # [m, rad] from the start, of a sample


class Questions:
    """Questions before a run: each is one frame that makes a state from offsets and asks a function about it."""

    def __init__(self, code: RemoteCode, entry: str | None) -> None:
        self._line, self._address = code.line(entry, 1), code.address
        variant = code.manifest.shape.variant(entry)
        self._described: Mapping[str, Described] = variant.functions
        self._numbers, self._turns = numbered(variant.functions), code.turns(entry)
        self._part, self._sizes = kept_variant(variant, ""), variant.sizes()
        self._coordinates = variant.coordinates
        self._sequence, self._number, self._known = 0, 1, dict[tuple[str, bytes], np.ndarray]()

    def ask(self, name: str, column: np.ndarray) -> np.ndarray:
        """What a function gives; `rates` are those of the offsets of speeds, not of the speeds themselves."""
        key = name, column.tobytes()
        if key not in self._known:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[key] = self._asked(name, column)
        return self._known[key]

    def _asked(self, name: str, column: np.ndarray) -> np.ndarray:
        function = self._part.functions[self._numbers[name]]
        before, size = function.before, self._part.size if function.takes else 0
        operations = self._state(column[before : before + size] if size else np.zeros(self._part.size))
        operations += self._question(name, [*column[:before], *column[before + size :]])
        return self._replied(operations, function.results)

    def sample(self) -> bytes:
        """What all functions give that tell anything, at the start and beside it."""
        functions = {name: self._part.functions[k] for name, k in self._numbers.items()}
        told = {name: f.results for name, f in functions.items() if f.results and tells(f.gives)}
        found = b""
        for share in (0.0, _MOVED):
            moved = np.zeros(self._part.size)
            moved[: self._coordinates] = share * np.cos(1 + np.arange(self._coordinates))
            for names in _in_frames(told, lambda name: told[name] + self._described[name].arguments):
                operations = self._state(moved)
                for name in names:
                    operations += self._question(name, _sample(self._sizes, self._described[name]))
                found += self._replied(operations, sum(told[name] for name in names)).tobytes()
        return found

    def _state(self, offsets: np.ndarray) -> list[float]:
        """Operations that make a state, the last one made."""
        operations = self._made(Op.START, offsets)
        if self._turns:
            operations += self._made(Op.FUNCTION + self._numbers["normalize"], [self._number - 1])
        return operations

    def _question(self, name: str, others: Sequence[float]) -> list[float]:
        """The operation that asks a function about that state, given all but x."""
        before = self._part.functions[self._numbers[name]].before
        rest = [*others[:before], self._number - 1, *others[before:]]
        return [Op.FUNCTION + self._numbers[name], 0, len(rest), *rest]

    def _replied(self, operations: list[float], results: int) -> np.ndarray:
        self._sequence += 1
        frame = [FRAME, self._sequence, HEADER + len(operations), results, *operations]
        reply = self._line.ask(struct.pack(f"<{len(frame)}d", *frame))
        values = np.frombuffer(reply[: len(reply) // 8 * 8], dtype="<f8")
        whole = len(reply) == 8 * (HEADER + 1 + results)
        if not whole or values[0] != FRAME or values[1] != self._sequence or values[2] != 0:
            raise RemoteError("the supplier did not answer a question about the part.", path=self._address)
        return values[HEADER + 1 :].copy()

    def _made(self, op: int, arguments: Any) -> list[float]:
        self._number += 1
        return [op, self._number - 1, len(arguments), *arguments]


def _in_frames(names: Iterable[str], size: Callable[[str], int]) -> list[list[str]]:
    """Names in groups that are not too large together."""
    found, room = list[list[str]](), 0
    for name in names:
        room -= size(name)
        if room < 0:
            found.append([])
            room = _MOST - size(name)
        found[-1].append(name)
    return found


def _sample(sizes: Mapping[str, int], described: Described) -> list[float]:
    """All that a function takes but x: no two numbers alike, and a base that is turned and moves."""
    c, s = 20 / 29, 21 / 29
    base = [0.1, 0.2, 0.3, c, s, 0.0, -s, c, 0.0, 0.0, 0.0, 1.0, *(0.05 * k for k in range(1, 7))]
    found: list[float] = []
    for group in described.groups:
        if group == "base":
            found += base
        elif group != "x":
            found += np.cos(1 + np.arange(sizes[group])).tolist()
    return [*found, *(0.3 + 0.01 * k for k in range(len(described.signals)))]
