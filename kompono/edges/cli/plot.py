"""`kompono plot`: draw channels of stored results, beside one another, over each other, or their difference."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kompono.errors import RunError, nearest
from kompono.result import Result, extra
from kompono.result.store import READERS
from kompono.room import check_memory


def add_command(commands: Any) -> None:
    """Add `plot` to the command line."""
    parser = commands.add_parser("plot", help="draw channels of stored results", description=__doc__)
    parser.set_defaults(command=command)
    add = parser.add_argument
    add("items", nargs="+", metavar="RESULT... GLOB...", help="files of results (csv, parquet, h5), then channels")
    add("--out", metavar="FILE", help="picture to write: png, svg or pdf (default: a window)")
    add("--x", default="time", metavar="CHANNEL", help="horizontal axis (default: time)")
    add("--difference", metavar="RESULT", help="subtract this reference, interpolated in time")
    add("--log", action="store_true", help="magnitudes on a logarithmic axis")
    add("--panels", default="unit", choices=("unit", "quantity", "channel"), help="what shares a panel (default: unit)")
    add("--no-events", action="store_true", help="do not mark the events of the run")
    add("--label", action="append", default=[], metavar="TEXT", help="name of a run in the legend, in their order")
    add("--title", metavar="TEXT", help="title (default: model and method)")


def command(options: argparse.Namespace) -> int:
    """Draw into the file, or in a window."""
    from kompono.edges import plot  # other commands start without it

    files, patterns = split(options.items)
    if options.out:
        plot.check_path(options.out)
    extra("matplotlib", "plot")
    results = dict(zip(labels(files, options.label), map(load, files), strict=True))
    picture = plot.plot(
        results,
        *patterns,
        x=options.x,
        difference=load(options.difference) if options.difference else None,
        log=options.log,
        panels=options.panels,
        title=options.title,
        events=not options.no_events,
    )
    if options.out:
        print(picture.save(options.out))
    else:
        picture.show()
    return 0


def split(items: list[str]) -> tuple[list[str], list[str]]:
    """Files of results, by their suffix, and globs of channels."""
    files = [item for item in items if Path(item).suffix.lower() in READERS]
    if not files:
        raise RunError(
            f"{items[0]!r} is no file of results.",
            fix=f"Store a run first (kompono run FILE.py --hdf5 run.h5) and name that file ({', '.join(READERS)}).",
        )
    return files, [item for item in items if item not in files]


def load(file: str) -> Result:
    """The result in a file, or an error that names files that are there."""
    path = Path(file)
    if path.is_dir():
        raise RunError(f"{file!r} is a folder.", fix="Name a file in it.")
    if not path.is_file():
        beside = [str(path.parent / entry.name) for entry in path.parent.glob("*") if entry.suffix.lower() in READERS]
        raise RunError(f"there is no file {file!r}.", fix=nearest(file, beside))
    share = 0.4 if path.suffix.lower() == ".csv" else 1.0  # bytes of a number for each that it takes in the file
    check_memory(share * path.stat().st_size, f"the numbers in {file!r}", "Store fewer channels or rows of the run.")
    return Result.load(path)


def labels(files: list[str], given: list[str]) -> list[str]:
    """A label for each file: the given ones, else names of files, with their folders where names are equal."""
    if len(given) > len(files):
        raise RunError(f"{len(given)} labels for {len(files)} results.")
    stems = [Path(file).stem for file in files]
    unique = stems if len(set(stems)) == len(stems) else files
    chosen = [*given, *unique[len(given) :]]
    if len(set(chosen)) < len(chosen):
        raise RunError("two results have the same label.", fix="Give each its own: --label A --label B.")
    return chosen
