"""evaluate: all channels at a state, the same as the first row of a run from there."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from reference.support import example
from solve.machines import Pendulum

from kompono import (
    Body,
    Evaluation,
    Ground,
    Input,
    ModelError,
    ModelWarning,
    Output,
    Parameter,
    RunError,
    Simulation,
    Subsystem,
    euler,
    evaluate,
    roll_pitch_yaw,
    rotation,
    simulate,
    spatial,
    time,
)
from kompono.library import Drive, Gravity, JointEffort, Revolute, solids

AT = {"pin.angle": 0.7, "pin.angle.rate": -2.0}


@pytest.mark.parametrize("engine", ["relative", "absolute", "discrete"])
def test_it_is_the_first_row_of_a_run(engine: str) -> None:
    here = evaluate(Pendulum(), at=AT, engine=engine)
    row = simulate(Pendulum(), until=1e-5, step=1e-5, every=1, initial=AT, engine=engine)
    assert here.names == row.names
    assert here.units == row.units
    for name in here:
        assert here[name] == pytest.approx(row[name][0], rel=1e-9, abs=1e-9), name


def test_it_reads_like_a_result() -> None:
    here = evaluate(Pendulum(), at=AT, channels=["pin.*", "energy.*"])
    assert isinstance(here, Evaluation)
    assert here.vector("pin.force").shape == (3,)
    assert here.units["pin.force.x"] == "N"
    assert set(here.select("energy.*")) == {"energy.kinetic", "energy.potential", "energy.total"}
    assert "pin.force.x" in str(here)
    assert "Pendulum" in repr(here)
    with pytest.raises(KeyError, match=r"pin\.force\.x"):
        here["pin.forse.x"]
    with pytest.raises(RunError, match=r"pin\.force"):
        here.vector("pin.forse")


def test_gravity_alone_turns_a_pendulum() -> None:
    """A rod of length 1 at 0.7 rad: angle'' = -3/2 g sin(angle)."""
    assert evaluate(Pendulum(), at=AT)["pin.angle.acceleration"] == pytest.approx(-1.5 * 9.81 * np.sin(0.7), rel=1e-3)


def test_a_simulation_is_evaluated_many_times() -> None:
    simulation = Simulation(Pendulum(), native=False)
    values = [evaluate(simulation, at={"pin.angle": a})["pin.angle.acceleration"] for a in (0.1, 0.2)]
    assert values == pytest.approx([-1.5 * 9.81 * np.sin(a) for a in (0.1, 0.2)], rel=1e-3)
    with pytest.raises(RunError, match="Simulation was made"):
        evaluate(simulation, engine="absolute")


class Driven(Subsystem):
    """A crank that follows a drive, with a parameter, a table and a controller."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.mass = Parameter(2.0)
        self.crank = Body(solids.given(mass=self.mass, inertia=(1, 1, 1)))
        self.pin = Revolute(self.ground, self.crank, axis="z")
        self.drive = Drive(self.pin, 0.5 * time**2)
        self.table = Input(table=([0, 10], [0, 5]))
        self.asked = Input(lambda t, read: 3 * read("pin.angle"), period=0.1)
        self.out = Output(self.table + 10 * self.asked + 100 * self.mass)


@pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
def test_time_inputs_and_parameters_count() -> None:
    here = evaluate(Driven(), time=2.0, parameters={"mass": 4.0})
    assert here["pin.angle"] == pytest.approx(2.0)
    assert here["pin.angle.rate"] == pytest.approx(2.0)
    assert here["drive.effort"] == pytest.approx(1.0)
    assert here["out"] == pytest.approx(1.0 + 60 + 400)
    there = evaluate(Driven(), time=2.0, inputs={"table": 7.0})
    assert there["table"] == 7.0


def test_what_assembly_moves_is_told() -> None:
    with pytest.warns(ModelWarning, match=r"assembly moved pin\.angle"):
        here = evaluate(Driven(), time=2.0, at={"pin.angle": 1.9})
    assert here.moved["pin.angle"] == pytest.approx(0.1)


def test_closed_loops_and_wrong_requests() -> None:
    here = evaluate(example("car").Car())
    assert here["drift.position"] < 1e-9
    with pytest.raises(RunError, match=r"pin\.angle"):
        evaluate(Pendulum(), at={"pin.angel": 1.0})
    with pytest.raises(RunError, match="finite"):
        evaluate(Pendulum(), time=float("nan"))


