"""Forces against what they are by hand."""

from __future__ import annotations

from math import cos, exp, pi, sin, sqrt

import casadi as ca
import numpy as np
import pytest
from solve.machines import Oscillator, Pendulum

from kompono import Body, Ground, Subsystem, rotation, simulate, time
from kompono.library import AppliedLoad, Bushing, Gravity, Prismatic, Revolute, SpringDamper, solids


def ball(mass: float = 1.0, **start: object) -> Body:
    return Body(solids.sphere(mass=mass, radius=0.1), **start)  # type: ignore[arg-type]


def test_a_spring_between_two_free_bodies_pulls_both_alike() -> None:
    class Dumbbell(Subsystem):
        def __init__(self) -> None:
            self.a, self.b = ball(1.0), ball(3.0, start_position=(1.5, 0, 0))
            self.spring = SpringDamper(self.a, self.b, k=12.0, rest=1.0)

    result = simulate(Dumbbell(), until=2.0, step=1e-3)
    stretch = result["b.position.x"] - result["a.position.x"] - 1.0
    w = sqrt(12.0 / (1 * 3 / 4))  # reduced mass
    assert np.abs(stretch - 0.5 * np.cos(w * result.time)).max() < 1e-8
    assert np.abs(result["a.velocity.x"] + 3 * result["b.velocity.x"]).max() < 1e-12
    energy = result["energy.total"]
    assert energy[0] == pytest.approx(12 * 0.5**2 / 2)
    assert np.abs(energy - energy[0]).max() < 1e-8


