"""Sampled modes: instants, several rates, next values, closed and sealed parts, and a servo with known answers."""

from __future__ import annotations

import numpy as np
import pytest
from casadi import fmax, fmin, if_else
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
from kompono.library import Gravity, JointEffort, Prismatic, Revolute, Rotor, Weld, solids
from kompono.sealed import keys


class Servo(Subsystem):
    """A DC motor behind a gearbox on a joint."""

    def __init__(self, joint, *, R=1.0, L=0.5e-3, k=0.05, J=2e-5, ratio=50.0, friction=1e-5):
        self.voltage = Input(unit="V")
        self.current = State(0.0, unit="A")
        speed = ratio * joint.angle_rate
        self.current.rate = (self.voltage - R * self.current - k * speed) / L
        self.rotor = Rotor(joint, inertia=J, ratio=ratio)
        self.torque = JointEffort(joint, ratio * (k * self.current - friction * speed))


class PID(Subsystem):
    """Sampled, with a limit and without windup."""

    def __init__(self, error, rate, *, kp, ki, kd, every, limit):
        self.integral = Mode(0.0, every=every)
        self.command = Mode(0.0, every=every, unit="V")
        raw = kp * error + self.integral + ki * every * error - kd * rate
        self.command.next = fmin(fmax(raw, -limit), limit)
        self.integral.next = if_else(raw == self.command.next, self.integral + ki * every * error, self.integral)
        self.expose(self.command)


class Rig(Subsystem):
    """An arm turned to one radian."""

    def __init__(self, *, heavy=True):
        self.ground = Ground()
        self.gravity = Gravity() if heavy else None
        self.link = Body(mass=2.0, inertia=(1e-6, 2 * 0.4**2 / 12, 2 * 0.4**2 / 12))
        self.pin = Revolute(self.ground, self.link.at(-0.2, 0, 0), axis="-y", angle=0.0)
        self.servo = Servo(self.pin)
        self.pid = PID(1.0 - self.pin.angle, self.pin.angle_rate, kp=60, ki=80, kd=2, every=1e-3, limit=24)
        self.connect(self.pid.command, self.servo.voltage)


ANGLES = {
    False: (0.27026664016487, 0.97483101779485, 1.03961153146814, 1.01913160931428),
    True: (0.25238754511670, 0.95455842726752, 1.03142511998657, 1.01504439231207),
}
CURRENT = {False: -1.310582410444, True: -0.428853542803}


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize(
    ("options", "angle", "current"),
    [
        ({"step": 5e-5}, 1e-11, 1.5e-8),
        ({"step": 2.5e-5}, 1e-12, 1e-9),
        ({"step": 5e-3, "method": "dopri5", "rtol": 1e-11, "atol": 1e-11}, 1e-12, 1e-10),
    ],
)
def test_a_servo_with_known_answers(heavy, options, angle, current):
    """Against the matrix exponential from sample to sample."""
    result = simulate(Rig(heavy=heavy), until=1.0, **options)
    rows = [int(np.argmin(np.abs(result.time - t))) for t in (0.05, 0.2, 0.5, 1.0)]
    assert np.abs(result["pin.angle"][rows] - ANGLES[heavy]).max() < angle
    assert abs(result["servo.current"][rows[1]] - CURRENT[heavy]) < current
    assert result["pid.command"][0] == 24.0  # the first sample is at the start


def test_what_is_left_is_the_error_of_the_method():
    """The same equations by rk4 in NumPy, without anything of ours: current and angle at 0.2 s differ from the exact
    ones by as much, 1.09e-8 A and 7.7e-12 rad at 0.05 ms.
    """
    h, every, integral, y = 5e-5, 1e-3, 0.0, np.zeros(3)
    inertia = 2 * 0.16 / 12 + 2 * 0.04 + 2500 * 2e-5

    def rate(y, volts):
        torque = 50 * (0.05 * y[2] - 1e-5 * 50 * y[1])
        return np.array([y[1], torque / inertia, (volts - y[2] - 0.05 * 50 * y[1]) / 0.5e-3])

    for _ in range(200):
        error = 1 - y[0]
        raw = 60 * error + integral + 80 * every * error - 2 * y[1]
        volts = min(max(raw, -24.0), 24.0)
        integral += 80 * every * error if raw == volts else 0.0
        for _ in range(20):
            a = rate(y, volts)
            b = rate(y + h / 2 * a, volts)
            c = rate(y + h / 2 * b, volts)
            y = y + h / 6 * (a + 2 * b + 2 * c + rate(y + h * c, volts))
    ours = simulate(Rig(heavy=False), until=0.2, step=h)
    assert abs(y[2] - CURRENT[False]) == pytest.approx(1.09e-8, rel=0.01)
    assert ours["servo.current"][-1] == pytest.approx(y[2], abs=1e-12)
    assert ours["pin.angle"][-1] == pytest.approx(y[0], abs=1e-13)


