"""The catalogue in small machines, each element with its numbers by name, to see which of them are put in after
tracing. No number is 0, 1/2, 1 or 2, and none are equal: those are structure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from kompono import Body, Ground, Subsystem
from kompono.library import (
    AngleBetween,
    Chain,
    Cylindrical,
    Distance,
    Drive,
    Gear,
    Gravity,
    LineInPlane,
    LineOnLine,
    Link,
    ParallelAxes,
    Planar,
    PlaneToPlane,
    PointAroundLine,
    PointInPlane,
    PointOnLine,
    PointOnPoint,
    Polynomial,
    Prismatic,
    Revolute,
    Rolling,
    Rotor,
    Screw,
    Spherical,
    SpringDamper,
    Sum,
    Universal,
    slide,
    turn,
)
from kompono.model.signal import time


def _unit(*vector: float) -> np.ndarray:
    return np.array(vector) / np.linalg.norm(vector)


AXIS, PLANE = _unit(0.31, 0.52, 0.77), _unit(0.28, 0.0, 0.91)
ACROSS, ASIDE = _unit(*np.cross(AXIS, (0.2, 0.9, 0.4))), _unit(0.71, -0.43, 0.23)
FULL = np.array([[0.02, 0.003, -0.004], [0.003, 0.03, 0.001], [-0.004, 0.001, 0.04]])
Numbers = Mapping[str, Any]


def turned(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ np.array([[1, 0, 0], [0, 0.8, -0.6], [0, 0.6, 0.8]])


class Machine(Subsystem):
    """A body that an element holds on the ground, with a pendulum on it; in a loop also by two balls."""

    def __init__(self, element: Callable[..., Any], numbers: Numbers, *, loop: bool, beside: bool) -> None:
        place = numbers.get("position", (0.0, 0.0, 0.0))
        self.ground = Ground(place, orientation=turned(numbers["turn"]) if "turn" in numbers else None)
        self.gravity = Gravity()
        self.a, self.b = Body(mass=1.5, inertia=FULL), Body(mass=0.7, inertia=0.4 * FULL)
        given = {name: value for name, value in numbers.items() if name not in ("position", "turn")}
        self.element = element(self.ground.at(0.11, 0.13, 0.17), self.a.at(0.05, -0.07, 0.03), **given)
        if loop:
            self.low = Spherical(self.ground.at(0.31, 0.23, -0.41), self.b.at(0.0, 0.03, -0.29))
            self.high = Spherical(self.b.at(0.02, 0.0, 0.33), self.a.at(0.21, 0.02, 0.04))
            if beside:  # what is neither joint nor enough to place a body
                self.more = Distance(self.ground.at(-0.4, 0.1, 0.3), self.a.at(-0.1, 0.2, 0.1), length=0.57)
        else:
            self.knee = Revolute(self.a.at(0.21, 0.02, 0.04), self.b.at(0.02, 0.0, 0.33), axis="y", angle=0.3)
        self.spring = SpringDamper(self.ground.at(0.7, 0.2, 0.1), self.b, k=30.0, c=0.4, rest=0.3)


class Coupled(Subsystem):
    """Two pendulums and a slide whose coordinates are tied together; in a loop, one of them is a crank."""

    def __init__(self, element: Callable[..., Any], numbers: Numbers, *, loop: bool) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.a, self.b, self.c = (Body(mass=m, inertia=FULL) for m in (1.5, 0.7, 0.9))
        self.p = Revolute(self.ground, self.a.at(-0.23, 0, 0), axis="y", angle=0.4)
        self.q = Revolute(self.ground.at(0, 0.6, 0), self.b.at(-0.31, 0, 0), axis="y")
        self.r = Prismatic(self.ground.at(0, 0, 0.7), self.c, axis="x", displacement=0.2)
        self.element = element(self.p, self.q, **numbers)
        if loop:
            self.rod = Distance(self.a.at(0.27, 0, 0), self.c.at(0.03, 0, 0.02), length=0.83)


class Mated(Subsystem):
    """A body that mates hold on the ground, as a joint would, and a pendulum on it."""

    def __init__(self, mates: Callable[[Any, Any], dict[str, Any]], numbers: Numbers) -> None:
        ground, above, on_body = ((0.11, 0.07, 0.05), (numbers["x"], 0.33, 0.52), (-0.13, 0.03, numbers["z"]))
        self.ground, self.gravity = Ground(ground), Gravity()
        start = np.array(ground) + above - np.array(on_body)
        self.bob, self.arm = Body(mass=0.5, inertia=FULL, start_position=start), Body(mass=0.3, inertia=FULL)
        for name, mate in mates(self.ground.at(above), self.bob.at(on_body)).items():
            setattr(self, name, mate)
        self.knee = Revolute(self.bob.at(0.2, 0.1, 0), self.arm.at(0, 0, 0.31), axis="y")


class Case(NamedTuple):
    """An element with its numbers, in a tree or a loop."""

    make: Callable[[Numbers], Subsystem]
    numbers: Numbers
    cut: tuple[str, ...]


_JOINTS: dict[str, tuple[Callable[..., Any], Numbers]] = {
    "Revolute": (Revolute, {"axis": AXIS}),
    "Revolute across y": (Revolute, {"axis": PLANE}),
    "Prismatic": (Prismatic, {"axis": AXIS}),
    "Cylindrical": (Cylindrical, {"axis": AXIS}),
    "Screw": (Screw, {"axis": AXIS, "pitch": 0.037}),
    "Screw along z": (Screw, {"pitch": 0.037}),
    "Universal": (Universal, {"first_axis": AXIS, "second_axis": ACROSS}),
    "Planar": (Planar, {"normal": AXIS}),
    "Spherical": (Spherical, {"position": (0.12, 0.34, 0.56), "turn": 0.43}),
    "Rolling ball": (Rolling, {"radius": 0.37}),
    "Rolling wheel": (Rolling, {"radius": 0.37, "normal": AXIS, "axis": ASIDE}),
    "Link": (Link, {"length": 0.43, "axis": AXIS}),
    "Ground": (Revolute, {"position": (0.12, 0.34, 0.56), "turn": 0.43}),
}
_CONSTRAINTS: dict[str, tuple[Callable[..., Any], Numbers]] = {
    "Distance": (Distance, {"length": 0.63}),
    "PointOnLine": (PointOnLine, {"axis": AXIS}),
    "PointInPlane": (PointInPlane, {"axis": AXIS}),
    "PointAroundLine": (PointAroundLine, {"axis": AXIS, "radius": 0.33}),
    "LineInPlane": (LineInPlane, {"normal": AXIS, "line": ASIDE}),
    "AngleBetween": (AngleBetween, {"axis": AXIS, "angle": 0.73}),
    "LineOnLine": (LineOnLine, {"axis": AXIS}),
    "PlaneToPlane": (PlaneToPlane, {"axis": AXIS}),
    "ParallelAxes": (ParallelAxes, {"axis": AXIS}),
}


def _sum(p: Any, q: Any, first: float, second: float, value: float) -> Sum:
    return Sum((p, first), (q, second), value=value)


def _polynomial(p: Any, q: Any, c0: float, c1: float, c2: float) -> Polynomial:
    return Polynomial(p, q, (c0, c1, c2))


def _drive(p: Any, q: Any, speed: float, size: float) -> Drive:
    return Drive(q, speed * time + size * time**3)


_COUPLINGS: dict[str, tuple[Callable[..., Any], Numbers]] = {
    "Gear": (Gear, {"ratio": -2.7, "offset": 0.13}),
    "Sum": (_sum, {"first": 1.3, "second": -0.7, "value": 0.13}),
    "Polynomial": (_polynomial, {"c0": 0.13, "c1": 0.7, "c2": 0.29}),
    "Drive": (_drive, {"speed": 3.1, "size": 0.7}),
    "Rotor": (lambda p, q, **numbers: Rotor(p, **numbers), {"inertia": 0.003, "ratio": 17.0}),
}


def _chain(first: Any, second: Any, axis: np.ndarray, at: Any, along: np.ndarray, angle: float) -> Chain:
    middle = turn("pitch", "y", at=(0.0, 0.0, at[2]), orientation=turned(angle))
    return Chain(first, second, turn("yaw", axis, at=at), middle, slide("reach", along, at=(at[1], 0, 0)), yaw=0.3)


_CHAINS: Numbers = {"axis": AXIS, "at": (0.12, 0.34, 0.56), "along": PLANE, "angle": 0.43}
_MATES: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    "ball": lambda a, b: {"point": PointOnPoint(a, b)},
    "hinge": lambda a, b: {"point": PointOnPoint(a, b), "parallel": ParallelAxes(a, b, axis=AXIS)},
    "plane": lambda a, b: {"flat": PlaneToPlane(a, b, axis=AXIS)},
    "weld": lambda a, b: {
        "point": PointOnPoint(a, b), "up": ParallelAxes(a, b, axis="z"), "ahead": ParallelAxes(a, b, axis="x")
    },
}  # fmt: skip


def cases() -> dict[str, Case]:
    """All of them by name."""
    found = {}
    for kinds, tree in ((_JOINTS, True), (_CONSTRAINTS, False)):
        for name, (element, numbers) in kinds.items():
            for loop in (False, True) if tree else (True,):

                def make(given: Numbers, element: Any = element, loop: bool = loop, tree: bool = tree) -> Subsystem:
                    return Machine(element, given, loop=loop, beside=not tree)

                cut = ("element",) if loop and tree else ()
                found[f"{name}, {'loop' if loop else 'tree'}"] = Case(make, numbers, cut)
    for name, (element, numbers) in _COUPLINGS.items():
        for loop in (False, True):

            def couple(given: Numbers, element: Any = element, loop: bool = loop) -> Subsystem:
                return Coupled(element, given, loop=loop)

            found[f"{name}, {'loop' if loop else 'tree'}"] = Case(couple, numbers, ())
    for name, mates in _MATES.items():

        def mate(given: Numbers, mates: Any = mates) -> Subsystem:
            return Mated(mates, given)

        found[f"mates, {name}"] = Case(mate, {"x": 0.93, "z": 0.17}, ())
    found["Chain, tree"] = Case(lambda given: Machine(_chain, given, loop=False, beside=False), _CHAINS, ())
    return found


def edited(numbers: Numbers, name: str, by: float = 1e-3) -> Numbers:
    """The numbers with one of them, or a direction, or a place, a little elsewhere."""
    value = numbers[name]
    if name == "first_axis":
        return {**numbers, name: about_other(value, numbers["second_axis"], by)}
    if name == "second_axis":
        return {**numbers, name: about_other(value, numbers["first_axis"], by)}
    if isinstance(value, np.ndarray):
        moved = value * (1 + by * np.array([1.0, 0.0, 0.0]))
        return {**numbers, name: moved / np.linalg.norm(moved)}
    if isinstance(value, tuple):
        return {**numbers, name: tuple((1 + by * (k + 1)) * x for k, x in enumerate(value))}
    return {**numbers, name: (1 + by) * value}


def about_other(value: np.ndarray, other: np.ndarray, by: float) -> np.ndarray:
    """A direction turned about another one it is at right angles to."""
    return np.cos(by) * value + np.sin(by) * np.cross(other, value)


def edits() -> Iterator[tuple[str, str]]:
    """Each case with each of its numbers."""
    for case, (_, numbers, _) in cases().items():
        for name in numbers:
            yield case, name
