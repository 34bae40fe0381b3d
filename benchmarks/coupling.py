"""Exact coupling of closed parts against co-simulation, all sides in processes of their own.

    python benchmarks/coupling.py [--quick] [--figure FILE.png]

Two problems. A double pendulum whose links know nothing of each other: exactly, by a part that answers at its port, and
by co-simulation, where a stiff bushing stands for the pin and its force is exchanged once per step (Jacobi). And two
masses on springs, those of the preCICE tutorials, with the usual schemes of partitioned solvers. Every side of a
co-simulation is a Kompono model in its own process, solved by rk4 with small steps, so what is left is the error of the
coupling. Exact parts are in worker processes (`isolate`) and take the same step as the whole.
"""

from __future__ import annotations

import argparse
import multiprocessing
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kompono import Body, Ground, Input, Output, RunWarning, Simulation, Subsystem, simulate, time
from kompono.library import AppliedLoad, Gravity, Planar, Prismatic, Revolute, SpringDamper
from kompono.solve.integrate import Settings

Read = Callable[[str], float]
START = (1.2, 2.0)  # angles of the links from hanging down [rad]
FINE = 1e-4  # [s] steps inside a side of the double pendulum
BUSHINGS = ((1e4, 1e1), (1e5, 1e2), (1e6, 3e2))  # [N/m], [N s/m]
K, K12 = 4 * np.pi**2, 16 * np.pi**2  # [N/m] springs of the two masses of 1 kg
STATE = ("slide.displacement", "slide.displacement.rate")
_context = multiprocessing.get_context("spawn")


# -- exactly ---------------------------------------------------------------------------------------------------------


def link(**start: Any) -> Body:
    return Body(mass=1.0, inertia=(1 / 12, 1 / 12, 1 / 12), **start)


class Swing(Subsystem):
    """A link that hangs on a pin of its own ground; its lower end is a port."""

    def __init__(self) -> None:
        self.ground, self.link = Ground(), link()
        self.pin = Revolute(self.ground, self.link.at(0, 0, 0.5), axis="y", angle=-START[0])
        self.expose(self.link)


class DoublePendulum(Subsystem):
    """The lower link hangs on the part."""

    def __init__(self) -> None:
        self.gravity, self.upper, self.lower = Gravity(), Swing(), link()
        turn = START[0] - START[1]
        self.knee = Revolute(self.upper.link.at(0, 0, -0.5), self.lower.at(0, 0, 0.5), axis="y", angle=turn)


class Mass(Subsystem):
    """A mass on a spring that slides along x on its own ground."""

    def __init__(self, start: float) -> None:
        self.ground, self.mass = Ground(), Body(mass=1.0, inertia=(1, 1, 1))
        self.slide = Prismatic(self.ground, self.mass, axis="x", displacement=start)
        self.spring = SpringDamper(self.ground, self.mass, k=K)
        self.expose(self.mass)


class Masses(Subsystem):
    """Two of them with a spring between."""

    def __init__(self) -> None:
        self.left, self.right = Mass(1.0), Mass(0.0)
        self.spring = SpringDamper(self.left.mass, self.right.mass, k=K12)


def exact(model: Subsystem, until: float, step: float, parts: Sequence[str]) -> Any:
    """A run by rk4 with some parts in processes of their own."""
    result = simulate(model, until=until, step=step, method="rk4", closed=parts, isolate=parts)
    assert result.status.ok, result.status.message
    return result


def pendulum_angles(result: Any) -> np.ndarray:
    """Of both links from hanging down [rad]."""
    upper = -result["upper.pin.angle"]
    return np.column_stack([upper, upper - result["knee.angle"]])


def masses_moved(times: np.ndarray) -> np.ndarray:
    """Where both masses are [m], in closed form."""
    values, vectors = np.linalg.eigh(np.array([[K + K12, -K12], [-K12, K + K12]]))
    shares = vectors.T @ np.array([1.0, 0.0])
    return (vectors @ (shares[:, None] * np.cos(np.sqrt(values)[:, None] * times))).T


# -- co-simulation: a side is a model whose inputs come from the other once a window --------------------------------


