"""The results of compare.py as text."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tables import table

from kompono import __version__

OURS = "Kompono"
AS_GOOD, GOOD = 2.0, 1e-10  # as in compare.py

EXPLAINED = """\
Written by `make bench` (`python benchmarks/compare.py`); the same numbers are in [results.json](results.json). All
engines run the same machine, read from Kompono's model, in one process on one core, in turn; times are the least
processor time of many runs. Compare ratios: other programs use this computer too.

- *us*: microseconds for 1 ms of motion. Steps are of 1 ms unless the engine says 1/2, 1/4, ... ms.
- *error*: largest error of the positions of some bodies at 20 times [m], against dopri5 with rtol 1e-12 (four-bars:
  against rk4 with 1/8 ms, because they pass singular positions).
- *energy*: largest change of energy relative to the largest kinetic energy, where nothing drives or brakes.
- *gap*: largest violation of a loop [m].
- *equally accurate*: an error of at most twice Kompono's, or below 1e-10 m.
- *ratio*: the peer's time over Kompono's.

Peers are given what a user of theirs would model: welded bodies are one, freedoms that loops lock are left out, and the
gears of the robot are ratios between 18 joints. Kompono gets the robot as it is drawn, 43 bodies with 351 conditions
(KUKA), or with welds and those same ratios (KUKA, geared)."""


def text(entries: list[Any], missing: list[str], many: list[dict[str, Any]], versions: dict[str, str]) -> str:
    """The whole of results.md."""
    parts = [
        "# Kompono and its peers",
        EXPLAINED,
        _computer(versions),
        "## Summary",
        table(
            (
                "machine",
                "Kompono us",
                "error",
                "equally accurate peer",
                "us",
                "ratio",
                "fastest peer",
                "us",
                "error",
                "ratio",
            ),
            [_summary(name, entries) for name in dict.fromkeys(entry.machine for entry in entries)],
        ),
        "## All engines",
        table(("machine", "engine", "us", "error", "energy", "gap", "how"), [_row(entry) for entry in entries]),
    ]
    if many:
        speeds = ("steps a second", "a processor second")
        rows = [(r["machine"], r["engine"], r["threads"], *(f"{r[speed]:,.0f}" for speed in speeds)) for r in many]
        head = ("machine", "engine", "threads", "rk4 steps a second", "rk4 steps a processor second")
        parts += ["## 256 runs at once", table(head, rows)]
    if missing:
        parts += ["## Not run", "\n".join(f"- {line}" for line in missing)]
    return "\n\n".join(parts)


def _computer(versions: dict[str, str]) -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    used = ", ".join(f"{name} {version}" for name, version in {OURS: __version__, **versions}.items())
    load = os.getloadavg()[0]
    return (
        f"{models[0] if models else platform.processor()}, {os.cpu_count()} cores, load {load:.1f}, "
        f"Python {platform.python_version()}. {used}."
    )


def _row(entry: Any) -> tuple[str, ...]:
    def small(value: float | None) -> str:
        return "" if value is None else f"{value:.0e}"

    return (
        entry.machine, _name(entry), _time(entry.seconds), f"{entry.error:.1e}", small(entry.energy), small(entry.gap),
        entry.how,
    )  # fmt: skip


def _name(entry: Any) -> str:
    return entry.engine if entry.finer == 1 else f"{entry.engine}, 1/{entry.finer} ms"


def _time(seconds: float) -> str:
    micro = 1e6 * seconds
    return f"{micro:.2f}" if micro < 100 else f"{micro:.0f}"


def _ratio(peer: Any, ours: Any) -> str:
    return f"{peer.seconds / ours.seconds:.2g}" if peer.seconds < ours.seconds else f"{peer.seconds / ours.seconds:.1f}"


def _summary(name: str, entries: list[Any]) -> tuple[str, ...]:
    lines = [entry for entry in entries if entry.machine == name]
    (ours,) = [entry for entry in lines if entry.engine == OURS]
    bound = max(AS_GOOD * ours.error, GOOD)

    def best(suits: Callable[[Any], bool]) -> Any:
        return min((e for e in lines if e is not ours and suits(e)), key=lambda e: e.seconds, default=None)

    equal, fastest = best(lambda e: e.error <= bound), best(lambda e: e.finer == 1)
    cells = [name, _time(ours.seconds), f"{ours.error:.1e}"]
    cells += [_name(equal), _time(equal.seconds), _ratio(equal, ours)] if equal else ["none", "", ""]
    if fastest:
        cells += [
            _name(fastest),
            _time(fastest.seconds),
            f"{fastest.error:.1e}",
            _ratio(fastest, ours),
        ]
    return tuple(cells if fastest else [*cells, "none", "", "", ""])
