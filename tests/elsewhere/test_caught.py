"""What an event catches stops at once where laws are kept elsewhere, too: whatever sticks there bears no blow."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elsewhere.caught import Caught
from elsewhere.suppliers import Supplier
from elsewhere.test_passes import elsewhere
from elsewhere.test_ranks import MPIEXEC, mpi_environment
from nonsmooth.same_events import same_events
from nonsmooth.test_captures import Standing, Train, Yard, Yards

from kompono import Body, Ground, Result, State, Subsystem, simulate
from kompono.library import DryFriction, Prismatic
from kompono.result import Status

RUN: dict[str, Any] = {"until": 0.9, "step": 1e-3}


class On(Subsystem):
    """A machine as a part."""

    def __init__(self, make: Callable[[], Subsystem]) -> None:
        self.part = make()


MACHINES: dict[str, tuple[Callable[[], Subsystem], dict[str, Any]]] = {
    "hook and friction there": (lambda: Train(5.0), {}),  # nothing here has a speed
    "they slip already": (lambda: Train(0.2), {"step": 1e-2}),
    "dopri5": (lambda: Train(5.0), {"method": "dopri5", "errors": "whole"}),
    "a stop moves with it": (lambda: Yard(5.0), {}),
    "strikes where it stands": (lambda: On(lambda: Standing(1)), {"until": 0.3}),
    "lifts off": (lambda: On(lambda: Standing(-1)), {"until": 0.3}),
    "the hook is here": (Caught, {}),
    "a sample shuts it": (Yards, {}),
}


HELD_TWICE = "hold the same thing, inside and outside of a part that is elsewhere"  # both wagons stick, hooked together


def same(one: Result, other: Result, exact: float = 1e-12) -> None:
    same_events(one, other, 2, named=False)
    for name in set(one) & set(other):
        places = slice(None) if len(one.time) == len(other.time) else -1
        assert np.abs(one[name][places] - other[name][places]).max() < exact * (1 + np.abs(one[name]).max()), name


def told(result: Result) -> Result:
    """A run of which it is said that forces may be rounding; here nothing pulls at what is held, and they are not."""
    assert result.status.kind == "open"
    assert HELD_TWICE in result.status.message
    result.status = Status(time=float(result.time[-1]))
    return result


@pytest.mark.parametrize("name", MACHINES)
def test_the_motion_of_the_open_machine(name: str) -> None:
    make, more = MACHINES[name]
    run = {**RUN, **more}
    whole = simulate(make(), **run)
    assert whole.status.ok
    apart = elsewhere(make(), ("part",), **{k: v for k, v in run.items() if k != "errors"})
    same(whole, told(apart) if make is Caught else apart)


def test_remote_is_sealed_to_the_last_bit(supplier: Callable[[str], Supplier]) -> None:
    made = supplier("siding")
    sealed, remote = simulate(Caught(made.sealed), **RUN), simulate(Caught(made.remote), **RUN)
    same(simulate(Caught(), **RUN), told(remote))
    assert all(np.array_equal(sealed[name], remote[name]) for name in sealed)
    assert sealed.statistics["events"] == remote.statistics["events"]
    assert abs(remote["slide.displacement"][-1] - 0.0530303030303) < 1e-12  # by momentum, and then it rubs to rest


SCRIPT = """
import hashlib, sys, warnings
import numpy as np
from elsewhere.caught import Caught
from kompono import simulate
from mpi4py import MPI
warnings.simplefilter("ignore")
result = simulate(Caught(), closed=["part"], ranks=True, until=0.9, step=1e-3)
assert result.status.ok or "hold the same thing" in result.status.message, result.status
bits = hashlib.sha256(np.concatenate([result[name] for name in result]).tobytes()).hexdigest()
if MPI.COMM_WORLD.Get_rank() == 0:
    print(bits, repr(float(result["slide.displacement"][-1])))
"""


@pytest.mark.skipif(MPIEXEC is None or importlib.util.find_spec("mpi4py") is None, reason="needs mpiexec and mpi4py")
def test_on_ranks(tmp_path: Path) -> None:
    script = tmp_path / "caught_ranks.py"
    script.write_text(SCRIPT)
    told = []
    for count in (1, 2):
        command = [str(MPIEXEC), "-n", str(count), sys.executable, "-m", "mpi4py", str(script)]
        done = subprocess.run(command, env=mpi_environment(), capture_output=True, text=True, cwd=tmp_path, timeout=300)
        assert done.returncode == 0, done.stderr
        told.append(done.stdout.split())
    assert told[0] == told[1]
    assert abs(float(told[0][1]) - 0.0530303030303) < 1e-12


class Rubbing(Subsystem):
    """Something rubs in a box."""

    def __init__(self) -> None:
        self.box, self.ball = (Body(mass=m, inertia=(1, 1, 1)) for m in (1.0, 0.5))
        self.slide = Prismatic(self.box, self.ball, axis="x", displacement_rate=1.0)
        self.rubs = DryFriction(self.slide, preload=0.3)
        self.expose(self.box)


class Timed(Subsystem):
    """A state of its own beside such a part."""

    def __init__(self) -> None:
        self.ground, self.part = Ground(), Rubbing()
        self.rail = Prismatic(self.ground, self.part.box, axis="x")
        self.clock = State(0.0)
        self.clock.rate = 1.0


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_states_beside_laws_that_are_elsewhere_move(method: str) -> None:
    """They were taken for modes of these laws, and stayed, with the status ok."""
    result = elsewhere(Timed(), ("part",), until=0.3, method=method).check()
    assert abs(result["clock"][-1] - 0.3) < 1e-12
