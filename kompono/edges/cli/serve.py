"""`kompono serve`: let customers use parts that stay here. Code, numbers and states never leave this machine."""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kompono.edges.cli.complain import say
from kompono.edges.cli.load import load_named
from kompono.edges.cli.sealed import SUFFIX
from kompono.errors import RemoteError, RunError

if TYPE_CHECKING:
    from kompono.remote import Opener, Served
    from kompono.remote.credentials import Credentials

KEEPER = "kompono.elsewhere.serve"  # its `opener(path)` makes servants of a sealed file


def add_command(commands: Any) -> None:
    """Add `serve` to the command line."""
    parser = commands.add_parser("serve", help="let customers use parts that stay here", description=__doc__)
    parser.set_defaults(command=command)
    parser.add_argument(
        "parts", nargs="+", metavar=f"[NAME=]FILE{SUFFIX}",
        help="sealed parts, or FILE.py:NAME of a function that opens sessions (see docs/remote.md)",
    )  # fmt: skip
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at; without it, only on this machine")
    parser.add_argument("--port", type=int, default=7443)
    tls = parser.add_argument_group("certificates (kompono cert new)")
    tls.add_argument("--cert", metavar="FILE.pem", help="your certificate")
    tls.add_argument("--key", metavar="FILE.key", help="its key")
    tls.add_argument("--authority", metavar="FILE.pem", help="who signs your customers' certificates")
    tls.add_argument(
        "--insecure-loopback", action="store_true", help="without TLS, for whoever is on this machine; for trials"
    )
    limits = parser.add_argument_group("customers and limits")
    limits.add_argument("--clients", metavar="FILE.toml", help="who may use which part, and how much")
    limits.add_argument("--sessions", type=int, default=64, help="at the same time (64)")
    limits.add_argument(
        "--idle", type=float, default=600.0, metavar="SECONDS", help="until a session is put away (600)"
    )
    limits.add_argument("--largest-frame", type=int, default=16 << 20, metavar="BYTES", help="of a message (16 MiB)")
    limits.add_argument("--snapshot-every", type=int, default=64, metavar="FRAMES", help="and every second (64)")
    kept = parser.add_argument_group("what is kept")
    kept.add_argument("--state", metavar="FOLDER", help="key for snapshots, counts, log; in the configuration folder")
    kept.add_argument("--log", metavar="FILE", help="the audit log (audit.jsonl in the folder)")


def command(options: argparse.Namespace) -> int:
    """Serve until somebody asks to end."""
    from kompono.remote.allowed import read_allowed
    from kompono.remote.server import Server

    shown = _credentials(options)
    if shown is not None and options.clients is None:
        raise RemoteError("nobody is allowed anything.", fix="Give --clients FILE.toml: see docs/remote.md.")
    rules = _rules(options)
    if not 0 <= options.port < 1 << 16:
        raise RemoteError(f"--port {options.port}: ports are numbers up to 65535.")
    parts = _parts(options.parts)
    allowed = read_allowed(options.clients, parts) if options.clients is not None else None
    server = Server(
        parts, host=options.host, port=options.port, credentials=shown, allowed=allowed, state=options.state,
        log=options.log, rules=rules,
    )  # fmt: skip
    try:
        how = "TLS" if shown else "no TLS, whoever is on this machine"
        print(f"serving {', '.join(parts)} at {server.host}:{server.port} ({how}); Ctrl-C ends it", flush=True)
        while True:
            threading.Event().wait(1.0)
    except KeyboardInterrupt:
        return 0
    finally:
        if not server.close():
            say("a part is still busy and is left alone")
            os._exit(0)  # all is written; Python would wait for its thread


def _credentials(options: argparse.Namespace) -> Credentials | None:
    from kompono.remote import credentials

    files = {"--cert": options.cert, "--key": options.key, "--authority": options.authority}
    if options.insecure_loopback:
        given = [name for name, value in files.items() if value]
        if given:
            raise RemoteError(f"{given[0]} and --insecure-loopback contradict each other.", fix="Leave one out.")
        return None
    missing = [name for name, value in files.items() if not value]
    if missing:
        raise RemoteError(
            f"{', '.join(missing)} missing: parts are served with certificates on both sides.",
            fix="`kompono cert new` makes them; for trials on this machine there is --insecure-loopback.",
        )
    return credentials.read(options.cert, options.key, options.authority, "supplier")


def _rules(options: argparse.Namespace) -> Any:
    from kompono.remote.desk import Rules

    if min(options.sessions, options.snapshot_every) < 1 or options.largest_frame < 1024 or not options.idle > 0:
        raise RemoteError("a limit is too small: one session, one frame, 1024 bytes and some time are the least.")
    if options.sessions > 4096 or options.largest_frame > 1 << 28:
        raise RemoteError("a limit is too large: 4096 sessions and 256 MiB are the most.")
    return Rules(options.sessions, options.largest_frame, options.idle, options.snapshot_every)


def _parts(words: list[str]) -> dict[str, Served]:
    parts: dict[str, Served] = {}
    for word in words:
        given, equals, target = word.partition("=")
        target = target if equals else word
        name = given if equals else Path(target.partition(":")[0]).stem
        if name in parts:
            raise RemoteError(f"two parts are called {name!r}.", fix=f"Call one otherwise: NAME={target}")
        parts[name] = _served(target)
    return parts


def _served(target: str) -> Served:
    """A part on offer."""
    from kompono.remote import Served

    if target.endswith(SUFFIX):
        try:
            keeper = importlib.import_module(KEEPER)
        except ModuleNotFoundError:
            raise RunError(f"this Kompono cannot serve {SUFFIX} files.", fix="Use another version.") from None
        path, opener = Path(target), keeper.opener(target)
        if told := keeper.told_of_laws(target):
            say(told)
    else:
        if ":" not in target:
            raise RunError(f"{target}: serve a {SUFFIX} file, or FILE.py:NAME of what opens sessions.")
        path, opener = load_named(target)
        if not callable(opener):  # as far as can be told before somebody asks
            raise RunError(f"{target} is no function.", fix="It takes part, hello frame and customer; docs/remote.md.")
    return Served(cast("Opener", opener), hashlib.sha256(path.read_bytes()).digest())
