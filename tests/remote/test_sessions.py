"""Replies are those of the part itself, each frame is evaluated once, whatever the network and the server do."""

from __future__ import annotations

import json
import os
import signal
import struct
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from remote.summing import RELEASED, Summing, opener, stuck
from remote.support import FRAMES, Papers, Process, free_port, line, proxy, served, server, undisturbed

from kompono.errors import RemoteError
from kompono.interruption import listening
from kompono.remote import LinkLost, Refused, certificates
from kompono.remote.allowed import Allowed, Grant
from kompono.remote.desk import Rules
from kompono.remote.kept import WINDOW
from kompono.remote.server import Server
from kompono.remote.session import Replaced


def log(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(row) for row in (folder / "audit.jsonl").read_text().splitlines()]


def test_replies_are_those_without_a_network(state: Path, papers: Papers) -> None:
    with server(state, papers) as host, line(host.port, papers.customer("Car Ltd")) as asked:
        assert asked.welcome == b"sum for Car Ltd"
        assert [asked.ask(frame) for frame in FRAMES] == undisturbed()
        assert (asked.round_trips, asked.reconnected, asked.restored) == (len(FRAMES), 0, 0)
    rows = log(state)
    assert [row["what"] for row in rows] == ["started", "opened", "ended", "stopped"]
    assert rows[2]["who"] == "Car Ltd"
    assert (rows[2]["frames"], rows[2]["evaluations"]) == (len(FRAMES), len(FRAMES))
    assert (state / "audit.jsonl").stat().st_mode & 0o777 == 0o600


def test_frames_are_posted_ahead_and_collected_in_any_order(state: Path) -> None:
    with server(state) as host, line(host.port) as asked:
        tickets = [asked.post(frame) for frame in FRAMES[:WINDOW]]
        with pytest.raises(RemoteError, match="under way"):
            asked.post(FRAMES[0])
        replies = {ticket: asked.collect(ticket) for ticket in reversed(tickets)}
        assert [replies[ticket] for ticket in tickets] == undisturbed(FRAMES[:WINDOW])
        with pytest.raises(RemoteError, match="no reply to collect"):
            asked.collect(tickets[0])
        asked.ask(FRAMES[0])


def test_several_parts_work_at_the_same_time(state: Path) -> None:
    """Each waits inside its answer until all are there: one after the other they would wait for ever."""
    count = 4
    together = threading.Barrier(count, timeout=60.0)

    class Meeting(Summing):
        def answer(self, frame: bytes) -> bytes:
            together.wait()
            return super().answer(frame)

    with server(state, parts={"sum": served(lambda *_: (Meeting(0.5), b""))}) as host:
        lines = [line(host.port) for _ in range(count)]
        for frame, reply in zip(FRAMES[:3], undisturbed(FRAMES[:3]), strict=True):
            tickets = [one.post(frame) for one in lines]
            assert [one.collect(ticket) for one, ticket in zip(lines, tickets, strict=True)] == [reply] * count
        for one in lines:
            one.close()


@pytest.mark.parametrize("frames", [3, 64])
def test_a_server_that_is_killed_and_comes_back(state: Path, frames: int) -> None:
    """With and without a snapshot at hand."""
    port, replies = free_port(), []
    process = Process(state, port, "--snapshot-every", str(frames))
    with line(port, patience=30.0) as asked:
        for k, frame in enumerate(FRAMES):
            if k in (17, 30):
                process.kill()
                process = Process(state, port, "--snapshot-every", str(frames))
            replies.append(asked.ask(frame))
        assert replies == undisturbed()
        assert (asked.restored, asked.round_trips) == (2, len(FRAMES))
    assert process.end(signal.SIGINT) == (0, "")
    words = [row["what"] for row in log(state)]
    again = "restored" if frames == 3 else "opened"
    assert words == ["started", "opened", "started", again, "started", again, "ended", "stopped"]


