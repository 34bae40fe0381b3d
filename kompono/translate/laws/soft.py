"""Laws as ordinary forces, `contact="soft"`: no modes, no events, so that all engines, methods and lanes have them.

Each law becomes a force or efforts (`SoftForce`, `SoftEffort`), and each of its rows on velocities a bristle: a number
of the state that has a rate. Stiffness is given (`Unit.stiffness`), or as high as the step allows: `contact_step` [s]
is a parameter of the program for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca

from kompono.model.event import Mode
from kompono.model.force import Effort, Force
from kompono.model.joint import Joint
from kompono.model.law import JointLaw, Law, PairLaw, Unit, split_rows
from kompono.model.signal import time
from kompono.model.subsystem import Subsystem
from kompono.spatial.pose import Motion
from kompono.translate.declared.open_units import with_numbers
from kompono.translate.laws.mobility import felt_by, joint_mobility, pair_mobility, sides_of
from kompono.translate.laws.soft_laws import bristle, limit_of, pushed_back
from kompono.translate.laws.softened import SoftStrength
from kompono.translate.motion.conditions import Conditions, column_of, differentiate_conditions
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.symbolic import Matrix, Scalar, Vector

if TYPE_CHECKING:
    from kompono.translate.declared.elaborate import Elaborated

SLIPPING = 0.1  # of a step: friction is kinetic at the speed static friction gives in this time


@dataclass(frozen=True)
class Rows:
    """The rows of a law at a state: units, gap and rate (rows), what they act on, mobility (rows)."""

    units: list[Unit]
    gap: Vector
    rate: Vector
    on: Matrix | dict[Joint, Matrix]
    mobility: Vector


@dataclass(frozen=True)
class Softly:
    """Forces (rows) of a law; rates of its bristles, and what they are a step later."""

    forces: Vector
    rates: Vector
    later: Vector


class SoftLaw:
    """A law as forces; `step` is the symbol [s] that stiffness follows from."""

    def __init__(
        self, law: Law, step: ca.SX, strength: SoftStrength, bristles: Sequence[Mode] | None = None,
        opened: Elaborated | None = None,
    ) -> None:  # fmt: skip
        self.law, self.step, self.strength = law, step, strength
        self.bristles = tuple(self._bristles() if bristles is None else bristles)
        self._opened = opened

    def with_numbers(self, model: Elaborated | None) -> SoftLaw:
        """The same with numbers that are put in after tracing, those of a model; or with its own in place."""
        return SoftLaw(self.law, self.step, self.strength, self.bristles, model)

    def find_numbers(self) -> None:
        """Have what follows from masses and lengths, and goes into the equations, among the numbers of the model."""
        model, law = self._opened, self.law
        assert model is not None
        assert model.numbers is not None
        model.numbers.decided(f"{model.path(law)} slides as it sticks", self._even)
        if isinstance(law, JointLaw):
            felt_by(law, self._put)
        elif isinstance(law, PairLaw):
            sides_of(law, self._put)

    def _put(self, name: str, values: Any) -> ca.SX:
        """Numbers as they are traced: as such, or as symbols of those that are put in afterwards."""
        values, model = ca.SX(values), self._opened
        if model is None or model.numbers is None or not values.is_constant():
            return values
        return model.numbers.found(f"{model.path(self.law)} {name}", ca.DM(values).full(), ones=True)

    @property
    def _told(self) -> Any:
        """The law, perhaps with symbols of numbers in what it says."""
        return self.law if self._opened is None else self._opened.law(self.law)

    @cached_property
    def _even(self) -> list[bool]:
        """Of which units friction is at rest what it is when they slide."""
        numbers = [ca.vertsplit(unit.numbers()) for unit in self.law._shapes()]
        return [
            ca.is_equal(mu, mu_static, 20) and ca.is_equal(given, most, 20) for mu, mu_static, given, most, _ in numbers
        ]

    @property
    def owner(self) -> Subsystem | None:
        """That of the law."""
        return self.law.owner

    def _bristles(self) -> Sequence[Mode]:
        found = []
        for unit in self.law._shapes():
            names = ["hold"] if unit.speed is not None else []
            names += ["bristle"] if unit.slips == 1 else [f"bristle.{axis}" for axis in "xy"[: unit.slips]]
            for name in names:
                mode = Mode(0.0)
                mode._owner = self.law  # type: ignore[assignment]
                mode._name = f"{unit.name}.{name}" if unit.name else name
                found.append(mode)
        return found

    @cached_property
    def loads(self) -> tuple[Force | Effort, ...]:
        """What it exerts."""
        from kompono.translate.laws.soft_loads import SoftEffort, SoftForce

        if isinstance(self.law, JointLaw):
            return tuple(SoftEffort(self, joint) for joint in dict.fromkeys(self.law.joints))
        return (SoftForce(self),)

    @cached_property
    def _conditions(self) -> Conditions:
        return differentiate_conditions(with_numbers(self._opened, self.law._rows))

    def rows_at(self, motion: Motion) -> Rows:
        """Rows of a pair."""
        law, known = self.law, self._conditions
        assert isinstance(law, PairLaw)
        speed = ca.densify(ca.vertcat(motion.velocity, motion.angular_velocity))
        g, g_dot, _, gamma = known.all(column_of(motion.pose), speed, ca.SX(6, 1), known.signals)
        mobility = pair_mobility(sides_of(law, self._put), motion, gamma)
        return Rows(self._told.units_at(motion), g, g_dot, gamma, mobility)

    @cached_property
    def rows_now(self) -> Rows:
        """Rows on joints, in their symbols."""
        law = self.law
        assert isinstance(law, JointLaw)
        units, joints = self._told.units_now(), list(dict.fromkeys(law.joints))
        gaps, rates = (ca.vertcat(ca.SX(0, 1), *map(ca.vec, part)) for part in split_rows(units))
        q = ca.vertcat(*[joint.q for joint in joints])
        q_dot = ca.densify(ca.vertcat(*[ca.SX(joint.rate(joint.q, joint.v)) for joint in joints]))
        g_dot = ca.vertcat(ca.jtimes(gaps, q, q_dot) + ca.jacobian(gaps, time), rates)
        on = {joint: ca.jacobian(g_dot, joint.v) for joint in joints}
        return Rows(
            units, ca.vertcat(gaps, ca.SX.zeros(rates.numel())), g_dot, on, joint_mobility(felt_by(law, self._put), on)
        )

    def exerted(self, rows: Rows) -> Softly:
        """What the law does."""
        row = first = sum(unit.gap is not None for unit in rows.units)
        gap, forces, rates, later = 0, ca.SX.zeros(rows.rate.numel()), [ca.SX(0, 1)], [ca.SX(0, 1)]

        def hold(unit: Unit, count: int, limit: tuple[Scalar, Scalar] | Scalar) -> Scalar:
            nonlocal row
            span, mobility = slice(row, row + count), ca.mmax(rows.mobility[row : row + count])
            z = ca.vertcat(*[ca.SX(mode) for mode in self.bristles[row - first : row - first + count]])
            k = self._stiffness(unit, mobility, self.strength.bristle)
            c = self.strength.damper / self.strength.bristle**0.5 * ca.sqrt(k / mobility)
            forces[span], rate, after = bristle(z, rows.rate[span], limit, k, c, ca.SX(self.step))
            rates.append(rate)
            later.append(after)
            row += count
            return forces[span]

        for unit, even in zip(rows.units, self._even, strict=True):
            normal, (mu, mu_static, given, most, restitution) = ca.SX(0), ca.vertsplit(unit.numbers())
            if unit.gap is not None:
                k = self._stiffness(unit, rows.mobility[gap], self.strength.gap)
                normal = pushed_back(rows.gap[gap], rows.rate[gap], k, rows.mobility[gap], restitution)
                forces[gap] = normal
                gap += 1
            if unit.speed is not None:
                normal = hold(unit, 1, (ca.SX(-ca.inf), ca.SX(0)))
            if unit.slips:
                slip, scale = rows.rate[row : row + unit.slips], SLIPPING * self.step * rows.mobility[row]
                rubs, holds = (
                    share if share.is_constant() else ca.if_else(normal > 0, share, 0) for share in (mu, mu_static)
                )
                static = None if even else holds * normal + most
                limit = limit_of(rubs * normal + given, static, slip, scale)
                hold(unit, unit.slips, (-limit, limit) if unit.slips == 1 else limit)
        return Softly(forces, ca.vertcat(*rates), ca.vertcat(*later))

    def _stiffness(self, unit: Unit, mobility: Scalar, share: float) -> Scalar:
        """[N/m, N m/rad]."""
        return share / (self.step**2 * mobility) if unit.stiffness is None else ca.SX(unit.stiffness)

    def bristles_at(self, kinematics: Kinematics, later: bool = False) -> Vector:
        """Rates of the bristles at a state, or what they are a step later."""
        if not self.bristles:
            return ca.SX(0, 1)

        def chosen(rows: Rows) -> Vector:
            exerted = self.exerted(rows)
            return exerted.later if later else exerted.rates

        return self.traced(kinematics, chosen)

    def share(self, rows: Rows) -> Scalar:
        """h^2 k a, the largest of units with a stiffness of their own."""
        worst, gap, row = ca.SX(0), 0, sum(unit.gap is not None for unit in rows.units)
        for unit in rows.units:
            count = unit.slips + (unit.speed is not None)
            span = [*([gap] if unit.gap is not None else []), *range(row, row + count)]
            gap, row = gap + (unit.gap is not None), row + count
            for place in span if unit.stiffness is not None else ():
                worst = ca.fmax(worst, self.step**2 * self._stiffness(unit, ca.SX(1), 0.0) * rows.mobility[place])
        return worst

    def traced(self, kinematics: Kinematics, function: Callable[[Rows], Vector]) -> Vector:
        """A function of the rows at a state."""
        law, call, path = self.law, kinematics.tracer.call, kinematics.model.path(self.law)
        if isinstance(law, JointLaw):
            return call(lambda: function(self.rows_now), path=path, free=True)
        assert isinstance(law, PairLaw)
        motion = kinematics.motion(law.first, law.second)
        place = motion.position, motion.rotation, motion.velocity, motion.angular_velocity
        return call(lambda p, r, v, w: function(self.rows_at(Motion(p, r, v, w))), *place, path=path, free=True)
