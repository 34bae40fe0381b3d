"""How much memory and disk is free, and refusing what cannot fit into it, with numbers and a way out."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from kompono.errors import RunError

UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")


def amount(count: float) -> str:
    """A number of bytes for people: 2.8 TB."""
    power = min(int(math.log10(max(count, 1.0)) // 3), len(UNITS) - 1)
    return f"{count / 1000**power:.3g} {UNITS[power]}"


def check_memory(needed: float, what: str, fix: str) -> None:
    """Raise RunError if so many bytes of memory are not free."""
    free = free_memory()
    if needed > free:
        raise RunError(f"{what} take {amount(needed)} of memory, and {amount(free)} are free.", fix=fix)


def check_disk(path: str | Path, needed: float, what: str, fix: str) -> None:
    """Raise RunError if a file of so many bytes has no room where it shall be."""
    free = free_disk(path)
    if needed > free:
        raise RunError(f"{what} take about {amount(needed)}, and {amount(free)} are free for {str(path)!r}.", fix=fix)


def free_disk(path: str | Path) -> float:
    """Bytes free where a file is to be (in the nearest folder that is there), infinite if nobody knows."""
    try:
        place = next(folder for folder in Path(path).absolute().parents if folder.is_dir())
        return shutil.disk_usage(place).free
    except (OSError, StopIteration, ValueError):
        return math.inf


def free_memory() -> float:
    """Bytes this process may still use: of the machine, its control group and its own limits; infinite if unknown."""
    return min(_limits(), default=math.inf)


def _limits() -> Iterator[float]:
    known = _lines("/proc/meminfo", ":")
    if "MemAvailable" in known:
        yield _kilobytes(known["MemAvailable"]) + _kilobytes(known.get("SwapFree", "0"))
    elif hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        yield float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    yield from _of_group()
    try:
        import resource
    except ImportError:  # not a Unix
        return
    own = _lines("/proc/self/status", ":")
    for limit, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            yield max(most - _kilobytes(own.get(used, "0")), 0.0)


def _of_group() -> Iterator[float]:
    """What the control group of a container or a service leaves (version 2, then 1)."""
    group = next((line.split(":", 2)[2].strip() for line in _text("/proc/self/cgroup").splitlines()[-1:]), "/")
    for base, most, used in (
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        for folder in {base, f"{base}{group.rstrip('/')}"}:
            limit, now = _text(f"{folder}/{most}").strip(), _text(f"{folder}/{used}").strip()
            if limit.isdecimal() and now.isdecimal():
                cached = _lines(f"{folder}/memory.stat", " ").get("inactive_file", "0").strip()
                yield max(float(limit) - float(now) + float(cached), 0.0)


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _lines(path: str, separator: str) -> dict[str, str]:
    """The lines `name: value` of a file of the system, none if it is not there."""
    parts = (line.partition(separator) for line in _text(path).splitlines())
    return {name.strip(): value for name, _, value in parts}


def _kilobytes(value: str) -> float:
    return 1024.0 * float(value.split()[0])
