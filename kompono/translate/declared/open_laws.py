"""Laws of forces, efforts, fields and couplings with symbols in the place of their numbers.

A stiffness is a number in the expression a law returns. Those expressions are asked for once, on symbols for motion or
coordinates, and each number in them becomes a symbol (see `numbers`): what is left is the same for every stiffness.
0, 1/2, 1, 2 and their negatives stay, and so do exponents; numbers of a law that are equal are one symbol. All that is
part of the expressions that are left, and so of the name of a translation. Elements of our own take expressions
wherever they take a number, and are asked with symbols in its place: only zeros stay there. Laws with modes and signals
are opened the same way, in `open_units` and `open_signals`; `opening` knows all of them.

A law that cannot be asked on symbols, or calls a closed function, is left as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.constraint import Coupling
from kompono.model.element import Element
from kompono.model.force import Effort, Field, Force
from kompono.model.symbol import Symbol
from kompono.spatial.pose import Motion, Wrench
from kompono.translate.algorithm import algorithm, operand_counts
from kompono.translate.declared.laws import MOTION, PLACE
from kompono.translate.declared.ours import is_ours
from kompono.translate.symbolic import Matrix, Vector

Numbers = list[tuple[ca.SX, float]]  # symbols, and what they stand for
Known = dict[float, ca.SX]  # symbols by what they stand for, where several elements share them
Opened = tuple[tuple[Matrix, ...], tuple[ca.SX, ...], tuple[float, ...]]  # expressions, symbols, what these stand for

PLAIN = (0.0, 0.5, 1.0, 2.0)  # numbers, but for the sign, that are structure: terms vanish by them
_NO_FORMULA = (0.0, 1.0)  # the same where nobody wrote a formula: couplings of ours
_POWERS = (ca.OP_POW, ca.OP_CONSTPOW)
MOVING = ca.veccat(MOTION.position, MOTION.rotation, MOTION.velocity, MOTION.angular_velocity)


@dataclass(frozen=True)
class OpenLaw:
    """Expressions of a law: of its `arguments` (one column) and of `symbols` that stand for the `values`."""

    arguments: Vector
    expressions: tuple[Matrix, ...]
    symbols: tuple[ca.SX, ...]
    values: tuple[float, ...]
    told: tuple[tuple[str, str], ...] = ()  # names and units of readings

    def _at(self, chosen: slice, *arguments: Matrix) -> list[Matrix]:
        """Some of the expressions for other arguments."""
        new = ca.densify(ca.veccat(*[ca.SX(argument) for argument in arguments]))
        old = self.arguments[: new.numel(), :]
        return (
            ca.substitute(list(self.expressions[chosen]), [old], [new])
            if new.numel()
            else list(self.expressions[chosen])
        )


class OpenForce(OpenLaw):
    """The face of a `Force`: wrench, potential, readings."""

    def wrench(self, motion: Motion) -> Wrench:
        """The load on the second frame."""
        return Wrench(*self._at(slice(0, 2), *parts_of(motion)))

    def potential(self, motion: Motion) -> Any:
        """Potential energy [J]."""
        return self._at(slice(2, 3), *parts_of(motion))[0]

    def readings(self, motion: Motion) -> dict[str, tuple[Any, str]]:
        """Channels of the law's own."""
        values = self._at(slice(3, None), *parts_of(motion)) if self.told else []
        return {name: (value, unit) for (name, unit), value in zip(self.told, values, strict=True)}


class OpenEffort(OpenLaw):
    """The face of an `Effort`: effort, potential."""

    def effort(self, q: Any, v: Any) -> Any:
        """Generalized force on the joint."""
        return self._at(slice(0, 1), q, v)[0]

    def potential(self, q: Any) -> Any:
        """Potential energy [J]."""
        return self._at(slice(1, 2), q)[0]


class OpenField(OpenLaw):
    """The face of a `Field`: acceleration, potential."""

    def acceleration(self, position: Any) -> Any:
        """Acceleration (3) of a free particle."""
        return self._at(slice(0, 1), position)[0]

    def potential(self, position: Any) -> Any:
        """Potential per mass."""
        return self._at(slice(1, 2), position)[0]


