"""How close to real time the discrete engine runs: computing time over simulated time, by machine and step.

python benchmarks/discrete.py            the table
python benchmarks/discrete.py --quick    shorter runs

The time is processor time of the native loop (one thread, one core), the best of several chunks of one run, so that
what others do on the machine counts little. Accuracy is the largest violation of a joint condition [m, rad] at the end.
"""

from __future__ import annotations

import argparse
import time as clock

from kompono import Simulation, Subsystem
from kompono.compile import ChunkEnd
from kompono.examples.car import Car
from kompono.examples.engine import Engine
from kompono.examples.kuka import Kuka
from kompono.examples.reference.n_four_bar import NFourBar

MACHINES = {
    "KUKA robot, motor encoders": lambda: Kuka(motor_encoders=True),
    "12 windows (four-bars)": lambda: NFourBar(12),
    "inline-four engine": lambda: Engine(starter=False),
    "car": Car,
}
STEPS = (1e-5, 5e-6, 2e-6)
CHUNKS = 15


def loads(model: Subsystem, seconds: float) -> tuple[int, int, int, dict[float, tuple[float, float]]]:
    """Bodies, joints and constraints, conditions, and (microseconds of a step, largest violation) by step."""
    simulation = Simulation(model, engine="discrete")
    engine, feed = simulation.translation.engine, simulation.feed()
    found = {}
    state = simulation.assemble(feed=feed).state
    for step in STEPS:
        parameters = simulation.completed(simulation.parameters(), state, feed, step)
        run = simulation.kernel.fixed("leapfrog", 0.0, state, step=step, parameters=parameters, every=1 << 40)
        best = 1e9
        for _ in range(CHUNKS):
            steps = max(1, round(seconds / step / CHUNKS))
            begun = clock.process_time()
            if run.advance(steps) is not ChunkEnd.OK:
                raise RuntimeError(f"{type(model).__name__} stopped at {run.time} s with a step of {step} s")
            best = min(best, (clock.process_time() - begun) / steps)
        drift = simulation.channel(run.time, run.state, feed.at(run.time), parameters, "drift.position")
        found[step] = 1e6 * best, drift
    connections = len(engine.model.joints) + len(engine.model.constraints) + len(engine.model.couplings)
    return len(engine.model.bodies), connections, len(engine.row_labels()), found


def main() -> None:
    """Print a table for docs/theory/discrete.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the simulated time")
    seconds = 0.05 if parser.parse_args().quick else 0.5
    head = "".join(f" load at {step * 1e6:g} us |" for step in STEPS)
    print(f"| machine | bodies | joints, constraints | conditions | us a step |{head} violation at 10 us |")
    print("|---" * (6 + len(STEPS)) + "|")
    for name, make in MACHINES.items():
        bodies, connections, rows, found = loads(make(), seconds)
        fastest = min(time for time, _ in found.values())
        cells = "".join(f" {fastest / (1e6 * step):.2f} |" for step in STEPS)
        print(f"| {name} | {bodies} | {connections} | {rows} | {fastest:.2f} |{cells} {found[STEPS[0]][1]:.1e} |")


if __name__ == "__main__":
    main()
