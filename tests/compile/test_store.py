"""Kept code is executed, so what somebody else may have written is not used; the folder stays within its limit."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from compile.programs import pendulum

from kompono import trust
from kompono.compile import Kernel, assembler, cache, secret, store
from kompono.edges.cli import main

ROOT = Path(__file__).parents[2]
STRANGER = 54_321
NAME = "0" * 64

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files have no such owners")
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch) -> Path:
    """An empty cache and a key of its own; nothing was said yet."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path / "above" / "objects"))
    monkeypatch.setenv("KOMPONO_CACHE_KEY", str(tmp_path / "state" / "cache.key"))
    monkeypatch.setattr(store, "_said", set())
    return tmp_path / "above" / "objects"


def energy() -> float:
    return Kernel(pendulum()).evaluate("outputs", 0.0, [0.0, 2.0])[0][0]


def compiled(monkeypatch) -> list[str]:
    """What is compiled from now on."""
    made, assemble = [], assembler.assemble

    def spy(text: str, *, loops: bool = False) -> bytes:
        made.append(text)
        return assemble(text, loops=loops)

    monkeypatch.setattr(assembler, "assemble", spy)
    return made


def give_away(*paths: Path) -> None:
    for path in paths:
        os.chown(path, STRANGER, STRANGER, follow_symlinks=False)


def link_to(path: Path) -> None:
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


# What is wrong with a cache whose file is otherwise whole and sealed, and whether only root can make it so.
WRONG: dict[str, tuple[Callable[[Path, Path], object], bool]] = {
    "the folder is another user's": (lambda folder, path: give_away(folder, path), True),
    "the folder is another user's, the file not": (lambda folder, path: give_away(folder), True),
    "others may write the folder": (lambda folder, path: folder.chmod(0o777), False),
    "a group may write the folder": (lambda folder, path: folder.chmod(0o770), False),
    "others may write the folder, with the sticky bit": (lambda folder, path: folder.chmod(0o1777), False),
    "the folder above is another user's": (lambda folder, path: give_away(folder.parent), True),
    "others may write the folder above": (lambda folder, path: folder.parent.chmod(0o777), False),
    "the file is another user's": (lambda folder, path: give_away(path), True),
    "others may write the file": (lambda folder, path: path.chmod(0o666), False),
    "a group may write the file": (lambda folder, path: path.chmod(0o660), False),
    "the file is a link": (lambda folder, path: link_to(path), False),
    "the file is a pipe": (lambda folder, path: (path.unlink(), os.mkfifo(path)), False),
}
FOLDER_WRONG = [name for name in WRONG if "folder" in name]


def cases(names: list[str]) -> list[object]:
    return [pytest.param(name, marks=as_root if WRONG[name][1] else ()) for name in names]


@pytest.mark.parametrize("wrong", cases(list(WRONG)))
def test_what_others_may_have_written_is_not_executed(wrong: str, folder: Path, monkeypatch) -> None:
    energy()
    (path,) = folder.iterdir()
    WRONG[wrong][0](folder, path)
    made = compiled(monkeypatch)
    with pytest.warns(UserWarning, match=str(folder.parent)) as told:
        assert energy() == 1.0
    assert len(made) == 1
    assert len(told) == 1


@pytest.mark.parametrize("wrong", cases(FOLDER_WRONG))
def test_without_a_folder_of_its_own_it_goes_on_and_says_so_once(wrong: str, folder: Path, monkeypatch) -> None:
    energy()
    (path,) = folder.iterdir()
    WRONG[wrong][0](folder, path)
    before = path.stat()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(3):
            energy()
    assert len(told) == 1
    assert "KOMPONO_CACHE" in str(told[0].message)
    assert path.stat() == before  # nothing was written there
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("wrong", cases([name for name in WRONG if name not in FOLDER_WRONG]))
def test_a_file_of_others_in_a_folder_of_ours_is_replaced(wrong: str, folder: Path, monkeypatch) -> None:
    energy()
    (path,) = folder.iterdir()
    WRONG[wrong][0](folder, path)
    with pytest.warns(UserWarning, match="made again"):
        energy()
    assert path.is_file()
    assert not path.is_symlink()
    assert path.stat().st_uid == os.geteuid()
    assert path.stat().st_mode & 0o777 == 0o600
    made = compiled(monkeypatch)
    assert energy() == 1.0
    assert not made


def test_a_link_to_a_folder_of_ours_is_one(folder: Path, tmp_path: Path, monkeypatch) -> None:
    energy()
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path / "link"))
    made = compiled(monkeypatch)
    assert energy() == 1.0
    assert not made
    folder.chmod(0o777)
    with pytest.warns(UserWarning, match="written by others"):
        energy()
    assert made


def test_a_folder_in_one_with_the_sticky_bit_is_ours(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path / "tmp" / "objects"))
    energy()
    made = compiled(monkeypatch)
    energy()
    assert not made


