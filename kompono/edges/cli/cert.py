"""`kompono cert`: certificates with which suppliers serve parts and customers ask for them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kompono.errors import RemoteError


def add_command(commands: Any) -> None:
    """Add `cert` to the command line."""
    parser = commands.add_parser("cert", help="make or show certificates for remote parts", description=__doc__)
    actions = parser.add_subparsers(required=True, metavar="new|show")
    new = actions.add_parser(
        "new", help="make certificates, signed by an authority of your own that is made if there is none",
        description="Make certificates. What is there is never replaced; an authority in the folder signs them.",
    )  # fmt: skip
    new.add_argument("--folder", default=".", metavar="FOLDER", help="where they are written (here)")
    new.add_argument("--authority", metavar="NAME", help="name of the authority, if it is to be made (the supplier's)")
    new.add_argument("--supplier", metavar="NAME", help="make supplier.pem and supplier.key, to serve with")
    new.add_argument(
        "--host", action="append", default=[], metavar="HOST", help="of the supplier, as customers write it"
    )
    new.add_argument(
        "--customer", action="append", default=[], metavar="NAME", help="make NAME.pem and NAME.key, to ask with"
    )
    new.add_argument("--days", type=int, default=365, help="how long they are good (365)")
    new.set_defaults(command=make)
    show = actions.add_parser("show", help="print what a certificate says")
    show.add_argument("file", metavar="FILE.pem")
    show.set_defaults(command=print_facts)


def make(options: argparse.Namespace) -> int:
    """Make the authority, if there is none, and what is asked for."""
    from kompono.remote import certificates

    folder = Path(options.folder)
    if not (options.supplier or options.customer or options.authority):
        raise RemoteError(
            "say for whom.", fix='Try: kompono cert new --supplier "Ada Ltd" --host HOST --customer "Car Ltd"'
        )
    if options.host and not options.supplier:
        raise RemoteError("--host belongs to --supplier.", fix="A customer's certificate names no host.")
    made = {}
    authority = _authority(folder, options)
    if options.supplier:
        pair = certificates.make_supplier(authority, options.supplier, options.host, options.days)
        made["supplier"] = pair
    for name in options.customer:
        stem = certificates.slug(name)
        if stem in ("supplier", certificates.AUTHORITY) or stem in made:
            raise RemoteError(f"a file called {stem}.pem would be made twice.", fix="Make it in another folder.")
        made[stem] = certificates.make_customer(authority, name, options.days)
    certificates.check_new(folder, made)
    if not (folder / "authority.pem").exists():
        certificates.write_pair(folder, certificates.AUTHORITY, authority)
        _told(folder / "authority.pem", "the other side believes what it signed; authority.key makes more, keep it")
    for stem, pair in made.items():
        certificates.write_pair(folder, stem, pair)
        _told(folder / f"{stem}.pem", f"its key: {folder / f'{stem}.key'}, mode 600")
    return 0


def _authority(folder: Path, options: argparse.Namespace) -> Any:
    from kompono.remote import certificates, credentials

    if not (folder / "authority.pem").exists():
        name = options.authority or options.supplier or options.customer[0]
        return certificates.make_authority(f"{name} authority"[:64] if not options.authority else name)
    if options.authority:
        raise RemoteError(
            "there is an authority already.", path=str(folder / "authority.pem"),
            fix="Leave out --authority to sign with it, or name another folder.",
        )  # fmt: skip
    return credentials.read_pair(folder / "authority.pem", folder / "authority.key")


def _told(path: Path, note: str) -> None:
    print(f"made {path} ({note})")
    _print(path)


def print_facts(options: argparse.Namespace) -> int:
    """Show a certificate."""
    _print(Path(options.file))
    return 0


def _print(path: Path) -> None:
    from kompono.remote import credentials

    found = credentials.facts_in(path)
    rows = [
        ("name", found.name),
        ("for", {"supplier": "serving", "customer": "asking", "authority": "signing"}.get(found.role, "anything")),
        ("hosts", ", ".join(found.hosts)),
        ("signed by", found.issuer),
        ("good", f"{found.begins:%Y-%m-%d} to {found.ends:%Y-%m-%d}{credentials.doubt(found)}"),
        ("fingerprint", found.fingerprint),
    ]
    print("\n".join(f"  {name + ':':13}{_plain(value)}" for name, value in rows if value))


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
