"""Pinocchio: a compiled rk4 loop around its algorithms, built here from the headers the `pin` package brings.

Trees run through `aba`, the robot through `crba` and `nle` with the gears projected out, loops through the proximal
`constraintDynamics` or `lcaba`, whichever is faster on that machine. The library is kept in build/ by a hash of its
source, its compiler flags and the version of Pinocchio. There is no loop in Pinocchio itself and one entered from
Python would cost it tens of microseconds a step, so without a compiler this peer is not run.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.metadata
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from judge import Record, judged
from machines import ROOT, Case
from walk import Array, Machine

NAME = "Pinocchio"
STEP = 1e-3
SOURCE = Path(__file__).with_suffix(".cpp")
DEFINED = (
    "NDEBUG", "BOOST_MPL_LIMIT_LIST_SIZE=30", "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "BOOST_FUSION_INVOKE_MAX_ARITY=12",
)  # fmt: skip
FLAGS = ["-std=c++17", "-O2", "-march=native", "-shared", "-fPIC", "-w", *(f"-D{name}" for name in DEFINED)]
WAYS = ("aba", "constraintDynamics", "lcaba", "crba + nle, gears projected out")
PROXIMAL = {1: (1e-9, 1e-9, 4), 2: (1e-9, 1e-7, 6)}  # accuracy of the conditions' accelerations, mu, iterations
CORRECTION = 100.0  # [1/s]; Baumgarte, critically damped


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
    """A machine in Pinocchio."""

    def __init__(self, case: Case, machine: Machine) -> None:
        self.case, self.machine = case, machine
        self.library = library()
        self.begin = machine.start()
        if machine.loops:
            trials = [(self._trial(way), way) for way in (1, 2)]
            self.way = min(trials)[1]
        else:
            self.way = 3 if machine.gears else 0
        self.handle = self._make(self.way)
        loops = f", mu {PROXIMAL[self.way][1]:g}, Baumgarte {CORRECTION:g} 1/s" if machine.loops else ""
        self.how = f"{WAYS[self.way]}{loops}, rk4 loop in C++"

    def _trial(self, way: int) -> float:
        """Least time of a few short runs; infinite if they end in nothing."""
        self.handle, spent = self._make(way), []
        for _ in range(3):
            begun = time.process_time()
            q, _ = self._run(20)
            spent.append(time.process_time() - begun)
        return min(spent) if np.isfinite(q).all() else np.inf

    def _make(self, way: int) -> ctypes.c_void_p:
        tables = [_array(table) for table in _tables(self.machine)]
        links, gravity, loops, springs, laws, gears = tables
        counts = [len(self.machine.links), len(self.machine.loops), len(self.machine.springs), len(self.machine.laws)]
        free = gears.size // counts[0] if way == 3 else 0
        proximal = _array(PROXIMAL.get(way, PROXIMAL[1]))
        return ctypes.c_void_p(
            self.library.machine_make(
                counts[0], _at(links), _at(gravity), counts[1], _at(loops), counts[2], _at(springs),
                counts[3], _at(laws), free, _at(gears), way, _at(proximal),
            )
        )  # fmt: skip

    def _run(self, count: int, begin: float = 0.0, state: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
        q, v = (x.copy() for x in (state or self.begin))
        self.library.machine_steps(
            self.handle, ctypes.c_double(begin), ctypes.c_double(STEP), ctypes.c_int(count), _at(q), _at(v)
        )
        return q, v

    def steps(self, count: int) -> None:
        """So many steps from the start."""
        self._run(count)

    def record(self, count: int, every: int) -> Record:
        """The same with the rows that are compared."""
        rows = [self.begin]
        for k in range(0, count, every):
            rows.append(self._run(every, k * STEP, rows[-1]))
        return judged(self.case, self.machine, *(np.array(x) for x in zip(*rows, strict=True)))


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
