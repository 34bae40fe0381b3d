"""A model cut into pieces, and the two routines of a step made of them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import casadi as ca

from kompono.model.force import Effort, Field, Force
from kompono.translate.engines.discrete.packs import Packing, PackTables
from kompono.translate.engines.discrete.pieces import Piece, Pieces
from kompono.translate.kernels import add_kernel
from kompono.translate.laws.softened import mode_rates
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import Loads
from kompono.translate.motion.signals import bind_signals
from kompono.translate.numbered import Numbered, worked_out
from kompono.translate.program import TableRoutine
from kompono.translate.tracer import InlineTracer, Tracer

if TYPE_CHECKING:
    from kompono.translate.engines.discrete.engine import DiscreteEngine

SOURCES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # wrenches a kernel adds up; what a body has less are zeros


class Cut:
    """The pieces of the model of an engine."""

    def __init__(self, engine: DiscreteEngine) -> None:
        self.engine, self.model = engine, engine.model
        tracer, self.kinematics = engine._start(shared=False, hidden=ca.SX(0, 1))
        assert isinstance(tracer, InlineTracer)
        self.tracer: Tracer = tracer
        self.pieces, self.packing = Pieces(tracer, self.kinematics, engine.kernels), Packing()
        for symbols in engine.strength_symbols:
            self.pieces.numbers.allow(symbols)

    def made(self) -> Numbered:
        """Both routines, with all numbers they read."""
        routines = self._kick(), self._drift()
        given = {symbol.element_hash(): k for k, symbol in enumerate(self.engine.strength_symbols)}
        worth, symbols = self.pieces.numbers.worth, self.packing.symbols
        values = ca.vertcat(ca.SX(0, 1), *[worth.get(symbol.element_hash(), ca.SX(0)) for symbol in symbols])
        numbers, used = self.model.numbers, ca.symvar(values)
        names = tuple(numbers.among(used)) if numbers is not None else ()
        table = ca.Function("table", [ca.vertcat(ca.SX(0, 1), *used)], [ca.densify(values)]).serialize()
        known = worked_out(table, numbers.values(names) if numbers is not None else ())
        gives = tuple(given.get(symbol.element_hash(), -1) for symbol in symbols)
        sized = [replace(one, inputs=self._inputs(len(symbols))) for one in routines]
        return Numbered({one.name: one for one in sized}, gives, table, names, known)

    def _tables(self, name: str, output: tuple[str, int]) -> PackTables:
        return PackTables(name, self.engine.nq, len(self.model.parameters), output)

    def _inputs(self, numbers: int) -> tuple[tuple[str, int], ...]:
        hidden = {"parameters": len(self.model.parameters) + numbers}
        return tuple((name, hidden.get(name, size)) for name, size in self.tracer.inputs)

    def _kick(self) -> TableRoutine:
        tables = self._tables("kick", ("rates", self.engine.nv))
        tables.zero(add_kernel(self.engine.kernels, ca.SX.sym("x"), ca.SX(1, 1)))
        for pack in self.packing.pack(self._acting()):
            tables.add(pack)
        uniform = Loads(_only_fields(self.kinematics)).uniform
        bodies = []
        for k, body in enumerate(self.model.bodies):
            most = len(tables.sources.get(k, []))
            count = next((n for n in SOURCES if n >= most), most) if most else 0
            bodies.append(self.pieces.kick(body, uniform, count))
        for pack in self.packing.pack(bodies):
            tables.add(pack, [("kick", k) for k in range(6)])
        return tables.routine(self.tracer.inputs)

    def _acting(self) -> list[Piece]:
        """Links first, then forces, efforts and fields that are not uniform."""
        path, model = self.model.path, self.model
        groups: list[tuple[Sequence[Force | Effort | Field], str]] = [
            (loads, path(s.element))
            for s, loads in zip(self.engine._links.strengths, self.engine._links.loads, strict=True)
        ]
        groups += [((load,), path(load)) for load in (*model.forces, *model.efforts, *model.fields)]
        groups += [(soft.loads, path(soft.law)) for soft in model.soft]
        found = [self.pieces.of_loads(loads, name) for loads, name in groups if loads]
        return [piece for piece in found if piece is not None]

    def _drift(self) -> TableRoutine:
        tables = self._tables("drift", ("state", self.engine.nq + self.engine.nv + len(self.model.memory)))
        moved = [("q", k) for k in range(12)] + [("v", k) for k in range(6)]
        for pack in self.packing.pack([self.pieces.drift(body) for body in self.model.bodies]):
            tables.add(pack, moved)
        place = 12 * len(self.model.bodies)
        for joint in self.engine.counted:  # after the bodies: they are measured on the new state
            q = ca.densify(self.pieces.kinematics.joint_state(joint)[0])
            count = q.numel()
            (pack,) = self.packing.pack([self.pieces.cut(q, self.model.path(joint))])
            tables.add(pack, [("state", place + k) for k in range(count)], read_from="output")
            place += count
        first = self.engine.nq + self.engine.nv
        if self.model.memory:  # states of one's own are moved by `state_rates`
            modes = mode_rates(self.model, self._at_speed(), later=True)
            memory = ca.densify(ca.vertcat(modes, *map(ca.SX, self.model.states)))
            (pack,) = self.packing.pack([self.pieces.cut(memory, "modes")])
            tables.add(pack, [("state", first + k) for k in range(memory.numel())])
        return tables.routine(self.tracer.inputs)

    def _at_speed(self) -> Kinematics:
        """The state that `drift` is given, with speeds again in the place of speeds times the step."""
        base = self.pieces.kinematics
        if not self.model.soft:
            return base
        step = ca.SX(self.model.soft[0].step)
        v = {joint: value / step for joint, value in base.v.items()}
        moving = type(base)(base.tracer, base.model, base.topology, base.q, v, base.counted)
        moving.frames = self.pieces.own_points()
        bind_signals(self.tracer, moving)
        return moving


def _only_fields(kinematics: Kinematics) -> Kinematics:
    only = copy.copy(kinematics)
    only.model = replace(kinematics.model, forces=(), efforts=(), soft=())
    return only
