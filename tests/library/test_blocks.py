"""Control blocks: against closed forms, scipy.signal and python-control; continuous and sampled."""

from __future__ import annotations

import numpy as np
import pytest
from casadi import cos, sin
from scipy import signal
from scipy.linalg import expm

from kompono import Body, Ground, Input, ModelError, Output, State, Subsystem, simulate, simulate_many, time
from kompono.library import (
    PID,
    Delay,
    Gravity,
    Hysteresis,
    JointEffort,
    LowPass,
    Prismatic,
    Quantizer,
    RateLimiter,
    Revolute,
    Rotor,
    Sample,
    Saturation,
    StateSpace,
    TransferFunction,
    Weld,
    solids,
)

A = np.array([[0.0, 1.0], [-40.0, -3.0]])
B = np.array([[0.0, 1.0], [5.0, -2.0]])
C = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
D = np.array([[0.0, 0.0], [0.0, 0.0], [0.5, 0.0]])
TICK = 0.01


class Signals(Subsystem):
    """All kinds of blocks, fed by steps and waves; the body is there to be simulated."""

    def __init__(self):
        self.body = Body(mass=1.0, inertia=(1, 1, 1))
        wave = sin(7 * time)
        self.lag = LowPass(1.0, time_constant=0.1)
        self.lag_sampled = LowPass(wave, time_constant=0.1, every=TICK)
        self.two = StateSpace(A, B, C, D, inputs={"force": 1.0, "moment": -0.5}, outputs=["x", "v", "sum"])
        self.filter = TransferFunction([3.0, 20.0], [1.0, 4.0, 100.0], input=1.0)
        self.digital = TransferFunction([0.2, 0.1], [1.0, -1.2, 0.5], input=wave, every=TICK)
        self.late = Delay(wave, periods=3, every=TICK)
        self.pade = Delay(wave, time=0.05, order=4)
        self.held = Sample(wave, every=TICK, offset=0.005)
        self.cut = Saturation(wave, limits=(-0.3, 0.6))
        self.slow = RateLimiter(wave, rate=(-4.0, 2.0), every=TICK)
        self.slow_continuous = RateLimiter(1.0, rate=2.0, lag=1e-3)
        self.round = Quantizer(wave, step=0.1, every=TICK)
        self.relay = Hysteresis(wave, lower=-0.5, upper=0.5, low=-2.0, high=3.0)
        self.inner, self.outer = LowPass(time_constant=0.05, every=TICK), LowPass(wave, time_constant=0.05, every=TICK)
        self.connect(self.outer.output, self.inner.input)


@pytest.fixture(scope="module")
def run():
    return simulate(Signals(), until=1.0, step=1e-3)


@pytest.fixture(scope="module")
def ticks(run):
    """Rows at the samples, just behind them, and what the wave was."""
    rows = np.array([np.argmin(np.abs(run.time - k * TICK)) for k in range(100)])
    return rows, np.sin(7 * TICK * np.arange(100))


def test_linear_systems_are_those_of_the_matrix_exponential(run):
    assert run["lag.output"] == pytest.approx(1 - np.exp(-run.time / 0.1), abs=1e-9)
    u = np.array([1.0, -0.5])
    for row in (100, 500, 1000):
        x = np.linalg.solve(A, (expm(A * run.time[row]) - np.eye(2)) @ B @ u)
        told = [run[f"two.{name}"][row] for name in ("x", "v", "sum")]
        assert told == pytest.approx(C @ x + D @ u, abs=1e-8)
    times, answer = signal.step(([3.0, 20.0], [1.0, 4.0, 100.0]), T=1e-3 * np.arange(1001))
    assert np.interp(times, run.time, run["filter.output"]) == pytest.approx(answer, abs=1e-7)


def test_samples_follow_their_difference_equations(run, ticks):
    rows, wave = ticks
    (_, answer) = signal.dlsim(signal.dlti([0.2, 0.1], [1.0, -1.2, 0.5], dt=TICK), wave)
    assert run["digital.output"][rows] == pytest.approx(answer[:, 0], abs=1e-12)
    part = 1 - np.exp(-TICK / 0.1)
    smooth = signal.lfilter([part], [1, part - 1], wave)
    assert run["lag_sampled.output"][rows] == pytest.approx(smooth, abs=1e-13)
    assert run["late.output"][rows] == pytest.approx(np.concatenate([[0, 0, 0], wave[:-3]]), abs=1e-14)
    assert run["round.output"][rows] == pytest.approx(0.1 * np.floor(wave / 0.1 + 0.5), abs=1e-14)
    between = [np.argmin(np.abs(run.time - (k * TICK + 0.007))) for k in range(100)]
    assert run["held.output"][between] == pytest.approx(np.sin(7 * (TICK * np.arange(100) + 0.005)), abs=1e-12)
    level, slow = 0.0, []
    for value in wave:
        level += min(max(value - level, -4.0 * TICK), 2.0 * TICK)
        slow.append(level)
    assert run["slow.output"][rows] == pytest.approx(slow, abs=1e-13)


