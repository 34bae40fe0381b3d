"""The self-contained page on a small server, for those who look at it from a shell or through a tunnel.

The whole motion goes to the browser once, which then plays it by itself: nothing is sent while it moves. The server
knows one page and answers nothing else, and only requests that are meant for it (see `guard`). Who sends a request, or
takes the answer, too slowly is left, so nobody can hold all its connections; a browser that hangs up is no error.
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
from kompono.errors import RunError

TRIES = 50  # ports after the one asked for
LONGEST = 16_384  # bytes of a request
SLOWEST = 20e3  # bytes/s at which the page must be taken


class PageServer:
    """Serves one page at `url` until `stop`; on `port`, or the next free one (0: any)."""

    def __init__(self, text: str, *, host: str = "127.0.0.1", port: int = 8080) -> None:
        self.host, self._ended = host, threading.Event()
        self._server = _listen(host, port, _handler(text.encode(), host))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page."""
        name = "localhost" if self.host in (*guard.HERE, "0.0.0.0", "::") else self.host
        return f"http://{name}:{self._server.server_address[1]}"

    def stop(self) -> None:
        """End the server."""
        self._ended.set()
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


def _handler(content: bytes, host: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers one address with one page."""

        def handle(self) -> None:
            request = _request(self.connection)
            if request:
                self.connection.settimeout(guard.PATIENCE + len(content) / SLOWEST)  # for all of the answer
                self.rfile = io.BytesIO(request)
                self.close_connection = True
                self.handle_one_request()

        def do_GET(self) -> None:
            refused = guard.refusal(host, self.headers.get_all("Host", []), self.headers.get_all("Origin", []))
            if refused or self.path.split("?")[0] not in ("/", "/favicon.ico"):
                self.send_error(404, explain=refused or None)
                return
            if self.path == "/favicon.ico":
                self.send_response(204)  # browsers ask, and complain about anything else
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("Content-Security-Policy", "frame-ancestors 'self'")
            for name, value in guard.HEADERS.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def version_string(self) -> str:
            return "kompono"

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing on the terminal."""

    return Handler
