"""The discrete engine: tiny explicit steps, nothing to solve (discrete-time paper, DESIGN section 5).

State: position x and rotation matrix R of every body (and angles whose turns are counted), then velocity of the centre
of mass and angular velocity, both in body axes. Joints are visco-elastic links (see `links`). A step is made of two
routines, called by the native loop:

kick    accelerations from the resultants of all forces at the centre of mass (eqs 2 to 4, 7), without gyroscopic terms
drift   free motion by the speeds times the step (eqs 1, 6, 9 to 11), which keeps momentum and angular momentum

Both are tables of small kernels that run over bodies and joints of one kind in lanes (see `pieces` and `packs`).
Stiffness and damping of the links and all numbers of the instances are *hidden* parameters behind those of the model.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import casadi as ca
import numpy as np

from kompono.model.force import Effort, Field, Force
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.engines.discrete.linked import LinkedEngine
from kompono.translate.engines.discrete.packs import Data, PackTables
from kompono.translate.engines.discrete.pieces import Piece, Pieces
from kompono.translate.kernels import add_kernel
from kompono.translate.laws.softened import mode_rates
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import Loads
from kompono.translate.motion.signals import bind_signals
from kompono.translate.program import Routine
from kompono.translate.structure.topology import Topology
from kompono.translate.tracer import InlineTracer, Tracer

SOURCES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # wrenches a kernel adds up; what a body has less are zeros


class DiscreteEngine(LinkedEngine):
    """A step is made of two tables of small kernels."""

    def __init__(self, model: Elaborated, topology: Topology, kernels: dict[str, ca.Function], *, shared: bool) -> None:
        super().__init__(model, topology, kernels, shared=shared)
        self.hidden = ca.SX(0, 1)  # all numbers of the pieces, which are cut now
        self._cut = _Cut(self)
        self.hidden = ca.vertcat(*self._cut.data.symbols) if self._cut.data.symbols else ca.SX(0, 1)

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where hidden parameters come from: the row of a stiffness, or (behind all of these) of a damping, or a number
        of a lever, else -1; their values where they are numbers of the model; and where to find the strength of each
        row again, -1 if nowhere.
        """
        kinds = [ca.vertcat(ca.SX(0, 1), *self._symbols(kind)) for kind in ("stiffness", "damping", "levers")]
        symbols = [symbol for column in kinds for symbol in _entries(column)]
        row = {symbol.element_hash(): k for k, symbol in enumerate(symbols)}
        rows, values = [], []
        for symbol in self._cut.data.symbols:
            again = symbol.name() == "again"
            rows.append(rows[-1] if again else row.get(symbol.element_hash(), -1))
            values.append(values[-1] if again else self._cut.pieces.value(symbol))
        place = {symbol.element_hash(): k for k, symbol in enumerate(self._cut.data.symbols)}
        back = [place.get(symbol.element_hash(), -1) for symbol in symbols]
        return np.array(rows, dtype=int), np.array(values), np.array(back, dtype=int)

    def hidden_values(
        self, stiffness: np.ndarray, damping: np.ndarray, levers: np.ndarray | None = None
    ) -> np.ndarray:  # fmt: skip
        rows, values, _ = self._places
        given = super().hidden_values(stiffness, damping, levers)
        given = np.concatenate([given, np.zeros((*stiffness.shape[:-1], 1))], axis=-1)
        return np.where(rows >= 0, given[..., rows], values)

    def strengths(self, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        back = self._places[2]
        return super().strengths(np.concatenate([hidden, np.zeros((*hidden.shape[:-1], 1))], axis=-1)[..., back])

    def routines(self) -> dict[str, Callable[[], Routine]]:
        """With the parts of a step."""
        return {**super().routines(), "kick": self._cut.kick, "drift": self._cut.drift}


class _Cut:
    """The model cut into pieces, and the two routines made of them."""

    def __init__(self, engine: DiscreteEngine) -> None:
        self.engine, self.model = engine, engine.model
        tracer, kinematics = engine._start(shared=False)
        assert isinstance(tracer, InlineTracer)
        self.tracer: Tracer = tracer
        self.pieces, self.data = Pieces(tracer, kinematics, engine.kernels), Data()
        for strength in engine._links.strengths:
            self.pieces.numbers.allow(strength.stiffness)
            self.pieces.numbers.allow(strength.damping)
            self.pieces.numbers.allow(strength.levers)
        self.kick, self.drift = self._kick(kinematics), self._drift()

    def _tables(self, name: str, output: tuple[str, int]) -> PackTables:
        return PackTables(name, self.engine.nq, len(self.model.parameters), output)

    def _inputs(self) -> tuple[tuple[str, int], ...]:
        hidden = {"parameters": len(self.model.parameters) + len(self.data.symbols)}
        return tuple((name, hidden.get(name, size)) for name, size in self.tracer.inputs)

    def _kick(self, kinematics: Kinematics) -> Callable[[], Routine]:
        tables = self._tables("kick", ("rates", self.engine.nv))
        tables.zero(add_kernel(self.engine.kernels, ca.SX.sym("x"), ca.SX(1, 1)))
        for pack in self.data.pack(self._acting()):
            tables.add(pack)
        uniform = Loads(_only_fields(kinematics)).uniform
        bodies = []
        for k, body in enumerate(self.model.bodies):
            most = len(tables.sources.get(k, []))
            count = next((n for n in SOURCES if n >= most), most) if most else 0
            bodies.append(self.pieces.kick(body, uniform, count))
        for pack in self.data.pack(bodies):
            tables.add(pack, [("kick", k) for k in range(6)])
        return lambda: tables.routine(self._inputs())

    def _acting(self) -> list[Piece]:
        """Links first, then forces, efforts and fields that are not uniform."""
        path, model = self.model.path, self.model
        groups: list[tuple[Sequence[Force | Effort | Field], str]] = [
            (loads, path(s.element))
            for s, loads in zip(self.engine._links.strengths, self.engine._links.loads, strict=True)
        ]
        groups += [((load,), path(load)) for load in (*model.forces, *model.efforts, *model.fields)]
        groups += [(soft.loads, path(soft.law)) for soft in model.soft]
        found = [self.pieces.of_loads(loads, name) for loads, name in groups if loads]
        return [piece for piece in found if piece is not None]

    def _drift(self) -> Callable[[], Routine]:
        tables = self._tables("drift", ("state", self.engine.nq + self.engine.nv + len(self.model.memory)))
        moved = [("q", k) for k in range(12)] + [("v", k) for k in range(6)]
        for pack in self.data.pack([self.pieces.drift(body) for body in self.model.bodies]):
            tables.add(pack, moved)
        place = 12 * len(self.model.bodies)
        for joint in self.engine.counted:  # after the bodies: they are measured on the new state
            q = ca.densify(self.pieces.kinematics.joint_state(joint)[0])
            count = q.numel()
            (pack,) = self.data.pack([self.pieces.cut(q, self.model.path(joint))])
            tables.add(pack, [("state", place + k) for k in range(count)], read_from="output")
            place += count
        first = self.engine.nq + self.engine.nv
        if self.model.memory:  # states of one's own are moved by `state_rates`
            modes = mode_rates(self.model, self._at_speed(), later=True)
            memory = ca.densify(ca.vertcat(modes, *map(ca.SX, self.model.states)))
            (pack,) = self.data.pack([self.pieces.cut(memory, "modes")])
            tables.add(pack, [("state", first + k) for k in range(memory.numel())])
        return lambda: tables.routine(self._inputs())

    def _at_speed(self) -> Kinematics:
        """The state that `drift` is given, with speeds again in the place of speeds times the step."""
        base = self.pieces.kinematics
        if not self.model.soft:
            return base
        step = ca.SX(self.model.soft[0].step)
        v = {joint: value / step for joint, value in base.v.items()}
        moving = type(base)(base.tracer, base.model, base.topology, base.q, v, base.counted)
        moving.frames = self.pieces.own_points()
        bind_signals(self.tracer, moving)
        return moving


def _only_fields(kinematics: Kinematics) -> Kinematics:
    only = copy.copy(kinematics)
    only.model = replace(kinematics.model, forces=(), efforts=(), soft=())
    return only


def _entries(column: ca.SX) -> list[ca.SX]:
    return ca.vertsplit(column) if column.numel() else []
