"""Random redundant mechanisms, turned at random by how they are drawn: both engines move them alike, and as a dense
solution by singular values says at states on the way.

Two runs of a chaotic machine drift apart by more than any fixed limit, whoever computes them. How far is measured, not
guessed: the same engine with half the step. `KOMPONO_LAWS=1` takes forty machines over 10 s.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, Phase, assume, given, settings
from laws.dense import Connection, Mechanism, quaternion_to_matrix, solve
from laws.mechanisms import JOINTS, Case, build, redundant_loops

from kompono import Result, simulate

LONG = "KOMPONO_LAWS" in os.environ
UNTIL = 10.0 if LONG else 0.2  # [s]
STEP = 1e-3  # [s]
FAR = 50.0  # [m], machines that fall or fly away are no test of loops
CHANNELS = ["*.position.*", "*.orientation.*", "*velocity.*", "*acceleration.*", "joint*"]


@settings(
    max_examples=40 if LONG else 2, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck), phases=[Phase.generate],
)  # fmt: skip
@given(redundant_loops())
def test_both_engines_move_random_redundant_loops_alike(case: Case) -> None:
    relative, absolute = run(case, "relative", STEP), run(case, "absolute", STEP)
    distance = apart(relative, absolute)
    if distance > 1e-6:
        assert distance < 10 * apart(relative, run(case, "relative", STEP / 2))
    compare_with_dense(case.m, relative)


def run(case: Case, engine: str, step: float) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record = round(STEP / step)
        result = simulate(build(case.m).model, until=UNTIL, step=step, engine=engine, every=record, channels=CHANNELS)
    assume(max(np.abs(result[name]).max() for name in result if ".position." in name) < FAR)
    assert result.status.ok, result.status.message
    return result


def apart(one: Result, other: Result) -> float:
    """[m], the largest distance on the way."""
    return max(np.abs(one[name] - other[name]).max() for name in one if ".position." in name)


def compare_with_dense(m: Mechanism, result: Result) -> None:
    for k in np.linspace(0, len(result.time) - 1, 11).astype(int):
        now = state_at(m, result, int(k))
        found = gather(m, result, int(k), "acceleration", 3), gather(m, result, int(k), "angular_acceleration", 3)
        solution = solve(now)
        if not solution.clear_rank:
            continue  # near a singular position two answers fit within rounding
        expected = solution.acceleration[m.bodies]
        scale = 1 + np.abs(expected).max() + np.abs(now.w).max() ** 2
        assert np.abs(np.hstack([part[m.bodies] for part in found]) - expected).max() < 1e-7 * scale


def state_at(m: Mechanism, result: Result, k: int) -> Mechanism:
    x, v, w = (gather(m, result, k, name, 3) for name in ("position", "velocity", "angular_velocity"))
    rotations = np.array([quaternion_to_matrix(e) for e in gather(m, result, k, "orientation", 4)])
    time = float(result.time[k])
    for i in m.grounds:
        x[i], rotations[i], v[i], w[i] = m.carriers[i].motion(time)[:4]  # type: ignore[union-attr]
    joints = [replace(joint, q=coordinates(joint, result, k)) for joint in m.joints]
    return replace(m, time=time, x=x, A=rotations, v=v, w=w, joints=joints)


def coordinates(joint: Connection, result: Result, k: int) -> np.ndarray:
    return np.array([result[f"{joint.name}.{name}"][k] for name in JOINTS[joint.kind].coordinates])


def gather(m: Mechanism, result: Result, k: int, name: str, count: int) -> np.ndarray:
    parts = ("e0", "e1", "e2", "e3") if count == 4 else ("x", "y", "z")
    values = np.zeros((len(m.carriers), count))
    for i in m.bodies:
        values[i] = [result[f"body{i}.{name}.{part}"][k] for part in parts]
    return values
