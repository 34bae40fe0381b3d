"""Whether a library is whole, before the loader of the system sees it: one that is cut off ends the process there."""

from __future__ import annotations

import struct
from pathlib import Path

_LOAD = 1


def is_whole(file: Path) -> bool:
    """Whether all that an ELF library of 64 bits says it loads is in the file; other kinds are left to the loader."""
    data = file.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        return True
    try:
        (table,), (width, count) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<HH", data, 54)
        heads = [struct.unpack_from("<IIQQQQQQ", data, table + k * width) for k in range(count)]
    except struct.error:
        return False
    return all(place + size <= len(data) for kind, _, place, _, _, size, _, _ in heads if kind == _LOAD)
