"""What was asked of the start beside what it became."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kompono.solve.bodies import actual, turn_between
from kompono.solve.loops import Loops

NOTED = 1e-6  # [rad, m, ...] differences below this are not worth a word
_UNITS = {"position": "m", "orientation": "rad", "velocity": "m/s", "angular_velocity": "rad/s"}


@dataclass(frozen=True)
class NotKept:
    """A start value, what was asked and what it became, and by how much it is `off` [`off_unit`]."""

    name: str
    asked: str
    became: str
    unit: str
    off: float
    off_unit: str = ""

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        far = f", off by {self.off:.3g} {self.off_unit}" if self.off_unit else ""
        return f"{self.name} asked {self.asked}{unit}, became {self.became}{unit}{far}"


def not_kept(loops: Loops, state: np.ndarray) -> tuple[NotKept, ...]:
    """All start values that are not as they were asked for."""
    return (*_coordinates(loops, state), *_closing_joints(loops, state), *_bodies(loops, state))


def _coordinates(loops: Loops, state: np.ndarray) -> list[NotKept]:
    """Coordinates and speeds of joints in the tree."""
    start, found = loops.start, []
    names = (*loops.kernel.program.coordinates, *loops.kernel.program.speeds)
    given = np.concatenate([start.given_coordinates, start.given_speeds])
    units = (*start.units, *loops.speed_units)
    roots = {k for body in start.bodies if body.root for k in range(body.root[0], body.root[0] + 7)}
    roots |= {loops.nq + k for b in start.bodies if b.root for k in range(b.root[1], b.root[1] + 6)}
    for k in np.flatnonzero(given):
        off = state[k] - start.state[k]
        if abs(off) > NOTED and int(k) not in roots:
            found.append(NotKept(names[k], f"{start.state[k]:.6g}", f"{state[k]:.6g}", units[k], float(off)))
    return found


def _closing_joints(loops: Loops, state: np.ndarray) -> list[NotKept]:
    """Coordinates and speeds of joints that close loops; an angle that is whole turns off is not as asked either."""
    if not loops.start.joints:
        return []
    q, _, speeds, _ = loops.measured(state)
    found = []
    for joint in loops.start.joints:
        count = len(joint.units)
        values = np.concatenate([q[joint.place : joint.place + count], speeds[joint.speed_place :]])
        turned = np.flatnonzero(joint.quaternion)
        if len(turned) and values[turned] @ joint.values[turned] < 0:
            values[turned] *= -1
        units = (*joint.units, *(f"{unit}/s" if unit else "" for unit in joint.units))
        for k in np.flatnonzero(joint.given):
            off = values[k] - joint.values[k]
            if abs(off) > NOTED:
                unit = units[k] if (k < len(units) and len(joint.values) == 2 * count) or k < count else ""
                name, asked = joint.names[k], f"{joint.values[k]:.6g}"
                found.append(NotKept(name, asked, f"{values[k]:.6g}", unit, float(off)))
    return found


def _bodies(loops: Loops, state: np.ndarray) -> list[NotKept]:
    """Starts of bodies. What the call gives stands over those of bodies on joints."""
    bodies = [body for body in loops.start.bodies if body.root is not None or not loops.start.called]
    if not bodies:
        return []
    now, found = actual(loops, state, bodies), []
    for body in bodies:
        for kind, asked in body.values.items():
            value = now[body.path][kind]
            off = turn_between(asked, value) if kind == "orientation" else value - asked
            size = float(np.linalg.norm(off))
            if size > NOTED * max(1.0, float(np.abs(asked).max())):
                found.append(_body(body.path, kind, asked, value, size))
    return found


def _body(path: str, kind: str, asked: np.ndarray, value: np.ndarray, off: float) -> NotKept:
    words = [f"({', '.join(f'{x:.5g}' for x in column)})" for column in (asked, value)]
    unit = "" if kind == "orientation" else _UNITS[kind]
    return NotKept(f"{path}.start_{kind}", words[0], words[1], unit, off, _UNITS[kind])
