"""A part whose inside is a file: the same to its owner as any closed part, but there is no opening it.

In the twin it stays contracted. Its coordinates and speeds are those of one joint, `Inner`, that hangs beside its ports
and carries nothing; the ports hang on the base through crossings that the functions of the file move, and the
conditions inside are one closing element, `InnerLoops`. So assembly and decisions about rank see all speeds and all
conditions, by numbers and without names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from kompono.errors import SealedError
from kompono.model.body import Body, Carrier, Ground
from kompono.model.free import Placed
from kompono.model.joint import Joint
from kompono.model.signal import Output
from kompono.sealed.element import Sealed, code_of, signal_of
from kompono.sealed.shape import PLACED, LawShapes, Variant
from kompono.spatial.pose import Pose
from kompono.spatial.vectors import carry_twist
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.sampling import due_together, rates_of
from kompono.translate.elimination.bordered import unpack_answer
from kompono.translate.engines.engine import Engine
from kompono.translate.laws.handed import HandedShape
from kompono.translate.laws.stacked import Stacked
from kompono.translate.motion.conditions import Closure, ToldConditions
from kompono.translate.motion.kinematics import Kinematics, Step
from kompono.translate.parts.border import FIELDS, Border, motion_of_base, port_in
from kompono.translate.parts.compartment import Compartment, starts
from kompono.translate.parts.enclosed import Enclosed
from kompono.translate.parts.inside import Part, PartFunction
from kompono.translate.program import Channel, LawUnit
from kompono.translate.rank.probe import first_values
from kompono.translate.structure.topology import Link, Topology
from kompono.translate.symbolic import Matrix, Vector

Numbers = Vector | ca.DM  # assembly asks with numbers


class Inner(Joint):
    """Coordinates and speeds inside a sealed part, in the order of the file."""

    part: SealedPart

    def rate(self, q: Numbers, v: Numbers) -> Numbers:
        return self.part.call("rates", ca.vertcat(q, v, self.part.modes))

    def neutral(self) -> np.ndarray:
        return self.part.start[: len(self.coordinates)]


class TurningInner(Inner):
    """The same with quaternions among the coordinates."""

    def normalize(self, q: Numbers) -> Numbers:
        x = self.part.call("normalize", ca.vertcat(q, ca.DM.zeros(self.freedoms), self.part.modes))
        return x[: len(self.coordinates), :]


class PlacedInner(Inner):
    """The same of bodies that are placed one by one; angles that are counted are behind their coordinates."""

    def neutral(self) -> np.ndarray:
        start, variant = self.part.start, self.part.variant
        speeds = variant.coordinates + variant.speeds
        return np.concatenate([start[: variant.coordinates], start[speeds : speeds + variant.counted]])

    def normalize(self, q: Numbers) -> Numbers:
        bodies, size = self.part.variant.coordinates, len(Placed.coordinates)
        told = [self.part.placing.normalize(q[k : k + size, :]) for k in range(0, bodies, size)]
        return ca.vertcat(*told, q[bodies:, :])


@lru_cache(maxsize=256)
def _kind(coordinates: int, speeds: int, base: type[Inner]) -> type[Inner]:
    names = {"coordinates": tuple(f"x{k}" for k in range(coordinates)), "speeds": tuple(f"v{k}" for k in range(speeds))}
    kind: Any = type("Inner", (base,), names)
    return kind


class InnerLoops(ToldConditions):
    """All conditions inside a sealed part; those that follow from its joints were left out when it was sealed."""

    part: SealedPart

    def trace(self, kinematics: Kinematics) -> Closure[Joint]:
        part, rows = self.part, self.part.rows
        column = part.ask(kinematics, "conditions", part.state(kinematics))
        g, g_dot, u = (column[k * rows : (k + 1) * rows, :] for k in range(3))
        matrix = ca.reshape(column[3 * rows :, :], rows, part.variant.speeds)
        return Closure(self, (1,) * rows, g, g_dot, u, {part.inner: matrix})


class SealedPart(Part):
    """A sealed part as its owner has it."""

    part: Sealed
    opens = False

    def __init__(
        self, enclosed: Enclosed, border: Border, world: Ground, *, placed: bool = False,
        flying: frozenset[Carrier] = frozenset(),
    ) -> None:  # fmt: skip
        self.part, self.path, self.border = enclosed.part, enclosed.path, border  # type: ignore[assignment]
        self.model, self.code = enclosed.model, code_of(self.part)
        names = {body: name for name, body in self.part._members.items()}
        self.base = names[border.base.body] if border.base is not None else None
        shape = self.code.manifest.shape
        if placed and shape.is_placed:
            self.base, self.placing = PLACED, Placed(world, Ground())
        self.variant: Variant = shape.flown(self.base, [name for body, name in names.items() if body in flying])
        self.entry = self.variant.entry
        loose = shape.loose(self.base)
        self.floating = frozenset(body for body, name in names.items() if name in loose and isinstance(body, Carrier))
        self._made: dict[str, PartFunction] = {}
        self.inner = self._inner(world)
        self.inside = SealedInside(self, world)  # type: ignore[assignment]

    def _inner(self, world: Ground) -> Inner:
        start, variant = self.start, self.variant
        turning = TurningInner if self.turns and self.code.shows_states else Inner
        kind = _kind(
            variant.coordinates + variant.counted, variant.speeds, PlacedInner if self.base == PLACED else turning
        )
        names = kind.start_names()
        hung = self.border.base.body if self.border.base is not None else world
        inner = kind(hung, Ground(), start={names[k]: float(start[k]) for k in variant.given})
        inner.part, inner._owner, inner._name = self, self.part, "inside"
        return inner

    @cached_property
    def turns(self) -> bool:
        """Whether anything has to be kept of unit length."""
        return self.base == PLACED or self.code.turns(self.entry)

    @cached_property
    def start(self) -> np.ndarray:
        """x when a run begins."""
        return self.code.start(self.entry)

    @cached_property
    def modes(self) -> ca.DM:
        """Modes when a run begins."""
        return ca.DM(self.start[self.variant.size - self.variant.modes :])

    @cached_property
    def rows(self) -> int:
        """How many conditions there are inside."""
        return self.variant.functions["conditions"].results // (3 + self.variant.speeds)

    # -- its functions

    def closed(self, name: str) -> PartFunction:
        if name not in self._made:
            described = self.variant.functions[name]
            function = self.code.function(self.entry, name) if described.results else _nothing()
            signals = tuple(signal_of(self.part, signal) for signal in described.signals)
            self._made[name] = PartFunction(function, described.groups, signals)
        return self._made[name]

    def call(self, name: str, x: Numbers) -> Numbers:
        """A function of x alone."""
        closed = self.closed(name)
        if not closed.function.nnz_out():
            return ca.SX(0, 1)
        column = ca.densify(x) if closed.groups else ca.DM(0, 1)
        return closed.function.call([column], False, isinstance(column, ca.SX))[0]

    @cached_property
    def shown(self) -> list[Output]:
        shape = self.code.manifest.shape
        known = [name for k, name in enumerate(shape.outputs) if f"signal_{k}" in self.variant.functions]
        return [self.part._members[name] for name in known]  # type: ignore[misc]

    @property
    def network_symbols(self) -> list[Vector]:
        return list(self.part._answers)

    def channels(self) -> tuple[Channel, ...]:
        shape = self.code.manifest.shape
        return tuple(Channel(f"{self.path}.{c.name}", c.unit, c.angle) for c in shape.channels)

    @cached_property
    def unreported(self) -> list[Body]:  # type: ignore[override]
        """Ports that are frames of bodies nobody sees; where they are is known outside."""
        names = {channel.name for channel in self.code.manifest.shape.channels}
        ports = [port for port in self.part.exposed if isinstance(port, Body)]
        return [port for port in ports if f"{port._name}.position.x" not in names]

    # -- in the twin

    def state(self, kinematics: Kinematics) -> Vector:
        """x at a state of the twin."""
        q, v = kinematics.joint_state(self.inner)
        modes = [ca.SX(mode) for mode in self.model.modes]
        symbols = ca.vertcat(ca.SX(0, 1), *modes)
        known = kinematics.tracer.call(lambda: symbols, path=self.path, free=True) if modes else symbols
        return self._column(q, v, known)

    def _column(self, q: Vector, v: Vector, known: Vector) -> Vector:
        """x of coordinates with angles that are counted, speeds, and modes and states."""
        own = self.variant.coordinates
        return ca.vertcat(q[:own, :], v, q[own:, :], known)

    def steps(self) -> dict[Carrier, Callable[[Kinematics], Step]]:
        """What moves the ports, and x itself, by carrier."""
        found: dict[Carrier, Callable[[Kinematics], Step]] = {self.inner.second.body: self._inner_step}
        for k, port in enumerate(self.border.others):
            found[port.body] = lambda kinematics, k=k: self._port_step(kinematics, k)
        return found

    def _inner_step(self, kinematics: Kinematics) -> Step:
        rate = self.ask(kinematics, "rates", self.state(kinematics))
        return Step(Pose.constant(), ca.SX(6, self.variant.speeds), ca.SX(6, 1), ca.SX(6, 1), rate)

    def _port_step(self, kinematics: Kinematics, k: int) -> Step:
        moved = self.ask(kinematics, "move", self._still(kinematics), base=self._seen_from)[18 * k : 18 * k + 18, :]
        follows = self.border.base if self.border.others[k].body not in self.floating else None
        at = port_in(kinematics, follows) if follows is not None else Pose.constant()
        subspace, bias = self.reach(kinematics, k)

        def trace(column: Vector, s: Matrix, v: Vector) -> tuple[Vector, Matrix, Vector]:
            placed = at @ Pose(column[:3], ca.reshape(column[3:12], 3, 3))
            return placed.position, placed.rotation, column[12:] + s @ v

        speeds = kinematics.v[self.inner]
        position, rotation, twist = kinematics.tracer.call(trace, moved, subspace, speeds, path=self.path)
        return Step(Pose(position, rotation), ca.SX(ca.DM.eye(6)), twist, bias, ca.SX(0, 1))

    def reach(self, kinematics: Kinematics, k: int) -> tuple[Matrix, Vector]:
        """S (6 x nv) of the k-th of the other ports on the speeds inside, and S_dot v (6)."""
        size = 6 * self.variant.speeds
        own = slice(k * (size + 6), (k + 1) * (size + 6))
        still, column = (
            self.ask(kinematics, "reach", x, base=self._seen_from)[own, :]
            for x in (self._still(kinematics), self.state(kinematics))
        )
        return ca.reshape(still[:size, :], 6, self.variant.speeds), column[size:, :]

    def _still(self, kinematics: Kinematics) -> Vector:
        """x without speeds: of what does not depend on them nobody takes derivatives by them."""
        x, first = self.state(kinematics), self.variant.coordinates
        speeds = self.variant.speeds
        return ca.vertcat(x[:first, :], ca.SX.zeros(speeds), x[first + speeds :, :])

    @cached_property
    def _seen_from(self) -> Vector:
        """A base at rest in the world: what does not move with it is seen from there."""
        asked = {group for name in ("move", "reach") for group in self.variant.functions[name].groups}
        if "base" in asked and not self.floating:
            fix = "Ask its author to seal it again."
            raise SealedError("nothing inside holds some of its ports, and its file does not say which.",
                              path=self.path, fix=fix)  # fmt: skip
        return ca.vertcat(ca.SX.zeros(3), ca.vec(ca.SX(ca.DM.eye(3))), ca.SX.zeros(6))

    def weight(self, kinematics: Kinematics) -> tuple[Vector, Matrix]:
        """What moves inside: the twist of the base with the speeds, and the inertia on both."""
        moving, base = kinematics.v[self.inner], self.border.base
        if base is not None:
            twist = kinematics.tracer.call(
                lambda w: carry_twist(port_in(kinematics, base), w), kinematics.absolute(base.body).twist
            )
            moving = ca.vertcat(twist, moving)
        upper, size, place = self.ask(kinematics, "masses", self.state(kinematics)), moving.numel(), 0
        matrix = ca.SX(size, size)
        for i in range(size):
            for j in range(i, size):
                matrix[i, j] = matrix[j, i] = upper[place]
                place += 1
        return moving, matrix

    def mobilities(self) -> dict[Body, np.ndarray]:
        """How easily forces move each port at the start (6, 6), alike in all directions, with the rest free."""
        described = self.variant.functions["violated_rate"]
        still = np.concatenate([np.zeros(3), np.eye(3).ravel(), np.zeros(6)])
        known = {"time": [0.0], "base": still, "fields": np.zeros(FIELDS), "x": self.start}
        first = dict(zip(self.model.inputs, first_values(self.model), strict=True))
        members: Any = self.part._members
        signals = [first.get(members[name], getattr(members[name], "value", 0.0)) for name in described.signals]
        column = np.concatenate([*(known[group] for group in described.groups), signals])
        found = self.closed("violated_rate").function(ca.DM(column))
        block = np.asarray(ca.DM(unpack_answer(ca.SX(found), self.border.size)[0]))
        yields = block if not self.border.based else np.linalg.pinv(block[:6, :6])
        moved: dict[Body, np.ndarray] = {}
        for k, port in enumerate(self.border.ports):
            own = slice(6 * k, 6 * k + 6)
            matrix = yields
            if not self.border.based:
                matrix = -block[own, own]
            elif k:
                matrix = block[own, :6] @ yields @ block[:6, own] - block[own, own]
            easy = np.repeat([np.trace(matrix[:3, :3]) / 3, np.trace(matrix[3:, 3:]) / 3], 3)
            assert isinstance(port.body, Body)
            moved[port.body] = np.diag(easy)
        return moved


class SealedInside:
    """What an owner knows of the inside of a sealed part."""

    def __init__(self, part: SealedPart, world: Ground) -> None:
        self.part, self.world = part, world
        self.whole: Elaborated = part.model
        laws = part.variant.laws
        self.handed, self.laws = HandedShape(laws.handed, laws.measures if laws.handed else 0), _stacked(part, laws)
        self.parts: tuple[Part, ...] = ()  # whatever they are, they are not ours to see
        self.sample_rates = rates_of(part.model.modes)
        self.ticks = due_together(self.sample_rates)
        self.size, self.settles, self.keeps = part.variant.size, part.variant.settles, part.rows > 0 or laws.rows > 0

    @cached_property
    def twin_topology(self) -> Topology:
        """x beside the ports; the ports themselves hang on crossings of the owner."""
        inner = self.part.inner
        link = Link(inner.second.body, inner.first.body, inner, False, 1)
        return Topology(self.world, (link,), (self._loops(),) if self.part.rows else ())

    def _loops(self) -> InnerLoops:
        inner = self.part.inner
        loops = InnerLoops(inner.first, inner.second)
        loops.part, loops.rows, loops._owner, loops._name = self.part, self.part.rows, self.part.part, "inside"
        return loops

    def places(self, twin: Engine) -> list[int]:
        """Where each entry of x is in the state of a twin."""
        q, v = starts(twin)
        variant, inner = self.part.variant, self.part.inner
        modes = {mode: twin.nq + twin.nv + k for k, mode in enumerate(twin.model.modes)}
        own = [q[inner] + k for k in range(variant.coordinates)] + [v[inner] + k for k in range(variant.speeds)]
        own += [q[inner] + variant.coordinates + k for k in range(variant.counted)]
        return own + [modes[mode] for mode in self.whole.modes]


def _stacked(part: SealedPart, laws: LawShapes) -> Stacked:
    """Units of laws inside, numbered where they have no name."""
    units, moded = [], len(part.model.modes) > sum(len(unit.modes) for unit in laws.units)
    for k, u in enumerate(laws.units):
        name = u.name or f"law_{u.contact if u.contact >= 0 else k}"
        unknown = 3 * moded, True  # nobody outside knows what shifts or drives it
        units.append(LawUnit(u.kind, u.row, u.contact, u.first, u.count, u.modes, k, name, u.level, u.impact, *unknown))
    modes = tuple(tuple(part.model.modes[place] for place in unit.modes) for unit in units)
    return Stacked(tuple(units), modes, laws.rows, laws.measures)


@lru_cache(maxsize=1)
def _nothing() -> ca.Function:
    return ca.Function("nothing", [ca.SX(0, 1)], [ca.SX(0, 1)])


def sealed_in(compartment: Compartment | SealedInside) -> list[SealedPart]:
    """All parts from files in a compartment, at any depth."""
    found: list[SealedPart] = [part for part in compartment.parts if isinstance(part, SealedPart)]
    return [*found, *(deeper for part in compartment.parts for deeper in sealed_in(part.inside))]


class Whereabouts(NamedTuple):
    """Where the bodies inside a part in joint coordinates are: coordinates and speeds of its `PlacedInner`."""

    part: Sealed
    placed: Callable[[Kinematics], Vector]


def placed_in(compartment: Compartment | SealedInside) -> list[Whereabouts]:
    """Those of all sealed parts that know themselves with their bodies placed one by one."""

    def trace(part: SealedPart, kinematics: Kinematics) -> Vector:
        told = part.border.base
        base = motion_of_base(kinematics, told, part.path) if told is not None else None
        return part.ask(kinematics, "placed", part.state(kinematics), base=base)

    told = [part for part in sealed_in(compartment) if "placed" in part.variant.functions]
    return [Whereabouts(part.part, partial(trace, part)) for part in told]


def walled_in(compartment: Compartment | SealedInside) -> dict[str, tuple[str, ...]]:
    """Paths of those with a wall around them, by how the names of their functions begin."""
    found: dict[str, tuple[str, ...]] = {}
    for part in sealed_in(compartment):
        if part.code.wall:
            found[part.code.stem] = (*found.get(part.code.stem, ()), compartment.whole.path(part.part))
    return found
