"""From a Kompono model to a neutral machine (see parts.py).

The numbers are read from the model itself, so no peer can be given others. Welded bodies become one link, as any user
of the peers would have it. Every link hangs on its parent by one freedom and its frame is the joint's second frame; a
cylindrical joint is a slide without mass and a hinge. Loops are points that coincide: where a loop locks a freedom of
the tree entirely (the twist of a damper, the turn of a piston in its bore), the caller says so by `frozen`, the
freedom is left out for the peers and three conditions on a point close the loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatch
from typing import Any

import casadi as ca
import numpy as np
from parts import HERE, WORLD, Array, Link, Loop, Machine, Place, Spring

from kompono import Body, Subsystem
from kompono.library import Cylindrical, PlaneToPlane, Prismatic, Revolute, SpringDamper, Weld
from kompono.translate.declared.elaborate import Elaborated, elaborate


def walk(
    model: Subsystem,
    *,
    closing: Iterable[str] = (),
    unused: Iterable[str] = (),
    frozen: Iterable[str] = (),
) -> Machine:
    """Read a model. Globs: joints that close loops, joints that add nothing, coordinates that never move."""
    return _Walk(elaborate(model), tuple(closing), tuple(unused), tuple(frozen)).machine()


class _Walk:
    def __init__(self, model: Elaborated, closing: tuple[str, ...], unused: tuple[str, ...], frozen: tuple[str, ...]):
        self.model, self.closing, self.unused, self.frozen = model, closing, unused, frozen
        self.links: list[Link] = []
        self.places: dict[int, tuple[int, Place]] = {id(ground): (WORLD, _ground(ground)) for ground in model.grounds}
        mates = [c for c in model.constraints if isinstance(c, PlaneToPlane)]  # in mounts of three only
        self.rigid = [j for j in model.joints if isinstance(j, Weld)] + mates
        self.neighbours: dict[int, list[tuple[Any, bool, Any]]] = {id(b): [] for b in (*model.bodies, *model.grounds)}
        for joint in self.rigid:
            self.neighbours[id(joint.first.body)].append((joint, False, joint.second.body))
            self.neighbours[id(joint.second.body)].append((joint, True, joint.first.body))

    def named(self, joint: Any, globs: tuple[str, ...], suffix: str = "") -> bool:
        return any(fnmatch(self.model.path(joint) + suffix, glob) for glob in globs)

    def machine(self) -> Machine:
        for ground in self.model.grounds:
            self.spread(ground)
        moving = [j for j in self.model.joints if not isinstance(j, Weld) and not self.named(j, self.unused)]
        waiting = [j for j in moving if not self.named(j, self.closing)]
        while waiting:
            ready = [j for j in waiting if (id(j.first.body) in self.places) or (id(j.second.body) in self.places)]
            for joint in ready:
                self.hang(joint)
            waiting = [j for j in waiting if j not in ready]
        self.sort()
        loops = [self.loop(joint) for joint in moving if self.named(joint, self.closing)]
        springs = [
            Spring(*self.point(f.first), *self.point(f.second), float(f.k), float(f.c), float(f.rest))
            for f in self.model.forces
            if isinstance(f, SpringDamper)
        ]
        gravity = _numbers(self.model.fields[0].vector).ravel() if self.model.fields else np.zeros(3)  # type: ignore
        bodies = {self.model.path(body): self.places[id(body)] for body in self.model.bodies}
        return Machine(self.links, loops, springs, gravity, bodies)

    def sort(self) -> None:
        """Number the links depth first, as Pinocchio wants them."""
        children: dict[int, list[int]] = {}
        for k, link in enumerate(self.links):
            children.setdefault(link.parent, []).append(k)
        order, stack = [], children[WORLD][::-1]
        while stack:
            order.append(stack.pop())
            stack += children.get(order[-1], [])[::-1]
        new = {old: k for k, old in enumerate(order)} | {WORLD: WORLD}
        self.links = [self.links[old] for old in order]
        for link in self.links:
            link.parent = new[link.parent]
        self.places = {key: (new[link], place) for key, (link, place) in self.places.items()}

    def loop(self, joint: Any) -> Loop:
        """A joint that closes a loop, as points."""
        turn = (self.places[id(joint.first.body)][1] @ _place(joint.first)).rotation
        return Loop(*self.point(joint.first), *self.point(joint.second), turn @ joint.axis)

    def point(self, frame: Any) -> tuple[int, Array]:
        """A frame's origin on its link."""
        link, place = self.places[id(frame.body)]
        return link, (place @ _place(frame)).position

    def hang(self, joint: Any) -> None:
        """Add the links of a joint and all bodies welded to the last of them."""
        reverse = id(joint.first.body) not in self.places
        near, far = (joint.second, joint.first) if reverse else (joint.first, joint.second)
        if id(far.body) in self.places:
            raise ValueError(f"{self.model.path(joint)} closes a loop: name it in `closing` or `unused`")
        parent, place = self.places[id(near.body)]
        place, axis = place @ _place(near), -joint.axis if reverse else joint.axis
        for coordinate in joint.coordinates:
            if self.named(joint, self.frozen, f".{coordinate}"):
                continue
            start = joint.start.get(coordinate, 0.0), joint.start.get(f"{coordinate}.rate", 0.0)
            channel = f"{self.model.path(joint)}.{coordinate}"
            self.links.append(Link(channel, parent, coordinate == "displacement", axis, place, start))
            parent, place = len(self.links) - 1, HERE
        if not isinstance(joint, Revolute | Prismatic | Cylindrical):
            raise ValueError(f"{self.model.path(joint)}: the peers are not told how to build a {type(joint).__name__}")
        self.places[id(far.body)] = parent, place @ _place(far).inverse()
        self.gain(far.body)
        self.spread(far.body)

    def spread(self, carrier: Any) -> None:
        """Give everything welded to a carrier, directly or not, its place on the same link."""
        link, place = self.places[id(carrier)]
        for joint, reverse, other in self.neighbours[id(carrier)]:
            if id(other) not in self.places:
                near, far = (joint.second, joint.first) if reverse else (joint.first, joint.second)
                self.places[id(other)] = link, place @ _place(near) @ _place(far).inverse()
                self.gain(other)
                self.spread(other)

    def gain(self, body: Any) -> None:
        """Add the mass of a body to its link."""
        index, place = self.places[id(body)]
        if index == WORLD or not isinstance(body, Body):
            return
        link, mass = self.links[index], float(body.solid.mass)
        inertia = place.rotation @ np.asarray(body.solid.inertia, float) @ place.rotation.T
        centre = (link.mass * link.centre + mass * place.position) / (link.mass + mass)
        link.inertia = link.inertia + inertia
        for weight, offset in ((link.mass, link.centre - centre), (mass, place.position - centre)):
            link.inertia = link.inertia + weight * (offset @ offset * np.eye(3) - np.outer(offset, offset))
        link.mass, link.centre = link.mass + mass, centre


def _numbers(expression: Any) -> Array:
    return np.array(ca.evalf(ca.SX(expression)), float)


def _place(frame: Any) -> Place:
    return Place(_numbers(frame.pose.position).ravel(), _numbers(frame.pose.rotation))


def _ground(ground: Any) -> Place:
    return Place(_numbers(ground.motion.position).ravel(), _numbers(ground.motion.rotation))
