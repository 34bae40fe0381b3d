"""The page on its server: one address, this machine only, and it plays like the page from a file."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest
from view.support import Tab, changed, motion_of

from kompono import RunError
from kompono.edges.view import PageServer


@pytest.fixture
def server() -> Iterator[PageServer]:
    shown = motion_of("car")[1].view(port=0)
    assert isinstance(shown, PageServer)
    yield shown
    shown.stop()


def ask(server: PageServer, path: str, host: str | None = None) -> tuple[int, str]:
    """Status and body of a request, as if it was sent to the name `host`."""
    port = int(server.url.rsplit(":", 1)[1])
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers={"Host": host or f"localhost:{port}"})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_it_serves_one_page_to_this_machine(server: PageServer) -> None:
    status, text = ask(server, "/")
    assert status == 200
    assert text.startswith("<!doctype html>")
    assert ask(server, "/?again")[0] == 200
    assert ask(server, "/etc/passwd")[0] == 404
    assert ask(server, "/", host="evil.example:80")[0] == 404
    port = int(server.url.rsplit(":", 1)[1])
    with socket.socket() as other, pytest.raises(ConnectionRefusedError):
        other.connect(("127.0.0.2", port))


def test_a_port_that_is_taken_is_passed_over() -> None:
    first = PageServer("a", port=0)
    port = int(first.url.rsplit(":", 1)[1])
    second = PageServer("b", port=port)
    assert port < int(second.url.rsplit(":", 1)[1]) < port + 50
    assert (ask(first, "/")[1], ask(second, "/")[1]) == ("a", "b")
    first.stop()
    second.stop()


@pytest.mark.parametrize(("where", "message"), [({"host": "192.0.2.1"}, "192.0.2.1"), ({"port": 70_000}, "port")])
def test_where_nobody_can_listen_is_an_error(where: dict, message: str) -> None:
    with pytest.raises(RunError, match=message):
        PageServer("", **where)


def test_it_plays_in_a_browser(server: PageServer, tab: Tab) -> None:
    tab.open(server.url)
    tab.page.wait_for_selector("body[data-ready=yes]")
    before = tab.picture("canvas")
    tab.page.evaluate("kompono.seek(0.4)")
    tab.page.wait_for_timeout(300)
    assert changed(before, tab.picture("canvas")) > 1e-3
    assert {url.split("?")[0].rstrip("/") for url in tab.requests if url.startswith("http")} <= {
        server.url, f"{server.url}/favicon.ico"
    }  # fmt: skip
    assert tab.complaints == []
