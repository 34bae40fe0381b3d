"""Links: forces from the conditions joints define, the same in lanes as traced plainly, without net force or torque."""

from __future__ import annotations

import numpy as np
import pytest
from discrete.machines import Zoo

from kompono.compile import Interpreter, compile_program
from kompono.translate import translate


def random_state(translation, seed: int = 3) -> np.ndarray:
    """Any state with orthonormal rotation matrices; joints are far from closed."""
    rng = np.random.default_rng(seed)
    program, bodies = translation.program, len(translation.model.bodies)
    turns = np.linalg.qr(rng.standard_normal((bodies, 3, 3)))[0]
    turns[:, :, 0] *= np.linalg.det(turns)[:, None]
    places = [np.concatenate([rng.standard_normal(3), turn.ravel(order="F")]) for turn in turns]
    rest = program.state_size - 12 * bodies
    return np.concatenate([*places, rng.standard_normal(rest)])


@pytest.fixture(scope="module", params=[True, False], ids=["grounded", "floating"])
def zoo(request):
    translation = translate(Zoo(grounded=request.param), engine="discrete")
    rng = np.random.default_rng(5)
    rows = len(translation.engine.row_labels())
    hidden = translation.engine.hidden_values(*rng.uniform(1.0, 5.0, (2, rows)))
    parameters = np.concatenate([[1.3], hidden])
    return translation, compile_program(translation.program), random_state(translation), parameters


def gyroscopic(translation, state) -> np.ndarray:
    """What the derivative has beyond a kick: the twist seen from turning axes, and Euler's term."""
    bodies = translation.model.bodies
    start = len(translation.program.coordinates)
    found = []
    for k, body in enumerate(bodies):
        v, w = np.split(state[start + 6 * k : start + 6 * k + 6], 2)
        inertia = np.asarray(body.solid.inertia, dtype=float)
        found.append(np.concatenate([-np.cross(w, v), -np.linalg.solve(inertia, np.cross(w, inertia @ w))]))
    return np.concatenate(found)


def test_lanes_give_the_accelerations_of_the_plain_trace(zoo) -> None:
    translation, kernel, state, parameters = zoo
    start, count = len(translation.program.coordinates), len(translation.program.speeds)
    here = (0.4, state, [0.7], parameters)
    kick = kernel.evaluate("kick", *here)[0]
    rate = Interpreter(translation.program).evaluate("derivative", *here)[0][start : start + count]
    expected = rate - gyroscopic(translation, state)
    assert np.abs(kick - expected).max() < 1e-11 * np.abs(expected).max()


def test_native_and_interpreted_steps_agree(zoo) -> None:
    translation, kernel, state, parameters = zoo
    plain = Interpreter(translation.program)
    for routine in ("kick", "drift"):
        ours, theirs = (k.evaluate(routine, 0.4, state, [0.7], parameters)[0] for k in (kernel, plain))
        assert np.abs(ours - theirs).max() < 1e-12 * np.abs(theirs).max()


def test_links_exert_no_force_on_the_whole(zoo) -> None:
    """Momentum and angular momentum of a system that floats freely change by nothing, whatever its links do."""
    translation, kernel, state, parameters = zoo
    if translation.model.grounds:
        return
    kick = kernel.evaluate("kick", 0.0, state, [0.7], parameters)[0].reshape(-1, 6)
    force, torque, scale = np.zeros(3), np.zeros(3), 0.0
    for k, body in enumerate(translation.model.bodies):
        x, turn = state[12 * k : 12 * k + 3], state[12 * k + 3 : 12 * k + 12].reshape(3, 3).T
        mass = 1.3 if k == 0 else float(body.solid.mass)
        own = turn @ (mass * kick[k, :3])
        force += own
        torque += np.cross(x, own) + turn @ (np.asarray(body.solid.inertia) @ kick[k, 3:])
        scale = max(scale, np.abs(own).max())
    assert np.abs(force).max() < 1e-12 * scale
    assert np.abs(torque).max() < 1e-11 * scale


def test_equal_joints_share_a_kernel_and_run_in_lanes(zoo) -> None:
    translation = zoo[0]
    kick = translation.program.routines["kick"]
    assert any(loop.lanes > 1 for loop in kick.loops)
    assert len({loop.kernel for loop in kick.loops}) < len(translation.model.bodies) + len(translation.engine.closing)


def test_blocks_lie_where_the_engine_says(zoo) -> None:
    """G on each body, as the native routine gives it, moves the conditions as a small motion of that body does."""
    translation, kernel, state, parameters = zoo
    engine, program = translation.engine, translation.program
    plain = Interpreter(program)
    here = (0.4, state, [0.7], parameters)
    numbers = kernel.evaluate("blocks", *here)[0]
    matrix = plain.evaluate("conditions", *here)[2].reshape(len(program.speeds), -1).T
    found, place = np.zeros_like(matrix), 0
    for first, rows, body in engine.touched():
        block = numbers[place : place + 6 * rows].reshape(6, rows).T
        found[first : first + rows, 6 * body : 6 * body + 6] = block
        place += 6 * rows
    assert place == len(numbers)
    assert np.abs(found - matrix).max() < 1e-12 * np.abs(matrix).max()
