"""SciPy's integrators by name, stepped one by one so that loops stay closed and results survive an interruption.

The implicit ones (Radau, BDF) get the exact Jacobian of the model. After each step the state is projected back on the
loop conditions, a change of the order of the tolerance (not for LSODA, whose history cannot be reached).
"""

from __future__ import annotations

from typing import Any

import numpy as np

SCIPY_METHODS = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")


def integrate_scipy(problem: Any, settings: Any, progress: Any) -> tuple[np.ndarray, bool, str, float, dict[str, Any]]:
    """Rows (time, state..., inputs...) at multiples of the recording interval, and how the run ended."""
    import scipy.integrate

    kernel, feed, parameters = problem.kernel, problem.feed, problem.parameters
    interval = settings.step * settings.every
    times = np.arange(int(np.floor(settings.until / interval + 1e-9)) + 1) * interval
    if settings.until - times[-1] > 1e-9 * interval:
        times = np.append(times, settings.until)
    projects = settings.stabilize and "project" in kernel.program.routines
    state = problem.state.copy()
    rows = [np.concatenate([[0.0], state, feed.at(0.0)])]
    statistics = {"steps": 0, "evaluations": 0, "rejected": 0}

    def project(t: float, y: np.ndarray) -> np.ndarray:
        return kernel.evaluate("project", t, y, feed.at(t), parameters)[0] if projects else y

    def jacobian(t: float, y: np.ndarray) -> np.ndarray:
        return kernel.evaluate("jacobian", t, y, feed.at(t), parameters)[0].reshape(len(y), len(y)).T

    time, position = 0.0, 1
    while time < settings.until:
        feed.sample(time, lambda name, t=time, y=state: problem.read(t, y, feed.at(t), name))
        end = min(settings.until, feed.next_due)
        options = {"jac": jacobian} if settings.method in ("Radau", "BDF", "LSODA") else {}
        solver = getattr(scipy.integrate, settings.method)(
            lambda t, y: kernel.evaluate("derivative", t, y, feed.at(t), parameters)[0],
            time, state, end, rtol=max(settings.rtol, 1e-13), atol=settings.atol, **options,
        )  # fmt: skip
        while solver.status == "running":
            message = solver.step()
            if solver.status == "failed" or not np.all(np.isfinite(solver.y)):
                return (
                    np.array(rows),
                    False,
                    message or "a value became infinite or not a number",
                    float(time),
                    statistics,
                )
            statistics["steps"] += 1
            dense = solver.dense_output() if position < len(times) and times[position] <= solver.t else None
            while position < len(times) and times[position] <= solver.t + 1e-12 * settings.until:
                t = min(times[position], solver.t)
                y = project(t, solver.y if t == solver.t or dense is None else dense(t))
                rows.append(np.concatenate([[t], y, feed.at(t)]))
                position += 1
            time = float(solver.t)
            _replace(solver, project(time, solver.y)) if projects else None
            progress.update(time)
            if progress.interrupted:
                return np.array(rows), False, "interrupted by the user", time, statistics
        state = solver.y.copy()
        statistics["evaluations"] += solver.nfev
    return np.array(rows), True, "", float(time), statistics


def _replace(solver: Any, state: np.ndarray) -> None:
    """Put a slightly corrected state into a solver between two steps."""
    name = type(solver).__name__
    if name == "LSODA":
        return
    if name == "BDF":
        solver.D[0] = state
    else:
        solver.f = solver.fun(solver.t, state)
    solver.y = state
