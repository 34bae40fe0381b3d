"""Servers answer what is meant for them, are not held up by who is slow, and do not mind who hangs up."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kompono.edges.view import PageServer, guard
from kompono.edges.view.stream import Stream

HOSTS_HERE = ["localhost:8080", "127.0.0.1", "LocalHost:1", "[::1]:8080"]
HOSTS_ELSEWHERE = [
    "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:localhost",
    "localhost@evil.example", "localhost:80:80", "", " ", "localhost/x", "[::1", "localhost:x", "10.0.0.1:8080",
    "0.0.0.0:8080", "xn--localhst-n0a", "localhost\x00.evil.example",
]  # fmt: skip


@pytest.mark.parametrize("host", HOSTS_HERE)
def test_names_of_this_machine_are_ours(host: str) -> None:
    for bound in ("127.0.0.1", "localhost", "::1", "0.0.0.0"):
        assert guard.refusal(bound, [host], []) == ""


@pytest.mark.parametrize("host", HOSTS_ELSEWHERE)
def test_other_names_are_not(host: str) -> None:
    assert "not known by that name" in guard.refusal("127.0.0.1", [host], [])


def test_beyond_this_machine_numbers_and_its_own_name_are_ours() -> None:
    computer = socket.gethostname()
    for host in ("10.0.0.1:8080", "[fe80::1]:8080", f"{computer}:8080", "Box.Example:8080"):
        assert guard.refusal("box.example", [host], []) == ""
        assert (guard.refusal("127.0.0.1", [host], []) == "") == (computer in guard.HERE and host.startswith(computer))
    for host in ("evil.example", "rebound.evil.example:8080"):
        assert guard.refusal("0.0.0.0", [host], [])


@pytest.mark.parametrize("hosts", [[], ["localhost", "localhost"], ["localhost", "evil.example"]])
def test_there_is_one_host(hosts: list[str]) -> None:
    assert guard.refusal("127.0.0.1", hosts, [])


@pytest.mark.parametrize(
    ("origin", "fine"),
    [
        ("http://localhost:8080", True), ("http://LOCALHOST:8080", True), ("https://localhost:8080", True),
        ("http://localhost:8081", False), ("http://localhost", False), ("http://127.0.0.1:8080", False),
        ("http://evil.example", False), ("http://evil.example:8080", False), ("null", False), ("", False),
        ("file://", False), ("http://localhost:8080.evil.example", False), ("http://localhost:8080/x", False),
        ("http://x@localhost:8080", False), ("chrome-extension://abc", False),
    ],
)  # fmt: skip
def test_a_page_may_ask_only_where_it_came_from(origin: str, fine: bool) -> None:
    assert (guard.refusal("127.0.0.1", ["localhost:8080"], [origin]) == "") is fine
    assert guard.refusal("127.0.0.1", ["localhost:8080"], [origin, origin])


def test_ports_that_go_without_saying() -> None:
    assert guard.refusal("127.0.0.1", ["localhost"], ["http://localhost:80"]) == ""
    assert guard.refusal("127.0.0.1", ["localhost:443"], ["https://localhost"]) == ""
    assert guard.refusal("127.0.0.1", ["localhost"], ["http://localhost:443"])


# -- servers


def page_server() -> Any:
    return PageServer("<!doctype html>" + "x" * 3_000_000, port=0)


def stream_server() -> Any:
    return PageServer("<!doctype html>" + "x" * 3_000_000, port=0, stream=Stream())


@pytest.fixture(params=[page_server, stream_server], ids=["page", "stream"], scope="module")
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    server = request.param()
    yield int(server.url.rsplit(":", 1)[1])
    server.stop()


@pytest.fixture(scope="module")
def stream_port() -> Iterator[tuple[int, Stream]]:
    server = stream_server()
    yield int(server.url.rsplit(":", 1)[1]), server.stream
    server.stop()


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def soon(condition: Callable[[], bool]) -> None:
    """Wait until something holds, on a machine that may have much else to do."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def status(port: int, *headers: str, path: str = "/") -> int:
    """The status of the answer to a request with these headers; 0 if there is none."""
    with connect(port) as connection:
        connection.sendall("\r\n".join([f"GET {path} HTTP/1.1", *headers, "", ""]).encode())
        try:
            line = connection.makefile("rb").readline()
        except ConnectionError:
            return 0
        return int(line.split()[1]) if line else 0


