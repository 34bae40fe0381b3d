"""Contacts of an assembly as declarations: planes under spheres, capsules, boxes and cylinders, and spheres that meet.

A capsule is two spheres, a box its corners, a cylinder the rims of its ends: on a plane that is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kompono.errors import RunError
from kompono.files.assembly import End, Surfaced
from kompono.files.place import Place
from kompono.files.recipe import Make, On
from kompono.given import shown

if TYPE_CHECKING:
    from kompono.files.build import Level

MOST_CONTACTS = 2_000
SIZES = {"sphere": 1, "capsule": 2, "box": 3, "cylinder": 2}  # numbers a shape has: radius, half a length, half edges
CHOICES = ("none", "ground", "all")


def checked_contact(contact: Any, known: tuple[str, ...] = CHOICES) -> str:
    """What `contact=` may be."""
    if contact not in known:
        words = ", ".join(f'"{word}"' for word in known)
        raise RunError(f"contact = {shown(contact)} is not known.", path="load", fix=f"There are {words}.")
    return contact


def sizes_named(kind: str, sizes: list[float]) -> tuple[float, ...]:
    """The sizes that a kind of shape has."""
    return tuple(sizes[: SIZES.get(kind, 0)])


def touched(level: Level) -> None:
    """Contacts of a component."""
    for each in level.assembly.touching:
        if each.name in level.choices.ignore:
            level.told.ignored.add(each.name)
            level.told.note("ignored", each.name, "as asked")
            continue
        (base,) = _surfaces(level, each.first)
        surfaces = list(_surfaces(level, each.second))
        if base.frame.carrier == surfaces[0].frame.carrier:
            level.told.note("ignored", each.name, "both are on one body")
            continue
        keywords = {"mu": each.friction} if each.friction else {}
        for k, surface in enumerate(surfaces, 1):
            name = level.called(each.name if len(surfaces) == 1 else f"{each.name}_{k}", "contact")
            level.members[name] = Make("Contact", (base, surface), keywords, each.where)


def _surfaces(level: Level, side: Surfaced) -> Iterator[On]:
    """A surface of a body, or what stands for it before a plane."""
    sizes = side.sizes

    def on(kind: str, z: float = 0.0, **keywords: Any) -> On:
        return On(level.end(End(side.path, side.place @ Place.of((0.0, 0.0, z)))), kind, keywords)

    if side.kind == "plane":
        yield on("plane")
    elif side.kind == "box":
        yield on("corners", size=tuple(2 * edge for edge in sizes))
    elif side.kind == "sphere":
        yield on("sphere", radius=sizes[0])
    elif side.kind == "capsule":
        yield from (on("sphere", z, radius=sizes[0]) for z in (-sizes[1], sizes[1]))
    else:
        yield from (on("circle", z, radius=sizes[0], axis="z") for z in (-sizes[1], sizes[1]))
