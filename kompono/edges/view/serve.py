"""The self-contained page on a small server, for those who look at it from a shell or through a tunnel.

The whole motion of a stored run goes to the browser once, which then plays it by itself: nothing is sent while it
moves. With a `Stream` the page also hears rows of a run that is going on here (`/stream`, server-sent events) and sends
orders (`/tell`). The server answers nothing else, and only requests that are meant for it (see `guard`); orders must
say that they come from its own page. Who sends a request, or takes the answer, too slowly is left, so nobody can hold
all its connections; a browser that hangs up is no error.
"""

from __future__ import annotations

import errno
import io
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kompono.edges.view import guard
from kompono.edges.view.stream import LARGEST, Stream
from kompono.errors import RunError

TRIES = 50  # ports after the one asked for
LONGEST = 16_384  # bytes of a request
SLOWEST = 20e3  # bytes/s at which the page must be taken
LOOKS = 0.05  # s between looks whether to end


class PageServer:
    """Serves one page at `url` until `stop`; on `port`, or the next free one (0: any). Its `text` may change."""

    def __init__(self, text: str, *, host: str = "127.0.0.1", port: int = 8080, stream: Stream | None = None) -> None:
        self.host, self.text, self.stream, self._ended = host, text, stream, threading.Event()
        self._server = _listen(host, port, _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(LOOKS,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page."""
        name = "localhost" if self.host in (*guard.HERE, "0.0.0.0", "::") else self.host
        return f"http://{name}:{self._server.server_address[1]}"

    def stop(self) -> None:
        """End the server."""
        self._ended.set()
        if self.stream is not None:
            self.stream.end()
        self._server.shutdown()
        self._server.server_close()

    def wait(self) -> None:
        """Stay until interrupted (Ctrl-C)."""
        try:
            while not self._ended.wait(3600):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()


class _Server(ThreadingHTTPServer):
    """A thread for each of a limited number of connections; who hangs up is not worth a word."""

    request_queue_size = guard.CONNECTIONS  # that may wait: one that finds no place asks again after a second

    def __init__(self, *arguments: Any) -> None:
        self._free = threading.Semaphore(guard.CONNECTIONS)
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread any more
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):  # hanging up and being too slow are
            print(f"kompono: a request failed: {type(error).__name__}: {error}", file=sys.stderr)


def _listen(host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    for number in range(port, port + (TRIES if port else 1)):
        try:
            return _Server((host, number), handler)
        except OverflowError:
            break
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                fix = "Use --host 127.0.0.1 (this machine) or 0.0.0.0 (all), and a port above 1023."
                raise RunError(f"cannot listen on {host}:{number}: {error.strerror}.", fix=fix) from None
    raise RunError(f"no free port from {port} on.", fix="Give another: --port N, from 1024 to 65535.")


def _request(connection: socket.socket) -> bytes:
    """All of a request, or nothing if it is too long or not there in time."""
    data, end = b"", time.monotonic() + guard.PATIENCE
    while b"\r\n\r\n" not in data and b"\n\n" not in data:
        rest = end - time.monotonic()
        if rest <= 0 or len(data) > LONGEST:
            return b""
        connection.settimeout(rest)
        piece = connection.recv(LONGEST)
        if not piece:
            return b""
        data += piece
    return data


class _Handler(BaseHTTPRequestHandler):
    """Answers one address with one page; with a stream, two more."""

    page: PageServer

    def handle(self) -> None:
        request = _request(self.connection)
        if request:
            self.connection.settimeout(guard.PATIENCE + len(self.page.text) / SLOWEST)  # for all of the answer
            self.rfile = io.BytesIO(request)
            self.close_connection = True
            self.handle_one_request()

    def _refused(self, known: tuple[str, ...], *, page: bool = False) -> bool:
        """Whether a request is not for us, which it is told; with `page` it must come from a page of ours."""
        origins = self.headers.get_all("Origin", [])
        refused = guard.refusal(self.page.host, self.headers.get_all("Host", []), origins)
        if page and not origins:
            refused = refused or "orders are for the page alone"
        if refused or self.path.split("?")[0] not in known:
            self.send_error(404, explain=refused or None)
            return True
        return False

    def _head(self, status: int, kind: str = "", **more: str) -> None:
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        for name, value in {**more, **guard.HEADERS, "Cache-Control": "no-store"}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def do_GET(self) -> None:
        stream = self.page.stream
        if self._refused(("/", "/favicon.ico", *(["/stream"] if stream is not None else []))):
            return
        if self.path == "/favicon.ico":
            self._head(204)  # browsers ask, and complain about anything else
        elif self.path.split("?")[0] == "/stream" and stream is not None:
            self._head(200, "text/event-stream")
            self._follow(stream)
        else:
            content = self.page.text.encode()
            policy = "frame-ancestors 'self'"
            self._head(
                200, "text/html; charset=utf-8", Content_Length=str(len(content)), Content_Security_Policy=policy
            )
            self.wfile.write(content)

    def _follow(self, stream: Stream) -> None:
        """Send messages until the page has gone."""
        self.connection.settimeout(guard.PATIENCE)
        number, found = stream.begin()
        while not stream.ended:
            text = "".join(f"data: {message}\n\n" for message in found) or ": still here\n\n"
            self.wfile.write(text.encode())
            self.wfile.flush()
            number, found = stream.after(number, 5.0)

    def do_POST(self) -> None:
        stream = self.page.stream
        if stream is None or self._refused(("/tell",), page=True):
            if stream is None:
                self.send_error(404)
            return
        length = self.headers.get("Content-Length", "")
        size = int(length) if length.isdecimal() and len(length) < 9 else LARGEST + 1
        body = self._body(size) if size <= LARGEST else b""
        self._head(204 if size <= LARGEST and stream.order(body) else 400)

    def _body(self, size: int) -> bytes:
        """The body of a request: what came with its head, and the rest."""
        data = self.rfile.read(size)
        end = time.monotonic() + guard.PATIENCE
        while len(data) < size and (rest := end - time.monotonic()) > 0:
            self.connection.settimeout(rest)
            piece = self.connection.recv(size - len(data))
            if not piece:
                break
            data += piece
        return data

    def version_string(self) -> str:
        return "kompono"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing on the terminal."""


def _handler(server: PageServer) -> type[BaseHTTPRequestHandler]:
    """The handler of one server."""
    return type("_Bound", (_Handler,), {"page": server})
