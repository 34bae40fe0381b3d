"""Networks that stay nonlinear: solved by Newton's iteration in native code, or the run ends by the path of who is to
blame.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import Body, Electrical, Ground, Parameter, State, Subsystem, simulate, simulate_many
from kompono.compile import schedule, straight
from kompono.library import (
    Capacitor,
    Chamber,
    Orifice,
    PressureSource,
    Prismatic,
    Reference,
    Resistor,
    Tank,
    TwoPins,
    VoltageSource,
    Weld,
    solids,
)
from kompono.library.hydraulic import orifice_flow
from kompono.translate import translate
from kompono.translate.held import derived


class Edges(Subsystem):
    """Two orifices in a row without a volume between, into one, and out of it through a third."""

    def __init__(self) -> None:
        self.area = Parameter(1e-6)
        self.supply, self.tank, self.volume = PressureSource(1e7), Tank(), Chamber(1e-3)
        self.one, self.two, self.three = Orifice(self.area), Orifice(2e-6), Orifice(1e-6)
        self.connect(self.supply.pin, self.one.p)
        self.connect(self.one.n, self.two.p)
        self.connect(self.two.n, self.volume.pin, self.three.p)
        self.connect(self.three.n, self.tank.pin)


def in_one(area: float) -> float:
    """The area of one edge that lets pass what two in a row do, far from where the flow is laminar."""
    return 1 / np.sqrt(1 / area**2 + 1 / 2e-6**2)


@pytest.fixture(scope="module")
def edges() -> Any:
    return simulate(Edges(), until=0.1, step=1e-3)


def test_what_flows_through_one_edge_flows_through_the_other(edges: Any) -> None:
    assert edges.status.ok
    between, behind = edges["one.n.pressure"], edges["volume.pressure"]
    first = [float(ca.DM(orifice_flow(1e7 - p, 1e-6))) for p in between]
    second = [float(ca.DM(orifice_flow(p - v, 2e-6))) for p, v in zip(between, behind, strict=True)]
    assert np.abs(np.array(first) / np.array(second) - 1).max() < 1e-13
    assert np.abs(np.array(first) / edges["one.p.flow"] - 1).max() < 1e-13
    assert first[0] == pytest.approx(float(ca.DM(orifice_flow(1e7, in_one(1e-6)))), rel=1e-5)


def test_methods_engines_and_lanes_agree(edges: Any) -> None:
    other = simulate(Edges(), until=0.1, step=1e-3, method="Radau", rtol=1e-10, atol=1e-3)
    fine = simulate(Edges(), until=0.1, step=1e-3, method="dopri5", rtol=1e-10)
    assert np.abs(other["volume.pressure"] - fine["volume.pressure"]).max() < 1e-10 * 4e6
    areas = [0.5e-6, 1e-6, 1e-6, 2e-6, 3e-6]
    members = simulate_many(Edges(), until=0.1, step=1e-3, parameters={"area": areas})
    assert np.array_equal(members["volume.pressure"][1], members["volume.pressure"][2])
    assert np.abs(members["volume.pressure"][1] - edges["volume.pressure"]).max() < 1e-6


def test_the_jacobian_is_that_of_the_solution() -> None:
    program = translate(Edges()).program
    call = program.routines["derivative"].calls[0]
    x = ca.SX.sym("x", program.kernels[call.kernel].nnz_in())
    rate = program.kernels[call.kernel](x)[0]
    slope = ca.Function("slope", [x], [derived(rate, lambda found: ca.jacobian(found, x[1]))])
    value = ca.Function("value", [x], [rate])
    at = np.array([0.0, 3e6, *[1e7, 1e-6][: x.numel() - 2]])
    near = [at + np.eye(len(at))[1] * h for h in (-10.0, 10.0)]
    assert float(slope(at)) == pytest.approx(float(value(near[1]) - value(near[0])) / 20, rel=1e-6)


def test_a_step_that_is_repeated_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else most of the time to the first step goes into reading the step 60 times."""
    program, looked, read = translate(Edges()).program, list[str](), straight.instructions
    monkeypatch.setattr(straight, "instructions", lambda f, *more: looked.append(f.name()) or read(f, *more))
    assert schedule.are_short(program, [program.routines["derivative"]], 10**9)
    assert len(looked) == 3
    assert len(set(looked)) == 3


