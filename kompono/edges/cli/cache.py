"""`kompono cache`: the size of the compiled kernels on disk, or their removal."""

from __future__ import annotations

import argparse
from typing import Any

from kompono.compile import cache


def add_command(commands: Any) -> None:
    """Add `cache` to the command line."""
    parser = commands.add_parser("cache", help="show or clear the compiled kernels on disk", description=__doc__)
    parser.set_defaults(command=command)
    parser.add_argument("--clear", action="store_true", help="remove them all")


def command(options: argparse.Namespace) -> int:
    """Print the size, or clear."""
    if options.clear:
        print(f"{cache.clear()} files removed")
    else:
        print(f"{cache.size() / 1e6:.1f} MB of compiled kernels in {cache.directory()}")
    return 0
