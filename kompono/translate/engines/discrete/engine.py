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

from kompono.model.body import Body, Carrier
from kompono.model.constraint import Coupling
from kompono.model.force import Effort, Field, Force
from kompono.model.joint import Joint
from kompono.model.signal import time as clock
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.elimination.blocks import Elimination
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.engines.discrete.links import make_links
from kompono.translate.engines.discrete.packs import Data, PackTables
from kompono.translate.engines.discrete.pieces import Piece, Pieces
from kompono.translate.engines.placed import closures_on_bodies, counted_joints, mass_inverse, posed_on_speeds
from kompono.translate.engines.posed import Posed
from kompono.translate.engines.traced import Present, TracedEngine
from kompono.translate.laws.softened import mode_rates
from kompono.translate.motion.conditions import Closing, group_sizes, velocity_rows
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import Loads
from kompono.translate.motion.signals import bind_signals
from kompono.translate.program import Routine
from kompono.translate.rank.reach import Located, ReachableRows
from kompono.translate.structure.topology import Topology
from kompono.translate.symbolic import Vector
from kompono.translate.tracer import InlineTracer, Tracer, add_kernel

SOURCES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # wrenches a kernel adds up; what a body has less are zeros


class DiscreteEngine(TracedEngine):
    """The state is (x, R) and the twist of every body in its own axes; joints are links."""

    def __init__(self, model: Elaborated, topology: Topology, kernels: dict[str, ca.Function], *, shared: bool) -> None:
        super().__init__(model, topology, kernels, shared=shared)
        self.links = make_links(self.closing, self.laws)
        self._cut = _Cut(self)
        self.hidden = ca.vertcat(*self._cut.data.symbols) if self._cut.data.symbols else ca.SX(0, 1)

    def counted_joints(self) -> tuple[Joint, ...]:
        """All joints with angles that somebody uses."""
        return counted_joints(self.model)

    # -- hidden parameters

    def hidden_names(self) -> tuple[str, ...]:
        """They have no names people would use."""
        return tuple(f"link.{k}" for k in range(self.hidden.numel()))

    def hidden_values(self, stiffness: np.ndarray, damping: np.ndarray) -> np.ndarray:
        """Hidden parameters for a stiffness and damping of each condition row (rows), in the order of `row_labels`."""
        rows = [ca.vertcat(*[getattr(s, kind) for s in self.links.strengths]) for kind in ("stiffness", "damping")]
        given = {}
        for symbols, values in zip(rows, (stiffness, damping), strict=True):
            pairs = zip(_entries(symbols), values, strict=True)
            given.update({symbol.element_hash(): float(value) for symbol, value in pairs})
        values, last = [], 0.0
        for symbol in self._cut.data.symbols:
            key = symbol.element_hash()
            last = last if symbol.name() == "again" else given.get(key, self._cut.pieces.value(symbol))
            values.append(last)
        return np.array(values)

    def strengths(self, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness and damping of each condition row (rows) from hidden parameters; zero where a row moves nothing."""
        value = {s.element_hash(): number for s, number in zip(self._cut.data.symbols, hidden, strict=True)}
        rows = [ca.vertcat(*[getattr(s, kind) for s in self.links.strengths]) for kind in ("stiffness", "damping")]
        stiffness, damping = ([value.get(symbol.element_hash(), 0.0) for symbol in _entries(row)] for row in rows)
        return np.array(stiffness), np.array(damping)

    def loads_on(self, body: int) -> list[str]:
        """Paths of the forces, efforts and laws of the model that act on a body."""
        carrier, found = self.model.bodies[body], []
        soft = [load for law in self.model.soft for load in law.loads]
        for force in (*self.model.forces, *(load for load in soft if isinstance(load, Force))):
            if carrier in [frame.body for frame in (force.first, force.second) if frame is not None]:
                found.append(self.model.path(force))
        for effort in (*self.model.efforts, *(load for load in soft if isinstance(load, Effort))):
            if carrier in (effort.joint.first.body, effort.joint.second.body):
                found.append(self.model.path(effort))
        return found

    def groups(self) -> tuple[tuple[str, int], ...]:
        """Path of the element and number of rows of each group of like conditions, in the order of the rows."""
        return tuple((self.model.path(e), size) for e in self.closing for size in group_sizes(e))

    # -- routines

    def routines(self) -> dict[str, Callable[[], Routine]]:
        """With the parts of a step, and what is needed to choose stiffness."""
        parts = {"kick": self._cut.kick, "drift": self._cut.drift, "blocks": self.blocks}
        parts |= {"state_rates": self._own_rates} if self.model.states else {}
        return {**super().routines(), **parts, "condition_rates": self.condition_rates}

    def _own_rates(self) -> Routine:
        """Rates of the model's own states."""
        return self.present.tracer.routine("state_rates", [("rates", self._state_rates(self.present.solution))])

    def blocks(self) -> Routine:
        """G of each element on the accelerations of each body it touches (rows x 6, column by column), in the order of
        `touched`, and the inverse mass matrix (6 x 6) of each body, all in body axes.
        """
        now = self.present
        blocks = [ca.vec(ca.densify(block)) for c in now.closures.values() for block in c.columns.values()]
        weights = [ca.vec(ca.densify(mass_inverse(now.kinematics, body))) for body in self.model.bodies]
        named = [("blocks", ca.vertcat(*blocks) if blocks else ca.SX(0, 1)), ("weights", ca.vertcat(*weights))]
        return now.tracer.routine("blocks", named)

    def condition_rates(self) -> Routine:
        """g_dot of all conditions."""
        rates = [closure.rate for closure in self.present.closures.values()]
        return self.present.tracer.routine("condition_rates", [("g_dot", ca.vertcat(ca.SX(0, 1), *rates))])

    def reachable(self, time: float, state: np.ndarray, parameters: np.ndarray) -> list[np.ndarray | None]:
        """For each block of `touched`, rows (poses, rows, 6) at many poses the element allows, the present one first;
        None for couplings, whose rows follow the axes of joints.
        """
        symbols = [ca.SX(signal) for signal in (*self.model.parameters, *self.model.memory)]
        numbers = [*parameters[: len(self.model.parameters)], *state[self.nq + self.nv :]]
        values = {s.element_hash(): float(x) for s, x in zip([clock, *symbols], [time, *numbers], strict=True)}
        placed: dict[Carrier, Located] = {
            body: (state[12 * k : 12 * k + 3], state[12 * k + 3 : 12 * k + 12].reshape(3, 3).T)
            for k, body in enumerate(self.model.bodies)
        }
        reach, found = ReachableRows(values, placed), []
        for element in self.closing:
            if isinstance(element, Coupling) or not sum(group_sizes(element)):
                found += [None] * len(self._bodies_of(element))
            else:
                found += reach.blocks(element, self.laws.of(element))
        return found

    def slips(self) -> np.ndarray:
        """Which condition rows are on velocities alone (rows,)."""
        marks: list[bool] = []
        for element in self.closing:
            rows = sum(group_sizes(element))
            pairs = 0 if isinstance(element, Coupling) else velocity_rows(element)
            marks += [False] * (rows - pairs) + [True] * pairs
        return np.array(marks, dtype=bool)

    def _bodies_of(self, element: Closing) -> list[Body]:
        """Bodies an element touches, each once."""
        pairs = element.joints if isinstance(element, Coupling) else (element,)
        carriers = [frame.body for pair in pairs for frame in (pair.second, pair.first)]
        return list(dict.fromkeys(carrier for carrier in carriers if isinstance(carrier, Body)))

    def touched(self) -> list[tuple[int, int, int]]:
        """First row, number of rows and body of each block of `blocks`; known without tracing anything."""
        number = {body: k for k, body in enumerate(self.model.bodies)}
        found, start = [], 0
        for element in self.closing:
            rows = sum(group_sizes(element))
            found += [(start, rows, number[body]) for body in self._bodies_of(element)]
            start += rows
        return found

    def speed_rates(self, solution: Solution) -> Vector:
        """Rates of the velocity and angular velocity of every body, seen in its axes."""
        now, rates = self.present, []
        for body in self.model.bodies:
            rotation, a = now.kinematics.absolute(body).pose.rotation, solution.body(body)
            rates.append(
                now.tracer.call(
                    lambda a, r, g: ca.vertcat(a[:3] + r.T @ g, a[3:]), a, rotation, now.loads.uniform,
                    path=self.model.path(body),
                )
            )  # fmt: skip
        return ca.vertcat(*rates)

    @cached_property
    def present(self) -> Present:
        """Kinematics, conditions, all loads with those of the links, and the accelerations they make."""
        tracer, kinematics = self._start()
        linked = copy.copy(kinematics)
        linked.model = self.links.added_to(self.model)
        loads = Loads(linked)
        loads.kinematics = kinematics
        closures = closures_on_bodies(kinematics, self.closing, self.laws, None)
        solution = Solution()
        for body in self.model.bodies:
            weight, path = mass_inverse(kinematics, body), self.model.path(body)
            solution[Unknown.body(body)] = tracer.call(lambda d, p: -(d @ p), weight, loads.bias(body), path=path)
        for strength in self.links.strengths:
            closure = closures[strength.element]
            solution[Unknown.rows(strength.element)] = tracer.call(
                strength.multiplier, closure.residual, closure.rate, path=self.model.path(strength.element), free=True
            )
        return Present(tracer, kinematics, closures, loads, Elimination(tracer), solution)

    @cached_property
    def posed(self) -> Posed:
        """Kinematics and conditions, with G on the speeds."""
        return posed_on_speeds(self.present, self._moving_links())


class _Cut:
    """The model cut into pieces, and the two routines made of them."""

    def __init__(self, engine: DiscreteEngine) -> None:
        self.engine, self.model = engine, engine.model
        tracer, kinematics = engine._start(shared=False)
        assert isinstance(tracer, InlineTracer)
        self.tracer: Tracer = tracer
        self.pieces, self.data = Pieces(tracer, kinematics, engine.kernels), Data()
        for strength in engine.links.strengths:
            self.pieces.numbers.allow(strength.stiffness)
            self.pieces.numbers.allow(strength.damping)
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
            for s, loads in zip(self.engine.links.strengths, self.engine.links.loads, strict=True)
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
