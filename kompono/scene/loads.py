"""Signs for forces, efforts on joints and couplings: coils that stretch, telescoping dampers, arrows, gears."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from kompono.library import forces, gears
from kompono.model.constraint import Coupling
from kompono.model.force import Effort, Force
from kompono.scene.marks import Sign
from kompono.scene.scene import ScenePiece
from kompono.scene.values import SymbolValues

SPRING, DAMPER, LOAD, DRIVE, GEAR, RUBBER = "#d8442f", "#3b424c", "#e8a013", "#2a9d62", "#b58b33", "#2f2f33"


def _spring_damper(sign: Sign, force: Any, values: SymbolValues, length: float) -> None:
    s = sign.s
    coil = min(max(1.2 * s, 0.13 * length), 1.6 * s)
    if values.nonzero(force.k):
        sign.span("helix", colour=SPRING, radius=coil, wire=0.15 * coil, turns=7)
    if values.nonzero(force.c):
        sign.span("strut", "first", colour=DAMPER, length=0.55 * length, radius=0.5 * coil)
        sign.span("strut", "second", colour="#aab2bc", length=0.6 * length, radius=0.22 * coil)
    if not sign.pieces:
        _between(sign, force, values, length)


def _bushing(sign: Sign, *_: Any) -> None:
    sign.put("first", "tube", "z", length=1.4 * sign.s, radius=1.5 * sign.s, wall=0.6 * sign.s, colour=RUBBER)
    sign.put("second", "cylinder", "z", length=1.8 * sign.s, radius=0.6 * sign.s)


def _applied(sign: Sign, force: Any, *_: Any) -> None:
    """Arrows of two heads along the axes in which something may act; which way, only a run knows."""
    s = sign.s
    for vector, kind in ((force.given_force, "line"), (force.given_torque, "turning")):
        acts = np.array([not vector[k].is_zero() for k in range(3)], dtype=float)
        if acts.any():
            axis = acts / np.linalg.norm(acts)
            sizes = {"length": 6 * s, "radius": 0.3 * s} if kind == "line" else {"radius": 2 * s, "thickness": 0.2 * s}
            sign.put("second", kind, axis, colour=LOAD, **sizes)


def _between(sign: Sign, force: Any, *_: Any) -> None:
    if force.first is None:
        sign.put("second", "line", "z", colour=LOAD, length=6 * sign.s, radius=0.3 * sign.s)
    else:
        sign.span("strut", colour=LOAD, length=1.0, radius=0.2 * sign.s)


FORCES: dict[type, Callable[..., None]] = {
    forces.SpringDamper: _spring_damper,
    forces.Bushing: _bushing,
    forces.AppliedLoad: _applied,
    Force: _between,
}


def draw_force(sign: Sign, force: Force, values: SymbolValues, length: float) -> list[ScenePiece]:
    """The pieces of a force; `length` [m] is about that of its line."""
    for kind in type(force).__mro__:
        if kind in FORCES:
            FORCES[kind](sign, force, values, length)
            break
    return sign.pieces


def draw_effort(sign: Sign, effort: Effort) -> list[ScenePiece]:
    """A torsion spring or an arrow, straight or bent as the coordinate of its joint is."""
    s, joint = sign.s, effort.joint
    index = getattr(effort, "index", 0)
    if isinstance(effort, forces.RotationalSpringDamper):
        sign.put("first", "spiral", _axis(joint), colour=SPRING, radius=1.9 * s, wire=0.14 * s)
    else:
        _arrow(sign, joint, index, LOAD)
    return sign.pieces


def draw_coupling(sign: Sign, coupling: Coupling, joint: Any) -> list[ScenePiece]:
    """A toothed wheel at each joint of a gear, an arrow at a driven joint."""
    if isinstance(coupling, gears.Gear):
        s = sign.s
        sign.put("second", "plate", _axis(joint), shift=1.3 * s, colour=GEAR, outline=teeth(2.2 * s), thickness=0.5 * s)
    else:
        _arrow(sign, joint, 0, DRIVE)
    return sign.pieces


def _arrow(sign: Sign, joint: Any, index: int, colour: str) -> None:
    s = sign.s
    units = joint.units or ("",)
    if units[min(index, len(units) - 1)] == "m":
        sign.put("second", "line", _axis(joint), colour=colour, length=5 * s, radius=0.25 * s)
    else:
        sign.put("first", "turning", _axis(joint), colour=colour, radius=1.9 * s, thickness=0.16 * s)


def _axis(joint: Any) -> Any:
    return next((getattr(joint, name) for name in ("axis", "normal", "first_axis") if hasattr(joint, name)), "z")


def teeth(radius: float, count: int = 16) -> tuple[tuple[float, float], ...]:
    """The outline of a toothed wheel."""
    angles = 2 * np.pi * (np.arange(4 * count) + 0.5) / (4 * count)
    reach = radius * np.tile([1.0, 1.0, 0.84, 0.84], count)
    return tuple(zip((reach * np.cos(angles)).tolist(), (reach * np.sin(angles)).tolist(), strict=True))


def gravity_of(fields: Any, values: SymbolValues) -> np.ndarray | None:
    """The acceleration (3,) of the first uniform field that points somewhere."""
    for field in fields:
        vector = values.array(ca.SX(field.acceleration(ca.SX.zeros(3))))
        if vector is not None and np.linalg.norm(vector) > 0:
            return vector.ravel()
    return None
