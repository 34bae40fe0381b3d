"""Mates as constraints, as drawn: where parts lie in the drawing so that a mate fits, it holds there exactly.

A drawing fulfils its mates to some 1e-8 m; conditions kept at that misfit would contradict one another. So where the
misfit is small, both frames of a mate are put into one place of the drawing. Where it is not, the geometry counts as it
is written, and the parts are assembled at the start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.errors import FileError
from kompono.files.assembly import Assembly, End, Geometry, Mate, Path
from kompono.files.place import Place, along
from kompono.files.recipe import At, Make

if TYPE_CHECKING:
    from kompono.files.build import Level

CLOSE, TURNED = 1e-5, 1e-4  # misfit [m, rad] up to which a mate is kept as drawn
AXES = ("line", "cylinder", "circle", "cone")
POINTS = ("point", "sphere")


@dataclass(frozen=True)
class Drawn:
    """A geometry in the frame of the component: point and unit direction."""

    kind: str
    point: np.ndarray
    axis: np.ndarray
    geometry: Geometry


@dataclass(frozen=True)
class Condition:
    """A word of the library with both frames as they are drawn, and how far the drawing misses it [m, rad].

    `fitted` is the second frame where the condition holds exactly, None where that is the first one.
    """

    what: str
    first: Place
    second: Place
    gap: float = 0.0
    turn: float = 0.0
    keywords: tuple[tuple[str, Any], ...] = ()
    fitted: Place | None = None
    swapped: bool = False  # the first frame is on the second side of the mate


def mated(level: Level) -> None:
    """Constraints of all mates of a component."""
    largest = [0.0, 0.0]
    for mate in level.graph.mates:
        if mate.name in level.choices.ignore:
            level.told.ignored.add(mate.name)
            level.told.note("ignored", mate.name, "as asked")
            continue
        ends = [level.graph.place(End(each.path))[0] for each in (mate.first, mate.second)]
        if ends[0] == ends[1]:
            level.told.note("ignored", mate.name, "it mates parts that are one body")
            continue
        for found in _conditions(level, mate):
            fits = found.gap < CLOSE and found.turn < TURNED
            if fits:
                largest = [max(largest[0], found.gap), max(largest[1], found.turn)]
            else:
                told = f"the drawing misses it by {found.gap:.2g} m and {found.turn:.2g} rad"
                level.told.note("assembled", mate.name, told)
            paths = (mate.second.path, mate.first.path) if found.swapped else (mate.first.path, mate.second.path)
            first = _frame(level, paths[0], found.first)
            second = _frame(level, paths[1], (found.fitted or found.first) if fits else found.second)
            name = level.called(mate.name, "mate")
            level.members[name] = Make(found.what, (first, second), dict(found.keywords), mate.where)
    if level.graph.mates:
        words = f"as drawn, the largest misfit was {largest[0]:.1e} m and {largest[1]:.1e} rad"
        level.told.note("assumed", f"mates of {'.'.join(level.inner) or level.assembly.name}", words)


def place_of(level: Level, path: Path) -> Place:
    """Where a part lies in the drawing, in the frame of the component."""
    place, assembly = Place(), level.assembly
    for name in path:
        instance = next((each for each in assembly.instances if each.name == name), None)
        if instance is None:
            raise FileError(f"there is no part {'.'.join(path)}.", path=level.assembly.file)
        place = place @ (instance.place or Place())
        inner = assembly.parts[instance.of]
        assembly = inner if isinstance(inner, Assembly) else assembly
    return place


def _frame(level: Level, path: Path, drawn: Place) -> At:
    return level.end(End(path, place_of(level, path).inverse() @ drawn))


def _conditions(level: Level, mate: Mate) -> list[Condition]:
    one, two = (_drawn(level, each) for each in (mate.first, mate.second))
    kinds = _class(one.kind), _class(two.kind)
    swapped = (kinds[0], kinds[1]) in (("point", "axis"), ("point", "plane"), ("axis", "plane"))
    a, b = (two, one) if swapped else (one, two)
    rule = RULES.get((mate.kind, _class(a.kind), _class(b.kind)))
    found = None if rule is None else rule(a, b, mate)
    if not found:
        parts = " and ".join(".".join(each.path) or "the assembly" for each in (mate.first, mate.second))
        raise FileError(
            f"{mate.name}: a mate {mate.kind} of {one.kind} and {two.kind} ({parts}) is not read.",
            path=mate.where or level.assembly.file, fix=f'Leave it out: ignore=["{mate.name}"].',
        )  # fmt: skip
    return [replace(each, swapped=swapped) for each in found]  # words want the plane or line first


def _drawn(level: Level, geometry: Geometry) -> Drawn:
    place = place_of(level, geometry.path)
    length = float(np.linalg.norm(geometry.axis))
    axis = place.rotation @ (geometry.axis / length) if length > 1e-12 else np.array([0.0, 0.0, 1.0])
    return Drawn(geometry.kind, place.position + place.rotation @ geometry.point, axis, geometry)


def _class(kind: str) -> str:
    return "axis" if kind in AXES else "point" if kind in POINTS else kind


def _same_way(a: Drawn, b: Drawn) -> np.ndarray:
    """The direction of b, turned round if it points against that of a."""
    return b.axis if a.axis @ b.axis >= 0 else -b.axis


def _between(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), abs(a @ b)))


def _across(offset: np.ndarray, axis: np.ndarray) -> np.ndarray:
    return offset - axis * (axis @ offset)


def _lines(a: Drawn, b: Drawn, mate: Mate) -> list[Condition]:
    axis, first = _same_way(a, b), along(a.axis)
    gap = float(np.linalg.norm(_across(b.point - a.point, a.axis)))
    second = Place(b.point - axis * ((b.point - a.point) @ axis), along(axis, first[:, 0]))
    return [Condition("LineOnLine", Place(a.point, first), second, gap, _between(a.axis, b.axis))]


def _planes(a: Drawn, b: Drawn, mate: Mate) -> list[Condition]:
    axis, first = _same_way(a, b), along(a.axis)
    apart = float((b.point - a.point) @ a.axis)
    wanted = 0.0
    if mate.kind == "distance":
        wanted = apart if mate.value is None else float(np.copysign(mate.value, apart))
    second = Place(b.point - axis * wanted - _across(b.point - a.point, axis), along(axis, first[:, 0]))
    return [Condition("PlaneToPlane", Place(a.point, first), second, abs(apart - wanted), _between(a.axis, b.axis))]


def _points(a: Drawn, b: Drawn, mate: Mate) -> list[Condition]:
    apart = float(np.linalg.norm(b.point - a.point))
    if mate.kind in ("distance", "tangent"):
        length = apart if mate.value is None else mate.value
        if length < 1e-9 or apart < 1e-9:
            return []
        fitted = Place(a.point + (b.point - a.point) * (length / apart))
        gap, keywords = abs(apart - length), (("length", length),)
        return [Condition("Distance", Place(a.point), Place(b.point), gap, 0.0, keywords, fitted)]
    return [Condition("PointOnPoint", Place(a.point), Place(b.point), apart)]


def _axis_point(a: Drawn, b: Drawn, mate: Mate) -> list[Condition]:
    away = _across(b.point - a.point, a.axis)
    apart = float(np.linalg.norm(away))
    frame = Place(b.point - away, along(a.axis))
    if mate.kind in ("distance", "tangent"):
        radius = apart if mate.value is None else mate.value
        if radius < 1e-9 or apart < 1e-9:
            return []
        fitted = Place(frame.position + away * (radius / apart))
        gap, keywords = abs(apart - radius), (("radius", radius),)
        return [Condition("PointAroundLine", frame, Place(b.point), gap, 0.0, keywords, fitted)]
    return [Condition("PointOnLine", frame, Place(b.point), apart)]


def _plane_point(a: Drawn, b: Drawn, mate: Mate) -> list[Condition]:
    apart = float((b.point - a.point) @ a.axis)
    wanted = 0.0
    if mate.kind in ("distance", "tangent"):
        wanted = apart if mate.value is None else float(np.copysign(mate.value, apart))
    base = b.point - a.axis * (apart - wanted)  # the point's foot, moved along the normal: the plane it stays in
    return [Condition("PointInPlane", Place(base, along(a.axis)), Place(b.point), abs(apart - wanted))]


def _plane_axis(a: Drawn, b: Drawn, mate: Mate) -> list[Condition]:
    out = min(abs(float(a.axis @ b.axis)), 1.0)
    flat = _across(b.axis, a.axis)
    if np.linalg.norm(flat) < 1e-9:
        return []  # it stands on the plane
    frame = along(a.axis, flat)
    found = _plane_point(a, b, mate)[0]
    second = Place(b.point, along(np.cross(b.axis, np.cross(a.axis, b.axis)), b.axis))
    return [Condition("LineInPlane", Place(found.first.position, frame), second, found.gap, float(np.arcsin(out)))]


def _parallel(a: Drawn, b: Drawn, mate: Mate) -> list[Condition]:
    axis, first = _same_way(a, b), along(a.axis)
    second = Place(b.point, along(axis, first[:, 0]))
    return [Condition("ParallelAxes", Place(a.point, first), second, 0.0, _between(a.axis, b.axis))]


def _angle(a: Drawn, b: Drawn, mate: Mate) -> list[Condition]:
    drawn = float(np.arctan2(np.linalg.norm(np.cross(a.axis, b.axis)), a.axis @ b.axis))
    mixed = {_class(a.kind), _class(b.kind)} == {"plane", "axis"}
    if mate.kind == "perpendicular" and mixed:
        return _parallel(a, b, mate)
    wanted = np.pi / 2 if mate.kind in ("perpendicular", "parallel") else drawn if mate.value is None else mate.value
    if mixed and mate.kind == "angle" and mate.value is not None:
        wanted = float(np.pi / 2 - mate.value) if drawn < np.pi / 2 else float(np.pi / 2 + mate.value)
    if min(wanted, np.pi - wanted) < TURNED:
        return _parallel(a, b, mate)
    if abs(drawn - wanted) < TURNED:
        wanted, miss = (wanted if abs(drawn - wanted) < 1e-12 else drawn), abs(drawn - wanted)
    else:
        miss = abs(drawn - wanted)
    first, second = Place(a.point, along(a.axis)), Place(b.point, along(b.axis))
    return [Condition("AngleBetween", first, second, 0.0, miss, (("angle", float(wanted)),), second)]


def _insert(a: Drawn, b: Drawn, mate: Mate) -> list[Condition]:
    return [*_lines(a, b, mate), *_planes(a, b, mate)]


def _parallel_lines(a: Drawn, b: Drawn, mate: Mate) -> list[Condition]:
    if _between(a.axis, b.axis) > TURNED:
        return []
    around = _axis_point(a, b, mate)
    return [*_parallel(a, b, mate), *around] if around else _lines(a, b, mate)


RULES: dict[tuple[str, str, str], Any] = {
    **{(kind, "axis", "axis"): _lines for kind in ("coincident", "concentric")},
    **{(kind, "plane", "plane"): _planes for kind in ("coincident", "distance")},
    **{(kind, "point", "point"): _points for kind in ("coincident", "concentric", "distance", "tangent")},
    **{(kind, "axis", "point"): _axis_point for kind in ("coincident", "concentric", "distance", "tangent")},
    **{(kind, "plane", "point"): _plane_point for kind in ("coincident", "distance", "tangent")},
    **{(kind, "plane", "axis"): _plane_axis for kind in ("coincident", "distance", "tangent")},
    ("distance", "axis", "axis"): _parallel_lines,
    ("insert", "axis", "axis"): _insert,
    ("parallel", "axis", "axis"): _parallel,
    ("parallel", "plane", "plane"): _parallel,
    ("parallel", "plane", "axis"): _angle,
    **{(kind, one, one): _angle for kind in ("perpendicular", "angle") for one in ("axis", "plane")},
    **{(kind, "plane", "axis"): _angle for kind in ("perpendicular", "angle")},
}
