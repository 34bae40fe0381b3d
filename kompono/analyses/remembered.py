"""What a machine remembers along a motion: currents, filters, controllers, modes that events and samples change.

Their past is the motion from its first time on. Between given times the motion is made finer until polynomials of third
degree follow it; along these the states are stepped in native code by `esdirk4`, stiff or not (`translate/led`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from kompono.analyses.followed import Followed, Motion
from kompono.analyses.point import Point
from kompono.compile import compile_program
from kompono.compile.block import ChunkEnd
from kompono.errors import RunError
from kompono.translate.led import LedProgram
from kompono.translate.motion.signals import samples_with_results, states_with_results, uses_results
from kompono.translate.program import Program
from kompono.translate.slopes import symbolic

NEAR = 1e-9  # how closely polynomials follow the motion, relative to its size
FINEST = 1 << 17  # times at most
RELATIVE, ABSOLUTE = 1e-9, 1e-11  # tolerances of the states
ATTEMPTS = 1 << 24  # steps from one time to the next, at most

Sample = Callable[[np.ndarray], np.ndarray]  # paths (3, n, paths) at times (n)


def remembers(program: Program) -> bool:
    """Whether anything in the state has a past."""
    return bool(program.states or program.events or program.rates)


def check_memory(point: Point) -> None:
    """Raise RunError for what cannot be known along a motion that efforts make which are asked for."""
    model, program = point.simulation.translation.model, point.simulation.program
    if program.controllers:
        raise RunError("a Python callable is not asked along a motion.", path=program.controllers[0].path,
                       fix="Write it with a State or a sampled Mode.")  # fmt: skip
    using = [*states_with_results(model), *samples_with_results(model), *uses_results(model)]
    if using:
        raise RunError("it uses accelerations or loads, which depend on the efforts that are asked for.",
                       path=model.path(using[0]), fix="Simulate with a Drive.")  # fmt: skip
    x = ca.SX.sym("x", sum(size for _, size in program.routines["conditions"].inputs))
    first = 1 + len(program.coordinates) + len(program.speeds)
    kept = x[first : first + len(program.modes) + len(program.states)]
    conditions = ca.vertcat(*symbolic(program.kernels, program.routines["conditions"], x))
    if remembers(program) and ca.jacobian_sparsity(conditions, kept).nnz():
        raise RunError("a mode that changes switches conditions on and off.", fix="Simulate with a Drive.")


def add_memory(point: Point, followed: Followed, times: np.ndarray, motion: Motion, sample: Sample) -> None:
    """Write what is remembered at all times into the states of a motion."""
    program = point.simulation.program
    first = len(program.coordinates) + len(program.speeds)
    led = LedProgram(program)
    if len(times) == 1:
        return
    kernel: Any = compile_program(led.program(), cache=point.simulation.request.cache)
    table = _with_inputs(followed, *_finer(followed, times, sample, first))
    run = kernel.adaptive(
        float(times[0]), motion.states[0, first:], until=float(times[0]), interval=float(times[-1] - times[0]),
        rtol=RELATIVE, atol=ABSOLUTE, parameters=point.parameters, inputs=table, method="esdirk4",
    )  # fmt: skip
    for row, time in enumerate(times):
        run.aim(float(time))
        status = run.advance(ATTEMPTS)
        if status is ChunkEnd.HALTED and run.time < times[-1]:
            number = int(run.events[-1, 1])
            raise RunError(f"it ends the motion at {run.time:g} s.", path=program.events[number], fix="Ask until then.")
        if status not in (ChunkEnd.OK, ChunkEnd.HALTED) or not run.done:
            what = status.name.lower().replace("_", " ") if status is not ChunkEnd.OK else "it takes too many steps"
            raise RunError(f"what the machine remembers cannot be followed at {run.time:g} s: {what}.",
                           fix="Simulate with a Drive.")  # fmt: skip
        motion.states[row, first:] = run.state


def _finer(followed: Followed, times: np.ndarray, sample: Sample, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Times (n + 1) and coefficients (n, 4, coordinates and speeds) of polynomials between them."""

    def at(instants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = followed.motion(instants, sample(instants))
        rates = followed.map("rates", instants, found.states)
        return found.states[:, :size], np.hstack([rates, found.accelerations])

    values, slopes = at(times)
    while True:
        length = np.diff(times)[:, None]
        a, b, da, db = values[:-1], values[1:], length * slopes[:-1], length * slopes[1:]
        coefficients = np.stack([a, da, 3 * (b - a) - 2 * da - db, 2 * (a - b) + da + db], axis=1)
        finer = np.sort(np.concatenate([times, (times[:-1] + times[1:]) / 2]))
        values, slopes = at(finer)
        between = np.einsum("nkj,k->nj", coefficients, 0.5 ** np.arange(4))
        off = np.abs(between - values[1::2]) / (1.0 + np.abs(values).max(axis=0))
        if off.max(initial=0.0) <= NEAR:
            return times, coefficients
        if len(finer) > FINEST:
            raise RunError(
                f"the motion is not smooth: between times it is {off.max():.1g} off, however close they are.",
                fix="Give expressions of `time`, or smoother values.",
            )
        times = finer


def _with_inputs(followed: Followed, times: np.ndarray, coefficients: np.ndarray) -> Any:
    """A table of all inputs of the program that is led: constant from one time to the next, but for those of the model,
    which are linear between theirs.
    """
    table = followed.feed.table()
    if table is not None and followed.changing:
        knots = np.unique(np.concatenate([times, table[0][(table[0] > times[0]) & (table[0] < times[-1])]]))
        given = np.column_stack([np.interp(knots, table[0], column) for column in table[1].T])
    else:
        knots, given = times, np.tile(followed.point.inputs, (len(times), 1))
    place = np.clip(np.searchsorted(times, knots[:-1], side="right") - 1, 0, len(times) - 2)
    powers = coefficients.reshape(len(coefficients), -1)[place]
    held = np.column_stack([times[place], 1.0 / np.diff(times)[place], powers])
    pairs = np.concatenate([np.stack([given[:-1], given[1:]], axis=1), np.stack([held, held], axis=1)], axis=2)
    return np.repeat(knots, 2)[1:-1], pairs.reshape(2 * len(held), -1)
