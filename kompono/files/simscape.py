"""Simscape Multibody XML: what Inventor, SolidWorks, Creo and Onshape export, with mates or joints.

An `Assembly` of the file is a component, an instance of one a part of its owner. Mates are kept as drawn (`fit.py`). An
assembly without mates or joints is rigid. Shapes are STEP files beside it, read where the geometry kernel is installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kompono.errors import FileError
from kompono.files.assembly import Assembly, Connection, End, Geometry, Instance, Joined, Mate, Noted, Part
from kompono.files.assembly import Path as Names
from kompono.files.drawn import jointed
from kompono.files.looks import hexed
from kompono.files.place import Place
from kompono.files.shown import Shown
from kompono.files.xml import Node
from kompono.spatial.rotation import snap

LENGTHS = {"m": 1.0, "meter": 1.0, "mm": 1e-3, "millimeter": 1e-3, "cm": 1e-2, "centimeter": 1e-2, "in": 0.0254,
           "inch": 0.0254, "ft": 0.3048, "foot": 0.3048}  # fmt: skip
MASSES = {"kg": 1.0, "kilogram": 1.0, "g": 1e-3, "gram": 1e-3, "lbm": 0.45359237, "pound": 0.45359237, "t": 1e3}
MOST_INSTANCES = 5_000
_TOO_MANY = "Export a machine whose screws and bearings are parts of what they sit on."
MATES = ("coincident", "concentric", "distance", "parallel", "perpendicular", "angle", "tangent", "insert")
JOINTS = {"Revolute": "turn", "Prismatic": "slide", "Cylindrical": "cylinder", "Spherical": "ball", "Planar": "plane",
          "Weld": "", "Rigid": "", "Fixed": ""}  # fmt: skip


@dataclass(frozen=True)
class Units:
    """Metres and kilograms of the units of a file."""

    length: float
    mass: float


def read_simscape(root: Node, file: Path, *, density: Any = None) -> Assembly:
    """The assembly of a `<SimscapeMultibodyImportXML>`."""
    top = root.needed("RootAssembly")
    reader = _Reader(root, file, _units(root), density)
    assembly = reader.assembly(top, top.needed("InstanceTree"))
    notes = [*reader.shown.notes(), *reader.lines]
    if not any(each.fixed for each in assembly.instances):
        notes.append(Noted("assumed", assembly.name, "nothing of it is grounded: it moves freely"))
    return replace(assembly, notes=tuple(dict.fromkeys(notes)), file=file.name)


def _units(root: Node) -> Units:
    node = root.find("DataUnits") or root.find("ModelUnits")
    if node is None:
        raise FileError("it has neither DataUnits nor ModelUnits.", path=root.where)
    found = []
    for known, what in ((LENGTHS, "length"), (MASSES, "mass")):
        word = node.get(what) or {"length": "m", "mass": "kg"}[what]
        if word not in known:
            raise FileError(f"the unit {word!r} of {what} is not known.", path=node.where)
        found.append(known[word])
    return Units(*found)


class _Reader:
    def __init__(self, root: Node, file: Path, units: Units, density: Any) -> None:
        self.file, self.units, self.shown = file, units, Shown(file, density)
        self.lines: list[Noted] = []
        parts, assemblies = root.find("Parts"), root.find("Assemblies")
        self.part_nodes = {node.named("uid"): node for node in (parts.all("Part") if parts else [])}
        self.assembly_nodes = {node.named("uid"): node for node in (assemblies.all("Assembly") if assemblies else [])}
        self.parts: dict[str, Part] = {}
        self.count = 0  # of instances

    def assembly(self, node: Node, tree: Node, around: tuple[str, ...] = ()) -> Assembly:
        """An assembly from what its kind says and from its instances in the tree; `around` are those it lies in."""
        children = tree.all("Instance")
        self.count += len(children)
        if self.count > MOST_INSTANCES:
            raise FileError(f"there are more than {MOST_INSTANCES} instances.", path=tree.where, fix=_TOO_MANY)
        names = unique([child.get("name") or child.named("uid") for child in children])
        uids = {child.named("uid"): (name, child) for child, name in zip(children, names, strict=True)}
        parts: dict[str, Part | Assembly] = {}
        instances = []
        for child, name in zip(children, names, strict=True):
            kind = child.named("entityUid")
            key = kind
            if kind in self.assembly_nodes:
                key = f"{kind}/{name}"
                if kind in around:
                    raise FileError(f"the assembly {kind!r} lies in itself.", path=child.where, fix="Draw it anew.")
                parts[key] = self.assembly(self.assembly_nodes[kind], child, (*around, kind))
            elif kind in self.part_nodes:
                parts[key] = self.part(kind)
            else:
                raise FileError(f"there is no part or assembly {kind!r}.", path=child.where)
            instances.append(Instance(name, key, self.place(child), child.get("grounded") == "true"))
        found = [*self.mates(node, uids), *self.joints(node, uids)]
        if not found and len(instances) > 1 and not all(each.fixed for each in instances):
            found = list(_rigid(instances, top=node.tag == "RootAssembly"))
            self.lines.append(Noted("assumed", node.get("name") or "", "it has no mates: its parts are welded"))
        elif not found and len(instances) == 1 and node.tag != "RootAssembly":
            found = list(_rigid(instances, top=False))
        return Assembly(node.get("name") or "assembly", parts, tuple(instances), tuple(found), file=self.file.name)

    def part(self, uid: str) -> Part:
        """A part with mass, or a frame without."""
        if uid in self.parts:
            return self.parts[uid]
        node, units = self.part_nodes[uid], self.units
        name, properties = node.get("name") or uid, node.find("MassProperties")
        colour = node.find("VisualProperties")
        diffuse = colour.find("Diffuse") if colour else None
        rgb = None if diffuse is None else [np.clip(diffuse.number(c), 0, 1) for c in "rgb"]
        geometry = node.find("GeometryFile")
        solid = self.shown.solid(geometry.get("name") or "" if geometry else "", name, hexed(rgb) if rgb else None)
        if properties is not None and not self.shown.asked(name):
            mass = float(properties.needed("Mass").content(1)[0]) * units.mass
            centre = properties.needed("CenterOfMass").content(3) * units.length
            xx, yy, zz, yz, zx, xy = properties.needed("Inertia").content(6) * units.mass * units.length**2
            inertia = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
            if mass < 0:
                raise FileError(f"{name}: mass {mass} kg is negative.", path=properties.where)
            found = Part(name, mass, centre, inertia, solid.shapes, "file", node.where)
        elif solid.volume:
            rho, where = self.shown.density(name)
            found = Part(name, rho * solid.volume, solid.centre, rho * solid.inertia, solid.shapes, where, node.where)
        elif self.shown.asked(name):
            raise FileError(f"{name}: a density needs its geometry, which is not there.", path=node.where)
        else:
            found = Part(name, shapes=solid.shapes, where=node.where)
        self.parts[uid] = found
        return found

    def place(self, node: Node) -> Place:
        """A `<Transform>`."""
        transform = node.find("Transform")
        if transform is None:
            return Place()
        rotation = transform.needed("Rotation").content(9).reshape(3, 3)
        if np.abs(rotation @ rotation.T - np.eye(3)).max() > 1e-6 or np.linalg.det(rotation) < 0:
            raise FileError("its rotation is none.", path=transform.where)
        u, _, v = np.linalg.svd(rotation)
        if np.abs(rotation @ rotation.T - np.eye(3)).max() > 1e-14:
            rotation = u @ v
        return Place(transform.needed("Translation").content(3) * self.units.length, snap(rotation))

    def path(self, node: Node | None, uids: Mapping[str, tuple[str, Node]]) -> Names:
        """The names of an `<InstancePath>`; of none, the assembly's own frame."""
        words = [uid.text.strip() for uid in node.all("Uid")] if node else []
        known, names = uids, []
        for word in words:
            if word not in known:
                raise FileError(f"there is no instance {'/'.join(words)}.", path=node.where if node else "")
            name, child = known[word]
            names.append(name)
            inner = child.all("Instance")
            called = unique([each.get("name") or each.named("uid") for each in inner])
            known = {each.named("uid"): (n, each) for each, n in zip(inner, called, strict=True)}
        return tuple(names)

    def mates(self, node: Node, uids: Mapping[str, tuple[str, Node]]) -> list[Connection]:
        """The mates of an assembly."""
        section = node.find("Constraints")
        found: list[Connection] = []
        for mate in section.children if section else []:
            kind, name = mate.tag.lower(), mate.get("name") or mate.tag
            if kind in ("rigid", "fixed", "weld"):
                paths = [*(self.path(each, uids) for each in mate.all("InstancePath")), ()]
                found.append(self.rigid(name, paths[0], paths[1], mate, uids))
                continue
            sides = mate.all("ConstraintGeometry")
            if len(sides) != 2:
                raise FileError(f"{name}: a mate of {len(sides)} geometries.", path=mate.where)
            one, two = (self.geometry(side, uids) for side in sides)
            found.append(Mate(name, kind, one, two, self.value(mate, kind), mate.where))
        return found

    def value(self, mate: Node, kind: str) -> float | None:
        """The distance or angle a mate is written with, if it is."""
        for tag, scale in (("Distance", self.units.length), ("Value", self.units.length), ("Angle", 1.0)):
            node = mate.find(tag)
            if node is not None and node.text.strip():
                return float(node.content(1)[0]) * (scale if kind != "angle" else 1.0)
        return None

    def geometry(self, node: Node, uids: Mapping[str, tuple[str, Node]]) -> Geometry:
        """A `<ConstraintGeometry>`."""
        position, axis = node.find("Position"), node.find("Axis")
        point = position.content(3) * self.units.length if position else np.zeros(3)
        direction = axis.content(3) if axis else np.zeros(3)
        return Geometry(self.path(node.find("InstancePath"), uids), node.named("geomType").lower(), point, direction)

    def rigid(self, name: str, one: Names, two: Names, mate: Node, uids: Mapping[str, tuple[str, Node]]) -> Joined:
        """A weld of two instances where they are drawn."""
        between = self.drawn(one, uids).inverse() @ self.drawn(two, uids)
        return Joined(name, End(one, between), End(two), where=mate.where)

    def drawn(self, path: Names, uids: Mapping[str, tuple[str, Node]]) -> Place:
        """Where an instance is drawn, in the assembly."""
        place, known = Place(), dict(uids.values())
        for name in path:
            child = known[name]
            place = place @ self.place(child)
            inner = child.all("Instance")
            called = unique([each.get("name") or each.named("uid") for each in inner])
            known = dict(zip(called, inner, strict=True))
        return place

    def joints(self, node: Node, uids: Mapping[str, tuple[str, Node]]) -> list[Connection]:
        """The joints of an assembly, as Onshape writes them."""
        section = node.find("Joints")
        found: list[Connection] = []
        for joint in section.children if section else []:
            name = joint.get("name") or joint.tag
            if joint.tag not in JOINTS:
                raise FileError(f"{name}: a joint {joint.tag} is not read.", path=joint.where)
            ends = []
            for tag in ("BaseFrame", "FollowerFrame"):
                frame = joint.needed(tag)
                path = self.path(frame.find("InstancePath"), uids)
                ends.append((path, self.drawn(path, uids), self.place(frame)))
            found.append(jointed(name, JOINTS[joint.tag], ends[0], ends[1], self.lines, joint.where))
        return found


def unique(names: list[str]) -> list[str]:
    """Names, each once: the second of a name has a number."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return found


def _rigid(instances: list[Instance], *, top: bool) -> list[Joined]:
    """Welds of all parts of an assembly, and of its own frame, to the first."""
    first = instances[0]
    start = first.place or Place()
    welds = [] if top else [Joined("frame", End((), start), End((first.name,)))]
    for each in instances[1:]:
        offset = start.inverse() @ (each.place or Place())
        welds.append(Joined(f"{each.name}_weld", End((first.name,), offset), End((each.name,))))
    return welds
