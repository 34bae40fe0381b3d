"""A model as a list of declarations: what the builder makes of an assembly, to be carried out or written as Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kompono.files.place import Place


@dataclass(frozen=True)
class Ref:
    """A member, by its dotted path; of a table of members, by its key as well."""

    path: str
    key: str | None = None


@dataclass(frozen=True)
class At:
    """A frame on a body or ground: `self.body.at(...)`; orientation a quaternion or None."""

    carrier: str
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    orientation: tuple[float, ...] | None = None


@dataclass(frozen=True)
class On:
    """A surface of a frame: `self.body.at(...).sphere(radius=0.1)`."""

    frame: At
    kind: str
    keywords: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Start:
    """Where a body starts, in the frame of its component."""

    position: tuple[float, ...]
    quaternion: tuple[float, ...]


@dataclass(frozen=True)
class Make:
    """A call of a word users have (`Revolute`), or of another recipe; `where` in the file it comes from."""

    what: str | Recipe
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""


@dataclass(frozen=True, eq=False)
class Recipe:
    """A component: its name, what it says of itself, its members in order, and those it exposes.

    `homes`: by path in the file, the member that carries a part and the place of the part's frame on it. `coordinates`:
    channels by the names of joints in the file.
    """

    name: str
    title: str
    members: Mapping[str, Make | Mapping[str, Make]]
    exposes: tuple[str, ...]
    homes: Mapping[tuple[str, ...], tuple[str, Place]]
    coordinates: Mapping[str, str]
    placed: bool = False  # it is a part of another, which says where
    hints: tuple[str, ...] = ()  # comments at its end


def at(carrier: str, place: Place) -> At:
    """A frame on a carrier."""
    return At(carrier, tuple(place.position.tolist()), None if place.upright else place.quaternion)