def test_a_damper_acts_along_the_line_of_its_ends_only() -> None:
    class Orbit(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.stone = ball(1.0, start_position=(1, 0, 0), start_velocity=(0.5, 2, 0))
            self.damper = SpringDamper(self.ground, self.stone, c=3.0)

    row = simulate(Orbit(), until=0.0).at(0.0)
    assert row["stone.acceleration.x"] == pytest.approx(-1.5)
    assert row["stone.acceleration.y"] == pytest.approx(0.0, abs=1e-15)


def test_a_torsion_spring_with_damping_rings_as_it_should() -> None:
    result = simulate(Oscillator(mass=2.0, k=8.0, c=1.0), until=3.0, step=1e-3)
    decay, w = 1.0 / 4, sqrt(4 - 1 / 16)
    expected = [exp(-decay * t) * (cos(w * t) + decay / w * sin(w * t)) for t in result.time]
    assert np.abs(result["slide.displacement"] - expected).max() < 1e-9


def test_a_torsion_spring_counts_whole_turns() -> None:
    class Wound(Subsystem):
        def __init__(self) -> None:
            from kompono.library import RotationalSpringDamper

            self.ground = Ground()
            self.wheel = Body(mass=1.0, inertia=(1, 1, 1))
            self.pin = Revolute(self.ground, self.wheel, axis="z", angle=6 * pi)
            self.spring = RotationalSpringDamper(self.pin, k=2.0, rest=pi)

    row = simulate(Wound(), until=0.0).at(0.0)
    assert row["pin.angle.acceleration"] == pytest.approx(-2.0 * 5 * pi)
    assert row["energy.potential"] == pytest.approx((5 * pi) ** 2)


K = np.diag([100.0, 200.0, 300.0, 4.0, 5.0, 6.0])
K[0, 4] = K[4, 0] = 10.0


@pytest.mark.parametrize("column", range(6))
def test_a_bushing_answers_small_deflections_with_its_matrix(column: int) -> None:
    d = np.zeros(6)
    d[column] = 1e-6

    class Mount(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.block = Body(
                mass=1.0, inertia=(1, 1, 1), start_position=d[:3], start_orientation=_small_turn(d[3:]),
            )  # fmt: skip
            self.mount = Bushing(self.ground, self.block, k=K)

    row = simulate(Mount(), until=0.0).at(0.0)
    names = [f"block.acceleration.{a}" for a in "xyz"] + [f"block.angular_acceleration.{a}" for a in "xyz"]
    assert np.allclose([row[name] for name in names], -K @ d, rtol=1e-5, atol=1e-11)


def _small_turn(vector: np.ndarray) -> np.ndarray:
    angle = float(np.linalg.norm(vector))
    return rotation(vector / angle, angle) if angle else np.array([1.0, 0, 0, 0])


def test_a_bushing_conserves_energy_at_large_turns_and_damps_if_asked() -> None:
    class Mount(Subsystem):
        def __init__(self, c: object = None) -> None:
            self.ground = Ground()
            self.block = Body(
                solids.box(mass=1, size=(0.4, 0.6, 0.8)),
                start_position=(0.1, 0.2, -0.1),
                start_orientation=rotation((0.6, 0, 0.8), 1.0),
            )
            self.mount = Bushing(self.ground, self.block, k=K, c=c)

    free = simulate(Mount(), until=2.0, step=1e-3)["energy.total"]
    assert np.abs(free - free[0]).max() < 1e-6 * free[0]
    damped = simulate(Mount((5, 5, 5, 0.5, 0.5, 0.5)), until=2.0, step=1e-3)["energy.total"]
    assert np.all(np.diff(damped) <= 1e-12)
    assert damped[-1] < 0.5 * damped[0]


def test_an_applied_force_in_world_axes_and_in_body_axes() -> None:
    class Rocket(Subsystem):
        def __init__(self, axes: str) -> None:
            self.ship = Body(mass=2.0, inertia=(1, 1, 1), start_orientation=rotation("z", pi / 2))
            self.thrust = AppliedLoad(self.ship, force=(4, 0, 0), torque=(0, 3, 0), axes=axes)  # type: ignore[arg-type]

    world, body = (simulate(Rocket(axes), until=0.0).at(0.0) for axes in ("world", "body"))
    assert world["ship.acceleration.x"] == pytest.approx(2.0)
    assert world["ship.angular_acceleration.y"] == pytest.approx(3.0)
    assert body["ship.acceleration.y"] == pytest.approx(2.0)
    assert body["ship.angular_acceleration.x"] == pytest.approx(-3.0)


def test_a_force_off_the_centre_turns_the_body() -> None:
    class Pushed(Subsystem):
        def __init__(self) -> None:
            self.block = Body(mass=2.0, inertia=(3, 2, 4))
            self.push = AppliedLoad(self.block.at(0.5, 0, 0), force=(0, 6, 0))

    row = simulate(Pushed(), until=0.0).at(0.0)
    assert row["block.acceleration.y"] == pytest.approx(3.0)
    assert row["block.angular_acceleration.z"] == pytest.approx(0.75)


def test_a_load_with_reaction_conserves_momentum() -> None:
    class Pair(Subsystem):
        def __init__(self) -> None:
            self.a, self.b = ball(1.0), ball(2.0, start_position=(1, 0, 0), start_angular_velocity=(0, 0, 1))
            self.jack = AppliedLoad(
                self.b.at(0.1, 0, 0), force=(ca.cos(time), 1, 0), torque=(0, 0, 0.5), reaction=self.a.at(0, 0.1, 0)
            )

    result = simulate(Pair(), until=0.5, step=0.1, method="dopri5", rtol=1e-12)
    moment = 0.0
    for name, mass in (("a", 1.0), ("b", 2.0)):
        x, y, vx, vy, w = (
            result[f"{name}.{c}"]
            for c in ("position.x", "position.y", "velocity.x", "velocity.y", "angular_velocity.z")
        )
        moment = moment + mass * (x * vy - y * vx) + 0.4 * mass * 0.01 * w
    momentum = result["a.velocity.x"] + 2 * result["b.velocity.x"]
    assert np.abs(momentum).max() < 1e-9
    assert np.abs(moment - moment[0]).max() < 1e-9


def test_work_done_is_energy_gained() -> None:
    class Motor(Pendulum):
        def __init__(self) -> None:
            from kompono.library import JointEffort

            super().__init__(angle=0.5)
            self.motor = JointEffort(self.pin, 3.0)

    result = simulate(Motor(), until=1.0, step=1e-3)
    gained = result["energy.total"] - result["energy.total"][0]
    assert np.abs(gained - 3.0 * (result["pin.angle"] - 0.5)).max() < 1e-8


def test_gravity_is_9_81_down_unless_given() -> None:
    class Stone(Subsystem):
        def __init__(self, *given: object) -> None:
            self.gravity = Gravity(*given)
            self.stone = ball(2.0, start_position=(0, 0, 3))

    assert simulate(Stone(), until=0.0).at(0.0)["stone.acceleration.z"] == pytest.approx(-9.81)
    row = simulate(Stone((1, 0, 0)), until=0.0).at(0.0)
    assert row["stone.acceleration.x"] == pytest.approx(1.0)
    assert simulate(Stone(), until=0.0).at(0.0)["energy.potential"] == pytest.approx(2 * 9.81 * 3)


def test_reactions_count_gravity_and_springs() -> None:
    class Scale(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.gravity = Gravity()
            self.pan = ball(2.0)
            self.rail = Prismatic(self.ground, self.pan, axis="x")
            self.spring = SpringDamper(self.ground.at(0, 0, 1), self.pan, k=10, rest=0.5)

    row = simulate(Scale(), until=0.0).at(0.0)
    assert row["rail.force.z"] == pytest.approx(2 * 9.81 - 5.0)


def test_a_bushing_beside_a_slide_is_a_spring() -> None:
    """The relative pose has structural zeros there."""

    class Slide(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.block = Body(solids.box(mass=2.0, size=(0.1, 0.1, 0.1)))
            self.rail = Prismatic(self.ground, self.block, axis="x", displacement=0.1)
            self.mount = Bushing(self.ground, self.block, k=(200.0, 1, 1, 1, 1, 1))

    result = simulate(Slide(), until=1.0, step=1e-3)
    assert result["block.position.x"][-1] == pytest.approx(0.1 * np.cos(10.0), abs=1e-9)
