"""Projections: they close what is open, change as little as they can, and keep long runs on their conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from absolute.support import build, constants, instant, placed, quaternions, run, simulation, violations
from reference.support import example
from scipy.spatial.transform import Rotation

from kompono import KomponoError, RunError, Simulation, inspect

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
PROJECTING = ("standard", "successive", "distributed")


def project(s: Simulation, time: float, state: np.ndarray) -> np.ndarray:
    return s.kernel.evaluate("project", time, state, *constants(s, time))[0]


def disturbed(name: str, s: Simulation, size: float) -> np.ndarray:
    """A consistent state in motion, with every entry changed by up to `size` (speeds: of the largest)."""
    state = placed(name, s, instant(name))
    nq = len(s.program.coordinates)
    change = np.random.default_rng(5).uniform(-size, size, len(state))
    scale = 0.01 if name == "squeezer" else 1.0  # its links are millimetres
    change[:nq] *= scale
    change[nq:] *= max(1.0, np.abs(state[nq:]).max())
    return state + change


def turn(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Rotation vectors (bodies, 3), in the world, from one set of quaternions to another."""
    first, last = (Rotation.from_quat(np.roll(e, -1, axis=1)) for e in (before, after))
    return (last * first.inv()).as_rotvec()


@pytest.mark.parametrize("projection", PROJECTING)
@pytest.mark.parametrize("name", ["car", "bricard", "squeezer"])
def test_a_disturbed_state_comes_back(name: str, projection: str) -> None:
    s = simulation(name, "absolute", projection)
    for size in (1e-6, 1e-4):
        state = disturbed(name, s, size)
        speed = max(1.0, np.abs(state[len(s.program.coordinates) :]).max())
        assert min(violations(s, instant(name), state)) > 1e-3 * size
        once = project(s, instant(name), state)
        twice = project(s, instant(name), once)
        assert violations(s, instant(name), once)[0] < 100 * size**2
        g, g_dot = violations(s, instant(name), twice)
        assert g < 1e-12
        assert g_dot < 1e-12 * speed


@pytest.mark.parametrize("projection", PROJECTING)
def test_a_consistent_state_is_left_alone(projection: str) -> None:
    s = simulation("car", "absolute", projection)
    state = placed("car", s, instant("car"))
    assert np.abs(project(s, instant("car"), state) - state).max() < 1e-13


@pytest.mark.parametrize("projection", PROJECTING)
def test_quaternions_get_unit_length_and_keep_their_direction(projection: str) -> None:
    s = simulation("bricard", "absolute", projection)
    state = placed("bricard", s, instant("bricard"))
    longer = state.copy()
    for e in quaternions(s, longer):
        e *= 1.0005
    found = project(s, instant("bricard"), project(s, instant("bricard"), longer))
    assert np.abs(np.linalg.norm(quaternions(s, found), axis=1) - 1).max() < 1e-14
    assert np.abs(found - state).max() < 1e-6


@pytest.mark.parametrize(("projection", "metric"), [("successive", "identity"), ("distributed", "mass")])
def test_the_change_is_the_least_there_is(projection: str, metric: str) -> None:
    """The metric times the change has no part along directions the conditions leave free."""
    s = Simulation(build("car"), engine="absolute", projection=projection, metric=metric, native=False)
    size, at = 1e-5, instant("car")
    state = disturbed("car", s, size)
    found = project(s, at, project(s, at, state))
    count, nq = len(s.translation.model.bodies), len(s.program.coordinates)
    q, after = state[: 7 * count].reshape(count, 7), found[: 7 * count].reshape(count, 7)
    normalized = q[:, 3:] / np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    change = np.hstack([after[:, :3] - q[:, :3], turn(normalized, after[:, 3:])]).ravel()
    g, _, matrix, _ = s.kernel.evaluate("conditions", at, found, *constants(s, at))
    _, values, rows = np.linalg.svd(matrix.reshape(-1, len(g)).T)
    free = rows[np.sum(values > 1e-8 * values[0]) :]
    weights = mass_matrix(s, after) if metric == "mass" else np.eye(6 * count)
    for moved, scale in ((change, 1.0), (found[nq:] - state[nq:], max(1.0, np.abs(state[nq:]).max()))):
        along = free @ weights @ moved
        assert np.abs(moved).max() > 0.1 * size * scale
        assert np.abs(along).max() < 1e-3 * np.abs(weights @ moved).max()


def mass_matrix(s: Simulation, poses: np.ndarray) -> np.ndarray:
    """Masses and inertias in world axes."""
    matrix = np.zeros((6 * len(poses), 6 * len(poses)))
    for k, (body, pose) in enumerate(zip(s.translation.model.bodies, poses, strict=True)):
        r = Rotation.from_quat(np.roll(pose[3:], -1)).as_matrix()
        matrix[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = np.eye(3) * float(body.solid.mass)
        matrix[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = r @ np.asarray(body.solid.inertia, float) @ r.T
    return matrix


def test_without_projection_it_drifts_and_baumgarte_bounds_that() -> None:
    drift: dict[str, Any] = {}
    for projection in ("none", "baumgarte", "distributed"):
        s = simulation("slider-crank", "absolute", projection)
        drift[projection] = run(s, 2.0, 0.1, rtol=1e-4, channels="drift.*")
    assert "project" not in simulation("slider-crank", "absolute", "none").program.routines
    left, fed_back, kept = (drift[name]["drift.position"] for name in ("none", "baumgarte", "distributed"))
    assert left[-1] > 1e-4
    assert left[-1] > 2 * left[10] > 4 * left[5]
    assert 1e-8 < fed_back.max() < 0.05 * left[-1]
    assert kept.max() < 1e-13
    assert drift["distributed"]["drift.velocity"].max() < 1e-12


def test_stabilize_false_is_no_projection() -> None:
    kept = run(simulation("windows", "absolute", "distributed"), 0.2, 0.1, rtol=1e-6, stabilize=False)
    none = run(simulation("windows", "absolute", "none"), 0.2, 0.1, rtol=1e-6)
    assert np.abs(kept["uprights.0.position.x"] - none["uprights.0.position.x"]).max() < 1e-14
    assert kept["drift.position"][-1] > 1e-12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "absolut"}, "'absolute'"),
        ({"engine": "absolute", "projection": "succesive"}, "'successive'"),
        ({"engine": "absolute", "metric": "masses"}, "'mass'"),
        ({"engine": "relative", "projection": "successive"}, "absolute"),
        ({"projection": "standard"}, "absolute"),
    ],
)
def test_names_that_do_not_exist(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RunError, match=message):
        Simulation(build("four-bar"), native=False, **options)


def test_inspect_names_the_redundant_conditions() -> None:
    report = inspect(build("windows"), engine="absolute")
    assert (report.coordinates, report.degrees_of_freedom) == (30, 1)
    assert (report.conditions, report.redundant_count) == (35, 6)
    assert sum(int(line.split(": ")[1].split()[0]) for line in report.redundant) == 6


def test_a_body_without_inertia_is_named() -> None:
    with pytest.raises(KomponoError, match=r"upper.*inertia"):
        Simulation(example("reference/double_pendulum").DoublePendulum(rods=True), engine="absolute", native=False)
