"""FreeCAD assemblies (.FCStd, versions 1.0 and 1.1): a zip with Document.xml and one BREP file per shape.

Joints and connectors are in the XML; masses come from the shapes through the geometry kernel (`kompono[cad]`) and a
density. Connectors may point against each other; a drawing that is not solved is assembled.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kompono.errors import FileError
from kompono.files.assembly import Assembly, Connection, Instance, Joined, Noted, Part
from kompono.files.drawn import jointed
from kompono.files.freecad_joints import ANGLES, COUPLED, Known, Side, angled, coupled, limited, limits, radii
from kompono.files.geometry import Solid, brep_shape, kernel, solid_of
from kompono.files.masses import together
from kompono.files.names import Names
from kompono.files.place import Place
from kompono.files.shown import Shown
from kompono.files.xml import Node, parse

MM = 1e-3
DEEPEST = 20  # containers in containers
LARGEST = 100_000_000  # bytes of one file in the zip
JOINTS = {"Fixed": "", "Revolute": "turn", "Cylindrical": "cylinder", "Slider": "slide", "Ball": "ball"}


def read_freecad(path: Path, *, density: Any = None) -> Assembly:
    """The assembly of a .FCStd file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _Reader(path, archive, density).assembly()
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise FileError(f"it is no whole zip file: {error}.", path=path.name) from None


