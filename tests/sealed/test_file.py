"""A sealed file that is cut, altered, of another version, or signed by somebody else is refused with a sentence."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sealed.files import changed, write

from kompono.compile import jit, targets
from kompono.errors import SealedError
from kompono.sealed import archive, keys, load_sealed, read_sealed, trust
from kompono.sealed.read import open_sealed


@pytest.fixture(scope="module")
def author() -> keys.Identity:
    return keys.new_identity("Grace")


@pytest.fixture(scope="module")
def data(author: keys.Identity, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("sealed") / "spring.part"
    return write(path, author, targets=[targets.fitting(targets.TARGETS)]).read_bytes()


@pytest.fixture(autouse=True)
def no_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file of this module may get as far as LLVM."""
    monkeypatch.setattr(jit, "load", lambda *_: pytest.fail("a damaged file was linked"))


@pytest.fixture
def trusting(author: keys.Identity) -> None:
    trust.add(author.card.author, author.name)


def refused(data: bytes, path: Path) -> str:
    path.write_bytes(data)
    with pytest.raises(SealedError) as caught:
        load_sealed(path)
    assert str(caught.value).startswith(str(path))
    assert caught.value.fix
    return str(caught.value)


@pytest.mark.usefixtures("trusting")
def test_a_file_is_loaded_as_it_was_sealed(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "f.part").write_bytes(data)
    code = load_sealed(tmp_path / "f.part")
    assert code.manifest.author == "Grace"
    assert code.start(None).tolist() == [0.125, -7.25]
    assert code.manifest.shape.parameters[0].default == 2.5
    assert code.manifest.shape.variant(None).functions["move"].zeros == (1,)


@pytest.mark.usefixtures("trusting")
def test_every_cut_is_refused(data: bytes) -> None:
    for length in range(len(data)):
        with pytest.raises(SealedError):
            open_sealed(data[:length], "f.part")