def test_a_supplier_with_a_new_certificate(state: Path, papers: Papers) -> None:
    """It is renewed while a run is going: signed by the same authority, it is believed, and no bit changes."""
    port, shown = free_port(), papers.customer("Car Ltd")
    papers.put("renewed", certificates.make_supplier(papers.authority, "Ada", ["127.0.0.1"], 2))
    with server(state, papers, port=port):
        asked = line(port, shown, patience=30.0)
        replies = [asked.ask(frame) for frame in FRAMES[:9]]
    renewed = papers.read("renewed", "supplier")
    allowed = Allowed((Grant("Car Ltd", "", ("*",)),))
    with Server({"sum": served()}, state=state, port=port, credentials=renewed, allowed=allowed):
        replies += [asked.ask(frame) for frame in FRAMES[9:]]
        assert asked.restored == 1
        asked.close()
    assert replies == undisturbed()


def test_a_server_killed_while_frames_are_under_way(state: Path) -> None:
    port = free_port()
    process = Process(state, port, "--snapshot-every", "5")
    with line(port, patience=30.0) as asked:
        replies = [asked.ask(frame) for frame in FRAMES[:12]]
        tickets = [asked.post(frame) for frame in FRAMES[12:20]]
        process.kill()
        process = Process(state, port)
        replies += [asked.collect(ticket) for ticket in tickets]
        replies += [asked.ask(frame) for frame in FRAMES[20:]]
        assert replies == undisturbed()
    process.end()


def test_a_link_that_is_cut_and_comes_back(state: Path) -> None:
    """The session lives on at the server, and no frame is evaluated twice."""
    made: list[Summing] = []

    def remembered(*given: Any) -> tuple[Summing, bytes]:
        servant, welcome = opener(*given)
        made.append(servant)
        return servant, welcome

    with server(state, parts={"sum": served(remembered)}) as host, proxy(host.port) as network:
        asked, replies = line(network.port), []
        for k, frame in enumerate(FRAMES):
            ticket = asked.post(frame)
            if k % 9 == 4:
                network.cut()
            replies.append(asked.collect(ticket))
        assert replies == undisturbed()
        assert (asked.reconnected, asked.restored, len(made)) == (4, 0, 1)
        assert made[0].evaluations == len(FRAMES)
        asked.close()


def test_a_link_that_is_cut_while_a_frame_is_evaluated(state: Path) -> None:
    """Who comes back waits for the evaluation that is under way, and gets its reply."""
    inside, go, made = threading.Event(), threading.Event(), Summing(0.5)

    def answer(frame: bytes) -> bytes:
        inside.set()
        assert go.wait(10.0)
        return Summing.answer(made, frame)

    made.answer = answer
    parts = {"sum": served(lambda *_: (made, b""))}
    with server(state, parts=parts) as host, proxy(host.port) as network, line(network.port) as asked:
        ticket = asked.post(FRAMES[0])
        assert inside.wait(10.0)
        network.cut()
        threading.Timer(0.5, go.set).start()
        assert asked.collect(ticket) == undisturbed()[0]
        assert (made.evaluations, asked.reconnected, asked.restored) == (1, 1, 0)


def test_a_link_that_is_cut_for_good(state: Path) -> None:
    with server(state) as host, proxy(host.port) as network:
        asked = line(network.port, patience=0.8)
        assert asked.ask(FRAMES[0]) == undisturbed()[0]
        network.close()
        with pytest.raises(LinkLost, match=r"nobody listens .* tried for 0.8 s"):
            asked.ask(FRAMES[1])
        with pytest.raises(LinkLost):  # and stays so
            asked.ask(FRAMES[1])
        asked.close()
        with line(host.port, kept=asked.keep()) as later:  # there is another way
            assert [later.ask(frame) for frame in FRAMES[1:]] == undisturbed()[1:]


def test_a_link_that_breaks_at_the_same_frame_for_ever(state: Path) -> None:
    """To be connected is not enough."""

    class Breaking(Summing):
        def answer(self, frame: bytes) -> bytes:
            if frame == FRAMES[2]:
                raise Replaced  # ends the stream
            return super().answer(frame)

    with server(state, parts={"sum": served(lambda *_: (Breaking(0.5), b""))}) as host:
        asked = line(host.port, patience=0.8)
        assert [asked.ask(frame) for frame in FRAMES[:2]] == undisturbed(FRAMES[:2])
        with pytest.raises(LinkLost, match=r"ended the connection; tried for 0\.8 s"):
            asked.ask(FRAMES[2])
        assert asked.reconnected > 1


