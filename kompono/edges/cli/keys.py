"""`kompono keys`: make and show the key you seal parts with, and open locked ones with."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kompono.sealed import crypto, keys


def add_command(commands: Any) -> None:
    """Add `keys` to the command line."""
    parser = commands.add_parser("keys", help="make or show your key for sealed parts", description=__doc__)
    actions = parser.add_subparsers(required=True, metavar="new|show")
    new = actions.add_parser("new", help="make your key; one that is there is never replaced")
    new.add_argument("--name", required=True, help="your name or that of your company, as users of your parts see it")
    new.set_defaults(command=make)
    show = actions.add_parser("show", help="print your name and fingerprints")
    show.add_argument("--out", metavar="FILE", help="write your card there: what others need to trust or lock for you")
    show.set_defaults(command=print_key)


def make(options: argparse.Namespace) -> int:
    """Make the key."""
    identity = keys.make(options.name)
    print(f"made {keys.place()}; whoever has this file can sign in your name")
    _print(identity)
    return 0


def print_key(options: argparse.Namespace) -> int:
    """Show the key."""
    identity = keys.needed()
    _print(identity)
    if options.out:
        Path(options.out).write_text(identity.card.text(), encoding="utf-8")
        print(f"card:        {options.out}")
    return 0


def _print(identity: keys.Identity) -> None:
    card = identity.card
    print(f"name:        {card.name}")
    print(f"fingerprint: {card.fingerprint}")
    print(f"locked for:  {crypto.fingerprint(card.recipient)}")