def test_the_page_is_there_for_its_own_name(port: int) -> None:
    assert status(port, f"Host: localhost:{port}") == 200
    assert status(port, f"Host: 127.0.0.1:{port}") == 200
    assert status(port, f"Host: localhost:{port}", f"Origin: http://localhost:{port}") == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", "localhost@evil"])
def test_requests_for_other_names_are_refused(port: int, host: str) -> None:
    assert status(port, f"Host: {host}") in (403, 404)
    assert status(port, f"Host: {host}", f"Origin: http://{host}") in (403, 404)
    assert status(port, f"Host: localhost:{port}", f"Host: {host}") in (400, 403, 404)
    assert status(port) in (400, 403, 404)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "https://127.0.0.1.evil.example"]
)
def test_requests_of_other_pages_are_refused(port: int, origin: str) -> None:
    assert status(port, f"Host: localhost:{port}", f"Origin: {origin}") in (403, 404)


def told(port: int, *headers: str, body: bytes = b'{"do": "play"}', length: int | None = None) -> int:
    """The status of the answer to an order with these headers."""
    size = len(body) if length is None else length
    with connect(port) as connection:
        lines = ["POST /tell HTTP/1.1", f"Content-Length: {size}", *headers, "", ""]
        connection.sendall("\r\n".join(lines).encode() + body)
        line = connection.makefile("rb").readline()
        return int(line.split()[1]) if line else 0


def test_orders_are_taken_from_the_page_itself_only(stream_port: tuple[int, Stream]) -> None:
    port, stream = stream_port
    here = f"Host: localhost:{port}"
    stream.orders()
    assert told(port, here, f"Origin: http://localhost:{port}") == 204
    assert stream.orders() == [{"do": "play"}]
    assert told(port, here) == 404  # no page
    assert told(port, here, "Origin: http://evil.example") == 404
    assert told(port, here, "Origin: null") == 404
    assert told(port, here, f"Origin: http://127.0.0.1:{port}") == 404
    assert told(port, "Host: evil.example", "Origin: http://evil.example") == 404
    assert told(port, here, f"Origin: http://localhost:{port}", body=b"x") == 400
    assert told(port, here, f"Origin: http://localhost:{port}", length=10**8) == 400
    assert told(port, here, f"Origin: http://localhost:{port}", length=-1) == 400
    assert stream.orders() == []


def test_rows_are_for_the_page_itself_only(stream_port: tuple[int, Stream]) -> None:
    port, stream = stream_port
    here = f"Host: localhost:{port}"
    assert status(port, here, f"Origin: http://localhost:{port}", path="/stream") == 200
    assert status(port, here, "Origin: http://evil.example", path="/stream") == 404
    assert status(port, "Host: evil.example", path="/stream") == 404
    assert status(port, here, path="/stream/x") == 404
    with connect(port) as connection:
        connection.sendall(f"GET /stream HTTP/1.1\r\n{here}\r\n\r\n".encode())
        source = connection.makefile("rb")
        assert any(stream.tell(begin=True) or source.readline() == b'data: {"begin": true}\n' for _ in range(24))


def test_a_page_without_a_run_hears_no_orders() -> None:
    server = page_server()
    port = int(server.url.rsplit(":", 1)[1])
    here = f"Host: localhost:{port}"
    assert told(port, here, f"Origin: http://localhost:{port}") == 404
    assert status(port, here, path="/stream") == 404
    server.stop()


