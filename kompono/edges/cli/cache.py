"""`kompono cache`: how much compiled code is on disk, and whether it is used; or its removal."""

from __future__ import annotations

import argparse
from typing import Any

from kompono.compile import cache


def add_command(commands: Any) -> None:
    """Add `cache` to the command line."""
    parser = commands.add_parser("cache", help="show or clear the compiled kernels on disk", description=__doc__)
    parser.set_defaults(command=command)
    parser.add_argument("--clear", action="store_true", help="remove them all, and what killed processes left")


def command(options: argparse.Namespace) -> int:
    """Print what is there, or clear."""
    if options.clear:
        print(f"{cache.clear()} files removed")
        return 0
    found = cache.usage()
    print(f"{cache.size() / 1e6:.1f} MB of compiled kernels in {cache.directory()}")
    print(f"{found.files} files; beyond {cache.limit() / 1e6:.0f} MB the longest unused go (KOMPONO_CACHE_LIMIT)")
    if found.leftovers:
        print(f"{found.leftovers} leftovers of killed processes, {found.leftover_bytes / 1e6:.1f} MB: --clear removes")
    trouble = cache.trouble()
    if trouble:
        print(f"not used: {trouble}")
    return 0