def test_a_step_that_does_not_divide_the_period_and_the_same_run_twice():
    fine, odd, again = (simulate(Rig(), until=0.2, step=h) for h in (5e-5, 7.3e-5, 7.3e-5))
    assert odd["pin.angle"][-1] == pytest.approx(fine["pin.angle"][-1], abs=1e-10)
    assert np.array_equal(odd.table, again.table)


class Clocks(Subsystem):
    """Counters at several rates, and what they see of each other."""

    def __init__(self):
        self.body = Body(mass=1.0, inertia=(1, 1, 1))
        self.fast, self.slow, self.late = (
            Mode(0, every=0.1), Mode(0, every=0.3), Mode(0, every=0.2, offset=0.05)
        )  # fmt: skip
        self.before, self.after = Mode(-1, every=0.3), Mode(-1, every=0.3)
        self.at = Mode(-1.0, every=0.1)
        self.fast.next = self.fast + 1
        self.slow.next = self.slow + 1
        self.late.next = self.late + 1
        self.before.next = self.fast  # the value before the instant
        self.after.next = self.fast.next  # what it becomes there
        self.at.next = time


@pytest.mark.parametrize("options", [{"step": 0.1}, {"step": 0.03}, {"step": 0.07, "method": "adams"},
                                     {"step": 0.05, "method": "dopri5"}, {"step": 0.01, "engine": "absolute"},
                                     {"step": 0.05, "engine": "discrete"}])  # fmt: skip
def test_instants_are_counted(options):
    result = simulate(Clocks(), until=3.0, **options)
    t = result.time + 1e-9
    assert np.array_equal(result["fast"], np.floor(t / 0.1) + 1)
    assert np.array_equal(result["slow"], np.floor(t / 0.3) + 1)
    assert np.array_equal(result["late"], np.maximum(np.floor((t - 0.05) / 0.2) + 1, 0))
    assert np.array_equal(result["before"], 3 * np.floor(t / 0.3))
    assert np.array_equal(result["after"], result["before"] + 1)
    assert result["at"] == pytest.approx(0.1 * np.floor(t / 0.1), abs=1e-12)


def test_an_hour_of_samples_keeps_the_instants():
    class Long(Subsystem):
        def __init__(self):
            self.body = Body(mass=1.0, inertia=(1, 1, 1))
            self.count, self.at = Mode(0, every=0.1), Mode(0.0, every=0.1)
            self.count.next, self.at.next = self.count + 1, time

    result = simulate(Long(), until=3600.0, step=0.9, every=1000)
    assert result["count"][-1] == 36001
    assert result["at"][-1] == pytest.approx(3600.0, abs=1e-11)


class Drive(Subsystem):
    """A slide with a sampled controller inside; its output is a port."""

    def __init__(self):
        self.base, self.cart = (Body(solids.sphere(mass=1.0, radius=0.1)) for _ in range(2))
        self.rail = Prismatic(self.base, self.cart, axis="x")
        self.target = Input(unit="m")
        self.force, self.trend = Mode(0.0, every=0.02), Mode(0.0, every=0.04)
        self.trend.next = self.rail.displacement
        self.force.next = 20 * (self.target - self.rail.displacement) - 6 * self.rail.displacement_rate
        self.push = JointEffort(self.rail, self.force)
        self.place = Output(self.rail.displacement, unit="m")
        self.expose(self.base)


class Chased(Subsystem):
    """One drive follows another."""

    def __init__(self, first=None, second=None):
        self.ground = Ground()
        self.first, self.second = first or Drive(), second or Drive()
        self.mounts = [Weld(self.ground, drive.base) for drive in (self.first, self.second)]
        self.connect(1.0, self.first.target)
        self.connect(self.first.place, self.second.target)


