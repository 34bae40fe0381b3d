"""A snapshot opens only at its server, for its customer, part and session; and nothing in it can be read."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from remote.summing import STATE
from remote.support import FRAMES, Papers, line, served, server, undisturbed

from kompono.errors import RemoteError
from kompono.remote import Refused
from kompono.remote.allowed import Grant
from kompono.remote.desk import Rules
from kompono.remote.kept import unpack
from kompono.remote.snapshots import Snapshots, key_in

CUSTOMER, PART, SESSION = "ab" * 32, bytes(range(32)), bytes(16)


@pytest.fixture
def snapshots() -> Snapshots:
    return Snapshots(bytes(32))


@pytest.fixture
def box(snapshots: Snapshots) -> bytes:
    return snapshots.lock(b"a state", 7, CUSTOMER, PART, SESSION)


def test_it_opens_where_it_was_made(snapshots: Snapshots, box: bytes) -> None:
    assert snapshots.unlock(box, CUSTOMER, PART, SESSION) == (7, b"a state")
    assert b"a state" not in box
    assert snapshots.lock(b"a state", 7, CUSTOMER, PART, SESSION) != box


def test_it_opens_nowhere_else(snapshots: Snapshots, box: bytes) -> None:
    for other, reason in (
        ((snapshots, "cd" * 32, PART, SESSION), "another customer's"),
        ((snapshots, CUSTOMER, bytes(32), SESSION), "of another part"),
        ((snapshots, CUSTOMER, PART, bytes(15) + b"x"), "altered, or is of another session"),
        ((Snapshots(os.urandom(32)), CUSTOMER, PART, SESSION), "locked by another server"),
    ):
        with pytest.raises(Refused, match=reason):
            other[0].unlock(box, *other[1:])


def test_every_byte_counts(snapshots: Snapshots, box: bytes) -> None:
    for k in range(len(box)):
        with pytest.raises(Refused):
            snapshots.unlock(box[:k] + bytes([box[k] ^ 1]) + box[k + 1 :], CUSTOMER, PART, SESSION)
        with pytest.raises(Refused):
            snapshots.unlock(box[:k], CUSTOMER, PART, SESSION)
    with pytest.raises(Refused):
        snapshots.unlock(box + b"\0", CUSTOMER, PART, SESSION)


def test_the_key_is_the_servers_own(tmp_path: Path) -> None:
    path = tmp_path / "state" / "snapshots.key"
    key = key_in(path)
    assert (len(key), path.stat().st_mode & 0o777) == (32, 0o600)
    assert key_in(path) == key
    path.chmod(0o640)
    with pytest.raises(RemoteError, match="can be read by others"):
        key_in(path)
    path.chmod(0o600)
    path.write_bytes(b"short")
    with pytest.raises(RemoteError, match="no key for snapshots"):
        key_in(path)


def test_what_a_customer_keeps_is_of_no_use_to_another(state: Path, papers: Papers) -> None:
    car, bus = papers.customer("Car Ltd"), papers.customer("Bus Ltd")
    grants = (Grant("Car Ltd", "", ("*",)), Grant("Bus Ltd", "", ("*",)))
    parts = {"sum": served(), "twin": served(digest=bytes(31) + b"x"), "same": served()}
    with server(state, papers, *grants, parts=parts, rules=Rules(frames=4)) as host:
        with line(host.port, car) as asked:
            replies = [asked.ask(frame) for frame in FRAMES[:8]]
            kept = asked.keep()
        inside = STATE.pack(*struct.unpack("<dd", replies[-1]), 8)
        assert inside not in kept
        assert unpack(kept).base == 8
        with pytest.raises(Refused, match="another customer's"):
            line(host.port, bus, kept=kept)
        with pytest.raises(Refused, match="of another part"):
            line(host.port, car, "twin", kept=kept)
        flipped = bytearray(kept)
        flipped[-1] ^= 1  # in the locked state
        with pytest.raises(Refused, match="altered"):
            line(host.port, car, kept=bytes(flipped))
        with line(host.port, car, kept=kept) as later:
            assert replies + [later.ask(frame) for frame in FRAMES[8:]] == undisturbed()
    (state / "snapshots.key").unlink()
    with server(state, papers, parts=parts) as host, pytest.raises(Refused, match="locked by another server"):
        line(host.port, car, kept=kept)
