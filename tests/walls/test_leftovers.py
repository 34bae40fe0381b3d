"""Nothing is left of worker processes and their memory, however their owner ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time as clock
from pathlib import Path

import pytest

from kompono.compile.walls import station

pytestmark = pytest.mark.skipif(not station.available(), reason="no worker processes on this system")
PROGRAM = """
import os, sys, warnings
warnings.simplefilter("ignore")
from kompono import Simulation
from kompono.examples.car import Car
from kompono.solve.integrate import Settings
simulation = Simulation(Car(), closed=["left.damper"], isolate=["left.damper"])
simulation.kernel.prepare(method="rk4")
print(simulation.kernel.places.processes()["left.damper"], flush=True)
sys.stdin.readline()
print("begins", flush=True)
settings = Settings("rk4", until=float(sys.argv[1]), step=1e-4)
result = simulation.run(settings, channels="body.position.z", progress=False)
print(result.status.message or "ended", len(result.time) > 1, flush=True)
"""


def check_memory(worker: int) -> None:
    """What a worker shares with its owner has no name, so nothing can be left of it."""
    maps = Path(f"/proc/{worker}/maps")
    if maps.exists():
        shared = [line for line in maps.read_text().splitlines() if line.split()[1] == "rw-s"]
        assert shared
        assert all(line.endswith("(deleted)") for line in shared)


def gone(number: int) -> bool:
    """Whether a process ends within some seconds."""
    for _ in range(1200):
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return True
        clock.sleep(0.05)
    return False


@pytest.mark.parametrize("ending", ["normal", "SIGINT", "SIGTERM", "SIGKILL"])
def test_nothing_is_left(ending: str) -> None:
    until = "0.02" if ending == "normal" else "1000"
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, until], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        check_memory(worker)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "begins\n"
        if ending != "normal":
            clock.sleep(0.5)
            process.send_signal(getattr(signal, ending))
        said = process.stdout.read()
        process.wait()
    if ending in ("normal", "SIGINT"):
        assert said == {"normal": "ended True\n"}.get(ending, said)
        assert "True" in said
        assert process.returncode == 0
    assert gone(worker)
