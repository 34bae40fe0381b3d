"""Laws of nature: energy, momentum, reactions that do no work, dissipation that is what dampers take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from laws.dense import Mechanism, Pair, applied, project_twists
from laws.mechanisms import (
    CONSTRAINTS,
    JOINTS,
    Case,
    Numbers,
    add_loads,
    build,
    connect,
    difference,
    evaluate,
    loops,
    quaternion_to_matrix,
    scatter,
    trees,
)
from laws.test_accelerations import examples, loaded_screws

from kompono import Body, Ground, Output, Result, Subsystem, simulate
from kompono.library import Cylindrical, Gravity, Revolute, RotationalSpringDamper, SpringDamper

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")


def swing(kind: str, seed: int = 3) -> Mechanism:
    """A body on the ground through a joint or constraint, and another body hinged to it; gravity only."""
    n = Numbers(seed)
    m = scatter(n, 2, [False], 0.0)
    if kind in JOINTS:
        m.joints.append(connect(m, n, kind, 0, 1))
    else:
        m.constraints.append(connect(m, n, kind, 0, 1))
        c = m.constraints[0]
        c.length = type(c.length)((c.length.at(0.0)[0], 0.0, 0.0, 1.0, 0.0))
    m.joints.append(connect(m, n, "revolute", 1, 2))
    project_twists(m)
    return m


def drift(result: Result) -> float:
    energy = result["energy.total"]
    return float(np.abs(energy - energy[0]).max() / (1.0 + np.abs(result["energy.kinetic"]).max()))


@pytest.mark.parametrize("kind", JOINTS)
def test_energy_of_a_swing(kind: str) -> None:
    result = simulate(build(swing(kind), starts=True).model, until=1.0, step=2e-3, every=10, progress=False)
    assert result.status.ok
    assert np.ptp(result["energy.kinetic"]) > 0.1  # it does swing
    assert drift(result) < 1e-8


@pytest.mark.parametrize("kind", [*(kind for kind in JOINTS if kind != "free"), *CONSTRAINTS])
def test_energy_of_a_swing_whose_joint_closes_a_loop(kind: str) -> None:
    """The body is free in the tree; the joint acts through multipliers and projection alone."""
    cut = ["joint0"] if kind in JOINTS else []
    built = build(swing(kind), starts=False)
    result = simulate(built.model, until=0.5, step=2e-3, every=10, cut=cut, progress=False, initial=start(kind))
    assert result.status.ok
    assert drift(result) < 1e-8
    assert result["drift.position"].max() < 1e-12
    assert result["drift.velocity"].max() < 1e-12


def start(kind: str) -> dict[str, float]:
    m = swing(kind)
    hinge = m.joints[-1]
    name = f"joint{len(m.joints) - 1}.angle"
    pair = Pair(m, hinge.first, hinge.second)
    return {name: float(hinge.q[0]), f"{name}.rate": float(pair.e1 @ hinge.axis @ (pair.w2 - pair.w1))}


def momenta(m: Mechanism, result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Linear and angular momentum (about the world's origin) over time."""
    linear, angular = np.zeros((len(result.time), 3)), np.zeros((len(result.time), 3))
    for i in m.bodies:
        x, v, w = (
            np.stack([result[f"body{i}.{kind}.{k}"] for k in "xyz"], axis=1)
            for kind in ("position", "velocity", "angular_velocity")
        )
        e = np.stack([result[f"body{i}.orientation.e{k}"] for k in range(4)], axis=1)
        solid: Any = m.carriers[i]
        linear += solid.mass * v
        for row in range(len(result.time)):
            a = quaternion_to_matrix(e[row])
            angular[row] += np.cross(x[row], solid.mass * v[row]) + a @ solid.inertia @ a.T @ w[row]
    return linear, angular


@pytest.mark.parametrize("closed", [False, True])
def test_momentum_of_a_floating_mechanism(closed: bool) -> None:
    """Springs, bushings, dampers, joint torques and closed loops are internal: neither momentum changes."""
    n = Numbers(11)
    m = scatter(n, 4, [], 0.0)
    for kind, i, j in (("universal", 0, 1), ("cylindrical", 2, 1), ("spherical", 1, 3)):
        m.joints.append(connect(m, n, kind, i, j))
    add_loads(m, n, 2)
    m.loads.clear()
    m.gravity = np.zeros(3)
    if closed:
        m.joints.append(connect(m, n, "spherical", 0, 3))
    project_twists(m)
    result = simulate(build(m, starts=True).model, until=0.5, step=1e-3, every=50, progress=False)
    assert result.status.ok
    for momentum in momenta(m, result):
        assert np.abs(momentum - momentum[0]).max() < 1e-8 * (1.0 + np.abs(momentum).max())


