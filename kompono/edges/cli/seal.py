"""`kompono seal`: a component as one file with machine code, which shows its ports and what you make public."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from kompono.edges.cli.asked import add_set, pairs
from kompono.edges.cli.load import load
from kompono.edges.cli.sealed import SUFFIX, text_of
from kompono.errors import RunError


def add_command(commands: Any) -> None:
    """Add `seal` to the command line."""
    parser = commands.add_parser("seal", help="make a sealed part of a component", description=__doc__)
    parser.set_defaults(command=command)
    parser.add_argument("target", metavar="FILE.py[:NAME]", help="the component, as for `kompono run`")
    parser.add_argument("--out", required=True, metavar=f"FILE{SUFFIX}", help="the file to write")
    parser.add_argument(
        "--public", nargs="+", action="extend", default=[], metavar="NAME",
        help="parameters, constructor keywords, inputs, outputs and channels that may be seen (* for any)",
    )  # fmt: skip
    parser.add_argument("--pictures", action="store_true", help="attach the shapes of the bodies at the ports")
    parser.add_argument(
        "--recipient", action="append", default=[], metavar="CARD", help="lock the numbers for whoever has this card"
    )
    parser.add_argument(
        "--target", action="append", dest="machines", metavar="NAME", help="processors; all if left out"
    )
    parser.add_argument("--contact", choices=("events", "soft"), default="events", help="what contact and friction are")
    parser.add_argument("--placed", action="store_true", help="with bodies placed one by one for the absolute engine")
    add_set(parser)


def command(options: argparse.Namespace) -> int:
    """Seal and show the result."""
    from kompono.sealing import built, pictures_of, seal

    if Path(options.out).suffix != SUFFIX:
        raise RunError(f"--out {options.out}: sealed parts end in {SUFFIX}.", fix=f"Try: --out {options.out}{SUFFIX}")
    settings = pairs(options.set, "--set")
    loaded = load(options.target, settings, build=partial(built, names=options.public))
    for path, value in loaded.parameters.items():
        _at(loaded.model, path).value = value
    pictures = pictures_of(loaded.model) if options.pictures else None
    file = seal(
        loaded.model, options.out, public=options.public, pictures=pictures, recipients=options.recipient,
        targets=options.machines, contact=options.contact, placed=options.placed,
    )  # fmt: skip
    print(text_of(file))
    return 0


def _at(model: Any, path: str) -> Any:
    """The element at a path."""
    from kompono.model.subsystem import relative_path

    return next(element for element in model.walk() if relative_path(element, model) == path)