@pytest.mark.usefixtures("trusting")
def test_every_changed_bit_is_refused(data: bytes) -> None:
    other = bytearray(data)
    for place in range(8 * len(data)):
        other[place // 8] ^= 1 << place % 8
        with pytest.raises(SealedError):
            open_sealed(bytes(other), "f.part")
        other[place // 8] ^= 1 << place % 8
    assert bytes(other) == data


@pytest.mark.usefixtures("trusting")
def test_every_changed_byte_of_a_member_is_refused(data: bytes) -> None:
    """With the checksums of the zip put right."""
    chance = random.Random(1)
    members = archive.unpack(data, "")
    for name, content in members.items():
        for place in range(len(content)):
            other = bytearray(content)
            other[place] ^= 1 << chance.randrange(8)
            with pytest.raises(SealedError):
                open_sealed(archive.pack(members | {name: bytes(other)}), "f.part")


@pytest.mark.usefixtures("trusting")
def test_random_damage_is_refused(data: bytes) -> None:
    chance = random.Random(2)
    for _ in range(1000):
        other = bytearray(data)
        for _ in range(chance.randrange(1, 30)):
            start, length = chance.randrange(len(other)), chance.randrange(40)
            other[start : start + length] = chance.choice([b"", chance.randbytes(length), other[:length], bytes(3)])
        if bytes(other) != data:
            with pytest.raises(SealedError):
                open_sealed(bytes(other), "f.part")


@pytest.mark.usefixtures("trusting")
def test_members_cannot_be_exchanged(data: bytes, tmp_path: Path) -> None:
    members = archive.unpack(data, "")
    names = list(members)
    for first in names:
        for second in names:
            if first != second:
                swapped = members | {first: members[second], second: members[first]}
                refused(archive.pack(swapped), tmp_path / "f.part")
        refused(archive.pack({name: members[name] for name in names if name != first}), tmp_path / "f.part")
    extra = archive.pack(members | {"code/other-1.o": b"code"})
    assert "others than were sealed" in refused(extra, tmp_path / "f.part")


@pytest.mark.usefixtures("trusting")
def test_an_unsigned_file_says_so(data: bytes, tmp_path: Path) -> None:
    members = archive.unpack(data, "")
    del members["signature"]
    assert "not signed" in refused(archive.pack(members), tmp_path / "f.part")


def test_a_stranger_is_not_trusted(data: bytes, author: keys.Identity, tmp_path: Path) -> None:
    message = refused(data, tmp_path / "f.part")
    assert "'Grace'" in message
    assert author.card.fingerprint in message
    assert "kompono trust add" in message
    trust.add(keys.new_identity("grace").card.author, "grace")
    assert "another key" in refused(data, tmp_path / "f.part")


@pytest.mark.usefixtures("trusting")
def test_signed_again_by_a_stranger(data: bytes, tmp_path: Path) -> None:
    stranger = keys.new_identity("Mallory")
    same = changed(data, lambda manifest, members: None, stranger)
    assert "altered" in refused(same, tmp_path / "f.part")  # it names Grace's key

    def rename(manifest: dict[str, Any], _: dict[str, bytes]) -> None:
        manifest["author"]["key"] = stranger.card.author.hex()

    assert "not trusted" in refused(changed(data, rename, stranger), tmp_path / "f.part")


def put(place: str, value: Any) -> Callable[[dict[str, Any], dict[str, bytes]], None]:
    """A change of one entry of a manifest."""

    def change(manifest: dict[str, Any], _: dict[str, bytes]) -> None:
        entry: Any = manifest
        *way, last = [int(word) if word.isdigit() else word for word in place.split("/")]
        for word in way:
            entry = entry[word]
        entry[last] = value

    return change


@pytest.mark.usefixtures("trusting")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (put("format", 2), "format 2, this Kompono knows format 1"),
        (put("abi", 7), "version 7 of the interface"),
        (put("shape/name", "a b"), "not in order"),
        (put("shape/variants", []), "not in order"),
        (put("shape/variants/0/size", -1), "not in order"),
        (put("shape/variants/0/size", 3), "arguments of"),
        (put("shape/variants/0/functions/move/arguments", 2**40), "not in order"),
        (put("shape/variants/0/functions/move/zeros", [99]), "results of move"),
        (put("shape/variants/0/functions/move/groups", ["x", "time"]), "groups of move"),
        (put("shape/parameters/0/default", "1"), "not in order"),
        (put("shape/ports/0/scale", 0), "not in order"),
        (put("shape/ports/0/on", "end"), "a port on another one"),
        (put("shape/ports/0/touched", 1), "what holds a port"),
        (put("shape/variants/0/flying", ["start"]), "ports that are flying"),
        (put("shape/variants/0/standing", ["end"]), "fields other than"),
        (put("shape/pictures", {"end": [{"kind": "mesh", "file": "/etc/passwd"}]}), "not in order"),
        (put("author/name", "\x1b[2J"), "author is not named"),
        (put("code/name", "../x"), "not in order"),
        (put("code/targets", {}), "not in order"),
        (put("numbers/count", 10**9), "not in order"),
        (put("numbers/count", 1), "not as many"),
        (put("more", 1), "damaged"),
        (put("kompono", "\x1b[2J"), "damaged"),
        (put("abi", "\x1b[2J"), "damaged"),
    ],
)
def test_what_a_trusted_author_got_wrong(
    data: bytes, author: keys.Identity, tmp_path: Path, change: Any, reason: str
) -> None:
    assert reason in refused(changed(data, change, author), tmp_path / "f.part")


@pytest.mark.usefixtures("trusting")
def test_another_processor(author: keys.Identity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = next(name for name, t in targets.TARGETS.items() if targets.system(t.triple) != targets.here())
    path = write(tmp_path / "f.part", author, targets=[foreign])
    message = refused(path.read_bytes(), path)
    assert foreign in message
    assert targets.here() in message
    new = "x86_64-linux-v3"
    write(path, author, targets=[new])
    monkeypatch.setattr(targets, "here", lambda: "x86_64-linux")
    monkeypatch.setattr(targets.llvm, "get_host_cpu_features", dict)
    assert "too old" in refused(path.read_bytes(), path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SealedError, match="No such file"):
        read_sealed(tmp_path / "nothing.part")
    with pytest.raises(SealedError, match="directory"):
        read_sealed(tmp_path)
