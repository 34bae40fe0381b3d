"""As the step goes down, and the compliance of the joints with its square, results approach those of the relative
engine.
"""

from __future__ import annotations

import numpy as np
import pytest
from reference.support import example

from kompono import Simulation, simulate
from kompono.solve.integrate import Settings


def errors(model, names: list[str], until: float, steps: list[float], **initial: float) -> list[float]:
    """Largest difference of channels at the end to the relative engine with dopri5, by step."""
    start = {name.replace("__", "."): value for name, value in initial.items()}
    exact = simulate(model(), until=until, step=until, method="dopri5", rtol=1e-9, channels=names, initial=start)
    simulation = Simulation(model(), engine="discrete")
    found = []
    for step in steps:
        result = simulation.run(Settings("leapfrog", until, step, round(until / step)), channels=names, initial=start)
        assert result.status.ok
        found.append(max(abs(result[name][-1] - exact[name][-1]) for name in names))
    return found


def order(found: list[float]) -> float:
    """Of the last two, whose steps differ by two."""
    return float(np.log2(found[-2] / found[-1]))


def test_the_car() -> None:
    names = ["body.position.z", "left.beam.position.x", "left_arm.angle"]
    found = errors(example("car").Car, names, 0.1, [1e-4, 5e-5, 2.5e-5])
    assert found[-1] < 1e-4
    assert order(found) == pytest.approx(2, abs=0.1)


@pytest.mark.filterwarnings("ignore:assembly moved")
def test_the_four_bar() -> None:
    names = ["rocker.position.x", "rocker.position.y", "crank_pin.angle"]
    found = errors(example("reference/four_bar").FourBar, names, 0.5, [1e-4, 5e-5, 2.5e-5])
    assert found[-1] < 1e-6
    assert order(found) == pytest.approx(2, abs=0.2)


@pytest.mark.filterwarnings("ignore:assembly moved")
def test_the_engine() -> None:
    """From a running start, so that no event moves with the step; the gas presses on the pistons with up to 20 kN."""

    def engine():
        return example("engine").Engine(starter=False)

    names = ["main.angle", "cylinder1.piston.position.z"]
    found = errors(engine, names, 0.01, [4e-6, 2e-6, 1e-6], main__angle__rate=100.0)
    assert found[-1] < 1e-4
    assert order(found) == pytest.approx(2, abs=0.2)


def test_reactions_are_the_forces_of_the_links() -> None:
    names = ["left_arm.force.x", "left_arm.force.z", "guide.torque.y"]
    exact = simulate(example("car").Car(), until=0.3, step=0.3, method="dopri5", channels=names)
    result = simulate(example("car").Car(), until=0.3, step=1e-5, every=1000, engine="discrete", channels=names)
    scale = max(abs(exact[name][-1]) for name in names)
    for name in names:
        assert result[name][-1] == pytest.approx(exact[name][-1], abs=1e-3 * scale)


def test_redundant_conditions_do_no_harm() -> None:
    """Windows whose closing revolutes have three conditions too many move as with an engine that drops them."""
    windows = example("reference/n_four_bar").NFourBar
    exact = simulate(windows(2), until=0.6, step=0.3, method="dopri5", rtol=1e-10)
    assert exact.statistics["redundant"]
    result = simulate(windows(2), until=0.6, step=5e-5, every=6000, engine="discrete")
    for name in ("couplers.0.position.x", "uprights.2.position.y"):
        assert result[name] == pytest.approx(exact[name], abs=2e-6)
