"""Tables and motion profiles: against scipy and closed forms."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline, PchipInterpolator, RectBivariateSpline, RegularGridInterpolator

from kompono import Body, Ground, ModelError, Subsystem, simulate, time
from kompono.library import (
    JointEffort,
    Revolute,
    Table,
    Table2,
    profiles,
    solids,
)

RANDOM = np.random.default_rng(5)
X = np.sort(RANDOM.uniform(-2, 3, 17))
Y = RANDOM.normal(size=17)
FINE = np.linspace(X[0], X[-1], 400)


@pytest.mark.parametrize(
    ("options", "reference"),
    [
        ({}, lambda x: np.interp(x, X, Y)),
        ({"kind": "spline"}, CubicSpline(X, Y)),
        ({"kind": "spline", "ends": "natural"}, CubicSpline(X, Y, bc_type="natural")),
        ({"kind": "monotone"}, PchipInterpolator(X, Y)),
        ({"kind": "steps"}, lambda x: Y[np.searchsorted(X, x, side="right") - 1]),
    ],
)
def test_curves_are_those_of_scipy_and_meet_their_points(options, reference):
    table = Table(X, Y, **options)
    assert table(FINE) == pytest.approx(reference(FINE), abs=1e-13)
    assert np.array_equal(table(X), Y)
    assert table(X[0] - 1.0) == Y[0]
    assert table(np.array([X[-1] + 1.0])) == Y[-1]


def test_beyond_the_points():
    line = Table(X, Y, kind="spline", beyond="linear")
    spline = CubicSpline(X, Y)
    assert line(X[-1] + 2.0) == pytest.approx(Y[-1] + 2 * spline(X[-1], 1), abs=1e-12)
    assert line(X[0] - 2.0) == pytest.approx(Y[0] - 2 * spline(X[0], 1), abs=1e-12)
    around = Table([0.0, 1.0, 2.0], [1.0, 3.0, 1.0], beyond="repeat")
    assert around([0.25, 2.25, -1.75]) == pytest.approx([1.5, 1.5, 1.5])
    refused = Table([0.0, 1.0], [2.0, 3.0], beyond="refuse")
    assert np.isnan(refused([-0.1, 1.1])).all()
    assert np.array_equal(refused([0.0, 1.0]), [2.0, 3.0])


def test_derivatives_are_exact():
    x = ca.SX.sym("x")
    table = Table(X, Y, kind="spline", beyond="refuse")
    slope = ca.Function("slope", [x], [ca.jacobian(table(x), x), ca.hessian(table(x), x)[0]])
    first, second = slope(FINE[None])
    spline = CubicSpline(X, Y)
    assert np.array(first)[0] == pytest.approx(spline(FINE, 1), abs=1e-11)
    assert np.array(second)[0] == pytest.approx(spline(FINE, 2), abs=1e-9)


@pytest.mark.parametrize("kind", ["linear", "spline"])
def test_surfaces_are_those_of_scipy(kind):
    u, v = np.linspace(0, 2, 6) ** 1.5, np.array([-1.0, 0.0, 0.3, 1.0, 2.0])
    z = RANDOM.normal(size=(6, 5))
    table = Table2(u, v, z, kind=kind)
    a, b = RANDOM.uniform(u[0], u[-1], 60), RANDOM.uniform(-1, 2, 60)
    if kind == "linear":
        reference = RegularGridInterpolator((u, v), z)(np.column_stack([a, b]))
    else:
        reference = RectBivariateSpline(u, v, z, s=0).ev(a, b)
    assert table(a, b) == pytest.approx(reference, abs=1e-12)
    assert table(*np.meshgrid(u, v, indexing="ij")) == pytest.approx(z, abs=1e-14)
    assert table(u[-1] + 5.0, 0.3) == pytest.approx(z[-1, 2], abs=1e-14)


@given(st.floats(-3, 3), st.floats(-3, 3), *[st.floats(0.05, 5)] * 3)
@settings(max_examples=15, deadline=None)
def test_profiles_keep_their_limits_and_arrive(start, end, speed, acceleration, jerk):
    profile = profiles.s_curve(start, end, speed=speed, acceleration=acceleration, jerk=jerk, begin=1.0)
    t = np.linspace(0.5, profile.end + 0.5, 801)
    place, rate, change = profile.at(t)
    scale = 1e-9 * (1 + abs(end - start)) * (1 + profile.duration**2)
    assert place[0] == start
    assert place[-1] == end
    assert np.abs(rate).max() <= speed * (1 + 1e-9) + scale
    assert np.abs(change).max() <= acceleration * (1 + 1e-9) + scale
    assert np.abs(np.diff(place)).max() <= speed * (t[1] - t[0]) * (1 + 1e-6) + scale  # no jump, at the end neither
    assert np.abs(np.diff(change)).max() <= jerk * (t[1] - t[0]) * (1 + 1e-6) + scale
    simple = profiles.trapezoidal(start, end, speed=speed, acceleration=acceleration)
    place, rate, change = simple.at(np.linspace(-0.5, simple.end + 0.5, 401))
    assert (place[0], place[-1]) == (start, end)
    assert np.abs(rate).max() <= speed * (1 + 1e-9) + scale
    assert simple.duration <= profile.duration + scale


def test_profiles_in_closed_form():
    profile = profiles.trapezoidal(0.0, 3.0, speed=1.0, acceleration=2.0)
    assert profile.duration == pytest.approx(3.5)
    assert profile.at(1.75)[0] == pytest.approx(1.5)
    assert profiles.trapezoidal(0.0, 0.5, speed=9.0, acceleration=2.0).duration == pytest.approx(1.0)
    full = profiles.s_curve(0.0, 10.0, speed=2.0, acceleration=4.0, jerk=8.0)
    assert full.duration == pytest.approx(10 / 2 + 2 / 4 + 4 / 8)
    s = np.linspace(0, 1, 11)
    quiet = profiles.minimum_jerk(1.0, 3.0, duration=2.0)
    assert quiet.at(2 * s)[0] == pytest.approx(1 + 2 * (10 * s**3 - 15 * s**4 + 6 * s**5), abs=1e-13)
    through = profiles.through([0.0, 1.0, 3.0], [0.0, 2.0, -1.0])
    assert through.at(np.array([0.0, 1.0, 3.0]))[0] == pytest.approx([0.0, 2.0, -1.0])
    assert through.at(np.array([0.0, 3.0]))[1] == pytest.approx([0.0, 0.0], abs=1e-13)


def test_a_run_that_leaves_a_table_ends():
    class Leaving(Subsystem):
        def __init__(self):
            self.ground, self.rod = Ground(), Body(solids.rod(mass=1.0, length=1.0, radius=0.02))
            self.pin = Revolute(self.ground, self.rod, axis="y")
            self.drive = JointEffort(self.pin, Table([0.0, 0.5], [1.0, 2.0], beyond="refuse")(time))

    result = simulate(Leaving(), until=1.0, step=1e-2)
    assert not result.status.ok
    assert result.time[-1] == pytest.approx(0.5, abs=2e-2)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Table([0, 0, 1], [1, 2, 3]), "does not increase"),
        (lambda: Table([0, 1], [1, 2, 3]), "y"),
        (lambda: Table([0, 1], [1, 2], kind="cubic"), "not known"),
        (lambda: Table([0, 1], [1, 2], beyond="repeat"), "it repeats"),
        (lambda: Table([0, 1], [1, 2], kind="steps", beyond="linear"), "steps"),
        (lambda: profiles.trapezoidal(0, 1, speed=0, acceleration=1), "speed"),
    ],
)
def test_what_is_wrong_is_said(make, words):
    with pytest.raises(ModelError, match=words):
        make()
