"""`kompono import`: what becomes of a file of another program (URDF, MJCF, CAD), and the model as Python to go on
from.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kompono.edges.cli.asked import add_set, pairs
from kompono.edges.cli.load import load
from kompono.files.machine import Machine
from kompono.files.write import write_python
from kompono.result.target import check_target


def add_command(commands: Any) -> None:
    """Add `import` to the command line."""
    parser = commands.add_parser("import", help="make a Python model of a robot or CAD file", description=__doc__)
    parser.set_defaults(command=command)
    parser.add_argument("target", metavar="FILE", help="a .urdf, .xml (MJCF, Simscape Multibody), .FCStd or .step file")
    parser.add_argument("--out", metavar="FILE.py", help="write the model there; without it only the table is shown")
    add_set(parser)


def command(options: argparse.Namespace) -> int:
    """Print the table, write the model."""
    if options.out is not None:
        check_target(options.out)
    model = load(options.target, pairs(options.set, "--set")).model
    if not isinstance(model, Machine):
        print(f"{options.target} is a Python model already.")
        return 2
    print(model.imported)
    if options.out is not None:
        written = write_python(model, Path(options.out))
        more = f" and {len(written) - 1} shapes in {written[-1].parent.name}" if len(written) > 1 else ""
        print(f"wrote {options.out}{more}")
    return 0
