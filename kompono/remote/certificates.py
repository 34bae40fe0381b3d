"""Make and read certificates: an authority of one's own, and those it signs for suppliers and customers.

P-256 keys, which gRPC takes everywhere. A supplier's certificate names hosts and is good for serving only; a customer's
names the customer and is good for asking only, so none of them can play the other.
"""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kompono.errors import RemoteError
from kompono.remote.address import checked_host
from kompono.remote.packages import needed
from kompono.trust import make_folder, make_own, write_all

AUTHORITY = "authority"
_AUTHORITY_DAYS = 3650
_SLACK = datetime.timedelta(minutes=5)  # clocks differ


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key, in PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True)
class Facts:
    """What a certificate says."""

    name: str
    issuer: str
    begins: datetime.datetime
    ends: datetime.datetime
    hosts: tuple[str, ...]
    role: str  # authority, supplier, customer
    fingerprint: str


def make_authority(name: str, days: int = _AUTHORITY_DAYS) -> Pair:
    """An authority: what it signs is believed by whoever has its certificate."""
    key = _new_key()
    subject = _subject(name)
    x509 = needed("cryptography.x509")
    builder = _builder(subject, subject, key, days)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return _signed(builder.add_extension(_usage(signs=True), critical=True), key, key)


def make_supplier(authority: Pair, name: str, hosts: Sequence[str], days: int) -> Pair:
    """A certificate to serve with, for host names or addresses."""
    x509 = needed("cryptography.x509")
    if not hosts:
        raise RemoteError("a supplier's certificate needs the host names customers will write.", fix="Give --host.")
    return _leaf(authority, name, [_host(host) for host in hosts], x509.ExtendedKeyUsageOID.SERVER_AUTH, days)


def make_customer(authority: Pair, name: str, days: int) -> Pair:
    """A certificate to ask with."""
    x509 = needed("cryptography.x509")
    names = [x509.UniformResourceIdentifier(f"urn:kompono:customer:{slug(name)}")]
    return _leaf(authority, name, names, x509.ExtendedKeyUsageOID.CLIENT_AUTH, days)


def _leaf(authority: Pair, name: str, names: list[Any], use: Any, days: int) -> Pair:
    x509 = needed("cryptography.x509")
    signer = needed("cryptography.hazmat.primitives.serialization").load_pem_private_key(authority.key, None)
    issuer, key = x509.load_pem_x509_certificate(authority.certificate), _new_key()
    builder = _builder(_subject(name), issuer.subject, key, days)
    for extension, critical in (
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (_usage(signs=False), True),
        (x509.ExtendedKeyUsage([use]), False),
        (x509.SubjectAlternativeName(names), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key()), False),
    ):
        builder = builder.add_extension(extension, critical)
    return _signed(builder, key, signer)


def _new_key() -> Any:
    ec = needed("cryptography.hazmat.primitives.asymmetric.ec")
    return ec.generate_private_key(ec.SECP256R1())


def _subject(name: str) -> Any:
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name.strip()) <= len(name) <= 64:
        raise RemoteError("a name is one line of 1 to 64 printable characters.", fix='Try: "Ada Ltd"')
    x509 = needed("cryptography.x509")
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _host(host: str) -> Any:
    x509 = needed("cryptography.x509")
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(checked_host(host))


def _builder(subject: Any, issuer: Any, key: Any, days: int) -> Any:
    if not isinstance(days, int) or not 0 < days <= 36500:
        raise RemoteError(f"a certificate cannot be good for {days!r} days.", fix="Try 1 to 36500.")
    x509 = needed("cryptography.x509")
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.not_valid_before(now - _SLACK).not_valid_after(now + datetime.timedelta(days=days))
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return builder.serial_number(x509.random_serial_number()).add_extension(identifier, critical=False)


def _usage(*, signs: bool) -> Any:
    others = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only")
    no = dict.fromkeys((*others, "decipher_only"), False)
    return needed("cryptography.x509").KeyUsage(digital_signature=not signs, key_cert_sign=signs, crl_sign=signs, **no)


def _signed(builder: Any, key: Any, signer: Any) -> Pair:
    made = builder.sign(signer, needed("cryptography.hazmat.primitives.hashes").SHA256())
    serialization = needed("cryptography.hazmat.primitives.serialization")
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    return Pair(made.public_bytes(pem), key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))


def facts(data: bytes, path: str) -> Facts:
    """What the first certificate in a PEM file says."""
    x509 = needed("cryptography.x509")
    try:
        found = x509.load_pem_x509_certificate(data)
    except ValueError:
        raise RemoteError("this is no certificate in PEM.", path=path, fix="`kompono cert new` makes some.") from None
    kinds = {kind.oid: kind.value for kind in found.extensions}
    uses = kinds.get(x509.ExtensionOID.EXTENDED_KEY_USAGE, ())
    limits = kinds.get(x509.ExtensionOID.BASIC_CONSTRAINTS)
    serves, asks = (getattr(x509.ExtendedKeyUsageOID, kind) in uses for kind in ("SERVER_AUTH", "CLIENT_AUTH"))
    role = AUTHORITY if limits and limits.ca else {(1, 0): "supplier", (0, 1): "customer"}.get((serves, asks), "any")
    names = kinds.get(x509.ExtensionOID.SUBJECT_ALTERNATIVE_NAME, ())
    hosts = tuple(str(name.value) for name in names if isinstance(name, x509.DNSName | x509.IPAddress))
    der = found.public_bytes(needed("cryptography.hazmat.primitives.serialization").Encoding.DER)
    return Facts(
        _common(found.subject), _common(found.issuer), found.not_valid_before_utc, found.not_valid_after_utc, hosts,
        role, fingerprint(der),
    )  # fmt: skip


def _common(name: Any) -> str:
    found = name.get_attributes_for_oid(needed("cryptography.x509").NameOID.COMMON_NAME)
    return str(found[0].value) if found else name.rfc4514_string()


def fingerprint(der: bytes) -> str:
    """What people compare, and lists of customers may hold: SHA-256 of a certificate, 64 digits."""
    return hashlib.sha256(der).hexdigest()


def slug(name: str) -> str:
    """A name as part of a file name."""
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-") or "unnamed"


def check_new(folder: Path, stems: Iterable[str]) -> None:
    """Refuse to replace what is there."""
    for path in (folder / f"{stem}{suffix}" for stem in stems for suffix in (".key", ".pem")):
        if path.exists() or path.is_symlink():
            fix = "It is not replaced; move it away if you mean it."
            raise RemoteError("is there already.", path=str(path), fix=fix)


def write_pair(folder: Path, stem: str, pair: Pair) -> None:
    """`stem.key` (mode 600) and `stem.pem` in a folder; refused if one of them is there."""
    check_new(folder, [stem])
    try:
        make_folder(folder)
        write_all(make_own(folder / f"{stem}.key"), pair.key)
        write_all(make_own(folder / f"{stem}.pem"), pair.certificate)
        (folder / f"{stem}.pem").chmod(0o644)
    except OSError as error:
        raise RemoteError(f"cannot be written: {error.strerror}.", path=str(folder)) from error
