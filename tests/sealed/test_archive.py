"""The zip of a sealed part: anything that is not exactly as it is written is refused."""

from __future__ import annotations

import io
import stat
import warnings
import zipfile
from collections.abc import Callable

import pytest

from kompono.errors import SealedError
from kompono.sealed import archive

MEMBERS = {"manifest.json": b"{}", "signature": b"s" * 64, "code/x86_64-linux-1.o": b"code", "numbers.bin": b""}


def zipped(write: Callable[[zipfile.ZipFile], None], kind: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", kind) as file:
        for name, data in MEMBERS.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr, entry.compress_type = 3, 0o100644 << 16, kind
            file.writestr(entry, data)
        write(file)
    return target.getvalue()


def link(file: zipfile.ZipFile) -> None:
    entry = zipfile.ZipInfo("code/link.o", (1980, 1, 1, 0, 0, 0))
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    file.writestr(entry, "/etc/passwd")


def comment(file: zipfile.ZipFile) -> None:
    file.comment = b"hello"


def many(file: zipfile.ZipFile) -> None:
    for k in range(archive.MANY):
        file.writestr(f"code/{k}.o", "")


def twice(file: zipfile.ZipFile) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        entry = zipfile.ZipInfo("numbers.bin", (1980, 1, 1, 0, 0, 0))
        entry.external_attr = 0o100644 << 16
        file.writestr(entry, b"other")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (zipped(twice), "a member twice"),
        (zipped(lambda f: f.writestr("../../evil.o", b"")), "which no sealed part has"),
        (zipped(lambda f: f.writestr("/etc/passwd", b"")), "which no sealed part has"),
        (zipped(lambda f: f.writestr("code/../x.o", b"")), "which no sealed part has"),
        (zipped(lambda f: f.writestr("code.py", b"")), "which no sealed part has"),
        (zipped(link), "is a link"),
        (zipped(many), "more than"),
        (zipped(comment), "added, moved or cut"),
        (zipped(lambda f: None, zipfile.ZIP_DEFLATED), "compressed"),
        (zipped(lambda f: None) + b"x", "added, moved or cut"),
        (b"PK\x03\x04" + zipped(lambda f: None), "added, moved or cut|damaged"),
        (b"#!/bin/sh\n" + zipped(lambda f: None), "no sealed part"),
        (b"", "no sealed part"),
        (b"PK\x03\x04" + bytes(100), "damaged"),
    ],
)
def test_tricks_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(SealedError, match=reason):
        archive.unpack(data, "f.part")


def test_what_is_written_is_read() -> None:
    assert archive.unpack(archive.pack(MEMBERS), "") == MEMBERS
    assert archive.unpack(zipped(lambda f: None), "") == MEMBERS


def test_sizes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SealedError, match="impossible size"):
        archive.unpack(archive.pack(MEMBERS | {"signature": b"s" * 65}), "")
    monkeypatch.setattr(archive, "LARGEST", 300)
    with pytest.raises(SealedError, match="larger than"):
        archive.unpack(archive.pack(MEMBERS), "")
