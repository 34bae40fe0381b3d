"""What closing and sealing parts costs: SX instructions and time of an rk4 step, open, closed and sealed in one run;
what it costs to have them in processes of their own, or as WebAssembly.

Run it with `python benchmarks/parts.py`. Keys of its own are made in a folder that is gone at the end. Processes that
wait for each other want a processor each: on a machine that is busy otherwise they show that, and nothing else.
"""

from __future__ import annotations

import os
import tempfile
import time as clock
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

import kompono.sealing
from kompono import Input, Sealed, Simulation, Subsystem, seal
from kompono.compile import lifted, targets
from kompono.compile.schedule import instructions, whole_length
from kompono.examples.car import Car, standing_damper
from kompono.examples.engine import Cylinder, Engine
from kompono.examples.kuka import DRIVES, Axis, Kuka
from kompono.examples.manipulator import Manipulator
from kompono.sealed import keys
from kompono.sealed.code import find

STEP = 1e-4  # [s]
STEPS = 1000
HERE = [str(targets.fitting(targets.TARGETS))]


class Files:
    """Sealed files of parts, each made once, and how many instructions each of their functions has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lengths: dict[str, list[int]] = {}  # by digest of the code
        self._lift = lifted.lift
        kompono.sealing.lifted.lift = self._counted  # the file itself does not tell

    def _counted(self, functions: Sequence[ca.Function]) -> Any:
        made = self._lift(functions)
        self.lengths[made.digest] = [whole_length(function) for function in functions]
        return made

    def made(self, name: str, part: Callable[[], Subsystem], *public: str) -> Path:
        """The file of a part."""
        file = self.folder / f"{name}.part"
        if not file.exists():
            seal(part(), file, public=public, targets=None if name == "damper" else HERE)
        return file

    def car(self) -> Car:
        """With sealed dampers."""
        return Car(damper=lambda: Sealed(self.made("damper", standing_damper)))

    def engine(self) -> Engine:
        """With sealed cylinders, which are told the angle of the crank."""

        def cylinder(*, angle: Any, **known: Any) -> Sealed:  # connected below
            def told() -> Cylinder:
                crank = Input(0.0, unit="rad")
                part = Cylinder(angle=crank, **known)
                part.crank = crank
                return part

            name = f"cylinder {known['ignition']:.3f} {known['y']:.3f}"
            return Sealed(self.made(name, told, "crank"))

        engine = Engine(cylinder=cylinder)
        cylinders: list[Any] = [getattr(engine, f"cylinder{k}") for k in range(1, 5)]
        engine.connect(engine.main.angle, *[part.crank for part in cylinders])
        return engine

    def kuka(self, *numbers: int) -> Kuka:
        """With some of its axes sealed."""

        def axis(drive: Any, driven: Any, **options: Any) -> Any:
            number = DRIVES.index(drive) + 1
            if number not in numbers:
                return Axis(drive, driven, **options)
            part = Sealed(self.made(f"axis{number}", lambda: Axis(drive, driven, **options)))
            places = ((part.driven, driven.centre), (part.motor.housing, drive.motor), (part.gear.housing, drive.gear))
            for port, place in places:  # a file does not tell; with them three mates are seen to be a weld
                port.start_position = np.array(place)
            return part

        return Kuka(axis=axis)

    def instructions(self, simulation: Simulation) -> int:
        """SX instructions of the derivative, with those inside sealed parts."""
        program = simulation.kernel.program
        routine = program.routines["derivative"]
        total = instructions(program, routine)
        for name, count in routine.counts().items():
            kernel = program.kernels[name]
            if kernel.find_functions(0):
                nodes = kernel.instructions_sx()
                made = [k for k in range(kernel.n_instructions()) if kernel.instruction_id(k) == ca.OP_CALL]
                total += count * sum(self._hidden(nodes[k].which_function()) for k in made)
        return total

    def _hidden(self, function: ca.Function) -> int:
        """Instructions of a function of a sealed part, beyond its columns that are counted anyway."""
        found = find(function.name())
        if found is None:
            return 0
        code, number = found
        return self.lengths[code.manifest.code][number] - function.nnz_in() - function.nnz_out()


# machine, what is closed, and the same machine with that sealed
Row = tuple[type[Subsystem], list[str], Callable[[], Subsystem] | None]


def rows(files: Files) -> list[Row]:
    """What is measured."""
    axes = [f"axis{k}" for k in range(1, 7)]
    return [
        (Car, ["left", "right", "left_wheel", "right_wheel"], None),
        (Car, ["left.damper", "right.damper"], files.car),
        (Engine, ["cylinder1", "cylinder2", "cylinder3", "cylinder4"], files.engine),
        (Manipulator, ["arm"], None),
        (Manipulator, ["arm.link2", "arm.link3"], None),
        (Kuka, axes, lambda: files.kuka(1, 2, 3, 4, 5, 6)),
        (Kuka, ["axis6"], lambda: files.kuka(6)),
    ]


def microseconds(simulations: Sequence[Simulation]) -> list[float]:
    """Per step, the best of several, taken in turns so that all see the same machine."""
    starts = [simulation.assemble().state for simulation in simulations]
    best = [float("inf")] * len(simulations)
    for _ in range(9):
        for k, (simulation, start) in enumerate(zip(simulations, starts, strict=True)):
            run = simulation.kernel.fixed("rk4", 0.0, start, step=STEP)
            begun = clock.perf_counter()
            run.advance(STEPS)
            best[k] = min(best[k], (clock.perf_counter() - begun) / STEPS)
    return [1e6 * value for value in best]


def closing(files: Files) -> None:
    """Print what closing and sealing cost."""
    print("| machine | closed | instructions: open, closed, sealed | us per rk4 step | ratios |\n|---|---|--:|--:|--:|")
    for make, closed, sealed in rows(files):
        simulations = [Simulation(make()), Simulation(make(), closed=closed)]
        simulations += [Simulation(sealed())] if sealed else []
        for simulation in simulations:
            simulation.kernel.prepare(method="rk4")
        times = microseconds(simulations)
        names = ", ".join(closed) if len(closed) < 4 else f"{closed[0]} ... {closed[-1]}"
        counts = " / ".join(f"{files.instructions(simulation):,}" for simulation in simulations)
        shown, ratios = " / ".join(f"{t:.2f}" for t in times), " / ".join(f"{t / times[0]:.1f}" for t in times[1:])
        print(f"| {make.__name__} | {names} | {counts} | {shown} | {ratios} |", flush=True)


def dampers(file: Path) -> Iterator[tuple[str, Simulation]]:
    """The car with its two dampers in every way a part can be."""
    closed = ["left.damper", "right.damper"]
    yield "open", Simulation(Car())
    yield "closed", Simulation(Car(), closed=closed)
    yield "closed, in two processes", Simulation(Car(), closed=closed, isolate=closed)
    for wall, name in ((None, "sealed"), ("process", "sealed, in a locked process"), ("wasm", "sealed, WebAssembly")):
        yield name, Simulation(Car(damper=lambda wall=wall: Sealed(file, wall=wall)))


def walls(files: Files) -> None:
    """Print what walls cost."""
    print("\n| both dampers of the car | us per rk4 step |\n|---|--:|")
    for name, simulation in dampers(files.made("damper", standing_damper)):
        simulation.kernel.prepare(method="rk4")
        print(f"| {name} | {microseconds([simulation])[0]:.1f} |", flush=True)


def main() -> None:
    """Print both tables."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KOMPONO_CONFIG"] = folder
        keys.make("Benchmark")
        files = Files(Path(folder))
        closing(files)
        walls(files)


if __name__ == "__main__":
    main()
