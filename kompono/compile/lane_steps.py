"""Steps of runs side by side on lanes: Dormand and Prince's, and those of `esdirk4`, of which each lane takes the kind
that suits it. Rules are those of `loop_dopri5`, `loop_esdirk4` and `loop_stiff`, lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kompono.compile.emit import Value, anywhere, spread
from kompono.compile.loop_dopri5 import DOPRI5
from kompono.compile.loop_esdirk4 import GUESSES, PLACES
from kompono.compile.loop_fixed import weighted
from kompono.compile.loop_stiff import CALM, MANY, MOST, PAYS, SOME, STIFF, EitherKind, slope
from kompono.compile.machine import Machine
from kompono.compile.newton_lanes import solve_stage
from kompono.compile.newton_stage import (
    DENSE,
    IMPLICIT_STEPS,
    LENGTH,
    PATIENCE,
    RADIUS,
    SOLVES,
    SURE,
    UNSURE,
    begin_step,
)  # fmt: skip
from kompono.compile.tableaux import DIAGONAL, ESDIRK

Stages = Callable[[Value, Value, Value], None]  # explicit ones: steps, their ends, lanes that make one
Terms = list[tuple[Value | float, str]]


class LaneSteps(Protocol):
    """How lanes make their steps."""

    def attempt(self, machine: Machine, span: tuple[Value, Value, Value], active: Value, stages: Stages) -> Value:
        """Steps from times over lengths to ends, from `state` to `next`; where that could be done."""
        ...

    def error(self, machine: Machine) -> Terms:
        """Weights of rates in the error of a step, over its length."""
        ...

    def power(self, machine: Machine) -> Value | float:
        """The power of the error that the length of a step is proportional to."""
        ...

    def dense(self, machine: Machine, share: Value) -> list[tuple[int, Value]]:
        """Weights of rates for the state at a share of the last step."""
        ...

    def accepted(self, machine: Machine, good: Value, h: Value, same: Value) -> Value:
        """Steps were accepted on some lanes: where the rate at their end does not begin the next ones."""
        ...


class ExplicitLanes:
    """Dormand and Prince's."""

    def attempt(self, machine: Machine, span: tuple[Value, Value, Value], active: Value, stages: Stages) -> Value:
        """Always."""
        stages(span[1], span[2], active)
        return active

    def error(self, machine: Machine) -> Terms:
        """Those that are not zero."""
        return [(weight, name) for weight, name in zip(DOPRI5.weights, DOPRI5.rates, strict=True) if weight]

    def power(self, machine: Machine) -> Value | float:
        """Always the same."""
        return DOPRI5.root

    def dense(self, machine: Machine, share: Value) -> list[tuple[int, Value]]:
        """Always the same."""
        return DOPRI5.between(share)

    def accepted(self, machine: Machine, good: Value, h: Value, same: Value) -> Value:
        """Where projections moved the state."""
        return ~same


class StiffLanes(EitherKind):
    """Of both kinds."""

    def attempt(self, machine: Machine, span: tuple[Value, Value, Value], active: Value, stages: Stages) -> Value:
        """Explicit ones on the lanes where they are due, then implicit ones on the others."""
        code, newton, (time, h, end) = machine.code, machine.vector("newton"), span
        implicit = active & (newton[SOLVES] > 0.0)
        explicit = active & ~implicit
        made = code.variable(machine.lanes.truth, active)
        with code.when(anywhere(explicit)):
            stages(h, end, explicit)
            newton[RADIUS] = code.select(explicit, h * slope(machine), newton[RADIUS])
        with code.when(anywhere(implicit)):
            made.set(explicit | _implicit(machine, (time, h, end), implicit))
        return made.get()

    def accepted(self, machine: Machine, good: Value, h: Value, same: Value) -> Value:
        """Decide of which kind the next steps are."""
        code, newton, one = machine.code, machine.vector("newton"), spread(machine.code, 1.0)
        zero = spread(code, 0.0)
        implicit = newton[SOLVES] > 0.0
        newton[DENSE] = code.select(good, newton[SOLVES], newton[DENSE])
        newton[IMPLICIT_STEPS] = newton[IMPLICIT_STEPS] + code.select(good & implicit, one, 0.0)
        leaves = (newton[RADIUS] < CALM) | (h < PAYS * newton[LENGTH])
        for_it = (implicit & leaves) | (~implicit & (newton[RADIUS] > STIFF))
        against = code.select(for_it, zero, newton[UNSURE] + 1.0)
        sure = code.select(for_it, newton[SURE] + 1.0, code.select(against < SOME, newton[SURE], 0.0))
        turns = good & (sure >= MANY * (1.0 + newton[PATIENCE]))
        newton[UNSURE] = code.select(good, against, newton[UNSURE])
        newton[SURE] = code.select(turns, zero, code.select(good, sure, newton[SURE]))
        newton[SOLVES] = code.select(turns, 1.0 - newton[SOLVES], newton[SOLVES])
        newton[LENGTH] = code.select(turns, h, newton[LENGTH])
        more = code.math("minnum", 2.0 * newton[PATIENCE] + 1.0, MOST)
        newton[PATIENCE] = code.select(turns & implicit, more, newton[PATIENCE])
        return (~implicit & ~same) | (implicit & turns)


def _implicit(machine: Machine, span: tuple[Value, Value, Value], where: Value) -> Value:
    """The implicit stages on some lanes; where all could be solved for."""
    code, (time, h, end) = machine.code, span
    g, names = h * DIAGONAL, [f"rate{i}" for i in PLACES]
    solved = code.variable(machine.lanes.truth, where)
    begin_step(machine, time, h, g)
    stage, base, after = (machine.vector(name) for name in ("stage", "base", "next"))
    for i in range(1, len(names)):
        with code.when(anywhere(solved.get())):
            machine.combine("base", "state", weighted(h, ESDIRK.a[i], names))
            machine.combine("stage", "base", [(g * weight, names[k]) for k, weight in GUESSES[i]])
            at = end if ESDIRK.c[i] == 1 else time + ESDIRK.c[i] * h
            solved.set(solve_stage(machine, at, g, solved.get()))
            rate, per_g = machine.vector(names[i]), 1.0 / g
            with code.loop(machine.size) as k:
                rate[k] = code.select(where, per_g * (stage[k] - base[k]), rate[k])
    with code.loop(machine.size) as k:
        after[k] = code.select(where, stage[k], after[k])
    return solved.get()
