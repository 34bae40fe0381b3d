"""From the shell to the result: `kompono run examples/car.py`, with an empty cache and with a filled one.

Each run is a new process, so this is what a user waits for: Python, imports, translation, compilation or cache,
1500 steps of rk4, and the summary.
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


def seconds(arguments: list[str], cache: str) -> float:
    """Wall time of one command."""
    begun = time.perf_counter()
    code = "import sys; from kompono.edges.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *arguments]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "KOMPONO_CACHE": cache}, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def main() -> None:
    """One line per example."""
    rows = []
    for file in ("car.py", "manipulator.py"):
        arguments = ["run", f"examples/{file}"]
        first, second = [], []
        for _ in range(3):
            with tempfile.TemporaryDirectory() as cache:
                first.append(seconds(arguments, cache))
                second += [seconds(arguments, cache) for _ in range(3)]
        rows.append((f"kompono run examples/{file}", f"{min(first):.2f}", f"{min(second):.2f}"))
    bare = min(seconds(["--version"], "") for _ in range(3))
    rows.append(("kompono --version", "", f"{bare:.2f}"))
    show("From the shell to the result", ("command", "first run s", "second run s"), rows)


if __name__ == "__main__":
    main()
