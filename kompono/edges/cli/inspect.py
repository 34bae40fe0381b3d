"""`kompono inspect`: what a model consists of and what becomes of it, without running it."""

from __future__ import annotations

import argparse
from typing import Any

import kompono
from kompono.edges.cli.load import load
from kompono.edges.cli.run import add_set, pairs


def add_command(commands: Any) -> None:
    """Add `inspect` to the command line."""
    parser = commands.add_parser("inspect", help="show components, freedom, loops, kernels", description=__doc__)
    parser.set_defaults(command=command)
    parser.add_argument("target", metavar="FILE.py[:NAME]", help="the model, as for `kompono run`")
    add_set(parser)


def command(options: argparse.Namespace) -> int:
    """Print the report."""
    print(kompono.inspect(load(options.target, pairs(options.set, "--set")).model))
    return 0
