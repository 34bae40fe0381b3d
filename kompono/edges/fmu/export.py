"""export_fmu(model, "car.fmu"): a model as a file that other tools simulate."""

from __future__ import annotations

import hashlib
import io
import re
import uuid
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from kompono.compile.fmi import PLATFORMS, FmuCode, FmuModel, Platform, chosen, sensitive
from kompono.edges.fmu.description import Facts, description
from kompono.edges.fmu.refused import KINDS, check_inputs, check_model, check_names, check_options
from kompono.edges.fmu.terminals import FILE, terminals
from kompono.edges.fmu.variables import Variables, variables_of
from kompono.errors import ModelWarning, RunError, warn
from kompono.given import number, shown, texts
from kompono.interruption import heeded
from kompono.model.subsystem import Subsystem
from kompono.notice import Notice
from kompono.options import check_known
from kompono.request import OF_CONCERN, Concern, Request
from kompono.result import matching
from kompono.result.beside import write_bytes
from kompono.result.target import check_target
from kompono.simulation import Simulation
from kompono.solve.assemble import remarks
from kompono.translate.program import Program, Routine

STEP, UNTIL, TOLERANCE = 1e-3, 10.0, 1e-6


@dataclass(frozen=True)
class ExportedFmu:
    """An FMU that was written: where, of which version and kinds, its variables, platforms and size in bytes."""

    path: Path
    fmi: int
    kinds: tuple[str, ...]
    variables: Variables
    platforms: tuple[str, ...]
    size: int
    differentiable: bool

    def __str__(self) -> str:
        kinds = " and ".join({"me": "model exchange", "cs": "co-simulation"}[kind] for kind in self.kinds)
        v = self.variables
        counts = {"states": v.states, "inputs": v.inputs, "parameters": v.parameters, "outputs": v.results}
        counts |= {"events": v.indicators, "modes": v.modes}
        listed = ", ".join(f"{len(some)} {name}" for name, some in counts.items() if some)
        exact = "exact directional derivatives" if self.differentiable else "too large for directional derivatives"
        return (
            f"{self.path}: FMI {self.fmi}.0, {kinds}\n"
            f"  {listed or 'no variables'}; {exact}\n"
            f"  code for {', '.join(self.platforms)} (none for macOS)\n"
            f"  {self.size / 1000:.0f} kB"
        )


@heeded
def export_fmu(
    model: Subsystem,
    path: str | Path,
    *,
    fmi: int = 3,
    kind: str = "both",
    channels: str | Iterable[str] = (),
    step: float = STEP,
    until: float = UNTIL,
    tolerance: float = TOLERANCE,
    inputs: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    initial: Mapping[str, float] | None = None,
    platforms: str | Iterable[str] | None = None,
    **options: Any,
) -> ExportedFmu:
    """Write a model as an FMU of FMI 2 or 3, for model exchange (`kind="me"`), co-simulation (`"cs"`) or both.

    Its inputs are the model's, its tunable parameters the model's parameters, its outputs all coordinates and speeds,
    declared outputs and `channels` (names or globs). `inputs`, `parameters` and `initial` replace what they start with.
    Co-simulation makes rk4 steps of at most `step` [s], located events and projections included; `until` [s] and
    `tolerance` are what an importer uses if it is not told otherwise. `platforms` are names of
    `kompono.compile.fmi.PLATFORMS`; usually Linux (x86-64, AArch64) and Windows (x86-64). Further options are those of
    `Simulation` (engine, contact, cut, ...). What cannot be exported raises.
    """
    fix = f"Known: {', '.join(PLATFORMS)}."
    wanted = None if platforms is None else texts(platforms, "platforms =", "export_fmu", error=RunError, fix=fix)
    machines = chosen(wanted)
    channels = texts(channels, "channels =", "export_fmu", error=RunError, fix='Give names or globs: ["pin.*"].')
    if not isinstance(path, str | Path) or "\0" in str(path):
        raise RunError(f"{shown(path)} is no name of a file.", path="export_fmu", fix='Use e.g. "machine.fmu".')
    target = Path(path)
    if target.suffix != ".fmu":
        raise RunError(f"{target}: FMUs end in .fmu.", fix=f'Try: "{target}.fmu"')
    check_target(target)
    steps = {"step": step, "until": until, "tolerance": tolerance}
    checked = {name: number(v, name, error=RunError, positive=True, fix="Give a number.") for name, v in steps.items()}
    check_known(options, OF_CONCERN[Concern.SOLUTION], "argument")
    request = Request.of(
        {**options, "inputs": inputs, "parameters": parameters, "initial": initial}, Request(nested_from=10**9)
    )
    fmi = check_options(fmi, kind, request.engine)
    made, columns, depends = _made(Simulation.of(model, request), request, checked, KINDS[kind], channels)
    simulation = made.simulation
    outputs = [simulation.program.channels[i] for i in columns]
    variables = variables_of(made.model, outputs, _units(simulation), depends)
    check_names((v.name for v in variables.all if v not in variables.outputs), [v.name for v in variables.outputs])
    facts = _facts(simulation, made.model, checked)
    with Notice("exporting") as notice:
        data = _archive(fmi, facts, variables, made.model, machines, notice)
    write_bytes(target, data)
    names = tuple(machine.name for machine in machines)
    return ExportedFmu(target, fmi, made.model.kinds, variables, names, len(data), made.model.tangent is not None)


