"""A zip with one spelling: members one behind the other, uncompressed, no dates, no comments, no attributes.

What is read must be, byte for byte, what `pack` writes for the same members. So there is nothing to unpack (no bomb),
and duplicates, links, hidden bytes, names that differ between the two lists of a zip, and other ways to show one reader
one thing and the next another are all refused without a rule for each.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping

from kompono.errors import SealedError

LARGEST = 64 << 20  # bytes of a file
MANY = 64  # members
LIMITS = {"manifest.json": 4 << 20, "signature": 64}  # bytes of a member; of any other, what the file may have
_NAME = re.compile(r"manifest\.json|signature|numbers\.bin|numbers/[0-9a-f]{32}\.box|code/[a-z0-9_-]{1,40}\.o")
_AGAIN = "Get the file again from its author."


def pack(members: Mapping[str, bytes]) -> bytes:
    """The file of these members, in their order."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            if not _NAME.fullmatch(name):
                raise SealedError(f"a sealed file has no place for {name!r}.")
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # the same on every system
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, data)
    return target.getvalue()


def unpack(data: bytes, path: str) -> dict[str, bytes]:
    """The members of a file, refused unless they are all there is in it."""
    if len(data) > LARGEST:
        raise SealedError(f"the file is larger than {LARGEST >> 20} MB.", path=path, fix=_AGAIN)
    if not data.startswith(b"PK\x03\x04"):
        raise SealedError("this is no sealed part.", path=path, fix="Make one with: kompono seal FILE.py:Part --out F")
    try:
        members = _members(data, path)
        same = pack(members) == data
    except SealedError:
        raise
    except Exception as error:  # what a damaged zip can raise is not listed anywhere
        raise SealedError(f"the file is damaged ({type(error).__name__}).", path=path, fix=_AGAIN) from error
    if not same:
        raise SealedError(
            "the file is not as it was sealed: something was added, moved or cut off.", path=path, fix=_AGAIN
        )
    return members


def _members(data: bytes, path: str) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        if len(entries) > MANY:
            raise SealedError(f"the file has {len(entries)} members, more than {MANY}.", path=path, fix=_AGAIN)
        for entry in entries:
            _check(entry, path)
        if len({entry.filename for entry in entries}) < len(entries):
            raise SealedError("the file has a member twice.", path=path, fix=_AGAIN)
        return {entry.filename: _content(archive, entry) for entry in entries}


def _check(entry: zipfile.ZipInfo, path: str) -> None:
    shown = repr(entry.filename[:60])
    if not _NAME.fullmatch(entry.filename):
        raise SealedError(f"the file has a member {shown}, which no sealed part has.", path=path, fix=_AGAIN)
    if entry.external_attr >> 16 != 0o100644 or entry.flag_bits or entry.compress_type != zipfile.ZIP_STORED:
        raise SealedError(f"its member {shown} is a link, compressed or encrypted.", path=path, fix=_AGAIN)
    if entry.file_size != entry.compress_size or entry.file_size > LIMITS.get(entry.filename, LARGEST):
        raise SealedError(f"its member {shown} has an impossible size.", path=path, fix=_AGAIN)


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    with archive.open(entry) as source:
        return source.read(entry.file_size + 1)
