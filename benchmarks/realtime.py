"""Load and jitter of the examples in real time, by the distance of frames; one observer reads a channel each frame.

Jitter is the system's as much as ours: compare on a machine with nothing else to do.
"""

from __future__ import annotations

from tables import show

from kompono import Simulation
from kompono.realtime import LiveFrame, RealTime
from kompono.solve.integrate import Settings

SECONDS = 4.0


def watch(frame: LiveFrame) -> None:
    """Read one channel."""
    assert frame["energy.total"] == frame["energy.total"]


def main() -> None:
    """One line per machine and frame."""
    from kompono.examples.balance import Balance
    from kompono.examples.car import Car
    from kompono.examples.engine import Engine

    rows = []
    for machine, step in ((Balance, 1e-3), (Car, 1e-3), (Engine, 5e-4)):
        simulation = Simulation(machine())
        for frame in (1e-3, 5e-3, 2e-2):
            settings = Settings("rk4", until=SECONDS, step=step)
            account = simulation.run(settings, realtime=RealTime(frame, on_frame=watch)).statistics["realtime"]
            loads = [f"{100 * account[name]:.1f}" for name in ("load_mean", "load_max")]
            jitter = [f"{1e6 * account[f'jitter_{name}']:.0f}" for name in ("mean", "99", "max")]
            late = f"{account['late']} of {account['frames']}"
            rows.append([machine.__name__, f"{1e3 * step:g}", f"{1e3 * frame:g}", *loads, late, *jitter])
    head = [
        "machine",
        "step ms",
        "frame ms",
        "load %",
        "at most %",
        "late frames",
        "jitter us",
        "99 % us",
        "at most us",
    ]
    show(f"{SECONDS:g} s in real time, rk4", head, rows)


if __name__ == "__main__":
    main()
