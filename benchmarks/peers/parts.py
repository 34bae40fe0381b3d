"""A neutral machine: tables of links, loops, springs and torques every peer can be built from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

WORLD = -1
Array = np.ndarray


class Place(NamedTuple):
    """A frame in another: position [m] and rotation."""

    position: Array
    rotation: Array

    def __matmul__(self, inner: Place) -> Place:  # type: ignore[override]
        return Place(self.position + self.rotation @ inner.position, self.rotation @ inner.rotation)

    def inverse(self) -> Place:
        """The other way round."""
        return Place(-self.rotation.T @ self.position, self.rotation.T)


HERE = Place(np.zeros(3), np.eye(3))


@dataclass
class Link:
    """A rigid body on one freedom: `place` of its joint in the parent, mass, centre of mass, inertia about it."""

    channel: str  # of the coordinate in Kompono
    parent: int
    slides: bool
    axis: Array
    place: Place
    start: tuple[float, float]
    mass: float = 0.0
    centre: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))


class Loop(NamedTuple):
    """Two points that coincide; `across` is the direction in the first link along which they do so by symmetry."""

    first: int
    at_first: Array
    second: int
    at_second: Array
    across: Array


class Spring(NamedTuple):
    """A spring and damper between two points: stiffness [N/m], damping [N s/m], length at rest [m]."""

    first: int
    at_first: Array
    second: int
    at_second: Array
    k: float
    c: float
    rest: float


class Law(NamedTuple):
    """A torque on a joint: gain (cosine cos wt + stiffness (r - q) + damping (r' - q')), r = amplitude (1 - cos wt)/2,
    q the angle of the `sensor`.
    """

    joint: int
    sensor: int
    gain: float
    cosine: float
    stiffness: float
    damping: float
    amplitude: float
    omega: float


@dataclass
class Machine:
    """All a peer needs. `gears` are (joint, free joint, ratio): q of the first is ratio times that of the second."""

    links: list[Link]
    loops: list[Loop]
    springs: list[Spring]
    gravity: Array
    bodies: dict[str, tuple[int, Place]]  # Kompono's bodies: on which link, and where
    laws: list[Law] = field(default_factory=list)
    gears: list[tuple[int, int, float]] = field(default_factory=list)

    def index(self, channel: str) -> int:
        """The link a coordinate of Kompono moves."""
        return [link.channel for link in self.links].index(channel)

    def start(self) -> tuple[Array, Array]:
        """Coordinates and speeds at time 0."""
        return tuple(np.array([link.start for link in self.links]).T.copy())  # type: ignore[return-value]

    def gear_matrix(self) -> Array:
        """All speeds from the free ones."""
        driven = {joint for joint, _, _ in self.gears}
        free = [k for k in range(len(self.links)) if k not in driven]
        matrix = np.eye(len(self.links))[:, free]
        for joint, source, ratio in self.gears:
            matrix[joint, free.index(source)] = ratio
        return matrix