def test_new_folders_are_for_this_user_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        energy()
    finally:
        os.umask(before)
    for path in (folder, folder.parent, secret.place().parent):
        assert path.stat().st_mode & 0o777 == 0o700
    (path,) = folder.iterdir()
    assert path.stat().st_mode & 0o777 == secret.place().stat().st_mode & 0o777 == 0o600


# -- the seal


def sealed(name: str = f"{NAME}.o", data: bytes = b"code") -> Path:
    store.write(cache.directory(), name, data)
    return cache.directory() / name


def test_what_is_kept_comes_back() -> None:
    sealed()
    assert cache.find(NAME) == b"code"


@pytest.mark.parametrize("data", [b"", b"code", bytes(300_000)])
def test_a_file_without_the_key_is_not_believed(data: bytes, tmp_path: Path, monkeypatch) -> None:
    """Plain checksums, an empty key, and the key of somebody else."""
    sealed(data=data)
    forged = [b"kompono1" + hashlib.sha256(data).digest() + data, b"kompono2" + hashlib.sha256(data).digest() + data]
    forged += [store._seal(key, f"{NAME}.o", data) + data for key in (b"", bytes(32), os.urandom(32))]
    for content in forged:
        path = sealed(data=data)
        path.write_bytes(content)
        assert cache.find(NAME) is None
        assert not path.exists()


def test_files_cannot_change_their_names(folder: Path) -> None:
    first, second = sealed(), sealed(f"{'1' * 64}.o", b"other code")
    first.replace(second)
    assert cache.find("1" * 64) is None
    sealed().replace(folder / f"{NAME}.routine")
    assert cache.DiskShelf().get(NAME) is None


@pytest.mark.parametrize("size", range(45))
def test_a_cut_file_is_not_believed(size: int) -> None:
    path = sealed(data=b"code!")
    path.write_bytes(path.read_bytes()[:size])
    assert cache.find(NAME) is None


@pytest.mark.parametrize("loss", ["gone", "short", "readable", "link"])
def test_a_key_that_is_lost_or_known_to_others_is_replaced(loss: str, tmp_path: Path) -> None:
    sealed()
    key = secret.place()
    before = key.read_bytes()
    if loss == "gone":
        key.unlink()
    elif loss == "short":
        key.write_bytes(before[:31])
    elif loss == "readable":
        key.chmod(0o644)
    else:
        link_to(key)
    assert cache.find(NAME) is None
    sealed()
    assert cache.find(NAME) == b"code"
    assert key.read_bytes() != before
    assert len(key.read_bytes()) == 32
    assert key.stat().st_mode & 0o777 == 0o600
    assert list(key.parent.iterdir()) == [key]


@as_root
def test_a_key_of_somebody_else_is_not_used() -> None:
    sealed()
    give_away(secret.place())
    with pytest.warns(UserWarning, match="belongs to another user"):
        assert cache.find(NAME) is None


def test_a_key_in_a_folder_that_others_may_write_is_not_used() -> None:
    sealed()
    secret.place().parent.chmod(0o777)
    with pytest.warns(UserWarning, match="can be written by others"):
        assert cache.find(NAME) is None


def test_processes_agree_on_one_key(folder: Path) -> None:
    script = "from kompono.compile import cache; import sys; cache.keep(sys.argv[1] * 64, b'x' * 9)"
    run_all(script, 6)
    assert [cache.find(str(k) * 64) for k in range(6)] == [b"x" * 9] * 6


def run_all(script: str, count: int) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    processes = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", script, str(k)], env=environment) for k in range(count)
    ]
    assert [process.wait(timeout=300) for process in processes] == [0] * count


# -- the limit, and what is left behind


def fill(count: int, size: int = 1000) -> list[Path]:
    """Files used a minute apart, the first longest ago."""
    paths = [sealed(f"{k:064d}.o", bytes(size - 40)) for k in range(count)]
    for k, path in enumerate(paths):
        os.utime(path, (0, time.time() - 3600 * (count - k)))
    return paths


def test_the_longest_unused_go_first(folder: Path, monkeypatch) -> None:
    paths = fill(10)
    assert cache.find(paths[0].stem) is not None  # used just now
    monkeypatch.setenv("KOMPONO_CACHE_LIMIT", "8000")
    monkeypatch.setattr(store, "_unseen", float("inf"))
    sealed()
    left = [path for path in paths if path.exists()]
    assert paths[0] in left
    assert left[1:] == paths[-(len(left) - 1) :]
    assert 6000 <= cache.size() <= 8000


def test_a_run_within_the_limit_removes_nothing(monkeypatch) -> None:
    paths = fill(10)
    monkeypatch.setattr(store, "_unseen", float("inf"))
    sealed()
    assert all(path.exists() for path in paths)


