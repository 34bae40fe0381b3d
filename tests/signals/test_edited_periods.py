"""Another sampling period or offset traces and compiles nothing: a run is told when instants are. Which samples are at
the same rate, and which rates can be due together, is structure.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from translate.test_edited_numbers import named, survey

from kompono import Body, Controller, Ground, Input, Mode, Subsystem, simulate, simulate_many
from kompono.library import JointEffort, Prismatic

OTHERS = {"fast": 1.1e-4, "slow": 1.9e-4, "late": 4.7e-5, "logged": 2.3e-4}


class Asked(survey.Clocked):
    """The same with a Python callable."""

    def __init__(self, asked: float = 1.7e-4, **numbers: float) -> None:
        super().__init__(**numbers)
        self.push = Input(unit="N m")
        self.control = Controller(lambda t, x: 0.1 * x + t, reads=[self.hinge.angle], writes=[self.push], every=asked)
        self.other = JointEffort(self.hinge, self.push)


@pytest.mark.parametrize(
    ("machine", "others", "options"),
    [
        (survey.Clocked, OTHERS, {"method": "dopri5"}),
        (survey.Clocked, OTHERS, {"engine": "discrete", "step": 1e-5}),
        (Asked, {"asked": 1.3e-4}, {}),
    ],
)
def test_another_period_compiles_nothing_and_gives_the_bits_of_a_new_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: Any, others: dict[str, float], options: dict[str, Any]
) -> None:
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path))

    def end(numbers: dict[str, float], *, cache: bool = True) -> list[float]:
        result = simulate(machine(**numbers), cache=cache, **{"until": 3e-3, "step": 1e-4, **options})
        return list(result.end.values.values())

    first, traced = end({}), list[str]()
    objects = sorted(path.name for path in tmp_path.glob("*.o"))
    with survey.watched(traced):
        found = end(others)
    assert not traced
    assert sorted(path.name for path in tmp_path.glob("*.o")) == objects
    assert found == end(others, cache=False) != first


class Counters(Subsystem):
    """A cart that is counted at some rates."""

    def __init__(self, *rates: tuple[float, float]) -> None:
        self.counts = [Mode(0.0, every=every, offset=offset) for every, offset in rates]
        for count in self.counts:
            count.next = count + 1
        self.ground, self.cart = Ground(), Body(mass=1.3, inertia=survey.INERTIA)
        self.rail = Prismatic(self.ground, self.cart, axis="x")


@pytest.mark.parametrize("runs", [1, 8])
def test_instants_are_those_of_the_edited_period(runs: int) -> None:
    for every, offset in ((3e-4, 0.0), (3.5e-4, 1.1e-4)):
        model, until = Counters((every, offset)), 2.05e-3
        if runs == 1:
            (found,) = simulate(model, until=until, step=1e-4)["counts.0"][-1:]
        else:
            found = simulate_many(model, runs=runs, until=until, step=1e-4)["counts.0"][:, -1]
        assert np.all(found == np.floor((until - offset) / every + 1e-9) + 1)


def test_which_rates_are_due_together_is_structure() -> None:
    four = [(1e-3, 0.0), (2e-3, 0.0), (4e-3, 0.0), (8e-3, 0.0)]
    known = named(Counters(*four))
    assert named(Counters(*[(3 * every, offset) for every, offset in four])).open == known.open
    assert named(Counters(*four[:3], (8e-3, 1e-3))).open != known.open  # the last is due with the first alone
    assert named(Counters(*four[:2], *four[1:3])).open != known.open  # two are at one rate
    assert named(Counters(*four[:3])).open == named(Counters((1e-3, 0.0), (2.1e-3, 0.0), (4.7e-3, 1e-4))).open
