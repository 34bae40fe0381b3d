"""No broken file passes for a good one, and each gets one sentence; no write leaves half a file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from result import broken

from kompono.edges.cli import main
from kompono.edges.plot import Picture
from kompono.errors import FileError, KomponoError, RunWarning
from kompono.result import Result
from kompono.result.beside import write_bytes, write_text, written_beside
from kompono.scene import Scene

CUTS = {"csv": 10_000, "parquet": 10_000, "h5": 600}


def answer(path: Path) -> str:
    """What becomes of a file: refused, not ok, or good."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunWarning)
        try:
            return "good" if Result.load(path).status.ok else "not ok"
        except KomponoError as error:
            return "refused" if "\n" not in str(error) else "more than a sentence"


@pytest.mark.parametrize("suffix", broken.FORMATS)
def test_a_file_that_is_cut_or_changed_anywhere_is_not_good(suffix: str, tmp_path: Path) -> None:
    data, path = broken.written(tmp_path, suffix), tmp_path / f"case.{suffix}"
    cases: Iterator[tuple[str, bytes]]
    for cases in (broken.cuts(data, CUTS[suffix]), broken.flips(data, 500, 1), broken.smears(data, 100, 2)):
        for what, content in cases:
            path.write_bytes(content)
            assert answer(path) in ("refused", "not ok"), what
    path.write_bytes(data)
    assert answer(path) == "good"


@pytest.mark.parametrize("suffix", broken.FORMATS)
def test_a_file_keeps_that_its_run_went_wrong(suffix: str, tmp_path: Path) -> None:
    result = broken.small(ok=False)
    broken.FORMATS[suffix](result, tmp_path / f"run.{suffix}")
    again = Result.load(tmp_path / f"run.{suffix}")
    assert again.status == result.status
    assert again.units == result.units
    assert again.statistics == result.statistics


def test_whatever_else_has_such_a_name_is_refused_in_one_sentence(tmp_path: Path) -> None:
    answers = {path.name[-40:]: answer(path) for path in broken.strange(tmp_path)}
    assert len(answers) > 80
    assert set(answers.values()) == {"refused", "not ok"}
    assert [name for name, found in answers.items() if found == "not ok"] == ["nul.csv"]  # a table with a strange name


@pytest.mark.parametrize("path", [None, 3, b"run.h5", "run.h5\0", "", ".h5", ["run.h5"], "a" * 5000 + ".h5"])
def test_what_is_no_name_of_a_file_is_refused(path: Any) -> None:
    with pytest.raises(FileError):
        Result.load(path)


