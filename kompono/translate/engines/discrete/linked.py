"""Engines that hold joints by visco-elastic links: what is known of the links, and the accelerations that forces make.

How a step is made of that is said by who inherits it. Stiffness and damping of the links are *hidden* parameters behind
those of the model, chosen for each run.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property

import casadi as ca
import numpy as np

from kompono.model.body import Body, Carrier
from kompono.model.constraint import Coupling
from kompono.model.force import Effort, Force
from kompono.model.joint import Joint
from kompono.model.signal import time as clock
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.elimination.blocks import Elimination
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.engines.decided import find_places
from kompono.translate.engines.discrete.links import Links, Strengths, make_links
from kompono.translate.engines.inverses import find_inverses
from kompono.translate.engines.placed import closures_on_bodies, counted_joints, mass_inverse, posed_on_speeds
from kompono.translate.engines.posed import Posed
from kompono.translate.engines.traced import Present, TracedEngine
from kompono.translate.motion.conditions import Closing, Laws, group_sizes, velocity_rows
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import Loads
from kompono.translate.program import Routine
from kompono.translate.rank.lever_table import LeverTable
from kompono.translate.rank.reach import Located, Reach, ReachableRows, switched
from kompono.translate.structure.topology import Topology
from kompono.translate.symbolic import Vector


class LinkedEngine(TracedEngine):
    """The state is (x, R) and the twist of every body in its own axes; joints are links."""

    def __init__(
        self, model: Elaborated, topology: Topology, kernels: dict[str, ca.Function], *, shared: bool,
        strengths: Strengths | None = None,
    ) -> None:  # fmt: skip
        super().__init__(model, topology, kernels, shared=shared)
        self._strengths = strengths or Strengths()
        self.levers = sum(symbols.numel() for symbols in self._symbols("levers"))  # how many numbers of them there are
        if model.numbers is not None:
            model.numbers.find = self._find_numbers

    @cached_property
    def _hidden(self) -> ca.SX:
        """Strengths of all links."""
        kinds = [symbols for kind in ("stiffness", "damping", "levers") for symbols in self._symbols(kind)]
        return ca.vertcat(ca.SX(0, 1), *kinds)

    def _find_numbers(self) -> None:
        """Have all numbers that follow from lengths and masses, and go into the equations, among those of the model."""
        find_inverses(self.model)
        find_places(self._start(shared=False, hidden=ca.SX(0, 1))[1], self.closing)

    @cached_property
    def _known_laws(self) -> Laws:
        """Conditions with their lengths as numbers, by which stiffness is chosen."""
        return Laws()

    @cached_property
    def _links(self) -> Links:
        """What holds each joint, constraint and coupling."""
        return make_links(self.model, self.closing, self.laws, self._strengths)

    def _symbols(self, kind: str) -> list[ca.SX]:
        """Stiffness or damping of all rows, in the order of `row_labels`, or all levers."""
        return [getattr(self._strengths.of(element), kind) for element in self.closing]

    def counted_joints(self) -> tuple[Joint, ...]:
        """All joints with angles that somebody uses."""
        return counted_joints(self.model)

    # -- hidden parameters

    def hidden_names(self) -> tuple[str, ...]:
        """They have no names people would use."""
        return tuple(f"link.{k}" for k in range(self._hidden.numel()))

    def hidden_values(
        self, stiffness: np.ndarray, damping: np.ndarray, levers: np.ndarray | None = None
    ) -> np.ndarray:  # fmt: skip
        """Hidden parameters for a stiffness and damping of each row of conditions (..., rows), as in `row_labels`, and
        numbers of levers (..., levers); without these no link gets softer.
        """
        levers = np.zeros((*stiffness.shape[:-1], self.levers)) if levers is None else levers
        return np.concatenate([stiffness, damping, levers], axis=-1)

    def strengths(self, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness and damping of each row (..., rows) from hidden parameters, where levers are shortest; zero where a
        row moves nothing.
        """
        stiffness, damping = np.split(hidden[..., : hidden.shape[-1] - self.levers], 2, axis=-1)
        return stiffness, damping

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

    def link_groups(self) -> tuple[tuple[str, int], ...]:
        """Path of the element and number of rows of each group of like conditions, in the order of the rows."""
        return tuple((self.model.path(e), size) for e in self.closing for size in group_sizes(e))

    # -- routines

    def routines(self) -> dict[str, Callable[[], Routine]]:
        """With what is needed to choose stiffness."""
        own = {"state_rates": self._own_rates} if self.model.states else {}
        slides = {"easing": self._easing} if self.levers else {}
        made = {"blocks": self.blocks, "condition_rates": self.condition_rates}
        return {**super().routines(), **own, **slides, **made}

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

    def _easing(self) -> Routine:
        """How much softer each row is than where its lever is shortest."""
        tracer, factors = self.present.tracer, []
        for strength in self._links.strengths:
            factors.append(ca.SX.ones(strength.stiffness.numel()))
            if strength.lever_groups:
                place = between(self.present.kinematics, strength.element)
                factors[-1] = tracer.call(strength.easing, place, free=True)
        return tracer.routine("easing", [("factors", ca.vertcat(ca.SX(0, 1), *factors))])

    def condition_rates(self) -> Routine:
        """g_dot of all conditions."""
        rates = [closure.rate for closure in self.present.closures.values()]
        return self.present.tracer.routine("condition_rates", [("g_dot", ca.vertcat(ca.SX(0, 1), *rates))])

    def reachable(
        self, time: float, states: np.ndarray, parameters: np.ndarray, weights: np.ndarray, firm: np.ndarray
    ) -> tuple[list[Reach | None], LeverTable]:
        """For each block of `touched`, where its rows may get from the states (runs, n), None for couplings, whose rows
        follow the axes of joints; and levers, for bodies with mobilities `weights` (runs, bodies, 6, 6), of all groups
        but those that are `firm` (groups,).
        """
        symbols = [ca.SX(signal) for signal in (*self.model.parameters, *self.model.memory)]
        numbers = [*parameters.T[: len(self.model.parameters)], *states.T[self.nq + self.nv :]]
        values = {
            s.element_hash(): x for s, x in zip([clock, *symbols], [np.full(len(states), time), *numbers], strict=True)
        }
        placed: dict[Carrier, Located] = {
            body: (states[:, 12 * k : 12 * k + 3], states[:, 12 * k + 3 : 12 * k + 12].reshape(-1, 3, 3).swapaxes(1, 2))
            for k, body in enumerate(self.model.bodies)
        }
        reach, found = ReachableRows(values, placed), []
        levers, number = LeverTable(len(states)), {body: k for k, body in enumerate(self.model.bodies)}
        for element in self.closing:
            sizes = group_sizes(element)
            if isinstance(element, Coupling) or not sum(sizes):
                found += [None] * len(self._bodies_of(element))
                levers.skip(sizes)
                continue
            law, groups = self._known_laws.of(element), self._strengths.of(element).lever_groups
            sides = [number.get(frame.body) for frame in (element.second, element.first)]  # type: ignore[call-overload]
            mine = [None if side is None else weights[:, side] for side in sides]
            blocks = reach.blocks(element, law, sizes)
            found += levers.add(reach, element, law, sizes, groups, mine, blocks, firm)
        return found, levers

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
        linked.model = self._links.added_to(self.model)
        loads = Loads(linked)
        loads.kinematics = kinematics
        closures = closures_on_bodies(kinematics, self.closing, self.laws, None)
        solution = Solution()
        for body in self.model.bodies:
            weight, path = mass_inverse(kinematics, body), self.model.path(body)
            solution[Unknown.body(body)] = tracer.call(lambda d, p: -(d @ p), weight, loads.bias(body), path=path)
        for strength in self._links.strengths:
            closure = closures[strength.element]
            solution[Unknown.rows(strength.element)] = tracer.call(
                strength.multiplier, closure.residual, closure.rate, between(kinematics, strength.element),
                path=self.model.path(strength.element), free=True,
            )  # fmt: skip
        return Present(tracer, kinematics, closures, loads, Elimination(tracer), solution)

    @cached_property
    def posed(self) -> Posed:
        """Kinematics and conditions, with G on the speeds."""
        return posed_on_speeds(self.present, self._moving_links())


def between(kinematics: Kinematics, element: Closing) -> Vector:
    """The position (3) of the second frame of a pair in the first; of a coupling nothing that matters."""
    return ca.SX(3, 1) if isinstance(element, Coupling) else kinematics.motion(element.first, element.second).position


def switches(engine: LinkedEngine) -> bool:
    """Whether conditions may depend on a mode, which may switch them off."""
    pairs = [
        (element, engine._known_laws.of(element)) for element in engine.closing if not isinstance(element, Coupling)
    ]
    return bool(engine.model.modes) and (len(pairs) < len(engine.closing) or switched(pairs, engine.model.modes))
