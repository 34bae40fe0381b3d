"""Every method name gives the same motion: of a pendulum, of a loop, of a stiff spring."""

from __future__ import annotations

from functools import cache
from math import exp, sqrt

import numpy as np
import pytest
from solve.machines import Oscillator, Pendulum, Swing, Trapeze

from kompono import Body, Result, RunError, Simulation, Subsystem, inspect, simulate
from kompono.library import Gravity, solids
from kompono.solve.integrate import Settings
from kompono.solve.methods import METHODS, Family

pytestmark = pytest.mark.filterwarnings("ignore:assembly moved")
ALL = ("rk2", "rk4", "adams", "dopri5", "esdirk4", "RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")


def test_the_methods_are_those_promised() -> None:
    assert {*ALL, "leapfrog"} == set(METHODS)  # the last is the discrete engine's own


@cache
def simulation(model: type[Subsystem]) -> Simulation:
    return Simulation(model(angle=1.0) if model is Pendulum else model())  # type: ignore[call-arg]


@cache
def truth(model: type[Subsystem]) -> Result:
    return simulation(model).run(Settings("dopri5", 1.0, 0.1, 1, 1e-12, 1e-14), progress=False)


def run(model: type[Subsystem], method: str, *, stabilize: bool = True) -> Result:
    rtol = 1e-5 if method in ("RK23", "BDF") else 1e-7  # slow, low order
    fixed = method in ("rk2", "rk4", "adams")
    settings = Settings(method, 1.0, 1e-3 if fixed else 0.1, 100 if fixed else 1, rtol, 1e-2 * rtol, stabilize)
    return simulation(model).run(settings, progress=False)


TOLERANCE = {"rk2": 1e-5, "rk4": 1e-9, "adams": 1e-9, "RK23": 2e-4, "BDF": 1e-2}


@pytest.mark.parametrize("method", ALL)
def test_a_pendulum_swings_the_same_with_every_method(method: str) -> None:
    result = run(Pendulum, method)
    assert result.status.ok
    assert np.allclose(result.time, np.arange(11) * 0.1, atol=1e-12)
    assert np.abs(result["pin.angle"] - truth(Pendulum)["pin.angle"]).max() < TOLERANCE.get(method, 1e-5)
    assert result.statistics["evaluations"] > 10
    assert result.statistics["method"] == method


def test_the_truth_is_the_elliptic_integral() -> None:
    """Period of a rod: T = 4 K(sin(a/2)) / w, w^2 = (3/2) g / l (thin: radius 0.01 adds its own moment)."""
    from scipy.special import ellipk

    w = sqrt(9.81 * 0.5 / (0.25 + (3 * 0.01**2 + 1) / 12))
    period = 4 * ellipk(np.sin(0.5) ** 2) / w
    result = simulate(Pendulum(angle=1.0), until=float(period), step=float(period) / 4, method="dopri5", rtol=1e-12)
    assert result["pin.angle"][2] == pytest.approx(-1.0, abs=1e-9)
    assert result["pin.angle"][4] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("method", ALL)
def test_a_loop_stays_closed_with_every_method(method: str) -> None:
    result = run(Trapeze, method)
    assert result.status.ok
    assert np.abs(result["left_hook.angle"] - truth(Trapeze)["left_hook.angle"]).max() < TOLERANCE.get(method, 1e-5)
    assert result["drift.position"].max() < 1e-12
    assert result["drift.velocity"].max() < 1e-11


@pytest.mark.parametrize("method", ["rk2", "RK45", "LSODA"])
def test_without_stabilization_the_loop_drifts(method: str) -> None:
    free, held = (run(Trapeze, method, stabilize=flag)["drift.position"].max() for flag in (False, True))
    assert free > 100 * held
    assert free > 1e-12


def test_a_loop_keeps_its_energy() -> None:
    energy = run(Trapeze, "rk4")["energy.total"]
    assert np.abs(energy - energy[0]).max() < 1e-8


@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_a_stiff_spring_is_no_burden_to_implicit_methods(method: str) -> None:
    """x'' = -k x - c x' with rates -1e5 and about -1: explicit steps would be 1e-5 s long."""
    model = Oscillator(k=1e5, c=1e5 + 1)
    result = simulate(model, until=2.0, step=0.5, method=method, rtol=1e-6)
    assert result.status.ok
    assert result["slide.displacement"][-1] == pytest.approx(exp(-2.0), rel=1e-3)
    assert result.statistics["steps"] < 500


