"""Why a connection failed, in a sentence: gRPC says UNAVAILABLE for a dead server and for a refused certificate alike.

A plain TLS handshake with the same files tells them apart. What will not change by trying again is `Refused`. A gRPC
server says nothing when it does not like a certificate, it hangs up: after a handshake that went well, where others are
greeted at once. Twice in a row is no accident.
"""

from __future__ import annotations

import socket
import ssl
import tempfile
import time
from pathlib import Path

from kompono.remote.address import Address
from kompono.remote.credentials import Credentials, doubt
from kompono.remote.interface import Refused

_TIMEOUT, _VERDICT = 5.0, 1.0  # [s] to connect; for a server to say what it finds
_AGAIN = 0.2  # [s]
_LOOK = "`kompono cert show FILE` shows what is in yours; ask the supplier which authority is believed."
_VERIFY = {  # codes of OpenSSL
    9: "is not good yet: one of the two clocks is wrong, or it was made for later",
    10: "has expired",
    18: "was signed by nobody but itself",
    19: "was signed by another authority than the one you believe",
    20: "was signed by another authority than the one you believe",
    62: "does not name this host",
    64: "does not name this address",
    26: "is not one to serve with",
}
_ALERTS = {  # what a server says of the certificate it was shown
    "UNKNOWN_CA": "the supplier does not know the authority that signed your certificate",
    "CERTIFICATE_EXPIRED": "the supplier finds your certificate expired",
    "CERTIFICATE_REQUIRED": "the supplier asks for a certificate, and none was shown",
    "HANDSHAKE_FAILURE": "the supplier asks for a certificate it can use",
    "BAD_CERTIFICATE": "the supplier finds your certificate bad: not good yet, or damaged",
    "UNSUPPORTED_CERTIFICATE": "the supplier does not take your certificate: it is not one to ask with",
    "CERTIFICATE_REVOKED": "the supplier has revoked your certificate",
    "CERTIFICATE_UNKNOWN": "the supplier does not accept your certificate",
    "ACCESS_DENIED": "the supplier does not let you in",
    "DECRYPT_ERROR": "the supplier does not know the authority that signed your certificate",
}


def explain(address: Address, credentials: Credentials | None, limit: float = _TIMEOUT) -> str:
    """What is the matter with a server that may come back, found within about `limit` [s]; Refused if a certificate is
    the reason.
    """
    try:
        if _greeted(address, credentials, limit):
            return "the connection broke"
        time.sleep(min(limit, _AGAIN))
        if _greeted(address, credentials, limit):
            return "the connection broke"
    except ssl.SSLCertVerificationError as error:
        what = _VERIFY.get(error.verify_code, f"is not accepted ({error.verify_message})")
        raise Refused(f"the certificate of the server at {address.target} {what}.", fix=_advice(error)) from None
    except ssl.SSLEOFError:
        return "the server ended the connection"
    except ssl.SSLError as error:
        return _alert(error, address)
    except socket.gaierror:
        return f"the name {address.host} is not known"
    except ConnectionRefusedError:
        return f"nobody listens at {address.target}"
    except TimeoutError:
        return f"{address.target} does not answer"
    except OSError as error:
        return f"{address.target} cannot be reached ({error.strerror or error})"
    raise _disliked(credentials)


def _greeted(address: Address, credentials: Credentials | None, limit: float) -> bool:
    """Whether the server has something to say to us, or nothing yet: else it has hung up."""
    with socket.create_connection((address.host, address.port), timeout=min(limit, _TIMEOUT)) as plain:
        if credentials is None:
            return not _speaks_tls(plain)
        with context(credentials).wrap_socket(plain, server_hostname=address.host) as secured:
            secured.settimeout(min(limit, _VERDICT))
            try:
                return bool(secured.recv(1))  # it judges our certificate when the handshake is over for us
            except TimeoutError:
                return True


def _speaks_tls(plain: socket.socket) -> bool:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE  # nothing is sent or believed, only looked at
    try:
        made.wrap_socket(plain).close()
    except (OSError, ValueError):
        return False
    return True


def _disliked(credentials: Credentials | None) -> Refused:
    """Why a server hung up on us, as far as our own files tell."""
    if credentials is None:
        return Refused("the server speaks TLS, this side does not.", fix="Leave out insecure=True, show certificates.")
    found = credentials.facts
    if doubt(found):
        return Refused(f"the supplier does not take your certificate{doubt(found)}.", fix="Ask for a new one.")
    if found.role not in ("customer", "any"):
        return Refused("the supplier does not take your certificate: it is not one to ask with.", fix=_LOOK)
    return Refused(
        f"the supplier does not take the certificate of {found.name!r}, signed by {found.issuer!r}: most likely it "
        "does not know that authority.", fix=_LOOK,
    )  # fmt: skip


def context(credentials: Credentials) -> ssl.SSLContext:
    """Python's TLS with the same files as gRPC's."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.set_alpn_protocols(["h2"])
    made.load_verify_locations(cadata=credentials.authority.decode("ascii", "replace"))
    with tempfile.TemporaryDirectory() as folder:  # mode 700; the module takes files only
        chain = Path(folder, "chain.pem")
        chain.write_bytes(credentials.certificate + b"\n" + credentials.key)
        made.load_cert_chain(chain)
    return made


def _alert(error: ssl.SSLError, address: Address) -> str:
    reason = error.reason or ""
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        raise Refused(
            f"what listens at {address.target} does not speak TLS.",
            fix="Is the port right? Was it started with --cert?",
        ) from None
    for word, sentence in _ALERTS.items():
        if reason.endswith(word):
            raise Refused(f"{sentence}.", fix=_LOOK) from None
    return f"the TLS handshake failed ({reason.lower().replace('_', ' ') or error})"


def _advice(error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code in (62, 64):
        return "Write the host as the supplier's certificate names it."
    if error.verify_code in (18, 19, 20):
        return "Ask the supplier for the file authority.pem, and compare its fingerprint."
    return "Ask the supplier."
