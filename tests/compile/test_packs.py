"""Units of laws side by side on lanes: the same bits as one after the other."""

from __future__ import annotations

import numpy as np
import pytest

from kompono import Body, Ground, Simulation, Subsystem
from kompono.compile import Kernel, packs, schedule
from kompono.library import Contact, Gravity, solids
from kompono.solve.settling import settler_of
from kompono.translate.program import Program


class Table(Subsystem):
    """A body that slides on some feet of a rectangle, a line, or a circle (where numbers are folded)."""

    def __init__(self, feet: int, places: str) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.top = Body(
            solids.box(mass=2.0, size=(1, 0.6, 0.1)), start_velocity=(1.0, 0.4, 0), start_angular_velocity=(0, 0, 0.7)
        )
        angles = 2 * np.pi * np.arange(feet) / feet
        on = {"circle": (np.cos(angles), np.sin(angles)), "any": (np.cos(angles + 0.3), 0.6 * np.sin(angles + 0.2))}
        x, y = on[places]
        self.feet = Contact(self.ground.plane(), self.top.points(*np.column_stack([x, y, 0 * x])), mu=0.3)


def evaluated(program: Program, state: np.ndarray) -> list[np.ndarray]:
    """Rates, guards and a projection by native code that is made anew."""
    kernel = Kernel(program, cache=False)
    for name in ("derivative", "guards", "project"):
        kernel.prepare(name)
    found = []
    for shift in (0.0, 1e-4, 1e-3):
        moved = state.copy()
        moved[: len(program.coordinates)] += shift * np.cos(np.arange(len(program.coordinates)))
        moved[len(program.coordinates) :][: len(program.speeds)] += shift * np.sin(np.arange(len(program.speeds)))
        for name in ("derivative", "guards", "project"):
            found.extend(kernel.evaluate(name, 0.0, moved))
    return found


@pytest.mark.parametrize(
    ("feet", "places", "engine"),
    [(4, "circle", "relative"), (3, "any", "relative"), (2, "any", "absolute"), (6, "any", "relative")],
)
def test_units_on_lanes_have_the_bits_of_one_at_a_time(
    feet: int, places: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where numbers were folded, so that not all units are the same code, and where the solver is called."""
    simulation = Simulation(Table(feet, places), engine=engine)
    program, settler = simulation.kernel.program, settler_of(simulation.kernel)
    assert settler is not None
    start = settler.start(0.0, simulation.assemble().state, np.zeros(0), simulation.parameters(), 1e-3)
    side_by_side = evaluated(program, start)
    assert any(array.any() for array in side_by_side)
    monkeypatch.setattr(packs, "packs_of", lambda found, fused: None)
    for one, other in zip(side_by_side, evaluated(program, start), strict=True):
        np.testing.assert_array_equal(one, other)


def test_units_that_wait_for_each_other_are_written_one_by_one() -> None:
    """Of sixteen feet some of four would need what others make, in turns."""
    program = Simulation(Table(16, "circle")).kernel.program
    assert schedule.define(program, [program.routines["derivative"]])
