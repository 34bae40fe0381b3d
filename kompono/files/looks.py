"""What links of a URDF look like: boxes, cylinders, balls and meshes, with colours; files that are not there are told.

A mesh is looked for beside the file, below the folder above it, and in packages; nothing else is opened.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kompono.files.assembly import Noted
from kompono.files.place import Place
from kompono.files.urdf_origin import origin
from kompono.files.xml import Node
from kompono.library import shapes
from kompono.model.shape import Shape


class Looks:
    """Shapes of links; `packages` are folders by name, or folders in which packages lie."""

    def __init__(self, root: Node, file: Path, packages: Mapping[str, Any] | Iterable[Any] = ()) -> None:
        self.file = file.resolve()
        self.named = {k: Path(v) for k, v in packages.items()} if isinstance(packages, Mapping) else {}
        self.folders = [] if isinstance(packages, Mapping) else [Path(each) for each in packages]
        self.missing: Counter[str] = Counter()
        self.colours = {node.get("name"): node for node in root.all("material") if node.find("color")}

    def shapes(self, link: Node) -> tuple[Shape, ...]:
        """The visible shapes of a link, in its frame."""
        found = []
        for visual in link.all("visual"):
            geometry = visual.find("geometry")
            shape = self._shape(geometry.children[0]) if geometry is not None and geometry.children else None
            if shape is None:
                continue
            place: Place = origin(visual)
            shape = shape.at(*place.position.tolist(), orientation=place.rotation)
            found.append(self._coloured(shape, visual.find("material")))
        return tuple(found)

    def notes(self) -> list[Noted]:
        """What could not be shown, and why."""
        return [Noted("ignored", "looks", f"{count} {why}") for why, count in self.missing.items()]

    def _shape(self, node: Node) -> Shape | None:
        if node.tag == "box":
            size = np.abs(node.numbers(node.get("size"), 3))
            return shapes.box(size.tolist()) if size.all() else None
        if node.tag in ("cylinder", "capsule"):
            length, radius = node.number("length"), node.number("radius")
            if length <= 0 or radius <= 0:
                return None
            if node.tag == "capsule":
                return shapes.bar((0, 0, -length / 2), (0, 0, length / 2), radius)
            return shapes.cylinder(length=length, radius=radius)
        if node.tag == "sphere":
            radius = node.number("radius")
            return shapes.sphere(radius) if radius > 0 else None
        if node.tag == "mesh":
            return self._mesh(node)
        self.missing[f"shapes of the kind <{node.tag}>"] += 1
        return None

    def _mesh(self, node: Node) -> Shape | None:
        name = node.named("filename")
        path = self._found(name)
        if path is None:
            self.missing["meshes that are not there"] += 1
            return None
        known = path.suffix.lower() in shapes.MESH_FILES
        if path.suffix.lower() == ".dae" and importlib.util.find_spec("collada") is None:
            self.missing["meshes as .dae (pip install pycollada)"] += 1
            return None
        if not known:
            self.missing[f"meshes of the kind {path.suffix}"] += 1
            return None
        scale = node.numbers(node.get("scale") or "1 1 1", 3)
        if not scale.all():
            self.missing["meshes of no size"] += 1
            return None
        return shapes.mesh(path, scale=scale.tolist())

    def _found(self, name: str) -> Path | None:
        """The file of a mesh, below a folder it may be in."""
        places: list[tuple[Path, str]] = []
        if name.startswith(("package://", "model://")):
            package, _, rest = name.partition("://")[2].partition("/")
            if package in self.named:
                places.append((self.named[package], rest))
            for folder in (*self.folders, *self.file.parents[:8]):
                places.append((folder / package, rest) if package else (folder, rest))
                if folder.name == package:
                    places.append((folder, rest))
        elif name.startswith("file://") or Path(name).is_absolute():
            path = Path(name.removeprefix("file://"))
            places = [(folder, str(path.relative_to(folder))) for folder in self.folders if path.is_relative_to(folder)]
        else:
            places = [(self.file.parent, name), *((folder, name) for folder in self.folders)]
        for folder, rest in places:
            path, above = (folder / rest).resolve(), folder.resolve()
            if (path.is_relative_to(above) or path.is_relative_to(self.file.parent.parent)) and path.is_file():
                return path
        return None

    def _coloured(self, shape: Shape, material: Node | None) -> Shape:
        if material is None:
            return shape
        node = material if material.find("color") else self.colours.get(material.get("name"))
        colour = None if node is None else node.find("color")
        if colour is None:
            return shape
        red, green, blue, opacity = np.clip(colour.numbers(colour.get("rgba"), 4), 0, 1)
        return shape.coloured(hexed((red, green, blue)), float(opacity))


def hexed(rgb: Iterable[float]) -> str:
    """A colour of numbers from 0 to 1 as "#rrggbb"."""
    return "#" + "".join(f"{round(255 * float(part)):02x}" for part in rgb)