def test_commands_answer_broken_files_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = {"view": ["--html", "o.html"], "plot": ["--out", "o.png"], "animate": ["--out", "o.gif"]}
    for suffix in broken.FORMATS:
        data, path = broken.written(tmp_path, suffix), tmp_path / f"case.{suffix}"
        for content in (b"", data[: len(data) // 2], data[:-1], bytes(len(data)), data[:100] + b"?" + data[101:]):
            path.write_bytes(content)
            for command, options in out.items():
                assert main([command, str(path), *(str(tmp_path / o) if o[0] == "o" else o for o in options)]) == 1
                said = capsys.readouterr().err.strip().splitlines()
                assert len([line for line in said if "warning" not in line]) == 1, said
                assert "Traceback" not in "".join(said)


def old_hdf5(path: Path, **changes: Any) -> Path:
    """A file as versions before there were end marks wrote it."""
    parts = {"time": [0.0, 1.0], "values": [[1.0], [2.0]], "names": ["a"]}
    notes = '{"units": {"a": "m"}, "status": {"ok": true, "message": "", "time": 1.0}, "statistics": {}, "model": "M"}'
    with h5py.File(path, "w") as file:
        for name, value in {**parts, "notes": notes, **changes}.items():
            file[name] = value
    return path


def test_files_of_earlier_versions_are_read_with_a_warning(tmp_path: Path) -> None:
    with pytest.warns(RunWarning, match="no end mark"):
        assert Result.load(old_hdf5(tmp_path / "old.h5")).status.ok
    (tmp_path / "old.csv").write_text("time,a\n0.0,1.0\n1.0,2.0\n")
    with pytest.warns(RunWarning, match="no end mark"):
        table = Result.load(tmp_path / "old.csv")
    assert table["a"].tolist() == [1.0, 2.0]
    assert not table.status.ok  # it may have been longer
    assert "end mark" in table.status.message
    (tmp_path / "cut.csv").write_text("time,a\n0.0,1.0\n1.0,2")
    with pytest.raises(FileError, match="ends within line 3"):
        Result.load(tmp_path / "cut.csv")


def test_hdf5_follows_nothing_out_of_the_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["time"] = [42.0, 43.0]
    for link in (h5py.ExternalLink("secret.h5", "/time"), h5py.SoftLink("/names")):
        with pytest.raises(FileError, match="link to elsewhere"):
            Result.load(old_hdf5(tmp_path / "linked.h5", time=link))


def test_a_file_that_lets_the_library_run_forever_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kompono.result import probe

    monkeypatch.setattr(probe, "PATIENCE", 1.5)
    monkeypatch.setattr(probe, "_CHILD", "while True: pass")
    with pytest.raises(FileError, match="does not come to an end"):
        Result.load(old_hdf5(tmp_path / "old.h5"))
    monkeypatch.setattr(probe, "_CHILD", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(FileError, match="breaks down"):
        Result.load(old_hdf5(tmp_path / "old.h5"))


@pytest.mark.parametrize("suffix", broken.FORMATS)
def test_a_write_that_fails_leaves_what_was_there(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, path = broken.written(tmp_path, suffix), tmp_path / f"good.{suffix}"

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        broken.FORMATS[suffix](broken.small(50), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def broken_picture() -> Picture:
    def draw(_: Any) -> None:
        raise ValueError("no ink")

    return Picture(draw)


def test_pictures_pages_and_movies_are_whole_or_not_there(tmp_path: Path) -> None:
    from kompono.edges.animate.movie import write_movie

    def pictures() -> Iterator[np.ndarray]:
        yield np.zeros((16, 16, 3), dtype=np.uint8)
        raise ValueError("no ink")

    ways: dict[str, Callable[[Path], Any]] = {
        "a.png": lambda path: broken_picture().save(path),
        "a.gif": lambda path: write_movie(path, pictures(), 10.0),
        "a.mp4": lambda path: write_movie(path, pictures(), 10.0),
    }
    for name, write in ways.items():
        (tmp_path / name).write_text("before")
        with pytest.raises(ValueError, match="no ink"):
            write(tmp_path / name)
        assert (tmp_path / name).read_text() == "before"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(ways)


def test_writing_beside_keeps_permissions_links_and_pipes(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    write_text(real, "one")
    real.chmod(0o640)
    link.symlink_to(real)
    write_bytes(link, b"two")
    assert link.is_symlink()
    assert real.read_text() == "two"
    assert real.stat().st_mode & 0o777 == 0o640
    write_text("/dev/null", "three")
    assert not Path("/dev/null").is_file()
    with pytest.raises(IsADirectoryError), written_beside(tmp_path):
        pass
    with pytest.raises(FileNotFoundError, match=r"none.x\.txt"):
        write_text(tmp_path / "none" / "x.txt", "four")


@pytest.mark.parametrize(
    "change",
    [
        {"version": 7}, {"pieces": 3}, {"pieces": [{"kind": "box"}]}, {"carriers": [{"path": 1, "kind": 2}]},
        {"pieces": [{"part": 9, "kind": "box", "sizes": {"size": [1, 1, 1]}, "carrier": 0}]},
        {"pieces": [{"part": 0, "kind": "box", "sizes": {"size": "x"}, "carrier": 0}]},
        {"pieces": [{"part": 0, "kind": "helix", "sizes": {"radius": 1, "wire": 1, "turns": 1e12}, "carrier": 0}]},
        {"pieces": [{"part": 0, "kind": "given", "sizes": {"vertices": [[0] * 3], "faces": [[0, 1, 2]]}, "carrier": 0}]},  # noqa: E501
        {"pieces": [{"part": 0, "kind": "box", "sizes": {"size": [1, 1, 1]}, "carrier": 0, "colour": "<script>"}]},
        {"up": [0, 0]}, {"size": "large"}, {"redundant": [3]}, {"colour": "red"},
    ],
)  # fmt: skip
def test_a_scene_that_cannot_be_drawn_is_refused(change: dict[str, Any]) -> None:
    plain: dict[str, Any] = {
        "version": 1, "model": "M", "carriers": [{"path": "a", "kind": "body"}],
        "parts": [{"path": "a", "kind": "body", "type": "Body"}], "pieces": [],
    }  # fmt: skip
    Scene.from_data(plain)
    with pytest.raises(KomponoError, match="scene"):
        Scene.from_data({**plain, **change})
