"""One random machine in all places its part can be: the same bits as closed, and the motion of the open machine.

The part has loops inside, or not, and hangs between a joint on the ground, a load and a rod back to the ground: a loop
through its ports. Long sweeps: KOMPONO_LAWS=1, or KOMPONO_LAWS=200 for so many machines.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elsewhere.test_ranks import MPIEXEC, mpi_environment
from sealed.test_random import CHANNELS, Owner, Random, lengths

from kompono import Remote, Sealed, Simulation, seal, simulate
from kompono.compile import targets
from kompono.compile.walls import station
from kompono.elsewhere.direct import direct
from kompono.elsewhere.hosts import InProcess
from kompono.elsewhere.serve import opener
from kompono.request import Request
from kompono.sealed import load_sealed
from kompono.solve.settings import settings_of

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
LONG = int(os.environ.get("KOMPONO_LAWS") or 0)
SEEDS = range(100, 100 + max(LONG, 12)) if LONG else (112,)
METHODS = ("rk2", "dopri5", "adams", "rk4")
TARGETS = [str(targets.fitting(targets.TARGETS)), "wasm32"]
STEP, STEPS = 1e-3, 40


class Machine:
    """The machine of a seed with its part in different places."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.seed, self.inner, self.rod = seed, *lengths(seed)
        self.method = METHODS[seed % len(METHODS)]
        self.run: dict[str, Any] = {"until": STEPS * STEP, "step": STEP, "method": self.method, "channels": CHANNELS}
        if self.method == "dopri5":
            self.run["errors"] = "parts"  # as they are measured where some part is elsewhere
        self.file = folder / f"{seed}.part"

    def model(self, part: Any = None) -> Owner:
        return Owner(part or Random(self.seed, self.inner), self.seed, self.rod)

    def seal(self) -> None:
        seal(Random(self.seed, self.inner), self.file, targets=TARGETS)

    def kept(self) -> Any:
        """By a keeper, as a rank keeps it."""
        simulation = Simulation(self.model(), elsewhere={"part": InProcess()})
        return simulation.run(settings_of(Request(**self.run)), channels=CHANNELS)

    def remote(self) -> Any:
        line = direct(opener(load_sealed(self.file)))
        return simulate(self.model(Remote("supplier.example:7443/part", connect=line)), **self.run)


def same(one: Any, other: Any) -> None:
    assert other.status.ok, other.status
    assert np.array_equal(one.time, other.time)
    for name in CHANNELS:
        assert np.array_equal(one[name], other[name]), (name, np.abs(one[name] - other[name]).max())


def near(one: Any, other: Any, exact: float) -> None:
    assert other.status.ok, other.status
    for name in CHANNELS:
        assert np.abs(one[name] - other[name]).max() <= exact * (1 + np.abs(one[name]).max()), name


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_part_is_the_same_in_all_places(seed: int, tmp_path: Path) -> None:
    machine = Machine(seed, tmp_path)
    closed = simulate(machine.model(), closed=["part"], **machine.run)
    assert closed.status.ok, closed.status
    same(closed, machine.kept())
    machine.seal()
    sealed = simulate(machine.model(Sealed(machine.file)), **machine.run)
    near(closed, sealed, 1e-11)  # an author assembles the part by itself: its start has other last digits
    near(sealed, machine.remote(), 1e-11)  # a customer moves it by offsets
    if station.available():
        same(closed, simulate(machine.model(), closed=["part"], isolate=["part"], **machine.run))
        if LONG:
            same(sealed, simulate(machine.model(Sealed(machine.file, isolate=True)), **machine.run))
    near(sealed, simulate(machine.model(Sealed(machine.file, wall="wasm")), **machine.run), 1e-11)
    if machine.method != "dopri5":  # whose steps differ by how errors are measured
        near(simulate(machine.model(), **machine.run), closed, 1e-11)


SCRIPT = """
import hashlib, sys, warnings
from pathlib import Path
import numpy as np
from elsewhere.test_everywhere import CHANNELS, Machine
from kompono import simulate
from mpi4py import MPI
warnings.simplefilter("ignore")
for seed in map(int, sys.argv[1:]):
    machine = Machine(seed, Path("."))
    result = simulate(machine.model(), closed=["part"], ranks=True, **machine.run)
    bits = hashlib.sha256(np.concatenate([result[name] for name in CHANNELS]).tobytes()).hexdigest()
    if MPI.COMM_WORLD.Get_rank() == 0:
        print(seed, result.status.ok, bits, flush=True)
"""


@pytest.mark.skipif(not LONG or MPIEXEC is None, reason="KOMPONO_LAWS=1, and mpiexec")
def test_on_ranks(tmp_path: Path) -> None:
    script = tmp_path / "random_ranks.py"
    script.write_text(SCRIPT)
    told = []
    for count in (1, 2):
        command = [str(MPIEXEC), "-n", str(count), sys.executable, "-m", "mpi4py", str(script), *map(str, SEEDS)]
        done = subprocess.run(
            command, env=mpi_environment(), capture_output=True, text=True, cwd=tmp_path, timeout=3600
        )
        assert done.returncode == 0, done.stderr
        told.append(done.stdout)
    assert told[0].count(" True ") == len(SEEDS)
    assert told[0] == told[1]
