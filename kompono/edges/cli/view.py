"""`kompono view`: a model, or the motion of a stored run, in 3D in the browser or as one page to send to others.

A model is shown as assembled at its start; with --run it is simulated first, as `kompono run` would.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from typing import Any

import kompono
from kompono.edges.cli.asked import add_engine, add_solver, add_values, pairs, request
from kompono.edges.cli.load import Loaded, load
from kompono.edges.cli.plot import load as load_result
from kompono.errors import RunError
from kompono.interruption import listening
from kompono.result import Result
from kompono.result.store import READERS
from kompono.result.target import check_target


def add_command(commands: Any) -> None:
    """Add `view` to the command line."""
    parser = commands.add_parser("view", help="show a model or a stored run in 3D", description=__doc__)
    parser.set_defaults(command=command)
    parser.usage = "%(prog)s FILE.py[:NAME] | RESULT [options]"
    parser.add_argument(
        "target",
        metavar="FILE.py[:NAME] | RESULT",
        help="a model, also of a robot or CAD file, or a result (h5, hdf5, parquet, csv)",
    )
    add = parser.add_argument_group("what is shown").add_argument
    add("--run", action="store_true", help="simulate the model first (its run_defaults, or the options below)")
    add("--live", action="store_true", help="the machine itself runs in the page, beside a stored run of it")
    add("--here", action="store_true", help="with --live: the machine runs in this process, the page shows it")
    add("--channels", action="append", metavar="GLOB", help="curves to offer and draw; may be repeated")
    add("--model", metavar="FILE.py[:NAME]", help="the model of a result that does not hold one (csv)")
    add("--speed", type=float, default=1.0, metavar="X", help="of time at the start (default: 1)")
    add = parser.add_argument_group("where").add_argument
    add("--html", "--out", metavar="FILE", help="write one self-contained page instead of serving it")
    add("--host", default="127.0.0.1", metavar="NAME", help="listen here (default: this machine only; 0.0.0.0: all)")
    add("--port", type=int, default=8080, metavar="N", help="listen here, or on the next free one (default: 8080)")
    add_values(parser)
    add_solver(parser)
    add_engine(parser)


def command(options: argparse.Namespace) -> int:
    """Show until interrupted, or write the page."""
    if options.here and (not options.live or options.html is not None):
        raise RunError("--here is for a living machine that is served.", fix="Use --live --here, without --html.")
    if options.html is not None:
        check_target(options.html)
    from kompono.edges.view import view  # other commands start without it

    source, model, wanted = _source(options)
    shown = view(
        source, model=model, channels=options.channels, html=options.html, host=options.host, port=options.port,
        speed=options.speed, live="here" if options.here else options.live, options=wanted,
    )  # fmt: skip
    if isinstance(shown, Path):
        print(f"{shown}: {shown.stat().st_size / 1e6:.2f} MB")
    else:
        with listening() as heard:
            heard.release()
            with suppress(KeyboardInterrupt):  # as soon as the address is known
                print(f"{shown.url}  (Ctrl-C ends it)", flush=True)
                shown.wait()
    return 0


def _source(options: argparse.Namespace) -> tuple[Any, Any, dict[str, Any] | None]:
    """What to show, the model it is of if that must be said, and how it runs."""
    other = load(options.model, {}) if options.model else None
    model = other.model if other is not None else None
    if Path(options.target).suffix.lower() in READERS:
        return load_result(options.target), model, request(options, other) if other is not None else None
    loaded = load(options.target, pairs(options.set, "--set"))
    asked = ("until", "step", "method", "every")
    if not options.run and not options.live and all(getattr(options, name) is None for name in asked):
        return loaded.model, None, None
    wanted = request(options, loaded)
    result = _simulated(options, loaded, wanted)
    model = loaded.model if options.live or result.scene is None else None  # large ones keep none
    return result, model, _in_equal_steps(options, wanted)


def _in_equal_steps(options: argparse.Namespace, wanted: dict[str, Any]) -> dict[str, Any]:
    """How a machine lives in a page, which makes equal steps: a method that chooses its own, if it is the model's and
    not the command's, gives way to the usual one.
    """
    from kompono.edges.view.living import METHODS

    if not options.live or options.method is not None or wanted.get("method", "rk4") in METHODS:
        return wanted
    return {name: value for name, value in wanted.items() if name not in ("method", "rtol", "atol")}


def _simulated(options: argparse.Namespace, loaded: Loaded, wanted: dict[str, Any]) -> Result:
    """A run of a model with all its channels; if some are asked for, with those and the poses."""
    from kompono.scene import POSE_CHANNELS

    channels = [*(options.channels or ["*"]), *POSE_CHANNELS]
    return kompono.simulate(loaded.model, **{**wanted, "channels": channels})
