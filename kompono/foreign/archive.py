"""Unpack a stranger's FMU: nothing leaves the folder it is given, nothing is larger than it says or than is sensible.

An FMU is a zip that anybody may have made. Names that lead elsewhere, links, members that are there twice, encrypted or
far larger than the file are refused before anything is written, and a description with a document type (the way to
make a line of XML as long as memory) before it is parsed.
"""

from __future__ import annotations

import hashlib
import stat
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from kompono.errors import ModelError

LARGEST = 512 << 20  # bytes of a file
UNPACKED = 2 << 30  # bytes of all its members
RATIO, FREE = 200, 64 << 20  # how much larger than the file they may be, from so many bytes on
MANY = 20_000  # members
DESCRIPTION = "modelDescription.xml"
_DESCRIPTION_LARGEST = 64 << 20
_AGAIN = "Get the file again from its author."


class Unpacked:
    """The members of an FMU in a folder that goes with this object."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder = tempfile.TemporaryDirectory(prefix="kompono-fmu-", ignore_cleanup_errors=True)
        self.folder = Path(self._folder.name)
        self.digest = _unpack(path, self.folder)
        self.members = sorted(f.relative_to(self.folder).as_posix() for f in self.folder.rglob("*") if f.is_file())


def _unpack(path: Path, folder: Path) -> str:
    """Write the members of a file into a folder; the hash of the file."""
    where = str(path)
    try:
        size = path.stat().st_size
    except OSError as error:
        fix = "Is the name right? Relative names start at the current folder."
        raise ModelError(f"cannot be read: {error.strerror}.", path=where, fix=fix) from error
    if size > LARGEST:
        raise ModelError(f"the file is larger than {LARGEST >> 20} MB.", path=where, fix=_AGAIN)
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            entries = _checked(archive, size, where)
            for entry in entries:
                _write(archive, entry, folder, where)
            file.seek(0)
            return hashlib.file_digest(file, "sha256").hexdigest()
    except ModelError:
        raise
    except Exception as error:  # what a damaged zip can raise is not listed anywhere
        why = f"the file is no FMU, or damaged ({type(error).__name__})."
        raise ModelError(why, path=where, fix=_AGAIN) from error


def _checked(archive: zipfile.ZipFile, size: int, path: str) -> list[zipfile.ZipInfo]:
    entries = archive.infolist()
    if len(entries) > MANY:
        raise ModelError(f"the file has {len(entries)} members, more than {MANY}.", path=path, fix=_AGAIN)
    for entry in entries:
        _check_entry(entry, path)
    names = [entry.filename.rstrip("/").casefold() for entry in entries]
    if len(set(names)) < len(names):
        raise ModelError("the file has a member twice.", path=path, fix=_AGAIN)
    total = sum(entry.file_size for entry in entries)
    if total > UNPACKED or total > FREE + RATIO * size:
        raise ModelError(f"the file would unpack to {total / 1e6:.0f} MB.", path=path, fix="This looks like a bomb.")
    sizes = {entry.filename: entry.file_size for entry in entries}
    if DESCRIPTION not in sizes:
        raise ModelError(f"the file has no {DESCRIPTION}.", path=path, fix="Is it an FMU?")
    if sizes[DESCRIPTION] > _DESCRIPTION_LARGEST:
        raise ModelError("its description is larger than any sensible one.", path=path, fix=_AGAIN)
    return entries


def _check_entry(entry: zipfile.ZipInfo, path: str) -> None:
    name, shown = entry.filename, repr(entry.filename[:60])
    parts = PurePosixPath(name).parts
    if not name or name.startswith("/") or "\\" in name or "\0" in name or ":" in name or ".." in parts:
        raise ModelError(f"its member {shown} leads out of its folder.", path=path, fix=_AGAIN)
    mode = entry.external_attr >> 16
    if mode and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_IFMT(mode) == 0):
        raise ModelError(f"its member {shown} is a link or no file.", path=path, fix=_AGAIN)
    if entry.flag_bits & 1:
        raise ModelError(f"its member {shown} is encrypted.", path=path, fix=_AGAIN)


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path, path: str) -> None:
    target = folder / entry.filename
    if entry.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        return
    with archive.open(entry) as source:
        data = source.read(entry.file_size + 1)
    if len(data) != entry.file_size:
        raise ModelError(f"its member {entry.filename!r} is not as long as it says.", path=path, fix=_AGAIN)
    if entry.filename == DESCRIPTION and (
        b"<!DOCTYPE" in data or b"<!ENTITY" in data or data[:2] in (b"\xff\xfe", b"\xfe\xff")
    ):
        raise ModelError("its description declares a document type, which no FMU needs.", path=path, fix=_AGAIN)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
