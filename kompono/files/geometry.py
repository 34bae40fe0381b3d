"""The geometry kernel (Open CASCADE, `kompono[cad]`): solids of STEP and BREP files, their properties and triangles.

Only solids count: open shells have no volume. The kernel works in mm; here all is in metres.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kompono.errors import FileError
from kompono.files.shown import Solid
from kompono.model.shape import Shape
from kompono.result.extras import extra

MM = 1e-3
MOST_TRIANGLES = 20_000
ROUNDING = 1e-12  # of its size: what integrals over surfaces leave where there is nothing
LARGEST = 200_000_000  # bytes of a STEP file


def kernel(module: str) -> Any:
    """A module of the kernel."""
    return extra(f"OCP.{module}", "cad")


def step_solid(path: Path, colour: str | None) -> Solid:
    """All solids of a STEP file of one part."""
    if path.stat().st_size > LARGEST:
        raise FileError("it is too large", path=path.name)
    reader = kernel("STEPControl").STEPControl_Reader()
    with quiet():
        done = reader.ReadFile(str(path)) == kernel("IFSelect").IFSelect_ReturnStatus.IFSelect_RetDone
        if done:
            reader.TransferRoots()
    if not done or not reader.NbShapes():
        raise FileError("it is no STEP file", path=path.name)
    return solid_of(reader.OneShape(), colour)


def brep_shape(data: bytes, name: str) -> Any:
    """The shape of a BREP file."""
    shape = kernel("TopoDS").TopoDS_Shape()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "shape.brp")
        Path(path).write_bytes(data)
        with quiet():
            kernel("BRepTools").BRepTools.Read_s(shape, path, kernel("BRep").BRep_Builder())
    if shape.IsNull():
        raise FileError("its shape cannot be read", path=name)
    return shape


def solid_of(shape: Any, colour: str | None, *, scale: float = MM) -> Solid:
    """Properties and triangles of the solids of a shape."""
    volume, moment, tensors = 0.0, np.zeros(3), []
    for solid in _explored(shape, "TopAbs_SOLID"):
        properties = kernel("GProp").GProp_GProps()
        kernel("BRepGProp").BRepGProp.VolumeProperties_s(solid, properties)
        point, matrix = properties.CentreOfMass(), properties.MatrixOfInertia()
        size, centre = properties.Mass(), np.array([point.X(), point.Y(), point.Z()])
        tensor = np.array([[matrix.Value(i, j) for j in (1, 2, 3)] for i in (1, 2, 3)])
        volume, moment = volume + size, moment + size * centre
        tensors.append((size, centre, tensor))
    if volume <= 0:
        return Solid(shapes=_triangles(shape, colour, scale))
    middle, inertia = moment / volume, np.zeros((3, 3))
    for size, centre, tensor in tensors:
        arm = centre - middle
        inertia += tensor + size * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    length = np.sqrt(np.abs(inertia).max() / volume)
    middle[np.abs(middle) < ROUNDING * length] = 0.0
    inertia[np.abs(inertia) < ROUNDING * np.abs(inertia).max()] = 0.0
    return Solid(volume * scale**3, middle * scale, inertia * scale**5, _triangles(shape, colour, scale))


def _explored(shape: Any, kind: str) -> Iterator[Any]:
    explorer = kernel("TopExp").TopExp_Explorer(shape, getattr(kernel("TopAbs").TopAbs_ShapeEnum, kind))
    while explorer.More():
        yield explorer.Current()
        explorer.Next()


def _triangles(shape: Any, colour: str | None, scale: float) -> tuple[Shape, ...]:
    """The surface as triangles, coarser where there would be too many."""
    box = kernel("Bnd").Bnd_Box()
    kernel("BRepBndLib").BRepBndLib.Add_s(shape, box)
    if box.IsVoid():
        return ()
    size = float(box.CornerMin().Distance(box.CornerMax()))
    kernel("BRepMesh").BRepMesh_IncrementalMesh(shape, 0.004 * size, False, 0.4, False)
    vertices, faces, count = [], [], 0
    for face in _explored(shape, "TopAbs_FACE"):
        place = kernel("TopLoc").TopLoc_Location()
        face = kernel("TopoDS").TopoDS.Face(face)
        mesh = kernel("BRep").BRep_Tool.Triangulation_s(face, place)
        if mesh is None:
            continue
        moved = place.Transformation()
        for k in range(1, mesh.NbNodes() + 1):
            point = mesh.Node(k).Transformed(moved)
            vertices.append([round(x * scale, 7) for x in (point.X(), point.Y(), point.Z())])
        turned = face.Orientation() == kernel("TopAbs").TopAbs_Orientation.TopAbs_REVERSED
        for k in range(1, mesh.NbTriangles() + 1):
            a, b, c = mesh.Triangle(k).Get()
            faces.append(
                [count + a - 1, count + c - 1, count + b - 1]
                if turned
                else [count + a - 1, count + b - 1, count + c - 1]
            )
        count = len(vertices)
    if not faces or len(faces) > MOST_TRIANGLES:
        return ()
    found = Shape("given", {"vertices": vertices, "faces": faces})
    return (found if colour is None else found.coloured(colour),)


class quiet:
    """The kernel prints about its work on the standard output of the process: not here."""

    def __enter__(self) -> None:
        self._messenger = kernel("Message").Message.DefaultMessenger_s()
        self._printers = list(self._messenger.Printers())
        for printer in self._printers:
            self._messenger.RemovePrinter(printer)

    def __exit__(self, *_: object) -> None:
        for printer in self._printers:
            self._messenger.AddPrinter(printer)
