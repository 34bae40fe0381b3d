"""`kompono run`: simulate a model from a file, print a summary, write what was asked for."""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import kompono
from kompono.edges.cli import live, ranks
from kompono.edges.cli.asked import add_request, pairs, request, resumed
from kompono.edges.cli.complain import mute, say
from kompono.edges.cli.deliver import Delivery, check_files, check_sizes, deliver
from kompono.edges.cli.load import Loaded, load
from kompono.errors import RunError, RunWarning
from kompono.interruption import listening
from kompono.result import Result


def add_command(commands: Any) -> None:
    """Add `run` and its options to the command line; options not given are left to the model and to `simulate`."""
    parser = commands.add_parser("run", help="simulate a model", description=__doc__)
    parser.set_defaults(command=command)
    parser.usage = "%(prog)s FILE.py[:NAME] [options]"
    add_request(parser)
    add = parser.add_argument_group("results").add_argument
    add("--channels", action="append", metavar="GLOB", help="record only these channels; may be repeated")
    add("--csv", metavar="FILE", help="write the channels as text, all digits")
    add("--parquet", metavar="FILE", help="write the channels as Parquet")
    add("--hdf5", metavar="FILE", help="write the channels as HDF5, about once a second while the run is going")
    add("--plot", nargs="?", const="", metavar="FILE.png", help="draw the channels (default: <model>.png)")
    add("--view", action="store_true", help="watch the run in 3D in the browser while it is going, and after it")
    add("--port", type=int, default=8080, metavar="N", help="of --view (default: 8080, else the next free one)")
    add("--quiet", action="store_true", help="print nothing but errors")
    add = parser.add_argument_group("in pieces").add_argument
    add("--start", metavar="FILE", help="begin where the run in this HDF5 or Parquet file ended")
    add("--resume", metavar="FILE", help="go on with a run that was interrupted or killed, from its --hdf5 file")
    group = parser.add_argument_group("a component alone, a model on many processors")
    group.add_argument("--hold", metavar="PORT", help="a component alone: closed, with this port held still")
    ranks.add_options(group)
    live.add_options(parser)


def command(options: argparse.Namespace) -> int:
    """Simulate; 0 if the run went through, 3 if it ended early or its result is not right."""
    warnings.simplefilter("ignore", RunWarning)  # the reason is told below

    def loading() -> Loaded:
        found = load(options.target, pairs(options.set, "--set"), quiet=options.quiet)
        return found if options.hold is None else _on_a_bench(found, options.hold)

    if options.ranks is None:
        return _run(options, loading())
    return ranks.command(options, loading, lambda one: request(options, one), lambda one: _run(options, one))


def _on_a_bench(loaded: Loaded, port: str) -> Loaded:
    """The part alone: closed, and held by a port."""
    from kompono.library import Bench

    parameters = {f"part.{path}": value for path, value in loaded.parameters.items()}
    return replace(loaded, model=Bench(loaded.model, hold=port), parameters=parameters)


def _run(options: argparse.Namespace, loaded: Loaded) -> int:
    files = _files(options, loaded)
    wanted = request(options, loaded)
    if options.view and not 0 <= options.port <= 65_535:
        raise RunError(f"--port {options.port}: there is no such port.", fix="Give one from 1024 to 65535.")
    if options.resume is not None:
        wanted = resumed(options, loaded, wanted)
    if options.start is not None:
        wanted["start"] = Result.load(options.start)
    if options.resume is None and "hdf5" in files:
        wanted["hdf5"] = files["hdf5"]
    watching = kompono.LiveView(loaded.model, port=options.port) if options.view else None
    if watching is not None:
        wanted["watcher"] = watching
        chosen = wanted.get("channels", "*")
        if options.resume is None:
            wanted["channels"] = [*([chosen] if isinstance(chosen, str) else chosen), *watching.channels]  # shown later
        print(f"{loaded.name}: {watching.url}", flush=True)
    if files:
        wanted["before"] = check_sizes(files)
    with listening() as heard:
        result = kompono.simulate(loaded.model, **wanted, **live.request(options))
        heard.keeps = True  # nothing that is asked now shall stop the files from being written
        if not len(result.time):
            files.pop("plot", None)  # nothing to draw; the reason follows
        delivery = deliver(result, files)
        if not options.quiet:
            _summarize(result, delivery)
        for problem in delivery.problems:
            say(problem)
        if not result.status.ok:
            say(f"{result.ending}: {result.status.message}")
        elif heard.asked:
            say("interrupted when the run was over: it is complete, and so are its files" * (not delivery.problems))
        code = 1 if delivery.problems else 3 if not result.status.ok else 128 + heard.number if heard.asked else 0
        if watching is not None and not heard.asked:
            print(f"{watching.url}  (Ctrl-C ends it)", flush=True)
            server = watching.finish(result)
            heard.release()
            server.wait()
        elif watching is not None:
            watching.stop()
    return code


def _summarize(result: Result, delivery: Delivery) -> None:
    """Say what came out; a terminal or pipe that has gone away takes nothing with it."""
    try:
        print(result.summary())
        for kind, path in delivery.written.items():
            print(f"  {kind:10s} {path}")
        sys.stdout.flush()
    except OSError as error:
        mute()
        if not isinstance(error, BrokenPipeError):
            say(f"the summary cannot be printed: {error.strerror}")


def _files(options: argparse.Namespace, loaded: Loaded) -> dict[str, Path]:
    """The files to write by kind; whatever would stop us from writing them is an error before the run, not after."""
    names = {kind: getattr(options, kind) for kind in ("csv", "parquet", "hdf5", "plot")}
    if names["plot"] == "":
        names["plot"] = f"{loaded.name}.png"
    files = {kind: Path(name) for kind, name in names.items() if name is not None}
    check_files(files)
    return files
