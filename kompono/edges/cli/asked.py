"""What commands that run a model may be asked for: options of the command line, and the request that comes of them.

Names of engines, of their options and of methods come from their registries; which options there are, from `Request`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from kompono.edges.cli import ranks
from kompono.edges.cli.load import Loaded
from kompono.errors import RunError, either, nearest
from kompono.given import shown
from kompono.kinds import CONTACTS, ERRORS
from kompono.request import DECLARED, OF_CONCERN, Concern, Request
from kompono.solve.methods import METHODS
from kompono.translate.engines.registry import ENGINES

UNTIL = 1.0  # s, where neither the command nor the model says
STRENGTHS = ("stiffness", "damping")  # texts to be read
PASSED_ON = tuple(
    name for name in (*OF_CONCERN[Concern.STEPS], *OF_CONCERN[Concern.SOLUTION], "channels") if name not in STRENGTHS
)
OF_A_METHOD = ("method", "step", "every", "rtol", "atol")  # defaults of a model that mean nothing to other steps


def add_request(parser: argparse.ArgumentParser) -> None:
    """Add the model and the options that say how it shall run, common to commands that run one."""
    target = "the model (or package.module[:NAME], an example: examples/car.py, or a robot or CAD file: arm.urdf)"
    parser.add_argument("target", metavar="FILE.py[:NAME]", help=target)
    add_values(parser)
    add_solver(parser)
    add_engine(parser)


def add_values(parser: argparse.ArgumentParser) -> None:
    """Add the options that change numbers of a model."""
    group = parser.add_argument_group("numbers of the model")
    add_set(group)
    group.add_argument(
        "--initial", action="append", default=[], metavar="CHANNEL=VALUE", help="start value; may be repeated"
    )


def add_solver(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a model is integrated."""
    add = parser.add_argument_group("time and steps").add_argument
    add("--until", type=float, metavar="T", help="end time [s] (default: the model's own, else 1)")
    add("--begin", type=float, metavar="T", help="when it begins [s] (default: 0, or where the run of --start ended)")
    add("--step", type=float, metavar="H", help="step, or distance of rows for adaptive methods [s]")
    add("--method", metavar="NAME", help=_methods())
    add("--rtol", type=float, metavar="R", help="relative tolerance of adaptive methods")
    add("--atol", type=float, metavar="A", help="absolute tolerance of adaptive methods")
    add("--every", type=int, metavar="N", help="record every Nth step")
    add("--guard-checks", type=int, metavar="N", help="look N times at the guards of events in each step")
    add("--max-steps", type=int, metavar="N", help="give up after N steps of a method that chooses its own")
    add("--no-stabilize", dest="stabilize", action="store_false", default=None, help="let loop constraints drift")
    for name, unit in (("stiffness", "N/m, N m/rad"), ("damping", "N s/m, N m s/rad")):
        help = f"{_owners(name)}: of joints [{unit}], by path or all"
        add(f"--{name}", action="append", metavar="[GLOB=]X[,X]", help=help)
    add("--no-cache", dest="cache", action="store_false", default=None, help="compile anew")


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose how a model is solved."""
    add = parser.add_argument_group("how it is solved").add_argument
    add("--engine", metavar="NAME", help=either([f"{entry.name} ({entry.about})" for entry in ENGINES.values()]))
    for name in ("projection", "metric"):
        names = next(entry.own[name].names for entry in ENGINES.values() if name in entry.own)
        add(f"--{name}", metavar="NAME", help=f"{_owners(name)}: {either(names)}")
    add("--contact", metavar="NAME", help=f"contact and dry friction: {either(list(CONTACTS))}")
    add("--cut", action="append", metavar="JOINT", help="this joint shall close a loop; may be repeated")
    add = parser.add_argument_group("closed parts").add_argument
    add("--closed", action="append", metavar="GLOB", help="components that stay closed parts; may be repeated")
    add("--isolate", action="append", metavar="GLOB", help="closed parts that run in processes of their own")
    add("--errors", metavar="NAME", help=f"errors of steps are measured by: {either(list(ERRORS))}")


def _owners(option: str) -> str:
    return either([entry.name for entry in ENGINES.values() if option in entry.own])


def _methods() -> str:
    """The methods of the default engine, native ones by name."""
    steps = ENGINES[Request.engine].steps
    native = [method.name for method in METHODS.values() if method.native and method.steps == steps]
    other = [method.name for method in METHODS.values() if not method.native]
    return f"{', '.join(native)}; SciPy's {either(other)}"


def add_set(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add the option `--set`, common to commands that build a model."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PARAMETER=VALUE",
        help="constructor keyword or tunable parameter (dotted path); may be repeated",
    )


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
        if name not in DECLARED:
            raise RunError(f"run_defaults has an unknown {name!r}.", fix=nearest(name, DECLARED))
    given = {name: value for name in PASSED_ON if (value := getattr(options, name, None)) is not None}
    if _steps_of(given.get("engine")) not in (None, _steps_of(defaults.get("engine", Request.engine))):
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
    return {**wanted, **(ranks.request(options, pairs) if hasattr(options, "ranks") else {})}


def _steps_of(engine: Any) -> str | None:
    """What the steps of an engine are made of; None where there is none of this name, as `simulate` will say."""
    entry = ENGINES.get(engine) if isinstance(engine, str) else None
    return entry.steps if entry else None


def resumed(options: argparse.Namespace, loaded: Loaded, wanted: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments of `simulate` to go on with the run in a file: those it was begun with; what the command says
    besides must be the same, and is compared there.
    """
    from kompono.keeping import resume_request

    said = [name for name in (*PASSED_ON, *STRENGTHS) if getattr(options, name, None) is not None]
    said += [name for name, given in (("initial", options.initial), ("parameters", loaded.parameters)) if given]
    said += [name for name in ("inputs", "progress", "ranks", "place") if name in wanted]  # no file keeps these
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
