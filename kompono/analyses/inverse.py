"""inverse(model, motion, ...) and reach(model, target, ...): the efforts a motion takes, and the motion a target takes.

With the mass matrix M and the accelerations a_0 the machine would have by itself, a motion with accelerations a takes
efforts t that fulfil

    B t + G^T m = M (a - a_0)

for some forces m of what closes loops. What acts in directions that the conditions block is theirs; in the others the
efforts must do. Where they can in many ways, the smallest are told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import casadi as ca
import numpy as np

from kompono.analyses.followed import RANK, RESIDUAL, Followed, Motion, rank
from kompono.analyses.mechanics import refuse_sealed
from kompono.analyses.paths import sampled
from kompono.analyses.point import Point, find_point, in_joint_coordinates, listed
from kompono.analyses.remembered import add_memory, check_memory, remembers
from kompono.errors import RunError, suggest
from kompono.interruption import heeded
from kompono.model.subsystem import Subsystem
from kompono.options import with_kinds
from kompono.result import Result, Status
from kompono.simulation import Simulation
from kompono.solve.inputs import Feed
from kompono.translate.program import Program, Routine
from kompono.translate.slopes import routine_of, symbolic

_EFFORTS = {"rad/s": "N*m", "m/s": "N"}


@heeded
@with_kinds
def inverse(
    model: Subsystem | Simulation,
    motion: Mapping[str, Any],
    *,
    times: Any = None,
    efforts: Iterable[str] | None = None,
    near: Mapping[str, float] | None = None,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    **options: Any,
) -> Result:
    """The efforts that make a machine move as given, at `times` [s].

    `motion` says by name how coordinates of joints, or positions and angles of bodies and sensors, change over time: an
    expression of `time`, values at the times, a pair (times, values), a callable of time, or a number. It must leave no
    freedom open. `efforts` are the coordinates that are driven (those of `motion`, unless given); if they are more than
    needed, the smallest efforts (least sum of squares) are found. The result has each coordinate, its `.rate` and
    `.acceleration`, and `.effort` [N m, N] of the driven ones; `statistics["redundant"]` says how many efforts are free
    to choose. `near` are start values as of `initial`, for loops that can be closed in several ways. What the model
    itself applies (springs, gravity, motors that are fed) acts as well; its own states, events and samples follow the
    motion from the first time on, where they have their start values, and states are channels of the result. Further
    options are those of `Simulation`.
    """
    instants, paths, point, feed = _begun(model, motion, times, near, inputs, parameters, options)
    check_memory(point)
    driven = tuple(motion) if efforts is None else listed(efforts)
    places = [_place(point.simulation.program, name, efforts is None) for name in driven]
    followed = Followed(point, tuple(motion), feed)
    found = followed.motion(instants, paths)
    if found.open:
        raise RunError(
            f"the motion leaves {found.open} of {len(point.simulation.program.speeds)} freedoms open.",
            fix=f"Prescribe more of {', '.join(point.simulation.program.coordinates[:8])}.",
        )
    if remembers(point.simulation.program):
        paths_of = _refined(motion, instants)
        add_memory(point, followed, instants, found, lambda finer: sampled(paths_of, finer)[1])
    values, redundant = _efforts(point, followed, instants, found, places)
    return _result(point, instants, found, dict(zip(driven, values.T, strict=True)), {"redundant": redundant}, places)


@heeded
@with_kinds
def reach(
    model: Subsystem | Simulation,
    target: Mapping[str, Any],
    *,
    times: Any = None,
    near: Mapping[str, float] | None = None,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    **options: Any,
) -> Result:
    """The motion of all coordinates with which a machine follows targets, at `times` [s]: inverse kinematics.

    `target` is as `motion` of `inverse`: `{"tool.position.x": 0.5 + 0.1 * cos(time), ...}`. A machine with more
    freedoms than targets follows them with the smallest changes from its start on; `statistics["open"]` says how many
    are left.
    """
    instants, paths, point, feed = _begun(model, target, times, near, inputs, parameters, options)
    found = Followed(point, tuple(target), feed).motion(instants, paths)
    return _result(point, instants, found, {}, {"open": found.open}, [])


def _begun(
    model: Subsystem | Simulation, motion: Mapping[str, Any], times: Any, near: Mapping[str, float] | None,
    inputs: Mapping[str, Any] | None, parameters: Mapping[str, float] | None, options: Mapping[str, Any],
) -> tuple[np.ndarray, np.ndarray, Point, Feed]:  # fmt: skip
    """Times, paths, the point to begin at, and what feeds inputs on the way. Closed parts are opened: a machine is the
    same with them, and slopes are exact.
    """
    if not isinstance(motion, Mapping) or not motion:
        raise RunError("no motion is given.", fix='Give e.g. {"pin.angle": sin(time)}.')
    instants, paths = sampled(motion, times)
    model, options = _opened(model, dict(options))
    point = in_joint_coordinates(find_point(model, near, float(instants[0]), inputs, parameters, options))
    if laws := point.simulation.program.laws:
        raise RunError(
            "contact and dry friction by events change what moves along the path.",
            path=laws[0].path,
            fix='Ask with contact="soft".',
        )
    refuse_sealed(point)
    feed = point.simulation.feed(inputs)
    if any(source.is_callable for source in feed.sources) and len(instants) > 1:
        raise RunError("inputs from Python callables are not followed.", fix="Give numbers or tables.")
    return instants, paths, point, feed


def _refined(motion: Mapping[str, Any], times: np.ndarray) -> dict[str, Any]:
    """The same motion, with values at the times as tables that can be asked between them."""
    arrays = {name for name, path in motion.items() if isinstance(path, list | np.ndarray) and np.ndim(path)}
    return {name: (times, path) if name in arrays else path for name, path in motion.items()}


def _opened(model: Subsystem | Simulation, options: dict[str, Any]) -> tuple[Subsystem | Simulation, dict[str, Any]]:
    """The same model with its closed parts open."""
    if isinstance(model, Simulation):
        request = model.request
        if (request.closed or request.isolate) and not request.elsewhere:
            model = Simulation.of(model.translation.model.model, replace(request, closed=(), isolate=()))
        return model, options
    return model, {name: value for name, value in options.items() if name not in ("closed", "isolate")}


def _place(program: Program, name: str, implied: bool) -> int:
    """The number of the speed an effort acts on."""
    speeds = {speed.removesuffix(".rate"): k for k, speed in enumerate(program.speeds)}
    speeds |= {speed: k for k, speed in enumerate(program.speeds)}
    if name in speeds:
        return speeds[name]
    if implied:
        raise RunError(f"{name!r} is no coordinate an effort acts on.", fix="Say which are driven: efforts=[...].")
    raise RunError(f"there is no coordinate {name!r} in the tree of joints.", fix=f"{suggest(name, speeds)} Or cut=.")


def _efforts(
    point: Point, followed: Followed, times: np.ndarray, motion: Motion, places: Sequence[int]
) -> tuple[np.ndarray, int]:
    """Efforts (n, driven), and how many of them are free to choose."""
    program, routine = point.simulation.program, "acted"
    columns = [k for k, channel in enumerate(program.channels) if channel.name == "energy.kinetic"]
    selected = point.simulation.translation.select(columns)
    cast(Any, program.routines).add(routine, lambda: _acted(program, selected, columns, routine))
    speeds, rows = len(program.speeds), followed.rows
    table = followed.map(routine, times, motion.states)
    free, mass, matrix = np.split(table, np.cumsum([speeds, speeds * speeds]), axis=1)
    mass = mass.reshape(-1, speeds, speeds)
    matrix = matrix.reshape(len(times), speeds, rows).transpose(0, 2, 1)
    need = np.einsum("nij,nj->ni", mass, motion.accelerations - free)
    allowed = np.eye(speeds) - np.linalg.pinv(matrix, rcond=RANK) @ matrix if rows else np.eye(speeds)[None]
    need = np.einsum("nij,nj->ni", np.broadcast_to(allowed, mass.shape), need)
    acting = np.ascontiguousarray(np.broadcast_to(allowed, mass.shape)[:, :, list(places)])
    found = np.einsum("nij,nj->ni", np.linalg.pinv(acting, rcond=RANK), need)
    missed = np.abs(np.einsum("nij,nj->ni", acting, found) - need).max(axis=1, initial=0.0)
    worst = int(np.argmax(missed))
    if missed[worst] > RESIDUAL * (1.0 + np.abs(need).max()):
        raise RunError(
            f"these efforts cannot make this motion: at {times[worst]:g} s {missed[worst]:.3g} is missing.",
            fix="Name more coordinates in efforts=.",
        )
    return found, len(places) - int(rank(acting).max(initial=0))


def _acted(program: Program, selected: str, columns: Sequence[int], name: str) -> Routine:
    """Accelerations without efforts, the mass matrix and G (column by column), in one output.

    The mass matrix is the second derivative of the kinetic energy.
    """
    conditions = program.routines["conditions"]
    x = ca.SX.sym("x", sum(size for _, size in conditions.inputs))
    first, speeds = 1 + len(program.coordinates), len(program.speeds)
    v = x[first : first + speeds]
    energy = symbolic(program.kernels, program.routines[selected], x)[0]
    energy = energy if selected != "outputs" else energy[columns[0]]
    rate = symbolic(program.kernels, program.routines["derivative"], x)[0][first - 1 : first - 1 + speeds]
    matrix = symbolic(program.kernels, conditions, x)[2]
    mass = ca.hessian(energy, v)[0]
    whole = ca.vertcat(rate, ca.vec(ca.densify(mass)), matrix)
    return routine_of(name, conditions.inputs, x, {"acted": whole}, cast(Any, program.kernels))


def _result(
    point: Point, times: np.ndarray, motion: Motion, efforts: Mapping[str, np.ndarray], more: Mapping[str, Any],
    places: Sequence[int],
) -> Result:  # fmt: skip
    """Coordinates, speeds, accelerations and efforts as channels."""
    simulation, place = point.simulation, point.place
    program = simulation.program
    units = {channel.name: channel.unit for channel in program.channels}
    columns: dict[str, tuple[np.ndarray, str]] = {}
    for k, name in enumerate(program.coordinates):
        columns[name] = motion.states[:, place.q.start + k], units.get(name, "")
    for k, name in enumerate(program.speeds):
        columns[name] = motion.states[:, place.v.start + k], units.get(name, "")
        label = f"{name.removesuffix('.rate')}.acceleration"
        columns[label] = motion.accelerations[:, k], units.get(label, "")
    kept = program.states if efforts else ()
    for k, name in enumerate(kept):
        columns[name] = motion.states[:, -len(kept) + k], units.get(name, "")
    for (name, values), where in zip(efforts.items(), places, strict=True):
        speed = program.speeds[where]
        columns[f"{name.removesuffix('.rate')}.effort"] = values, _EFFORTS.get(units.get(speed, ""), "")
    table = np.column_stack([values for values, _ in columns.values()])
    return Result(
        times, list(columns), table, units={name: unit for name, (_, unit) in columns.items()}, status=Status(True),
        statistics={"method": "inverse", "engine": simulation.engine, **more}, model=simulation.name,
    )  # fmt: skip
