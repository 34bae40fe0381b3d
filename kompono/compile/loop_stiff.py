"""Steps for motion that may be stiff: explicit ones where it is not, implicit ones where it is.

An explicit step costs a fraction of an implicit one, and is of higher order. It is too short where not its error but
stability bounds it: where h rho, the step times the fastest decay or vibration of the model, stays large. Dormand and
Prince's last two stages lie at the same time, and their difference tells rho (Hairer, Wanner: Solving ODEs II, IV.2).
Of implicit steps the matrix tells it: it is 1 + S' with the radius of S' about (g rho)^2 where the model vibrates, and
g rho where it decays. Powers of S' find it, two factors with each matrix, and go on from step to step. Implicit steps
also end where they do not pay: where their error keeps them as short as explicit ones were, or little longer.

Each way needs many steps in a row, and twice as many after each way back, so that a model at the border settles down.
"""

from __future__ import annotations

from collections.abc import Callable

from kompono.compile.emit import BOOL, Value, spread
from kompono.compile.loop_dopri5 import DOPRI5
from kompono.compile.loop_esdirk4 import ESDIRK4
from kompono.compile.machine import Machine
from kompono.compile.newton_stage import DENSE, IMPLICIT_STEPS, LENGTH, PATIENCE, RADIUS, SOLVES, SURE, UNSURE

STIFF = 1.5  # h rho of explicit steps from which on they may be bounded by stability
CALM = 0.09  # radius of S' below which explicit steps as long would be stable: (h rho / 4)^2 with h rho = 1.2
PAYS = 3.0  # explicit steps that one implicit step costs about
MANY, SOME = 15.0, 6.0  # steps that say so; steps in a row that say otherwise
MOST = 64.0  # times as many, at most


class EitherKind:
    """Weights of two kinds of steps, on one lane or several: those of the kind that is due."""

    def error(self, machine: Machine) -> list[tuple[Value | float, str]]:
        """Weights of the kind that is due."""
        implicit = machine.vector("newton")[SOLVES] > 0.0
        pairs = zip(ESDIRK4.weights, DOPRI5.weights, DOPRI5.rates, strict=True)
        return [(_either(implicit, one, two), name) for one, two, name in pairs if one or two]

    def power(self, machine: Machine) -> Value | float:
        """That of the kind that is due."""
        return _either(machine.vector("newton")[SOLVES] > 0.0, ESDIRK4.root, DOPRI5.root)

    def dense(self, machine: Machine, share: Value) -> list[tuple[int, Value]]:
        """Weights of the kind the last step was of."""
        implicit = machine.vector("newton")[DENSE] > 0.0
        one, two = dict(ESDIRK4.between(share)), dict(DOPRI5.between(share))
        return [(k, _either(implicit, one.get(k, 0.0), two.get(k, 0.0))) for k in sorted({*one, *two})]


class StiffSteps(EitherKind):
    """Steps of `dopri5` and of `esdirk4`, whichever suits."""

    rates = DOPRI5.rates

    def attempt(self, machine: Machine, time: Value, end: Value, h: Value) -> Value:
        """A step of the kind that is due; an explicit one measures h rho."""
        code, newton = machine.code, machine.vector("newton")
        made, implicit = code.variable(BOOL, True), newton[SOLVES] > 0.0
        with code.when(implicit):
            made.set(ESDIRK4.attempt(machine, time, end, h))
        with code.when(~implicit):
            DOPRI5.attempt(machine, time, end, h)
            newton[RADIUS] = h * slope(machine)
        return made.get()

    def accepted(self, machine: Machine, same: Callable[[], Value]) -> None:
        """Decide of which kind the next step is."""
        code, newton = machine.code, machine.vector("newton")
        implicit = newton[SOLVES] > 0.0
        newton[DENSE] = newton[SOLVES]
        with code.when(implicit):
            newton[IMPLICIT_STEPS] = newton[IMPLICIT_STEPS] + 1.0
        with code.when(~implicit):
            DOPRI5.accepted(machine, same)
        h = machine.block.dense_step
        leaves = (newton[RADIUS] < CALM) | (h < PAYS * newton[LENGTH])
        for_it = code.select(implicit, leaves, newton[RADIUS] > STIFF)
        against = code.select(for_it, 0.0, newton[UNSURE] + 1.0)
        sure = code.select(for_it, newton[SURE] + 1.0, code.select(against < SOME, newton[SURE], 0.0))
        newton[UNSURE], newton[SURE] = against, sure
        with code.when(sure >= MANY * (1.0 + newton[PATIENCE])):
            newton[SURE] = 0.0
            newton[SOLVES] = 1.0 - newton[SOLVES]
            newton[LENGTH] = h
            with code.when(implicit):  # the rate at the end of an implicit step is no value of the derivative
                machine.block.set("history", 0)
                newton[PATIENCE] = code.math("minnum", 2.0 * newton[PATIENCE] + 1.0, MOST)


def _either(condition: Value, yes: Value | float, no: Value | float) -> Value:
    code = condition.code
    return code.select(condition, *(v if isinstance(v, Value) else spread(code, v) for v in (yes, no)))


def slope(machine: Machine) -> Value:
    """How fast rates change with the state between the last two stages of an explicit step [1/s]."""
    code = machine.code
    rates, states = (code.variable(machine.lanes.real, 0.0) for _ in range(2))
    pairs = [
        (rates, machine.vector("rate6"), machine.vector("rate5")),
        (states, machine.vector("next"), machine.vector("stage")),
    ]
    with code.loop(machine.size) as i:
        for total, one, two in pairs:
            change = one[i] - two[i]
            total.set(total.get() + change * change)
    return code.math("sqrt", rates.get() / code.math("maxnum", states.get(), 1e-300))


STIFF_STEPS = StiffSteps()
