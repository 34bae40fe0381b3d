"""The supplier's end of connections: gRPC accepts them, checks certificates and hands over streams of messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kompono.errors import RemoteError
from kompono.remote.allowed import Peer
from kompono.remote.certificates import fingerprint
from kompono.remote.credentials import Credentials
from kompono.remote.packages import needed

SERVICE, METHOD = "kompono.Remote", "Session"
UNSECURED = Peer("loopback", "")
_SPARE = 8  # streams beyond the sessions: of customers who come back, or who are refused

Talk = Callable[[Iterator[bytes], Peer, Callable[[], object]], Iterator[bytes]]


class Host:
    """A listening server. Without credentials it takes everybody: for loopback only, which the caller checks."""

    def __init__(
        self, talk: Talk, target: str, credentials: Credentials | None, *, streams: int, largest: int
    ) -> None:  # fmt: skip
        grpc = needed("grpc")
        self._talk, self._secured, self._error = talk, credentials is not None, grpc.RpcError
        options = [
            ("grpc.so_reuseport", 0),  # two servers on one port would share customers
            ("grpc.max_receive_message_length", largest),
            ("grpc.max_send_message_length", -1),
            ("grpc.max_concurrent_streams", streams + _SPARE),
            ("grpc.server_handshake_timeout_ms", 10_000),
            ("grpc.http2.min_recv_ping_interval_without_data_ms", 1000),
            ("grpc.http2.max_ping_strikes", 0),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.keepalive_time_ms", 20_000),  # customers who vanished
            ("grpc.keepalive_timeout_ms", 10_000),
        ]
        workers = ThreadPoolExecutor(streams + _SPARE, thread_name_prefix="kompono remote")
        self._server = grpc.server(workers, options=options, maximum_concurrent_rpcs=streams + _SPARE)
        handler = grpc.stream_stream_rpc_method_handler(self._handle)
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler}),))
        self.port = self._bind(grpc, target, credentials)
        self._server.start()

    def _bind(self, grpc: Any, target: str, credentials: Credentials | None) -> int:
        try:
            if credentials is None:
                return self._server.add_insecure_port(target)
            shown = grpc.ssl_server_credentials(
                [(credentials.key, credentials.certificate)], credentials.authority, require_client_auth=True
            )
            return self._server.add_secure_port(target, shown)
        except RuntimeError:
            fix = "Is the port in use, or the address none of this machine? Choose others with --port, --host."
            raise RemoteError(f"cannot listen at {target}.", fix=fix) from None

    def _handle(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        peer = self._peer(context) if self._secured else UNSECURED
        return self._talk(self._until_broken(requests), peer, context.cancel)

    def _until_broken(self, requests: Iterator[bytes]) -> Iterator[bytes]:
        try:
            yield from requests
        except self._error:  # the customer is gone
            return

    @staticmethod
    def _peer(context: Any) -> Peer:
        """Who it is, by the certificate gRPC has checked."""
        import ssl

        told = context.auth_context()
        name = b"".join(told.get("x509_common_name", [])[:1]).decode("utf-8", "replace")
        pem = b"".join(told.get("x509_pem_cert", [])[:1]).decode("ascii", "replace")
        return Peer(name if name.isprintable() else "", fingerprint(ssl.PEM_cert_to_DER_cert(pem)), context.peer())

    def stop(self, grace: float) -> None:
        """No new streams; those there are end, after `grace` [s] at the latest."""
        self._server.stop(grace).wait(grace + 5.0)
