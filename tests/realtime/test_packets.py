"""Packets: what is sent arrives, and whatever is not exactly right is counted and ignored."""

from __future__ import annotations

import math
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kompono.realtime.packet import (
    HEADER,
    HELLO,
    INPUTS,
    OUTPUTS,
    WRAP,
    BadPacket,
    Mailbox,
    decode,
    encode,
    layout_mark,
    size_of,
)

MARK = layout_mark(["force"], ["x", "v"])
COUNTS = {HELLO: 0, INPUTS: 3}


def good(sequence: int = 1, values: Any = (1.0, -2.5, 3e-300), **options: Any) -> bytes:
    return encode(INPUTS, MARK, sequence, 0.25, values, **options)


def test_a_packet_comes_back_as_it_was() -> None:
    packet = decode(good(7), MARK, COUNTS)
    assert (packet.kind, packet.sequence, packet.time) == (INPUTS, 7, 0.25)
    assert packet.values.tolist() == [1.0, -2.5, 3e-300]


def test_the_layout_is_the_documented_one() -> None:
    """Byte by byte, as somebody would write it who has only the table."""
    values = struct.pack("<3d", 1.0, -2.5, 3e-300)
    head = b"KOMP" + bytes([1, 1, 1, 0]) + struct.pack("<III", 3, 7, MARK) + bytes(4) + struct.pack("<d", 0.25)
    assert len(head) == 32
    assert good(7) == head + values + struct.pack("<I", zlib.crc32(head + values))
    assert len(good()) == size_of(3)
    assert zlib.crc32(b"force\n\nx\nv") == MARK


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.integers(0, size_of(3) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed(place: int, change: int) -> None:
    data = bytearray(good())
    data[place] ^= change
    with pytest.raises(BadPacket):
        decode(bytes(data), MARK, COUNTS)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.binary(max_size=100))
def test_noise_is_ignored(data: bytes) -> None:
    mailbox = Mailbox(MARK, COUNTS, checksum=False)
    assert mailbox.take(data) is None
    assert mailbox.take(good()[:32] + data[:7]) is None
    assert sum(mailbox.ignored.values()) == 2


def changed(offset: int, form: str, value: Any) -> bytes:
    """A packet with another field, and a checksum that fits."""
    data = bytearray(good()[:-4])
    struct.pack_into(form, data, offset, value)
    return bytes(data) + struct.pack("<I", zlib.crc32(data))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "length"),
        (good()[:31], "length"),
        (good()[:-1], "length"),
        (good() + b"x", "length"),
        (good(values=(1.0, 2.0)), "length"),
        (changed(8, "<I", 2**32 - 1), "length"),
        (changed(0, "4s", b"KOMQ"), "magic"),
        (changed(4, "<B", 2), "version"),
        (encode(OUTPUTS, MARK, 1, 0.0, (1, 2, 3)), "kind"),
        (changed(5, "<B", 9), "kind"),
        (changed(6, "<B", 3), "kind"),
        (changed(7, "<B", 1), "kind"),
        (changed(20, "<I", 1), "kind"),
        (encode(INPUTS, layout_mark(["force"], ["v", "x"]), 1, 0.0, (1, 2, 3)), "layout"),
        (good(checksum=False), "checksum"),
        (good()[:-4] + b"\0\0\0\0", "checksum"),
        (good(values=(1.0, math.nan, 2.0)), "not finite"),
        (good(values=(1.0, math.inf, 2.0)), "not finite"),
        (changed(24, "<d", math.nan), "not finite"),
    ],
)
def test_wrong_packets_are_counted_by_reason(data: bytes, reason: str) -> None:
    mailbox = Mailbox(MARK, COUNTS)
    assert mailbox.take(data) is None
    assert mailbox.ignored == {reason: 1}
    assert mailbox.take(good()) is not None


def test_without_checksums_plain_packets_pass_and_wrong_checksums_do_not() -> None:
    mailbox = Mailbox(MARK, COUNTS, checksum=False)
    assert mailbox.take(good(1, checksum=False)) is not None
    assert mailbox.take(good(2)) is not None
    assert mailbox.take(good(3)[:-1] + bytes([good(3)[-1] ^ 1])) is None


def test_old_packets_are_ignored_and_gaps_counted() -> None:
    mailbox = Mailbox(MARK, COUNTS)
    taken = [number for number in (1, 2, 5, 4, 5, 6) if mailbox.take(good(number))]
    assert taken == [1, 2, 5, 6]
    assert mailbox.report() == {"accepted": 4, "lost": 2, "ignored": {"stale": 2}}


def test_numbers_wrap() -> None:
    mailbox = Mailbox(MARK, COUNTS)
    assert all(mailbox.take(good(number)) for number in (WRAP - 2, WRAP - 1, WRAP, WRAP + 1))
    assert mailbox.lost == 0


def test_a_hello_begins_anew() -> None:
    mailbox = Mailbox(MARK, COUNTS)
    mailbox.take(good(1000))
    assert mailbox.take(good(1)) is None
    hello = mailbox.take(encode(HELLO, MARK, 0, 0.0))
    assert hello is not None
    assert hello.kind == HELLO
    assert mailbox.take(good(1)) is not None


def test_the_header_needs_no_padding() -> None:
    assert HEADER.size == 32
    assert np.dtype("<f8").itemsize * 2 + HEADER.size == 48
