"""Who is refused is told why; the server goes on."""

from __future__ import annotations

import datetime
import math
import re
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from remote.summing import Summing
from remote.support import FRAMES, HELLO, Papers, free_port, line, served, server, undisturbed

from kompono.errors import RemoteError
from kompono.remote import LinkLost, Refused, certificates, credentials
from kompono.remote.allowed import Allowed, Grant
from kompono.remote.desk import Rules
from kompono.remote.host import Host
from kompono.remote.line import Line
from kompono.remote.server import Server

PEM = ssl.DER_cert_to_PEM_cert(b"whatever").encode()
DAY = datetime.timedelta(days=1)


def shown(pair: certificates.Pair, papers: Papers) -> credentials.Credentials:
    """What a customer would show who does not look at it before."""
    return credentials.Credentials(pair.certificate, pair.key, papers.authority.certificate, ("cert", "key", "ca"))


@pytest.fixture
def dated(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime.timedelta], None]:
    """Let certificates be made at another time than now, for one day."""

    def shift(by: datetime.timedelta) -> None:
        class Clock(datetime.datetime):
            @classmethod
            def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
                return datetime.datetime.now(tz) + by

        changed = type("dated", (), {"datetime": Clock, "timedelta": datetime.timedelta, "UTC": datetime.UTC})
        monkeypatch.setattr(certificates, "datetime", changed)

    return shift