# -- slow and rude ones


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "PATIENCE", 0.2)
    monkeypatch.setattr(guard, "CONNECTIONS", 8)


@pytest.fixture(params=[page_server, stream_server], ids=["page", "stream"])
def strict(request: pytest.FixtureRequest, impatient: None) -> Iterator[int]:
    server = request.param()
    yield int(server.url.rsplit(":", 1)[1])
    server.stop()


def closed(connection: socket.socket) -> bool:
    """Whether the other side ends the connection, within the time of the socket."""
    try:
        while connection.recv(65_536):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\n"])
def test_half_a_request_is_not_waited_for(strict: int, sent: bytes) -> None:
    with connect(strict) as slow:
        slow.sendall(sent)
        assert closed(slow)


def test_a_request_letter_by_letter_is_not_waited_for(strict: int) -> None:
    with connect(strict) as slow:
        slow.settimeout(0.1)
        begun = time.monotonic()
        while time.monotonic() - begun < 60:
            try:
                slow.sendall(b"x")
                if not slow.recv(1):
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        else:
            raise AssertionError("it is still listened to")


def test_an_endless_request_is_not_read(strict: int) -> None:
    with connect(strict) as long:
        try:
            for _ in range(200):
                long.sendall(b"GET /" + b"x" * 60_000)
        except ConnectionError:
            return
        assert closed(long)


@pytest.mark.parametrize("start", [page_server, stream_server], ids=["page", "stream"])
def test_connections_are_limited_and_come_back(start: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "PATIENCE", 600.0)
    monkeypatch.setattr(guard, "CONNECTIONS", 8)
    server = start()
    port = int(server.url.rsplit(":", 1)[1])
    crowd = [connect(port) for _ in range(40)]
    soon(lambda: sum(map(_is_closed_now, crowd)) >= 40 - 8 - 1)
    for connection in crowd:
        connection.close()
    soon(lambda: status(port, f"Host: localhost:{port}") == 200)
    server.stop()


def _is_closed_now(connection: socket.socket) -> bool:
    connection.settimeout(0.01)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_one_who_takes_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    from kompono.edges.view import serve

    monkeypatch.setattr(guard, "PATIENCE", 0.3)
    monkeypatch.setattr(serve, "SLOWEST", 1e9)
    others = set(threading.enumerate())
    server = PageServer("x" * 30_000_000, port=0)
    port = int(server.url.rsplit(":", 1)[1])
    with connect(port) as lazy:
        lazy.sendall(f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
        soon(lambda: not [t for t in threading.enumerate() if t not in others and "process_request_thread" in t.name])
    server.stop()


@pytest.mark.parametrize("when", ["at once", "half a request", "before the answer", "in the answer"])
def test_who_hangs_up_is_not_worth_a_word(port: int, when: str, capfd: pytest.CaptureFixture[str]) -> None:
    request = f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode()
    for _ in range(5):
        connection = connect(port)
        if when == "half a request":
            connection.sendall(request[:20])
        elif when in ("before the answer", "in the answer"):
            connection.sendall(request)
        if when == "in the answer":
            connection.recv(1000)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # reset
        connection.close()
    time.sleep(0.1)
    assert status(port, f"Host: localhost:{port}") == 200
    said = capfd.readouterr()
    assert said.err == ""
    assert "Traceback" not in said.out


def test_what_is_really_wrong_is_one_line(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "refusal", lambda *_: 1 / 0)
    server = PageServer("x", port=0)
    port = int(server.url.rsplit(":", 1)[1])
    assert status(port, "Host: localhost") == 0
    said: list[str] = []
    soon(lambda: said.append(capfd.readouterr().err) or "\n" in "".join(said))
    server.stop()
    assert "".join(said) + capfd.readouterr().err == "kompono: a request failed: ZeroDivisionError: division by zero\n"