def test_connected_samples_add_no_delay(run, ticks):
    rows, wave = ticks
    part = 1 - np.exp(-TICK / 0.05)
    once = signal.lfilter([part], [1, part - 1], wave)
    assert run["inner.output"][rows] == pytest.approx(signal.lfilter([part], [1, part - 1], once), abs=1e-13)


def test_what_limits_and_delays(run):
    wave = np.sin(7 * run.time)
    assert np.array_equal(run["cut.output"], np.clip(run["cut.input"], -0.3, 0.6))
    ramp = np.minimum(2 * run.time, 1.0)
    assert run["slow_continuous.output"] == pytest.approx(ramp, abs=2e-3)
    late = np.sin(7 * (run.time - 0.05))[run.time > 0.5]
    assert run["pade.output"][run.time > 0.5] == pytest.approx(late, abs=2e-5)  # what the start left fades
    on, expected = False, []
    for value in wave:
        on = value > 0.5 or (on and value >= -0.5)
        expected.append(3.0 if on else -2.0)
    differ = np.flatnonzero(run["relay.output"] != expected)
    assert all(min(abs(wave[k] - 0.5), abs(wave[k] + 0.5)) < 1e-9 for k in differ)
    instants = [t for t, what in run.statistics["events"] if what.startswith("relay")]
    assert instants[:2] == pytest.approx([np.arcsin(0.5) / 7, (np.pi + np.arcsin(0.5)) / 7], abs=1e-9)


def test_pade_has_the_phase_of_a_delay():
    """The response of the realized states is that of the formula, all-pass with phase errors of order 2 n + 1."""
    from kompono.library.blocks.linear import companion

    phases = []
    for w in (1.0, 0.5):
        top, bottom = [1 / 12, -1 / 2, 1.0], [1 / 12, 1 / 2, 1.0]
        a, b, c, d = companion(top, bottom)
        gain = (c @ np.linalg.solve(1j * w * np.eye(2) - a, b) + d).item()
        assert abs(gain) == pytest.approx(1.0, abs=1e-14)
        phases.append(abs(np.angle(gain * np.exp(1j * w))))
    assert np.log2(phases[0] / phases[1]) == pytest.approx(5, abs=0.1)


def test_objects_of_scipy_and_of_python_control():
    def answer(block, **options):
        class Model(Subsystem):
            def __init__(self):
                self.body, self.block = Body(mass=1.0, inertia=(1, 1, 1)), block
                self.connect(1.0, self.block.input)

        return simulate(Model(), until=0.5, step=2.5e-3, **options)["block.output"]

    plant = signal.TransferFunction([2.0], [1.0, 3.0, 20.0])
    sampled = plant.to_discrete(0.05)
    reference = answer(TransferFunction([2.0], [1.0, 3.0, 20.0]))
    assert answer(TransferFunction(plant)) == pytest.approx(reference, abs=1e-12)
    held = answer(StateSpace(sampled.to_ss()))
    assert held[::20] == pytest.approx(reference[::20], abs=1e-7)  # exact for an input that is held
    control = pytest.importorskip("control")
    theirs = control.tf([2.0], [1.0, 3.0, 20.0])
    assert answer(TransferFunction(theirs)) == pytest.approx(reference, abs=1e-12)
    assert answer(
        StateSpace(control.ss([[0.0, 1.0], [-20.0, -3.0]], [[0.0], [2.0]], [[1.0, 0.0]], 0))
    ) == pytest.approx(reference, abs=1e-12)
    assert answer(TransferFunction(control.c2d(theirs, 0.05))) == pytest.approx(held, abs=1e-12)


class Servo(Subsystem):
    """A DC motor behind a gearbox, under a sampled controller; known answers by the matrix exponential."""

    def __init__(self):
        self.ground, self.gravity = Ground(), Gravity()
        self.link = Body(mass=2.0, inertia=(1e-6, 2 * 0.4**2 / 12, 2 * 0.4**2 / 12))
        self.pin = Revolute(self.ground, self.link.at(-0.2, 0, 0), axis="-y", angle=0.0)
        self.rotor = Rotor(self.pin, inertia=2e-5, ratio=50.0)
        self.current = State(0.0, unit="A")
        self.torque = JointEffort(self.pin, 50 * (0.05 * self.current - 1e-5 * 50 * self.pin.angle_rate))
        self.pid = PID(1.0 - self.pin.angle, self.pin.angle_rate, kp=60, ki=80, kd=2, every=1e-3, limits=24, unit="V")
        self.current.rate = (self.pid.command - self.current - 0.05 * 50 * self.pin.angle_rate) / 0.5e-3


@pytest.mark.parametrize("options", [{}, {"engine": "absolute"}])
def test_a_sampled_pid_moves_a_servo_as_known(options):
    result = simulate(Servo(), until=0.5, step=5e-5, **options)
    rows = [int(np.argmin(np.abs(result.time - t))) for t in (0.05, 0.2, 0.5)]
    known = (0.25238754511670, 0.95455842726752, 1.03142511998657)
    assert result["pin.angle"][rows] == pytest.approx(known, abs=1e-11)


