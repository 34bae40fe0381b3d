"""`kompono run --realtime`: options of runs in step with the clock."""

from __future__ import annotations

import argparse
from typing import Any

from kompono.errors import RunError

NEEDS_REALTIME = ("frame", "speed", "behind", "keep", "udp", "shared_memory", "send", "receive", "wait", "key_file")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options; they belong to `--realtime`."""
    group = parser.add_argument_group("real time")
    add = group.add_argument
    add("--realtime", action="store_true", help="keep in step with the clock; --until inf runs until Ctrl-C")
    add("--frame", type=float, metavar="T", help="distance of frames [s] (default 0.01)")
    add("--speed", type=float, metavar="X", help="simulated seconds per second (default 1)")
    add("--behind", choices=("catch-up", "slip"), help="what a late run does (default catch-up)")
    add("--keep", type=float, metavar="T", help="keep only the last so many simulated seconds")
    add("--udp", metavar="[HOST:]PORT", help="exchange packets here (default host 127.0.0.1: this machine only)")
    add("--shared-memory", metavar="NAME", help="exchange packets in shared memory")
    add("--send", action="append", metavar="GLOB", help="channels to send each frame; may be repeated")
    add("--wait", type=float, metavar="T", help="begin when the other side is heard, within T seconds")
    add(
        "--key-file",
        metavar="FILE",
        help="hear over UDP only who has the key in this file (mode 600, 16 bytes or more)",
    )
    add("--receive", action="append", metavar="INPUT", help="inputs to receive (default all); may be repeated")


def request(options: argparse.Namespace) -> dict[str, Any]:
    """Keyword arguments of `simulate` for a run in real time, none for others."""
    given = {name: getattr(options, name) for name in NEEDS_REALTIME if getattr(options, name) is not None}
    if not options.realtime:
        for name in given:
            raise RunError(f"--{name.replace('_', '-')} belongs to runs in real time.", fix="Add --realtime.")
        return {}
    from kompono.realtime import RealTime

    plain = {name: given[name] for name in ("frame", "speed", "keep") if name in given}
    if "behind" in given:
        plain["behind"] = given["behind"].replace("-", " ")
    return {"realtime": RealTime(on_frame=_links(given), **plain)}


def _links(given: dict[str, Any]) -> list[Any]:
    from kompono.realtime import SharedMemory, Udp, key_from_file

    wanted = [name for name in ("udp", "shared_memory") if name in given]
    if not wanted and ("send" in given or "receive" in given):
        raise RunError("--send and --receive need a way.", fix="Add --udp PORT or --shared-memory NAME.")
    if wanted and "send" not in given:
        raise RunError(f"--{wanted[0].replace('_', '-')} needs channels to send.", fix="Add e.g. --send 'pin.*'.")
    if "key_file" in given and "udp" not in given:
        raise RunError("--key-file is for packets over UDP.", fix="Add --udp PORT, or leave it out.")
    names = {"outputs": given.get("send", []), "inputs": given.get("receive"), "wait": given.get("wait", 0.0)}
    links: list[Any] = []
    if "udp" in given:
        host, _, port = given["udp"].rpartition(":")
        if not port.isdecimal() or int(port) > 65_535:
            raise RunError(f"--udp {given['udp']}: expected [HOST:]PORT.", fix="Use e.g. --udp 5005.")
        key = key_from_file(given["key_file"]) if "key_file" in given else None
        links.append(Udp(int(port), host=host.strip("[]") or "127.0.0.1", key=key, **names))
    if "shared_memory" in given:
        links.append(SharedMemory(given["shared_memory"], **names))
    return links