@dataclass(frozen=True)
class _Made:
    simulation: Simulation
    model: FmuModel


def _made(
    simulation: Simulation, request: Request, steps: Mapping[str, float], kinds: tuple[str, ...],
    channels: str | Iterable[str],
) -> tuple[_Made, list[int], list[list[int]] | None]:  # fmt: skip
    """The model of an FMU, which channels are its outputs, and what depends on what."""
    check_model(simulation)
    values, feed = simulation.parameters(request.parameters), simulation.feed(request.inputs)
    check_inputs(feed)
    assembly = simulation.assemble(request.initial, parameters=values, feed=feed)
    for remark in remarks(assembly):
        warn(remark, ModelWarning)
    values = simulation.completed(values, assembly.state, feed, steps["step"])
    state = simulation.started(assembly.state, values, feed)
    program = simulation.program
    columns = _columns(simulation, channels)
    outputs = _outputs(simulation, columns)
    found = sensitive(program, outputs)
    tangent = found.tangent(simulation.translation.engine.kernels) if found else None
    token = _token(program, outputs, (state, feed.at(0.0), values), (*kinds, *steps.values()))
    model = FmuModel(
        program, outputs, tangent, state, feed.at(0.0), values, token, steps["step"], steps["tolerance"], kinds
    )
    return _Made(simulation, model), columns, found.dependencies() if found else None


def _columns(simulation: Simulation, patterns: str | Iterable[str]) -> list[int]:
    """Channels that are outputs: declared ones and those asked for, without what is a variable already."""
    program, model = simulation.program, simulation.translation.model
    known = {
        *program.coordinates,
        *program.speeds,
        *program.states,
        *program.inputs,
        *program.parameters,
        *program.modes,
    }
    declared = [model.path(output) for output in model.outputs]
    asked = [patterns] if isinstance(patterns, str) else list(patterns)
    found = matching([*declared, *asked], program.channels) if declared or asked else []
    return [i for i in found if program.channels[i].name not in known]


def _outputs(simulation: Simulation, columns: list[int]) -> Routine:
    if columns:
        return simulation.program.routines[simulation.translation.select(columns)]
    inputs = simulation.program.routines["derivative"].inputs
    return Routine("outputs_none", inputs, (("outputs", 0),), (), ((),), sum(size for _, size in inputs))


def _units(simulation: Simulation) -> dict[str, str]:
    model = simulation.translation.model
    units = {channel.name: channel.unit for channel in simulation.program.channels}
    return units | {model.path(signal): signal.unit for signal in (*model.inputs, *model.parameters)}


def _token(program: Program, outputs: Routine, values: Iterable[np.ndarray], others: Iterable[Any]) -> str:
    """The same for the same model and the same start, whenever and wherever it is exported."""
    digest = hashlib.sha256()
    for routine in (*(program.routines[n] for n in sorted(program.routines) if not n.startswith("outputs")), outputs):
        digest.update(repr((routine.name, routine.calls, routine.result)).encode())
    for array in values:
        digest.update(array.astype("<f8").tobytes())
    digest.update(repr((program.coordinates, program.inputs, program.parameters, tuple(others))).encode())
    return "{" + str(uuid.UUID(bytes=digest.digest()[:16])) + "}"


def _facts(simulation: Simulation, model: FmuModel, steps: Mapping[str, float]) -> Facts:
    version = import_module("kompono").__version__
    words = (type(simulation.translation.model.model).__doc__ or "").strip().split("\n\n")[0]
    identifier = re.sub(r"\W", "_", simulation.name)
    return Facts(
        simulation.name, identifier if identifier[:1].isalpha() else f"m_{identifier}", model.token,
        f"Kompono {version}", model.kinds, model.tangent is not None, steps["until"], steps["step"], steps["tolerance"],
        " ".join(words.split()),
    )  # fmt: skip


def _archive(
    fmi: int, facts: Facts, variables: Variables, model: FmuModel, machines: Iterable[Platform], notice: Notice
) -> bytes:
    """The file, the same bytes for the same model."""
    target, code = io.BytesIO(), FmuCode(model, fmi)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(name: str, data: bytes) -> None:
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr, entry.compress_type, entry.create_system = 0o100644 << 16, zipfile.ZIP_DEFLATED, 3
            archive.writestr(entry, data)

        add("modelDescription.xml", description(fmi, facts, variables))
        together = terminals(facts.name, variables) if fmi == 3 else b""
        if together:
            add(FILE, together)
        for machine in machines:
            notice.text = f"exporting, code for {machine.name}"
            file = f"{facts.identifier}{machine.suffix}"
            add(f"binaries/{machine.folders[fmi - 2]}/{file}", code.library(machine, file))
    return target.getvalue()
