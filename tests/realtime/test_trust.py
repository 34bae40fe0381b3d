"""Links keep strangers out: one sender at a time, numbers that do not leap, keys, and files of this user alone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time as clock
from pathlib import Path
from typing import Any

import pytest
from realtime.support import Cart, V, X
from realtime.test_links import NAMES, drive, free_port, patient, report, run, unique

from kompono import RunError, simulate
from kompono.edges.cli import main
from kompono.realtime import LiveFrame, RealTime, SharedMemory, SharedMemoryClient, Udp, UdpClient, key_from_file
from kompono.realtime.packet import HELLO, INPUTS, OVER, WRAP, encode, layout_mark
from kompono.realtime.seal import FROM, TO, Seal, SealedMailbox
from kompono.realtime.shared import memory_file
from kompono.realtime.udp import JUMP

MARK = layout_mark(["force"], [X, V])
KEY = b"a key of more than 16 bytes"
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")


class Sender:
    """Somebody with a port of their own who puts packets on the wire."""

    def __init__(self, link: Udp, seal: Seal | None = None) -> None:
        self.link, self.seal = link, seal
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setblocking(False)

    def send(self, number: int, force: float = 0.0, kind: int = INPUTS) -> None:
        self.raw(encode(kind, MARK, number, 0.0, [force] if kind == INPUTS else [], seal=self.seal))

    def raw(self, data: bytes) -> None:
        self.socket.sendto(data, ("127.0.0.1", self.link.port))

    def heard(self) -> list[bytes]:
        found = []
        try:
            while True:
                found.append(self.socket.recv(65_535))
        except BlockingIOError:
            return found


def story(link: Udp, *steps: Any, until: float = 0.1) -> Any:
    """A run in which step k, if there is one, happens in frame k."""
    return run(link, lambda frame: steps[frame.number]() if frame.number < len(steps) else None, until=until)


# -- one sender at a time


def test_a_second_sender_cannot_take_over_while_the_first_is_alive() -> None:
    link = Udp(free_port(), **NAMES)
    first, second = Sender(link), Sender(link)
    attack = [lambda k=k: second.send(k, 666.0) for k in (2, 3, 2**31 - 1, 2**32 - 1)]
    attack += [lambda: second.send(0, kind=HELLO), lambda: second.send(1, 666.0), lambda: second.send(9, kind=OVER)]
    steps = [lambda: first.send(1, 5.0)]
    for k, step in enumerate(attack):
        steps += [step, lambda k=k: first.send(2 + k, 5.0 + k)]
    result = story(link, *steps)
    assert result["force"].max() == 5.0 + len(attack) - 1
    assert report(result)["accepted"] == 1 + len(attack)
    assert report(result)["ignored"] == {"foreign": len(attack)}
    assert not second.heard()  # outputs do not go there either
    assert len(first.heard()) > 10


@pytest.mark.parametrize("how", ["leaves", "is silent"])
def test_the_place_is_free_when_the_first_is_gone(how: str) -> None:
    link = Udp(free_port(), **NAMES, hold=60.0 if how == "leaves" else 0.05)
    first, second = Sender(link), Sender(link)
    leave = (lambda: first.send(2, kind=OVER)) if how == "leaves" else (lambda: clock.sleep(0.1))
    result = story(link, lambda: first.send(1, 5.0), leave, lambda: None, lambda: second.send(1, 7.0))
    assert result["force"].max() == 7.0
    assert report(result)["accepted"] == 2
    assert len(second.heard()) > 5


def test_a_pause_of_the_run_frees_nothing() -> None:
    """What the first has sent meanwhile is still there."""
    link = Udp(free_port(), **NAMES, hold=0.05)
    first, second = Sender(link), Sender(link)

    def pause() -> None:
        first.send(2, 5.0)
        second.send(1, 666.0)
        clock.sleep(0.1)

    result = story(link, lambda: first.send(1, 5.0), pause)
    assert result["force"].max() == 5.0
    assert report(result)["ignored"] == {"foreign": 1}


def test_a_peer_may_send_from_any_port_but_only_one() -> None:
    link = Udp(free_port(), **NAMES, peer=("127.0.0.1", free_port()))
    first, second = Sender(link), Sender(link)
    result = story(link, lambda: first.send(1, 5.0), lambda: second.send(2, 6.0))
    assert result["force"].max() == 5.0


@pytest.mark.parametrize("hold", [-1.0, float("nan")])
def test_a_time_is_not_negative(hold: float) -> None:
    with pytest.raises(RunError, match="hold"):
        Udp(0, **NAMES, hold=hold)


# -- numbers that leap


@pytest.mark.parametrize("leap", [JUMP + 1, 2**20, 2**31 - 1])
def test_a_number_far_ahead_is_not_believed(leap: int) -> None:
    """As if somebody sent with the address and port of the first."""
    link = Udp(free_port(), **NAMES)
    first = Sender(link)
    steps = [lambda: first.send(1, 5.0), lambda: first.send(1 + leap, 666.0), lambda: first.send(2, 7.0)]
    result = story(link, *steps)
    assert result["force"].max() == 7.0
    assert report(result)["ignored"] == {"jump": 1}


def test_even_a_leap_that_is_believed_heals() -> None:
    link = Udp(free_port(), **NAMES, hold=0.05)
    first = Sender(link)
    wait = lambda: clock.sleep(0.06)  # noqa: E731
    result = story(link, lambda: first.send(1, 5.0), lambda: first.send(JUMP, 6.0), lambda: first.send(2, 7.0), wait,
                   lambda: None, lambda: first.send(3, 8.0))  # fmt: skip
    assert result["force"].max() == 8.0
    assert report(result)["ignored"] == {"stale": 1}


# -- keys


def test_a_client_with_the_key_steers() -> None:
    link = Udp(free_port(), **NAMES, key=KEY)
    told: list[dict[str, float]] = []
    other = threading.Thread(target=drive, args=(lambda: UdpClient(link.port, **NAMES, key=KEY, timeout=120.0), told))
    other.start()
    result = run(link, first=[patient(link)])
    other.join(timeout=120)
    assert result.status.ok
    assert abs(result[X][-1]) < 0.01
    assert report(result)["accepted"] > 50
    assert not report(result)["ignored"]


@pytest.mark.parametrize("keys", [(KEY, None), (KEY, b"another key, long enough"), (None, KEY)])
def test_a_client_without_the_key_is_not_heard(keys: tuple[bytes | None, bytes | None]) -> None:
    link = Udp(free_port(), **NAMES, key=keys[0])
    errors: list[str] = []

    def knock(frame: LiveFrame) -> None:
        if frame.number == 0:
            try:
                with UdpClient(link.port, **NAMES, key=keys[1], timeout=0.2) as client:
                    client.send({"force": 666.0})
                    client.receive()
            except TimeoutError as error:
                errors.append(str(error))

    result = run(link, knock, until=0.05)
    assert errors
    assert result["force"].max() == 0.0
    assert report(result)["accepted"] == 0
    assert report(result)["ignored"]["key"] >= 2


def test_recorded_packets_are_worth_nothing() -> None:
    """Everything a client has sent, sent again: in the same run from its port and another, and in the next run."""
    link = Udp(free_port(), **NAMES, key=KEY, hold=0.0)
    recorded: list[bytes] = []

    def control(frame: LiveFrame) -> None:
        if frame.number == 0:
            client.send_everything()
        elif frame.number == 6:
            for data in recorded:
                other.raw(data)

    class Recorded(UdpClient):
        def _put(self, data: bytes) -> None:
            recorded.append(data)
            super()._put(data)

        def send_everything(self) -> None:
            self._connect()
            self._hello()

        def answer(self, frame: LiveFrame) -> None:
            if 0 < frame.number < 5:
                if not self._seal or not self._seal.other:
                    for data in iter(lambda: self._get(0.05), None):
                        packet = self.mailbox.take(data)
                        if packet is not None and packet.kind == HELLO:
                            self._hello()
                self.send({"force": 5.0})

    client, other = Recorded(link.port, **NAMES, key=KEY), Sender(link)
    result = run(link, control, client.answer, until=0.1)
    assert result["force"].max() == 5.0
    first = report(result)
    assert first["accepted"] >= 3
    assert sum(first["ignored"].values()) >= len(recorded) - 2
    assert len(recorded) >= 5

    again = Udp(free_port(), **NAMES, key=KEY)
    other = Sender(again)
    result = story(again, lambda: [other.raw(data) for data in recorded], until=0.05)
    assert result["force"].max() == 0.0
    assert report(result)["accepted"] == 0
    assert len(other.heard()) <= 2  # an answer to each first hello, and no outputs


def test_packets_cannot_be_sent_back() -> None:
    ours, theirs = Seal(KEY, TO), Seal(KEY, FROM)
    hello = encode(HELLO, MARK, 1, 0.0, seal=ours)
    assert SealedMailbox(MARK, {HELLO: 0}, ours).take(hello) is None
    mailbox = SealedMailbox(MARK, {HELLO: 0}, theirs)
    assert mailbox.take(hello) is None  # it does not know the session yet
    assert mailbox.asked == ours.own


@pytest.mark.parametrize("place", range(0, 72))
def test_a_changed_bit_breaks_the_seal(place: int) -> None:
    ours, theirs = Seal(KEY, TO), Seal(KEY, FROM)
    ours.other = theirs.own
    data = bytearray(encode(INPUTS, MARK, WRAP + 5, 0.0, [1.0], seal=ours))
    assert len(data) == 72
    good = SealedMailbox(MARK, {INPUTS: 1}, theirs).take(bytes(data))
    assert good is not None
    assert good.sequence == WRAP + 5
    data[place] ^= 4
    assert SealedMailbox(MARK, {INPUTS: 1}, theirs).take(bytes(data)) is None


@pytest.mark.parametrize("key", [b"", b"short", "short", 5])
def test_a_key_is_long_enough(key: Any) -> None:
    for make in (Udp, UdpClient):
        with pytest.raises(RunError, match="at least 16 bytes"):
            make(0, **NAMES, key=key)


def test_a_key_comes_from_a_file_of_this_user(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_bytes(KEY + b"\n")
    file.chmod(0o600)
    assert key_from_file(file) == KEY
    file.chmod(0o644)
    with pytest.raises(RunError, match="can be read by others"):
        key_from_file(file)
    file.chmod(0o600)
    file.write_bytes(b"short\n")
    with pytest.raises(RunError, match="5 bytes"):
        key_from_file(file)
    with pytest.raises(RunError, match="no key"):
        key_from_file(tmp_path / "none")


def test_the_command_line_takes_a_key_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "cart.py"
    model.write_text("from realtime.support import Cart as Model\nmodel = Model()\n")
    file = tmp_path / "key"
    file.write_bytes(KEY)
    live = ["run", str(model), "--until", "0.05", "--realtime", "--send", X, "--key-file", str(file)]
    assert main([*live, "--udp", str(free_port())]) == 1
    assert "can be read by others" in capsys.readouterr().err
    file.chmod(0o600)
    assert main([*live, "--shared-memory", unique("key")]) == 1
    assert "--key-file is for packets over UDP" in capsys.readouterr().err
    assert main([*live, "--udp", str(free_port())]) == 0


# -- shared memory


@pytest.fixture
def left() -> Any:
    """A file under the name of a memory, of the right size and with outputs in it."""
    path = memory_file(unique("left"))
    path.write_bytes(bytes(200))
    path.chmod(0o600)
    yield path
    path.unlink(missing_ok=True)


@pytest.mark.parametrize("wrong", [0o666, 0o644, 0o660, "link", "pipe", pytest.param("owner", marks=as_root)])
def test_a_client_takes_no_file_of_others(wrong: Any, left: Path, tmp_path: Path) -> None:
    if wrong == "owner":
        os.chown(left, 54_321, 54_321)
    elif wrong == "link":
        left.unlink()
        (tmp_path / "file").write_bytes(bytes(200))
        left.symlink_to(tmp_path / "file")
    elif wrong == "pipe":
        left.unlink()
        os.mkfifo(left, 0o600)
    else:
        left.chmod(wrong)
    client = SharedMemoryClient(unique("left"), **NAMES, timeout=1.0)
    with pytest.raises(RunError, match="not believed"), client:
        pass


@pytest.mark.parametrize("wrong", [0o666, 0o644, "link", "pipe"])
def test_a_run_does_not_use_a_file_that_others_may_have_open(wrong: Any, left: Path, tmp_path: Path) -> None:
    if wrong in ("link", "pipe"):
        left.unlink()
        left.symlink_to(tmp_path / "file") if wrong == "link" else os.mkfifo(left, 0o600)
    else:
        left.chmod(wrong)
    before = left.lstat().st_ino
    seen = []
    result = run(SharedMemory(unique("left"), **NAMES), lambda frame: seen.append(left.lstat()), until=0.01)
    assert result.status.ok
    assert seen[0].st_mode & 0o777 == 0o600
    assert seen[0].st_ino != before or wrong in ("link", "pipe")
    assert not (tmp_path / "file").exists()


@as_root
def test_a_run_takes_no_file_of_others(left: Path) -> None:
    os.chown(left, 54_321, 54_321)
    with pytest.raises(RunError, match="belongs to another user"):
        run(SharedMemory(unique("left"), **NAMES), until=0.01)
    assert left.exists()


CUT = """
import os, sys
from realtime.support import Cart, V, X
from kompono import simulate
from kompono.realtime import RealTime, SharedMemory, SharedMemoryClient
link = SharedMemory(sys.argv[1], inputs=["force"], outputs=[X, V])
client = SharedMemoryClient(sys.argv[1], inputs=["force"], outputs=[X, V], timeout=1.0)

