"""How accurate a run was: positions of the witnesses, energy and gaps of the loops from joint coordinates and speeds.

One forward kinematics in NumPy judges all peers that live in joint coordinates, so none is judged by its own numbers.
The reference is Kompono's dopri5 with rtol 1e-12 on the whole model with all its conditions (rk4 with an eighth of the
step where the motion passes singular positions); that a peer comes near it is the check that both run the same machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from machines import Case
from parts import WORLD, Array, Machine


@dataclass
class Record:
    """Rows at the compared times: positions (rows, witnesses, 3) [m], energy (rows) [J], largest gap of a loop [m]."""

    positions: Array
    energy: Array | None = None
    gap: float | None = None
    kinetic: float = 0.0  # the largest [J], energies are relative to it


@dataclass
class Verdict:
    """Largest error of a position [m], largest relative change of energy, largest gap [m]."""

    error: float
    energy: float | None
    gap: float | None


def verdict(record: Record, exact: Record) -> Verdict:
    """Compare with the reference."""
    error = float(np.abs(record.positions - exact.positions).max())
    energy = None
    if record.energy is not None and exact.energy is not None:
        energy = float(np.abs(record.energy - record.energy[0]).max() / exact.kinetic)
    return Verdict(error if np.isfinite(error) else float("inf"), energy, record.gap)


def judged(case: Case, machine: Machine, q: Array, v: Array) -> Record:
    """The record of a run in joint coordinates, q and v (rows, links)."""
    frames = Frames(machine, q, v)
    positions = np.stack([frames.point(*_place(machine, name)) for name in case.witnesses], axis=1)
    gaps = [np.abs(frames.point(a, p) - frames.point(b, r)).max() for a, p, b, r, _ in machine.loops]
    kinetic, potential = frames.energies()
    energy = kinetic + potential if case.conservative else None
    return Record(positions, energy, max(gaps) if gaps else None, float(kinetic.max()))


def _place(machine: Machine, body: str) -> tuple[int, Array]:
    link, place = machine.bodies[body]
    return link, place.position


class Frames:
    """Position, rotation and velocities of every link's frame in the world, all rows at once."""

    def __init__(self, machine: Machine, q: Array, v: Array) -> None:
        self.machine, self.rows = machine, len(q)
        still = np.zeros((self.rows, 3))
        self.position, self.rotation, self.velocity, self.spin = {WORLD: still}, {}, {WORLD: still}, {WORLD: still}
        self.rotation[WORLD] = np.broadcast_to(np.eye(3), (self.rows, 3, 3))
        for k, link in enumerate(machine.links):
            above, turn = link.parent, self.rotation[link.parent]
            lever = turn @ link.place.position
            turn = turn @ link.place.rotation
            axis = turn @ link.axis
            speed = v[:, k, None] * axis
            if link.slides:
                lever = lever + q[:, k, None] * axis
            self.position[k] = self.position[above] + lever
            self.velocity[k] = self.velocity[above] + np.cross(self.spin[above], lever) + (speed if link.slides else 0)
            self.spin[k] = self.spin[above] + (0 if link.slides else speed)
            self.rotation[k] = turn if link.slides else turn @ _turned(link.axis, q[:, k])

    def point(self, link: int, at: Array) -> Array:
        """World positions of a point of a link."""
        return self.position[link] + self.rotation[link] @ at

    def energies(self) -> tuple[Array, Array]:
        """Kinetic and potential energy of the links in gravity."""
        kinetic, potential = np.zeros(self.rows), np.zeros(self.rows)
        for k, link in enumerate(self.machine.links):
            lever = self.rotation[k] @ link.centre
            speed = self.velocity[k] + np.cross(self.spin[k], lever)
            inner = np.einsum("sij,si->sj", self.rotation[k], self.spin[k])
            kinetic += link.mass * (speed**2).sum(1) / 2 + np.einsum("si,ij,sj->s", inner, link.inertia, inner) / 2
            potential -= link.mass * (self.position[k] + lever) @ self.machine.gravity
        return kinetic, potential


def _turned(axis: Array, angle: Array) -> Array:
    """Rotations about an axis by many angles."""
    x, y, z = axis
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    sine, cosine = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
    return np.eye(3) + sine * skew + (1 - cosine) * (skew @ skew)