class _Reader:
    def __init__(self, path: Path, archive: zipfile.ZipFile, density: Any) -> None:
        self.path, self.archive, self.shown = path, archive, Shown(path, density)
        root = parse(self.read("Document.xml"), f"{path.name}/Document.xml")
        self.objects: dict[str, dict[str, Node]] = {}
        for node in root.needed("ObjectData").all("Object"):
            properties = node.find("Properties")
            known = properties.all("Property") if properties else []
            self.objects[node.named("name")] = {each.get("name") or "": each for each in known}
        listed = root.needed("Objects").all("Object")
        self.types = {node.get("name") or "": node.get("type") or "" for node in listed}
        self.lines: list[Noted] = []

    def read(self, name: str) -> bytes:
        """One file of the zip, if it is not too large."""
        try:
            info = self.archive.getinfo(name)
        except KeyError:
            raise FileError(f"there is no {name} in it.", path=self.path.name) from None
        if info.file_size > LARGEST:
            raise FileError(f"{name} would have {info.file_size} bytes.", path=self.path.name)
        with self.archive.open(info) as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise FileError(f"{name} has more than {LARGEST} bytes.", path=self.path.name)
        return data

    def assembly(self) -> Assembly:
        """Parts that joints hold, and the joints."""
        joints = [name for name, known in self.objects.items() if "JointType" in known and not self._off(known)]
        if not joints:
            raise FileError("there are no joints of an assembly in it.", path=self.path.name)
        held = [self._linked(known["ObjectToGround"]) for known in self.objects.values() if "ObjectToGround" in known]
        sides = {joint: [self._side(joint, number) for number in "12"] for joint in joints}
        used = dict.fromkeys([*held, *(side[0] for pair in sides.values() for side in pair)])
        names = Names()
        called = {name: names.give(self._label(name)) for name in used}
        parts: dict[str, Part | Assembly] = {called[name]: self._part(name, called[name]) for name in used}
        instances = tuple(Instance(called[name], called[name], self._drawn(name), name in held) for name in used)
        both = {
            joint: [Side(called[name], self._drawn(name), frame) for name, frame in pair]
            for joint, pair in sides.items()
        }
        found = self._connections(both)
        if not held:
            self.lines.append(Noted("assumed", self.path.stem, "nothing of it is grounded: it moves freely"))
        return Assembly(
            self.path.stem, parts, instances, tuple(found), notes=(*self.lines, *self.shown.notes()),
            file=self.path.name,
        )  # fmt: skip

    def _connections(self, sides: dict[str, list[Side]]) -> list[Connection]:
        """What the joints become; gears and racks last, which need the others."""
        found: list[Connection] = []
        kinds = {joint: self._kind(joint) for joint in sides}
        known = [
            Known(self._label(joint), JOINTS[kinds[joint]], *pair)
            for joint, pair in sides.items()
            if JOINTS.get(kinds[joint]) in ("turn", "slide")
        ]
        for joint, (one, two) in sides.items():
            name, kind, where = self._label(joint), kinds[joint], self.path.name
            if kind in JOINTS:
                found.append(self._joint(joint, JOINTS[kind], one, two))
            elif kind in ANGLES:
                found.append(angled(name, kind, one, two, lambda part: (part,), where))
            elif kind in COUPLED:
                found.append(coupled(name, kind, one, two, radii(self.objects[joint]), known, where))
            else:
                raise FileError(f"{name}: a joint {kind} of {one.part} and {two.part} is not read.", path=where)
        return found

    def _joint(self, joint: str, kind: str, one: Side, two: Side) -> Joined:
        """A joint of frames that meet, in its limits."""
        ends = [((side.part,), side.drawn, side.frame) for side in (one, two)]
        found = jointed(self._label(joint), kind, ends[0], ends[1], self.lines, self.path.name)
        held = limits(self.objects[joint], kind, one.world, two.world)
        if held != (None, None):
            return replace(found, steps=(replace(found.steps[0], limits=held),))
        if limited(self.objects[joint]):
            self.lines.append(Noted("ignored", found.name, "its limits: it has several coordinates, or none"))
        return found

    def _off(self, known: dict[str, Node]) -> bool:
        for name, off in (("Suppressed", "true"), ("Activated", "false")):
            node = known[name].find("Bool") if name in known else None
            if node is not None and node.get("value") == off:
                return True
        return False

    def _label(self, name: str) -> str:
        node = self.objects[name].get("Label")
        text = node.find("String") if node else None
        return (text.get("value") if text else None) or name

    def _kind(self, joint: str) -> str:
        node = self.objects[joint]["JointType"]
        words, number = node.find("CustomEnumList"), node.needed("Integer")
        index = int(number.number("value"))
        known = [each.get("value") or "" for each in words.children] if words else []
        if not 0 <= index < len(known):
            raise FileError(f"{self._label(joint)}: its kind is not told.", path=node.where)
        return known[index]

    def _linked(self, node: Node) -> str:
        link = node.find("Link") or (node.children[0] if node.children else None)
        name = (link.get("value") or link.get("name") or "") if link else ""
        if name not in self.objects:
            raise FileError(f"there is no object {name!r}.", path=node.where)
        return name

    def _side(self, joint: str, number: str) -> tuple[str, Place]:
        """The component of one side of a joint, and the connector in its frame."""
        known = self.objects[joint]
        reference = known.get(f"Reference{number}")
        if reference is None or not reference.children or f"Placement{number}" not in known:
            raise FileError(f"{self._label(joint)}: its reference {number} is not there.", path=self.path.name)
        node = reference.children[0]
        subs = [each.get("value") or "" for each in node.walk() if each.tag == "Sub"] or [node.get("sub") or ""]
        chain = [node.get("name") or "", *subs[0].split(".")]
        for name in chain:  # version 1.0 names the assembly first
            if name in self.objects and self.types.get(name) != "Assembly::AssemblyObject" and self._has_place(name):
                return name, self._place(known[f"Placement{number}"])
        raise FileError(
            f"{self._label(joint)}: it refers to {'.'.join(chain)}, which is no part.", path=reference.where
        )

    def _has_place(self, name: str) -> bool:
        return "LinkPlacement" in self.objects[name] or "Placement" in self.objects[name]

    def _drawn(self, name: str) -> Place:
        known = self.objects[name]
        return self._place(known["LinkPlacement" if "LinkPlacement" in known else "Placement"])

    def _place(self, node: Node) -> Place:
        value = node.needed("PropertyPlacement")
        x, y, z, w = (value.number(f"Q{k}") for k in range(4))
        point = np.array([value.number(f"P{axis}") for axis in "xyz"]) * MM
        if not 0.5 < x * x + y * y + z * z + w * w < 2:
            raise FileError("its rotation is none.", path=value.where)
        return Place.of(point, (w, x, y, z))

    def _part(self, name: str, called: str) -> Part:
        """The part of a component: its own shape, or that of what it links."""
        solids = list(self._solids(self._target(name, called), Place(), called))
        if not solids:
            raise FileError(f"{called}: it has no shape to weigh.", path=self.path.name, fix="Give its parts as links.")
        rho, origin = self.shown.density(called)
        pieces = [(Part(called, rho * one.volume, one.centre, rho * one.inertia), place) for one, place in solids]
        mass, centre, inertia = together(pieces)
        shapes = tuple(
            shape.at(*place.position.tolist(), orientation=place.rotation) for one, place in solids
            for shape in one.shapes
        )  # fmt: skip
        if not mass:
            return Part(called, shapes=shapes, where=self.path.name)
        return Part(called, mass, centre, inertia, shapes, origin, f"{self.path.name}: {called}")

    def _target(self, name: str, called: str) -> str:
        """What an object links at last, or itself."""
        seen = set()
        while "Shape" not in self.objects[name] and "LinkedObject" in self.objects[name]:
            if name in seen:
                raise FileError(f"{called}: it links itself.", path=self.path.name)
            seen.add(name)
            name = self._linked(self.objects[name]["LinkedObject"])
        return name

    def _solids(self, name: str, place: Place, called: str, depth: int = 0) -> Iterator[tuple[Solid, Place]]:
        """The shape of an object, or those in a container of objects, with their places in it; what is hidden there is
        what others were made of.
        """
        known = self.objects[name]
        node = known.get("Shape")
        file = next((each.get("file") for each in node.children if each.get("file")), None) if node else None
        if file:
            found = brep_shape(self.read(file), f"{self.path.name}/{file}")
            found.Location(kernel("TopLoc").TopLoc_Location())  # where it stands is the placement's
            yield solid_of(found, None), place
            return
        if depth > DEEPEST:
            raise FileError(f"{called}: it contains itself.", path=self.path.name)
        group = known["Group"].walk() if "Group" in known else ()
        for link in group:
            inner = link.get("value") or ""
            if link.tag == "Link" and inner in self.objects and not self._hidden(inner) and self._has_place(inner):
                target = self._target(inner, called)
                yield from self._solids(target, place @ self._drawn(inner), called, depth + 1)

    def _hidden(self, name: str) -> bool:
        node = self.objects[name].get("Visibility")
        shown = node.find("Bool") if node else None
        return shown is not None and shown.get("value") == "false"