def test_the_order_of_adams_does_not_suffer_where_the_end_is_no_whole_step() -> None:
    result = simulate(Oscillator(), until=1.0005, step=1e-3, method="adams")
    assert result["slide.displacement"][-1] == pytest.approx(np.cos(2 * 1.0005), abs=1e-10)


def test_a_quaternion_stays_a_unit_and_a_free_top_keeps_its_momentum() -> None:
    class Top(Subsystem):
        def __init__(self) -> None:
            self.top = Body(solids.box(mass=1, size=(0.1, 0.2, 0.4)), start_angular_velocity=(0.1, 5, 0.1))

    for method in ("rk4", "dopri5", "RK45"):
        result = simulate(Top(), until=5.0, step=1e-3, method=method, rtol=1e-9)
        e = np.column_stack([result[f"top.orientation.e{k}"] for k in range(4)])
        assert np.abs(np.sum(e * e, axis=1) - 1).max() < 1e-12
        assert np.abs(np.diff(e, axis=0)).max() < 0.1  # no jumps between e and -e
        assert np.abs(result["energy.kinetic"] / result["energy.kinetic"][0] - 1).max() < 1e-7


def test_an_unknown_method_or_engine_offers_the_nearest() -> None:
    with pytest.raises(RunError, match=r"no method 'rk5'.*'rk4'"):
        simulate(Pendulum(), until=1.0, method="rk5")
    with pytest.raises(RunError, match=r"no method 'radau'.*'Radau'"):
        simulate(Pendulum(), until=1.0, method="radau")
    with pytest.raises(RunError, match=r"no method 'quux'.*rk4.*Radau"):
        simulate(Pendulum(), until=1.0, method="quux")
    with pytest.raises(RunError, match=r"no engine 'relativ'.*'relative'"):
        simulate(Pendulum(), until=1.0, engine="relativ")
    with pytest.raises(RunError, match="no engine"):
        inspect(Pendulum(), engine="relativ")


def test_the_interpreter_gives_what_native_code_gives() -> None:
    native, plain = (
        simulate(Swing(), until=0.2, step=0.01, method="RK45", rtol=1e-8, native=flag) for flag in (True, False)
    )
    assert np.abs(native.table - plain.table).max() < 1e-9


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_a_native_loop_without_native_code_works_or_is_refused_in_words(method: str) -> None:
    try:
        result = simulate(Pendulum(angle=1.0), until=0.1, method=method, native=False)
    except RunError as error:
        assert "native" in str(error)  # noqa: PT017
    else:
        assert result.status.ok


def test_statistics_tell_what_a_run_cost() -> None:
    result = simulate(Pendulum(angle=1.0), until=1.0, step=0.01)
    assert result.statistics["steps"] == 100
    assert result.statistics["evaluations"] == 400
    assert result.statistics["seconds_run"] > 0
    assert "Pendulum" in result.summary()


def test_gravity_alone_is_exact_for_polynomials() -> None:
    class Stone(Subsystem):
        def __init__(self) -> None:
            self.gravity = Gravity()
            self.stone = Body(solids.sphere(mass=1, radius=0.1), start_velocity=(0, 0, 10))

    for method in ("rk2", "rk4", "adams", "dopri5"):
        result = simulate(Stone(), until=2.0, step=0.25, method=method)
        assert result["stone.position.z"][-1] == pytest.approx(20 - 9.81 * 2, abs=1e-10)


def test_every_native_method_has_its_loop_and_every_other_is_of_scipy() -> None:
    import scipy.integrate

    from kompono.compile.loops import LOOPS
    from kompono.compile.objects import CHOOSING
    from kompono.compile.objects import METHODS as KNOWN

    assert {method.name for method in METHODS.values() if method.native} == set(LOOPS)
    assert set(KNOWN) == set(LOOPS)
    adaptive = {method.name for method in METHODS.values() if method.family is Family.ADAPTIVE}
    assert adaptive == set(CHOOSING)
    assert all(hasattr(scipy.integrate, method.name) for method in METHODS.values() if not method.native)
