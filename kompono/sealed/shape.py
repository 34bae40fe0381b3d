"""What a sealed part publishes: its ports, what can be set and read, sizes, and its functions for each choice of base.

Everything else about it is unnamed numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from kompono.errors import SealedError
from kompono.model.shape import Shape as Picture

GROUPS = ("time", "base", "fields", "x", "given", "forces")
PLACED = "*"  # in the place of a base: every body inside is placed in the world by itself


@dataclass(frozen=True)
class LawShape:
    """A unit of a law inside, as `translate.program.LawUnit`, with its rows, measures and modes as the part counts
    them; it has a name only if that is public.
    """

    name: str
    kind: int
    row: int
    contact: int
    first: int
    count: int
    modes: tuple[int, ...]
    level: str = ""
    impact: str = "poisson"


@dataclass(frozen=True)
class LawShapes:
    """All units, on so many rows and measures, and rows of friction that are handed on: first measure and count."""

    units: tuple[LawShape, ...] = ()
    rows: int = 0
    measures: int = 0
    handed: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Port:
    """A frame others may use; `scale` is what conditions at it are compared with when one is judged dependent. Its body
    is that of the port it is `on` (itself, if that is nobody); inside, joints may hold it (`joined`), and laws between
    bodies act on it (`touched`).
    """

    name: str
    scale: float = 1.0
    on: str = ""
    joined: bool = False
    touched: bool = False


@dataclass(frozen=True)
class PinShape:
    """A node of a network that others may connect to, under the names of its pins; what is across and through it, with
    units. What is across is given to the part, or what goes through (`by_through`).
    """

    names: tuple[str, ...]
    across: tuple[str, str]
    through: tuple[str, str]
    by_through: bool = False

    @property
    def name(self) -> str:
        """The first of its names."""
        return self.names[0]


@dataclass(frozen=True)
class NetworkShape:
    """A network that reaches the border: its pins, and the `entries` (row, column) of Y that are not always zero in
    `answer = Y given + s`, which its function gives, s first.
    """

    pins: tuple[PinShape, ...]
    entries: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Quantity:
    """A parameter or an input: one number from outside."""

    name: str
    unit: str = ""
    default: float = 0.0


@dataclass(frozen=True)
class Published:
    """A channel of the result; `angle`: measured modulo a turn."""

    name: str
    unit: str = ""
    angle: bool = False


@dataclass(frozen=True)
class Described:
    """A function: from a column of `groups` (of GROUPS, in that order) and then `signals` (parameters and inputs by
    name) to a column. What is behind is filled in by sealing: its number in the code (-1: it has no results), the
    lengths of its columns, and which results are always zero.
    """

    groups: tuple[str, ...]
    signals: tuple[str, ...] = ()
    number: int = -1
    arguments: int = 0
    results: int = 0
    zeros: tuple[int, ...] = ()


@dataclass(frozen=True)
class Variant:
    """A part entered by one of its ports, `base`, or standing on a ground of its own (None), or with its bodies
    `PLACED` one by one, for engines that do so.

    `ports` are the names of all ports as the border has them, the base first; `size` is the length of x, which has
    `coordinates`, then `speeds`, then angles that are `counted`, then modes and states. `start`, kept with the numbers
    and not published, is its value when a run begins; what its author gave of that (`given`, places in x) moves last
    when an owner is assembled. `settles`: its speeds are made consistent with conditions inside before it is condensed.
    Bodies of ports that are `flying` are held by nothing inside, and have speeds in world axes there.
    """

    base: str | None
    ports: tuple[str, ...]
    size: int
    functions: Mapping[str, Described]
    start: tuple[float, ...] = field(default=(), repr=False)
    coordinates: int = 0
    speeds: int = 0
    given: tuple[int, ...] = ()
    settles: bool = False
    laws: LawShapes = LawShapes()
    counted: int = 0
    flying: tuple[str, ...] = ()

    @property
    def entry(self) -> str | None:
        """What it is asked for by: the base, and which ports are flying."""
        return f"{self.base or ''}~{','.join(self.flying)}" if self.flying else self.base

    def sizes(self) -> dict[str, int]:
        """Lengths of the groups of arguments of its functions."""
        given = 6 * len(self.ports) + len(self.laws.handed)
        base = 18 if self.base not in (None, PLACED) else 0
        return {"time": 1, "base": base, "fields": 9, "x": self.size, "given": given, "forces": self.laws.rows}

    @property
    def modes(self) -> int:
        """How many entries of x are modes and states."""
        return self.size - self.coordinates - self.speeds - self.counted


@dataclass(frozen=True)
class Shape:
    """All that is public about a part; `outputs` are those of its channels that are declared outputs."""

    name: str
    ports: tuple[Port, ...]
    variants: tuple[Variant, ...]
    parameters: tuple[Quantity, ...] = ()
    inputs: tuple[Quantity, ...] = ()
    channels: tuple[Published, ...] = ()
    outputs: tuple[str, ...] = ()
    events: int = 0
    rates: tuple[tuple[float, float], ...] = ()  # periods and offsets [s] at which it samples
    networks: tuple[NetworkShape, ...] = ()
    pictures: Mapping[str, tuple[Picture, ...]] = field(default_factory=dict)  # by port

    @property
    def pins(self) -> tuple[PinShape, ...]:
        """Of all networks."""
        return tuple(pin for network in self.networks for pin in network.pins)

    @property
    def in_joints(self) -> Shape:
        """The same with nothing about where bodies inside are."""

        def joined(variant: Variant) -> Variant:
            return replace(variant, functions={k: f for k, f in variant.functions.items() if k != "placed"})

        return replace(self, variants=tuple(joined(v) for v in self.variants if v.base != PLACED))

    @property
    def is_placed(self) -> bool:
        """Whether its bodies can be placed one by one."""
        return any(variant.base == PLACED for variant in self.variants)

    def variant(self, entry: str | None) -> Variant:
        """How it is entered by a port, or what else its `entry` is."""
        for variant in self.variants:
            if variant.entry == entry:
                return variant
        offered = ", ".join(repr(variant.entry) for variant in self.variants if variant.base != PLACED)
        raise SealedError(f"{self.name} cannot be entered by {entry!r}.", fix=f"It can by: {offered}.")

    def loose(self, base: str | None) -> frozenset[str]:
        """Other ports that nothing inside holds: they do not move with the base."""
        found = {name for variant in self.variants if variant.base == base for name in variant.flying}
        return frozenset(port.name for port in self.ports if (port.on or port.name) in found)

    def flown(self, base: str | None, flying: Iterable[str]) -> Variant:
        """How it is entered by a port where so many ports are flying: with as many of them as it can."""
        wanted = {*flying}
        fitting = (variant for variant in self.variants if variant.base == base and wanted.issuperset(variant.flying))
        return max(fitting, key=lambda variant: len(variant.flying), default=self.variant(base))
