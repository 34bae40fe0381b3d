"""Two computers on one machine: the server in a network namespace of its own, reached over a virtual cable."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from remote.support import FRAMES, HELLO, Papers, Process, undisturbed

from kompono.remote import LinkLost
from kompono.remote.line import Line

SPACE, HERE, THERE = f"kompono-{os.getpid()}", "10.77.1.1", "10.77.1.2"
NEAR, FAR = f"kn{os.getpid()}"[:15], f"kf{os.getpid()}"[:15]


def ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True, capture_output=True, text=True)


@pytest.fixture
def cable() -> Iterator[str]:
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and the command ip")
    try:
        ip(f"netns add {SPACE}")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespaces here: {error.stderr.strip()}")
    try:
        for words in (
            f"link add {NEAR} type veth peer name {FAR}",
            f"link set {FAR} netns {SPACE}",
            f"addr add {HERE}/30 dev {NEAR}",
            f"link set {NEAR} up",
            f"-n {SPACE} addr add {THERE}/30 dev {FAR}",
            f"-n {SPACE} link set {FAR} up",
            f"-n {SPACE} link set lo up",
        ):
            ip(words)
        yield SPACE
    finally:
        subprocess.run(["ip", "link", "del", NEAR], check=False, capture_output=True)  # at once, both ends
        subprocess.run(["ip", "netns", "del", SPACE], check=False)


def test_a_supplier_elsewhere(cable: str, state: Path, papers: Papers, tmp_path: Path) -> None:
    place, clients = papers.folder, tmp_path / "clients.toml"
    clients.write_text('[[customer]]\nname = "Car Ltd"\nparts = ["sum"]\n')
    words = [
        "--cert",
        f"{place}/supplier.pem",
        "--key",
        f"{place}/supplier.key",
        "--authority",
        f"{place}/authority.pem",
    ]
    inside = ("ip", "netns", "exec", cable)
    options = {"credentials": papers.customer("Car Ltd"), "patience": 20.0}
    process = Process(state, 7443, *words, "--clients", str(clients), "--host", THERE, prefix=inside)
    asked = Line(f"{THERE}/sum", HELLO, **options)
    replies = [asked.ask(frame) for frame in FRAMES[:20]]
    process.kill()
    process = Process(state, 7443, *words, "--clients", str(clients), "--host", THERE, prefix=inside)
    replies += [asked.ask(frame) for frame in FRAMES[20:]]
    assert replies == undisturbed()
    assert asked.restored == 1
    asked.patience = 1.0
    ip(f"link set {NEAR} down")
    with pytest.raises(LinkLost):
        asked.ask(FRAMES[0])
    process.end()
