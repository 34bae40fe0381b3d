"""Friction and impact: Kompono and other simulators on problems with known answers, and what contacts cost here.

python benchmarks/nonsmooth.py              both tables (peers that are not installed are named and left out)
python benchmarks/nonsmooth.py costs        only what contacts cost

Errors are those of positions [m] against exact answers (`peers/rough.py`); seconds are processor time of steps and
events for one simulated second, the least of three, without what comes before the first step. Costs of steps are
processor time, the least of 15. Forces that change with time come from Python in all simulators but Kompono. A box in
Drake touches by four small spheres. It takes one or two minutes on busy cores.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # before anything with threads is imported

import importlib
import sys
import time as clock
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "peers")]

import rough  # noqa: E402
from tables import show  # noqa: E402

from kompono import Body, Ground, Simulation, Subsystem, time  # noqa: E402
from kompono.library import Contact, Gravity, solids  # noqa: E402
from kompono.solve.settling import settler_of  # noqa: E402

PEERS = ("kompono", "mujoco", "drake", "exudyn")
ROUNDS = 3
STEP, STEPS, REPEATS = 1e-4, 2000, 15  # of what contacts cost


def main() -> None:
    """Print the tables."""
    warnings.simplefilter("ignore")
    if sys.argv[1:] != ["costs"]:
        compare()
    costs()


def compare() -> None:
    """Accuracy and cost of all simulators."""
    rows = []
    for name in PEERS:
        try:
            peer = importlib.import_module(f"rough_{name}")
        except ImportError as error:
            print(f"{name}: not run, {error}", file=sys.stderr)
            continue
        for label, setting in peer.settings().items():
            print(f"  {peer.NAME} {label}", file=sys.stderr, flush=True)
            rows.append([f"{peer.NAME} {peer.version()}, {label}", *_slopes(peer, "brick", setting)])
            rows[-1] += [*_slopes(peer, "slider", setting), *_oscillator(peer, setting), *_ball(peer, setting)]
    head = ["", "creep 10 s", "slide 10 s", "stop", "ms per s at rest", "sliding"]
    show("n02, a box on four corners: errors [m]", head, [row[:6] for row in rows])
    show("n02, a mass on a rail: errors [m]", head, [row[:1] + row[6:11] for row in rows])
    show("n06: largest error [m]", ["", "error", "ms per s"], [row[:1] + row[11:13] for row in rows])
    show("n01: error of the third apex [m]", ["", "error", "ms per s"], [row[:1] + row[13:] for row in rows])


def _best(run: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """What a run gives, with the least of its times."""
    return min((run() for _ in range(ROUNDS)), key=lambda found: found[-1])


def _slopes(peer: Any, kind: str, setting: Any) -> list[str]:
    if not hasattr(peer, kind):
        return ["-"] * 5
    run = getattr(peer, kind)
    creep, slide = (_best(lambda case=case: run(setting, case)) for case in (rough.CREEP, rough.SLIDE))
    errors = [creep[0] - rough.CREEP.way, slide[0] - rough.SLIDE.way, run(setting, rough.STOP)[0] - rough.STOP.way]
    return [*(f"{abs(error):.1e}" for error in errors), f"{1e3 * creep[1]:.3g}", f"{1e3 * slide[1]:.3g}"]


def _oscillator(peer: Any, setting: Any) -> list[str]:
    if not hasattr(peer, "oscillator"):
        return ["-"] * 2
    times, positions, seconds = _best(lambda: peer.oscillator(setting))
    return [f"{np.abs(positions - rough.driven(np.asarray(times))).max():.1e}", f"{1e3 * seconds:.3g}"]


def _ball(peer: Any, setting: Any) -> list[str]:
    if not hasattr(peer, "ball"):
        return ["-"] * 2
    heights, seconds = _best(lambda: peer.ball(setting))
    return [f"{abs(_apex(heights, 3) - rough.APEX):.1e}", f"{1e3 * seconds:.3g}"]


def _apex(z: np.ndarray, number: int) -> float:
    """Height of an apex, by the parabola through three steps."""
    tops = [k for k in range(1, len(z) - 1) if z[k] >= z[k - 1] and z[k] > z[k + 1] and z[k] > 0.02]
    before, top, after = z[tops[number - 1] - 1 : tops[number - 1] + 2]
    slope, bend = (after - before) / 2, after - 2 * top + before
    return float(top - slope**2 / bend / 2)


class Plate(Subsystem):
    """A plate on a circle of feet (one: in its middle), `height` [m] above the floor, sliding with `speed` [m/s]. Its
    weight grows with time, by nothing to speak of: else a plate at rest would not be computed at all.
    """

    def __init__(self, feet: int, height: float, speed: float, mu: float) -> None:
        self.ground, self.gravity = Ground(), Gravity((0, 0, -9.81 - 1e-9 * time))
        self.plate = Body(
            solids.box(mass=2.0, size=(1, 1, 0.1)), start_position=(0, 0, height), start_velocity=(speed, 0, 0)
        )
        if feet:
            angles = 2 * np.pi * np.arange(feet) / feet
            places = (feet > 1) * np.column_stack([np.cos(angles), np.sin(angles), 0 * angles])
            self.feet = Contact(self.ground.plane(), self.plate.points(*places), mu=mu)


def costs() -> None:
    """What open and closed contacts cost."""
    rows = []
    for mu in (0.0, 0.5):
        for feet in (0, 1, 4, 16, 100):
            if mu and feet in (0, 100):
                continue
            states = {"open": (1.0, 0.0)}
            if feet in (1, 4, 16):
                states |= {"held": (0.0, 0.0), "slide": (0.0, 5.0)}
            found = {name: _cost(Plate(feet, *state, mu)) for name, state in states.items()}
            counts = found["open"][0]
            numbers = [f"{counts.get(name, 0):,}" for name in ("derivative", "guards", "law_respond")]
            times = [f"{found[name][1]:.2f}" if name in found else "-" for name in ("open", "held", "slide")]
            rows.append([f"{feet}, {'rough' if mu else 'smooth'}", *numbers, *times])
    head = ["contacts of one body", "derivative", "guards", "respond", "open", "held", "sliding"]
    show("instructions of routines, us of an rk4 step", head, rows)


def _cost(model: Subsystem) -> tuple[dict[str, int], float]:
    """Instructions of routines, and microseconds of a step."""
    simulation = Simulation(model)
    simulation.kernel.prepare(method="rk4")
    start, settler = simulation.assemble().state, settler_of(simulation.kernel)
    if settler is not None:
        start = settler.start(0.0, start, np.zeros(0), simulation.parameters(), STEP)
    times = []
    for _ in range(REPEATS):
        run = simulation.kernel.fixed("rk4", 0.0, start, step=STEP)
        begun = clock.process_time()
        run.advance(STEPS)
        times.append((clock.process_time() - begun) / STEPS)
    return dict(simulation.kernel.instructions), 1e6 * min(times)


if __name__ == "__main__":
    main()
