"""`kompono run`: simulate a model from a file, print a summary, write what was asked for."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kompono
from kompono.edges.cli import live
from kompono.edges.cli.complain import mute, say
from kompono.edges.cli.deliver import Delivery, check_files, check_sizes, deliver
from kompono.edges.cli.load import Loaded, load
from kompono.errors import RunError, RunWarning, nearest
from kompono.given import shown
from kompono.interruption import listening
from kompono.result import Result

UNTIL = 1.0  # s, where neither the command nor the model says
PASSED_ON = (
    "until", "step", "method", "rtol", "atol", "every", "guard_checks", "max_steps", "channels", "stabilize", "cache",
)  # fmt: skip
ENGINE = ("engine", "projection", "metric", "cut")
STRENGTHS = ("stiffness", "damping")
OF_A_METHOD = ("method", "step", "every", "rtol", "atol")  # defaults of a model that mean nothing to another engine
KNOWN_DEFAULTS = (
    *PASSED_ON, *ENGINE, *STRENGTHS, "baumgarte", "independent",
    "inputs", "parameters", "initial", "progress",
)  # fmt: skip


def add_command(commands: Any) -> None:
    """Add `run` and its options to the command line; options not given are left to the model and to `simulate`."""
    parser = commands.add_parser("run", help="simulate a model", description=__doc__)
    parser.set_defaults(command=command)
    add_request(parser)
    add = parser.add_argument
    live.add_options(parser)
    add("--csv", metavar="FILE", help="write the channels as text, all digits")
    add("--parquet", metavar="FILE", help="write the channels as Parquet")
    add("--hdf5", metavar="FILE", help="write the channels as HDF5, about once a second while the run is going")
    add("--resume", metavar="FILE", help="go on with a run that was interrupted or killed, from its --hdf5 file")
    add("--plot", nargs="?", const="", metavar="FILE.png", help="draw the channels (default: <model>.png)")
    add("--view", action="store_true", help="watch the run in 3D in the browser while it is going, and after it")
    add("--port", type=int, default=8080, metavar="N", help="of --view (default: 8080, else the next free one)")
    add("--quiet", action="store_true", help="print nothing but errors")


def add_request(parser: argparse.ArgumentParser) -> None:
    """Add the model and the options that say how it shall run, common to commands that run one."""
    add = parser.add_argument
    add("target", metavar="FILE.py[:NAME]", help="the model (or package.module[:NAME], or an example: examples/car.py)")
    add_solver(parser)
    add_engine(parser)
    add("--channels", action="append", metavar="GLOB", help="record only these channels; may be repeated")
    add_set(parser)
    add("--initial", action="append", default=[], metavar="CHANNEL=VALUE", help="start value; may be repeated")


def add_solver(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a model is integrated."""
    add = parser.add_argument
    add("--until", type=float, metavar="T", help="end time [s] (default: the model's own, else 1)")
    add("--step", type=float, metavar="H", help="step, or distance of rows for adaptive methods [s]")
    add("--method", metavar="NAME", help="rk2, rk4, adams, dopri5, or a SciPy method such as Radau")
    add("--rtol", type=float, metavar="R", help="relative tolerance of adaptive methods")
    add("--atol", type=float, metavar="A", help="absolute tolerance of adaptive methods")
    add("--every", type=int, metavar="N", help="record every Nth step")
    add("--guard-checks", type=int, metavar="N", help="look N times at the guards of events in each step")
    add("--max-steps", type=int, metavar="N", help="give up after N steps of a method that chooses its own")
    for name, unit in (("stiffness", "N/m, N m/rad"), ("damping", "N s/m, N m s/rad")):
        add(f"--{name}", action="append", metavar="[GLOB=]X[,X]", help=f"discrete: of joints [{unit}], by path or all")
    add("--no-stabilize", dest="stabilize", action="store_false", default=None, help="let loop constraints drift")
    add("--no-cache", dest="cache", action="store_false", default=None, help="compile anew")


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose how a model is solved."""
    add = parser.add_argument
    add("--engine", metavar="NAME", help="relative (joint coordinates), absolute (all bodies) or discrete (tiny steps)")
    add("--projection", metavar="NAME", help="absolute: distributed, successive, standard, baumgarte or none")
    add("--metric", metavar="NAME", help="absolute: identity or mass")
    add("--cut", action="append", metavar="JOINT", help="relative: this joint shall close a loop; may be repeated")


def add_set(parser: argparse.ArgumentParser) -> None:
    """Add the option `--set`, common to commands that build a model."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PARAMETER=VALUE",
        help="constructor keyword or tunable parameter (dotted path); may be repeated",
    )