class Singular(Subsystem):
    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.rod = Body(solids.rod(mass=1, length=1, radius=0.01))
        self.pin = Revolute(self.ground, self.rod.at(0, 0, 0.5), axis="y")
        self.odd = Output(1 / self.pin.angle)


def test_a_value_that_is_none_is_told() -> None:
    with pytest.warns(ModelWarning, match="odd: not a finite number"):
        evaluate(Singular())


# -- orientations


def matrix(quaternion: object) -> np.ndarray:
    return np.asarray(ca.DM(spatial.quaternion_matrix(quaternion)))


def plain(axis: str, angle: float) -> np.ndarray:
    c, s, k = np.cos(angle), np.sin(angle), "xyz".index(axis)
    m = np.eye(3)
    i, j = (k + 1) % 3, (k + 2) % 3
    m[i, i] = m[j, j] = c
    m[i, j], m[j, i] = -s, s
    return m


def test_chains_of_turns() -> None:
    expected = plain("z", 0.3) @ plain("x", -0.8) @ plain("y", 1.1)
    assert np.abs(matrix(rotation(("z", 0.3), ("x", -0.8), ("y", 1.1))) - expected).max() < 1e-15
    assert np.abs(matrix(euler("zxy", 0.3, -0.8, 1.1)) - expected).max() < 1e-15
    assert np.abs(matrix(euler("yxz", 1.1, -0.8, 0.3, fixed=True)) - expected).max() < 1e-15
    assert (
        np.abs(matrix(roll_pitch_yaw(0.1, 0.2, 0.3)) - plain("z", 0.3) @ plain("y", 0.2) @ plain("x", 0.1)).max()
        < 1e-15
    )
    assert np.array_equal(rotation("x", 0.4), rotation(axis="x", angle=0.4))
    assert np.array_equal(rotation("x", 0.4), rotation(("x", 0.4)))
    assert np.allclose(rotation((0, 0.6, 0.8), 0.4), rotation(((0, 0.6, 0.8), 0.4)))
    assert np.array_equal(rotation(), [1, 0, 0, 0])


def test_chains_of_symbols() -> None:
    a = ca.SX.sym("a")
    chain = rotation(("z", a), ("x", 2 * a))
    assert chain.shape == (4, 1)
    value = ca.Function("f", [a], [chain])(0.4).full().ravel()
    assert np.allclose(value, rotation(("z", 0.4), ("x", 0.8)), atol=1e-15)


@pytest.mark.parametrize(
    "make",
    [
        lambda: rotation("q", 1.0),
        lambda: rotation("x"),
        lambda: rotation("x", "y"),
        lambda: rotation(("x", 1.0), 3.0, 4.0),
        lambda: rotation("x", float("nan")),
        lambda: rotation("x", 1.0, axis="y"),
        lambda: euler("zx", 1.0),
        lambda: euler("zqz", 1.0, 2.0, 3.0),
        lambda: Body(mass=1, inertia=(1, 1, 1), start_orientation=np.diag([1, 1, -1])),
        lambda: Body(mass=1, inertia=(1, 1, 1), start_orientation=rotation("x", time)),
    ],
)
def test_what_is_no_turn_is_told(make) -> None:
    with pytest.raises(ModelError):
        make()


def test_start_orientations_of_all_kinds() -> None:
    turn = plain("z", 0.3) @ plain("x", -0.8)
    for given in (turn, rotation(("z", 0.3), ("x", -0.8)), euler("zx", 0.3, -0.8), ca.DM(turn)):
        body = Body(mass=1, inertia=(1, 1, 1), start_orientation=given)
        assert np.abs(matrix(body.start_orientation) - turn).max() < 1e-12


class Table(Subsystem):
    """A ground that turns as a chain of symbols says, or its matrix."""

    def __init__(self, as_matrix: bool) -> None:
        turn = rotation(("z", time), ("x", 0.3))
        self.table = Ground(orientation=spatial.quaternion_matrix(turn) if as_matrix else turn)
        self.rod = Body(mass=1, inertia=(1, 1, 1))
        self.pin = Revolute(self.table, self.rod, axis="x")
        self.push = JointEffort(self.pin, 1.0)


def test_a_ground_turns_by_chains_and_matrices() -> None:
    one, two = (evaluate(Table(kind), time=0.5) for kind in (False, True))
    assert one.vector("rod.angular_velocity") == pytest.approx([0, 0, 1])
    assert two.vector("rod.angular_velocity") == pytest.approx([0, 0, 1])
    assert np.allclose(one.vector("rod.orientation"), rotation(("z", 0.5), ("x", 0.3)))