class OpenCoupling(OpenLaw):
    """The face of a `Coupling`: conditions, velocity_conditions."""

    def conditions(self) -> list[Any]:
        """Groups of like conditions."""
        return list(self.expressions[: int(self.told[0][1])])

    def velocity_conditions(self) -> list[Any]:
        """Groups of further conditions on speeds."""
        return list(self.expressions[int(self.told[0][1]) :])


def open_law(element: Element, kinds: dict[type, bool], known: Known | None = None) -> OpenLaw | None:
    """A force, effort, field or coupling with symbols in the place of its numbers, perhaps some that are `known`;
    nothing where that cannot be, or it has none. `kinds` are the classes that were looked at already: whether they are
    ours.
    """
    if not isinstance(element, Force | Effort | Field | Coupling):
        return None
    kind = type(element)
    if kind not in kinds:
        kinds[kind] = is_ours(kind)
    if isinstance(element, Coupling):
        return _open_coupling(element, _NO_FORMULA if kinds[kind] else PLAIN, known)
    return (_asked(*_with_symbols(element), known) if kinds[kind] else None) or _asked(element, [], known)


def _with_symbols(element: Force | Effort | Field) -> tuple[Force | Effort | Field, Numbers]:
    """An element of ours with symbols in the place of its numbers, and these."""
    clone, numbers = object.__new__(type(element)), list[tuple[ca.SX, float]]()
    held: dict[str, Any] = vars(clone)
    held.update(vars(element))
    for name, value in vars(element).items():
        if type(value) is float and value != 0 and math.isfinite(value):
            held[name] = symbol = Symbol.column(name)
            numbers.append((ca.SX(symbol), value))
    return clone, numbers


def _asked(element: Force | Effort | Field, numbers: Numbers, known: Known | None) -> OpenLaw | None:
    try:
        if isinstance(element, Field):
            return _open_field(element, numbers, known)
        ask = _open_force if isinstance(element, Force) else _open_effort
        return ask(element, numbers, known)  # type: ignore[arg-type]
    except Exception:  # what is wrong with a law is told where it is used
        return None


def _open_force(force: Force, numbers: Numbers, known: Known | None) -> OpenForce | None:
    load, readings = force.wrench(MOTION), force.readings(MOTION)
    values = [ca.SX(value) for value, _ in readings.values()]
    made = [ca.SX(load.force), ca.SX(load.torque), ca.SX(force.potential(MOTION)), *values]
    if [expression.shape for expression in made] != [(3, 1), (3, 1), *[(1, 1)] * (1 + len(values))]:
        return None
    found = opened(made, numbers, known=known)
    return found and OpenForce(MOVING, *found, tuple((name, unit) for name, (_, unit) in readings.items()))


def _open_effort(effort: Effort, numbers: Numbers, known: Known | None) -> OpenEffort | None:
    joint = effort.joint
    q, v = ca.SX.sym("q", joint.q.numel()), ca.SX.sym("v", joint.v.numel())
    made = [ca.SX(effort.effort(q, v)), ca.SX(effort.potential(q))]
    if [expression.shape for expression in made] != [(joint.freedoms, 1), (1, 1)]:
        return None
    found = opened(made, numbers, known=known)
    return found and OpenEffort(ca.vertcat(q, v), *found)


def _open_field(field: Field, numbers: Numbers, known: Known | None) -> OpenField | None:
    made = [ca.SX(field.acceleration(PLACE)), ca.SX(field.potential(PLACE))]
    if [expression.shape for expression in made] != [(3, 1), (1, 1)]:
        return None
    found = opened(made, numbers, known=known)
    return found and OpenField(ca.SX(PLACE), *found)


