"""URDF: links and joints of a robot, a tree; closed loops beside it (`loops.py`).

Links that fixed joints hold together are one body, merged before masses are checked; a link without mass between two
joints makes one joint of them. Friction, damping and limits of joints are taken; what concerns other programs (gazebo
tags, safety controllers) is counted and told. Contact with the ground is taken when it is asked for
(`urdf_contact.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kompono.errors import FileError, suggest
from kompono.files.assembly import (
    Actuated,
    Assembly,
    Coupled,
    End,
    Instance,
    Joined,
    Loaded,
    Noted,
    Part,
    Step,
)
from kompono.files.looks import Looks
from kompono.files.loops import Loop
from kompono.files.place import Place
from kompono.files.urdf_contact import on_the_ground, without_ground
from kompono.files.urdf_mimic import following
from kompono.files.urdf_origin import origin
from kompono.files.xml import Node
from kompono.spatial.rotation import snap

_OTHER = {"ball": "is a ball, as the file of loops says", "fixed": "is firm, as the file of loops says"}
MOST_LINKS = 5_000
KINDS = {"revolute": "turn", "continuous": "turn", "prismatic": "slide", "planar": "plane", "floating": "free"}
LOOPS = ("drake:ball_constraint", "drake:weld_constraint", "drake:joint", "loop_joint")


def read_urdf(
    root: Node, file: Path, *, loops: Sequence[Loop] = (), motors: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None, floating: bool = False, packages: Any = (), contact: str = "none",
) -> Assembly:  # fmt: skip
    """The assembly of a `<robot>`."""
    _refuse_loops(root)
    reader = _Reader(root, Looks(root, file, packages), kinds or {})
    if len(reader.links) > MOST_LINKS:
        raise FileError(
            f"there are {len(reader.links)} links, more than {MOST_LINKS}.", path=root.where, fix="Split it."
        )
    links = {link.named("name"): link for link in reader.links}
    joints = following(reader.joints(links), reader.mimics)
    base = _root(links, joints, root)
    instances = tuple(Instance(name, name, Place() if floating and name == base else None) for name in links)
    fixed = () if floating else (Joined(f"{base}_fixed", End(()), End((base,)), merges=True),)
    meeting = on_the_ground(reader.links) if contact == "ground" else without_ground(reader.links)
    closing = tuple(_closing(loop, links, joints, root) for loop in loops)
    return Assembly(
        root.get("name") or file.stem,
        {name: reader.part(link) for name, link in links.items()},
        instances,
        (*fixed, *joints, *closing, *reader.mimics),
        loads=tuple(reader.loads),
        actuators=(*reader.motors(joints), *_motors(motors, joints, root)),
        touching=meeting.found,
        notes=(*reader.notes(), *meeting.notes, *_assumed(base, floating)),
        file=file.name,
    )


class _Reader:
    def __init__(self, root: Node, looks: Looks, kinds: Mapping[str, str]) -> None:
        self.root, self.looks, self.kinds = root, looks, kinds
        self.links = root.all("link")
        self.loads: list[Loaded] = []
        self.mimics: list[Coupled] = []
        self.lines: list[Noted] = []
        self.ignored: Counter[str] = Counter()
        self.unlimited = 0

    def part(self, link: Node) -> Part:
        """The part of a link."""
        name, inertial = link.named("name"), link.find("inertial")
        shapes = self.looks.shapes(link)
        if inertial is None:
            return Part(name, shapes=shapes, where=link.where)
        place = origin(inertial)
        mass = inertial.needed("mass").number("value")
        if mass < 0:
            raise FileError(f"link {name}: mass {mass} kg is negative.", path=inertial.where)
        inertia = np.zeros((3, 3))
        tensor = inertial.find("inertia")
        if tensor is not None:
            xx, yy, zz = (tensor.number(f"i{k}") for k in ("xx", "yy", "zz"))
            xy, xz, yz = (tensor.number(f"i{k}", 0.0) for k in ("xy", "xz", "yz"))
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        turned = place.rotation @ inertia @ place.rotation.T if not place.upright else inertia
        return Part(name, mass, place.position, turned, shapes, where=link.where)

    def joints(self, links: dict[str, Node]) -> list[Joined]:
        """The connections of all joints."""
        if len(links) != len(self.links):
            twice = Counter(link.named("name") for link in self.links).most_common(1)[0][0]
            raise FileError(f"there are two links {twice!r}.", path=links[twice].where)
        found: dict[str, Joined] = {}
        for joint in self.root.all("joint"):
            name = joint.named("name")
            if name in found:
                raise FileError(f"there are two joints {name!r}.", path=joint.where)
            found[name] = self.joint(joint, name, links)
        lost = [name for name in self.kinds if name not in found]
        if lost:
            message = f"there is no joint {lost[0]!r}, which shall be another one."
            raise FileError(message, path=self.root.file, fix=suggest(lost[0], found))
        return list(found.values())

    def joint(self, joint: Node, name: str, links: dict[str, Node]) -> Joined:
        """The connection of a joint."""
        parent, child = (joint.needed(tag).named("link") for tag in ("parent", "child"))
        for link in (parent, child):
            if link not in links:
                raise FileError(f"joint {name}: there is no link {link!r}.", path=joint.where, fix=suggest(link, links))
        kind, place = joint.named("type"), origin(joint)
        ends = End((parent,)), End((child,))
        self.ignored["safety controllers"] += len(joint.all("safety_controller"))
        self.ignored["calibrations"] += len(joint.all("calibration"))
        other = self.kinds.get(name, "")
        if other:
            self.lines.append(Noted("assumed", name, _OTHER.get(other, f"turns about {other[0]}, then {other[1]}")))
        if kind == "fixed" or other == "fixed":
            return Joined(name, replace(ends[0], place=place), ends[1], merges=True, where=joint.where)
        if kind == "spherical" and (joint.find("limit") or joint.find("dynamics")):
            self.lines.append(Noted("ignored", name, "limits, damping and friction of a ball"))
        if kind == "spherical" or other == "ball":
            return Joined(name, *ends, (Step("ball", name, place),), where=joint.where)
        if other:
            axes = [tuple(float(axis == each) for each in "xyz") for axis in other]
            named = [f"{name}_{axis.upper()}" for axis in other]
            steps = Step("turn", named[0], place, axes[0]), Step("turn", named[1], axis=axes[1])
            return Joined(name, *ends, steps, where=joint.where)
        if kind not in KINDS:
            raise FileError(f"joint {name}: its type {kind!r} is not known.", path=joint.where)
        step = Step(KINDS[kind], name, place, self.axis(joint, name), self.limits(joint, name, kind))
        self.acts(joint, name, step.kind)
        return Joined(name, *ends, (step,), where=joint.where)

    def axis(self, joint: Node, name: str) -> tuple[float, ...]:
        """The unit axis of a joint."""
        node = joint.find("axis")
        vector = node.numbers(node.get("xyz"), 3) if node is not None else np.array([1.0, 0.0, 0.0])
        length = float(np.linalg.norm(vector))
        if length < 1e-9:
            raise FileError(f"joint {name}: its axis has no direction.", path=joint.where)
        if abs(length - 1) > 1e-6:
            self.lines.append(Noted("repaired", name, f"its axis has length {length:.6g}, now 1"))
        return tuple(snap(vector / length).tolist())

    def limits(self, joint: Node, name: str, kind: str) -> tuple[float | None, float | None]:
        """Lower and upper limit of a joint that has them."""
        node = joint.find("limit")
        if node is None or kind not in ("revolute", "prismatic"):
            return None, None
        if node.get("effort") or node.get("velocity"):
            self.ignored["limits of effort and speed"] += 1
        if node.get("lower") is None and node.get("upper") is None:
            self.unlimited += 1
            return None, None
        lower, upper = node.number("lower", 0.0), node.number("upper", 0.0)
        if not lower < upper:
            self.lines.append(Noted("ignored", name, f"its limits: {lower:g} is not below {upper:g}"))
            return None, None
        return lower, upper

    def acts(self, joint: Node, name: str, kind: str) -> None:
        """Damping, friction and mimic of a joint."""
        dynamics, mimic = joint.find("dynamics"), joint.find("mimic")
        if dynamics is not None:
            damping, friction = dynamics.number("damping", 0.0), dynamics.number("friction", 0.0)
            if (damping or friction) and kind not in ("turn", "slide"):
                self.lines.append(Noted("ignored", name, "damping and friction of a joint of several coordinates"))
            elif damping < 0 or friction < 0:
                raise FileError(f"joint {name}: damping or friction is negative.", path=dynamics.where)
            elif damping or friction:
                self.loads.append(Loaded(name, damping=damping, friction=friction))
        if mimic is not None:
            if mimic.named("joint") == name:
                raise FileError(f"joint {name} mimics itself.", path=mimic.where)
            factors = mimic.number("offset", 0.0), mimic.number("multiplier", 1.0)
            self.mimics.append(Coupled(f"{name}_mimic", name, mimic.named("joint"), factors, mimic.where))

    def motors(self, joints: list[Joined]) -> list[Actuated]:
        """Actuators of simple transmissions: effort of the joint = reduction times that of the actuator."""
        known = {joint.name: joint for joint in joints}
        found = []
        for node in self.root.all("transmission"):
            named, actuators = node.all("joint"), node.all("actuator")
            moved = [known[j.get("name") or ""] for j in named if (j.get("name") or "") in known]
            moved = [joint for joint in moved if joint.steps and joint.steps[0].kind in ("turn", "slide")]
            if len(named) != 1 or len(actuators) != 1 or len(moved) != 1:
                self.ignored["transmissions of several joints"] += 1
                continue
            ratio = next((each.find("mechanicalReduction") for each in (actuators[0], named[0], node)
                          if each.find("mechanicalReduction") is not None), None)  # fmt: skip
            name = actuators[0].get("name") or moved[0].name
            factor = self.reduction(ratio, name)
            unit = "N m" if moved[0].steps[0].kind == "turn" else "N"
            found.append(Actuated(name, ((moved[0].name, factor),), unit=unit, where=node.where))
        return found

    def reduction(self, node: Node | None, name: str) -> float:
        """The ratio of a transmission; where the file has a word in its place (it is written by macros), 1."""
        if node is None:
            return 1.0
        try:
            return float(node.content(1)[0])
        except FileError:
            self.lines.append(Noted("assumed", name, f"mechanicalReduction 1: {node.text.strip()[:40]!r} is no number"))
            return 1.0

    def notes(self) -> list[Noted]:
        """What is told of the file."""
        known = ("link", "joint", "transmission", "material", "gazebo")
        self.ignored["gazebo tags"] += len(self.root.all("gazebo"))
        for node in self.root.children:
            if node.tag not in known:
                self.ignored[f"<{node.tag}>"] += 1
        counted = [Noted("ignored", what, f"{count} of them") for what, count in self.ignored.items() if count]
        if self.unlimited:
            told = f"{self.unlimited} joints have none: neither lower nor upper is given"
            self.lines.append(Noted("assumed", "limits", told))
        return [*self.lines, *counted, *self.looks.notes()]


def _refuse_loops(root: Node) -> None:
    for node in root.children:
        inner = [child for child in node.children if child.tag == "joint" and child.get("type") and child.find("child")]
        if node.tag in LOOPS or (node.tag == "gazebo" and inner):
            name = node.get("name") or (inner[0].get("name") if inner else "")
            raise FileError(
                f"<{node.tag}> {name}: loops written this way are not read.", path=node.where,
                fix='Take it out of the file, and give it as loops=[("a", "b", "3d")].',
            )  # fmt: skip


def _root(links: dict[str, Node], joints: Sequence[Joined], root: Node) -> str:
    if not links:
        raise FileError("there are no links in it.", path=root.where)
    parents: dict[str, Joined] = {}
    for joint in joints:
        child = joint.second.path[0]
        if child in parents:
            message = f"the link {child!r} is the child of two joints, {parents[child].name} and {joint.name}."
            raise FileError(message, path=joint.where, fix='URDF has no loops: close it by loops=[("a", "b", "6d")].')
        parents[child] = joint
    roots = [name for name in links if name not in parents]
    if len(roots) != 1:
        found = f"{len(roots)} links have no parent: {', '.join(roots[:4])}" if roots else "every link has a parent"
        raise FileError(f"{found}; a robot has one such link.", path=root.where)
    return roots[0]


def _closing(loop: Loop, links: dict[str, Node], joints: Sequence[Joined], root: Node) -> Joined:
    frames = {joint.name: joint.second.path[0] for joint in joints} | {name: name for name in links}
    for name in (loop.first, loop.second):
        if name not in frames:
            message = f"the loop {loop.name}: there is no link or joint {name!r}."
            raise FileError(message, path=root.file, fix=suggest(name, frames))
    ends = End((frames[loop.first],)), End((frames[loop.second],))
    return Joined(loop.name, *ends, (Step("ball", loop.name),) if loop.ball else ())


def _motors(names: Sequence[str], joints: Sequence[Joined], root: Node) -> list[Actuated]:
    known = {joint.name: joint for joint in joints if joint.steps}
    for name in names:
        if name not in known:
            raise FileError(f"there is no joint {name!r} for a motor.", path=root.file, fix=suggest(name, known))
    units = {"turn": "N m", "slide": "N"}
    return [Actuated(name, ((name, 1.0),), unit=units.get(known[name].steps[0].kind, "")) for name in names]


def _assumed(base: str, floating: bool) -> list[Noted]:
    if floating:
        return [Noted("assumed", base, "floats freely from the origin")]
    return [Noted("assumed", base, "is fixed to the ground; floating=True lets it move")]
