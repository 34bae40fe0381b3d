"""minimize(model, cost, parameters) and identify(model, measured, parameters): SciPy's optimizers on exact gradients.

Every run brings its derivatives along (`sensitivities`), or the gradient of a cost comes back along it (`adjoint`),
which is cheaper for many parameters. Parameters are scaled by their start values, so that one step length fits all.
Both return what they found and how sure that is, and never call a failed run a success.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from kompono.analyses.adjoint import Adjoint, no_adjoint
from kompono.analyses.sensitivities import Varied, settings_for, varied
from kompono.errors import RunError, suggest
from kompono.given import number, plain, shown
from kompono.interruption import heeded
from kompono.model.subsystem import Subsystem
from kompono.notice import Notice
from kompono.options import with_kinds
from kompono.result import Result, matching
from kompono.simulation import Simulation
from kompono.solve.settings import Settings

FEW = 12  # parameters up to which derivatives that run along cost less than the way back
UNTOLD = 1e-10  # of the largest slope: below this measured values do not tell parameters
_PAIRS = (tuple, list, np.ndarray)
GRADIENTS = ("auto", "forward", "adjoint")


@dataclass(frozen=True, eq=False)
class Fit:
    """What an optimizer found: `parameters` by name, `cost`, its `gradient` there, whether it `converged` and its
    `message`, how many `runs` it took, the last `result`; of an identification the standard `errors` of the parameters.
    """

    parameters: Mapping[str, float]
    cost: float
    gradient: Mapping[str, float]
    converged: bool
    message: str
    runs: int
    result: Result
    errors: Mapping[str, float]

    def __str__(self) -> str:
        end = "converged" if self.converged else f"not converged: {self.message}"
        rows = [f"{self.result.model}: cost {self.cost:.6g} after {self.runs} runs, {end}"]
        for name, value in self.parameters.items():
            sure = f" +- {self.errors[name]:.2g}" if name in self.errors else ""
            rows.append(f"{name:<40} {value:>16.9g}{sure}   (d cost / d it {self.gradient[name]:.2g})")
        return "\n".join(rows)

    def __repr__(self) -> str:
        end = "converged" if self.converged else "not converged"
        return f"<Fit of {self.result.model}: cost {self.cost:.4g}, {end}>"


class _Runs:
    """Runs of a varied model at scaled values, each made once."""

    def __init__(self, asked: Varied, settings: Settings, channels: Iterable[str], inputs: Any, what: str) -> None:
        self.asked, self.settings, self.channels, self.inputs = asked, settings, tuple(channels), inputs
        matching(self.channels, asked.simulation.program.channels)  # each is there, before anything runs
        self.names, self.what = asked.names, what
        self.scales = np.array([abs(asked.present[name]) or 1.0 for name in self.names])
        self.start = np.array([asked.present[name] for name in self.names]) / self.scales
        self.count, self._last, self._result = 0, None, None
        self.notice = Notice(what)

    def at(self, scaled: np.ndarray) -> Result:
        """The run at scaled values of the parameters."""
        if self._result is None or self._last is None or not np.array_equal(scaled, self._last):
            values = dict(zip(self.names, (scaled * self.scales).tolist(), strict=True))
            result = self._made(values)
            self.count += 1
            self.notice.text = f"{self.what}: run {self.count}"
            if not result.status.ok:
                text = ", ".join(f"{name} = {value:.6g}" for name, value in values.items())
                raise RunError(f"with {text} the run fails: {result.status.message}", fix="Give bounds.")
            self._last, self._result = scaled.copy(), result
        return self._result

    def _made(self, values: Mapping[str, float]) -> Result:
        return self.asked.at(values).run(self.settings, self.channels, self.inputs)

    def valued(self, scaled: np.ndarray, weights: Mapping[str, float]) -> tuple[float, np.ndarray]:
        """A weighted sum of channels at the end, and its derivatives by scaled values."""
        result = self.at(scaled)
        total = sum(weight * result[name][-1] for name, weight in weights.items())
        slope = np.asarray(sum(weight * self.gradient(result, name)[-1] for name, weight in weights.items()))
        if not np.isfinite(slope).all():
            raise RunError(
                "the cost has no gradient at the end: it depends on forces that are shared, or on time itself where an "
                "event ends the run.", fix="Let the cost be a State of the model.",
            )  # fmt: skip
        return float(total), slope

    def gradient(self, result: Result, channel: str) -> np.ndarray:
        """Derivatives (rows, names) of a channel by scaled values."""
        return np.column_stack([result[f"{channel}/{name}"] for name in self.names]) * self.scales


class _RunsBack(_Runs):
    """The same with gradients that come back along the run."""

    def __init__(self, adjoint: Adjoint, *given: Any) -> None:
        super().__init__(*given)
        self._adjoint, self._found = adjoint, (0.0, np.zeros(0))

    def _made(self, values: Mapping[str, float]) -> Result:
        cost, gradient, result = self._adjoint.run(self.asked.at(values, False), self.settings, self.inputs)
        self._found = cost, gradient * self.scales
        return result

    def valued(self, scaled: np.ndarray, weights: Mapping[str, float]) -> tuple[float, np.ndarray]:
        """The cost, and its derivatives by scaled values."""
        self.at(scaled)
        return self._found


def _runs_of(gradient: str, asked: Varied, weights: Mapping[str, float], settings: Settings, inputs: Any) -> _Runs:
    """Runs with the derivatives that were asked for, or that cost less."""
    if gradient not in GRADIENTS:
        raise RunError(f"gradient={shown(gradient)} is none.", fix=f"Use {', '.join(map(repr, GRADIENTS))}.")
    why = no_adjoint(asked, settings)
    if gradient == "adjoint" and why:
        raise RunError(f"{why}.", fix="Use gradient='forward'.")
    given = (asked, settings, weights, inputs, "minimizing")
    back = gradient == "adjoint" or (gradient == "auto" and len(asked.names) > FEW and not why)
    return _RunsBack(Adjoint(asked, weights), *given) if back else _Runs(*given)


def _bounds(parameters: Any, runs: _Runs) -> list[tuple[float, float]]:
    if not isinstance(parameters, Mapping):
        return [(-np.inf, np.inf)] * len(runs.names)
    found = []
    for name, scale in zip(runs.names, runs.scales, strict=True):
        given = parameters[name]
        pair = (-np.inf, np.inf) if given is None else tuple(map(plain, given)) if isinstance(given, _PAIRS) else ()
        if len(pair) != 2 or None in pair or not pair[0] < pair[1]:  # type: ignore[operator]
            raise RunError(f"the bounds {shown(given)} of {name!r} are none.", fix="Give (low, high).")
        low, high = pair
        found.append((low / scale, high / scale))
    return found


def _mapping(given: Any, what: str) -> Mapping[str, Any]:
    """What was given by channel."""
    if not isinstance(given, Mapping):
        fix = f'Give it by channel: {what}={{"pin.angle": ...}}.'
        raise RunError(f"{what} = {shown(given)} is no mapping.", fix=fix)
    return given


def _deviations(noise: Mapping[str, Any], tables: Mapping[str, Any]) -> dict[str, float]:
    """Standard deviations of measured channels, those given."""
    for name in noise:
        if name not in tables:
            raise RunError(f"there is noise of {name!r}, which was not measured.", fix=suggest(name, tables))
    return {name: number(size, f"the noise of {name!r}", error=RunError, positive=True) for name, size in noise.items()}


@heeded
@with_kinds
def minimize(
    model: Subsystem | Simulation,
    cost: str | Mapping[str, float],
    parameters: Iterable[str] | Mapping[str, tuple[float, float] | None],
    *,
    until: float,
    step: float | None = None,
    method: str | None = None,
    rtol: float = 1e-8,
    inputs: Mapping[str, Any] | None = None,
    initial: Mapping[str, float] | None = None,
    tolerance: float = 1e-9,
    most: int = 100,
    gradient: str = "auto",
    **options: Any,
) -> Fit:
    """Values of tunable parameters and starts that make a cost smallest, from those declared on.

    `cost` names a channel whose value at the end counts, or several with weights; what adds up over time is a `State`
    of the model: `self.effort = State(0.0); self.effort.rate = torque**2`. `parameters` are names, or a mapping from
    names to bounds (low, high). SciPy's L-BFGS-B with exact gradients, up to `most` iterations, until the cost changes
    by less than `tolerance`, relative; `most=0` gives cost and gradient as declared. Gradients run along ("forward") or
    come back along the steps of rk4 or dopri5 ("adjoint": what many parameters cost less with, and "auto" takes for
    them). Where an event ends the run, the cost is that of its end, whenever that is. Other options as of `simulate`.
    """
    from scipy.optimize import minimize as search

    weights = {cost: 1.0} if isinstance(cost, str) else dict(cost)
    asked = varied(model, parameters, None, initial, options)
    settings = settings_for(asked.simulation, until, step, method, rtol, None, None)
    runs = _runs_of(gradient, asked, weights, settings, inputs)

    def value(scaled: np.ndarray) -> tuple[float, np.ndarray]:
        return runs.valued(scaled, weights)

    bounds = _bounds(parameters, runs)
    if not most:
        return _fit(runs, runs.start, *value(runs.start), (False, "nothing was changed"), {})
    with runs.notice:
        found = search(value, runs.start, jac=True, method="L-BFGS-B", bounds=bounds,
                       options={"maxiter": most, "ftol": tolerance, "gtol": 1e-12})  # fmt: skip
    return _fit(runs, found.x, *value(found.x), (bool(found.success), str(found.message)), {})


@heeded
@with_kinds
def identify(
    model: Subsystem | Simulation,
    measured: Mapping[str, Any],
    parameters: Iterable[str] | Mapping[str, tuple[float, float] | None],
    *,
    times: Any = None,
    noise: Mapping[str, float] | None = None,
    step: float | None = None,
    method: str | None = None,
    rtol: float = 1e-8,
    inputs: Mapping[str, Any] | None = None,
    initial: Mapping[str, float] | None = None,
    tolerance: float = 1e-10,
    most: int = 100,
    **options: Any,
) -> Fit:
    """Values of tunable parameters and starts with which a run fits measured channels best (least squares).

    `measured` maps names of channels to values at `times` [s], or to pairs (times, values). `noise` is the standard
    deviation of each (1 for all unless given: channels of different units want it). `parameters` as of `minimize`.
    `errors` of the result are standard errors of the parameters, from the scatter that is left; infinite where what
    was measured does not depend on a parameter, or only on several together.
    """
    from scipy.optimize import least_squares

    tables = {name: _table(name, given, times) for name, given in _mapping(measured, "measured").items()}
    if not tables:
        raise RunError("nothing was measured.", fix='Give e.g. {"pin.angle": (times, values)}.')
    until = max(float(at[-1]) for at, _ in tables.values())
    asked = varied(model, parameters, None, initial, options)
    settings = settings_for(asked.simulation, until, step, method, rtol, None, None)
    runs = _Runs(asked, settings, tables, inputs, "identifying")
    sizes = dict.fromkeys(tables, 1.0) | _deviations(_mapping({} if noise is None else noise, "noise"), tables)

    def residuals(scaled: np.ndarray) -> np.ndarray:
        result = runs.at(scaled)
        parts = [(_between(result.time, result[n], at) - v) / sizes[n] for n, (at, v) in tables.items()]
        return np.concatenate(parts)

    def slopes(scaled: np.ndarray) -> np.ndarray:
        result = runs.at(scaled)
        parts = [_between(result.time, runs.gradient(result, n), at) / sizes[n] for n, (at, _) in tables.items()]
        return np.vstack(parts)

    low, high = np.array(_bounds(parameters, runs)).T
    with runs.notice:
        ends = {"xtol": tolerance, "ftol": tolerance, "gtol": 1e-14, "max_nfev": most}
        found = least_squares(residuals, runs.start, cast(Any, slopes), bounds=(low, high), **ends)
    matrix, free = slopes(found.x), max(len(found.fun) - len(found.x), 1)
    spread = _spread(matrix, np.sqrt(2 * found.cost / free))
    errors = dict(zip(runs.names, spread * runs.scales, strict=True))
    gradient = matrix.T @ found.fun
    return _fit(runs, found.x, float(found.cost), gradient, (found.status > 0, str(found.message)), errors)


def _spread(matrix: np.ndarray, scatter: float) -> np.ndarray:
    """Standard errors (n,) of what has slopes (m, n); infinite in directions in which nothing changes."""
    _, sizes, directions = np.linalg.svd(matrix, full_matrices=len(matrix) < matrix.shape[1])
    sizes = np.append(sizes, np.zeros(len(directions) - len(sizes)))
    told = sizes > UNTOLD * sizes.max(initial=0.0)
    spread = scatter * np.sqrt(((directions[told] / sizes[told, None]) ** 2).sum(axis=0))
    return np.where(np.abs(directions[~told]).max(axis=0, initial=0.0) > 1e-6, np.inf, spread)


def _fit(runs: _Runs, scaled: np.ndarray, cost: float, gradient: np.ndarray, end: tuple[bool, str], errors: Any) -> Fit:
    values = dict(zip(runs.names, (scaled * runs.scales).tolist(), strict=True))
    slopes = dict(zip(runs.names, (np.asarray(gradient) / runs.scales).tolist(), strict=True))
    sure = {name: float(value) for name, value in errors.items()}
    return Fit(values, cost, slopes, *end, runs.count, runs.at(scaled), sure)


def _table(name: str, given: Any, times: Any) -> tuple[np.ndarray, np.ndarray]:
    at, values = given if isinstance(given, tuple) else (times, given)
    if at is None:
        raise RunError(f"nothing says when {name!r} was measured.", fix="Give times=, or a pair (times, values).")
    try:
        at, values = (np.asarray(column, dtype=float).reshape(-1) for column in (at, values))
        known = len(at) == len(values) > 0 and bool(np.isfinite(values).all()) and at[0] >= 0
    except (TypeError, ValueError):  # words, or rows that are not equally long
        known = False
    if not known or not np.all(np.diff(at) > 0):
        fix = "Give as many finite values as times, which increase from 0 s on."
        raise RunError(f"what was measured of {name!r} is no curve over time.", fix=fix)
    return at, values


def _between(times: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Values between records, by cubic splines; of two records at one time (an event) the later counts."""
    from scipy.interpolate import CubicSpline

    last = np.append(np.diff(times) > 0, True)
    return CubicSpline(times[last], values[last])(at)