def test_a_small_limit_keeps_a_model_running(folder: Path, monkeypatch) -> None:
    for limit in ("0", "1K"):
        monkeypatch.setenv("KOMPONO_CACHE_LIMIT", limit)
        assert energy() == 1.0
        assert cache.size() <= 1024


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ("", 2 << 30),
        ("0", 0),
        ("1000", 1000),
        ("500M", 500 << 20),
        ("1.5 GiB", 3 << 29),
        ("2tb", 2 << 40),
        ("4kb", 4096),
    ],
)
def test_limits_are_sizes(given: str, size: int, monkeypatch) -> None:
    monkeypatch.setenv("KOMPONO_CACHE_LIMIT", given)
    assert store.limit() == size


@pytest.mark.parametrize("given", ["much", "-1", "1e9", "M", "1 potato"])
def test_a_limit_that_is_none_is_said(given: str, monkeypatch) -> None:
    monkeypatch.setenv("KOMPONO_CACHE_LIMIT", given)
    with pytest.warns(UserWarning, match="KOMPONO_CACHE_LIMIT"):
        assert store.limit() == store.LIMIT


def test_leftovers_are_counted_and_removed(folder: Path, monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    sealed()
    new, old, before, foreign = (
        folder / name for name in (f".kompono-{'a' * 16}", f".kompono-{'b' * 16}", ".tmp1_9xy", ".profile1")
    )
    for path, content in ((new, b"x" * 10), (old, b"x" * 20), (before, b"kompono1" + b"x" * 22), (foreign, b"mine")):
        path.write_bytes(content)
    for path in (old, before, foreign):
        os.utime(path, (0, time.time() - 3600))
    assert cache.usage()[2:] == (3, 60)
    assert main(["cache"]) == 0
    assert "3 leftovers of killed processes" in capsys.readouterr().out
    monkeypatch.setattr(store, "_unseen", float("inf"))
    sealed()
    assert (new.exists(), old.exists(), before.exists(), foreign.exists()) == (True, False, False, True)
    assert main(["cache", "--clear"]) == 0
    assert "2 files removed" in capsys.readouterr().out
    assert list(folder.iterdir()) == [foreign]


def test_clearing_removes_nothing_else(folder: Path) -> None:
    sealed()
    mine = [folder / name for name in ("main.o", "x.routine", ".bashrc", f"{NAME}.o.txt")]
    for path in mine:
        path.write_text("mine")
    assert cache.clear() == 1
    assert sorted(folder.iterdir()) == sorted(mine)


def test_a_killed_process_leaves_a_leftover_and_no_entry(folder: Path) -> None:
    script = (
        "import os; from kompono.compile import store, cache\n"
        "store.os.replace = lambda *a: os.kill(os.getpid(), 9)\n"
        f"store.write(cache.directory(), '{NAME}.o', b'code')"
    )
    killed = subprocess.run([sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": str(ROOT)}, timeout=300)
    assert killed.returncode == -9
    assert cache.usage().leftovers == 1
    assert cache.find(NAME) is None


def test_processes_may_fill_read_and_clear_one_folder(folder: Path, monkeypatch) -> None:
    """Six at once, with room for a few files only: nothing fails, nothing wrong is read, the limit holds."""
    monkeypatch.setenv("KOMPONO_CACHE_LIMIT", "20K")
    script = """
import sys
from kompono.compile import cache, store
for k in range(150):
    name = f"{(k * (int(sys.argv[1]) + 1)) % 40:064d}"
    found = cache.find(name)
    assert found in (None, name.encode() * 16)
    if found is None:
        cache.keep(name, name.encode() * 16)
    if k == 75 and sys.argv[1] == "3":
        cache.clear()
"""
    run_all(script, 6)
    store.tidy(folder, store.limit())
    assert 0 < cache.size() <= 20 * 1024
    assert cache.usage().leftovers == 0


def test_the_command_says_what_is_there_and_why_it_is_not_used(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sealed()
    assert main(["cache"]) == 0
    said = capsys.readouterr().out
    assert "0.0 MB of compiled kernels in" in said
    assert "1 files; beyond 2147 MB" in said
    assert "not used" not in said
    folder.chmod(0o777)
    assert main(["cache"]) == 0
    assert "not used:" in capsys.readouterr().out


def test_a_user_without_a_home_has_a_place_of_their_own(tmp_path: Path, monkeypatch) -> None:
    for name in ("KOMPONO_CACHE", "KOMPONO_CACHE_KEY", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(trust.tempfile, "gettempdir", lambda: str(tmp_path))

    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    sealed()
    assert cache.find(NAME) == b"code"
    assert cache.directory().is_relative_to(tmp_path / f"kompono-{os.geteuid()}")


def test_who_this_user_is(monkeypatch) -> None:
    assert trust.user() == os.geteuid()
    sealed()
    monkeypatch.setattr(trust, "user", lambda: os.geteuid() + 1)
    with pytest.warns(UserWarning, match="belongs to another user"):
        assert cache.find(NAME) is None
