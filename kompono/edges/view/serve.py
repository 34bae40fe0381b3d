"""The self-contained page on a small server, for those who look at it from a shell or through a tunnel.

The whole motion goes to the browser once, which then plays it by itself: nothing is sent while it moves. The server
knows one page and answers nothing else. Bound to this machine it also refuses requests that were sent to another name,
so that no foreign page can have the browser fetch it.
"""

from __future__ import annotations

import errno
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from kompono.errors import RunError

HERE = ("127.0.0.1", "localhost", "::1")
TRIES = 50  # ports after the one asked for


class PageServer:
    """Serves one page at `url` until `stop`; on `port`, or the next free one (0: any)."""

    def __init__(self, text: str, *, host: str = "127.0.0.1", port: int = 8080) -> None:
        self.host, self._ended = host, threading.Event()
        self._server = _listen(host, port, _handler(text.encode(), host in HERE))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page."""
        name = "localhost" if self.host in (*HERE, "0.0.0.0", "::") else self.host
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


def _listen(host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    for number in range(port, port + (TRIES if port else 1)):
        try:
            return ThreadingHTTPServer((host, number), handler)
        except OverflowError:
            break
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                fix = "Use --host 127.0.0.1 (this machine) or 0.0.0.0 (all), and a port above 1023."
                raise RunError(f"cannot listen on {host}:{number}: {error.strerror}.", fix=fix) from None
    raise RunError(f"no free port from {port} on.", fix="Give another: --port N, from 1024 to 65535.")


def _handler(content: bytes, only_here: bool) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers one address with one page."""

        def do_GET(self) -> None:
            name = self.headers.get("Host", "").rsplit(":", 1)[0].strip("[]")
            if self.path == "/favicon.ico":
                self.send_response(204)  # browsers ask, and complain about anything else
                self.end_headers()
                return
            if self.path.split("?")[0] != "/" or (only_here and name not in HERE):
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("Content-Security-Policy", "frame-ancestors 'self'")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing on the terminal."""

    return Handler
