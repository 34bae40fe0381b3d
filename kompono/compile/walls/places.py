"""Which functions of a program run elsewhere, where that is, and what stands for them in the code of their owner.

Such functions are known by how their names begin (their *stem*): `away_K` are those of a closed part in a worker
process, `walled_` and `wasm_` with a hash those of a sealed file behind a wall. A program says which stems it has and
which parts they belong to. Here each is a *stub* that hands its columns over. Stubs name their place by a symbol that
is known when code is linked, so that no address is in code that is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import casadi as ca

from kompono.compile.lanes import Lanes
from kompono.compile.lower import called_symbol
from kompono.errors import RunError

_STEM = re.compile(r"(away_\d+|(?:walled|wasm)_[0-9a-f]{24})_[0-9a-f]+")


class Place(Protocol):
    """Where functions run: a worker process, or a room of wasmtime."""

    name: str
    asks: str  # the native function stubs call

    @property
    def address(self) -> int:
        """What that function is told the place by."""
        ...

    @property
    def broken(self) -> bool:
        """Whether it gives no answers any more."""
        ...

    def number(self, symbol: str) -> int:
        """What a function is asked for by."""
        ...

    def ready(self) -> None:
        """Have all that was added ready to be asked for."""
        ...

    def trouble(self) -> str:
        """Why it is broken, in words."""
        ...

    def revive(self) -> None:
        """As new, if it is broken."""
        ...


def stem_of(name: str) -> str:
    """The place a function runs at; empty for one that runs here."""
    matched = _STEM.fullmatch(name)
    return matched[1] if matched else ""


def symbol_of(stem: str, lanes: Lanes) -> str:
    """What native code knows a place by."""
    return f"kompono.place.{stem}.{lanes.count}"


def stubs(place: Place, stem: str, functions: Sequence[ca.Function], lanes: Lanes) -> str:
    """Functions that ask for their results elsewhere."""
    from kompono.compile.walls.ask import KINDS

    text = f"@{symbol_of(stem, lanes)} = external global i8\ndeclare void @{place.asks}({KINDS}) nounwind\n"
    for function in functions:
        symbol = called_symbol(function.name(), lanes)
        sizes = [lanes.count * size for size in (function.nnz_in(), function.nnz_out())]
        asked = f"ptr @{symbol_of(stem, lanes)}, i64 {place.number(symbol)}, ptr %in, i64 {sizes[0]}, ptr %out"
        text += f"define void @{symbol}(ptr noalias readonly %in, ptr noalias %out) nounwind {{\n"
        text += f"call void @{place.asks}({asked}, i64 {sizes[1]}, i64 {lanes.count})\nret void\n}}\n"
    return text


def asking(place: Place) -> bytes:
    """The object with the native function stubs call."""
    from kompono.compile.walls import room, station

    return room.ask_object() if place.asks == room.ASK else station.ask_object()


class Places:
    """All places of one program: those of its closed parts are its own, those of sealed files are everybody's."""

    def __init__(self, away: Mapping[str, tuple[str, ...]]) -> None:
        self._away = away
        self._known: dict[tuple[str, Lanes], Place] = {}
        self._told, self._healed = "", 0  # what was wrong last, how often that was put right

    def __bool__(self) -> bool:
        return bool(self._away)

    def get(self, stem: str, lanes: Lanes) -> Place:
        """The place of a stem on these lanes."""
        key = stem, lanes
        if key not in self._known:
            self._known[key] = self._made(stem, lanes)
        return self._known[key]

    def _made(self, stem: str, lanes: Lanes) -> Place:
        from kompono.compile.walls import station

        if stem.startswith("away_"):
            if not station.available():
                raise RunError(
                    f"{self._who(stem)}: there are no worker processes on this system.", fix="Leave isolate out."
                )
            return station.Station(self._who(stem), locked=False)
        from kompono.compile.sealed import place_of  # it knows sealed files, and this module

        return place_of(stem, lanes)

    def _who(self, stem: str) -> str:
        return " and ".join(self._away.get(stem, ())) or stem

    def imports(self, lanes: Lanes) -> dict[str, int]:
        """What symbols of places mean, for the linker."""
        return {symbol_of(stem, lanes): self.get(stem, lanes).address for stem in self._away}

    def kept(self, lanes: Lanes) -> list[Place]:
        """What must live as long as code that asks there."""
        return [self.get(stem, lanes) for stem in self._away]

    @property
    def broken(self) -> bool:
        """Whether any place gives no answers."""
        return any(place.broken for place in self._known.values())

    def trouble(self) -> str:
        """Whose place gives no answers, and why; empty if all is well."""
        found = [(self._who(stem), place.trouble()) for (stem, _), place in self._known.items() if place.broken]
        self._told = "; ".join(f"{who}: {why}" for who, why in found if why) or self._told
        return self._told if found else ""

    @property
    def last_trouble(self) -> str:
        """The same of now or, if that was put right meanwhile, of last time."""
        return self.trouble() or self._told

    @property
    def losses(self) -> int:
        """How often something was wrong so far; who begins a run remembers it."""
        return self._healed + self.broken

    def revive(self) -> None:
        """As new, where something is broken."""
        if self.broken:
            self.trouble()
            self._healed += 1
            for place in self._known.values():
                place.revive()

    def processes(self) -> dict[str, int]:
        """The worker processes that are running, by part."""
        found = {(stem, lanes): getattr(place, "process", None) for (stem, lanes), place in self._known.items()}
        return {f"{self._who(stem)}": number for (stem, _), number in found.items() if number is not None}


def grouped(functions: Iterable[ca.Function]) -> dict[str, list[ca.Function]]:
    """Functions that run elsewhere, by stem."""
    found: dict[str, list[ca.Function]] = {}
    for function in functions:
        if stem := stem_of(function.name()):
            found.setdefault(stem, []).append(function)
    return found
