"""Signing (Ed25519), locking for a recipient (X25519, HKDF-SHA256, ChaCha20-Poly1305), fingerprints.

All from the package `cryptography`; keys are 32 raw bytes each. A box is what was made once for it (32 bytes), a nonce
(12) and the locked data with its tag (16); it opens only for its recipient, beside the very code it was locked with.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from typing import Any

from kompono.errors import SealedError

_PURPOSE = b"kompono sealed numbers 1"
_KEPT = b"kompono kept translation 1"
_SIGNED = b"kompono sealed part 1\n"  # a signature of this kind is for nothing else


def _primitives(name: str) -> Any:
    try:
        return importlib.import_module(f"cryptography.hazmat.primitives.{name}")
    except ImportError as cause:
        fix = "Try: pip install 'kompono[seal]'"
        raise SealedError("sealed parts need the package cryptography, which is not installed.", fix=fix) from cause


def fingerprint(key: bytes) -> str:
    """What people compare: 128 bits of the hash of a public key, in groups of four."""
    digits = hashlib.sha256(key).hexdigest()[:32]
    return " ".join(digits[k : k + 4] for k in range(0, 32, 4))


def new_signing_key() -> bytes:
    """A private key to sign with."""
    return _primitives("asymmetric.ed25519").Ed25519PrivateKey.generate().private_bytes_raw()


def new_opening_key() -> bytes:
    """A private key to open boxes with."""
    return _primitives("asymmetric.x25519").X25519PrivateKey.generate().private_bytes_raw()


def verifying_key(private: bytes) -> bytes:
    """The public half of a signing key."""
    key = _primitives("asymmetric.ed25519").Ed25519PrivateKey.from_private_bytes(private)
    return key.public_key().public_bytes_raw()


def locking_key(private: bytes) -> bytes:
    """The public half of an opening key."""
    key = _primitives("asymmetric.x25519").X25519PrivateKey.from_private_bytes(private)
    return key.public_key().public_bytes_raw()


def sign(private: bytes, text: bytes) -> bytes:
    """64 bytes."""
    return _primitives("asymmetric.ed25519").Ed25519PrivateKey.from_private_bytes(private).sign(_SIGNED + text)


def signed_by(public: bytes, signature: bytes, text: bytes) -> bool:
    """Whether a signature of a text is that of a key."""
    ed25519 = _primitives("asymmetric.ed25519")
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(public).verify(signature, _SIGNED + text)
    except Exception:  # InvalidSignature, or bytes that are no key
        return False
    return True


def keeping_key(private: bytes, bound_to: bytes) -> bytes:
    """A key for what its owner keeps of something that was locked for this private key."""
    sha256 = _primitives("hashes").SHA256()
    return _primitives("kdf.hkdf").HKDF(sha256, 32, salt=bound_to, info=_KEPT).derive(private)


def hide(data: bytes, key: bytes, name: str) -> bytes:
    """Data as it is kept under a name: a nonce (12), and the locked data with its tag (16)."""
    nonce = os.urandom(12)
    return nonce + _primitives("ciphers.aead").ChaCha20Poly1305(key).encrypt(nonce, data, name.encode())


def seek(hidden: bytes, key: bytes, name: str) -> bytes | None:
    """What was hidden under a name, or None if it is not as it was."""
    try:
        cipher = _primitives("ciphers.aead").ChaCha20Poly1305(key)
        return cipher.decrypt(hidden[:12], hidden[12:], name.encode())
    except SealedError:
        raise
    except Exception:  # InvalidTag, or bytes that are too few
        return None


def _cipher(shared: bytes, once: bytes, recipient: bytes) -> Any:
    sha256 = _primitives("hashes").SHA256()
    key = _primitives("kdf.hkdf").HKDF(sha256, 32, salt=once + recipient, info=_PURPOSE).derive(shared)
    return _primitives("ciphers.aead").ChaCha20Poly1305(key)


def lock(data: bytes, recipient: bytes, bound_to: bytes) -> bytes:
    """A box for one recipient (public key) that opens only together with `bound_to`."""
    x25519 = _primitives("asymmetric.x25519")
    try:
        public = x25519.X25519PublicKey.from_public_bytes(recipient)
        once = x25519.X25519PrivateKey.generate()
        own = once.public_key().public_bytes_raw()
        cipher = _cipher(once.exchange(public), own, recipient)
    except ValueError as error:
        raise SealedError("the recipient's key is no key.", fix="Ask for what `kompono keys show` prints.") from error
    nonce = os.urandom(12)
    return own + nonce + cipher.encrypt(nonce, data, bound_to)


def unlock(box: bytes, private: bytes, bound_to: bytes) -> bytes | None:
    """What was locked, or None if it is not for this key or not as it was made."""
    x25519 = _primitives("asymmetric.x25519")
    own, nonce, data = box[:32], box[32:44], box[44:]
    try:
        shared = x25519.X25519PrivateKey.from_private_bytes(private).exchange(
            x25519.X25519PublicKey.from_public_bytes(own)
        )
        return _cipher(shared, own, locking_key(private)).decrypt(nonce, data, bound_to)
    except SealedError:
        raise
    except Exception:  # InvalidTag, or bytes that are no key
        return None
