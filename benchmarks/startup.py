"""From the shell to the result: `kompono run examples/car.py`, with an empty cache and with a filled one.

Each run is a new process, so this is what a user waits for: Python, imports, translation, compilation or cache,
1500 steps of rk4, and the summary. Modules are compiled to bytecode before, as in an installed package.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tables import show

ROOT = Path(__file__).parents[1]


def seconds(arguments: list[str], cache: str, bytecode: str) -> tuple[float, float]:
    """Wall and processor time of one command."""
    code = "import sys; from kompono.edges.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *arguments]
    environment = {**os.environ, "KOMPONO_CACHE": cache, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    begun, before = time.perf_counter(), os.times()
    subprocess.run(command, check=True, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - begun, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, used


def least(runs: list[tuple[float, float]]) -> tuple[str, str]:
    """The smallest wall and processor time."""
    return f"{min(wall for wall, _ in runs):.2f}", f"{min(used for _, used in runs):.2f}"


def main() -> None:
    """One line per example."""
    with tempfile.TemporaryDirectory() as bytecode:
        measure(bytecode)


def measure(bytecode: str) -> None:
    """With a folder for bytecode, which fills first."""
    rows = []
    for file in ("car.py", "manipulator.py"):
        arguments = ["run", f"examples/{file}"]
        first, second = [], []
        with tempfile.TemporaryDirectory() as cache:
            seconds(arguments, cache, bytecode)
        for _ in range(3):
            with tempfile.TemporaryDirectory() as cache:
                first.append(seconds(arguments, cache, bytecode))
                second += [seconds(arguments, cache, bytecode) for _ in range(3)]
        rows.append((f"kompono run examples/{file}", *least(first), *least(second)))
    rows.append(("kompono --version", "", "", *least([seconds(["--version"], "", bytecode) for _ in range(3)])))
    show(
        f"From the shell to the result (load average {os.getloadavg()[0]:.1f})",
        ("command", "first run s", "processor s", "second run s", "processor s"),
        rows,
    )


if __name__ == "__main__":
    main()
