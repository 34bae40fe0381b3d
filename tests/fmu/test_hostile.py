"""FMUs of strangers: broken, malicious or for others. All are refused with a sentence, none is loaded."""

from __future__ import annotations

import shutil
import stat
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from fmu.fmu_models import Swing

from kompono import Fmu, ModelError

pytest.importorskip("fmpy")
GOOD = "modelDescription.xml"


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path: Path, contents: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return path


def refused(path: Path, words: str) -> None:
    with pytest.raises(ModelError) as found:
        Fmu(path, trust=True)
    assert words in str(found.value), str(found.value)


@pytest.fixture
def good(exported: Callable[..., Path]) -> dict[str, bytes]:
    return members(exported(Swing, 2))


@pytest.mark.parametrize("name", ["../evil.txt", "/tmp/evil.txt", "a/../../evil", "C:evil", "a\\..\\evil"])
def test_names_that_lead_elsewhere(name: str, good: dict[str, bytes], tmp_path: Path) -> None:
    refused(packed(tmp_path / "x.fmu", {**good, name: b"boo"}), "leads out of its folder")


def test_a_bomb(good: dict[str, bytes], tmp_path: Path) -> None:
    refused(packed(tmp_path / "x.fmu", {**good, "resources/zeros": bytes(150 << 20)}), "would unpack to")


def test_a_link(good: dict[str, bytes], tmp_path: Path) -> None:
    path = packed(tmp_path / "x.fmu", good)
    with zipfile.ZipFile(path, "a") as archive:
        entry = zipfile.ZipInfo("resources/link")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    refused(path, "is a link")


def test_a_member_twice(good: dict[str, bytes], tmp_path: Path) -> None:
    path = packed(tmp_path / "x.fmu", good)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(GOOD, good[GOOD])
    refused(path, "member twice")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "cannot be read"),
        (b"<fmiModelDescription", "cannot be read"),
        (b"\x00\x01\x02", "cannot be read"),
        (b'<?xml version="1.0"?><other/>', ""),
        (b'<?xml version="1.0"?><fmiModelDescription fmiVersion="1.0"/>', ""),
        (b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "cc">]><a>&b;</a>', "document type"),
        ('<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE a []><a/>'.encode("utf-16"), "document type"),
    ],
)
def test_descriptions_that_are_none(text: bytes, words: str, good: dict[str, bytes], tmp_path: Path) -> None:
    refused(packed(tmp_path / "x.fmu", {**good, GOOD: text}), words)


def test_no_description(good: dict[str, bytes], tmp_path: Path) -> None:
    del good[GOOD]
    refused(packed(tmp_path / "x.fmu", good), "has no modelDescription.xml")


def test_another_platform(good: dict[str, bytes], tmp_path: Path) -> None:
    moved = {name.replace("linux64", "win32"): data for name, data in good.items()}
    refused(packed(tmp_path / "x.fmu", moved), "no code for this machine")


def test_libraries_that_are_none(good: dict[str, bytes], tmp_path: Path) -> None:
    (name,) = [name for name in good if name.startswith("binaries/")]
    refused(packed(tmp_path / "a.fmu", {**good, name: b"no library"}), "does not load")
    refused(packed(tmp_path / "b.fmu", {**good, name: good[name][:3000]}), "does not load")
    lacking = good[name].replace(b"fmi2GetDerivatives", b"fmi2GetDerivativeX")
    refused(packed(tmp_path / "c.fmu", {**good, name: lacking}), "lacks the function fmi2GetDerivatives")


def test_a_library_with_a_strange_name(good: dict[str, bytes], tmp_path: Path) -> None:
    named = good[GOOD].replace(b'modelIdentifier="Swing"', b'modelIdentifier="../../Swing"')
    refused(packed(tmp_path / "x.fmu", {**good, GOOD: named}), "cannot be called")


def test_another_token(good: dict[str, bytes], tmp_path: Path) -> None:
    import re

    other = re.sub(rb'guid="[^"]*"', b'guid="{other}"', good[GOOD])
    refused(packed(tmp_path / "x.fmu", {**good, GOOD: other}), "cannot be started")


def test_files_that_are_none(tmp_path: Path, exported: Callable[..., Path]) -> None:
    refused(tmp_path / "nowhere.fmu", "cannot be read")
    (tmp_path / "text.fmu").write_text("hello")
    refused(tmp_path / "text.fmu", "no FMU")
    cut = tmp_path / "cut.fmu"
    shutil.copy(exported(Swing, 2), cut)
    cut.write_bytes(cut.read_bytes()[:-200])
    refused(cut, "no FMU")


def test_damaged_files(tmp_path: Path, exported: Callable[..., Path]) -> None:
    """Whatever byte is changed in the table of members or the description, the answer is a sentence or a good FMU."""
    import random

    data, chance = bytearray(exported(Swing, 2).read_bytes()), random.Random(1)
    target = tmp_path / "x.fmu"
    binary = data.find(b"binaries/")
    for _ in range(40):
        broken = bytearray(data)
        place = chance.randrange(0, binary)  # the description; damaged machine code is what trust is about
        broken[place] ^= 1 << chance.randrange(8)
        target.write_bytes(broken)
        with suppress(ModelError):
            Fmu(target, trust=True)
