"""The files one side of a connection shows and believes: certificate, private key, authority of the other side.

What is wrong with one's own files is said before anything is sent.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from pathlib import Path

from kompono.errors import RemoteError
from kompono.remote.certificates import Facts, Pair, facts
from kompono.remote.packages import needed
from kompono.sealed.files import directory
from kompono.trust import Untrusted, open_own, read_all

_LARGEST = 1 << 20
FILES = ("certificate.pem", "certificate.key", "authority.pem")  # in the folder `remote` of the configuration


@dataclass(frozen=True)
class Credentials:
    """Contents of the files, in PEM, and where they were."""

    certificate: bytes
    key: bytes = field(repr=False)
    authority: bytes
    paths: tuple[str, str, str]

    @property
    def facts(self) -> Facts:
        """What the own certificate says."""
        return facts(self.certificate, self.paths[0])


def own_place() -> Path:
    """Where a customer's files are looked for if none are named."""
    return directory() / "remote"


def read(certificate: str | Path, key: str | Path, authority: str | Path, role: str) -> Credentials:
    """Credentials of a `supplier` or a `customer`, good today and fitting together."""
    paths = (str(certificate), str(key), str(authority))
    pair = read_pair(*paths[:2])
    found = Credentials(pair.certificate, pair.key, _content(paths[2]), paths)
    if found.facts.role not in (role, "any"):
        raise RemoteError(
            f"this is the certificate of {_article(found.facts.role)}, not of a {role}.", path=paths[0],
            fix=f'`kompono cert new --{role} "Your Name"` makes one.',
        )  # fmt: skip
    facts(found.authority, paths[2])
    return found


def read_pair(certificate: str | Path, key: str | Path) -> Pair:
    """A certificate that is good today, and its key."""
    pair = Pair(_content(str(certificate)), _secret(str(key)))
    found = facts(pair.certificate, str(certificate))
    if doubt(found):
        fix = "Is the clock right? Ask for another, or make one: kompono cert new"
        raise RemoteError(f"the certificate is not used{doubt(found)}.", path=str(certificate), fix=fix)
    _check_fit(pair, str(certificate), str(key))
    return pair


def facts_in(path: str | Path) -> Facts:
    """What the certificate in a file says."""
    return facts(_content(str(path)), str(path))


def own() -> Credentials:
    """A customer's own, from the configuration folder."""
    folder = own_place()
    missing = [name for name in FILES if not (folder / name).exists()]
    if missing:
        raise RemoteError(
            f"you have no certificate to ask suppliers with: {', '.join(missing)} missing.", path=str(folder),
            fix="Put there what the supplier gave you, or name the files.",
        )  # fmt: skip
    return read(*(folder / name for name in FILES), role="customer")


def doubt(found: Facts) -> str:
    """Why a certificate is not good now; empty if it is."""
    now = datetime.datetime.now(datetime.UTC)
    if now > found.ends:
        return f": it has expired on {found.ends:%Y-%m-%d}"
    return f": it is good from {found.begins:%Y-%m-%d %H:%M} UTC on, not yet" if now < found.begins else ""


def _check_fit(pair: Pair, certificate: str, path: str) -> None:
    x509, serialization = needed("cryptography.x509"), needed("cryptography.hazmat.primitives.serialization")
    try:
        key = serialization.load_pem_private_key(pair.key, None)
    except (ValueError, TypeError):
        raise RemoteError("this is no private key in PEM without a password.", path=path) from None
    if key.public_key() != x509.load_pem_x509_certificate(pair.certificate).public_key():
        raise RemoteError(f"this is not the key of {certificate}.", path=path)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as source:
            data = source.read(_LARGEST + 1)
    except OSError as error:
        raise RemoteError(f"cannot be read: {error.strerror}.", path=path, fix="Is the name right?") from error
    if len(data) > _LARGEST:
        raise RemoteError("is far too long for a certificate.", path=path)
    return data


def _secret(path: str) -> bytes:
    try:
        return read_all(open_own(Path(path), secret=True))[:_LARGEST]
    except Untrusted as error:
        raise RemoteError(f"the key is not used: {error}.", path=path) from error
    except OSError as error:
        raise RemoteError(f"cannot be read: {error.strerror}.", path=path, fix="Is the name right?") from error


def _article(role: str) -> str:
    return f"an {role}" if role[0] == "a" else f"a {role}"