class Exchange:
    """Numbers for numbers, once at each instant, whichever input asks first."""

    def __init__(self, pipe: Any, tell: Sequence[str], take: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
        self.pipe, self.tell, self.take = pipe, tell, take
        self.time, self.values = -1.0, np.zeros(0)

    def source(self, number: int) -> Callable[[], Callable[[float, Read], float]]:
        """A factory of the callable that feeds one input."""

        def ask(t: float, read: Read) -> float:
            if t != self.time:
                own = np.array([read(name) for name in self.tell])
                self.pipe.send_bytes(own)
                other = np.frombuffer(self.pipe.recv_bytes())
                self.time, self.values = t, self.take(own, other)
            return float(self.values[number])

        return lambda: ask


class LinkSide(Subsystem):
    """One link with the force of a bushing, in the place of the pin, on one of its ends."""

    def __init__(self, upper: bool, window: float, pipe: Any, stiffness: float, damping: float) -> None:
        def pulled(own: np.ndarray, other: np.ndarray) -> np.ndarray:
            return stiffness * (other - own)[:2] + damping * (other - own)[2:]

        exchange = Exchange(pipe, ("x", "z", "vx", "vz"), pulled)
        self.fx, self.fz = (Input(factory=exchange.source(k), period=window) for k in range(2))
        self.ground, self.gravity = Ground(), Gravity()
        if upper:
            self.link = link()
            self.joint = Revolute(self.ground, self.link.at(0, 0, 0.5), axis="y", angle=-START[0])
        else:
            x, z = np.sin(START[0]) + 0.5 * np.sin(START[1]), -np.cos(START[0]) - 0.5 * np.cos(START[1])
            turned = (np.cos(START[1] / 2), 0.0, -np.sin(START[1] / 2), 0.0)
            self.link = link(start_position=(x, 0.0, z), start_orientation=turned)
            self.joint = Planar(self.ground, self.link, normal="y")
        end = self.link.at(0, 0, -0.5 if upper else 0.5)
        self.load = AppliedLoad(end, force=(self.fx, 0, self.fz))
        self.x, self.z = Output(end.position[0]), Output(end.position[2])
        self.vx, self.vz = Output(end.velocity[0]), Output(end.velocity[2])


class OneMass(Subsystem):
    """One mass; where the other is, is a straight line through the window: value and slope from an instant on."""

    def __init__(self, start: float, value: Input, slope: Input, since: Input) -> None:
        self.value, self.slope, self.since = value, slope, since
        self.ground, self.mass = Ground(), Body(mass=1.0, inertia=(1, 1, 1))
        self.slide = Prismatic(self.ground, self.mass, axis="x", displacement=start)
        self.spring = SpringDamper(self.ground, self.mass, k=K)
        other = value + slope * (time - since)
        self.between = AppliedLoad(self.mass, force=(K12 * (other - self.slide.displacement), 0, 0))


class MassSide(OneMass):
    """One mass that goes through all windows; the line is made of what the other tells."""

    def __init__(self, start: float, window: float, pipe: Any, scheme: str) -> None:
        last: list[np.ndarray] = []

        def line(_: np.ndarray, other: np.ndarray) -> np.ndarray:
            slope = (other[0] - last[-1][0]) / window if scheme == "extrapolate" and last else 0.0
            last.append(other)
            return np.array([other[0], slope])

        exchange = Exchange(pipe, ("slide.displacement",), line)
        value, slope = (Input(factory=exchange.source(k), period=window) for k in range(2))
        super().__init__(start, value, slope, Input(lambda t: t, period=window))


def run_side(kind: Any, arguments: tuple[Any, ...], run: dict[str, Any], pipe: Any, answer: Any) -> None:
    """In a process of its own: one side to its end; what it recorded goes to `answer`."""
    warnings.simplefilter("ignore", RunWarning)
    result = simulate(kind(*arguments[:2], pipe, *arguments[2:]), method="rk4", **run)
    pipe.send_bytes(b"")  # nothing more to come: a side that waits for it ends too
    answer.send((result.status.ok, np.asarray(result[run["channels"]])))


def cosimulated(sides: Sequence[tuple[Any, tuple[Any, ...], dict[str, Any]]]) -> np.ndarray | None:
    """What two sides recorded (rows, 2); None where one of them did not come to its end."""
    pipes, answers = _context.Pipe(), [_context.Pipe(duplex=False) for _ in sides]
    processes = [
        _context.Process(target=run_side, args=(*side, pipe, answer[1]), daemon=True)
        for side, pipe, answer in zip(sides, pipes, answers, strict=True)
    ]
    for process in processes:
        process.start()
    found = [answer[0].recv() for answer in answers]
    for process in processes:
        process.join()
    if not all(ok and np.abs(values).max() < 1e3 for ok, values in found):
        return None
    return np.column_stack([values for _, values in found])


def cosimulated_pendulum(step: float, until: float, bushing: tuple[float, float]) -> np.ndarray | None:
    """Angles of both links; None where it is unstable."""
    inner = step / max(1, round(step / FINE))
    run = {"until": until, "step": inner, "every": round(step / inner), "channels": "joint.angle"}
    found = cosimulated([(LinkSide, (upper, step, *bushing), run) for upper in (True, False)])
    return None if found is None else -found


def cosimulated_masses(window: float, scheme: str) -> np.ndarray | None:
    """Where both masses are by Jacobi exchange."""
    run = {"until": 1.0, "step": window / 20, "every": 20, "channels": "slide.displacement"}
    return cosimulated([(MassSide, (start, window, scheme), run) for start in (1.0, 0.0)])


def serve_windows(pipe: Any, window: float) -> None:
    """In a process of its own: a mass over one window, from any state, along any line, as often as it is asked."""
    side = Simulation(OneMass(0.0, Input(), Input(), Input()))
    settings = Settings(until=window, step=window / 20, method="rk4", every=20)
    while (asked := pipe.recv()) is not None:
        state, (value, slope) = asked
        initial = dict(zip(STATE, map(float, state), strict=True))
        result = side.run(settings, initial=initial, inputs={"value": value, "slope": slope}, channels=STATE)
        pipe.send(np.array([result[name][-1] for name in STATE]))


def windowed_masses(window: float, iterate: bool) -> np.ndarray:
    """Where both masses are if one goes first and the other follows along its line (Gauss-Seidel), or if both repeat
    every window until nothing changes.
    """
    ends = [_context.Pipe() for _ in range(2)]
    processes = [_context.Process(target=serve_windows, args=(far, window), daemon=True) for _, far in ends]
    for process in processes:
        process.start()
    (left, _), (right, _) = ends
    a, b = np.array([1.0, 0.0]), np.array([0.0, 0.0])
    rows = [(a[0], b[0])]
    for _ in range(round(1 / window)):
        if iterate:
            a, b = _iterated(left, right, a, b, window)
        else:
            left.send((a, (b[0], 0.0)))
            ahead = left.recv()
            right.send((b, (a[0], (ahead[0] - a[0]) / window)))
            a, b = ahead, right.recv()
        rows.append((a[0], b[0]))
    for pipe, process in zip((left, right), processes, strict=True):
        pipe.send(None)
        process.join()
    return np.array(rows)


def _iterated(left: Any, right: Any, a: np.ndarray, b: np.ndarray, window: float) -> tuple[np.ndarray, np.ndarray]:
    """Both masses at the end of a window in which each moves along the straight line of the other."""
    new = a, b
    for _ in range(30):
        left.send((a, (b[0], (new[1][0] - b[0]) / window)))
        right.send((b, (a[0], (new[0][0] - a[0]) / window)))
        old, new = new, (left.recv(), right.recv())
        if max(np.abs(now - then).max() for now, then in zip(new, old, strict=True)) < 1e-12:
            break
    return new


# -- tables ----------------------------------------------------------------------------------------------------------


def pendulum_table(steps: Sequence[float], until: float) -> dict[str, list[float]]:
    """Largest error of the angles [rad] by coupling, for each step."""
    reference = simulate(DoublePendulum(), until=until, step=2e-5, method="rk4")
    fine = pendulum_angles(reference)
    table: dict[str, list[float]] = {"exact": [], **{f"bushing {k:.0e} N/m": [] for k, _ in BUSHINGS}}
    for step in steps:
        there = fine[:: round(step / 2e-5)]
        table["exact"].append(_error(pendulum_angles(exact(DoublePendulum(), until, step, ["upper"])), there))
        for bushing in BUSHINGS:
            found = cosimulated_pendulum(step, until, bushing)
            table[f"bushing {bushing[0]:.0e} N/m"].append(_error(found, there))
    return table


def masses_table(windows: Sequence[float]) -> dict[str, list[float]]:
    """Largest error of the positions [m] by scheme, for each window."""
    schemes = (
        "Jacobi, hold",
        "Jacobi, linear extrapolation",
        "Gauss-Seidel",
        "iterated to 1e-12, linear",
        "exact, rk4",
    )
    table: dict[str, list[float]] = {scheme: [] for scheme in schemes}
    for window in windows:
        there = masses_moved(np.arange(round(1 / window) + 1) * window)
        table["Jacobi, hold"].append(_error(cosimulated_masses(window, "hold"), there))
        table["Jacobi, linear extrapolation"].append(_error(cosimulated_masses(window, "extrapolate"), there))
        table["Gauss-Seidel"].append(_error(windowed_masses(window, iterate=False), there))
        table["iterated to 1e-12, linear"].append(_error(windowed_masses(window, iterate=True), there))
        result = exact(Masses(), 1.0, window, ["left", "right"])
        moved = np.column_stack([result["left.slide.displacement"], result["right.slide.displacement"]])
        table["exact, rk4"].append(_error(moved, there))
    return table


def _error(found: np.ndarray | None, there: np.ndarray) -> float:
    if found is None or found.shape != there.shape:
        return np.inf
    error = float(np.abs(found - there).max())
    return error if error < 3.0 else np.inf


def show(title: str, heads: Sequence[float], table: dict[str, list[float]]) -> None:
    """One table as text."""
    print(f"\n{title}")
    print(f"| step | {' | '.join(f'{1e3 * head:g} ms' for head in heads)} |")
    print(f"|---|{'--:|' * len(heads)}")
    for name, errors in table.items():
        print(f"| {name} | {' | '.join(f'{e:.1e}' if np.isfinite(e) else 'unstable' for e in errors)} |", flush=True)


def draw(path: str, tables: Sequence[tuple[str, Sequence[float], dict[str, list[float]]]]) -> None:
    """Both tables as one figure."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(tables), figsize=(10, 4), layout="constrained")
    for axis, (title, heads, table) in zip(axes, tables, strict=True):
        for name, errors in table.items():
            style = {"lw": 2.5, "color": "black"} if name.startswith("exact") else {"lw": 1.2, "ls": "--"}
            axis.loglog([1e3 * head for head in heads], [e if np.isfinite(e) else np.nan for e in errors], marker="o",
                        ms=4, label=name, **style)  # fmt: skip
        axis.set(title=title, xlabel="step, exchange of data [ms]")
        axis.grid(alpha=0.3)
        axis.set_xticks([1e3 * head for head in heads], [f"{1e3 * head:g}" for head in heads])
        axis.minorticks_off()
        axis.legend(fontsize=8, loc="lower right")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs")
    parser.add_argument("--figure", metavar="FILE.png")
    options = parser.parse_args()
    steps = (0.01, 0.002, 0.001) if options.quick else (0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001)
    windows = (0.04, 0.01) if options.quick else (0.04, 0.02, 0.01, 0.005, 0.0025)
    masses = ("Two masses: largest error of a position [m]", windows, masses_table(windows))
    show(*masses)
    pendulum = (
        "Double pendulum: largest error of an angle [rad]",
        steps,
        pendulum_table(steps, 0.5 if options.quick else 2.0),
    )
    show(*pendulum)
    if options.figure:
        draw(options.figure, [pendulum, masses])


if __name__ == "__main__":
    main()
