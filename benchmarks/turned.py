"""Machines turned in space: the same motion, seen in other axes, and what a step costs.

python benchmarks/turned.py                     operations and processor time of a step, along axes and turned
python benchmarks/turned.py 'four-bars, 10'     of one of them

`turned(model, rotation)` turns a machine as a whole and gives every ground, body and joint axes of its own, so that no
vector that is written down anywhere has a zero left in it. Coordinates of joints stay what they were.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

from kompono import Body, Ground, Simulation, Subsystem
from kompono.library import Gravity, Planar
from kompono.model.body import Frame
from kompono.model.constraint import Constraint
from kompono.model.force import Force
from kompono.model.joint import Joint
from kompono.spatial.pose import Pose
from kompono.translate.counted import operations

TURN = Rotation.from_rotvec([0.5, -0.9, 0.3]).as_matrix()
ROUNDS, STEPS = 25, 3000
AXES = ("axis", "normal", "line", "first_axis", "second_axis")  # what elements call the directions they are given


def turned(model: Subsystem, rotation: np.ndarray, *, axes: bool = True, seed: int = 0) -> Subsystem:
    """Turn a model that was just made by `rotation` (3, 3) about the origin of the world; with `axes`, bodies and
    joints are declared in axes of their own as well. Laws must not use symbols in world axes.
    """
    random = np.random.default_rng(seed)

    def some() -> np.ndarray:
        return Rotation.from_quat(random.standard_normal(4)).as_matrix() if axes else np.eye(3)

    elements = list(model.walk())
    own: dict[Any, np.ndarray] = {}
    for body in elements:
        if isinstance(body, Ground):
            own[body] = some()
            place, turn = ca.DM(body.motion.position).full(), ca.DM(body.motion.rotation).full()
            body.motion = Pose(ca.SX(rotation @ place), ca.SX(rotation @ turn @ own[body]))
        elif isinstance(body, Body):
            own[body] = some()
            _turn_body(body, rotation, own[body])
    for element in elements:
        if isinstance(element, Gravity):
            element.vector = ca.SX(ca.DM(rotation)) @ element.vector
        if isinstance(element, Joint | Constraint | Force):
            bound = isinstance(element, Planar) or (isinstance(element, Joint) and type(element).rate is not Joint.rate)
            plain = not bound and not isinstance(element, Force)  # others mean something by the axes of their frames
            _turn_element(element, own, some() if plain else np.eye(3))
    return model


def _turn_body(body: Body, rotation: np.ndarray, own: np.ndarray) -> None:
    solid = body.solid
    object.__setattr__(solid, "inertia", own.T @ solid.inertia @ own)
    for name in ("position", "velocity", "angular_velocity"):
        setattr(body, f"start_{name}", rotation @ getattr(body, f"start_{name}"))
    w, *xyz = body.start_orientation
    start = rotation @ Rotation.from_quat([*xyz, w]).as_matrix() @ own
    x, y, z, w = Rotation.from_matrix(start).as_quat()
    body.start_orientation = np.array([w, x, y, z])


def _turn_element(element: Any, own: dict[Any, np.ndarray], axes: np.ndarray) -> None:
    """Put both frames of an element on the turned bodies, with `axes` (3, 3) of its own."""
    for name in ("first", "second"):
        frame = getattr(element, name)
        if frame is not None:
            turn = own[frame.body]
            place, old = ca.DM(frame.pose.position).full(), ca.DM(frame.pose.rotation).full()
            setattr(element, name, Frame(frame.body, Pose(ca.DM(turn.T @ place), ca.DM(turn.T @ old @ axes)), frame))
    for name in AXES:
        if isinstance(getattr(element, name, None), np.ndarray):
            setattr(element, name, axes.T @ getattr(element, name))


def cases() -> dict[str, Any]:
    """Machines by name, made by calling."""
    sys.path[:0] = [str(Path(__file__).parent / "peers"), str(Path(__file__).parent)]
    import machines

    from kompono.examples.reference.slider_crank import SliderCrank

    found = {case.name: case.model for case in machines.cases()}
    chosen = ("inline-four", "four-bars, 10", "car", "chain, 32")
    return {name: found[name] for name in chosen} | {"slider-crank": SliderCrank}


def main() -> None:
    """Print a table."""
    warnings.simplefilter("ignore")
    print("| machine | derivative | turned | projection | turned | us per rk4 step | turned |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, make in cases().items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        both = [Simulation(make()), Simulation(turned(make(), TURN))]
        for one in both:
            one.kernel.prepare(method="rk4")
        counts = [[counted(one, routine) for one in both] for routine in ("derivative", "project")]
        told = [*map(str, (*counts[0], *counts[1])), *(f"{1e6 * seconds:.2f}" for seconds in timed(both))]
        print(f"| {name} | {' | '.join(told)} |", flush=True)


def counted(simulation: Simulation, name: str) -> int:
    """Operations of a routine, none if there is none."""
    program = simulation.program
    return operations(program.routines[name], program.kernels) if name in program.routines else 0


def timed(simulations: list[Simulation]) -> list[float]:
    """Least processor time of an rk4 step of 1 ms, of machines that run in turn."""
    starts, best = [one.assemble().state for one in simulations], [float("inf")] * len(simulations)
    for _ in range(ROUNDS):
        for k, one in enumerate(simulations):
            begun = time.process_time()
            one.kernel.fixed("rk4", 0.0, starts[k], step=1e-3, every=STEPS).advance(STEPS)
            best[k] = min(best[k], (time.process_time() - begun) / STEPS)
    return best


if __name__ == "__main__":
    main()
