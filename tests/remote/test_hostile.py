"""Whatever arrives at the port or in a stream, the server is alive afterwards and answers as ever."""

from __future__ import annotations

import random
import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from remote.support import FRAMES, HELLO, Papers, line, served, server, undisturbed

from kompono.remote import messages
from kompono.remote.address import parse
from kompono.remote.allowed import Peer, anyone
from kompono.remote.audit import Audit
from kompono.remote.desk import Desk, Rules
from kompono.remote.explain import context
from kompono.remote.kept import unpack
from kompono.remote.limits import Ledger
from kompono.remote.messages import Malformed
from kompono.remote.server import Server
from kompono.remote.snapshots import Snapshots
from kompono.remote.wire import Broken, Stream

PEER = Peer("Car Ltd", "ab" * 32)
OPEN = messages.Open("sum", bytes(16), HELLO).pack()
ASK = messages.pack_ask(1, 0, FRAMES[0])


@pytest.fixture(scope="module")
def host(papers: Papers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("hostile") / "state", papers, rules=Rules(largest=1 << 16)) as made:
        yield made


@pytest.fixture(autouse=True)
def alive(host: Server, papers: Papers) -> Iterator[None]:
    yield
    with line(host.port, papers.customer("Car Ltd")) as asked:
        assert [asked.ask(frame) for frame in FRAMES[:5]] == undisturbed(FRAMES[:5])


