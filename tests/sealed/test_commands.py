"""The commands around sealed parts, as users type them."""

from __future__ import annotations

from pathlib import Path

import pytest
from sealed.files import write

from kompono.edges.cli import main
from kompono.sealed import keys, load_sealed, trust


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_from_a_key_to_a_part(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "show"]) == 1
    assert "kompono keys new" in capsys.readouterr().err
    assert main(["keys", "new", "--name", "Ada Ltd"]) == 0
    made = capsys.readouterr().out
    mark = keys.needed().card.fingerprint
    assert mark in made
    options = ["--public", "damping", "--target", "x86_64-linux", "--target", "aarch64-linux", "--set", "rest=0.3"]
    assert main(["seal", "examples/car.py:Damper", "--out", "damper.part", *options, "--pictures"]) == 0
    assert main(["inspect", "damper.part"]) == 0
    shown = capsys.readouterr().out
    for word in (
        "Damper",
        "Ada Ltd, trusted",
        mark,
        "x86_64-linux",
        "aarch64-linux",
        "piston, cylinder",
        "damping = 10000",
    ):
        assert shown.count(word) >= 2, word
    assert main(["keys", "new", "--name", "Eve"]) == 1
    assert "is there already" in capsys.readouterr().err


def test_numbers_are_locked_for_a_card(me: keys.Identity, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "show", "--out", "ada.card"]) == 0
    options = ["--recipient", "ada.card", "--target", "x86_64-linux-v3"]
    assert main(["seal", "examples/car.py:Wheel", "--out", "wheel.part", *options]) == 0
    assert "locked for" in capsys.readouterr().out
    assert main(["seal", "examples/car.py:Wheel", "--out", "wheel.part", "--recipient", "nobody.card"]) == 1
    assert main(["seal", "examples/car.py:Wheel", "--out", "wheel.zip"]) == 1
    assert main(["seal", "examples/car.py:Wheel", "--out", "wheel.part", "--target", "z80"]) == 1
    errors = capsys.readouterr().err
    for word in ("nobody.card", "end in .part", "no target 'z80'"):
        assert word in errors


def test_trust_is_given_by_a_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grace = keys.new_identity("Grace")
    path = str(write(folder / "spring.part", grace))
    assert main(["inspect", path]) == 0
    assert "Grace, not trusted" in capsys.readouterr().out
    assert main(["trust", "add", path]) == 0
    shown = capsys.readouterr().out
    assert "Grace" in shown
    assert grace.card.fingerprint in shown
    assert load_sealed(path).manifest.author == "Grace"
    assert main(["trust", "list"]) == 0
    assert capsys.readouterr().out == f"{grace.card.fingerprint}  Grace\n"
    assert main(["trust", "remove", "Grace"]) == 0
    assert trust.trusted() == {}
    Path("card").write_text(grace.card.text(), encoding="utf-8")
    assert main(["trust", "add", "card"]) == 0
    Path("other").write_text("{}", encoding="utf-8")
    assert main(["trust", "add", "other"]) == 1
    assert "no kompono card" in capsys.readouterr().err


def test_a_damaged_file_is_not_added(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(folder / "spring.part", keys.new_identity("Grace"))
    path.write_bytes(path.read_bytes()[:-1])
    for command in (["trust", "add", str(path)], ["inspect", str(path)]):
        assert main(command) == 1
        assert "spring.part" in capsys.readouterr().err
    assert trust.trusted() == {}


def test_a_sealed_part_is_no_model_to_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(folder / "spring.part", keys.new_identity("Grace"))
    assert main(["run", str(path), "--until", "0.1"]) != 0
    assert 'spring.part is no Python file. A sealed part belongs into a model: self.part = Sealed("spring.part")' in (
        capsys.readouterr().err
    )
