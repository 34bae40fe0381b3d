"""`kompono report`: run a model and write one self-contained HTML page about the model, the run, its figures, in 3D."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from kompono.edges.cli.asked import add_request, pairs, request
from kompono.edges.cli.load import load
from kompono.errors import RunError
from kompono.result import extra
from kompono.result.target import check_target


def add_command(commands: Any) -> None:
    """Add `report` to the command line."""
    parser = commands.add_parser("report", help="write a page about a model and its run", description=__doc__)
    parser.set_defaults(command=command)
    parser.usage = "%(prog)s FILE.py[:NAME] [options]"
    add_request(parser)
    add = parser.add_argument_group("results").add_argument
    add("--channels", action="append", metavar="GLOB", help="record only these channels; may be repeated")
    add("--out", metavar="FILE.html", help="page to write (default: <model>.html)")
    add("--plot", action="append", default=[], metavar="GLOB", help="channels to draw; may be repeated")
    add("--quiet", action="store_true", help="print nothing but errors")


def command(options: argparse.Namespace) -> int:
    """Write the page; 0 if all went well, 1 if something could not be done, 3 if the run ended early."""
    extra("matplotlib", "plot")
    loaded = load(options.target, pairs(options.set, "--set"), quiet=options.quiet)
    out = Path(options.out or f"{loaded.name}.html")
    if out.suffix.lower() not in (".html", ".htm"):
        raise RunError(f"cannot write a report into {str(out)!r}.", fix="Choose a name with .html.")
    check_target(out)
    from kompono.edges.report import write_report

    written = write_report(
        loaded.model, out, plots=options.plot, source=options.target, request=request(options, loaded)
    )
    if not options.quiet:
        print(written.path)
    for problem in written.problems:
        print(f"kompono: {problem}", file=sys.stderr)
    if written.result is not None and not written.result.status.ok:
        print(f"kompono: {written.result.ending}: {written.result.status.message}", file=sys.stderr)
        return 3
    return 1 if written.problems else 0
