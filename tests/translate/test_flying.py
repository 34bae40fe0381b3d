"""Bodies that touch others and are joined to nothing are solved for in their own axes: the same motion as by the speeds
of their joints, in world axes.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from kompono import Body, Ground, Simulation, Subsystem, rotation, time
from kompono.compile import schedule
from kompono.library import Contact, Gravity, Revolute, solids
from kompono.translate.elimination.inertia_form import Condensation


class Tossed(Subsystem):
    """A box on a slope that shakes, a ball on the box and an arm with a ball at its end that another one touches."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.floor = Ground(position=(0.0, 0.02 * ca.sin(3 * time), 0.0), orientation=rotation("y", 0.3))
        self.box = Body(solids.box(mass=2.0, size=(0.4, 0.3, 0.1)), start_position=(0, 0, 0.2))
        self.ball = Body(solids.sphere(mass=0.5, radius=0.1), start_position=(0, 0, 0.5))
        self.arm = Body(solids.box(mass=1.0, size=(0.1, 0.1, 0.5)), start_position=(1, 0, 0))
        self.pin = Revolute(self.ground.at(1, 0, 0), self.arm, axis="y")
        self.other = Body(solids.sphere(mass=0.5, radius=0.1), start_position=(1, 0.1, 0.6))
        self.feet = Contact(self.floor.plane(), self.box.at(0, 0, -0.05).corners((0.4, 0.3, 0)), mu=0.4)
        self.top = Contact(self.box.at(0, 0, 0.05).plane(), self.ball.sphere(0.1), mu=0.3)
        self.tip = Contact(self.arm.at(0, 0, 0.25).sphere(0.05), self.other.sphere(0.1), mu=0.3)


def answers(simulation: Simulation, rng: np.random.Generator) -> list[np.ndarray]:
    """What routines of laws, and those while nothing touches, give at a random state."""
    program = simulation.kernel.program
    state, moving = simulation.assemble().state.copy(), len(program.coordinates) + len(program.speeds)
    state[:moving] += 0.3 * rng.normal(size=moving)
    given = 0.1, state, np.zeros(0), simulation.parameters()
    forces = rng.normal(size=max(unit.row + (unit.kind == 2) for unit in program.laws) + 1)
    pushed = *given[:3], np.concatenate([given[3], forces])
    found = [simulation.kernel.evaluate(name, *given) for name in ("law_view", "open_derivative", "open_guards")]
    return [value for each in (*found, simulation.kernel.evaluate("law_respond", *pushed)) for value in each]


def test_the_same_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accelerations of rows and bodies without forces, and what forces do."""
    found: list[list[np.ndarray]] = []
    instructions = []
    for hung in (False, True):
        if hung:
            monkeypatch.setattr(Condensation, "_flying", lambda self: {})
        simulation = Simulation(Tossed(), cache=False)
        found.append([value for seed in range(5) for value in answers(simulation, np.random.default_rng(seed))])
        program = simulation.kernel.program
        instructions.append(schedule.instructions(program, program.routines["law_view"]))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * max(1.0, np.abs(other).max(initial=0.0)))
    assert instructions[0] < 0.9 * instructions[1]
