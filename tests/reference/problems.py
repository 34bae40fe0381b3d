"""Every reference problem as one function: run it, compare it, and say how well it went.

`report.py` prints the outcomes as a table, `test_published.py` asserts their limits.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from reference.support import document, example, run, table
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipk

from kompono import ModelWarning, Result, Simulation, Subsystem

DRIFT = 1e-11
TURN = (0.3, -0.7, 1.1)  # an arbitrary turn: no component of any axis stays zero


@dataclass(frozen=True)
class Outcome:
    """What a run was compared with: named values, each with its limit. The first is the error of the table."""

    checks: dict[str, tuple[float, float]]
    seconds: float = 0.0
    steps: int = 0

    def failures(self) -> list[str]:
        return [
            f"{name}: {value:.3g} > {limit:.3g}" for name, (value, limit) in self.checks.items() if not value <= limit
        ]


@dataclass(frozen=True)
class Problem:
    """A name for the table, how it is integrated, and the function that runs it."""

    name: str
    how: str
    solve: Callable[[], Outcome] = field(repr=False)


PROBLEMS: list[Problem] = []


def problem(name: str, how: str) -> Callable[[Callable[[], Outcome]], Callable[[], Outcome]]:
    """Put a function on the list."""

    def add(function: Callable[[], Outcome]) -> Callable[[], Outcome]:
        def timed() -> Outcome:
            begun = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ModelWarning)  # assembly tells what it moved
                outcome = function()
            return Outcome(outcome.checks, time.perf_counter() - begun, outcome.steps)

        PROBLEMS.append(Problem(name, how, timed))
        return function

    return add


def outcome(
    result: Result, energy: tuple[float | np.ndarray, float] | None = None, **checks: tuple[float, float]
) -> Outcome:
    """Checks of a run, with drift and, unless it is driven or damped, energy."""
    named = {name.replace("_", " "): (float(value), limit) for name, (value, limit) in checks.items()}
    for level in ("position", "velocity"):
        named[f"drift {level}"] = (float(result[f"drift.{level}"].max()), DRIFT)
    if energy is not None:
        change, limit = energy
        named["energy"] = (float(np.abs(change).max()), limit)
    return Outcome(named, steps=int(result.statistics["steps"]))


def gained(result: Result) -> np.ndarray:
    """Change of the total energy [J]."""
    return result["energy.total"] - result["energy.total"][0]


def largest(*differences: np.ndarray) -> float:
    """The largest absolute value; blank (NaN) entries do not count."""
    return max(float(np.nanmax(np.abs(difference))) for difference in differences)


def vectors(result: Result, path: str) -> np.ndarray:
    """A vector channel (n, 3)."""
    return np.column_stack([result[f"{path}.{axis}"] for axis in "xyz"])


def quaternions(result: Result, body: str) -> np.ndarray:
    """Orientation (n, 4) of a body."""
    return np.column_stack([result[f"{body}.orientation.e{k}"] for k in range(4)])


def turned_apart(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference of quaternions (n, 4), which count the same with either sign."""
    return float(np.minimum(np.abs(a - b).max(axis=1), np.abs(a + b).max(axis=1)).max())


# -- A01


