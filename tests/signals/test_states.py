"""States of one's own: a motor with an inductance against the matrix exponential, on all engines and by all methods."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from signals.support import HERE

from kompono import (
    Body,
    Event,
    Ground,
    Input,
    Mode,
    ModelError,
    Output,
    RunError,
    Sealed,
    State,
    Subsystem,
    seal,
    simulate,
    simulate_many,
    time,
)
from kompono.library import Gravity, JointEffort, Revolute, SpringDamper, Weld, solids
from kompono.sealed import keys

R, L, K, J = 1.0, 0.5e-3, 0.05, 1e-3


class Rotor(Subsystem):
    """A rotor on a base, with a winding."""

    def __init__(self):
        self.base = Body(mass=1.0, inertia=(1.0, 1.0, 1.0))
        self.disc = Body(mass=1.0, inertia=(J, J, J))
        self.pin = Revolute(self.base, self.disc, axis="z")
        self.current = State(0.0, unit="A")
        self.voltage = Input(12.0, unit="V")
        self.current.rate = (self.voltage - R * self.current - K * self.pin.angle_rate) / L
        self.torque = JointEffort(self.pin, K * self.current)
        self.expose(self.base)


class Rig(Subsystem):
    """The rotor on the ground."""

    def __init__(self, motor=None):
        self.ground, self.motor = Ground(), motor or Rotor()
        self.mount = Weld(self.ground, self.motor.base)


def exact(t, current=0.0):
    """Angle, speed and current."""
    rates = np.array([[0, 1, 0, 0], [0, 0, K / J, 0], [0, -K / L, -R / L, 12 / L], [0, 0, 0, 0]])
    return (scipy.linalg.expm(rates * t) @ [0, 0, current, 1])[:3]


def ends(result, path="motor."):
    return np.array([result[f"{path}{name}"][-1] for name in ("pin.angle", "pin.angle.rate", "current")])


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        ({}, 1e-12),
        ({"engine": "absolute"}, 1e-12),
        ({"method": "adams"}, 2e-12),
        ({"method": "rk2"}, 3e-7),
        ({"method": "dopri5", "rtol": 1e-10, "atol": 1e-10, "step": 1e-2}, 1e-9),
        ({"method": "Radau", "rtol": 1e-9, "atol": 1e-10, "step": 1e-2}, 1e-9),
        ({"closed": ["motor"]}, 1e-12),
        ({"closed": ["motor"], "engine": "absolute"}, 1e-12),
        ({"closed": ["motor"], "isolate": ["motor"]}, 1e-12),
    ],
)
def test_a_motor_follows_the_matrix_exponential(options, tolerance):
    result = simulate(Rig(), until=0.05, initial={"motor.current": 2.0}, **{"step": 5e-5, **options})
    assert result.status.ok
    assert np.abs(ends(result) - exact(0.05, 2.0)).max() < tolerance
    assert result["motor.current"][0] == 2.0
    assert result["motor.current.rate"][0] == pytest.approx((12 - R * 2.0) / L, rel=1e-12)
    assert result.units["motor.current"] == "A"
    assert result.units["motor.current.rate"] == "A/s"


def test_the_discrete_engine_has_order_two():
    class Alone(Subsystem):
        def __init__(self):
            self.disc = Body(mass=1.0, inertia=(J, J, J))
            self.current = State(unit="A")
            self.current.rate = (12 - R * self.current - K * self.disc.angular_velocity[2]) / L
            self.ground = Ground()
            self.pin = Revolute(self.ground, self.disc, axis="z")
            self.torque = JointEffort(self.pin, K * self.current)

    errors = []
    for step in (4e-5, 2e-5):
        result = simulate(Alone(), until=0.02, step=step, engine="discrete", initial={"current": 2.0})
        errors.append(np.abs(ends(result, "") - exact(0.02, 2.0))[1:])
    assert np.all(errors[1] < 1e-4)
    assert np.all(np.abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.1)


def test_a_sealed_part_keeps_its_state_inside(tmp_path, monkeypatch):
    monkeypatch.setenv("KOMPONO_CONFIG", str(tmp_path / "config"))
    keys.make("Ada")
    seal(Rotor, tmp_path / "rotor.part", public=["voltage", "pin.angle", "pin.angle.rate", "current"], targets=HERE)
    result = simulate(Rig(Sealed(tmp_path / "rotor.part")), until=0.05, step=5e-5)
    assert np.abs(ends(result) - exact(0.05)).max() < 1e-12
    assert "motor.current.rate" not in result


def test_members_of_an_ensemble_have_their_own_states():
    starts = np.linspace(0.0, 2.0, 5)
    many = simulate_many(Rig(), initial={"motor.current": starts}, until=0.02, step=5e-5)
    for run, start in enumerate(starts):
        assert many["motor.current"][run, -1] == pytest.approx(exact(0.02, start)[2], abs=1e-11)


class Filtered(Subsystem):
    """A pendulum; filters of the force in its pin, of an acceleration and of each other."""

    def __init__(self):
        self.ground, self.gravity = Ground(), Gravity()
        self.rod = Body(solids.rod(mass=1.0, length=1.0, radius=0.02))
        self.pin = Revolute(self.ground, self.rod.at(0, 0, 0.5), axis="y", angle=0.5)
        self.felt, self.slow, self.pushed = State(unit="N"), State(), State()
        self.felt.rate = (self.pin.force[2] - self.felt) / 0.02
        self.slow.rate = (self.felt - self.slow) / 0.1
        self.pushed.rate = self.rod.acceleration[0] - self.pushed
        self.twice = Output(2 * self.slow)


@pytest.mark.parametrize("options", [{}, {"engine": "absolute"}, {"method": "dopri5", "rtol": 1e-9, "atol": 1e-9}])
def test_rates_may_use_results(options):
    result = simulate(Filtered(), until=0.5, step=1e-3, **options)
    expected = (result["pin.force.z"] - result["felt"]) / 0.02
    assert result["felt.rate"] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert result["twice"] == pytest.approx(2 * result["slow"])
    change = np.gradient(result["felt"], result.time)[5:-5]
    assert change == pytest.approx(result["felt.rate"][5:-5], rel=2e-3, abs=0.05)


def test_closed_parts_may_use_results():
    class Owner(Subsystem):
        def __init__(self):
            self.ground, self.gravity, self.part = Ground(), Gravity(), Inside()
            self.mount = Weld(self.ground, self.part.base)
            self.seen = State()
            self.seen.rate = self.mount.force[2]

    class Inside(Subsystem):
        def __init__(self):
            self.base = Body(solids.sphere(mass=1.0, radius=0.1))
            self.rod = Body(solids.rod(mass=1.0, length=1.0, radius=0.02))
            self.pin = Revolute(self.base, self.rod.at(0, 0, 0.5), axis="y", angle=0.5)
            self.felt = State(unit="N")
            self.felt.rate = (self.pin.force[2] - self.felt) / 0.02
            self.expose(self.base)

    opened, closed = (simulate(Owner(), until=0.2, step=1e-3, closed=c) for c in ([], ["part"]))
    for name in ("part.felt", "part.felt.rate", "seen", "part.pin.angle"):
        assert closed[name] == pytest.approx(opened[name], abs=1e-9), name


def test_events_see_states_and_change_their_rates():
    class Charged(Subsystem):
        """Charges to 1, then discharges."""

        def __init__(self):
            self.body = Body(mass=1.0, inertia=(1, 1, 1))
            self.charge, self.full = State(0.0), Mode(0)
            self.charge.rate = 2.0 * (1 - 2 * self.full)
            self.event = Event(self.charge - 1.0, {self.full: 1})

    for options in ({"step": 0.03}, {"step": 0.03, "method": "dopri5"}, {"step": 0.03, "method": "adams"}):
        result = simulate(Charged(), until=0.9, **options)
        assert result["charge"][-1] == pytest.approx(1.0 - 2 * 0.4, abs=1e-11)


def test_what_is_wrong_is_said():
    class Missing(Subsystem):
        def __init__(self):
            self.body, self.part = Body(mass=1.0, inertia=(1, 1, 1)), Part()

    class Part(Subsystem):
        def __init__(self):
            self.level = State(1.0)

    with pytest.raises(ModelError, match=r"part\.level: the state has no rate"):
        simulate(Missing(), until=0.1)
    with pytest.raises(ModelError, match="no rate yet"):
        _ = State(0.0).rate
    with pytest.raises(RunError, match=r"motor\.curent.*motor\.current"):
        simulate(Rig(), until=0.01, initial={"motor.curent": 1.0})

    class Held(Subsystem):
        """A condition that depends on a state."""

        def __init__(self):
            self.ground, self.body, self.level = Ground(), Body(mass=1.0, inertia=(1, 1, 1)), State()
            self.level.rate = time
            self.spring = SpringDamper(self.ground, self.body.at(0, 0, 1), k=self.level, rest=1.0)

    assert simulate(Held(), until=0.1).status.ok  # a force may