class Cart(Subsystem):
    """A cart under a controller of its own, an owner says where to."""

    def __init__(self, **options):
        self.base, self.body = (Body(solids.box(mass=2.0, size=(0.2, 0.1, 0.1))) for _ in range(2))
        self.rail = Prismatic(self.base, self.body, axis="x")
        self.target = Input(unit="m")
        self.pid = PID(kp=300.0, ki=200.0, kd=40.0, **options)
        self.connect(self.target - self.rail.displacement, self.pid.error)
        self.push = JointEffort(self.rail, self.pid.command)
        self.place = Output(self.rail.displacement, unit="m")
        self.expose(self.base)


class Rig(Subsystem):
    """A cart on the ground."""

    def __init__(self, target=1.0, **options):
        self.ground, self.cart = Ground(), Cart(**options)
        self.mount = Weld(self.ground, self.cart.base)
        self.connect(target, self.cart.target)


def test_a_continuous_pid_is_its_transfer_function_and_the_limit_of_samples():
    lag = 0.02
    controller = np.polyadd(np.polyadd([300 * lag, 300, 0], [200 * lag, 200]), [40, 0, 0])
    bottom = np.polyadd(np.polymul([2.0, 0, 0], [lag, 1, 0]), controller)
    result = simulate(Rig(filter=lag), until=0.5, step=1e-3)
    _, answer = signal.step((controller, bottom), T=result.time)
    assert result["cart.place"] == pytest.approx(answer, abs=1e-6)

    def place(**options):
        return simulate(Rig(1 - cos(5 * time), filter=lag, **options), until=0.5, step=1e-3)["cart.place"][-1]

    exact = place()
    errors = [place(every=every) - exact for every in (2e-3, 1e-3)]
    assert abs(errors[1]) < 0.01
    assert errors[0] / errors[1] == pytest.approx(2, abs=0.2)  # first order in the period


@pytest.mark.parametrize("options", [{"filter": 0.02}, {"filter": 0.02, "every": 2e-3}])
def test_windup(options):
    """An integral that waits at the limit, or is drawn back, overshoots less; the command keeps the limits."""
    peaks = []
    for more in ({}, {"limits": 8.0}, {"limits": 8.0, "tracking": 0.2}):
        result = simulate(Rig(**options, **more), until=3.0, step=2e-3)
        peaks.append(result["cart.place"].max())
        if more:
            assert np.abs(result["cart.pid.command"]).max() == 8.0
    unlimited, waits, drawn = peaks
    wound = simulate(Rig(**options, limits=8.0, tracking=1e9), until=3.0, step=2e-3)["cart.place"].max()
    assert wound > 1.05 * max(waits, drawn)
    assert unlimited > 1.0


def test_closed_parts_and_other_engines_have_blocks():
    opened = simulate(Rig(filter=0.02, every=5e-3, limits=30.0), until=0.3, step=1e-3)
    closed = simulate(Rig(filter=0.02, every=5e-3, limits=30.0), until=0.3, step=1e-3, closed=["cart"])
    assert closed["cart.place"] == pytest.approx(opened["cart.place"], abs=1e-9)
    discrete = simulate(Rig(filter=0.02, every=5e-3, limits=30.0), until=0.3, step=2.5e-4, engine="discrete")
    assert discrete["cart.place"][-1] == pytest.approx(opened["cart.place"][-1], abs=1e-4)


def test_gains_may_be_parameters_of_an_ensemble():
    class Varied(Rig):
        def __init__(self):
            super().__init__(filter=0.02, every=5e-3)
            from kompono import Parameter

            self.limit = Parameter(30.0)
            self.cut = Saturation(self.cart.place, limits=self.limit / 60)

    many = simulate_many(Varied(), parameters={"limit": [6.0, 30.0]}, until=1.0, step=2.5e-3)
    assert many["cut.output"].max(axis=1) == pytest.approx([0.1, 0.5])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PID(kd=1.0), "needs a filter"),
        (lambda: PID(kp=1.0, tracking=0.1), "without limits"),
        (lambda: PID(kp=1.0, limits=(2.0, 1.0)), "do not increase"),
        (lambda: Delay(time=0.1), "neither sampled nor continuous"),
        (lambda: Delay(periods=0, every=0.1), "no whole number"),
        (lambda: RateLimiter(rate=1.0), "neither sampled nor continuous"),
        (lambda: TransferFunction([1, 0, 0], [1, 1]), "higher degree"),
        (lambda: StateSpace(A, B, C[:, :1]), "C is"),
        (lambda: StateSpace("plant"), "no linear system"),
        (lambda: StateSpace(A, B, C, D, inputs=["force"]), "do not name 2 inputs"),
        (lambda: StateSpace(signal.dlti([1.0], [1.0, 0.5], dt=0.1).to_ss(), every=0.2), "period of 0.1"),
        (lambda: LowPass(time_constant=0.0), "not positive"),
        (lambda: Hysteresis(lower=1.0, upper=0.0), "do not increase"),
    ],
)
def test_what_is_wrong_is_said(make, words):
    with pytest.raises(ModelError, match=words):
        make()