@pytest.fixture(scope="module")
def port(papers: Papers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with server(tmp_path_factory.mktemp("serving") / "state", papers) as host:
        yield host.port
        with line(host.port, papers.customer("Car Ltd")) as asked:  # after all that it still answers
            assert [asked.ask(frame) for frame in FRAMES] == undisturbed()


def refused(port: int, given: credentials.Credentials | None, reason: str, **options: object) -> None:
    """At once: what is tried again until patience is over ends as LinkLost."""
    with pytest.raises(Refused, match=reason):
        line(port, given, **options)


def test_a_customer_of_another_authority(port: int, papers: Papers, foreign: Papers) -> None:
    pair = certificates.make_customer(foreign.authority, "Car Ltd", 1)
    refused(port, shown(pair, papers), "does not know that authority")


def test_a_customer_whose_certificate_has_expired(port: int, papers: Papers, dated) -> None:
    dated(-2 * DAY)
    refused(port, shown(certificates.make_customer(papers.authority, "Car Ltd", 1), papers), "it has expired on")


def test_a_customer_whose_certificate_is_not_good_yet(port: int, papers: Papers, dated) -> None:
    dated(2 * DAY)
    refused(port, shown(certificates.make_customer(papers.authority, "Car Ltd", 1), papers), "good from .* not yet")


def test_a_suppliers_certificate_is_not_one_to_ask_with(port: int, papers: Papers) -> None:
    pair = certificates.make_supplier(papers.authority, "Car Ltd", ["car.example"], 1)
    refused(port, shown(pair, papers), "not one to ask with")


def test_a_customer_that_believes_another_authority(port: int, papers: Papers, foreign: Papers) -> None:
    pair = certificates.make_customer(papers.authority, "Car Ltd", 1)
    refused(port, shown(pair, foreign), "signed by another authority than the one you believe")


def test_a_customer_without_tls(port: int) -> None:
    refused(port, None, "the server speaks TLS")


def test_no_certificate_at_all(port: int, papers: Papers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KOMPONO_CONFIG", str(tmp_path / "config"))
    with pytest.raises(RemoteError, match="you have no certificate to ask suppliers with"):
        Line(f"127.0.0.1:{port}/sum", HELLO)


def test_the_configuration_folder_is_looked_at(port: int, papers: Papers, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KOMPONO_CONFIG", str(tmp_path / "config"))
    folder = credentials.own_place()
    pair = certificates.Pair(papers.customer("Car Ltd").certificate, papers.customer("Car Ltd").key)
    certificates.write_pair(folder, "certificate", pair)
    (folder / "authority.pem").write_bytes(papers.authority.certificate)
    with Line(f"127.0.0.1:{port}/sum", HELLO) as asked:
        assert asked.welcome == b"sum for Car Ltd"


def test_a_host_the_certificate_does_not_name(port: int, papers: Papers) -> None:
    with pytest.raises(Refused, match="does not name this host"):
        Line(f"localhost:{port}/sum", HELLO, credentials=papers.customer("Car Ltd"))


def test_who_is_no_customer_and_what_is_no_part(port: int, papers: Papers) -> None:
    refused(port, papers.customer("Bus Ltd"), "'Bus Ltd' .* is no customer of this server")
    refused(port, papers.customer("Car Ltd"), "no part 'sun' here. Did you mean 'sum'", part="sun")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("expired", "has expired"),
        ("early", "is not good yet"),
        ("other host", "does not name this address"),
        ("customer", "is not one to serve with"),
        ("foreign", "signed by another authority"),
        ("plain", "does not speak TLS"),
    ],
)
def test_a_server_that_shows_the_wrong_thing(
    state: Path, papers: Papers, foreign: Papers, dated, kind: str, reason: str
) -> None:
    host = ["supplier.example"] if kind == "other host" else ["127.0.0.1"]
    authority = foreign.authority if kind == "foreign" else papers.authority
    dated({"expired": -2 * DAY, "early": 2 * DAY}.get(kind, 0 * DAY))
    pair = certificates.make_supplier(authority, "Ada", host, 1)
    if kind == "customer":
        pair = certificates.make_customer(authority, "Car Ltd", 1)
    given = None if kind == "plain" else shown(pair, papers)
    with Server({"sum": served()}, state=state, credentials=given, allowed=Allowed(())) as made:
        refused(made.port, papers.customer("Car Ltd"), reason)


def test_servers_that_are_none(papers: Papers) -> None:
    given = papers.customer("Car Ltd")
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(LinkLost, match=r"no answer for 0.5 s"):
        line(mute.getsockname()[1], given, patience=0.5)
    with pytest.raises(LinkLost, match="nobody listens"):
        line(free_port(), given, patience=0.3)
    with pytest.raises(LinkLost, match="is not known"):
        Line("no-such-host.invalid/sum", HELLO, credentials=given, patience=0.3)


def test_parts_by_customer(state: Path, papers: Papers) -> None:
    car, bus = papers.customer("Car Ltd"), papers.customer("Bus Ltd")
    grants = (Grant("Car Ltd", "", ("sum",)), Grant("", bus.facts.fingerprint, ("other",)))
    parts = {"sum": served(), "other": served()}
    with server(state, papers, *grants, parts=parts) as host:
        line(host.port, car).close()
        line(host.port, bus, part="other").close()
        refused(host.port, car, "'Car Ltd' is not allowed to use 'other'", part="other")
        refused(host.port, bus, "not allowed to use 'sum'")
        refused(host.port, bus, "no part 'x' here", part="x")


def test_the_number_of_evaluations_is_limited_for_good(state: Path, papers: Papers) -> None:
    grant, given = Grant("Car Ltd", "", ("sum",), evaluations=5), papers.customer("Car Ltd")
    with server(state, papers, grant) as host:
        asked = line(host.port, given)
        assert asked.terms is not None
        assert asked.terms.left == 5
        asked.ask(struct.pack("<3d", 1, 2, 3))
        asked.ask(FRAMES[0])
        asked.close()
    with server(state, papers, grant) as host:
        asked = line(host.port, given)
        assert asked.terms is not None
        assert asked.terms.left == 1
        asked.ask(FRAMES[0])
        with pytest.raises(Refused, match="all 5 evaluations of 'sum' are used"):
            asked.ask(FRAMES[1])
        refused(host.port, given, "all 5 evaluations")


def test_faster_than_allowed_has_to_wait(state: Path, papers: Papers) -> None:
    """20 a second: nine frames after the first take 0.45 s at least, and a frame of 1000 is too far ahead."""
    grant = Grant("Car Ltd", "", ("sum",), rate=20.0)
    with server(state, papers, grant) as host, line(host.port, papers.customer("Car Ltd")) as asked:
        assert asked.terms is not None
        assert asked.terms.rate == 20.0
        begin = time.monotonic()
        for frame in FRAMES[:10]:
            asked.ask(frame)
        assert time.monotonic() - begin >= 0.44
        asked.ask(struct.pack("<1000d", *[0.0] * 1000))
        with pytest.raises(Refused, match="more than 20 evaluations per second"):
            asked.ask(FRAMES[0])


def test_sessions_are_limited(state: Path, papers: Papers) -> None:
    given = papers.customer("Car Ltd")
    grants = (Grant("Car Ltd", "", ("*",), sessions=2), Grant("Bus Ltd", "", ("*",)))
    with server(state, papers, *grants, rules=Rules(sessions=3)) as host:
        lines = [line(host.port, given) for _ in range(2)]
        refused(host.port, given, "you have 2 sessions open")
        lines.append(line(host.port, papers.customer("Bus Ltd")))
        refused(host.port, papers.customer("Bus Ltd"), "the server has 3 sessions open")
        for one in lines:
            one.close()
        line(host.port, given).close()


def test_frames_that_are_too_large(state: Path) -> None:
    with server(state, rules=Rules(largest=4096)) as host:
        with line(host.port) as asked:
            with pytest.raises(Refused, match="larger than the server takes"):
                asked.post(bytes(5000))
            asked.ask(FRAMES[0])
        with pytest.raises(Refused, match="larger"):  # what this side does not know beforehand
            Line(f"127.0.0.1:{host.port}/sum", bytes(5000), insecure=True)
        with line(host.port) as asked:
            asked.ask(FRAMES[0])


def test_a_state_the_server_would_not_take_back(state: Path) -> None:
    class Large(Summing):
        def snapshot(self) -> bytes:
            return bytes(5000)

    with server(state, parts={"sum": served(lambda *_: (Large(0.5), b""))}, rules=Rules(largest=4096)) as host:
        refused(host.port, None, "the state of the part, 5000 bytes, is larger")


def test_names_are_compared_as_they_are() -> None:
    grant = Grant("Car Ltd", "", ("*",))
    for name in ("Car Ltd\0", "Car Ltd ", "car ltd", "Car\tLtd", ""):
        context = {"x509_common_name": [name.encode()], "x509_pem_cert": [PEM]}
        told = type("Context", (), {"auth_context": lambda _, c=context: c, "peer": lambda _: "ipv4:1"})()
        assert not grant.fits(Host._peer(told)), name


def test_the_other_loopback(state: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 on this machine")
    with server(state, host="::1") as host, Line(f"[::1]:{host.port}/sum", HELLO, insecure=True) as asked:
        assert asked.ask(FRAMES[0]) == undisturbed()[0]


def test_without_tls_only_on_this_machine(state: Path, papers: Papers) -> None:
    with pytest.raises(RemoteError, match="not an address of this machine"):
        Line("localhost:7443/sum", HELLO, insecure=True)
    for host in ("0.0.0.0", "localhost", "::"):
        with pytest.raises(RemoteError, match="only this machine is served"):
            server(state, host=host)
    with pytest.raises(RemoteError, match="who may ask for what"):
        Server({}, credentials=papers.read("supplier", "supplier"), state=state)


@pytest.mark.parametrize(
    "text",
    ["", "damper", "host:7443", "host:0/d", "host:x/d", "host:70000/d", "ho st/d", "/d", "host/", "host/a/b", "[::1/d"],
)
def test_addresses_that_are_none(text: str) -> None:
    with pytest.raises(RemoteError, match=re.escape("supplier.example:7443/damper") + "|Ports are|Letters, digits"):
        Line(text, HELLO, insecure=True)


@pytest.mark.parametrize("patience", [0.0, -1.0, math.inf, math.nan])
def test_patience_is_a_time(patience: float) -> None:
    with pytest.raises(RemoteError, match="patience"):
        Line("127.0.0.1:1/sum", HELLO, insecure=True, patience=patience)
