"""The machine itself for a page: its program as WebAssembly, what it starts with, and what can be changed in it.

What is offered to be changed is what the program takes from outside: declared parameters and inputs, and numbers that
were made loose (see `touchable`). A parameter on which the assembled start depends is not offered, because a page
cannot assemble; it is named, so that nobody looks for it in vain. What cannot run in a page is refused in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from kompono.compile.web import METHODS, WebModule, web_module
from kompono.edges.view.touchable import AXES, PULL, Touched, touchable
from kompono.errors import ModelError, ModelWarning, RunError, warn
from kompono.foreign.element import Fmu
from kompono.model.body import Ground
from kompono.model.signal import time
from kompono.model.subsystem import Subsystem
from kompono.request import Request
from kompono.sealed.element import Sealed
from kompono.simulation import Simulation
from kompono.solve.assemble import remarks
from kompono.solve.inputs import Feed
from kompono.solve.settings import Settings, settings_of
from kompono.translate.kernels import add_kernel
from kompono.translate.program import Call, Program, Routine

CHANNELS = 6000  # that a page asks a living machine for; of larger ones those with the shortest names, and all poses
SAME = 1e-9  # what a start may move by when a parameter changes by a hundredth


@dataclass(frozen=True)
class Living:
    """A machine that runs in a page, or is shown there while it runs elsewhere (then without a module): its channels
    (name and unit), and the rest as plain data.
    """

    module: WebModule | None
    channels: dict[str, str]
    angles: list[str]
    grounds: list[str]  # paths of those that move
    facts: dict[str, Any]
    arrays: dict[str, tuple[str, np.ndarray]]

    def described(self, number: Mapping[str, int]) -> dict[str, Any]:
        """Plain data; `number` are those of channels in the page."""
        told = [number[name] for name in self.channels]
        places = None if self.module is None else self.module.places
        return {**self.facts, "places": places, "told": told, "angles": [number[name] for name in self.angles]}


def living(model: Subsystem, options: Mapping[str, Any]) -> Living:
    """A model on its way into a page; `options` are those of `simulate`."""
    request = replace(Request.of(options), channels="*", nested_from=10**9)
    settings = settings_of(request)
    if settings.method not in METHODS:
        raise RunError(
            f"a page makes equal steps, and {settings.method} chooses its own.",
            fix="Add --method rk4 --step 1e-3, or look at a stored run: leave out --live.",
        )
    with touchable(model) as touched:
        simulation = Simulation.of(model, request)
        check(simulation)
        return _made(simulation, request, settings, touched)


def check(simulation: Simulation) -> None:
    """Raise for a model that needs more than code of its own."""
    program, model = simulation.program, simulation.translation.model
    instead = "Leave out --live: a page can show the stored run."
    if program.laws:
        raise ModelError(
            "contact and dry friction choose their modes with a solver a page does not have.",
            path=program.laws[0].path, fix=f"Add --contact soft: forces take their place. {instead}",
        )  # fmt: skip
    for k, numbers in enumerate(program.ticks):
        if len(program.routines[f"tick_{k}"].outputs) > 1:
            raise ModelError(
                "what is sampled there asks a Python callable, which a page does not have.",
                path=f"every {program.rates[numbers[0]][0]:g} s",
                fix=f"Write it as expressions: Mode(0.0, every=...) and .next. {instead}",
            )  # fmt: skip
    for part in model.subsystems:
        if isinstance(part, Fmu | Sealed):
            raise ModelError("a sealed part or FMU does not run in a page.", path=model.path(part), fix=instead)
    if program.opaque or program.away or program.spread is not None:
        paths = [path for path, _ in program.opaque] or [path for paths in program.away.values() for path in paths]
        raise ModelError("it runs elsewhere, and a page has only itself.", path=", ".join(paths), fix=instead)


def _made(simulation: Simulation, request: Request, settings: Settings, touched: Touched) -> Living:
    program = simulation.program
    values, feed = simulation.parameters(request.parameters), simulation.feed(request.inputs)
    for source in feed.callables:
        if source.is_callable:
            raise ModelError(
                "it is fed by a Python callable, which a page does not have.", path=source.name,
                fix=f'Give a number or a table: inputs={{"{source.name}": 0.0}}, or leave out --live.',
            )  # fmt: skip
    assembly = simulation.assemble(request.initial, parameters=values, feed=feed)
    for remark in remarks(assembly):
        warn(remark, ModelWarning)
    complete = simulation.completed(values, assembly.state, feed, settings.step)
    state = simulation.started(assembly.state, complete, feed, step=settings.step)
    columns = told_columns(simulation, touched)
    grounds = [g for g in simulation.translation.model.grounds if moves(g)]
    routine = _with_grounds(simulation, columns, grounds)
    module = web_module(program, settings.method, routine, keep=request.cache)
    told = [program.channels[i] for i in columns]
    paths = [simulation.translation.model.path(ground) for ground in grounds]
    table = feed.table() or (np.zeros(1), np.zeros((1, 0)))
    arrays = {
        "wasm": ("u1", np.frombuffer(module.code, dtype="u1")), "start": ("f8", state),
        "parameters": ("f8", complete), "table_times": ("f8", table[0]), "table_values": ("f8", table[1].ravel()),
    }  # fmt: skip
    sliders = sliders_of(simulation, request, values, feed, assembly.state)
    facts = {
        "step": settings.step, "method": settings.method, "projecting": bool(settings.stabilize),
        "guard_checks": settings.guard_checks, "parameters": sliders,
        "inputs": inputs_of(simulation, feed, touched), "pulls": pulls_of(program, touched), "grounds": len(grounds),
    }  # fmt: skip
    channels = {channel.name: channel.unit for channel in told}
    return Living(module, channels, [c.name for c in told if c.angle], paths, facts, arrays)


def told_columns(simulation: Simulation, touched: Touched) -> list[int]:
    """Channels the page asks for: all but those of the hands; of very many the shortest names and all poses."""
    known = simulation.program.channels
    found = [i for i, channel in enumerate(known) if not touched.is_hand(channel.name)]
    if len(found) <= CHANNELS:
        return found
    poses = {i for i in found if ".position." in known[i].name or ".orientation." in known[i].name}
    rest = sorted((i for i in found if i not in poses), key=lambda i: known[i].name.count("."))
    return sorted(poses | set(rest[: max(0, CHANNELS - len(poses))]))


def moves(ground: Ground) -> bool:
    return not (ca.SX(ground.motion.position).is_constant() and ca.SX(ground.motion.rotation).is_constant())


def _with_grounds(simulation: Simulation, columns: list[int], grounds: list[Ground]) -> Routine:
    """The routine of some channels, followed by position (3) and rotation (9) of each moving ground."""
    program, model = simulation.program, simulation.translation.model
    routine = program.routines[simulation.translation.select(columns)]
    order = columns if routine.name == "outputs" else range(len(columns))
    result = tuple(routine.result[0][i] for i in order)
    calls, workspace = routine.calls, routine.workspace
    if grounds:
        given = [time, *model.inputs, *model.parameters]
        wanted = ca.vertcat(*[ca.vertcat(g.motion.position, ca.vec(ca.SX(g.motion.rotation))) for g in grounds])
        sizes = [size for _, size in routine.inputs]
        places = [0, *range(1 + sizes[1], 1 + sizes[1] + len(model.inputs) + len(model.parameters))]
        symbols = ca.SX.sym("x", len(given))
        expression = ca.densify(ca.substitute(wanted, ca.vertcat(*map(ca.SX, given)), symbols))
        name = add_kernel(simulation.translation.engine.kernels, symbols, expression)
        slots = tuple(range(workspace, workspace + expression.numel()))
        calls = (*calls, Call(name, tuple(places), slots, "moving grounds"))
        result, workspace = (*result, *slots), workspace + len(slots)
    return Routine("page", routine.inputs, (("channels", len(result)),), calls, (result,), workspace)


def sliders_of(
    simulation: Simulation, request: Request, values: np.ndarray, feed: Feed, start: np.ndarray
) -> list[dict[str, Any]]:
    """The model's own parameters; `fixed` are those the start depends on."""
    model, found = simulation.translation.model, []
    known = {model.path(parameter): parameter for parameter in model.parameters}
    for k, name in enumerate(simulation.program.parameters[: len(values)]):
        if name not in known:
            continue
        moved = values.copy()
        moved[k] += 0.01 * (abs(values[k]) or 1.0)
        try:
            state = simulation.assemble(request.initial, parameters=moved, feed=feed).state
            same = bool(np.all(np.abs(state - start) <= SAME * (1 + np.abs(start))))
        except (ModelError, RunError):
            same = False
        low, high = _range(float(values[k]))
        found.append({
            "name": name, "unit": known[name].unit, "value": float(values[k]), "low": low, "high": high,
            "fixed": not same, "place": k,
        })  # fmt: skip
    return found


