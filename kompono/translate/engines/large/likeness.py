"""What makes two cells equal: a key built from classes, numbers, frames and who is connected with whom.

Names, start values and the identity of objects do not count, so all instances of a component have the same key, and one
set of kernels serves them. Elements are compared by all their attributes; what cannot be compared (an object of an
unknown class) only equals itself. Inputs and parameters an expression uses are listed with the key in the order they
are met: instances differ by which ones they read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import FunctionType
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.body import Body, Carrier, Frame
from kompono.model.element import Element
from kompono.model.force import Effort, Force
from kompono.model.joint import Joint
from kompono.model.signal import time
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.engines.large.cells import Apart, Cell
from kompono.translate.structure.topology import Link, Topology

_OWN = frozenset(("_owner", "_name", "_taken_away", "_users", "_signals", "_frames_with_signals", "q", "v", "start"))
_PLAIN = (int, float, str, bool, type(None), bytes)


class Likeness:
    """Keys of the cells of one model."""

    def __init__(self, model: Elaborated, topology: Topology) -> None:
        self.model, self.topology = model, topology
        self._solids: dict[int, Any] = {}
        self._roles: dict[int, tuple[str, Element | None]] = {time.element_hash(): ("time", None)}
        for kind, signals in (("inputs", model.inputs), ("parameters", model.parameters)):
            for signal in signals:
                self._roles[ca.SX(signal).element_hash()] = (kind, signal)

    def key(self, cell: Cell) -> tuple[Any, tuple[Element, ...]]:
        """A hashable key, and the inputs and parameters the cell reads."""
        reader = _Reader(self, cell)
        key = (
            reader.parent_key(),
            tuple([reader.link_key(link) for link in cell.links]),
            tuple([reader.element_key(force) for force in cell.forces]),
            tuple([reader.element_key(effort) for effort in cell.efforts]),
            tuple([reader.element_key(sensor) for sensor in cell.sensors]),
            tuple([reader.element_key(load) for load in cell.cells]),
            tuple([(reader.element_key(f), f.owner is self.model.model) for f in cell.fields]),
            tuple([reader.bodies[body] for body, _ in cell.children]),
        )
        return key, tuple(reader.signals.values())


class _Reader:
    """The view from inside one cell: bodies and joints by their number in it."""

    def __init__(self, likeness: Likeness, cell: Cell) -> None:
        self.likeness, self.cell = likeness, cell
        self.bodies = {link.carrier: k for k, link in enumerate(cell.links)}
        if isinstance(cell.parent, Body):
            self.bodies[cell.parent] = -1
        self.joints = {link.joint: k for k, link in enumerate(cell.links)}
        self.loads = {load: k for k, load in enumerate((*cell.forces, *cell.efforts))}
        self.signals: dict[int, Element] = {}
        self._symbols: dict[int, Any] | None = None

    def parent_key(self) -> Any:
        parent = self.cell.parent
        if not isinstance(parent, Body):
            return self.value(parent)
        link = self.likeness.topology.link(parent)
        assert link.joint is not None
        return self.pose((link.joint.first if link.reverse else link.joint.second).pose)

    def link_key(self, link: Link) -> Any:
        solid = link.carrier.solid  # type: ignore[attr-defined]
        known = self.likeness._solids.get(id(solid))
        if known is None:
            known = (self.value(solid.mass), self.value(solid.inertia))
            if not self.signals:
                self.likeness._solids[id(solid)] = known
        return self.bodies.get(link.parent), link.reverse, self.element_key(link.joint), known

    def element_key(self, element: Any) -> Any:
        attributes = vars(element)
        return type(element), *[(name, self.value(value)) for name, value in attributes.items() if name not in _OWN]

    def pose(self, pose: Any) -> Any:
        return self.value(pose.position), self.value(pose.rotation)

    def value(self, value: Any) -> Any:
        """Anything as something that can be compared."""
        if isinstance(value, ca.DM):
            return value.shape, tuple(value.nonzeros()), value.nnz() if value.is_dense() else value.sparsity().hash()
        if isinstance(value, np.ndarray):
            return value.shape, value.dtype.str, value.tobytes()
        if isinstance(value, _PLAIN):
            return type(value), value
        if isinstance(value, ca.SX):
            return self.expression(value)
        if isinstance(value, Frame):
            return self.frame(value)
        if isinstance(value, Joint):
            return self.number(self.joints, value)
        if isinstance(value, Force | Effort):
            return self.number(self.loads, value)
        if isinstance(value, Element):
            raise Apart
        return self.structure(value)

    def structure(self, value: Any) -> Any:
        if isinstance(value, tuple | list):
            return type(value), *[self.value(item) for item in value]
        if isinstance(value, Mapping):
            return type(value), *[(name, self.value(item)) for name, item in value.items()]
        if isinstance(value, FunctionType):
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            given = (value.__defaults__, value.__kwdefaults__)
            return value.__code__, self.value(cells), self.value(given)
        if is_dataclass(value) and not isinstance(value, type):
            return type(value), *[self.value(getattr(value, f.name)) for f in fields(value)]
        return type(value), id(value)

    def frame(self, frame: Frame) -> Any:
        body = frame.body
        if isinstance(body, Body):
            return self.number(self.bodies, body), self.pose(frame.pose)
        motion = getattr(body, "motion", None)  # of a ground; the world has none that matters
        where = "world" if body is self.likeness.topology.world or motion is None else self.pose(motion)
        return where, self.pose(frame.pose) if not isinstance(frame, Carrier) else None

    def number(self, known: Mapping[Any, int], element: Element) -> int:
        if element not in known:
            raise Apart
        return known[element]

    def expression(self, value: ca.SX) -> Any:
        if value.is_constant():
            return "constant", value.shape, tuple(ca.DM(ca.densify(value)).nonzeros())
        symbols = ca.symvar(value)
        roles = tuple([self.role(symbol) for symbol in symbols])
        return ca.Function("f", [ca.vertcat(*symbols)], [value]).serialize(), roles

    def role(self, symbol: ca.SX) -> Any:
        key = symbol.element_hash()
        kind, signal = self.likeness._roles.get(key, ("", None))
        if kind == "time":
            return kind
        if signal is not None:
            self.signals.setdefault(key, signal)
            return kind, list(self.signals).index(key)
        if self._symbols is None:
            self._symbols = self._own_symbols()
        if key not in self._symbols:
            raise Apart
        return self._symbols[key]

    def _own_symbols(self) -> dict[int, Any]:
        """Symbols of the cell's own joints, bodies and sensors."""
        found: dict[int, Any] = {}
        for k, sensor in enumerate(self.cell.sensors):
            for kind, column in sensor._signals.items():
                found.update((column[i].element_hash(), ("sensor", k, kind, i)) for i in range(column.numel()))
        for k, link in enumerate(self.cell.links):
            joint: Any = link.joint
            for kind, column in (("q", joint.q), ("v", joint.v)):
                for i in range(column.numel()):
                    found[column[i].element_hash()] = kind, k, i
            for frame in link.carrier._frames_with_signals:
                for kind, column in frame._signals.items():
                    where = (kind, k, self.pose(frame.pose))
                    found.update((column[i].element_hash(), (*where, i)) for i in range(column.numel()))
        return found
