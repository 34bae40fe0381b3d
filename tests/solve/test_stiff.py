"""The native implicit method: its coefficients, its matrix, stiff machines, events, and what it refuses."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from casadi import sin
from solve.machines import Oscillator, Pendulum, Trapeze

from kompono import Body, Event, Ground, Mode, RunError, Simulation, State, Subsystem, simulate, time
from kompono.compile import tableaux
from kompono.examples.car import Car
from kompono.examples.reference.car_axis import CarAxis
from kompono.examples.reference.flyball_governor import FlyballGovernor
from kompono.library import (
    Bushing,
    Contact,
    Drive,
    Gravity,
    JointEffort,
    Prismatic,
    Revolute,
    Spherical,
    Weld,
    solids,
)
from kompono.solve.integrate import Settings
from kompono.translate.slopes import moving_places


def test_the_coefficients_fulfil_the_conditions_of_their_orders() -> None:
    table = tableaux.ESDIRK
    a = np.zeros((6, 6))
    for i in range(1, 6):
        a[i, :i], a[i, i] = table.a[i], tableaux.DIAGONAL
    c, b = np.array(table.c), np.array(table.b)
    assert np.abs(a.sum(axis=1) - c).max() < 1e-15
    assert np.abs(a @ c - c**2 / 2).max() < 1e-15  # stage order two
    assert np.abs(a[5] - b).max() == 0  # stiffly accurate
    rows, powers = np.array([c**0, c, c**2, c**3, a @ c**2]), (1, 2, 3, 4, 4)
    for share in (0.3, 0.7, 1.0):
        weights = np.zeros(6)
        for k, weight in tableaux.esdirk_weights(share):
            weights[k] = weight
        wanted = [share**power / value for power, value in zip(powers, (1, 2, 3, 4, 12), strict=True)]
        assert np.abs(rows @ weights - wanted).max() < 1e-14
    assert np.abs(weights - b).max() < 1e-14
    third = rows @ (b - np.array(tableaux.ESDIRK_ERROR))
    assert np.abs(third[:3] - [1, 1 / 2, 1 / 3]).max() < 1e-15
    assert abs(third[3] - 1 / 4) > 1e-4  # and no more than that


class Ball(Subsystem):
    """A ball joint, whose quaternion has slopes of its own, a spring and a state."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.body = Body(solids.box(mass=1.0, size=(0.1, 0.2, 0.3)))
        self.hang = Spherical(self.ground, self.body.at(0.1, 0.2, 0.5), wx=1.0, wy=-2.0)
        self.charge = State(0.3)
        self.charge.rate = -2.0 * self.charge + self.body.position[0]


@cache
def ball() -> Simulation:
    return Simulation(Ball())


def whole_of(numbers: np.ndarray, places: Any, size: int) -> np.ndarray:
    """A sparse matrix as a whole one."""
    found = np.zeros(size)
    found[list(places)] = numbers
    return found


def test_the_reduced_matrix_solves_what_the_whole_one_does() -> None:
    simulation, g = ball(), 0.037
    program, kernel = simulation.program, simulation.kernel
    state = simulation.assemble().state
    size, q, z = len(state), len(program.coordinates), moving_places(program)
    whole = np.eye(size) - g * kernel.evaluate("jacobian", 0.0, state)[0].reshape(size, size).T
    rate, square, coupling, turning, following = kernel.evaluate("implicit", 0.0, state, (), [g])
    assert np.abs(rate - kernel.evaluate("derivative", 0.0, state)[0]).max() < 1e-12
    right = np.random.default_rng(1).standard_normal(size)
    expected = np.linalg.solve(whole, right)
    d_z = np.linalg.solve(square.reshape(len(z), -1), right[z] + coupling.reshape(len(z), q) @ right[:q])
    entries = program.routines["implicit"].entries[3:]
    x, f = (whole_of(*each) for each in zip((turning, following), entries, (q * q, q * len(z)), strict=True))
    d_q = x.reshape(q, q).T @ right[:q] + f.reshape(len(z), q).T @ d_z
    assert np.abs(d_z - expected[z]).max() < 1e-12
    assert np.abs(d_q - expected[:q]).max() < 1e-12


