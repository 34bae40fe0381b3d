"""What laws are asked at events, part by part: with no law acting, all rows are told what forces on any of them do.

    law_look       gap and rate of the rows, five numbers of each unit
    law_condense   the answer at the ports without laws
    law_push       what forces on the rows inside do at the ports
    law_free       accelerations of rows and measured reactions, from what the border has
    law_respond    the same of what forces on the rows, and changes at the border, do; linear in both
    law_resolve    rates of x without laws, and
    moved          what forces and changes at the border do to x; asked of all parts, for speeds jump everywhere

Rows are without names: their owner learns which force moves which row how much, and no geometry or mass. So modes are
chosen for the machine as a whole, by the same rules and numbers as if all parts were open.

Whoever runs a machine asks its parts for all of that *at once*. What rows do is affine in what the border has, which is
known only when all parts have answered: so each part is asked for its rows with nothing at the border, and for what one
unit of each entry there does. A part elsewhere is one round trip away, whatever is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca

from kompono.model.body import Frame
from kompono.model.joint import Joint
from kompono.translate.elimination.blocks import RightSide
from kompono.translate.elimination.bordered import Swept
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.laws.acting import measured, pushes, row_accelerations
from kompono.translate.laws.split import coefficients
from kompono.translate.parts.compartment import Compartment, CompartmentState
from kompono.translate.parts.law_acting import bias_of_rows, on_base
from kompono.translate.parts.report import PartedWriter
from kompono.translate.symbolic import Matrix, Vector

if TYPE_CHECKING:
    from kompono.translate.parts.inside import Part
    from kompono.translate.parts.moment import Condensed, Moment

NONE = ca.SX(0, 1)


def look(now: Moment) -> tuple[Vector, Vector, Vector]:
    """Gap and rate of all rows, and five numbers of each unit."""
    rows = now.compartment.law_rows
    own = rows.numbers(now.kinematics) if rows.size else []
    found = [
        [rows.stacked(now.law_closures, "residual")], [rows.stacked(now.law_closures, "rate")],
        [own[k] for k in rows.numbered()],
    ]  # fmt: skip
    for part in now.compartment.parts:
        size = part.laws.size
        if size:
            column = now._ask(part, "law_look")
            for kind, place in zip(found, (slice(0, size), slice(size, 2 * size), slice(2 * size, None)), strict=True):
                kind.append(column[place, :])
    gap, rate, numbers = (ca.vertcat(NONE, *kind) for kind in found)
    return gap, rate, numbers


@dataclass(frozen=True)
class Own:
    """Rows, measures and speeds of a compartment itself, and what is at the borders of its parts."""

    rows: Vector
    measures: Vector
    speeds: Vector
    crossings: Vector  # of ports that parts move, relative to their bases (6 each)
    borders: dict[Part, Vector]

    @property
    def columns(self) -> list[Vector]:
        """All of it."""
        return [self.rows, self.measures, self.speeds, self.crossings, *self.borders.values()]


class Lawless:
    """A compartment at a state, its equations swept with no law acting; `at_once`: its parts are asked before anything
    is known of their borders.
    """

    def __init__(self, now: Moment, *, at_once: bool = False) -> None:
        self.now, self.rows, self.parts = now, now.compartment.law_rows, now.compartment.parts
        self.at_once = at_once
        self.condensed: Condensed = now.forces(lawless=True)
        assert isinstance(self.condensed.swept, Swept)
        self.swept = self.condensed.swept
        self.base = on_base(now)
        self.bias = bias_of_rows(now, self.condensed, self.base)

    def push(self, forces: Vector) -> Vector:
        """What forces on all rows do at the border, alone."""
        own, ports = self._divided(forces)
        right = RightSide(self._pushing({}, own, ports), {})
        return self.swept.again(right).answer()[1]

    def free(self, border: Vector) -> tuple[Vector, Vector]:
        """Accelerations of all rows and measures without forces."""
        own = self._own(border, ca.SX.zeros(self.rows.size), {})
        return self._rows_of(own, lambda part, given: self._ask(part, "law_free", given))

    def free_rates(self, border: Vector) -> Vector:
        """Rates of x without forces."""
        own = self._own(border, ca.SX.zeros(self.rows.size), {})

        def asked(part: Part, given: Vector) -> Vector:
            return self._ask(part, "law_resolve" if part.laws.size else "resolve", given)

        return self._rates_of(own, asked)

    def moved(self, border: Vector, forces: Vector) -> tuple[Vector, Vector]:
        """What forces on the rows, and changes at the border, do to the rows and to measures."""
        inner = self._inner(forces)
        own = self._change(border, forces)
        return self._rows_of(own, lambda part, given: self._ask(part, "law_respond", given, inner[part]))

    def moved_rates(self, border: Vector, forces: Vector) -> Vector:
        """What they do to x."""
        inner = self._inner(forces)
        own = self._change(border, forces)
        return self._rates_of(own, lambda part, given: self._ask(part, "moved", given, inner[part]))

    def moved_ports(self, forces: Vector) -> Vector:
        """What forces on the rows do to the motion of ports relative to the bases of their parts."""
        return self._change(ca.SX(0, 1), forces).crossings

    # -- this compartment

    def _own(self, border: Vector, forces: Vector, ports: Mapping[Part, Vector]) -> Own:
        """With forces on own rows, and what is added at the ports of parts."""
        bias = self._pushing(dict(self.swept.right.bias), forces, ports)
        right = RightSide(bias, self.swept.right.offsets)
        solution = self.swept.again(right).resolve(border)
        for law, span in self.rows.spans.items():
            solution[Unknown.rows(law._rows)] = -forces[span, :]
        for part, vector in ports.items():
            solution[Unknown.pushed(part.part)] = vector
        rows = row_accelerations(self.rows, self.now.law_closures, solution, bias=False) + self.bias
        if self.base is not None:
            rows = rows + self.base @ solution[self.swept.keys[0]]

        def reaction(solution: Solution, joint: Joint) -> Vector:
            return PartedWriter(self.now, self.condensed, border, solution).reaction(joint)

        measures = measured(self.rows, self.now.kinematics, solution, forces, reaction)
        speeds = ca.vertcat(NONE, *[solution.joint(j) for j in self.now.compartment.joints if j.freedoms])
        condensation, loads = self.condensed.condensation, self.condensed.loads
        borders = {part: condensation.at_border(part, solution, loads) for part in self.parts}
        crossings = [
            crossing(self.now.compartment, port, solution) for part in self.parts for port in part.border.others
        ]
        return Own(ca.densify(rows), measures, speeds, ca.vertcat(NONE, *crossings), borders)

    def _change(self, border: Vector, forces: Vector) -> Own:
        """The same of what forces on all rows and changes at the border do, which is linear in them."""
        own, ports = self._divided(forces)
        matrix, sizes = self._linear
        change = ca.densify(matrix @ ca.vertcat(border, own, *ports.values()))
        rows, measures, speeds, crossings, *borders = _cut(change, sizes)
        return Own(rows, measures, speeds, crossings, dict(zip(self.parts, borders, strict=True)))

    @cached_property
    def _linear(self) -> tuple[Vector, list[int]]:
        """The matrix of that, by which changes at the border, forces on own rows and what is added at ports are
        multiplied, and the sizes of what it gives.
        """
        y, z = ca.SX.sym("y", 6 * len(self.swept.keys)), ca.SX.sym("z", self.rows.size)
        marks = {part: ca.SX.sym("p", part.border.size) for part in self.parts if part.laws.size}
        affine = self._own(y, z, marks)
        matrix = coefficients(ca.densify(ca.vertcat(*affine.columns)), ca.vertcat(y, z, *marks.values()))
        return matrix, [column.numel() for column in affine.columns]

    def _pushing(
        self, bias: dict[Unknown, Vector], forces: Vector, ports: Mapping[Part, Vector]
    ) -> dict[Unknown, Vector]:
        own = {Unknown.joint(j): push for j, push in pushes(self.rows, self.now.law_closures, forces).items()}
        if self.base is not None:
            own[self.swept.keys[0]] = self.base.T @ forces
        for key, push in own.items():
            bias[key] = bias[key] - push if key in bias else -push
        for part, vector in ports.items():
            self.condensed.condensation.push(part, vector, bias)
        return bias

    # -- parts

    def _inner(self, forces: Vector) -> dict[Part, Vector]:
        """Forces on the rows of each part."""
        return dict(
            zip(self.parts, _cut(forces, [self.rows.size, *(p.laws.size for p in self.parts)])[1:], strict=True)
        )

    def _divided(self, forces: Vector) -> tuple[Vector, dict[Part, Vector]]:
        """Forces on own rows, and what those on rows of parts do at the ports of these."""
        inner = {part: z for part, z in self._inner(forces).items() if z.numel()}
        return forces[: self.rows.size, :], {
            p: self.now._ask(p, "law_push", forces=z, fields=self._around(p)) for p, z in inner.items()
        }

    def _ask(self, part: Part, name: str, border: Vector, forces: Vector | None = None) -> Vector:
        given = ca.vertcat(border, ca.SX.zeros(part.handed.rows))
        return self.now._ask(part, name, fields=self._around(part), given=given, forces=forces)

    def _around(self, part: Part) -> Vector:
        """Fields around a part; what forces do does not depend on them, but a part in it may be asked for both."""
        assert self.condensed.loads is not None
        return self.condensed.loads.for_part(part)

    def _rows_of(self, own: Own, asked: Callable[[Part, Vector], Vector]) -> tuple[Vector, Vector]:
        rows, measures = [own.rows], [own.measures]
        for part, border in own.borders.items():
            if part.laws.size:
                told = asked(part, border) if not self.at_once else self._asked_early(part, border, asked)
                for found, one in zip((rows, measures), _cut(told, _sizes(part)), strict=True):
                    found.append(one)
        return ca.vertcat(NONE, *rows), ca.vertcat(NONE, *measures)

    def _asked_early(self, part: Part, border: Vector, asked: Callable[[Part, Vector], Vector]) -> Vector:
        return asked(part, ca.SX.zeros(border.numel())) + self._by_border[part] @ border

    @cached_property
    def _by_border(self) -> dict[Part, Matrix]:
        """What a unit of each entry of the border of a part does to its rows and measures."""

        def columns(part: Part) -> list[Vector]:
            units = ca.horzsplit(ca.SX(ca.DM.eye(part.border.size)))
            return [self._ask(part, "law_respond", unit, ca.SX.zeros(part.laws.size)) for unit in units]

        return {part: ca.horzcat(ca.SX(sum(_sizes(part)), 0), *columns(part)) for part in self.parts if part.laws.size}

    def _rates_of(self, own: Own, asked: Callable[[Part, Vector], Vector]) -> Vector:
        compartment = self.now.compartment
        speeds = _cut(own.speeds, [joint.freedoms for joint in compartment.joints])
        inner = {part: asked(part, border) for part, border in own.borders.items()}
        values = dict(zip(compartment.joints, speeds, strict=True))
        return compartment.pack(replace(_still(compartment), v=values, inner=inner))


def crossing(compartment: Compartment, port: Frame, solution: Solution) -> Vector:
    """How a solution moves a port (6) that a part moves, relative to the base of that."""
    return solution.joint(compartment.topology.link(port.body).moved_by)


def _still(compartment: Compartment) -> CompartmentState:
    q = {joint: ca.SX.zeros(len(joint.coordinates)) for joint in compartment.joints}
    counted = {joint: ca.SX.zeros(len(joint.coordinates)) for joint in compartment.counted}
    return CompartmentState(q, {}, counted, ca.SX.zeros(len(compartment.model.memory)), {})


def _sizes(part: Part) -> list[int]:
    return [part.laws.size, part.laws.measures]


def _cut(column: Vector, sizes: list[int]) -> list[Vector]:
    found, place = [], 0
    for size in sizes:
        found.append(column[place : place + size, :])
        place += size
    return found
