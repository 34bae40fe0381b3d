"""Live runs driven from outside, over UDP and shared memory, by a client in another thread or process."""

from __future__ import annotations

import math
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time as clock
from collections.abc import Callable
from typing import Any

import pytest
from realtime.support import Cart, V, X, control

from kompono import Result, RunError, simulate
from kompono.realtime import LiveFrame, RealTime, SharedMemory, SharedMemoryClient, Udp, UdpClient
from kompono.realtime.link import Client, Link
from kompono.realtime.packet import HEADER, INPUTS, MAGIC, encode, layout_mark
from kompono.realtime.shared import memory_file

NAMES = {"inputs": ["force"], "outputs": [X, V]}
KINDS = ("udp", "shared memory")


def pair(kind: str, **options: Any) -> tuple[Link, Callable[[], Client]]:
    """A link, and what makes its client; the port of UDP is chosen by the system when the run begins."""
    if kind == "udp":
        link = Udp(free_port(), **NAMES, **options)
        return link, lambda: UdpClient(link.port, **NAMES, timeout=120.0)  # the model may have to be compiled first
    name = f"test-{os.getpid()}-{threading.get_ident()}"
    return SharedMemory(name, **NAMES), lambda: SharedMemoryClient(name, **NAMES, timeout=120.0)


def unique(name: str) -> str:
    """A name of a shared memory that no other test run has."""
    return f"test-{name}-{os.getpid()}"


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def drive(make: Callable[[], Client], story: list[dict[str, float]], most: int = 10**9) -> None:
    """The controller of the tests."""
    with make() as client:
        for frame in client:
            story.append({**frame, "time": client.time})
            client.send({"force": control(frame[X], frame[V])})
            if len(story) >= most:
                return


def run(link: Link, *others: Any, first: Any = (), until: float = 2.0) -> Result:
    """As fast as it goes; `first` are called before the link, `others` after it."""
    options = RealTime(frame=0.005, speed=math.inf, on_frame=[*first, link, *others])
    return simulate(Cart(), until=until, channels=[X, V, "force"], realtime=options)


def patient(link: Any) -> Callable[[LiveFrame], None]:
    """An observer that gives the other side time to answer each frame, whatever else the machine has to do."""

    def wait(frame: LiveFrame) -> None:
        if frame.number == 0 and isinstance(link, SharedMemory):
            return  # there is nothing to answer yet
        end = clock.monotonic() + (60.0 if frame.number < 2 else 20.0)
        while not pending() and clock.monotonic() < end:
            clock.sleep(1e-4)

    def pending() -> bool:
        if isinstance(link, Udp):
            return bool(select.select([link._socket], [], [], 0)[0])
        return link._memory.read(link._second, link._memory.size) not in (
            link._seen,
            bytes(link._memory.size - link._second),
        )

    return wait


