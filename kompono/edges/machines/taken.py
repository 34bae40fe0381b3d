"""A model as an `Assembly`, the form readers of files make: what can be said of it in robot files, and what cannot.

Bodies hang in the spanning tree, each on its parent; joints that close loops are loops. What would move differently
without being there is refused by its path; what only acts on the machine (forces, laws, states) is lost, and listed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from kompono.edges.machines.acting import acting, couplings
from kompono.edges.machines.joints import closing, limits_of, starts_of, steps_of
from kompono.errors import RunError
from kompono.files.assembly import Assembly, Connection, End, Instance, Joined, Noted, Part, Step
from kompono.files.names import Names
from kompono.files.place import Place
from kompono.foreign.element import Fmu
from kompono.model.body import Body, Carrier, Frame, Ground
from kompono.model.free import Free
from kompono.model.joint import Joint
from kompono.model.lumped import Lumped
from kompono.model.signal import time
from kompono.model.subsystem import Subsystem
from kompono.scene.bodies import body_shapes
from kompono.scene.values import SymbolValues
from kompono.sealed.element import Sealed
from kompono.spatial.rotation import snap
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.structure.lumps import without
from kompono.translate.structure.topology import Topology, find_topology
from kompono.translate.translate import structured

WORLD = "world"


@dataclass(frozen=True)
class Taken:
    """The assembly; tree and loops as `Joined` in it have the parent first. `lost` is what it does not say."""

    assembly: Assembly
    tree: tuple[Joined, ...]
    loops: tuple[Joined, ...]
    lost: tuple[Noted, ...]


def taken(model: Subsystem) -> Taken:
    """What robot files can say of a model; RunError for joints and constraints they cannot."""
    whole, _ = structured(model, (), ())
    for part in whole.subsystems:
        if isinstance(part, Sealed | Fmu):
            raise RunError("a sealed part cannot be written for other programs.", path=whole.path(part))
    lumps = [part for part in whole.subsystems if isinstance(part, Lumped)]
    seen = without(whole, lumps)
    return _Taker(seen, find_topology(seen), SymbolValues(model)).taken()


class _Taker:
    def __init__(self, model: Elaborated, topology: Topology, values: SymbolValues) -> None:
        self.model, self.topology, self.values = model, topology, values
        self.names, self.joint_names = Names([WORLD]), Names()
        self.called: dict[Carrier, str] = {topology.world: WORLD}
        self.steps: dict[tuple[Joint, str], str] = {}  # names of steps by joint and coordinate
        self.lost: list[Noted] = []

    def taken(self) -> Taken:
        """All of it."""
        for body in self.model.bodies:
            self.called[body] = self.names.give(self.model.path(body).replace(".", "_"))
        parts = {self.called[body]: self.part(body) for body in self.model.bodies}
        parts[WORLD] = Part(WORLD, shapes=self.ground_shapes())
        tree = tuple(self.hung())
        loops = tuple(loop for joint in self.topology.closing for loop in closing(self, joint))
        self.constraints()
        rest, (loads, actuators) = couplings(self), acting(self)
        instances = tuple(Instance(name, name) for name in parts)
        connections: tuple[Connection, ...] = (*tree, *loops, *rest)
        assembly = Assembly(
            type(self.model.model).__name__, parts, instances, connections, loads=loads, actuators=actuators,
            gravity=self.gravity(),
        )  # fmt: skip
        self.unsaid()
        return Taken(assembly, tree, loops, tuple(self.lost))

    def numbers(self, value: Any, path: str, what: str) -> np.ndarray:
        """The numbers of an expression of parameters."""
        found = self.values.array(value if isinstance(value, ca.SX) else np.asarray(value, dtype=float))
        if found is None:
            raise RunError(f"{what} is no number.", path=path, fix="Robot files have numbers only.")
        return found

    def part(self, body: Body) -> Part:
        """A body, its frame at the centre of mass."""
        path = self.model.path(body)
        mass = float(self.numbers(body.solid.mass, path, "its mass").ravel()[0])
        inertia = self.numbers(body.solid.inertia, path, "its inertia").reshape(3, 3)
        shapes = body_shapes(body, [], self.values)
        return Part(self.called[body], mass, np.zeros(3), inertia, tuple(shapes))

    def ground_shapes(self) -> tuple[Any, ...]:
        """What grounds look like, in the world."""
        found = []
        for ground in self.model.grounds:
            place = self.ground(ground)
            for shape in body_shapes(ground, [], self.values):
                found.append(shape.at(*place.position.tolist(), orientation=place.rotation))
        return tuple(found)

    def ground(self, ground: Ground) -> Place:
        """Where a ground is; one that moves is refused."""
        path = self.model.path(ground)
        position = self.numbers(ground.motion.position, path, "its position")
        rotation = self.numbers(ground.motion.rotation, path, "its orientation")
        motion = ca.vertcat(ca.vec(ca.SX(ground.motion.position)), ca.vec(ca.SX(ground.motion.rotation)))
        if ca.depends_on(motion, time):
            raise RunError("a ground that moves cannot be written.", path=path)
        return Place(position.ravel(), snap(rotation))

    def end(self, frame: Frame) -> End:
        """A frame on a body, or on the world."""
        position, rotation = self.values.place(frame)
        place = Place(position, snap(rotation))
        if isinstance(frame.body, Ground):
            return End((WORLD,), place if frame.body is self.topology.world else self.ground(frame.body) @ place)
        return End((self.called[frame.body],), place)

    def hung(self) -> Iterable[Joined]:
        """The tree, parents first."""
        for link in self.topology.links:
            joint = link.joint
            if joint is None or isinstance(link.carrier, Ground):
                continue
            path = self.model.path(joint) or joint._name
            if isinstance(joint, Free):
                yield self.floating(link.carrier)
                continue
            name = self.joint_names.give(path.replace(".", "_"))
            steps = steps_of(self, joint, name, path)
            found = Joined(name, self.end(joint.first), self.end(joint.second), steps)
            yield turned_round(found) if link.reverse else found

    def floating(self, body: Carrier) -> Joined:
        """A body that moves freely, where it starts."""
        assert isinstance(body, Body)
        place = Place.of(np.ravel(body.start_position), np.ravel(body.start_orientation))
        if body.start_velocity.any() or body.start_angular_velocity.any():
            self.lose(body, "speeds at the start")
        name = self.joint_names.give(f"{self.called[body]}_free")
        return Joined(name, End((WORLD,), place), End((self.called[body],)), (Step("free", name),))

    def step(self, joint: Joint, coordinate: str, kind: str, name: str, **options: Any) -> Step:
        """One motion of a joint, with its limits and start."""
        known = self.joint_names.give(name) if len(joint.coordinates) > 1 else name
        self.steps[joint, coordinate] = known
        limits, start = limits_of(self, joint, coordinate), starts_of(joint, coordinate)
        return Step(kind, known, limits=limits, start=start, **options)

    def constraints(self) -> None:
        held = {constraint for pair in self.topology.mated for constraint in pair.constraints}
        for constraint in self.model.constraints:
            if constraint not in held:
                raise RunError(
                    f"{type(constraint).__name__} has no counterpart in robot files.",
                    path=self.model.path(constraint), fix="Use joints.",
                )  # fmt: skip

    def gravity(self) -> tuple[float, ...] | None:
        """The uniform field of the whole machine."""
        total, found = np.zeros(3), False
        for field in self.model.fields:
            value = self.values.array(ca.SX(field.acceleration(ca.SX.sym("x", 3))))
            if value is None or field.owner is not self.model.model:
                self.lose(field, "a field that is not uniform")
            else:
                total, found = total + value.ravel(), True
        return tuple(total.tolist()) if found else (0.0, 0.0, 0.0)

    def lose(self, element: Any, why: str) -> None:
        """List something that is not written."""
        self.lost.append(Noted("lost", self.model.path(element), f"{type(element).__name__}: {why}"))

    def unsaid(self) -> None:
        """What has no place in a robot file."""
        for name in ("forces", "sensors", "cells", "states", "events", "controllers", "outputs", "networks"):
            for element in getattr(self.model, name):
                self.lose(element, f"{name} are not written")


def turned_round(joined: Joined) -> Joined:
    """The same joint from its second end to its first; coordinates mean the same."""
    steps, before = [], Place()
    for step in reversed(joined.steps):
        steps.append(replace(step, before=before, axis=tuple((-np.array(step.axis)).tolist())))
        before = step.before.inverse()
    place = joined.first.place @ before.inverse() if joined.steps else joined.first.place
    return replace(joined, first=joined.second, second=End(joined.first.path, place), steps=tuple(steps))
