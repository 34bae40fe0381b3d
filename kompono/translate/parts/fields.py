"""Loads in a compartment. Fields cross borders as data: the uniform one around everything, and the sum of others around
a part; one that varies from place to place cannot act on what is closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.model.body import Body
from kompono.model.force import Field
from kompono.spatial.vectors import carry_wrench_back
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import Loads
from kompono.translate.structure.topology import free_symbols
from kompono.translate.symbolic import Matrix, Vector

if TYPE_CHECKING:
    from kompono.translate.parts.compartment import Compartment
    from kompono.translate.parts.inside import Part


class CompartmentLoads(Loads):
    """`fields` (9) are those around a part; None: this is the whole model."""

    def __init__(self, compartment: Compartment, kinematics: Kinematics, fields: Vector | None = None) -> None:
        self.compartment, self.fields = compartment, fields
        self.around: dict[Part, Vector] = {part: ca.SX(6, 1) for part in compartment.parts}
        super().__init__(kinematics)
        if fields is not None:
            self.uniform = fields[:3]
            for body in compartment.bodies:
                self._extra_on(body, fields[3:6])

    def for_part(self, part: Part) -> Vector:
        """The fields (9) that a part is told."""
        outer = ca.SX(6, 1) if self.fields is None else self.fields[3:]
        stored = self.around[part]
        return self.tracer.call(lambda g, a, b: ca.densify(ca.vertcat(g, a + b)), self.uniform, outer, stored)

    def _add_field(self, field: Field) -> None:
        value, varies = _value(self.model.law(field))
        whole = self.fields is None and field.owner is self.model.model
        path = self.model.path(field)
        for part in self.compartment.parts:
            if field.owner is not None and field.owner.contains(part.part):
                self._around(field, part, value, varies, whole)
        if not varies and whole:
            self.uniform = self.tracer.call(lambda a: a + value, self.uniform, path=path, free=True)
            return
        for body in self.compartment.bodies:
            if field.owner is not None and field.owner.contains(body):
                self._field_on(field, body)

    def _around(self, field: Field, part: Part, value: Vector, varies: bool, whole: bool) -> None:
        path = self.model.path(field)
        stores = None if varies else _stores(field)
        if stores is None:
            raise ModelError(
                f"this field differs from place to place, and the closed part {part.path} shows no places inside.",
                path=path,
                fix=f"Declare the field in {type(part.part).__name__}, or leave {part.path} open.",
            )
        acting = ca.SX(3, 1) if whole else value
        stored = value if stores else ca.SX(3, 1)
        self.around[part] = self.tracer.call(
            lambda a: a + ca.vertcat(acting, stored), self.around[part], path=path, free=True
        )

    def _extra_on(self, body: Body, extra: Vector) -> None:
        centre = self.kinematics.frames.centre(body)
        rotation = self.kinematics.absolute(body).pose.rotation

        def trace(r: Matrix, extra: Vector) -> Vector:
            force = (r @ centre.rotation).T @ (self.model.solid(body).mass * extra)
            return carry_wrench_back(centre, ca.vertcat(force, ca.SX(3, 1)))

        self._wrench(body, self.tracer.call(trace, rotation, extra), self.model.path(body))


def _value(field: Field) -> tuple[Vector, bool]:
    """The acceleration of a field, and whether it depends on the place."""
    position = ca.SX.sym("x", 3)
    value = ca.SX(field.acceleration(position))
    places = {symbol.element_hash() for symbol in ca.vertsplit(position)}
    return value, any(symbol.element_hash() in places for symbol in free_symbols(value))


def _stores(field: Field) -> bool | None:
    """Whether a uniform field stores the energy -a x for each kilogram, or none; None: something else."""
    position, (value, _) = ca.SX.sym("x", 3), _value(field)
    potential = ca.SX(field.potential(position))
    if ca.sparsify(potential).nnz() == 0:
        return False
    rest = potential + value.T @ position
    symbols = ca.vertcat(*free_symbols(ca.vertcat(rest, potential, position)))
    error = ca.Function("rest", [symbols], [rest, potential])
    sizes = [error(np.random.default_rng(k).uniform(0.5, 2.0, symbols.numel())) for k in range(3)]
    return True if all(abs(float(r)) <= 1e-12 * abs(float(p)) for r, p in sizes) else None
