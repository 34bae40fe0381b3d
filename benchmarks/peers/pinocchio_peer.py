"""Pinocchio: a compiled rk4 loop around its algorithms, built here from the headers the `pin` package brings.

Trees run through `aba`, the robot through `crba` and `nle` with the gears projected out, loops in three ways: the
proximal `constraintDynamics` with Baumgarte's feedback or with a projection after each step, and `lcaba`, which is
faster and less accurate. The library is kept in build/ by a hash of its source, its compiler flags and the version of
Pinocchio. Pinocchio has no step loop of its own and one in Python would cost it tens of microseconds a step, so without
a compiler this peer is not run.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.metadata
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from judge import Record, judged
from machines import ROOT, Case
from parts import Array, Machine

NAME = "Pinocchio"
SOURCE = Path(__file__).with_suffix(".cpp")
DEFINED = (
    "NDEBUG", "BOOST_MPL_LIMIT_LIST_SIZE=30", "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "BOOST_FUSION_INVOKE_MAX_ARITY=12",
)  # fmt: skip
FLAGS = ["-std=c++17", "-O3", "-march=native", "-shared", "-fPIC", "-w", *(f"-D{name}" for name in DEFINED)]
TREE, FEEDBACK, SWEEPS, GEARED, PROJECTED = range(5)  # as in the source
WAYS = {
    TREE: "aba",
    FEEDBACK: "constraintDynamics, Baumgarte",
    SWEEPS: "lcaba, Baumgarte",
    GEARED: "crba + nle, gears projected out",
    PROJECTED: "constraintDynamics, projected",
}
PROXIMAL = {SWEEPS: (1e-9, 1e-7, 6)}  # accuracy of the conditions' accelerations, mu, iterations
USUAL = (1e-9, 1e-8, 2)
CORRECTION = 50.0  # [1/s]; Baumgarte, critically damped


def version() -> str:
    """Of the package, and the compiler."""
    compiler = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    return f"{importlib.metadata.version('pin')}, g++ {compiler} {' '.join(FLAGS[1:3])}"


def library() -> Any:
    """The compiled loop; compiled now if it is not there (some minutes)."""
    compiler = shutil.which("g++")
    if compiler is None:
        raise RuntimeError("no g++ to compile its loop with")
    packages = Path(importlib.metadata.distribution("pin").locate_file(""))
    eigen = Path(importlib.metadata.distribution("casadi").locate_file("casadi/include/eigen3"))
    text = f"{SOURCE.read_text()}{FLAGS}{importlib.metadata.version('pin')}"
    made = ROOT / "build" / f"pinocchio-{hashlib.sha256(text.encode()).hexdigest()[:12]}.so"
    if not made.exists():
        print("  compiling the loop of Pinocchio, once (some minutes)", file=sys.stderr, flush=True)
        made.parent.mkdir(exist_ok=True)
        headers = ["-isystem", str(packages / "cmeel.prefix/include"), "-isystem", str(eigen)]
        draft = made.with_suffix(".new")
        subprocess.run([compiler, *FLAGS, *headers, str(SOURCE), "-o", str(draft)], check=True)
        draft.rename(made)
    loaded = ctypes.CDLL(str(made))
    loaded.machine_make.restype = ctypes.c_void_p
    return loaded


class Runner:
    """A machine in Pinocchio, solved in one of the ways."""

    def __init__(self, case: Case, machine: Machine, way: int, step: float) -> None:
        self.case, self.machine, self.way, self.step = case, machine, way, step
        self.library = library()
        self.begin = machine.start()
        self.handle = self._make()
        self.label = f"{NAME}, {WAYS[way].split(' ')[-1]}" if machine.loops and way != SWEEPS else NAME
        if way == SWEEPS:
            self.label = f"{NAME}, lcaba"
        mu = f", mu {PROXIMAL.get(way, USUAL)[1]:g}" if machine.loops else ""
        gain = f" {CORRECTION:g} 1/s" if way in (FEEDBACK, SWEEPS) else ""
        self.how = f"{WAYS[way]}{gain}{mu}, rk4 loop in C++"

    def _make(self) -> ctypes.c_void_p:
        tables = [_array(table) for table in _tables(self.machine)]
        links, gravity, loops, springs, laws, gears = tables
        counts = [len(self.machine.links), len(self.machine.loops), len(self.machine.springs), len(self.machine.laws)]
        free = gears.size // counts[0]
        proximal = _array(PROXIMAL.get(self.way, USUAL))
        return ctypes.c_void_p(
            self.library.machine_make(
                counts[0], _at(links), _at(gravity), counts[1], _at(loops), counts[2], _at(springs),
                counts[3], _at(laws), free, _at(gears), self.way, _at(proximal),
            )
        )  # fmt: skip

    def _run(self, count: int, begin: float = 0.0, state: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
        q, v = (x.copy() for x in (state or self.begin))
        self.library.machine_steps(
            self.handle, ctypes.c_double(begin), ctypes.c_double(self.step), ctypes.c_int(count), _at(q), _at(v)
        )
        return q, v

    def steps(self, count: int) -> None:
        """So many steps from the start."""
        self._run(count)

    def record(self, count: int, every: int) -> Record:
        """The same with the rows that are compared."""
        rows = [self.begin]
        for k in range(0, count, every):
            rows.append(self._run(every, k * self.step, rows[-1]))
        return judged(self.case, self.machine, *(np.array(x) for x in zip(*rows, strict=True)))


def runners(case: Case, machine: Machine, step: float) -> list[Runner]:
    """All ways that suit a machine."""
    if case.large:
        raise RuntimeError(f"its Data holds four tensors of {len(machine.links)}^3 numbers, more than this memory")
    if machine.loops:
        return [Runner(case, machine, way, step) for way in (FEEDBACK, PROJECTED, SWEEPS)]
    return [Runner(case, machine, GEARED if machine.gears else TREE, step)]


def _tables(machine: Machine) -> list[Any]:
    """The machine as the loop reads it."""
    links = [
        [link.parent, link.slides, *link.axis, *link.place.rotation.ravel(), *link.place.position, link.mass,
         *link.centre, *link.inertia.ravel()]
        for link in machine.links
    ]  # fmt: skip
    corrected = CORRECTION**2, 2 * CORRECTION
    loops = [[loop.first, loop.second, *loop.at_first, *loop.at_second, *corrected] for loop in machine.loops]
    springs = [[s.first, s.second, *s.at_first, *s.at_second, s.k, s.c, s.rest] for s in machine.springs]
    gears = machine.gear_matrix() if machine.gears else []
    return [links, machine.gravity, loops, springs, machine.laws, gears]


def _array(values: Any) -> Array:
    return np.ascontiguousarray(values, dtype=float)


def _at(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