def test_closed_and_sealed_parts_sample_inside(tmp_path, monkeypatch):
    monkeypatch.setenv("KOMPONO_CONFIG", str(tmp_path / "config"))
    keys.make("Ada")
    seal(Drive, tmp_path / "drive.part", public=["target", "place", "force"], targets=HERE)
    run = {"until": 1.0, "step": 3e-3}
    opened = simulate(Chased(), **run)
    assert np.ptp(opened["second.place"]) > 0.5
    sealed = Chased(*(Sealed(tmp_path / "drive.part") for _ in range(2)))
    for other in (simulate(Chased(), **run, closed=["first", "second"]), simulate(sealed, **run),
                  simulate(Chased(), **run, closed=["first"], engine="absolute")):  # fmt: skip
        for name in ("first.place", "second.place", "second.target", "first.force"):
            assert other[name] == pytest.approx(opened[name], abs=1e-11), name


def test_ensembles_sample_on_lanes():
    class Varied(Chased):
        def __init__(self):
            super().__init__()
            self.second.rail.start["displacement"] = 0.0

    starts = np.linspace(-1, 1, 5)
    many = simulate_many(Varied(), initial={"second.rail.displacement": starts}, until=0.5, step=3e-3)
    for run in (0, 3):
        one = simulate(Varied(), initial={"second.rail.displacement": starts[run]}, until=0.5, step=3e-3)
        assert many["second.place"][run] == pytest.approx(one["second.place"], abs=1e-13)


def test_events_see_samples_and_samples_use_results():
    class Alarmed(Subsystem):
        def __init__(self):
            self.ground, self.gravity = Ground(), Gravity()
            self.rod = Body(solids.rod(mass=1.0, length=1.0, radius=0.02))
            self.pin = Revolute(self.ground, self.rod.at(0, 0, 0.5), axis="y", angle=1.5)
            self.load, self.alarm = Mode(0.0, every=0.01, unit="N"), Mode(0)
            self.load.next = self.pin.force[2]
            self.over = Event(self.load - 20.0, {self.alarm: self.load})

    result = simulate(Alarmed(), until=1.0, step=1e-3)
    rows = np.array([np.flatnonzero(np.abs(result.time - 0.01 * k) < 1e-9)[0] for k in range(100)])
    assert result["load"][rows] == pytest.approx(result["pin.force.z"][rows], abs=1e-9)
    first = rows[np.argmax(result["pin.force.z"][rows] > 20.0)]
    assert result["alarm"][-1] == pytest.approx(result["pin.force.z"][first], abs=1e-9)
    assert result.statistics["events"][0][0] == pytest.approx(result.time[first])


def test_what_is_wrong_is_said():
    def simulated(declare, **options):
        class Model(Subsystem):
            def __init__(self):
                self.body = Body(mass=1.0, inertia=(1, 1, 1))
                declare(self)

        return simulate(Model(), until=0.1, **options)

    def ring(model):
        model.a, model.b = Mode(0, every=0.1), Mode(0, every=0.1)
        model.out = Output(model.b.next + 1)
        model.a.next, model.b.next = model.out, 2 * model.a.next

    with pytest.raises(
        ModelError, match=r"out -> a\.next -> b\.next -> out|b\.next -> out -> a\.next|a\.next -> b\.next"
    ):
        simulated(ring)
    with pytest.raises(ModelError, match=r"lost: the sampled mode has no next value"):
        simulated(lambda m: setattr(m, "lost", Mode(0, every=0.1)))
    with pytest.raises(ModelError, match="not sampled"):
        Mode(0).next = 3
    with pytest.raises(ModelError, match="offset"):
        Mode(0, every=0.1, offset=-1.0)


def test_a_period_that_is_nothing_beside_the_end_is_refused():
    """Instants that round to one time would never end."""

    class Model(Subsystem):
        def __init__(self, asked=False):
            self.level = State(1.0)
            self.level.rate = -self.level
            if asked:
                self.push = Input(lambda t: t, period=1e-300)
            else:
                self.held = Mode(0, every=1e-300)
                self.held.next = self.held + 1

    for asked, words in ((True, "^push: a sampling period of 1e-300 s"), (False, "a sampling period of 1e-300 s")):
        with pytest.raises(RunError, match=words):
            simulate(Model(asked), until=0.03)