def observe(frame):
    if frame.number == 1:
        client.__enter__()
        client.send({"force": 5.0})
    if frame.number == 4:
        if sys.argv[2] == "cut":
            os.truncate(link.path, 0)
        elif sys.argv[2] == "cut in the middle":
            os.truncate(link.path, 40)
        else:
            os.rename(link.path, f"{link.path}-away")
            link.path.write_bytes(b"somebody else's")
    if frame.number == 6:
        client.receive()
        client.send({"force": 7.0})

options = RealTime(frame=0.005, speed=float("inf"), on_frame=[link, observe])
result = simulate(Cart(), until=0.1, channels=[X, V, "force"], realtime=options)
print(result.status.ok, result["force"].max(), result.statistics["realtime"]["links"][0]["cut"], link.path.exists())
"""


@pytest.mark.parametrize(
    ("how", "said"),
    [("cut", "True 7.0 1 False"), ("cut in the middle", "True 7.0 1 False"), ("exchanged", "True 7.0 0 True")],
)
def test_a_file_that_is_cut_or_exchanged_does_not_kill_the_run(how: str, said: str) -> None:
    """In a process of its own: one that touches a mapped file beyond its end is killed."""
    name = unique(how.replace(" ", "-"))
    paths = os.pathsep.join(str(Path(__file__).parents[k] / part) for k, part in ((2, ""), (1, "")))
    done = subprocess.run(
        [sys.executable, "-c", CUT, name, how], env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    path = memory_file(name)
    for left in (path, Path(f"{path}-away")):
        left.unlink(missing_ok=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == said


def test_a_run_offers_what_it_promises() -> None:
    """Nothing of this changes a run without strangers."""
    link = SharedMemory(unique("plain"), **NAMES)
    result = simulate(Cart(), until=0.05, realtime=RealTime(frame=0.005, speed=float("inf"), on_frame=link))
    assert report(result)["cut"] == report(result)["unsent"] == 0
