"""`kompono export fmu`: a model as a file that other tools simulate (FMI 2.0 and 3.0), with code for some systems."""

from __future__ import annotations

import argparse
from typing import Any

from kompono.edges.cli.asked import add_engine, add_set, pairs
from kompono.edges.cli.load import load
from kompono.errors import RunError
from kompono.request import OF_CONCERN, Concern

FORMATS = ("fmu",)


def add_command(commands: Any) -> None:
    """Add `export` to the command line."""
    parser = commands.add_parser("export", help="write a model for other tools", description=__doc__)
    parser.set_defaults(command=command)
    add = parser.add_argument
    add("format", metavar="FORMAT", choices=FORMATS, help="what to write: fmu")
    add("target", metavar="FILE.py[:NAME]", help="the model, as for `kompono run`")
    add("--out", required=True, metavar="FILE.fmu", help="the file to write")
    add("--fmi", type=int, default=3, metavar="2|3", help="version of FMI (default: 3)")
    add("--kind", default="both", metavar="me|cs|both", help="model exchange, co-simulation or both (default)")
    add("--channels", action="append", default=[], metavar="GLOB", help="further outputs; may be repeated")
    add("--step", type=float, metavar="H", help="longest step of co-simulation [s] (default: 1e-3)")
    add(
        "--until", type=float, metavar="T", help="end of the default experiment [s] (default: the model's own, else 10)"
    )
    add("--tolerance", type=float, metavar="R", help="tolerance of the default experiment (default: 1e-6)")
    add("--platform", action="append", metavar="NAME", help="system to make code for; may be repeated")
    add("--input", action="append", default=[], metavar="PATH=VALUE", help="start value of an input; may be repeated")
    add("--initial", action="append", default=[], metavar="CHANNEL=VALUE", help="start value; may be repeated")
    add_set(parser)
    add_engine(parser)


def command(options: argparse.Namespace) -> int:
    """Export and show what was written."""
    from kompono.edges.fmu import export_fmu

    loaded = load(options.target, pairs(options.set, "--set"))
    defaults = dict(loaded.model.run_defaults)
    solution = {name: defaults[name] for name in OF_CONCERN[Concern.SOLUTION] if name in defaults}
    solution |= {n: v for n in OF_CONCERN[Concern.SOLUTION] if (v := getattr(options, n, None)) is not None}
    until = options.until if options.until is not None else defaults.get("until")
    steps = {"step": options.step, "until": until, "tolerance": options.tolerance}
    start = dict(defaults.get("initial") or {}) | _numbers(options.initial, "--initial")
    made = export_fmu(
        loaded.model, options.out, fmi=options.fmi, kind=options.kind, channels=options.channels,
        inputs=_numbers(options.input, "--input") or None, parameters=loaded.parameters or None, initial=start or None,
        platforms=options.platform, **{name: value for name, value in steps.items() if value is not None}, **solution,
    )  # fmt: skip
    print(made)
    return 0


def _numbers(texts: list[str], option: str) -> dict[str, float]:
    found = {}
    for name, text in pairs(texts, option).items():
        try:
            found[name] = float(text)
        except ValueError:
            raise RunError(f"{option} {name}: {text!r} is not a number.") from None
    return found
