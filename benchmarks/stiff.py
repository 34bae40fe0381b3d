"""Stiff motion: error against time of the native implicit method, SciPy's, the explicit ones and Exudyn.

python benchmarks/stiff.py              all machines (Exudyn is left out where it is not installed)
python benchmarks/stiff.py governor     machines whose names begin so
python benchmarks/stiff.py --draw       and the picture of docs/performance.md (docs/images/stiff.png)

Machines: the flyball governor of the benchmark library with 1, 100 and 10,000 times its stiffness and damping, a
pendulum on a bushing of 1e9 N/m, and three that are not stiff: the car axis of the test set, the Andrews squeezer and
the car. Errors are the largest of the coordinates at the end against a tight run by another method.
Milliseconds are processor time of the whole run as a user calls it, the least of `ROUNDS`, without compilation. The
last column compares with the quickest run of SciPy's Radau that is at most as exact.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # before anything with threads is imported
os.environ.setdefault("KOMPONO_EFFORT", "full")  # all code is native before the clock starts

import sys
import time as clock
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "peers")]

from tables import show  # noqa: E402

from kompono import Body, Ground, Simulation, Subsystem  # noqa: E402
from kompono.examples.car import Car  # noqa: E402
from kompono.examples.reference.andrews_squeezer import AndrewsSqueezer  # noqa: E402
from kompono.examples.reference.car_axis import CarAxis  # noqa: E402
from kompono.examples.reference.flyball_governor import FlyballGovernor  # noqa: E402
from kompono.library import Bushing, Gravity, Revolute, solids  # noqa: E402
from kompono.solve.integrate import Settings  # noqa: E402

ROUNDS = 3
MOST = 6.0  # seconds of processor time one run may take before tighter ones are left out
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
METHODS: dict[str, tuple[float, ...]] = {
    "esdirk4": TOLERANCES,
    "Radau": TOLERANCES[:7],
    "BDF": TOLERANCES[:7],
    "dopri5": TOLERANCES,
    "rk4": (1e-3, 1e-4, 1e-5),  # steps [s]
}


class Mounted(Subsystem):
    """A pendulum on a bushing of `k` N/m."""

    def __init__(self, k: float = 1e9) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.block = Body(solids.box(mass=1.0, size=(0.1, 0.1, 0.1)))
        self.rod = Body(solids.rod(mass=1.0, length=1.0, radius=0.01))
        self.mount = Bushing(self.ground, self.block, k=[k] * 6, c=[0.1 * np.sqrt(k)] * 6)
        self.pin = Revolute(self.block, self.rod.at(0, 0, 0.5), axis="y", angle=1.0)


@dataclass(frozen=True)
class Machine:
    """What runs, until when [s], and whether it is stiff; `truth` is the method and tolerance of the reference."""

    make: Callable[[], Subsystem]
    until: float
    stiff: bool
    truth: tuple[str, float]
    explicit: bool = True  # whether explicit methods would get to the end at all

    @property
    def finest(self) -> float:
        """Errors below this are those of the reference."""
        return 1e-9 if self.truth[0] == "Radau" else 1e-11


MACHINES = {
    "governor": Machine(FlyballGovernor, 10.0, True, ("dopri5", 1e-12)),
    "governor x 100": Machine(lambda: FlyballGovernor(factor=1e2), 10.0, True, ("Radau", 1e-9)),
    "governor x 10,000": Machine(lambda: FlyballGovernor(factor=1e4), 10.0, True, ("Radau", 1e-6), explicit=False),
    "bushing of 1e9 N/m": Machine(Mounted, 2.0, True, ("Radau", 1e-9)),
    "car axis": Machine(CarAxis, 3.0, False, ("dopri5", 1e-13)),
    "Andrews squeezer": Machine(AndrewsSqueezer, 0.03, False, ("dopri5", 1e-13)),
    "car": Machine(Car, 1.0, False, ("dopri5", 1e-13)),
}


@dataclass
class Ran:
    """One run: how exact it was, what it took [s], and how it went about it."""

    method: str
    setting: float
    error: float
    seconds: float
    counts: tuple[int, ...] = ()


def main() -> None:
    """Print a table for each machine."""
    warnings.simplefilter("ignore")
    wanted = [word for word in sys.argv[1:] if word != "--draw"]
    chosen = [name for name in MACHINES if not wanted or any(name.startswith(word) for word in wanted)]
    found = {}
    for name in chosen:
        found[name] = runs_of(MACHINES[name])
        if name == "governor":
            found[name] += _exudyn()
        tell(name, MACHINES[name], found[name])
    if "--draw" in sys.argv:
        _draw(found, Path(__file__).parents[1] / "docs" / "images" / "stiff.png")


def runs_of(machine: Machine, **options: Any) -> list[Ran]:
    """All methods at all their tolerances, as far as time allows; options are those of `Simulation`."""
    simulation = Simulation(machine.make(), **options)
    channels = {channel.name for channel in simulation.program.channels}
    names = [name for name in simulation.program.coordinates if name in channels]
    names = names or sorted(name for name in channels if name[:-1].endswith(".position."))  # of free bodies
    method, tolerance = machine.truth
    truth, *_ = _measured(simulation, machine, method, tolerance, names, 1)
    found = []
    for method, settings in METHODS.items():
        for setting in settings if machine.explicit or method not in ("dopri5", "rk4") else ():
            end, seconds, counts = _measured(simulation, machine, method, setting, names)
            error = float(np.abs(end - truth).max()) if end is not None and truth is not None else np.inf
            if np.isfinite(error):
                found.append(Ran(method, setting, max(error, machine.finest), seconds, counts))
            if seconds > MOST / ROUNDS:
                break
    return found


def _measured(
    simulation: Simulation, machine: Machine, method: str, setting: float, names: Iterable[str], rounds: int = ROUNDS
) -> tuple[np.ndarray | None, float, tuple[int, ...]]:
    """The coordinates at the end (None: the run did not get there), the processor time and the counts of a run."""
    if method == "rk4":
        settings = Settings(method, machine.until, setting, max(1, round(machine.until / setting)))
    else:
        settings = Settings(method, machine.until, machine.until, 1, setting, 1e-3 * setting)
    best, result = np.inf, None
    for _ in range(rounds + 1):  # the first compiles
        begun = clock.process_time()
        result = simulation.run(settings, channels=list(names), progress=False)
        spent = clock.process_time() - begun
        best = min(best, spent) if _ or rounds == 1 else np.inf
        if spent > MOST / ROUNDS and _:
            break
    assert result is not None
    counts = tuple(int(result.statistics.get(kind, 0)) for kind in ("steps", "evaluations", "jacobians"))
    end = np.array([result[name][-1] for name in names]) if result.status.ok else None
    return end, best, counts


def tell(name: str, machine: Machine, runs: list[Ran]) -> None:
    """Print a table."""
    rows = []
    for run in runs:
        slower = [one.seconds for one in runs if one.method == "Radau" and one.error <= run.error * 1.001]
        times = f"{min(slower) / run.seconds:.1f}" if slower else ""
        steps, evaluations, jacobians = run.counts or ("", "", "")
        rows.append(
            (run.method, f"{run.setting:.0e}", f"{run.error:.1e}", steps, evaluations, jacobians,
             f"{1e3 * run.seconds:.2f}", times)
        )  # fmt: skip
    head = ("method", "tolerance or step", "error", "steps", "evaluations", "Jacobians", "ms", "times Radau")
    show(f"{name} ({machine.until:g} s)", head, rows)
    conclude(machine, runs)


def conclude(machine: Machine, runs: list[Ran], explicit: bool | None = None) -> None:
    """What must be shown, in one line: at equal error, how much quicker than Radau, or than the explicit methods."""
    ours = [run for run in runs if run.method == "esdirk4"]
    explicit = not machine.stiff if explicit is None else explicit
    others = ("dopri5", "rk4") if explicit else ("Radau",)
    ratios = []
    for run in (one for one in ours if one.error > machine.finest):
        as_exact = [one.seconds for one in runs if one.method in others and one.error <= run.error * 1.001]
        if as_exact:
            ratios.append(min(as_exact) / run.seconds)
    if ratios:
        what = "quicker than the best explicit method" if explicit else "quicker than Radau"
        print(f"\nesdirk4 is {min(ratios):.2g} to {max(ratios):.2g} times {what} at an error not larger.")


def _draw(found: dict[str, list[Ran]], target: Path) -> None:
    """Work-precision diagrams: processor time over error, one for each machine."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure

    from kompono.edges.plot import COLOURS, STYLE

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 2.9 * -(-len(found) // 2)), layout="constrained")
        places = np.atleast_1d(figure.subplots(-(-len(found) // 2), 2)).ravel()
        labels = [*METHODS, "Exudyn generalized alpha"]
        for place, (name, runs) in zip(places, found.items(), strict=False):
            for number, method in enumerate(labels):
                points = [(run.error, 1e3 * run.seconds) for run in runs if run.method == method]
                if points:
                    place.loglog(*zip(*points, strict=True), "o-", ms=3, color=COLOURS[number], label=method)
            place.set_title(name, fontsize=9)
            place.set_xlabel("error at the end [m, rad]")
            place.set_ylabel("processor time [ms]")
        for place in places[len(found) :]:
            place.axis("off")
        places[-1].legend(*places[0].get_legend_handles_labels(), loc="center", fontsize=8)
        figure.savefig(target, dpi=110)


def _exudyn() -> list[Ran]:
    try:
        from stiff_exudyn import governor
    except ImportError as error:
        print(f"exudyn: not run, {error}", file=sys.stderr)
        return []
    published = 0.61962291706
    found = []
    for step in (2e-3, 1e-3, 5e-4):
        height, seconds = governor(step)
        found.append(Ran("Exudyn generalized alpha", step, abs(height - published), seconds))
    return found


if __name__ == "__main__":
    main()
