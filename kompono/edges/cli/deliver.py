"""The files a run was asked for: tested before it, written after it, one by one, so that none takes others with it.

What cannot be written where it was wanted, for want of room or permission, is written to another place, and said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kompono.edges.cli.complain import brief
from kompono.errors import RunError
from kompono.result import Result, extra
from kompono.result.target import check_target
from kompono.room import amount, check_disk, free_disk
from kompono.solve.estimate import Estimate

SUFFIXES = {"csv": (".csv",), "parquet": (".parquet",), "hdf5": (".h5", ".hdf5")}
BYTES = {"csv": 4, "parquet": 1, "hdf5": 8}  # that a number takes at least; what does not change is stored as nothing
LIBRARIES = (("parquet", "pyarrow.parquet"), ("hdf5", "h5py"), ("plot", "matplotlib"))


def check_files(files: Mapping[str, Path]) -> None:
    """Raise for the first file, by kind, that could not be written; before the run, not after."""
    for kind, module in LIBRARIES:
        if kind in files:
            extra(module, kind)
    for kind, path in files.items():
        if kind == "plot":
            from kompono.edges import plot  # a run without a picture starts without it

            plot.check_path(path)
        else:
            check_target(path, SUFFIXES[kind], f"write {kind.upper()}", stream=kind == "csv")


def check_sizes(files: Mapping[str, Path]) -> Callable[[Estimate], None]:
    """A function that refuses a run whose files have no room on their disks."""

    def check(size: Estimate) -> None:
        for kind, path in files.items():
            if kind in BYTES:
                what = f"{size.rows:,} rows of {size.channels} channels as {kind.upper()}"
                fix = "Record less (--every N, --channels GLOB), or choose another place."
                check_disk(path, BYTES[kind] * size.rows * (size.channels + 1), what, fix)

    return check


@dataclass
class Delivery:
    """What was written, by kind, and what went wrong, in words."""

    written: dict[str, Path] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def deliver(result: Result, files: Mapping[str, Path]) -> Delivery:
    """Write all files; what fails is told, and kept elsewhere unless it is in another file already."""
    delivery, failed = Delivery(), {}
    for kind, path in files.items():
        try:
            if kind != "hdf5" or result.file != path:  # else the run has written it as it went
                path.parent.mkdir(parents=True, exist_ok=True)
                _write(result, kind, path)
            delivery.written[kind] = path
        except Exception as error:
            failed[kind] = path
            delivery.problems.append(brief(error))
    if not any(kind in delivery.written for kind in SUFFIXES):
        delivery.problems += [_kept(result, kind, path) for kind, path in failed.items() if kind in SUFFIXES][:1]
        if failed and not any(kind in SUFFIXES for kind in failed):
            delivery.problems.append("the run was not asked for any data: repeat it with --hdf5 FILE to keep them.")
    return delivery


def _write(result: Result, kind: str, path: Path) -> None:
    if kind == "plot":
        from kompono.edges import plot

        plot.plot(result).save(path)
    else:
        {"csv": result.to_csv, "parquet": result.to_parquet, "hdf5": result.to_hdf5}[kind](path)


def _kept(result: Result, kind: str, path: Path) -> str:
    """Write a file where there is room for it; says where, or what is lost."""
    suffix = path.suffix if path.suffix.lower() in SUFFIXES[kind] else SUFFIXES[kind][0]
    import tempfile

    for folder in (Path.cwd(), Path.home(), Path(tempfile.gettempdir())):
        place = folder / f"{path.stem or 'result'}-kept{suffix}"
        number = 1
        while place.exists():
            number += 1
            place = folder / f"{path.stem or 'result'}-kept-{number}{suffix}"
        if folder.resolve() == path.absolute().parent.resolve() or free_disk(place) < result.table.nbytes:
            continue
        try:
            check_target(place)
            _write(result, kind, place)
            return f"the result was written to {str(place)!r} instead."
        except (OSError, RunError):
            place.unlink(missing_ok=True)
    size = f"{len(result.time):,} rows of {len(result.names)} channels"
    return f"no other place has room for it: {size} ({amount(result.table.nbytes)}) are lost."
