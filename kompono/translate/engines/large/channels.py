"""Channels of a large model: named when asked for, computed for the components asked for.

The channels of a cell are those of its bodies, joints, sensors and forces, worked out once per type; those of all cells
form one long list, cell by cell, of which only the wanted entries are ever made. Behind them come energy, drift and
inputs.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import translate as glob_to_regex
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from kompono.model.element import Element
from kompono.model.sensor import Sensor
from kompono.translate.engines.channels import ChannelWriter, quaternion_drift
from kompono.translate.engines.large.trace import Traced
from kompono.translate.program import Channel

if TYPE_CHECKING:
    from kompono.translate.engines.large.engine import NestedEngine

TOTALS = (
    Channel("energy.kinetic", "J"), Channel("energy.potential", "J"), Channel("energy.total", "J"),
    Channel("drift.position"), Channel("drift.velocity"),
)  # fmt: skip
BODY, JOINT, OTHER = range(3)  # parts of a cell that have channels; see `others_of` for those numbered on from there
_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class TypeChannels:
    """Channels of one type of cell: number of the link and what of it (its body, its joint, or another element of the
    cell), name after the path, and values (m).
    """

    links: tuple[int, ...]
    parts: tuple[int, ...]
    names: tuple[str, ...]
    channels: tuple[Channel, ...]  # unit and angle
    plain: tuple[int, ...]  # those that `*` means: coordinates, their rates, sensors, load cells
    values: ca.SX
    totals: ca.SX  # kinetic and potential energy, drift (3)


def type_channels(traced: Traced) -> TypeChannels:
    """All channels of a type of cell, from one trace."""
    writer = ChannelWriter(traced.kinematics, traced.loads, {}, traced.solution, traced.hanging)
    links, parts, names = [], [], []

    def note(number: int, part: int, element: Element, write: Callable[[Any], None]) -> None:
        before = len(writer.channels)
        write(element)
        stem = len(traced.kinematics.model.path(element)) + 1
        made = writer.channels[before:]
        links.extend([number] * len(made))
        parts.extend([part] * len(made))
        names.extend([channel.name[stem:] for channel in made])

    moving = [link for link in traced.kinematics.topology.links if link.joint is not None]
    for number, link in enumerate(moving):
        note(number, BODY, link.carrier, writer.body)
        if link.joint is not None and link.joint.owner:
            note(number, JOINT, link.joint, writer.joint)
    small = traced.kinematics.model
    shown = len(small.sensors) + len(small.cells)
    for k, element in enumerate(others_of(small)):
        note(0, OTHER + k, element, writer.sensor if isinstance(element, Sensor) else writer.load)
    channels = tuple(writer.channels)
    values = ca.vertcat(ca.SX(0, 1), *writer.values)
    kinetic, potential = writer.energies()
    totals = ca.densify(ca.vertcat(kinetic, potential, quaternion_drift(traced.kinematics, ca.SX(0))))
    plain = []
    for k, (number, part, name) in enumerate(zip(links, parts, names, strict=True)):
        known: Any = moving[number].joint
        coordinate = name in known.coordinates or name.removesuffix(".rate") in known.coordinates
        if OTHER <= part < OTHER + shown or (part == JOINT and coordinate):
            plain.append(k)
    return TypeChannels(tuple(links), tuple(parts), tuple(names), channels, tuple(plain), values, totals)


def others_of(part: Any) -> tuple[Element, ...]:
    """What has channels besides bodies and joints in a cell, or its small model: sensors and load cells first."""
    return (*part.sensors, *part.cells, *part.forces, *part.efforts)


class CellChannels(Sequence[Channel]):
    """The list of all channels of a large model, of which nothing is stored."""

    def __init__(self, engine: NestedEngine) -> None:
        self.engine = engine
        self.types = engine.type_channels
        counts = np.array([len(kind.names) for kind in self.types])[engine.placed.types]
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        self.inputs = tuple(Channel(engine.model.path(signal), signal.unit) for signal in engine.model.inputs)

    def __len__(self) -> int:
        return int(self.starts[-1]) + len(TOTALS) + len(self.inputs)

    def __getitem__(self, index: Any) -> Any:
        if index >= self.starts[-1]:
            return (*TOTALS, *self.inputs)[index - int(self.starts[-1])]
        cell, k = self.locate(index)
        kind = self.types[self.engine.placed.types[cell]]
        base = kind.channels[k]
        return Channel(f"{self._path(cell, kind.links[k], kind.parts[k])}.{kind.names[k]}", base.unit, base.angle)

    def locate(self, index: int) -> tuple[int, int]:
        """Cell, and place among the channels of its type."""
        cell = int(bisect_right(self.starts, index)) - 1
        return cell, index - int(self.starts[cell])

    def _path(self, cell: int, link: int, part: int) -> str:
        found = self.engine.cells[cell]
        element: Element | None = found.links[link].carrier if part == BODY else found.links[link].joint
        if part >= OTHER:
            element = others_of(found)[part - OTHER]
        assert element is not None
        return self.engine.model.path(element)

    def matching(self, pattern: str) -> list[int]:
        """Places of the channels whose names match a glob pattern.

        `*` alone means coordinates and rates of joints, which cost nothing, sensors, load cells, energy, drift and
        inputs.
        """
        totals = [int(self.starts[-1]) + k for k, c in enumerate((*TOTALS, *self.inputs)) if fits(c.name, pattern)]
        if pattern == "*":
            types = self.engine.placed.types.tolist()
            starts = self.starts.tolist()
            return [starts[cell] + k for cell, kind in enumerate(types) for k in self.types[kind].plain] + totals
        return [*self._of_cells(pattern), *totals]

    def _of_cells(self, pattern: str) -> Iterator[int]:
        wild = _WILD.search(pattern)
        prefix = pattern[: wild.start()] if wild else pattern
        fitting = re.compile(glob_to_regex(pattern)).match
        types = self.engine.placed.types.tolist()
        for cell, number in enumerate(types):
            kind, start = self.types[number], int(self.starts[cell])
            seen = (-1, -1)
            path, possible = "", False
            for k, name in enumerate(kind.names):
                if (kind.links[k], kind.parts[k]) != seen:
                    seen = kind.links[k], kind.parts[k]
                    path = self._path(cell, *seen) + "."
                    possible = path.startswith(prefix) or prefix.startswith(path)
                if possible and fitting(path + name):
                    yield start + k


def fits(name: str, pattern: str) -> bool:
    """Whether a name is a pattern or matches it."""
    return name == pattern or re.match(glob_to_regex(pattern), name) is not None