@examples(6)
@given(trees(bodies=(2, 4), moving=False))
def test_energies_are_those_of_the_textbook(case: Case) -> None:
    m, e = case.m, evaluate(case.m)
    kinetic, potential = 0.0, 0.0
    for i in m.bodies:
        solid: Any = m.carriers[i]
        w = m.A[i].T @ m.w[i]
        kinetic += solid.mass * m.v[i] @ m.v[i] / 2 + w @ solid.inertia @ w / 2
        potential -= solid.mass * m.gravity @ m.x[i]
    for spring in m.springs:
        potential += spring.k * (np.linalg.norm(Pair(m, spring.first, spring.second).d) - spring.rest) ** 2 / 2
    for mount in m.mounts:
        pair = Pair(m, mount.first, mount.second)
        r = pair.e1.T @ pair.e2
        half = np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]) / 2
        deflection = np.concatenate([pair.e1.T @ pair.d, half])
        potential += deflection @ mount.k @ deflection / 2
    for torsion in m.torsions:
        potential += torsion.k * (m.joints[torsion.joint[0]].q[torsion.joint[1]] - torsion.rest) ** 2 / 2
    assert e.values["energy.kinetic"] == pytest.approx(kinetic, rel=1e-12)
    assert e.values["energy.potential"] == pytest.approx(potential, rel=1e-12, abs=1e-11)
    assert e.values["energy.total"] == pytest.approx(kinetic + potential, rel=1e-12, abs=1e-11)


@examples(6)
@given(loops(moving=False, couplings=False, bodies=(3, 4)))
def test_reactions_do_no_work_and_loads_change_the_energy(case: Case) -> None:
    m = case.m
    moving_rods = [c for c in m.constraints if c.kind == "distance" and abs(c.length.at(m.time)[1]) > 0]
    e = evaluate(m)
    for number, (c, joint) in enumerate(zip(m.joints, e.built.joints, strict=True)):
        if number in loaded_screws(m):
            continue
        i, j = c.first.on, c.second.on
        point = m.x[j] + m.A[j] @ c.second.position
        slip = m.v[j] + np.cross(m.w[j], point - m.x[j]) - m.v[i] - np.cross(m.w[i], point - m.x[i])
        force, torque = e.vector(joint, "force"), e.vector(joint, "torque")
        power = force @ slip + torque @ (m.w[j] - m.w[i])
        assert abs(power) < 1e-10 * (1.0 + np.abs(force).max() + np.abs(torque).max())
    if moving_rods:
        return
    power, change = 0.0, 0.0
    for i, acceleration, load in zip(m.bodies, e.accelerations, applied(m)[m.bodies], strict=True):
        solid: Any = m.carriers[i]
        inertia = m.A[i] @ solid.inertia @ m.A[i].T
        power += load[:3] @ m.v[i] + load[3:] @ m.w[i]
        change += solid.mass * m.v[i] @ acceleration[:3] + m.w[i] @ inertia @ acceleration[3:]
    assert difference(np.array([change]), np.array([power])) < 1e-10


class DampedLoop(Subsystem):
    """A crank and a slider on a rod, with dampers and springs on joints and between bodies."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.gravity = Gravity()
        self.crank = Body(mass=1.0, inertia=(0.02, 0.05, 0.05))
        self.rod = Body(mass=0.7, inertia=(0.02, 0.08, 0.08))
        self.slider = Body(mass=2.0, inertia=(0.02, 0.02, 0.02))
        self.main = Revolute(self.ground, self.crank.at(-0.2, 0, 0), axis="y", angle=0.7, angle_rate=3.0)
        self.pin = Revolute(self.crank.at(0.2, 0, 0), self.rod.at(-0.5, 0, 0), axis="y", angle=-1.0)
        self.gudgeon = Revolute(self.rod.at(0.5, 0, 0), self.slider, axis="y")
        self.bore = Cylindrical(self.ground, self.slider, axis="x", displacement=1.2)
        self.friction = RotationalSpringDamper(self.main, k=2.0, c=0.3)
        self.buffer = SpringDamper(self.ground.at(2, 0, 0.3), self.slider, k=30.0, c=4.0, rest=1.0)
        dx, v = self.slider.position - self.ground.at(2, 0, 0.3).position, self.slider.velocity
        stretch = (dx[0] * v[0] + dx[1] * v[1] + dx[2] * v[2]) ** 2 / (dx[0] ** 2 + dx[1] ** 2 + dx[2] ** 2)
        self.dissipation = Output(0.3 * self.main.angle_rate**2 + 4.0 * stretch, unit="W")


def test_energy_lost_is_what_the_dampers_took() -> None:
    result = simulate(DampedLoop(), until=1.0, step=1e-3, progress=False)
    assert result.status.ok
    power, t = result["dissipation"], result.time
    h = t[1] - t[0]
    taken = h / 3 * (power[0] + power[-1] + 4 * power[1:-1:2].sum() + 2 * power[2:-1:2].sum())
    energy = result["energy.total"]
    assert taken > 1.0
    assert energy[-1] - energy[0] == pytest.approx(-taken, rel=1e-7)
