"""A log at the end of a file: records that are appended whole, and of which a reader takes those that are whole.

A record is a head (mark, kind, length), that many bytes, and a SHA-256 of both and of the checksum before it. So a
record that was being written when the power went is no record, and none can be left out or exchanged.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from kompono.result.record import dump

MARK = b"\nKL2"
HEAD = struct.Struct("<4s4sQ")  # mark, kind, length
DIGEST = hashlib.sha256().digest_size
LENGTH = struct.Struct("<Q")

Arrays = Mapping[str, np.ndarray]


class Log:
    """Appends records to a file, from its end on; each is on disk when `append` returns."""

    def __init__(self, file: BinaryIO, last: bytes) -> None:
        self._file, self._last, self._end = file, last, file.seek(0, os.SEEK_END)

    def append(self, kind: bytes, words: Mapping[str, Any], arrays: Arrays) -> None:
        """Write a record; if that fails, the file ends where it did before."""
        parts = list(_packed(words, arrays))
        head = HEAD.pack(MARK, kind, sum(len(part) for part in parts))
        digest = hashlib.sha256(self._last + head)
        try:
            self._file.seek(self._end)
            self._file.write(head)
            for part in parts:
                digest.update(part)
                self._file.write(part)
            self._file.write(digest.digest())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(self._end)
            raise
        self._last, self._end = digest.digest(), self._file.tell()

    def close(self) -> None:
        """No more records."""
        self._file.close()


class LogReader:
    """The whole records of a file from `start` on; `end` is where they end, `last` the checksum of the last one."""

    def __init__(self, file: BinaryIO, start: int, first: bytes) -> None:
        self._file, self.end, self.last = file, start, first
        self._size = file.seek(0, os.SEEK_END)

    def __iter__(self) -> Iterator[tuple[bytes, dict[str, Any], dict[str, np.ndarray]]]:
        while self._size - self.end >= HEAD.size + DIGEST:
            self._file.seek(self.end)
            head = self._file.read(HEAD.size)
            mark, kind, length = HEAD.unpack(head)
            if mark != MARK or length > self._size - self.end - HEAD.size - DIGEST:
                return
            data = self._file.read(length)
            digest = hashlib.sha256(self.last + head + data).digest()
            if self._file.read(DIGEST) != digest:
                return
            words, arrays = _unpacked(data)
            self.end, self.last = self._file.tell(), digest
            yield kind, words, arrays

    @property
    def rest(self) -> int:
        """Bytes behind the last whole record."""
        return self._size - self.end


def _packed(words: Mapping[str, Any], arrays: Arrays) -> Iterator[bytes | memoryview]:
    shapes = [[name, list(array.shape)] for name, array in arrays.items()]
    text = dump({"words": words, "arrays": shapes}).encode()
    yield LENGTH.pack(len(text))
    yield text
    for array in arrays.values():
        yield np.ascontiguousarray(array, dtype="<f8").data.cast("B") if array.size else b""


def _unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    (length,) = LENGTH.unpack_from(data)
    content = json.loads(data[LENGTH.size : LENGTH.size + length])
    arrays, place = {}, LENGTH.size + length
    for name, shape in content["arrays"]:
        count = int(np.prod(shape, dtype=object)) if shape else 1
        if not 0 <= count <= (len(data) - place) // 8:
            raise ValueError(f"{name} declares {count} numbers, {(len(data) - place) // 8} are there")
        arrays[name] = np.frombuffer(data, dtype="<f8", count=count, offset=place).reshape(shape)
        place += 8 * count
    return content["words"], arrays