def report(result: Result) -> dict[str, Any]:
    (found,) = result.statistics["realtime"]["links"]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_steers_the_cart(kind: str) -> None:
    link, make = pair(kind)
    story: list[dict[str, float]] = []
    other = threading.Thread(target=drive, args=(make, story))
    other.start()
    result = run(link, first=[patient(link)])
    other.join(timeout=120)
    assert not other.is_alive()  # it was told that the run is over
    assert result.status.ok
    assert abs(result[X][-1]) < 0.01
    assert result["force"].min() < -10
    for frame in story[:: len(story) // 5]:  # what it saw is what happened
        assert result.at(min(frame["time"], 2.0))[X] == pytest.approx(frame[X], abs=1e-9)
    found = report(result)
    assert found["accepted"] > 50
    assert not found["ignored"]
    assert f"{found['accepted']} accepted" in result.summary()


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_client_takes_over(kind: str) -> None:
    link, make = pair(kind)
    first: list[dict[str, float]] = []
    second: list[dict[str, float]] = []

    def both() -> None:
        drive(make, first, most=20)
        drive(make, second)

    other = threading.Thread(target=both)
    other.start()
    result = run(link, first=[patient(link)])
    other.join(timeout=120)
    assert len(first) == 20
    assert len(second) > 20
    assert abs(result[X][-1]) < 0.01
    assert "stale" not in report(result)["ignored"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_in_another_process_needs_five_lines(kind: str) -> None:
    link, _ = pair(kind)
    client = "UdpClient" if kind == "udp" else "SharedMemoryClient"
    name = link.port if isinstance(link, Udp) else repr(link.path.name.split("-", 2)[2])
    program = f"""
from kompono.realtime import SharedMemoryClient, UdpClient
with {client}({name}, inputs=["force"], outputs=["{X}", "{V}"], timeout=120) as cart:
    for frame in cart:
        cart.send({{"force": -25 * frame["{X}"] - 10 * frame["{V}"]}})
"""
    other = subprocess.Popen([sys.executable, "-c", program])
    try:
        result = run(link, first=[patient(link)])
        assert other.wait(timeout=120) == 0
    finally:
        other.kill()
    assert result.status.ok
    assert abs(result[X][-1]) < 0.01


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_needs_to_be_there(kind: str) -> None:
    result = run(pair(kind)[0], until=0.2)
    assert result.status.ok
    assert report(result)["accepted"] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_can_wait_for_the_other_side(kind: str) -> None:
    link, make = pair(kind)
    link.wait = 60.0
    story: list[dict[str, float]] = []
    other = threading.Timer(0.2, drive, args=(make, story))
    other.start()
    result = run(link, first=[patient(link)], until=0.1)
    other.join(timeout=120)
    assert result.status.ok
    assert story[0]["time"] == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_it_does_not_wait_for_ever(kind: str) -> None:
    link, _ = pair(kind)
    link.wait = 0.05
    with pytest.raises(RunError, match=r"nobody was heard within 0\.05 s"):
        run(link)
    link.wait = 0.0
    assert run(link, until=0.01).status.ok  # nothing was left open


def test_wrong_packets_never_disturb_a_run() -> None:
    link = Udp(free_port(), **NAMES)
    mark = layout_mark(["force"], [X, V])
    other = layout_mark(["force"], [V, X])
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    bad = [
        b"", b"hello", os.urandom(2000), b"KOMP" + bytes(60_000),
        encode(INPUTS, mark, 5, 0.0, [float("nan")]),
        encode(INPUTS, mark, 5, 0.0, [1.0, 2.0]),
        encode(INPUTS, other, 5, 0.0, [1.0]),
        encode(INPUTS, mark, 5, 0.0, [1.0], checksum=False),
        encode(INPUTS, mark, 5, 0.0, [1.0])[:-1] + b"\0",
    ]  # fmt: skip

    def observe(frame: LiveFrame) -> None:
        if frame.number < 5:
            for data in bad:
                sender.sendto(data, ("127.0.0.1", link.port))
        if frame.number == 6:
            sender.sendto(encode(INPUTS, mark, 6, 0.0, [2.0]), ("127.0.0.1", link.port))

    with sender:
        result = run(link, observe, until=0.1)
    found = report(result)
    assert result.status.ok
    assert found["accepted"] == 1
    assert sum(found["ignored"].values()) == 5 * len(bad)
    assert set(found["ignored"]) >= {"length", "layout", "checksum", "not finite"}
    assert result.at(0.03)["force"] == 0.0
    assert result.at(0.05)["force"] == 2.0  # sent at 0.03, taken at 0.035


def test_a_flood_cannot_hold_up_a_run() -> None:
    link = Udp(free_port(), **NAMES)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:

        def flood(frame: LiveFrame) -> None:
            for _ in range(600):
                sender.sendto(b"x", ("127.0.0.1", link.port))

        result = run(link, flood, until=0.05)
    assert result.status.ok
    assert 0 < report(result)["ignored"]["length"] <= 256 * 11


def test_with_a_peer_nobody_else_is_heard() -> None:
    link = Udp(free_port(), **NAMES, peer=("127.0.0.2", free_port()))
    mark = layout_mark(["force"], [X, V])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:

        def observe(frame: LiveFrame) -> None:
            sender.sendto(encode(INPUTS, mark, 1 + frame.number, 0.0, [7.0]), ("127.0.0.1", link.port))

        result = run(link, observe, until=0.05)
    assert result["force"].max() == 0.0
    assert report(result)["ignored"] == {"foreign": 10}


def test_udp_listens_on_this_machine_only() -> None:
    link = Udp(0, **NAMES)
    seen = []
    run(link, lambda frame: seen.append(link._socket.getsockname()), until=0.01)
    assert seen[0][0] == "127.0.0.1"
    assert link.port != 0


def test_a_port_in_use_is_an_error_before_the_run() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(RunError, match=r"cannot listen on 127\.0\.0\.1"):
            run(Udp(taken.getsockname()[1], **NAMES))
    with pytest.raises(RunError, match="no address"):
        run(Udp(5005, host="no.such.host.invalid", **NAMES))


def test_unknown_names_are_errors_before_the_run() -> None:
    with pytest.raises(RunError, match=r"no channel among those recorded 'cart\.x'"):
        run(Udp(0, outputs=["cart.x"]))
    with pytest.raises(RunError, match=r"no input to be written 'forse'.*'force'"):
        run(Udp(0, outputs=X, inputs=["forse"]))


def test_a_client_waits_no_longer_than_told() -> None:
    with UdpClient(free_port(), **NAMES, timeout=0.2) as client, pytest.raises(TimeoutError, match=r"for 0\.2 s"):
        client.receive()
    client = SharedMemoryClient("nobody-offers-this", **NAMES, timeout=0.1)
    with pytest.raises(TimeoutError), client:
        pass


def test_a_client_is_told_what_it_sends_wrongly() -> None:
    names = {"inputs": ["force", "wind"], "outputs": [X]}
    with UdpClient(free_port(), **names) as client:
        with pytest.raises(RunError, match=r"'forse' is not among the inputs.*'force'"):
            client.send({"forse": 1.0})
        with pytest.raises(RunError, match="wind: it has no value yet"):
            client.send({"force": 1.0})
        client.send({"force": 1.0, "wind": 2.0})
        client.send({"force": 3.0})


# -- shared memory


def test_shared_memory_is_of_this_user_and_gone_afterwards() -> None:
    link = SharedMemory(unique("own"), **NAMES)
    modes = []
    run(link, lambda frame: modes.append(link.path.stat().st_mode & 0o777), until=0.01)
    assert set(modes) == {0o600}
    assert not link.path.exists()


def test_two_runs_cannot_share_a_memory() -> None:
    link, again = SharedMemory(unique("twice"), **NAMES), SharedMemory(unique("twice"), **NAMES)
    with pytest.raises(RunError, match="another run uses the shared memory"):
        run(link, again)
    assert run(link, until=0.01).status.ok


def test_a_memory_left_by_a_dead_run_is_taken() -> None:
    memory_file(unique("dead")).write_bytes(b"old")
    link = SharedMemory(unique("dead"), **NAMES)
    assert run(link, until=0.01).status.ok


@pytest.mark.parametrize("name", ["", "../x", "a b", "x" * 101])
def test_names_of_memories_are_plain(name: str) -> None:
    with pytest.raises(RunError, match="no name of a shared memory"):
        SharedMemory(name, **NAMES)


def test_a_half_written_packet_is_not_taken() -> None:
    link = SharedMemory(unique("torn"), **NAMES)
    whole = encode(INPUTS, layout_mark(["force"], [X, V]), 1, 0.0, [5.0])

    def observe(frame: LiveFrame) -> None:
        memory = link._memory
        if frame.number == 2:  # header and values are there, the checksum is not
            memory.write(link._second, whole[:-4])
        if frame.number == 4:
            memory.write(link._second, whole)

    result = run(link, observe, until=0.05)
    assert report(result)["ignored"] == {"checksum": 1}
    assert report(result)["accepted"] == 1
    assert result.at(0.0195)["force"] == 0.0
    assert result.at(0.03)["force"] == 5.0


def test_a_client_with_other_names_is_refused() -> None:
    link = SharedMemory(unique("names"), **NAMES)
    errors = []

    def observe(frame: LiveFrame) -> None:
        for outputs in ([X] * 9, [V, X]):
            try:
                with SharedMemoryClient(unique("names"), inputs=["force"], outputs=outputs, timeout=0.05) as client:
                    client.receive()
            except (RunError, TimeoutError) as error:
                errors.append(str(error))

    run(link, observe, until=0.005)
    assert "other numbers of inputs and outputs" in errors[0]
    assert "ignored: {'layout': 1}" in errors[1]


def test_the_slots_are_where_the_table_says() -> None:
    link = SharedMemory(unique("slots"), **NAMES)
    seen = []
    run(link, lambda frame: seen.append(link.path.read_bytes()), until=0.01)
    assert seen[0][:4] == MAGIC
    x, v = struct.unpack_from("<2d", seen[0], HEADER.size)
    assert (x, v) == (1.0, 0.0)
    assert len(seen[0]) == 64 + HEADER.size + 8 + 4
