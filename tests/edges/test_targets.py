"""Files are tested before a run; one that fails takes no other with it; what has no room is kept elsewhere."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kompono import RunError
from kompono.edges.cli import deliver, main
from kompono.result import Result
from kompono.result.target import NotWritten, check_target
from kompono.solve.estimate import Estimate

Write = Callable[..., str]
Capture = pytest.CaptureFixture[str]

SWING = """
class Swing(Subsystem):
    pass
"""


@pytest.fixture
def result() -> Result:
    return Result(np.arange(3.0), ["a"], np.ones((3, 1)), model="Swing")


# -- before


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("folder.csv", "it is a folder"),
        ("file.txt/a.csv", "Not a directory"),
        ("/proc/a.csv", "No such file or directory"),
        ("/sys/a.csv", "cannot write"),
        ("n" * 300 + ".csv", "File name too long"),
        ("loop.csv/a.csv", "Too many levels of symbolic links|is no folder"),
        ("a\0b.csv", "null"),
        ("a.txt", r"cannot write CSV into 'a.txt'. Choose a name with \.csv\."),
        ("", "it is a folder"),
    ],
)
def test_a_file_that_cannot_be_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.csv").mkdir()
    Path("file.txt").write_text("")
    os.symlink("loop.csv", "loop.csv")
    with pytest.raises(RunError, match=reason):
        check_target(path, (".csv",), "write CSV")


def test_what_can_be_written_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("as it was")
    for name in ("old.csv", "new.csv", "two/folders/down.csv"):
        check_target(tmp_path / name, (".csv",))
    check_target("/dev/null", (".csv",), stream=True)
    for wanted in ((".h5",), ()):
        with pytest.raises(RunError):
            check_target("/dev/null", wanted)
    assert (tmp_path / "old.csv").read_text() == "as it was"
    assert [entry.name for entry in tmp_path.iterdir()] == ["old.csv"]


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("kompono.result.target.tempfile.TemporaryFile", refuse)
    with pytest.raises(NotWritten, match="Permission denied"):
        check_target(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "options",
    [
        ["--csv", "a.csv", "--hdf5", "/proc/a.h5"],
        ["--csv", "a.txt"],
        ["--hdf5", "a.csv"],
        ["--parquet", "model.py/a.parquet"],
        ["--hdf5", "/dev/full"],
        ["--plot", "/proc/a.png"],
        ["--plot", "a.gif"],
    ],
)
def test_no_run_begins_for_a_file_that_cannot_be(recorder, model_file: Write, capsys: Capture, options) -> None:
    assert main(["run", model_file(SWING, "model.py"), *options]) == 1
    assert recorder.model is None
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        ["view", "model.py", "--html", "/proc/a.html"],
        ["report", "model.py", "--out", "/proc/a.html"],
        ["plot", "a.csv", "--out", "/proc/a.png"],
        ["animate", "a.csv", "--out", "/proc/a.gif"],
        ["animate", "a.csv", "--out", "a.png"],
    ],
)
def test_other_commands_look_first_as_well(recorder, model_file: Write, capsys: Capture, command, result) -> None:
    model_file(SWING, "model.py")
    result.to_csv("a.csv")
    assert main(command) == 1
    assert recorder.model is None
    assert "cannot write" in capsys.readouterr().err


def test_a_disk_that_is_too_small_is_told_before_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("kompono.room.free_disk", lambda _: 1e6)
    check = deliver.check_sizes({"hdf5": tmp_path / "a.h5"})
    check(Estimate(1000, 10, None, 100))
    with pytest.raises(RunError, match=r"1,000,000 rows of 10 channels as HDF5 take about 88 MB, and 1 MB are free"):
        check(Estimate(1_000_000, 10, None, 100))


# -- after


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_the_result_in_memory(result: Result) -> None:
    with pytest.raises(OSError, match=r"No space left on device. The result is still in memory") as caught:
        result.to_csv("/dev/full")
    assert isinstance(caught.value, RunError)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.result is result


def test_one_file_that_fails_takes_no_other_with_it(
    recorder, model_file: Write, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Result, "to_csv", full)
    wanted = ["--csv", "a.csv", "--hdf5", "a.h5", "--plot", "a.png", "--parquet", "a.parquet"]
    assert main(["run", model_file(SWING), *wanted]) == 1
    said = capsys.readouterr()
    assert "No space left on device" in said.err
    assert len(Result.load("a.h5").time) == len(Result.load("a.parquet").time) == 11
    assert Path("a.png").exists()
    assert "a.h5" in said.out
    assert "a.csv" not in said.out


def test_what_has_no_room_is_written_elsewhere_and_said(recorder, model_file: Write, capsys: Capture) -> None:
    assert main(["run", model_file(SWING), "--csv", "/dev/full"]) == 1
    said = capsys.readouterr().err
    assert "No space left on device" in said
    assert "written to" in said
    assert len(Result.load("full-kept.csv").time) == 11
    assert main(["run", model_file(SWING), "--csv", "/dev/full"]) == 1
    assert len(Result.load("full-kept-2.csv").time) == 11


def test_what_has_room_nowhere_is_said_to_be_lost(
    recorder, model_file: Write, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Result, "to_hdf5", full)
    assert main(["run", model_file(SWING), "--hdf5", "a.h5"]) == 1
    assert "11 rows of 3 channels (264 bytes) are lost" in capsys.readouterr().err


def test_a_picture_that_fails_leaves_the_data(
    recorder, model_file: Write, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("cannot be drawn")

    monkeypatch.setattr("kompono.edges.plot.plot", fail)
    assert main(["run", model_file(SWING), "--plot", "a.png", "--csv", "a.csv"]) == 1
    assert "cannot be drawn" in capsys.readouterr().err
    assert len(Result.load("a.csv").time) == 11


def test_movies_and_pictures_of_huge_size_are_refused(result: Result, tmp_path: Path) -> None:
    from kompono.edges import animate

    with pytest.raises(RunError, match=r"pictures of 100000 x 100000 pixels take .* of memory"):
        animate.animate(result, tmp_path / "a.gif", size=(100_000, 100_000))


def test_a_long_curve_is_drawn_by_its_outline() -> None:
    from kompono.edges.plot.envelope import MOST, seen

    time = np.linspace(0, 1, 1_000_000)
    values = np.sin(1e4 * time)
    values[[123_456, 777_777]] = 5.0, np.nan
    x, y = seen(time, values)
    assert len(x) <= MOST
    assert (np.nanmax(y), x[0], x[-1]) == (5.0, 0.0, 1.0)
    assert np.nanmin(y) == pytest.approx(-1.0, abs=1e-6)
    short = seen(time[:100], values[:100])
    assert len(short[0]) == 100


@pytest.mark.parametrize("command", [["plot", "a.csv", "--out", "a.png"], ["view", "a.csv", "--html", "a.html"]])
def test_a_file_larger_than_memory_is_not_loaded(
    command: list[str], result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    result.to_csv("a.csv")
    monkeypatch.setattr("kompono.room.free_memory", lambda: 2.0)
    assert main(command) == 1
    assert "the numbers in 'a.csv' take" in capsys.readouterr().err
