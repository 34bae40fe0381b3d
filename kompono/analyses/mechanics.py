"""Mass matrix, conditions and multipliers at a state, in joint coordinates.

    M v_dot = Q + G^T lambda,      G v_dot + u = 0

M is summed over the bodies: twists are linear in the speeds, and columns of that map are what unit speeds do.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from kompono.analyses.point import Point
from kompono.errors import RunError
from kompono.spatial.rotation import quaternion_matrix
from kompono.translate.parts.by_parts import ByParts
from kompono.translate.parts.sealed import sealed_in


@dataclass(frozen=True, eq=False)
class Mechanics:
    """Equations of motion at a state, in the joint coordinates of the tree.

    `coordinates`, `speeds` and `conditions` are names (of a condition: the element it belongs to), `accelerations` (v)
    [SI], `mass_matrix` (v, v), `jacobian` G (conditions, v), `bias` u and `multipliers` lambda (conditions): G^T lambda
    is the generalized force of what closes loops. Of redundant conditions multipliers are one choice of many.
    """

    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    conditions: tuple[str, ...]
    accelerations: np.ndarray
    mass_matrix: np.ndarray
    jacobian: np.ndarray
    bias: np.ndarray
    multipliers: np.ndarray

    @property
    def forces(self) -> np.ndarray:
        """Q (v): generalized forces of everything but what closes loops, gyroscopic ones included."""
        return self.mass_matrix @ self.accelerations - self.jacobian.T @ self.multipliers


def find_mechanics(point: Point) -> Mechanics:
    """The equations of motion at a point."""
    refuse_sealed(point)
    program, engine = point.simulation.program, point.simulation.near.engine
    _, _, matrix, bias = point.conditions()
    accelerations, multipliers = point.rate[point.place.v], np.zeros(0)
    if len(bias) and "multipliers" not in program.routines:
        raise RunError("multipliers inside closed parts are not told.", fix="Open the parts: leave out closed=.")
    if len(bias):
        multipliers = -point.evaluate("multipliers")[0]  # the elimination counts them the other way round
    labels = tuple(engine.row_labels()) if len(bias) else ()
    names = program.coordinates, program.speeds, labels
    return Mechanics(*names, accelerations, mass_matrix(point), matrix, bias, multipliers)


def mass_matrix(point: Point) -> np.ndarray:
    """M (v, v): sum over bodies of J^T diag(m, I) J, with J from speeds to their twists."""
    refuse_sealed(point)
    still = twists(point, np.zeros(len(point.simulation.program.speeds)))
    found = np.zeros((len(point.simulation.program.speeds),) * 2)
    for place, inertia, _ in lumps(point):
        found[place, place] += inertia
    if not found.size or not len(still):
        return found
    columns = np.array([twists(point, unit) - still for unit in np.eye(len(found))])  # (v, bodies, 6)
    for number, (mass, inertia) in enumerate(solids(point)):
        moved, turned = columns[:, number, :3], columns[:, number, 3:]
        found += mass * moved @ moved.T + turned @ inertia @ turned.T
    return found


def unknown_masses(point: Point) -> list[str]:
    """Paths of parts whose masses nobody here knows: they are sealed, or elsewhere."""
    program, engine = point.simulation.program, point.simulation.near.engine
    away = [path for paths in program.away.values() for path in paths] or [path for path, _ in program.opaque]
    return away or ([part.path for part in sealed_in(engine.compartment)] if isinstance(engine, ByParts) else [])


def refuse_sealed(point: Point) -> None:
    """Raise RunError where masses are not known."""
    if paths := unknown_masses(point):
        fix = "Ask its author for what you want to know, or with the component itself in its place."
        raise RunError("the mass matrix of what is sealed or elsewhere is not told.", path=" and ".join(paths), fix=fix)


def twists(point: Point, speeds: np.ndarray) -> np.ndarray:
    """Velocity and angular velocity (bodies, 6), the latter in body axes, of all bodies at real speeds."""
    state = point.state.copy()
    state[point.place.v] = speeds
    (values,) = point.with_state(state).evaluate("placement")
    placed = values[: 13 * len(point.simulation.translation.model.bodies)].reshape(-1, 13)
    spins = [
        spin @ np.asarray(ca.DM(quaternion_matrix(turned)))
        for turned, spin in zip(placed[:, 3:7], placed[:, 10:], strict=True)
    ]
    return np.hstack([placed[:, 7:10], np.array(spins).reshape(-1, 3)])


def lumps(point: Point) -> list[tuple[int, float, str]]:
    """Inertia on speeds (rotors): which speed, how much [kg m^2, kg], and the path of the component."""
    engine, found = point.simulation.near.engine, []
    places, place = {}, 0
    for joint in engine.joints:
        places[joint], place = place, place + joint.freedoms
    for lump in engine.model.lumps:
        (inertia,) = _numbers(point, [ca.SX(lump.inertia)])
        path = engine.model.path(lump.shown).rpartition(".")[0]
        found.append((places[lump.joint] + lump.place, float(inertia.item()), path))
    return found


def solids(point: Point) -> list[tuple[float, np.ndarray]]:
    """Mass [kg] and inertia (3, 3) [kg m^2] of every body, with the parameters of the point."""
    found = []
    for body in point.simulation.translation.model.bodies:
        mass, inertia = _numbers(point, [ca.SX(body.solid.mass), ca.SX(body.solid.inertia)])
        found.append((float(mass.item()), inertia))
    return found


def _numbers(point: Point, expressions: list[ca.SX]) -> list[np.ndarray]:
    """What expressions of parameters are with those of the point."""
    known = point.simulation.translation.model.parameters
    symbols = ca.vertcat(*[ca.SX(p) for p in known]) if known else ca.SX(0, 1)
    function = ca.Function("numbers", [symbols], [ca.densify(expression) for expression in expressions])
    found = function(point.parameters[: symbols.numel()])
    return [np.asarray(value.full()) for value in (found if len(expressions) > 1 else (found,))]
