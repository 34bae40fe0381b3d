"""Closed parts on MPI ranks: the same bits on one, two and three."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")]))
pytestmark = pytest.mark.skipif(
    MPIEXEC is None or importlib.util.find_spec("mpi4py") is None, reason="needs mpiexec and mpi4py: kompono[mpi]"
)
TESTS = Path(__file__).parents[1]
SCRIPT = """
import hashlib, sys, warnings
import numpy as np
from parts.machines import Walker
from kompono import Simulation
from kompono.elsewhere.ranks import on_ranks
from kompono.request import Request
from kompono.solve.settings import settings_of
from kompono.starting import closed_start
from kompono.translate import closed_parts

warnings.simplefilter("ignore")
PATHS, place = ("drive", "guide"), eval(sys.argv[1])


def lead(hosts):
    if len(sys.argv) > 2:
        raise ValueError("the first rank has failed")
    simulation = Simulation(Walker(), closed=PATHS, elsewhere=hosts, errors="parts")
    made = []
    for method in ("rk4", "adams", "dopri5"):
        result = simulation.run(settings_of(Request(until=0.05, step=1e-3, method=method)))
        assert result.status.ok, result.status
        made.append(np.concatenate([result[name] for name in result]))
    return hashlib.sha256(np.concatenate(made).tobytes()).hexdigest(), sorted(hosts)


print(*on_ranks(closed_parts(Walker(), Request(closed=PATHS), close=closed_start), place, lead))
"""

SHARING = """
import hashlib, sys
import numpy as np
from nonsmooth.held_from_both_sides import Bench, Hoist
from nonsmooth.known import names, times
from kompono import simulate

make, part = {"bench": (Bench, "part"), "hoist": (Hoist, "jaws")}[sys.argv[1]]
run = {"until": 0.05, "step": 1e-3, "method": sys.argv[2]}
found, whole = simulate(make(), closed=[part], ranks=True, **run).check(), simulate(make(), **run)
assert sorted(names(found)) == sorted(names(whole))
assert len(names(found)) >= 2
assert np.abs(np.sort(times(found)) - np.sort(times(whole))).max() < 1e-12
for name in set(found) & set(whole):
    if name.endswith(("normal", "friction")) or ".force." in name:
        assert np.abs((found[name] - whole[name])[[0, 1, -1]]).max() < 1e-9, name
print(hashlib.sha256(found.table.tobytes()).hexdigest())
"""


def mpi_environment() -> dict[str, str]:
    """In which mpiexec starts as many processes as asked for, and modules of tests are found; who waits lets others
    work.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])}
    environment["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"
    environment["OMPI_MCA_mpi_yield_when_idle"] = "1"
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"):
        environment |= {name: "1", f"{name}_CONFIRM": "1"}
    return environment


def run(tmp_path: Path, count: int, *arguments: str, text: str = SCRIPT) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "run.py"
    script.write_text(text)
    command = [str(MPIEXEC), "-n", str(count), sys.executable, "-m", "mpi4py", str(script), *arguments]
    return subprocess.run(command, env=mpi_environment(), capture_output=True, text=True, timeout=300, check=False)


def told(tmp_path: Path, count: int, place: str) -> tuple[str, set[str]]:
    """The bits of the result, the same on all ranks, and which parts were elsewhere."""
    done = run(tmp_path, count, place)
    assert done.returncode == 0, done.stderr
    lines = {line for line in done.stdout.splitlines() if line.strip()}
    assert len(done.stdout.strip().splitlines()) == count
    assert len(lines) == 1, done.stdout
    bits, _, parts = lines.pop().partition(" ")
    return bits, set(eval(parts))


def test_the_same_bits_on_one_two_and_three_ranks(tmp_path: Path) -> None:
    """Two under KOMPONO_LAWS: ranks that wait take as much time as those that work."""
    alone = told(tmp_path, 1, "{}")
    assert alone[1] == set()
    assert told(tmp_path, 3, "{'guide': 1, 'drive': 2}") == (alone[0], {"drive", "guide"})
    if os.environ.get("KOMPONO_LAWS"):
        assert told(tmp_path, 2, "{}") == (alone[0], {"drive", "guide"})
        assert told(tmp_path, 3, "{'guide': 0}") == (alone[0], {"drive"})


@pytest.mark.parametrize("machine", ["bench", "hoist"])
@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_what_a_rank_and_the_first_hold_together(machine: str, method: str, tmp_path: Path) -> None:
    """Shared as in the open model, with the same bits on one, two and three."""
    bits = set()
    for count in (1, 2, 3):
        done = run(tmp_path, count, machine, method, text=SHARING)
        assert done.returncode == 0, done.stderr
        bits |= set(done.stdout.split())
    assert len(bits) == 1


def test_an_error_of_the_first_rank_ends_all(tmp_path: Path) -> None:
    done = run(tmp_path, 2, "{}", "fail")
    assert done.returncode != 0
    assert "the first rank has failed" in done.stderr


def test_a_place_that_is_none(tmp_path: Path) -> None:
    done = run(tmp_path, 2, "{'drive': 5}")
    assert done.returncode != 0
    assert "there are ranks 0 to 1" in done.stderr
