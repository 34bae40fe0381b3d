"""`kompono animate`: the motion of a stored result as a GIF or MP4."""

from __future__ import annotations

import argparse
from typing import Any

from kompono.edges.cli.plot import load
from kompono.errors import RunError
from kompono.interruption import listening


def add_command(commands: Any) -> None:
    """Add `animate` to the command line."""
    parser = commands.add_parser("animate", help="write a movie of a stored result", description=__doc__)
    parser.set_defaults(command=command)
    add = parser.add_argument
    add("result", metavar="RESULT", help="file of a result (parquet, h5)")
    add("--out", required=True, metavar="FILE", help="movie to write: gif or mp4")
    add("--speed", type=float, default=1.0, metavar="X", help="seconds of motion per second of the movie (default: 1)")
    add("--fps", type=float, metavar="N", help="pictures per second (default: 20 for gif, 30 for mp4)")
    add("--camera", default="iso", metavar="WHERE", help="iso, front, back, left, right, top or azimuth,elevation [°]")
    add("--size", default="800x560", metavar="WxH", help="pixels (default: 800x560)")
    add("--curve", action="append", default=[], metavar="GLOB", help="channels drawn beneath; may be repeated")
    add("--quiet", action="store_true", help="print nothing but errors")


def command(options: argparse.Namespace) -> int:
    """Write the movie."""
    from kompono.edges.animate import animate, check_movie

    check_movie(options.out)
    with listening() as heard:
        written = animate(
            load(options.result),
            options.out,
            speed=options.speed,
            fps=options.fps,
            camera=options.camera,
            size=_size(options.size),
            curves=options.curve,
            progress=False if options.quiet else None,
        )
        if not options.quiet:
            print(written)
        return 3 if heard.asked else 0  # the movie ends where it was interrupted, and has said so


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise RunError(f"--size {text}: expected WIDTHxHEIGHT, such as 800x560.")
    return int(width), int(height)