class Linear(Subsystem):
    """x' = A x with a matrix of all sizes of entries, so that rows must be exchanged."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.x = [State(1.0) for _ in matrix]
        for row, state in zip(matrix, self.x, strict=True):
            state.rate = sum(float(a) * other for a, other in zip(row, self.x, strict=True))


def test_linear_motion_is_its_exponential() -> None:
    from scipy.linalg import expm

    random = np.random.default_rng(5)
    turn = np.linalg.qr(random.standard_normal((6, 6)))[0]
    blocks = np.diag([-1e5, -300.0, -0.5, -2.0, -40.0, -40.0])
    blocks[4, 5], blocks[5, 4] = 3e3, -3e3
    matrix = turn @ blocks @ turn.T
    result = simulate(Linear(matrix), until=1.0, step=0.1, method="esdirk4", rtol=1e-7)
    expected = np.array([expm(matrix * t) @ np.ones(6) for t in result.time])
    found = np.column_stack([result[f"x.{k}"] for k in range(6)])
    assert result.status.ok
    assert np.abs(found - expected).max() < 1e-5
    assert result.statistics["steps"] < 8000  # an explicit one needs 30000


class Followed(Oscillator):
    """cos 2t, and a state that follows it within a microsecond: stiff, so that steps are implicit."""

    def __init__(self) -> None:
        super().__init__()
        self.shadow = State(1.0)
        self.shadow.rate = 1e6 * (self.slide.displacement - self.shadow)


@cache
def followed() -> Simulation:
    return Simulation(Followed())


def run_followed(step: float, rtol: float) -> Any:
    return followed().run(Settings("esdirk4", 5.0, step, 1, rtol, 1e-3 * rtol), progress=False)


def test_records_between_steps_are_as_good_as_the_steps() -> None:
    """cos 2t, recorded far more often than there are steps, and hit by steps."""
    for step in (1e-3, 0.5):
        result = run_followed(step, 1e-8)
        assert np.abs(result["slide.displacement"] - np.cos(2 * result.time)).max() < 5e-7
        assert result.statistics["implicit_steps"] > 0.9 * result.statistics["steps"]
        assert result.statistics["steps"] < 1000


def test_the_error_shrinks_with_the_tolerance_as_order_four_does() -> None:
    steps, errors = [], []
    for rtol in (1e-5, 1e-9):
        result = run_followed(5.0, rtol)
        errors.append(abs(result["slide.displacement"][-1] - np.cos(10.0)))
        steps.append(result.statistics["implicit_steps"])
    assert np.log(errors[0] / errors[1]) / np.log(steps[1] / steps[0]) == pytest.approx(4.0, abs=0.5)


def test_what_is_not_stiff_is_stepped_as_dopri5_steps_it() -> None:
    """The same steps, to the bit: no implicit one, no Jacobian."""
    one, two = (simulate(Oscillator(), until=5.0, step=0.1, method=m, rtol=1e-7) for m in ("esdirk4", "dopri5"))
    assert one.statistics["implicit_steps"] == one.statistics["jacobians"] == 0
    assert one.statistics["steps"] == two.statistics["steps"]
    assert np.array_equal(one.table, two.table)


class Turning(Subsystem):
    """A state that follows a sine closely between 2 and 6 s, and lazily before and after: stiff in between."""

    def __init__(self) -> None:
        self.x = State(0.0)
        self.pace = Mode(1.0)
        self.x.rate = self.pace * (sin(3.0 * time) - self.x)
        self.tight = Event(time - 2.0, {self.pace: 1e5})
        self.loose = Event(time - 6.0, {self.pace: 1.0})


def test_steps_become_implicit_where_it_is_stiff_and_explicit_again_behind() -> None:
    simulation = Simulation(Turning())
    runs = [simulation.run(Settings("esdirk4", t, 0.01, 1, 1e-7, 1e-10), progress=False) for t in (2.0, 6.0, 20.0)]
    solved = [run.statistics["implicit_steps"] for run in runs]
    assert solved[0] == 0
    assert 100 < solved[1] < solved[2] < solved[1] + 30
    result = runs[2]
    assert result.statistics["steps"] < 1500  # an explicit method takes 120,000 in between
    inside = (result.time > 2.1) & (result.time < 6.0)
    t = result.time[inside]
    assert np.abs(result["x"][inside] - (np.sin(3 * t) - 3e-5 * np.cos(3 * t))).max() < 1e-6
    # behind: x' = sin 3t - x, from what it was at 6 s
    t, at = result.time[result.time >= 6.0], 6.0
    own = (np.sin(3 * t) - 3 * np.cos(3 * t)) / 10
    start = np.sin(18.0) - 3e-5 * np.cos(18.0) - (np.sin(18.0) - 3 * np.cos(18.0)) / 10
    assert np.abs(result["x"][result.time >= 6.0] - own - start * np.exp(at - t)).max() < 1e-6


def test_a_run_on_either_side_of_the_border_goes_on_where_it_was() -> None:
    """Chunks of one step change nothing, whatever kinds of steps they are."""
    simulation = followed()
    state = simulation.assemble().state
    runs = [simulation.kernel.adaptive(0.0, state, until=0.5, interval=0.05, rtol=1e-6, method="esdirk4") for _ in "ab"]
    runs[0].advance(10**6)
    while not runs[1].done:
        runs[1].advance(1)
    assert np.array_equal(runs[0].state, runs[1].state)
    assert runs[0].implicit_steps == runs[1].implicit_steps > 0


@cache
def governor(factor: float) -> Simulation:
    return Simulation(FlyballGovernor(factor=factor))


@pytest.mark.parametrize("factor", [1.0, 1e4])
def test_the_flyball_governor_takes_as_many_steps_however_stiff_it_is(factor: float) -> None:
    """Published: s(10) = 0.61962291706; at ten thousand times the stiffness the motion is another by 1e-4."""
    result = governor(factor).run(Settings("esdirk4", 10.0, 0.1, 1, 1e-7, 1e-10), channels=["guide.*"], progress=False)
    assert result.status.ok
    height = result["guide.displacement"]
    if factor == 1.0:
        assert height[[10, 30, 100]] == pytest.approx([0.50142092237, 0.51324607833, 0.61962291706], abs=1e-6)
    assert result.statistics["steps"] < 1500
    assert result.statistics["jacobians"] < 6 * result.statistics["steps"]


def test_the_car_axis_ends_where_it_was_published() -> None:
    result = simulate(CarAxis(), until=3.0, step=0.1, method="esdirk4", rtol=1e-9)
    published = (0.0493455784275402809, 0.496989460230171154, 1.04174252488542152, 0.373911027265361257)
    found = [result[f"{end}_end.{way}"][-1] for end in ("left", "right") for way in "xy"]
    assert found == pytest.approx(published, abs=1e-7)
    assert result["drift.position"].max() < 1e-12


class Mounted(Subsystem):
    """A pendulum on a bushing of `k` N/m."""

    def __init__(self, k: float) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.block = Body(solids.box(mass=1.0, size=(0.1,) * 3))
        self.rod = Body(solids.rod(mass=1.0, length=1.0, radius=0.01))
        damping = 0.1 * np.sqrt(k)
        self.mount = Bushing(self.ground, self.block, k=[k] * 6, c=[damping] * 6)
        self.pin = Revolute(self.block, self.rod.at(0, 0, 0.5), axis="y", angle=1.0)


def test_a_bushing_of_a_giganewton_per_metre_is_no_burden() -> None:
    """The pendulum swings as on the ground; its first steps follow how the bushing settles."""
    result = simulate(Mounted(1e9), until=2.0, step=0.1, method="esdirk4", rtol=1e-6)
    still = simulate(Pendulum(angle=1.0), until=2.0, step=0.1, method="dopri5", rtol=1e-10)
    assert result.status.ok
    assert np.abs(result["pin.angle"] - still["pin.angle"]).max() < 1e-5
    assert result.statistics["steps"] < 500


class Thermostat(Subsystem):
    """Warms by 1 a second above a fast sensor, until the sensor reads 1, then cools as fast until 0."""

    def __init__(self) -> None:
        self.heating = Mode(1.0)
        self.heat, self.read = State(0.0), State(0.0)
        self.heat.rate = 2.0 * self.heating - 1.0
        self.read.rate = 1e4 * (self.heat - self.read)
        self.off = Event(self.read - 1.0, {self.heating: 0.0})
        self.on = Event(-self.read, {self.heating: 1.0})


def test_events_are_located_behind_stiff_states() -> None:
    """The sensor lags by 0.1 ms, so it switches that much later, each time at the same distance."""
    result = simulate(Thermostat(), until=3.0, step=0.5, method="esdirk4", rtol=1e-8)
    times = [t for t, _ in result.statistics["events"]]
    assert [name for _, name in result.statistics["events"]] == ["off", "on"]
    assert times == pytest.approx([1.0001, 2.0003], abs=1e-7)
    assert result["heat"][-1] == pytest.approx(3.0 - 2.0003 - 0.0001, abs=1e-6)


def test_a_loop_stays_closed_and_chunks_change_nothing() -> None:
    simulation = Simulation(Trapeze())
    kernel, state = simulation.kernel, simulation.assemble().state
    runs = [kernel.adaptive(0.0, state, until=1.0, interval=0.05, rtol=1e-7, method="esdirk4") for _ in range(2)]
    runs[0].advance(10**6)
    while not runs[1].done:
        runs[1].advance(1)
    assert np.array_equal(runs[0].state, runs[1].state)
    whole = kernel.adaptive(0.0, state, until=1.0, interval=0.05, rtol=1e-11)
    whole.advance(10**6)
    assert np.abs(runs[0].state - whole.state).max() < 1e-6
    (kept, *_) = kernel.evaluate("project", 1.0, runs[0].state)
    assert np.abs(kept - runs[0].state).max() < 1e-12
    inside = runs[0].interpolate([runs[0].time])
    assert np.abs(inside[0] - runs[0].state).max() < 1e-6


def test_inputs_and_moving_conditions_are_seen_at_their_time() -> None:
    class Pushed(Subsystem):
        def __init__(self) -> None:
            self.ground, self.block = Ground(), Body(mass=1.0, inertia=(1, 1, 1))
            self.slide = Prismatic(self.ground, self.block, axis="x")
            self.push = JointEffort(self.slide, time**3)

    result = simulate(Pushed(), until=2.0, step=0.5, method="esdirk4", rtol=1e-8)
    assert result["slide.displacement"] == pytest.approx(result.time**5 / 20, abs=1e-8)


def test_what_does_not_move_by_itself_needs_no_matrix() -> None:
    class Led(Subsystem):
        def __init__(self, path: Any) -> None:
            self.ground, self.wheel = Ground(), Body(mass=1.0, inertia=(1, 1, 1))
            self.axle = Weld(self.ground, self.wheel) if path is None else Revolute(self.ground, self.wheel, axis="z")
            if path is not None:
                self.drive = Drive(self.axle, path)

    assert simulate(Led(None), until=1.0, step=0.5, method="esdirk4").time.tolist() == [0.0, 0.5, 1.0]
    led = simulate(Led(time**2), until=1.0, step=0.5, method="esdirk4")
    assert led["axle.angle"] == pytest.approx([0.0, 0.25, 1.0], abs=1e-12)


class Dropped(Subsystem):
    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.ball = Body(solids.sphere(mass=1.0, radius=0.1), start_position=(0, 0, 1))
        self.floor = Contact(self.ground.plane(), self.ball.sphere(0.1))


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (Trapeze, {"engine": "discrete"}, "does not go with engine 'discrete'"),
        (Car, {"closed": ["left"], "errors": "parts"}, "errors='parts'"),
        (Trapeze, {"native": False}, "native code only"),
    ],
)
def test_what_has_no_slopes_is_refused_by_name(make: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(RunError, match=words):
        simulate(make(), until=0.1, method="esdirk4", **options)


class Bar(Subsystem):
    """Sixty temperatures in a row, each drawn to its neighbours, between an end at 1 and one at 0."""

    def __init__(self) -> None:
        self.t = [State(0.0) for _ in range(60)]
        ends = [1.0, *self.t, 0.0]
        for k, state in enumerate(self.t):
            state.rate = 3600.0 * (ends[k] - 2 * ends[k + 1] + ends[k + 2])


@pytest.mark.parametrize("method", ["esdirk4", "Radau", "BDF", "LSODA"])
def test_a_sparse_jacobian_serves_all_implicit_methods(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import scipy.sparse

    made, plain = [], scipy.sparse.csc_matrix
    monkeypatch.setattr(scipy.sparse, "csc_matrix", lambda *given, **named: made.append(1) or plain(*given, **named))
    result = simulate(Bar(), until=1.0, step=0.5, method=method, rtol=1e-6)
    assert result["t.29"][-1] == pytest.approx(1 - 30 / 61, abs=1e-4)
    assert bool(made) == (method in ("Radau", "BDF"))


class Boxed(Subsystem):
    """What is dropped, as a part."""

    def __init__(self) -> None:
        self.part = Dropped()


def test_nobody_is_sent_to_a_method_that_would_refuse() -> None:
    with pytest.raises(RunError, match=r"cannot locate events.*dopri5\.|adams or dopri5\.") as found:
        simulate(Boxed(), until=0.1, method="Radau", closed=["part"], errors="parts")
    assert "esdirk4" not in str(found.value)
    with pytest.raises(RunError, match="esdirk4"):
        simulate(Thermostat(), until=0.1, method="Radau")
