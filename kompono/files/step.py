"""Bare STEP assemblies: parts with names, places, colours and solids, but no joints, which STEP does not have.

Every part is a body that moves freely, until joints are written: `kompono import FILE.step --out machine.py` makes the
file to write them in. `fixed=["base"]` holds parts on the ground, `rigid=["arm"]` makes one body of a sub-assembly.
Densities are the file's where it has them, else asked for, else that of steel.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from kompono.errors import FileError, suggest
from kompono.files.assembly import Assembly, End, Instance, Joined, Noted, Part
from kompono.files.geometry import LARGEST, kernel, quiet, solid_of
from kompono.files.looks import hexed
from kompono.files.place import Place
from kompono.files.shown import Shown
from kompono.files.simscape import unique
from kompono.spatial.rotation import snap

MM = 1e-3
MOST_PARTS = 5_000
DEEPEST = 40
HINTS = (
    "STEP has no joints. Write them here, for example:",
    'self.hinge = Revolute(self.{0}.at(0, 0, 0.1), self.{1}.at(0, 0, -0.1), axis="z")',
    "with Revolute, Prismatic, Cylindrical, Spherical, Planar, Weld or mates of kompono.library. A frame .at(x, y, z)",
    "is seen from the centre of mass, in the axes of the part; where that is in the drawing, start_position says.",
)


def read_step(
    path: Path, *, density: Any = None, fixed: Iterable[str] = (), rigid: Iterable[str] = ()
) -> Assembly:  # fmt: skip
    """The assembly of a STEP file."""
    held, firm = ([each] if isinstance(each, str) else list(each) for each in (fixed, rigid))
    reader = _Reader(path, Shown(path, density), frozenset(held), frozenset(firm))
    found = reader.assembly()
    for name in (*held, *firm):
        if name not in reader.known:
            raise FileError(f"there is no part {name!r}.", path=path.name, fix=suggest(name, sorted(reader.known)))
    return found


class _Reader:
    def __init__(self, path: Path, shown: Shown, fixed: frozenset[str], rigid: frozenset[str]) -> None:
        self.path, self.shown, self.fixed, self.rigid = path, shown, fixed, rigid
        self.known: set[str] = set()
        self.parts: dict[str, Part] = {}
        self.count = 0
        self.tools = kernel("XCAFDoc")
        self.document = _document(path)
        main = self.document.Main()
        tool = self.tools.XCAFDoc_DocumentTool
        self.shapes, self.colours = tool.ShapeTool_s(main), tool.ColorTool_s(main)

    def assembly(self) -> Assembly:
        """All roots of the file; one that is an assembly is the machine itself."""
        roots = _sequence(lambda found: self.shapes.GetFreeShapes(found))
        name = self.path.stem
        if len(roots) == 1 and self.tools.XCAFDoc_ShapeTool.IsAssembly_s(roots[0]):
            name, roots = _name(roots[0]) or name, self.components(roots[0])
        if not roots:
            raise FileError("there are no shapes in it.", path=self.path.name)
        found = self.level(name, roots, ())
        told = (
            "it has no joints: every part moves freely; kompono import FILE --out FILE.py makes a file to write them in"
        )
        notes = [Noted("assumed", name, told), *self.shown.notes()]
        hints = HINTS if len(found.instances) > 1 else ()
        return Assembly(
            found.name, found.parts, found.instances, found.connections, notes=tuple(notes), file=self.path.name,
            hints=hints,
        )  # fmt: skip

    def level(self, name: str, labels: list[Any], path: tuple[str, ...]) -> Assembly:
        """One assembly of the file from its components."""
        if len(path) > DEEPEST:
            raise FileError(f"assemblies are nested more than {DEEPEST} deep.", path=self.path.name)
        parts: dict[str, Part | Assembly] = {}
        instances: list[Instance] = []
        names = unique([_name(label) or _name(self.referred(label)) or "part" for label in labels])
        for label, own in zip(labels, names, strict=True):
            self.count += 1
            if self.count > MOST_PARTS:
                raise FileError(f"there are more than {MOST_PARTS} parts.", path=self.path.name)
            kind, here = self.referred(label), (*path, own)
            dotted = ".".join(here)
            self.known.add(dotted)
            key = f"{_entry(kind)}/{own}"
            if self.tools.XCAFDoc_ShapeTool.IsAssembly_s(kind):
                parts[key] = self.level(own, self.components(kind), here)
            else:
                key = _entry(kind)
                parts[key] = self.part(kind, label)
            instances.append(Instance(own, key, self.place(label, dotted), dotted in self.fixed))
        firm = _welded(instances) if ".".join(path) in self.rigid else ()
        return Assembly(name, parts, tuple(instances), tuple(firm), file=self.path.name)

    def components(self, label: Any) -> list[Any]:
        """What an assembly consists of."""
        return _sequence(lambda found: self.tools.XCAFDoc_ShapeTool.GetComponents_s(label, found, False))

    def referred(self, label: Any) -> Any:
        """The part or assembly an instance is one of."""
        found = kernel("TDF").TDF_Label()
        return found if self.tools.XCAFDoc_ShapeTool.GetReferredShape_s(label, found) else label

    def place(self, label: Any, name: str) -> Place:
        """Where an instance is in its assembly."""
        moved = self.tools.XCAFDoc_ShapeTool.GetLocation_s(label).Transformation()
        values = np.array([[moved.Value(i, j) for j in (1, 2, 3, 4)] for i in (1, 2, 3)])
        rotation = values[:, :3]
        if np.abs(rotation @ rotation.T - np.eye(3)).max() > 1e-6 or np.linalg.det(rotation) < 0:
            raise FileError(f"{name} is mirrored or scaled where it stands.", path=self.path.name)
        u, _, v = np.linalg.svd(rotation)
        exact = np.abs(rotation @ rotation.T - np.eye(3)).max() < 1e-14
        return Place(values[:, 3] * MM, snap(rotation if exact else u @ v))

    def part(self, kind: Any, label: Any) -> Part:
        """The solid of a part, weighed; an open surface is a frame without mass."""
        entry = _entry(kind)
        if entry in self.parts:
            return self.parts[entry]
        name = _name(kind) or _name(label) or "part"
        shape = self.tools.XCAFDoc_ShapeTool.GetShape_s(kind)
        shape.Location(kernel("TopLoc").TopLoc_Location())
        solid = solid_of(shape, self.colour(label, kind))
        found = Part(name, shapes=solid.shapes, where=f"{self.path.name}: {name}")
        if solid.volume:
            rho, origin = self.shown.density(name)
            own = self.density(kind)
            if own and not self.shown.asked(name):
                rho, origin = own, f"geometry and the density of the file, {own:g} kg/m^3"
            found = Part(name, rho * solid.volume, solid.centre, rho * solid.inertia, solid.shapes, origin, found.where)
        self.parts[entry] = found
        return found

    def density(self, kind: Any) -> float:
        """The density of a part [kg/m^3], on it or on all its solids alike; 0 if there is none."""
        read = self.tools.XCAFDoc_MaterialTool.GetDensityForShape_s
        values = {round(float(read(each)) * 1e9, 6) for each in (kind, *self.inner(kind))} - {0.0}
        return values.pop() if len(values) == 1 else 0.0

    def inner(self, kind: Any) -> list[Any]:
        """Labels of solids and faces of a part."""
        return _sequence(lambda found: self.tools.XCAFDoc_ShapeTool.GetSubShapes_s(kind, found))

    def colour(self, label: Any, kind: Any) -> str | None:
        """The colour of an instance, of its part, or of the first of its solids that has one."""
        kinds, read = self.tools.XCAFDoc_ColorType, self.tools.XCAFDoc_ColorTool.GetColor_s
        found = kernel("Quantity").Quantity_Color()
        for each in (label, kind, *self.inner(kind)):
            for word in (kinds.XCAFDoc_ColorSurf, kinds.XCAFDoc_ColorGen):
                if read(each, word, found):
                    return hexed(_seen(part) for part in (found.Red(), found.Green(), found.Blue()))
        return None


def _document(path: Path) -> Any:
    """The file as a document of the kernel."""
    if path.stat().st_size > LARGEST:
        raise FileError(f"it has {path.stat().st_size} bytes, more than {LARGEST}.", path=path.name)
    title = kernel("TCollection").TCollection_ExtendedString("kompono")
    document = kernel("TDocStd").TDocStd_Document(title)
    reader = kernel("STEPCAFControl").STEPCAFControl_Reader()
    for mode in (reader.SetColorMode, reader.SetNameMode, reader.SetMatMode):
        mode(True)
    done = kernel("IFSelect").IFSelect_ReturnStatus.IFSelect_RetDone
    with quiet():
        try:
            whole = reader.ReadFile(str(path)) == done and reader.Transfer(document)
        except Exception as error:  # the kernel has many kinds of its own
            raise FileError(f"the geometry kernel cannot read it: {error}.", path=path.name) from None
    if not whole:
        raise FileError("the geometry kernel cannot read it.", path=path.name)
    return document


def _sequence(fill: Any) -> list[Any]:
    found = kernel("collections").Sequence_TDF_Label()
    fill(found)
    return [found.Value(k) for k in range(1, found.Length() + 1)]


def _name(label: Any) -> str:
    attribute = kernel("TDataStd").TDataStd_Name()
    if not label.FindAttribute(kernel("TDataStd").TDataStd_Name.GetID_s(), attribute):
        return ""
    return str(attribute.Get().ToExtString()).strip()


def _entry(label: Any) -> str:
    """A key of a label: its tags, from the root."""
    tags = []
    while not label.IsNull():
        tags.append(str(label.Tag()))
        label = label.Father()
    return ":".join(reversed(tags))


def _seen(linear: float) -> float:
    """A linear part of a colour as screens take it."""
    value = min(max(float(linear), 0.0), 1.0)
    return 12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055


def _welded(instances: list[Instance]) -> list[Joined]:
    """All parts of an assembly on its own frame."""
    first, rest = instances[0], instances[1:]
    start = first.place or Place()
    held = [Joined("frame", End((), start), End((first.name,)), merges=True)]
    for each in rest:
        offset = start.inverse() @ (each.place or Place())
        held.append(Joined(f"{each.name}_weld", End((first.name,), offset), End((each.name,)), merges=True))
    return held
