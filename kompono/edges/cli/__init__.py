"""The command line: `kompono run`, `view`, `plot`, `animate`, `report`, `inspect`, `cost`, `seal`, `keys`, `trust`,
`cache`.

Exit codes: 0 done, 1 wrong model or request, 2 wrong usage or a file that cannot be loaded, 3 a run that ended early
or whose result is not right (it is written all the same), 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from kompono.edges.cli import animate, cache, cost, inspect, keys, plot, report, run, seal, trust, view
from kompono.edges.cli.find import LoadError
from kompono.errors import KomponoError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors are one message on stderr, without a traceback."""
    options = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = options.command(options)
            sys.stdout.flush()
            return code
    except KomponoError as error:
        print(f"kompono: {error}", *getattr(error, "__notes__", []), sep="\n", file=sys.stderr)
        return 2 if isinstance(error, LoadError) else 1
    except BrokenPipeError:  # the reader of our output has left, as in `kompono inspect ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"kompono: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("kompono: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="kompono", description="Simulate mechanisms built from components.")
    parser.add_argument("--version", action="version", version=f"kompono {_version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in (run, view, plot, animate, report, inspect, cost, seal, keys, trust, cache):
        module.add_command(commands)
    return parser


def _version() -> str:
    try:
        return version("kompono")
    except PackageNotFoundError:  # used from a source tree that was never installed
        return "unknown"


def _show_warning(message: Warning | str, *_: object) -> None:
    print(f"kompono: warning: {message}", file=sys.stderr)
