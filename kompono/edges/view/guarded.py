"""viser's server behind our guard: requests are looked at before viser sees them.

viser lets nobody look at requests, but it asks `websockets` to serve, and that has a place for it. While a server
starts, the call gets our checks in front of viser's own answer, limits, and a logger that keeps quiet when a browser
hangs up. If a version of viser does not come by that way, its server is ended again: an open door is no view.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import threading
from typing import Any

from kompono.edges.view import guard
from kompono.errors import RunError

POLICY = "script-src-attr 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
LARGEST = 1 << 20  # bytes of a message: buttons, sliders and cameras are small
_starting = threading.Lock()


def start(viser: Any, host: str, port: int, title: str) -> Any:
    """A viser server that answers only what is meant for it, and shares itself with nobody."""
    websockets: Any = importlib.import_module("websockets.asyncio.server")
    serve, found = websockets.serve, []

    def guarded(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
        if not getattr(process_request, "__module__", "").startswith("viser."):
            return serve(*arguments, process_request=process_request, **options)
        found.append(process_request)
        options |= {"open_timeout": guard.PATIENCE, "max_size": LARGEST, "logger": _quiet()}
        options["create_connection"] = _limited(websockets)
        return serve(*arguments, process_request=_before(host, process_request), **options)

    with _starting:
        websockets.serve = guarded
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                server = viser.ViserServer(host=host, port=port, label=title, verbose=False)
        finally:
            websockets.serve = serve
    try:
        if not found:
            raise AttributeError("its server does not come by our guard")
        _share_with_nobody(viser, server)
    except (AttributeError, AssertionError) as error:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()
        fix = "Use viser 1.1, or the page (kompono view without --viser)."
        raise RunError(f"viser {viser.__version__} cannot be guarded: {error}.", fix=fix) from None
    return server


def _before(host: str, answer: Any) -> Any:
    """Our look at a request, then viser's answer."""

    def look(connection: Any, request: Any) -> Any:
        headers = request.headers
        refused = guard.refusal(host, headers.get_all("Host"), headers.get_all("Origin"))
        if refused:
            return connection.respond(403, f"{refused}\n")
        response = answer(connection, request)
        if response is not None:
            for name, value in {**guard.HEADERS, "Content-Security-Policy": POLICY}.items():
                response.headers[name] = value
        return response

    return look


def _limited(websockets: Any) -> Any:
    """Connections up to a number; one more is closed before it costs anything."""

    class Limited(websockets.ServerConnection):
        _late = False

        def connection_made(self, transport: Any) -> None:
            if len(self.server.handlers) < guard.CONNECTIONS:
                super().connection_made(transport)
            else:
                self._late = True
                transport.abort()

        def data_received(self, data: bytes) -> None:
            if not self._late:
                super().data_received(data)

        def eof_received(self) -> None:
            if not self._late:
                super().eof_received()

        def connection_lost(self, exc: Exception | None) -> None:
            if not self._late:
                super().connection_lost(exc)

    return Limited


def _quiet() -> logging.Logger:
    """A logger that says nothing: there is nothing the user could do about a browser that hangs up."""
    logger = logging.getLogger("kompono.view")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return logger


def _share_with_nobody(viser: Any, server: Any) -> None:
    """Any client could ask viser to make the page public through a relay; here nobody listens to that."""
    messages = importlib.import_module("viser._messages")
    for kind in (messages.ShareUrlRequest, messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(kind)