def inputs_of(simulation: Simulation, feed: Feed, touched: Touched) -> list[dict[str, Any]]:
    """Inputs, with their places among those of the program."""
    units = {simulation.translation.model.path(one): one.unit for one in simulation.translation.model.inputs}
    found, table = [], feed.table()
    for k, source in enumerate(feed.sources):
        if touched.is_hand(source.name):
            continue
        largest = float(np.abs(table[1][:, k]).max()) if table is not None else 0.0
        reach = 2 * largest or 1.0
        value = float(source.value) if source.table is None else float(table[1][0, k]) if table is not None else 0.0
        found.append({
            "name": source.name, "unit": units.get(source.name, ""), "value": value, "low": -reach, "high": reach,
            "place": k, "table": source.table is not None,
        })  # fmt: skip
    return found


def _range(value: float) -> tuple[float, float]:
    """What a slider goes over."""
    return (value / 10, value * 10) if value > 0 else (-1.0, 1.0) if value == 0 else (10 * value, value / 10)


def pulls_of(program: Program, touched: Touched) -> dict[str, int]:
    """The first of six inputs by which each body is pulled."""
    place = {name: k for k, name in enumerate(program.inputs)}
    return {path: place[f"{path}.{PULL}.{AXES[0]}"] for path in touched.pulled}