def damaged(seed: int) -> bytes:
    """A message that was cut, altered, lengthened, or is made of nothing but chance."""
    chance = random.Random(seed)
    data = bytearray(chance.choice([OPEN, ASK, bytes([messages.BYE]), messages.pack_reply(1, b"x")]))
    kind = chance.randrange(5)
    if kind == 0:
        return chance.randbytes(chance.randrange(200))
    if kind == 1:
        return bytes(data[: chance.randrange(len(data))])
    if kind == 2:
        return bytes(data) + chance.randbytes(chance.randrange(1, 50))
    for _ in range(chance.randrange(1, 6)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def test_random_bytes_at_the_port(host: Server) -> None:
    chance = random.Random(1)
    starts = [b"", b"\x16\x03\x01\x02\x00", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"]
    for k in range(120):
        with suppress(OSError), socket.create_connection(("127.0.0.1", host.port), timeout=1.0) as plain:
            plain.sendall(starts[k % 4] + chance.randbytes(chance.randrange(300)))


def test_random_bytes_after_the_handshake(host: Server, papers: Papers) -> None:
    chance, made = random.Random(2), context(papers.customer("Car Ltd"))
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
    for k in range(60):
        with suppress(OSError), socket.create_connection(("127.0.0.1", host.port), timeout=1.0) as plain:
            secured = made.wrap_socket(plain, server_hostname="127.0.0.1")
            with suppress(OSError, ssl.SSLError):
                secured.sendall((preface if k % 2 else b"") + chance.randbytes(chance.randrange(400)))
                secured.close()


def test_damaged_messages_over_the_network(host: Server, papers: Papers) -> None:
    """Each ends its stream with a refusal, or is understood."""
    address, given = parse(f"127.0.0.1:{host.port}/sum"), papers.customer("Car Ltd")
    for seed in range(60):
        stream = Stream(address, given)
        if seed % 2:
            stream.send(messages.Open("sum", random.Random(seed).randbytes(16), HELLO).pack())
            assert messages.unpack_welcome(stream.receive(5.0)).at == 0
        stream.send(damaged(seed))
        stream.finish(bytes([messages.BYE]), 5.0)


def test_a_message_larger_than_is_taken(host: Server, papers: Papers) -> None:
    stream = Stream(parse(f"127.0.0.1:{host.port}/sum"), papers.customer("Car Ltd"))
    stream.send(bytes(1 << 20))
    with pytest.raises(Broken) as broken:
        stream.receive(5.0)
    assert broken.value.word == "RESOURCE_EXHAUSTED"
    stream.close()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    log = Audit(tmp_path / "log")
    return Desk({"sum": served()}, anyone(), Snapshots(bytes(32)), Ledger(None), log, Rules(sessions=8))


def talk(desk: Desk, *said: bytes, peer: Peer = PEER) -> list[bytes]:
    return list(desk.talk(iter(said), peer, lambda: None))


def test_damaged_messages_by_the_hundred(desk: Desk) -> None:
    """Nothing but replies and refusals comes back, and no sentence is that of an accident."""
    for seed in range(1500):
        chance = random.Random(-seed - 1)
        opening = messages.Open("sum", chance.randbytes(16), HELLO).pack()
        for reply in talk(desk, *([opening] if seed % 3 else []), damaged(seed), damaged(seed + 5000)):
            kind = reply[0]
            assert kind in (messages.WELCOME, messages.REPLY, messages.REFUSAL)
            assert "failed" not in (messages.refusal_in(reply) or "")
    opened = talk(desk, OPEN, ASK, bytes([messages.BYE]))
    assert messages.unpack_reply(opened[1])[1] == undisturbed()[0]


def test_numbers_that_do_not_fit(desk: Desk) -> None:
    other = messages.pack_ask(1, 0, FRAMES[1])
    for said, reason in (
        ([messages.pack_ask(2, 0, FRAMES[0])], "came after frame 0"),
        ([messages.pack_ask(0, 0, FRAMES[0])], "too old"),
        ([ASK, other], "two different frames"),
        ([ASK, messages.pack_ask(2, 1, FRAMES[1]), ASK], "too old"),
    ):
        assert reason in (messages.refusal_in(talk(desk, OPEN, *said)[-1]) or "")
    again = talk(desk, OPEN, ASK, ASK, ASK, bytes([messages.BYE]))
    assert again[1] == again[2] == again[3]
    many = [messages.pack_ask(k + 1, 0, FRAMES[0]) for k in range(100)]
    assert "under way" in (messages.refusal_in(talk(desk, OPEN, *many)[-1]) or "")


def test_a_session_is_its_customers_own(desk: Desk) -> None:
    first = desk.talk(iter([OPEN, ASK]), PEER, lambda: None)
    assert next(first)[0] == messages.WELCOME
    refusal = talk(desk, OPEN, peer=Peer("Bus Ltd", "cd" * 32))[-1]
    assert "another customer" in (messages.refusal_in(refusal) or "")
    assert next(first)[0] == messages.REPLY


def test_another_version_says_so(desk: Desk) -> None:
    later = struct.pack("<B7sH", messages.OPEN, b"KOMPONO", 9) + b"whatever"
    assert "version 9 of the protocol" in (messages.refusal_in(talk(desk, later)[0]) or "")


def test_sentences_of_a_server_are_harmless_on_a_terminal() -> None:
    told = messages.refusal_in(bytes([messages.REFUSAL]) + b"no\x1b[2J\n\xff" + b"x" * 9000)
    assert told is not None
    assert told.isprintable()
    assert len(told) <= 500


def test_damaged_answers_and_keepings() -> None:
    """What a customer reads from a server or from its own disk is checked as well."""
    welcome = messages.Welcome(0, 0, 9, 1.0, -1, bytes(32), b"frame").pack()
    for k in range(len(welcome)):
        with pytest.raises(Malformed):
            messages.unpack_welcome(welcome[:k])
    for seed in range(300):
        with suppress(Malformed):
            messages.unpack_reply(damaged(seed))
        with pytest.raises(Exception, match="damaged"):
            unpack(damaged(seed))


def test_two_modules_know_what_carries_frames() -> None:
    package = Path(messages.__file__).parents[1]
    knowing = [file.name for file in package.rglob("*.py") if 'needed("grpc")' in file.read_text(encoding="utf-8")]
    assert sorted(knowing) == ["host.py", "wire.py"]
    assert not [file for file in package.rglob("*.py") if "import grpc" in file.read_text(encoding="utf-8")]
