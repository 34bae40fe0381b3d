"""`kompono trust`: whose sealed parts may run on this machine. They are machine code and run with your rights."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kompono.edges.cli.sealed import SUFFIX
from kompono.sealed import crypto, keys, read_sealed, trust


def add_command(commands: Any) -> None:
    """Add `trust` to the command line."""
    parser = commands.add_parser("trust", help="authors whose sealed parts you run", description=__doc__)
    actions = parser.add_subparsers(required=True, metavar="add|list|remove")
    new = actions.add_parser("add", help="trust the author of a sealed part, or of a card")
    new.add_argument("file", metavar="FILE")
    new.set_defaults(command=add)
    actions.add_parser("list", help="show whom you trust").set_defaults(command=show)
    gone = actions.add_parser("remove", help="trust an author no more")
    gone.add_argument("author", metavar="NAME|FINGERPRINT")
    gone.set_defaults(command=remove)


def add(options: argparse.Namespace) -> int:
    """Trust whoever signed a file."""
    key, name = _author(options.file)
    new = trust.add(key, name)
    print(f"author:      {name}")
    print(f"fingerprint: {crypto.fingerprint(key)}")
    print("trusted from now on; compare the fingerprint with what the author told you" if new else "trusted already")
    return 0


def _author(path: str) -> tuple[bytes, str]:
    if Path(path).suffix == SUFFIX:
        manifest = read_sealed(path).manifest
        return manifest.key, manifest.author
    card = keys.read_card(path)
    return card.author, card.name


def show(_: argparse.Namespace) -> int:
    """List trusted authors."""
    for key, name in trust.trusted().items():
        print(f"{crypto.fingerprint(key)}  {name}")
    return 0


def remove(options: argparse.Namespace) -> int:
    """Trust somebody no more."""
    for name in trust.remove(options.author):
        print(f"{name} is not trusted any more")
    return 0
