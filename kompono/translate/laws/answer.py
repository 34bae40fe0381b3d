"""Forces of laws at fixed modes: the machine answers each active row once, a small dense problem is solved, exactly.

With all other conditions held, rows W of the laws and their forces z obey

    w = b + A z,   n = n0 + B z         (w: accelerations of the rows, n: measured reactions)

A row is off (z = 0), held (w = 0), or slides (z = -d (mu |n| + limit) with the direction d of slip). `respond` gives
A z and B z for any z by repeating the vector part of the elimination; native code asks it once for each active row and
solves (`compile/law_solver.py`). Open contacts cost no more than their gap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import casadi as ca

from kompono.translate.elimination.unknowns import Solution
from kompono.translate.laws.along import replayed
from kompono.translate.laws.handed import handed_numbers
from kompono.translate.laws.naming import BENT, FIELDS, OWN, PUSHES, STRAIGHT, TRUE, WIDE, feet_told
from kompono.translate.laws.rows import HELD, OFF, SLIDES, LawRows, PlacedUnit
from kompono.translate.laws.split import coefficients, split, told
from kompono.translate.laws.stand_in import make_stand_in
from kompono.translate.program import Call, Routine
from kompono.translate.symbolic import Matrix, Scalar, Vector
from kompono.translate.tracer import Tracer

Pushed = Callable[[Vector], Solution]  # the solution with forces z on the rows
Seen = Callable[[Solution, Vector], Vector]  # accelerations of rows, then measured reactions, from a solution and z
FEW = 1  # rows of which all is told that they do
TINY = 1e-300
PLANE = 2  # rows of slip in a plane
TURNED = 0.7  # cosine of the angle by which the direction of slip may turn before it is chosen anew
BACK = 1e-13  # slip speed [m/s] against the chosen direction that is none: what is at its limit may rest
STEADY = 1e-9  # part of slip across the chosen direction that is none
ASIDE = 0.02  # the same where slip is slow: part of that speed it may have to the side
NOISE = 1e-12  # a speed [m/s, rad/s] that a closed gap may leave to what slides along it, what sticks to a gap
CLOSED = 1e-15  # a gap [m, rad] that is rounding where it is held
ALONG = 1e-14  # part of slip, or of the speed below which it leans: a speed of its gap that is rounding


@dataclass(frozen=True)
class Acting:
    """What laws do at a state: `forces` z of the rows and the `measures` there, `gap` and `rate` of the rows."""

    forces: Vector
    measures: Vector
    gap: Vector
    rate: Vector
    numbers: list[Vector]  # by unit: mu, static mu, limit, static limit, restitution


@dataclass(frozen=True)
class LawAnswer(Acting):
    """The same with `w0` and `n0`, accelerations of rows and measures without any forces, and all that moves."""

    w0: Vector
    n0: Vector
    solution: Solution
    pushed: Pushed
    seen: Seen
    moving: Callable[[], Solution]  # the same motion for less, if what redundant rows bear is of no interest


def solve_laws(
    rows: LawRows, tracer: Tracer, pushed: Pushed, seen: Seen, rate: Vector, gap: Vector, numbers: list[Vector],
    fed: Vector | None = None,
) -> LawAnswer:  # fmt: skip
    """Forces and motion at the present modes; accelerations of rows that hold are brought to -fed (0 if not given)."""
    free = pushed(ca.SX.zeros(rows.size))
    if rows.size <= FEW:
        pushed = superposed(rows.size, pushed, free)
    still = ca.densify(seen(free, ca.SX.zeros(rows.size)))
    b, n0 = still[: rows.size, :], still[rows.size :, :]
    table = force_table(rows, tracer, rate, numbers)(b if fed is None else b + fed)
    response = linear_part(rows.size, lambda z: seen(pushed(z), z), rows.feet)
    z = solved(rows.size, rows.measures, response, table, n0, "driven" if rows.driven else "laws")
    solution = pushed(z)
    measures = seen(solution, z)[rows.size :, :]

    def moving() -> Solution:
        return pushed(solved(rows.size, rows.measures, response, table, n0, "motion"))

    return LawAnswer(z, measures, gap, rate, numbers, b, n0, solution, pushed, seen, moving)


def superposed(size: int, pushed: Pushed, free: Solution) -> Pushed:
    """The same motion as the sum of that without forces and what one unit of each force adds."""
    z = ca.SX.sym("z", size)
    moved = pushed(z)
    columns = {key: coefficients(ca.densify(ca.SX(value)), z) for key, value in moved.items()}

    def summed(forces: Vector) -> Solution:
        return Solution({key: ca.densify(ca.SX(free[key])) + columns[key] @ forces for key in columns})

    return summed


def correct_laws(rows: LawRows, tracer: Tracer, moved: Callable[[Vector], Vector], off: Vector, level: str) -> Vector:
    """Forces that bring closed gaps (level "residual") or held speeds (level "rate"), which are `off`, back to zero;
    `moved` gives what they do to the rows.
    """
    table = held_table(rows, tracer, level)(off)
    purpose = "back" if level == "residual" else "speeds"
    return solved(rows.size, 0, linear_part(rows.size, moved, rows.feet), table, ca.SX(0, 1), purpose)


def held_table(rows: LawRows, tracer: Tracer, level: str) -> Callable[[Vector], Vector]:
    """Eight numbers a row, for a correction of what is off: closed gaps ("residual"), or all that is held."""
    kinds: list[Scalar] = [ca.SX(OFF)] * rows.size
    places = rows.mates
    for unit, acts, slips, _ in rows.states(tracer, ca.SX.zeros(rows.size)):
        if unit.gap_row >= 0 and (level == "rate" or unit.shape.gap is not None):
            kinds[unit.gap_row] = acts * HELD
        for k in range(unit.shape.slips if level == "rate" else 0):
            kinds[unit.slip_row + k] = ca.if_else(slips, OFF, acts * HELD)

    def table(off: Vector) -> Vector:
        return ca.vertcat(*[ca.vertcat(kind, 0, off[k], 0, 0, 0, 0, places[k]) for k, kind in enumerate(kinds)])

    return table


def linear_part(size: int, seen: Callable[[Vector], Vector], feet: int = 0) -> tuple[Vector, ca.Function]:
    """What changes with the forces, as factors and a function of them and forces."""
    z = ca.SX.sym("z", size)
    return told(ca.densify(seen(z)), z) if size <= FEW else split(ca.densify(seen(z)), z, feet)


def solved(
    size: int, measures: int, response: tuple[Vector, ca.Function], table: Vector, n0: Vector, purpose: str = "laws"
) -> Vector:  # fmt: skip
    """Forces of the rows, by native code; for a purpose that naming.Sizes tells. The table has eight numbers a row."""
    factor, respond = response
    lines = ca.reshape(ca.densify(table), 8, size).T
    solver = make_stand_in(respond, factor.numel(), size, measures, purpose)
    return solver(ca.densify(ca.vertcat(factor, ca.vec(lines), n0, _of_feet(response, lines))))


def _of_feet(response: tuple[Vector, ca.Function], lines: Matrix) -> Vector:
    """What the force of each foot, with the friction it carries, does to all gaps, gap by gap; of other rows nothing.
    As part of the graph it is no more than what gaps answer, and feet are made side by side (`compile/packs.py`).
    """
    factor, respond = response
    feet = feet_told(respond.name())
    columns = []
    for foot in range(feet):
        push = ca.SX(lines.shape[0], 1)
        push[foot] = 1
        slips = (lines.shape[0] - feet) // feet
        for row in range(feet + foot * slips, feet + (foot + 1) * slips):
            kind, direction, mu = (lines[row, FIELDS.index(field)] for field in ("kind", "direction", "mu"))
            push[row] = ca.if_else(kind == SLIDES, -direction * mu, 0)
        columns.append(replayed(respond, ca.vertcat(factor, ca.densify(push)))[:feet])
    return ca.vec(ca.horzcat(*columns).T) if columns else ca.SX(0, 1)


def force_table(rows: LawRows, tracer: Tracer, rate: Vector, numbers: list[Vector]) -> Callable[..., Vector]:
    """Eight numbers a row at the present modes: kind, direction, b, mu, limit, first measure, their number, unit; from
    b, whether given limits count, and whether rows that slide by mu times a reaction are `handed` to somebody else.
    """
    states, places = list(zip(rows.states(tracer, rate), numbers, strict=True)), rows.mates

    def table(b: Vector, limited: float = 1.0, handed: bool = False) -> Vector:
        lines: list[Vector] = [ca.SX(8, 1)] * rows.size
        for (unit, acts, slips, direction), given in states:
            if unit.gap_row >= 0:
                lines[unit.gap_row] = ca.vertcat(acts * HELD, 0, b[unit.gap_row], 0, 0, 0, 0, places[unit.gap_row])
            for k in range(unit.shape.slips):
                dry, row = rows.units[unit.dry], unit.slip_row + k
                kind = acts * ca.if_else(slips, OFF if handed and dry.count else SLIDES, HELD)
                mu, limit = ca.if_else(slips, given[0], given[1]), limited * ca.if_else(slips, given[2], given[3])
                counted = rows.counted(unit)
                measured = dry.first, OWN if counted == PUSHES else counted, places[row]
                lines[row] = ca.vertcat(kind, direction[k], b[row], mu, limit, *measured)
        return ca.vertcat(ca.SX(0, 1), *lines)

    return table


def handed_table(rows: LawRows, tracer: Tracer, rate: Vector, numbers: list[Vector]) -> tuple[Vector, ...]:
    """What is told of rows that may slide by mu times a reaction, at the present modes (3 each)."""
    found = []
    for (unit, acts, slips, direction), given in zip(rows.states(tracer, rate), numbers, strict=True):
        if unit.dry >= 0 and rows.units[unit.dry].count:
            slides = (acts != 0) * (slips != 0)
            for k in range(unit.shape.slips):
                found.append(handed_numbers(slides, direction[k], given[0], given[2]))
    return tuple(found)


def respond_routine(tracer: Tracer, rows: LawRows, acting: LawAnswer, speeds: Callable[[Solution], Vector]) -> Routine:
    """What forces on the rows do to their accelerations, to measured reactions and to `speeds`, the rates of which are
    told from a solution. The forces come behind the parameters.
    """

    def seen(z: Vector) -> Vector:
        solution = acting.pushed(z)
        return ca.vertcat(acting.seen(solution, z), speeds(solution))

    z = ca.SX.sym("z", rows.size)
    factor, respond = linear_part(rows.size, seen)
    values = respond(ca.vertcat(factor, z))
    first, second = rows.size, rows.size + rows.measures
    told = [("w", values[:first, :]), ("measures", values[first:second, :]), ("speeds", values[second:, :])]
    return forced_routine("law_respond", tracer, z, told)


def forced_routine(name: str, tracer: Tracer, z: Vector, told: Sequence[tuple[str, Vector]]) -> Routine:
    """A routine that tells what forces z do, by names; they come behind the parameters."""
    values = ca.densify(ca.vertcat(*[column for _, column in told]))
    symbols = ca.vertcat(tracer.symbols, z)
    count = symbols.numel()
    kernel = tracer.keep(symbols, values)
    inputs = (*tracer.inputs[:-1], (tracer.inputs[-1][0], tracer.inputs[-1][1] + z.numel()))
    places = tuple(range(count, count + values.numel()))
    call = Call(kernel, tuple(range(count)), places, "laws")
    outputs = tuple((label, column.numel()) for label, column in told)
    ends = list(accumulate(size for _, size in outputs))
    parts = tuple(places[a:b] for a, b in zip([0, *ends], ends, strict=False))
    return Routine(name, inputs, outputs, (call,), parts, count + values.numel())


def trace_open_guards(rows: LawRows, answer: Acting) -> list[Scalar]:
    """The same where all gaps are open."""
    values: list[Scalar] = [ca.SX(-1)] * len(rows.units)
    for unit in rows.placed:
        values[unit.one_sided] = _closing(unit, answer)
    return values


def trace_open_slopes(rows: LawRows, answer: Acting) -> list[Scalar]:
    """How fast the guards of gaps rise where all are open, and nothing slips."""
    values: list[Scalar] = [ca.SX(0)] * len(rows.units)
    for unit in rows.placed:
        if unit.shape.gap is not None:
            values[unit.one_sided] = -answer.rate[unit.gap_row]
    return values


def trace_slopes(rows: LawRows, tracer: Tracer, answer: Acting) -> list[Scalar]:
    """How fast the guards of open gaps rise, one for each `LawUnit`; of slip in a plane its speed over the one below
    which its direction leans, at least 1, and `STRAIGHT` times that along the direction chosen, twice if it may be
    marked as straight; zero for others, and for slip that is marked so.
    """
    values: list[Scalar] = [ca.SX(0)] * len(rows.units)
    for unit, acts, slips, _ in rows.states(tracer, answer.rate):
        if unit.shape.gap is not None:
            values[unit.one_sided] = ca.if_else(acts, 0, -answer.rate[unit.gap_row])
        if unit.shape.slips == PLANE:
            slip = answer.rate[unit.slip_row : unit.slip_row + PLANE, :]
            speed, aside = _norm(slip), _aside(slip, _chosen(unit, tracer))
            true = ca.if_else(aside < TRUE * BENT * speed + TRUE * BENT * WIDE * slips, STRAIGHT**2, STRAIGHT)
            shares = _larger(speed / ca.if_else(slips, slips, 1), 1) * ca.if_else(aside < STEADY * speed, true, 1)
            values[unit.dry] = ca.if_else(ca.logic_and(acts, slips > 0), shares, 0)
    return values


def trace_off(rows: LawRows, tracer: Tracer, answer: Acting) -> list[Scalar]:
    """How far what laws hold is off by more than is brought back, one for each `LawUnit`; 0 and less is rounding."""
    values: list[Scalar] = [ca.SX(0)] * len(rows.units)
    for unit, acts, slips, _ in rows.states(tracer, answer.rate):
        slip = _norm(answer.rate[unit.slip_row : unit.slip_row + unit.shape.slips, :])
        values[unit.dry] = ca.if_else(ca.logic_and(acts, slips == 0), slip, 0)
        off = ca.fabs(answer.rate[unit.gap_row]) - ca.if_else(slips, ALONG * (slip + WIDE * ca.fabs(slips)), 0)
        if unit.shape.gap is not None:
            off = _larger(off, ca.fabs(answer.gap[unit.gap_row]) - CLOSED)
        values[unit.one_sided] = ca.if_else(acts, off, 0)
    return values


def _closing(unit: PlacedUnit, answer: Acting) -> Scalar:
    """What rises through zero when a gap closes: not while it widens, or is held at zero by something else."""
    gap, rate = answer.gap[unit.gap_row], answer.rate[unit.gap_row]
    return -rate if unit.shape.gap is None else ca.if_else(ca.logic_and(rate > -NOISE, gap < TINY), -TINY, -gap)


def trace_guards(rows: LawRows, tracer: Tracer, answer: Acting) -> list[Scalar]:
    """What rises through zero when a unit must change, one for each `LawUnit`."""
    values: list[Scalar] = [ca.SX(0)] * len(rows.units)
    for (unit, acts, slips, direction), given in zip(rows.states(tracer, answer.rate), answer.numbers, strict=True):
        if unit.one_sided >= 0:
            values[unit.one_sided] = ca.if_else(acts, -answer.forces[unit.gap_row], _closing(unit, answer))
        if unit.dry >= 0:
            span = slice(unit.slip_row, unit.slip_row + unit.shape.slips)
            dry = rows.units[unit.dry]
            limit = given[1] * _norm(answer.measures[dry.first : dry.first + dry.count, :]) + given[3]
            slip = answer.rate[span, :]
            turned = -slip * direction - NOISE
            if unit.shape.slips == 2:
                turned = _turned(slip, _chosen(unit, tracer), slips)
            values[unit.dry] = ca.if_else(acts, ca.if_else(slips, turned, _norm(answer.forces[span, :]) - limit), -1)
    return values


def _turned(slip: Vector, chosen: Vector, slow: Scalar) -> Scalar:
    """What rises through zero when slip in a plane has another direction than the one chosen, or passes zero; where it
    was straight, when it has anything to the side.
    """
    speed, along = _norm(slip), ca.dot(slip, chosen)
    aside = _aside(slip, chosen)
    turned = ca.if_else(speed < slow, _larger(aside - ASIDE * slow, -along - BACK), TURNED * speed - along)
    bent = aside * (1 / BENT) - _larger(speed, -WIDE * slow)  # else the guard is as smooth as slip is
    return ca.if_else(slow < 0, _larger(bent, -along - BACK), turned)


def _larger(one: Scalar, other: Scalar | float) -> Scalar:
    """The larger of two; `ca.fmax` would keep all that they are made of as it is written (`compile/straight.py`)."""
    return ca.if_else(one < other, other, one)


def _aside(slip: Vector, chosen: Vector) -> Scalar:
    """How fast slip in a plane is across a direction."""
    return ca.fabs(chosen[0] * slip[1] - chosen[1] * slip[0])


def _chosen(unit: PlacedUnit, tracer: Tracer) -> Vector:
    """The direction of slip that was chosen."""
    modes = unit.law._modes[unit.number]
    return ca.vertcat(*[tracer.call(lambda m=modes[n]: ca.SX(m), free=True) for n in ("direction.x", "direction.y")])


def _norm(values: Vector) -> Scalar:
    """Length of a column, with a derivative everywhere."""
    if values.numel() == 1:
        return ca.fabs(values)
    square = ca.sumsqr(values) if values.numel() else ca.SX(0)
    return ca.sqrt(ca.if_else(square > 0, square, 1)) * (square > 0)