def _open_coupling(coupling: Coupling, plain: Sequence[float], known: Known | None) -> OpenCoupling | None:
    try:
        groups = [[ca.SX(group) for group in ask()] for ask in (coupling.conditions, coupling.velocity_conditions)]
        found = opened([*groups[0], *groups[1]], [], plain, known=known)
    except Exception:  # what is wrong with it is told where it is used
        return None
    return found and OpenCoupling(ca.SX(0, 1), *found, (("conditions", str(len(groups[0]))),))


def parts_of(motion: Motion) -> tuple[Any, ...]:
    """A motion in the order of `MOVING`."""
    return motion.position, motion.rotation, motion.velocity, motion.angular_velocity


def opened(
    expressions: Sequence[Matrix], numbers: Numbers, plain: Sequence[float] = PLAIN, rounding: float = 0.0,
    known: Known | None = None,
) -> Opened | None:  # fmt: skip
    """The expressions with symbols for what numbers are left in them but `plain` ones, all symbols, and what they stand
    for; nothing if there are none. Numbers that differ by less than `rounding`, relative, are equal. Symbols that are
    `known` are used, new ones are then known, too.
    """
    stored = [ca.vec(expression.nz[:]) for expression in expressions]
    inputs = ca.vertcat(ca.SX(0, 1), *ca.symvar(ca.vertcat(*stored)))
    function = ca.Function("law", [inputs], [ca.vertcat(*stored)])
    read = algorithm(function)
    if np.any(read.op == ca.OP_CALL):
        return None
    left = read.constants[read.op == ca.OP_CONST]
    if np.all(np.isin(np.abs(left), plain) | ~np.isfinite(left)):
        return told(expressions, numbers)
    counts, rows = operand_counts(function, read.op), list(zip(*(column.tolist() for column in read[:4]), strict=True))
    exponents = _exponents(rows)
    registers, given = [ca.SX(0)] * (function.sz_w() + 1), ca.vertsplit(inputs) if inputs.numel() else []
    symbols, known = Known(), Known() if known is None else known
    results: list[ca.SX] = [ca.SX(0)] * function.nnz_out(0)
    for k, (op, result, first, second) in enumerate(rows):
        if op == ca.OP_OUTPUT:
            results[second] = registers[first]
        elif op == ca.OP_INPUT:
            registers[result] = given[second]
        elif op == ca.OP_CONST:
            value = _near(float(read.constants[k]), (*plain, *symbols), rounding)
            stays = k in exponents or abs(value) in plain or not math.isfinite(value)
            if not stays:
                symbols[value] = known.setdefault(value, ca.SX.sym("number"))
            registers[result] = ca.SX(value) if stays else symbols[value]
        elif counts[op] == 2:
            registers[result] = ca.SX.binary(op, registers[first], registers[second])
        else:
            registers[result] = ca.SX.unary(op, registers[first])
    column, made, begin = ca.vertcat(*results), [], 0
    for expression in expressions:
        end = begin + expression.nnz()
        made.append(ca.SX(expression.sparsity(), column[begin:end]) if end > begin else ca.SX(*expression.shape))
        begin = end
    return told(made, [*numbers, *((symbol, value) for value, symbol in symbols.items())])


def _near(value: float, known: Sequence[float], rounding: float) -> float:
    """A number, or the first of those known that it misses by rounding; but for the sign of those that are plain."""
    if rounding:
        for one in (*known, *(-one for one in known)):
            if abs(value - one) < rounding * abs(one):
                return one
    return value


def told(expressions: Sequence[Matrix], numbers: Numbers) -> Opened | None:
    """Expressions as they are, with all symbols of numbers and what these stand for; nothing if there are none."""
    if not numbers:
        return None
    return tuple(expressions), tuple(symbol for symbol, _ in numbers), tuple(value for _, value in numbers)


def _exponents(rows: Sequence[tuple[int, int, int, int]]) -> set[int]:
    """The instructions whose values are exponents."""
    maker: dict[int, int] = {}
    found = set()
    for k, (op, result, _, second) in enumerate(rows):
        if op in _POWERS:
            found.add(maker[second])
        if op != ca.OP_OUTPUT:
            maker[result] = k
    return found