def swing(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pendulum from the horizontal in closed form: x, y of the bob [m]."""
    _, cn, dn, _ = ellipj(np.sqrt(9.81) * t, 0.5)
    psi = -2 * np.arcsin(np.sqrt(0.5) * cn / dn)
    return np.sin(psi), -np.cos(psi)


def pendulum(method: str, error: float, energy: float, **options: float) -> Outcome:
    model = example("reference/simple_pendulum").SimplePendulum()
    result = run(model, method, 2000.0, **options)
    x, y = swing(result.time)
    exact, published = table("A01_exact"), table("A01_published_lim")
    rows = [np.round(given["t"] / 0.5).astype(int) for given in (exact, published)]
    far = [
        largest(result["bob.position.x"][row] - given["x"], result["bob.position.y"][row] - given["y"])
        for row, given in zip(rows, (exact, published), strict=True)
    ]
    return outcome(
        result, (gained(result), energy),
        closed_form=(largest(result["bob.position.x"] - x, result["bob.position.y"] - y), error),
        exact_rows=(far[0], error), published_rows=(far[1], error + 5.1e-7),
    )  # fmt: skip


problem("A01 pendulum, 2000 s", "rk4 0.5 ms")(lambda: pendulum("rk4", 2e-9, 2e-11, step=5e-4, every=1000))
problem("A01 pendulum, 2000 s", "dopri5 1e-13")(lambda: pendulum("dopri5", 5e-7, 5e-9, step=0.5, rtol=1e-13))


# -- A02


def revolution(windows: int, t: np.ndarray) -> np.ndarray:
    """Clockwise angle of the uprights in closed form [rad]."""
    ratio = 9.81 * ((windows + 1) / 2 + windows) / ((windows + 1) / 3 + windows)
    p = np.sqrt(1 + 4 * ratio)
    m = 4 * ratio / p**2
    half = 2 * ellipk(m) / p
    *_, am = ellipj(p * (t - half) / 2, m)  # amplitude; grows by pi per revolution
    return np.pi + 2 * am


def four_bars(
    windows: int, until: float, step: float, *, turn: tuple[float, ...], error: float, energy: float
) -> Outcome:
    model = example("reference/n_four_bar").NFourBar(windows, turn=turn)
    channels = ["feet.0.angle", "feet.0.angle.rate", "drift.*", "energy.*", "uprights.0.position.*"]
    result = run(model, "rk4", until, step, every=round(0.05 / step), channels=channels)
    x, y, _ = Rotation.from_rotvec(turn).as_matrix().T
    tip = 2 * vectors(result, "uprights.0.position")  # B0: the centre is half way
    phi = revolution(windows, result.time)
    checks = {"closed_form": (largest(tip @ x - np.sin(phi), tip @ y - np.cos(phi)), error)}
    exact = table("A02_exact_N1_2_5_40")
    rows = slice(0, 2 * len(exact["t"]), 2)
    count = len(result.time[rows])
    ends = [(tip @ a)[rows] - exact[f"{name}_N{windows}"][:count] for name, a in (("x", x), ("y", y))]
    checks["exact_rows"] = (largest(*ends), error)
    if windows == 40:
        published = table("A02_published_lim_N40")
        checks["published_rows"] = (largest(tip @ x - published["x_B0"], tip @ y - published["y_B0"]), error + 4.2e-6)
    done = outcome(result, (gained(result), energy), **checks)
    if windows > 2 and any(turn):  # the numeric rank near a crossing may let a speed go for a step
        done.checks["drift velocity"] = (done.checks["drift velocity"][0], 1e-8)
    return done


problem("A02 N-four-bar, N = 1, 10 s", "rk4 1 ms")(
    lambda: four_bars(1, 10, 1e-3, turn=(0, 0, 0), error=1e-9, energy=1e-9)
)
problem("A02 N = 1, turned in space", "rk4 1 ms")(lambda: four_bars(1, 10, 1e-3, turn=TURN, error=1e-9, energy=1e-9))
problem("A02 N-four-bar, N = 2, 10 s", "rk4 1 ms")(
    lambda: four_bars(2, 10, 1e-3, turn=(0, 0, 0), error=1e-9, energy=1e-9)
)
problem("A02 N = 2, turned in space", "rk4 1 ms")(lambda: four_bars(2, 10, 1e-3, turn=TURN, error=1e-9, energy=1e-9))
problem("A02 N = 5, turned in space", "rk4 1 ms")(lambda: four_bars(5, 10, 1e-3, turn=TURN, error=1e-8, energy=1e-7))
problem("A02 N-four-bar, N = 40, 20 s", "rk4 1 ms")(
    lambda: four_bars(40, 20, 1e-3, turn=(0, 0, 0), error=1e-6, energy=2e-5)
)


# -- A03

PINS = ("o", "f", "b", "g", "a5", "h", "a7")  # beta, theta, gamma, phi, delta, omega, epsilon


def squeezer(beta: float | None, method: str, until: float, **options: float) -> Result:
    module = example("reference/andrews_squeezer")
    model = module.AndrewsSqueezer() if beta is None else module.AndrewsSqueezer(beta=beta)
    return run(model, method, until, **options)


def balance(result: Result) -> np.ndarray:
    """Energy less the work of the motor [J]."""
    return gained(result) - 0.033 * (result["o.angle"] - result["o.angle"][0])


def squeezer_test_set(method: str, angles: float, rates: float, **options: float) -> Outcome:
    result = squeezer(None, method, 0.03, **options)
    data = document("A03_ivp_testset")
    q = np.array([result[f"{pin}.angle"][-1] for pin in PINS])
    v = np.array([result[f"{pin}.angle.rate"][-1] for pin in PINS])
    a = np.array([result[f"{pin}.angle.acceleration"][-1] for pin in PINS])
    better = [np.array(data["our_quadrature_t0.03"][key], dtype=float) for key in ("q", "qd")]
    published = np.array(data["published_t0.03"], dtype=float)
    first = np.array([result[f"{pin}.angle.acceleration"][0] for pin in PINS])
    force = np.array([result[f"e2.force.{axis}"][0] for axis in "xy"])
    multipliers = np.array(data["initial"]["lambda"][:2], dtype=float)
    return outcome(
        result, (balance(result), 1e-11),
        angles=(largest(q - better[0]), angles), rates=(largest((v - better[1]) / np.maximum(1, np.abs(v))), rates),
        published_angles=(largest(q / published[:7] - 1), 3e-10),
        published_rates=(largest(v / published[7:14] - 1), 6e-8),
        published_accelerations=(largest(a / published[14:21] - 1), 2e-6),
        start_accelerations=(largest(first - np.array(data["initial"]["qdd"], dtype=float)) / 14222, 1e-10),
        start_multipliers=(largest(np.abs(force) - np.abs(multipliers)) / 98, 1e-10),
    )  # fmt: skip


problem("A03 Andrews, test set, 0.03 s", "dopri5 1e-12")(
    lambda: squeezer_test_set("dopri5", 2e-11, 1e-9, step=1e-4, rtol=1e-12)
)
problem("A03 Andrews, test set, 0.03 s", "rk4 1 us")(
    lambda: squeezer_test_set("rk4", 2e-11, 1e-9, step=1e-6, every=100)
)


@problem("A03 Andrews, LIM, 0.05 s", "rk4 1 us")
def squeezer_lim() -> Outcome:
    result = squeezer(-0.0620, "rk4", 0.05, step=1e-6, every=250)
    published, check = table("A03_published_lim"), table("A03_check_iftomm")
    rows = np.round(published["t"] / 2.5e-4).astype(int)
    beta = result["o.angle"]
    x, y = 0.007 * np.cos(beta), 0.007 * np.sin(beta)
    return outcome(
        result, (balance(result), 1e-11),
        published_F=(largest(x[rows] - published["x_F"], y[rows] - published["y_F"]), 5.01e-9),
        check_F=(largest(x - check["x_F"], y - check["y_F"]), 2e-13), check_beta=(largest(beta - check["beta"]), 2e-11),
    )  # fmt: skip


# -- free bodies and the heavy top


@problem("Free symmetric top, 10 s", "dopri5 1e-13")
def symmetric_top() -> Outcome:
    result = run(example("reference/free_body").SymmetricTop(), "dopri5", 10.0, 0.5, rtol=1e-13)
    i, j, spin = 0.04, 0.02, np.array([2.0, -4.0, 5.0])
    momentum, slip = np.array([i, i, j]) * spin, (j - i) * spin[2] / i
    exact = [Rotation.from_rotvec(momentum * t / i) * Rotation.from_rotvec((0, 0, -slip * t)) for t in result.time]
    expected = np.array([turn.as_quat(scalar_first=True) for turn in exact])
    turn, w = Rotation.from_quat(quaternions(result, "top"), scalar_first=True), vectors(result, "top.angular_velocity")
    carried = turn.apply(np.array([i, i, j]) * turn.inv().apply(w))
    return outcome(
        result, (gained(result), 1e-12), closed_form=(turned_apart(quaternions(result, "top"), expected), 1e-11),
        angular_momentum=(largest(carried - momentum), 1e-12),
    )  # fmt: skip


@problem("Dzhanibekov box, 10 s", "dopri5 1e-13")
def thrown_box() -> Outcome:
    result = run(example("reference/free_body").ThrownBox(), "dopri5", 10.0, 1.0, rtol=1e-13)
    data = document("box_dzhanibekov_exact")
    expected, spin = np.array(data["q"], dtype=float), np.array(data["omega_body"], dtype=float)
    e = quaternions(result, "box")
    own = Rotation.from_quat(e, scalar_first=True).inv().apply(vectors(result, "box.angular_velocity"))
    parabola = np.outer(result.time, (-2, 2, 8)) - np.outer(result.time**2 / 2, (0, 0, 9.8))
    return outcome(
        result, (gained(result), 1e-7), orientation=(turned_apart(e, expected), 1e-9), spin=(largest(own - spin), 1e-8),
        parabola=(largest(vectors(result, "box.position") - parabola), 2e-10),
        energy_at_start=(abs(result["energy.total"][0] - 360 - 8.546416666666667), 1e-11),
    )  # fmt: skip


@problem("Heavy top, 2 s", "dopri5 1e-13")
def heavy_top() -> Outcome:
    result = run(example("reference/heavy_top").HeavyTop(), "dopri5", 2.0, 0.1, rtol=1e-13)
    given = table("heavy_top_check")
    rows = np.round(given["t"] / 0.1).astype(int)
    e, centre = quaternions(result, "top")[rows], vectors(result, "top.position")[rows]
    spin = np.column_stack([result[f"ball.w{axis}"][rows] - given[f"w{axis}"] for axis in "xyz"])
    expected = np.column_stack([given[f"q{k}"] for k in range(4)])
    middle = np.column_stack([given[f"com{axis}"] for axis in "xyz"])
    published = np.array([[-0.70828, 0.43878, 0.54573, 0.0894]])  # MATLAB RK4, t = 0.2 s, 5 digits
    momentum = 0.46875 * 150  # about the axis, in the body: constant
    w, up = vectors(result, "top.angular_velocity"), Rotation.from_quat(quaternions(result, "top"), scalar_first=True)
    inertia = np.array([0.234375 + 15, 0.46875, 0.234375 + 15])  # at the ball
    vertical = up.apply(inertia * up.inv().apply(w))[:, 2]
    return outcome(
        result, (gained(result), 5e-8), orientation=(turned_apart(e, expected), 1e-10),
        centre=(largest(centre - middle), 1e-10), spin=(largest(spin), 1e-9),
        published=(turned_apart(e[2:3], published), 6e-6),
        axial_momentum=(largest(0.46875 * result["ball.wy"] - momentum), 1e-9),
        vertical_momentum=(largest(vertical + 70.3124296875), 1e-9),
        energy_at_start=(abs(result["energy.total"][0] - 5435.69679086555), 1e-9),
    )  # fmt: skip


# -- closed-form kinematics


@problem("Slider-crank, driven, 1 s", "rk4 1 ms")
def slider_crank() -> Outcome:
    result = run(example("reference/slider_crank").SliderCrank(), "rk4", 1.0, 1e-3)
    r, rod, speed = 0.1, 0.3, 20.0
    angle = 0.5 + speed * result.time
    root = np.sqrt(rod**2 - (r * np.sin(angle)) ** 2)
    lean = -np.arcsin(r / rod * np.sin(angle))
    rates = -r * speed * np.sin(angle) * (1 + r * np.cos(angle) / root)
    leaning = -r * speed * np.cos(angle) / (rod * np.cos(lean))
    return outcome(
        result, None, closed_form=(largest(result["slide.displacement"] - r * np.cos(angle) - root), 1e-13),
        rates=(largest(result["slide.displacement.rate"] - rates, result["rod.angular_velocity.z"] - leaning), 1e-11),
    )  # fmt: skip


@problem("Four-bar, driven, 7 s", "rk4 1 ms")
def four_bar() -> Outcome:
    result = run(example("reference/four_bar").FourBar(), "rk4", 7.0, 1e-3)
    a, b, c, d = 1.0, 3.0, 2.5, 3.0
    crank = np.radians(50) + result.time
    k1, k2, k3 = d / a, d / c, (a * a - b * b + c * c + d * d) / (2 * a * c)
    p = np.cos(crank) - k1 - k2 * np.cos(crank) + k3
    q, r = -2 * np.sin(crank), k1 - (k2 + 1) * np.cos(crank) + k3
    rocker = 2 * np.arctan2(-q - np.sqrt(q * q - 4 * p * r), 2 * p)
    coupler = np.arctan2(c * np.sin(rocker) - a * np.sin(crank), d + c * np.cos(rocker) - a * np.cos(crank))
    start = np.degrees([coupler[0], rocker[0] % (2 * np.pi)])
    speed = a * np.sin(crank - coupler) / (c * np.sin(rocker - coupler))
    return outcome(
        result, None, closed_form=(largest(np.exp(1j * result["pivot.angle"]) - np.exp(1j * rocker)), 1e-12),
        coupler=(largest(np.exp(1j * (result["crank_pin.angle"] + crank)) - np.exp(1j * coupler)), 1e-12),
        rates=(largest(result["pivot.angle.rate"] - speed), 1e-12),
        published_start=(largest(start - (35.26922092, 87.88802801)), 1e-8),
    )  # fmt: skip


def linkage(model: Subsystem, until: float, error: float, energy: float, gap: Callable[[Result], float]) -> Outcome:
    result = run(Simulation(model), "rk4", until, 1e-3)
    return outcome(result, (gained(result), energy), closed_form=(gap(result), error))


def bennett_gap(result: Result) -> float:
    """How far hinges are from tan(theta1 / 2) tan(theta2 / 2) = sin((beta + alpha) / 2) / sin((beta - alpha) / 2)."""
    alpha, beta = np.pi / 6, 7 * np.pi / 18
    ratio = np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2)
    one, two, three, four = (result[f"hinge{k}.angle"] for k in (1, 2, 3, 4))
    expected = 2 * np.arctan2(ratio * np.cos(two / 2), np.sin(two / 2))
    return largest(
        np.exp(1j * one) - np.exp(1j * expected), np.exp(1j * (one + three)) - 1, np.exp(1j * (two + four)) - 1
    )


def bricard_gap(result: Result) -> float:
    """How far odd and even hinges are from cos odd + cos even + cos odd cos even = 0 and from each other."""
    odd, even = result["hinges.0.angle"], result["hinges.1.angle"]
    relation = np.cos(odd) + np.cos(even) + np.cos(odd) * np.cos(even)
    twins = [(odd, "hinges.2.angle"), (odd, "hinges.4.angle"), (even, "hinges.3.angle"), (even, "last_hinge.angle")]
    return largest(relation, *[np.exp(1j * angle) - np.exp(1j * result[name]) for angle, name in twins])


problem("Bennett, from a rough guess, 10 s", "rk4 1 ms")(
    lambda: linkage(example("reference/bennett").Bennett(off=0.15), 10.0, 1e-10, 1e-9, bennett_gap)
)
problem("Bricard six-bar, 10 s", "rk4 1 ms")(
    lambda: linkage(example("reference/bricard").Bricard(), 10.0, 1e-12, 1e-7, bricard_gap)
)
problem("Bricard, from a rough guess, 10 s", "rk4 1 ms")(
    lambda: linkage(example("reference/bricard").Bricard(off=0.1), 10.0, 1e-12, 1e-7, bricard_gap)
)


# -- a million steps


def growth(result: Result, name: str) -> float:
    """Largest value in the last tenth of a run over the largest before it (the first tenth may start at rest)."""
    values = result[name]
    tenth = len(values) // 10
    return float(values[-tenth:].max() / values[:-tenth].max())


def million(result: Result, energy: tuple[np.ndarray, float]) -> Outcome:
    done = outcome(
        result, energy, growth=(max(growth(result, f"drift.{level}") for level in ("position", "velocity")), 4.0)
    )
    return Outcome(done.checks | {"steps missing": (1e6 - done.steps, 0)}, steps=done.steps)


@problem("Andrews, 1e6 steps", "rk4 50 ns")
def million_squeezer() -> Outcome:
    result = squeezer(-0.0620, "rk4", 0.05, step=5e-8, every=1000)
    return million(result, (balance(result), 2e-11))


@problem("N-four-bar, N = 2, 1e6 steps", "rk4 10 us")
def million_four_bar() -> Outcome:
    model = example("reference/n_four_bar").NFourBar(2)
    result = run(model, "rk4", 10.0, 1e-5, every=1000)
    return million(result, (gained(result), 1e-7))
