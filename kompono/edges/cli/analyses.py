"""`kompono statics` and `kompono modes`: where a machine rests, and how it moves about rest."""

from __future__ import annotations

import argparse
from typing import Any

from kompono.edges.cli.asked import add_set, pairs
from kompono.edges.cli.load import Loaded, load
from kompono.errors import RunError
from kompono.given import number


def add_command(commands: Any) -> None:
    """Add `statics` and `modes` to the command line."""
    statics = commands.add_parser(
        "statics",
        help="where a model rests",
        description="Where a model rests: coordinates, stability, neutral ones.",
    )
    statics.set_defaults(command=_statics)
    _common(statics, "--near", "a position to begin from")
    add = statics.add_argument
    add("--hold", action="append", default=[], metavar="COORDINATE", help="this stays as it is; may be repeated")
    add("--trim", action="append", default=[], metavar="NAME", help="an input or parameter to be found")
    add("--stable", action="store_true", help="take no position that the least disturbance would leave")
    modes = commands.add_parser(
        "modes",
        help="frequencies and damping about rest",
        description="Small motions: Hz, damping, who moves.",
    )
    modes.set_defaults(command=_modes)
    _common(modes, "--at", "the state, or a position to look for rest from")
    add = modes.add_argument
    add("--here", action="store_true", help="about the state itself, not about rest near it")
    add("--input", action="append", default=[], metavar="NAME", help="with --output: frequency response from here")
    add("--output", action="append", default=[], metavar="CHANNEL", help="frequency response of this channel")
    add("--plot", metavar="FILE", help="picture of the frequency response: png, svg or pdf")
    add("--mode", type=int, metavar="N", help="with --out: the mode to be shown, by its number")
    add("--out", metavar="FILE", help="the machine swinging in it: a page (html) or movie (gif, mp4)")


def _common(parser: argparse.ArgumentParser, option: str, about: str) -> None:
    parser.add_argument("target", metavar="FILE.py[:NAME]", help="the model, as for `kompono run`")
    add_set(parser)
    parser.add_argument(
        option, action="append", default=[], dest="at", metavar="CHANNEL=VALUE", help=f"{about}; may be repeated"
    )
    parser.add_argument("--cut", action="append", default=[], metavar="JOINT", help="this joint shall close a loop")


def _asked(options: argparse.Namespace) -> tuple[Loaded, dict[str, float], dict[str, Any]]:
    loaded = load(options.target, pairs(options.set, "--set"))
    given = pairs(options.at, "a start value")
    at = {name: _number(name, text) for name, text in given.items()}
    return loaded, at, {"parameters": loaded.parameters, **({"cut": options.cut} if options.cut else {})}


def _number(name: str, text: str) -> float:
    try:
        return number(float(text), "the start value", name, error=RunError, fix="Give a finite number.")
    except ValueError:
        raise RunError(f"{name}: {text!r} is not a number.") from None


def _statics(options: argparse.Namespace) -> int:
    from kompono import equilibrium  # others start without it

    loaded, near, more = _asked(options)
    print(equilibrium(loaded.model, near, hold=options.hold, trim=options.trim, stable=options.stable, **more))
    return 0


def _modes(options: argparse.Namespace) -> int:
    from kompono import equilibrium, linearize

    loaded, at, more = _asked(options)
    if options.plot and not (options.input and options.output):
        raise RunError("a frequency response has an input and an output.", fix="Give --input and --output.")
    if (options.mode is None) != (options.out is None):
        raise RunError("a mode is shown in a file.", fix="Give --mode and --out, such as --mode 7 --out mode.html.")
    where: Any = at if options.here else equilibrium(loaded.model, at, **more)
    linear = linearize(
        loaded.model, where, inputs=options.input, outputs=options.output, **(more if options.here else {})
    )
    found = linear.modes()
    print(found)
    if options.out is not None:
        print(_shown(found.swing(options.mode), options.out))
    if options.plot:
        from kompono.edges.plot.response import response

        print(response(linear).save(options.plot))
    return 0


def _shown(result: Any, out: str) -> Any:
    """Write a motion to a page or movie, one period a second."""
    speed = float(f"{float(result.time[-1]) / result.statistics['cycles']:.3g}")
    if out.lower().endswith((".html", ".htm")):
        return result.view(html=out, speed=speed)
    return result.animate(out, speed=speed)
