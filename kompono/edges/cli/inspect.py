"""`kompono inspect`: what a model consists of and what becomes of it, without running it; or what a sealed part
shows.
"""

from __future__ import annotations

import argparse
from typing import Any

import kompono
from kompono.edges.cli.asked import add_engine, add_set, pairs
from kompono.edges.cli.load import load
from kompono.edges.cli.sealed import SUFFIX, described
from kompono.request import OF_CONCERN, Concern


def add_command(commands: Any) -> None:
    """Add `inspect` to the command line."""
    parser = commands.add_parser("inspect", help="show components, freedom, loops, kernels", description=__doc__)
    parser.set_defaults(command=command)
    parser.add_argument("target", metavar="FILE.py[:NAME]", help="the model, as for `kompono run`, or FILE.part")
    add_engine(parser)
    add_set(parser)


def command(options: argparse.Namespace) -> int:
    """Print the report."""
    if options.target.endswith(SUFFIX):
        print(described(options.target))
        return 0
    chosen = {
        name: value for name in OF_CONCERN[Concern.SOLUTION] if (value := getattr(options, name, None)) is not None
    }
    print(kompono.inspect(load(options.target, pairs(options.set, "--set")).model, **chosen))
    return 0
