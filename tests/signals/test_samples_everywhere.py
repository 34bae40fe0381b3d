"""Samples in runs of all kinds: SciPy's methods, steps over contact, real time, ensembles; the same bits each time."""

from __future__ import annotations

import numpy as np
import pytest
from signals.support import Asked, Held, Pushed, law

from kompono import Body, Controller, Ground, Input, Mode, Subsystem, simulate, simulate_many
from kompono.library import DryFriction, JointEffort, Prismatic
from kompono.realtime import RealTime

PLACE = "rail.displacement"


def exact(instants, every=0.01):
    """Where the cart is at samples, from sample to sample by hand."""
    x = v = 0.0
    found = []
    for _ in range(instants):
        found.append(x)
        u = law(x, v)
        x, v = x + every * v + every**2 / 2 * u, v + every * u
    return np.array(found)


@pytest.mark.parametrize("model", [Held, Asked])
@pytest.mark.parametrize("options", [{"step": 0.01, "method": "RK45"}, {"step": 0.004, "method": "Radau"},
                                     {"step": 0.01, "method": "LSODA"}, {"step": 0.002}])  # fmt: skip
def test_samples_between_steps_of_any_method(model, options):
    result = simulate(model(), until=0.5, rtol=1e-11, atol=1e-12, **options)
    assert result.status.ok
    at = [int(np.argmin(np.abs(result.time - t))) for t in np.arange(0, 25) * 0.02]
    assert np.abs(result[PLACE][at] - exact(50)[::2]).max() < 1e-9
    given = result["held" if model is Held else "push"]
    assert given[0] == 4.0  # rows show what is behind a sample
    assert given[at[1]] == pytest.approx(law(exact(3)[2], result["rail.displacement.rate"][at[1]]), abs=1e-9)


class Rubbing(Pushed):
    """A cart that dry friction holds until a counter lets go."""

    def __init__(self):
        super().__init__()
        self.friction = DryFriction(self.rail, preload=1.0)
        self.count = Mode(0.0, every=0.015)
        self.count.next = self.count + 1
        self.connect(0.2 * self.count, self.push)


def test_steps_over_friction_stop_for_samples():
    by_steps = simulate(Rubbing(), until=0.3, step=2e-3, contact="steps")
    by_events = simulate(Rubbing(), until=0.3, step=2e-3)
    assert by_steps.status.ok
    t = by_steps.time
    assert np.array_equal(by_steps["count"], np.floor(t / 0.015 + 1e-9) + 1)
    assert by_events[PLACE][-1] > 0.01
    assert by_steps[PLACE][-1] == pytest.approx(by_events[PLACE][-1], abs=1e-4)


def test_real_time_samples_as_a_run_does():
    wanted = simulate(Held(), until=0.2, step=1e-3)
    live = simulate(Held(), until=0.2, step=1e-3, realtime=RealTime(frame=0.02, speed=np.inf))
    assert live.status.ok
    assert np.array_equal(live[PLACE], wanted[PLACE])


class Memory:
    """Remembers what it was told."""

    def __init__(self):
        self.sum = 0.0

    def __call__(self, t, x, v):
        self.sum += 1 - x
        return law(x, v) + 0.05 * self.sum


@pytest.mark.parametrize("make", [Held, lambda: Asked(Memory), lambda: Asked(Memory())])
def test_runs_and_equal_members_have_the_same_bits(make):
    model = make()
    first, again = (simulate(model, until=0.2, step=1e-3) for _ in range(2))
    members = simulate_many(model, until=0.2, step=1e-3, initial={"rail.displacement": [0.0, 0.1, 0.0]})
    assert np.array_equal(first.table, again.table)
    assert np.array_equal(members[PLACE][0], members[PLACE][2])
    assert np.abs(members[PLACE][0] - members[PLACE][1]).max() > 0.01
    assert np.abs(members[PLACE][0] - first[PLACE]).max() < 1e-15


def test_what_a_controller_raises_ends_runs_of_all_methods_with_what_is_there():
    def failing(t, x, v):
        if t > 0.1:
            raise ValueError("no more")
        return law(x, v)

    for options in ({"method": "RK45"}, {}):
        with pytest.warns(match=r"control: the callable raised ValueError: no more"):
            result = simulate(Asked(failing), until=0.5, step=0.005, **options)
        assert result.status.time == pytest.approx(0.11)
        assert len(result.time) > 20


def test_plain_callables_of_inputs_sample_without_leaving_the_loop():
    """An input with a callable of time alone is asked as a controller is."""

    class Told(Subsystem):
        def __init__(self):
            self.ground, self.cart = Ground(), Body(mass=1.0, inertia=(1, 1, 1))
            self.rail = Prismatic(self.ground, self.cart, axis="x")
            self.push = Input(lambda t: 2 * t, period=0.01, unit="N")
            self.drive = JointEffort(self.rail, self.push)

    class Controlled(Pushed):
        def __init__(self):
            super().__init__()
            self.control = Controller(lambda t: 2 * t, reads=[], writes=[self.push], every=0.01)

    told, controlled = (simulate(model, until=0.2, step=1e-3) for model in (Told(), Controlled()))
    assert np.abs(told[PLACE] - controlled[PLACE]).max() < 1e-15