def test_a_server_that_does_not_answer(state: Path) -> None:
    """A stopped process is a link that is silent."""
    process = Process(state, port := free_port())
    asked = line(port, patience=1.0)
    asked.ask(FRAMES[0])
    process.process.send_signal(signal.SIGSTOP)
    os.waitpid(process.process.pid, os.WUNTRACED)  # its threads stop one by one
    try:
        with pytest.raises(LinkLost, match=r"no answer for 1\.\d s"):
            asked.ask(FRAMES[1])
    finally:
        process.process.send_signal(signal.SIGCONT)
        process.end()


def test_a_run_that_is_asked_to_end_waits_no_longer(state: Path) -> None:
    """From the moment there is something to keep, Ctrl-C is only noted; a line that waits looks at it."""
    with server(state, parts={"sum": served(stuck)}) as host, listening() as heard:
        heard.keep()
        asked = line(host.port, patience=60.0)
        asked.ask(FRAMES[0])
        threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
        with pytest.raises(LinkLost, match="no answer"):
            asked.ask(FRAMES[1])
        RELEASED.set()
        assert heard.asked == 1


def test_sessions_nobody_uses_are_put_away_and_brought_back(state: Path) -> None:
    with server(state, rules=Rules(idle=0.3, frames=4)) as host, line(host.port) as asked:
        replies = [asked.ask(frame) for frame in FRAMES[:10]]
        until = time.monotonic() + 60.0
        while "put away" not in [row["what"] for row in log(state)] and time.monotonic() < until:
            time.sleep(0.05)
        replies += [asked.ask(frame) for frame in FRAMES[10:]]
        assert replies == undisturbed()
        assert asked.restored == 1


def test_a_run_goes_on_in_another_process(state: Path) -> None:
    with server(state, rules=Rules(frames=4)) as host:
        with line(host.port) as asked:
            replies = [asked.ask(frame) for frame in FRAMES[:10]]
            kept = asked.keep()
            with pytest.raises(RemoteError, match="still to be collected"):
                (asked.post(FRAMES[10]), asked.keep())
        for _ in range(2):  # as often as one likes
            with line(host.port, kept=kept) as later:
                assert replies + [later.ask(frame) for frame in FRAMES[10:]] == undisturbed()
        with pytest.raises(RemoteError, match="is damaged"):
            line(host.port, kept=kept[:-1])


def test_a_part_that_was_changed_meanwhile_is_refused(state: Path) -> None:
    def other(*_: Any) -> tuple[Summing, bytes]:
        return Summing(0.75), b""

    with server(state) as host:
        asked = line(host.port)
        asked.ask(FRAMES[0])
        kept = asked.keep()
        asked.close()
    with server(state, parts={"sum": served(digest=bytes(31) + b"1")}) as host, pytest.raises(Refused, match="changed"):
        line(host.port, kept=kept)
    with server(state, parts={"sum": served(other)}) as host:
        later = line(host.port, kept=kept)
        with pytest.raises(Refused, match="answered differently"):
            later.ask(FRAMES[1])


def test_a_part_that_fails_tells_the_supplier_only(state: Path) -> None:
    with server(state) as host:
        asked = line(host.port)
        with pytest.raises(Refused, match="the part failed") as caught:
            asked.ask(b"fail")
        assert "secret" not in str(caught.value)
        assert "ZeroDivisionError: secret 42" in (state / "audit.jsonl").read_text()
        with pytest.raises(Refused, match="the part failed") as caught:
            line(host.port).ask(b"inside")
        assert "spring" not in str(caught.value)
        with pytest.raises(Refused, match="frames are doubles"):
            line(host.port).ask(b"odd")
        with pytest.raises(Refused, match="a hello is one double"):
            type(asked)(f"127.0.0.1:{host.port}/sum", b"", insecure=True)


def test_two_servers_do_not_share_a_folder_or_a_port(state: Path, tmp_path: Path) -> None:
    with server(state) as host:
        with pytest.raises(RemoteError, match="another server uses this folder"):
            server(state)
        with pytest.raises(RemoteError, match="cannot listen"):
            server(tmp_path / "other", port=host.port)


def test_numbers_in_frames_have_their_bits(state: Path) -> None:
    odd = [struct.pack("<Q", bits) for bits in (0x7FF8000000000001, 0x8000000000000000, 1, 0x7FF0000000000000)]
    with server(state) as host, line(host.port) as asked:
        assert [asked.ask(frame) for frame in odd] == undisturbed(odd)