class Shockley(TwoPins):
    """A diode by its characteristic."""

    kind = Electrical

    def __init__(self) -> None:
        super().__init__()
        self.require(self.flow - 1e-12 * (ca.exp(self.drop / 0.026) - 1))


class Rectifier(Subsystem):
    def __init__(self, volts: float) -> None:
        self.zero, self.source, self.lead, self.diode = Reference(), VoltageSource(volts), Resistor(100.0), Shockley()
        self.store, self.load = Capacitor(1e-6), Resistor(1e3)
        self.connect(self.source.p, self.lead.p)
        self.connect(self.lead.n, self.diode.p)
        self.connect(self.diode.n, self.store.p, self.load.p)
        self.connect(self.store.n, self.load.n, self.source.n, self.zero.pin)


@pytest.mark.parametrize("volts", [-100.0, 0.3, 100.0])
def test_a_diode_by_its_characteristic_is_found_from_afar(volts: float) -> None:
    result = simulate(Rectifier(volts), until=1e-3, step=1e-5)
    assert result.status.ok
    drop = result["diode.p.v"] - result["diode.n.v"]
    assert np.allclose(result["diode.p.i"], 1e-12 * np.expm1(drop / 0.026), rtol=1e-11, atol=1e-24)
    assert np.allclose(result["lead.p.i"], (volts - result["diode.p.v"]) / 100, rtol=1e-9, atol=1e-15)


class Fold(TwoPins):
    """Has two answers until x is 0.1, and none behind."""

    kind = Electrical

    def __init__(self, x: Any) -> None:
        super().__init__()
        self.require(self.drop - 6 + 10 * x + self.flow**2 + self.flow)


class Folded(Subsystem):
    def __init__(self) -> None:
        self.x, self.y = State(0.0), State(0.0)
        self.zero, self.source, self.lead, self.odd = Reference(), VoltageSource(5.0), Resistor(1.0), Fold(self.x)
        self.connect(self.source.p, self.lead.p)
        self.connect(self.lead.n, self.odd.p)
        self.connect(self.odd.n, self.source.n, self.zero.pin)
        self.x.rate, self.y.rate = 1.0, self.lead.p.i


@pytest.mark.parametrize("method", ["rk4", "dopri5", "Radau"])
def test_where_there_is_no_solution_the_run_ends_by_path(method: str) -> None:
    with pytest.warns(match="odd: no solution of its equations is found"):
        result = simulate(Folded(), until=1.0, step=1e-2, method=method)
    assert not result.status.ok
    assert result.status.time == pytest.approx(0.1, abs=0.011)
    assert np.isfinite(result["y"]).all()


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_where_there_is_none_inside_a_closed_part(engine: str) -> None:
    class Cabinet(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.part, self.box = Encased(), Body(solids.sphere(mass=1.0, radius=0.1))
            self.foot, self.lid = Weld(self.ground, self.part.case), Prismatic(self.part.case, self.box, axis="z")

    class Encased(Subsystem):
        def __init__(self) -> None:
            self.circuit, self.case = Folded(), Body(solids.sphere(mass=1.0, radius=0.1))
            self.expose(self.case)

    with pytest.warns(match=r"part\.circuit.*no solution of its equations is found"):
        result = simulate(Cabinet(), until=1.0, step=1e-2, closed=["part"], engine=engine)
    assert result.status.time == pytest.approx(0.1, abs=0.011)


def test_a_closed_part_with_an_iteration_of_its_own_is_the_open_one(edges: Any) -> None:
    class Inside(Subsystem):
        def __init__(self) -> None:
            self.inner = Edges()

    closed = simulate(Inside(), until=0.1, step=1e-3, closed=["inner"])
    assert np.abs(closed["inner.volume.pressure"] - edges["volume.pressure"]).max() < 1e-6
