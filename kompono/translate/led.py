"""The program of what a machine remembers while it is led along a known motion: its own states, modes, events, samples.

Coordinates and speeds are no states there but inputs: between two times that follow each other each is a polynomial of
third degree, whose coefficients are held. So states of motors, filters and controllers are stepped by any native loop,
with their events and samples, as in a run in which the machine moves by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca

from kompono.translate.program import Program, Routine
from kompono.translate.slopes import IMPLICIT, implicit, moving_places, routine_of, symbolic
from kompono.translate.symbolic import Vector
from kompono.translate.translate import Routines

DEGREE = 3  # of the polynomials
BEGUN = 2  # inputs before their coefficients: when the present one began [s], and one over its length [1/s]


@dataclass(frozen=True)
class LedProgram:
    """A program whose motion is known."""

    near: Program

    @property
    def moved(self) -> int:
        """How many coordinates and speeds there are."""
        return len(self.near.coordinates) + len(self.near.speeds)

    def program(self) -> Program:
        """The program of modes and own states. Its inputs are those of the model, when the present polynomials began
        and one over their length, and the coefficients of all, power by power, of the share of that length.
        """
        names = tuple(f"<led>.{k}" for k in range(BEGUN + (DEGREE + 1) * self.moved))
        makers: dict[str, Callable[[], Routine]] = {}
        for name in self.near.routines:
            if name in ("derivative", "guards") or name.startswith(("switch_", "tick_")):
                makers[name] = lambda name=name: self._led(name)
        program = replace(
            self.near, routines=Routines(makers), coordinates=(), speeds=(), inputs=(*self.near.inputs, *names),
            channels=(), locked=(), independent=0, slips=0,
        )  # fmt: skip
        kernels: dict[str, ca.Function] = self.near.kernels  # type: ignore[assignment]
        makers[IMPLICIT] = lambda: implicit(program.routines["derivative"], kernels, 0, moving_places(program))
        return program

    def _led(self, name: str) -> Routine:
        """A routine of the model at the known motion."""
        near, product = self.near, self.near.routines[name]
        kept, given, known = near.state_size - self.moved, len(near.inputs), len(near.parameters)
        coefficients = (DEGREE + 1) * self.moved
        x = ca.SX.sym("x", 1 + kept + given + BEGUN + coefficients + known)
        time, own, fed, (begun, pace), powers, parameters = (
            x[0],
            x[1 : 1 + kept],
            x[1 + kept : 1 + kept + given],
            ca.vertsplit(x[1 + kept + given : 1 + kept + given + BEGUN]),
            ca.reshape(x[1 + kept + given + BEGUN : x.numel() - known], self.moved, DEGREE + 1),
            x[x.numel() - known :],
        )
        share = (time - begun) * pace
        motion: Vector = powers[:, DEGREE]
        for power in reversed(range(DEGREE)):
            motion = motion * share + powers[:, power]
        found = symbolic(near.kernels, product, ca.vertcat(time, motion, own, fed, parameters))
        labels = [label for label, _ in product.outputs]
        if name != "guards":
            found[0] = found[0][self.moved :]
        if name == "derivative":
            found[0][: len(near.modes)] = 0  # bristles are left alone
        sizes = (("time", 1), ("state", kept), ("inputs", given + BEGUN + coefficients), ("parameters", known))
        return routine_of(name, sizes, x, dict(zip(labels, found, strict=True)), near.kernels)  # type: ignore[arg-type]