def command(options: argparse.Namespace) -> int:
    """Simulate; 0 if the run went through, 3 if it ended early or its result is not right."""
    warnings.simplefilter("ignore", RunWarning)  # the reason is told below
    loaded = load(options.target, pairs(options.set, "--set"), quiet=options.quiet)
    files = _files(options, loaded)
    wanted = request(options, loaded)
    if options.view and not 0 <= options.port <= 65_535:
        raise RunError(f"--port {options.port}: there is no such port.", fix="Give one from 1024 to 65535.")
    if options.resume is not None:
        wanted = _resumed(options, loaded, wanted)
    elif "hdf5" in files:
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
            viewer = watching.finish(result)
            heard.release()
            viewer.wait()
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


def pairs(texts: list[str], option: str) -> dict[str, str]:
    """`NAME=VALUE` texts as a dictionary; the last of equal names counts."""
    split = [text.partition("=") for text in texts]
    for name, equals, value in split:
        if not (name.strip() and equals and value.strip()):
            raise RunError(f"{option} {name}{equals}{value}: expected NAME=VALUE.")
    return {name.strip(): value.strip() for name, _, value in split}


def request(options: argparse.Namespace, loaded: Loaded) -> dict[str, Any]:
    """Keyword arguments of `simulate`: the command's, else the model's `run_defaults`; the rest is left to it."""
    if not isinstance(loaded.model.run_defaults, Mapping):
        fix = "Write e.g. run_defaults = {'until': 2.0}."
        raise RunError(f"run_defaults {shown(loaded.model.run_defaults)} are no values by name.", fix=fix)
    defaults = dict(loaded.model.run_defaults)
    for name in defaults:
        if name not in KNOWN_DEFAULTS:
            raise RunError(f"run_defaults has an unknown {name!r}.", fix=nearest(name, KNOWN_DEFAULTS))
    given = {name: value for name in (*PASSED_ON, *ENGINE) if (value := getattr(options, name, None)) is not None}
    if given.get("engine", defaults.get("engine")) == "discrete" and defaults.get("engine") != "discrete":
        defaults = {name: value for name, value in defaults.items() if name not in OF_A_METHOD}
    wanted = {"until": UNTIL, **defaults, **given}
    if "step" in defaults and "step" not in given and "until" in given:
        wanted["step"] = min(defaults["step"], given["until"]) or defaults["step"]  # a shorter run than the model's own
    wanted |= {name: _strengths(name, getattr(options, name)) for name in STRENGTHS if getattr(options, name, None)}
    initial = {name: _number(f"--initial {name}", t) for name, t in pairs(options.initial, "--initial").items()}
    for name, values in (("initial", initial), ("parameters", loaded.parameters)):
        if values:
            wanted[name] = {**(wanted.get(name) or {}), **values}
    if getattr(options, "quiet", False):
        wanted["progress"] = False
    return wanted


def _resumed(options: argparse.Namespace, loaded: Loaded, wanted: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments of `simulate` to go on with the run in a file: those it was begun with; what the command says
    besides must be the same, and is compared there.
    """
    from kompono.keeping import resume_request

    said = [name for name in (*PASSED_ON, *ENGINE, *STRENGTHS) if getattr(options, name, None) is not None]
    said += [name for name, given in (("initial", options.initial), ("parameters", loaded.parameters)) if given]
    said += [name for name in ("inputs", "progress") if name in wanted]  # no file keeps these
    return {**resume_request(options.resume), **{name: wanted[name] for name in said}, "resume": options.resume}


def _strengths(name: str, texts: list[str]) -> dict[str, Any]:
    """Stiffness or damping by glob: one number, or one for each group of conditions; without a glob it is for all."""
    given = pairs([text if "=" in text else f"*={text}" for text in texts], f"--{name}")
    numbers = {glob: [_number(f"--{name} {glob}", part) for part in text.split(",")] for glob, text in given.items()}
    return {glob: values[0] if len(values) == 1 else tuple(values) for glob, values in numbers.items()}


def _number(what: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise RunError(f"{what}: {text!r} is not a number.") from None


def _files(options: argparse.Namespace, loaded: Loaded) -> dict[str, Path]:
    """The files to write by kind; whatever would stop us from writing them is an error before the run, not after."""
    names = {kind: getattr(options, kind) for kind in ("csv", "parquet", "hdf5", "plot")}
    if names["plot"] == "":
        names["plot"] = f"{loaded.name}.png"
    files = {kind: Path(name) for kind, name in names.items() if name is not None}
    check_files(files)
    return files
