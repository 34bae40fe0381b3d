"""`kompono run --ranks`: one model on the processes `mpiexec` started, or on N that are started for it.

The first process prints and writes; the others are silent and end with 0, because an `mpiexec` kills all when one ends
with something else, and the first may still be writing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import kompono
from kompono.edges.cli.load import Loaded
from kompono.errors import RunError

_MAIN = "import sys; from kompono.edges.cli import main; sys.exit(main(sys.argv[1:]))"


def add_options(group: argparse._ArgumentGroup) -> None:
    """Add the options of runs on ranks."""
    add = group.add_argument
    add(
        "--ranks", nargs="?", type=int, const=0, metavar="N",
        help="spread a large tree over the processes mpiexec has started, or over N that are started now",
    )  # fmt: skip
    add(
        "--place", action="append", default=[], metavar="COMPONENT=RANK", help="where a component goes; may be repeated"
    )


def request(options: argparse.Namespace, pairs: Callable[..., dict[str, str]]) -> dict[str, Any]:
    """What `simulate` is told."""
    if options.ranks is None:
        if options.place:
            raise RunError("--place says on which rank a component goes.", fix="Use it with --ranks.")
        return {}
    return {"ranks": True, "place": {path: _rank(path, t) for path, t in pairs(options.place, "--place").items()}}


def command(
    options: argparse.Namespace,
    load: Callable[[], Loaded],
    wanted: Callable[[Loaded], dict[str, Any]],
    run: Callable[[Loaded], int],
) -> int:
    """Start the processes, or be one of them: the first runs as ever, the others do their part."""
    from kompono.ranks.launch import is_rank, launch
    from kompono.ranks.world import World

    if options.ranks < 0:
        raise RunError(f"--ranks {options.ranks}: that is no number of processes.")
    if options.ranks and not is_rank():
        return launch(options.ranks, [sys.executable, "-c", _MAIN, *options.arguments])
    world = World()
    if options.ranks not in (0, world.size):
        raise RunError(f"--ranks {options.ranks}: mpiexec has started {world.size}.", fix="Leave the number out.")
    if world.leads:
        loaded = world.agreed(load)
        try:
            return run(loaded)
        except BaseException as error:
            world.dismiss(error)
            raise
    with open(os.devnull, "w") as nowhere:
        try:
            with redirect_stdout(nowhere), redirect_stderr(nowhere):
                loaded = world.agreed(load)
                kompono.simulate(loaded.model, **wanted(loaded))
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            if options.debug:
                print(f"rank {world.rank}: {type(error).__name__}: {error}", file=sys.stderr)
    return 0


def _rank(path: str, text: str) -> int:
    if not text.isdecimal():
        raise RunError(f"--place {path}={text}: ranks are 0, 1, 2, ...")
    return int(text)
