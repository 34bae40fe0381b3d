"""`kompono cost`: operations per step of a model on every engine and projection, counted from the generated code."""

from __future__ import annotations

import argparse
from typing import Any

import kompono
from kompono.edges.cli.asked import add_set, pairs
from kompono.edges.cli.load import load


def add_command(commands: Any) -> None:
    """Add `cost` to the command line."""
    parser = commands.add_parser("cost", help="compare the operations of engines and projections", description=__doc__)
    parser.set_defaults(command=command)
    parser.add_argument("target", metavar="FILE.py[:NAME]", help="the model, as for `kompono run`")
    add_set(parser)


def command(options: argparse.Namespace) -> int:
    """Print the table."""
    print(kompono.cost(load(options.target, pairs(options.set, "--set")).model))
    return 0
