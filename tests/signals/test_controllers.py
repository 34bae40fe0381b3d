"""Python controllers asked by the native loop: several signals, memory of a run, ensembles, failures."""

from __future__ import annotations

import numpy as np
import pytest

from kompono import Body, Controller, Ground, Input, Mode, ModelError, Output, Subsystem, simulate, simulate_many
from kompono.library import JointEffort, Prismatic, solids


class Cart(Subsystem):
    """Two carts on rails, pushed by inputs."""

    def __init__(self):
        self.ground = Ground()
        self.carts = [Body(solids.sphere(mass=1.0, radius=0.1)) for _ in range(2)]
        self.rails = [Prismatic(self.ground, cart, axis="x", displacement=0.0) for cart in self.carts]
        self.pushes = [Input(unit="N") for _ in range(2)]
        self.drives = [JointEffort(rail, push) for rail, push in zip(self.rails, self.pushes, strict=True)]
        self.place = Output(self.rails[0].displacement)


def law(x, v, y, w):
    return 4 * (1 - x) - 2 * v, 3 * (x - y) - 2 * w


class Asked(Cart):
    """One callable for both carts."""

    def __init__(self, function=None, every=0.01):
        super().__init__()
        first, second = self.rails
        reads = [self.place, first.displacement_rate, second.displacement, second.displacement_rate]
        given = function or (lambda t, x, v, y, w: law(x, v, y, w))
        self.control = Controller(given, reads=reads, writes=self.pushes, every=every)


class Native(Cart):
    """The same by modes."""

    def __init__(self):
        super().__init__()
        first, second = self.rails
        self.held = [Mode(0.0, every=0.01) for _ in range(2)]
        answers = law(first.displacement, first.displacement_rate, second.displacement, second.displacement_rate)
        for mode, answer, push in zip(self.held, answers, self.pushes, strict=True):
            mode.next = answer
            self.connect(mode, push)


@pytest.mark.parametrize("options", [{"step": 1e-3}, {"step": 3e-3}, {"step": 0.01, "method": "dopri5"}])
def test_a_callable_is_the_same_as_modes(options):
    asked, native = (simulate(model, until=1.0, **options) for model in (Asked(), Native()))
    for name in ("rails.0.displacement", "rails.1.displacement", "pushes.0", "pushes.1"):
        assert asked[name] == pytest.approx(native[name], abs=1e-12), name
    assert np.ptp(native["rails.1.displacement"]) > 0.1


class Remembering:
    """An integrator, and how often it was asked."""

    def __init__(self):
        self.sum, self.asked = 0.0, 0

    def __call__(self, t, x, v, y, w):
        self.sum += 0.01 * (1 - x)
        self.asked += 1
        return self.sum + 4 * (1 - x) - 2 * v, 0.0


def test_runs_are_equal_to_the_last_bit():
    model = Asked(Remembering())
    first, second = (simulate(model, until=1.0, step=1e-3) for _ in range(2))
    made = simulate(Asked(Remembering), until=1.0, step=1e-3)
    assert np.array_equal(first.table, second.table)
    assert np.array_equal(first.table, made.table)
    many = simulate_many(model, runs=3, until=1.0, step=1e-3)
    for run in range(3):
        assert np.array_equal(many["rails.0.displacement"][run], first["rails.0.displacement"])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda t: 1 / 0 if t > 0.5 else (0.0, 0.0), r"control: the callable raised ZeroDivisionError"),
        (lambda t: (0.0, float("nan")) if t > 0.5 else (0.0, 0.0), r"control: the callable returned nan"),
        (lambda t: 3.0 if t > 0.5 else (0.0, 0.0), r"control: the callable returned 3\.0 instead of 2 numbers"),
    ],
)
def test_what_fails_ends_the_run_and_keeps_its_results(answer, message):
    with pytest.warns(match="did not run as planned"):
        result = simulate(Asked(lambda t, *_: answer(t)), until=1.0, step=1e-3)
    assert not result.status.ok
    assert result.status.time == pytest.approx(0.51)
    assert result.time[-1] == pytest.approx(0.51)
    import re

    assert re.search(message, result.status.message)


def test_what_is_wrong_is_said():
    with pytest.raises(ModelError, match="no input"):
        Controller(abs, writes=[3.0], every=0.1)
    with pytest.raises(ModelError, match="writes no input"):
        Controller(abs, every=0.1)
    with pytest.raises(ModelError, match="cannot be called"):
        Controller(3.0, writes=[Input()], every=0.1)

    class Twice(Asked):
        def __init__(self):
            super().__init__()
            self.connect(1.0, self.pushes[0])

    with pytest.raises(ModelError, match=r"pushes\.0: it is fed twice"):
        simulate(Twice(), until=0.1)
