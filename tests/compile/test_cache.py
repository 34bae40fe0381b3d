"""Object code on disk: found again, never trusted when damaged, shared by processes, dispensable."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compile.programs import circle, pendulum

from kompono.compile import Kernel, assembler, cache, jit, parallel
from kompono.errors import CompileError

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path / "objects"))
    return tmp_path / "objects"


@pytest.fixture
def compiled(monkeypatch) -> list[str]:
    """What was compiled, in order."""
    made, assemble = [], assembler.assemble

    def spy(text: str, *, loops: bool = False) -> bytes:
        made.append(text)
        return assemble(text, loops=loops)

    monkeypatch.setattr(assembler, "assemble", spy)
    return made


def energy(kernel: Kernel) -> float:
    return kernel.evaluate("outputs", 0.0, [0.0, 2.0])[0][0]


def test_the_second_time_nothing_is_compiled(compiled: list[str], folder: Path) -> None:
    assert energy(Kernel(pendulum())) == energy(Kernel(pendulum())) == 1.0
    assert len(compiled) == 1
    assert len(list(folder.iterdir())) == 1
    for _ in range(2):
        Kernel(pendulum()).fixed("rk4", 0.0, [0.0, 1.0], step=0.1).advance(3)
    assert len(compiled) == 2


def test_different_programs_have_different_objects(compiled: list[str]) -> None:
    rates = [Kernel(program).evaluate("derivative", 0.0, [0.0, 2.0])[0] for program in (pendulum(), circle())]
    assert len(compiled) == 2
    assert not np.array_equal(*rates)


def test_constants_of_the_result_belong_to_the_key() -> None:
    from dataclasses import replace

    routine = pendulum().routines["derivative"]
    results = [((3, 4),), ((3, 4.0),), ((4, 3),), ((3, 0.0),), ((3, -0.0),)]
    keys = {cache.key("map", [replace(routine, result=result)]) for result in results}
    assert len(keys) == len(results)
    renamed = replace(routine, calls=tuple(replace(call, path="elsewhere") for call in routine.calls))
    assert cache.key("map", [renamed]) == cache.key("map", [routine])


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "foreign"])
def test_a_damaged_file_is_made_again(compiled: list[str], folder: Path, damage: str) -> None:
    energy(Kernel(pendulum()))
    (path,) = folder.iterdir()
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 0xFF
    path.write_bytes({"truncate": content[:-100], "empty": b"", "foreign": b"x" * 999}.get(damage, content))
    assert energy(Kernel(pendulum())) == 1.0
    assert len(compiled) == 2
    assert energy(Kernel(pendulum())) == 1.0
    assert len(compiled) == 2


def test_size_and_clear(folder: Path) -> None:
    assert cache.size() == 0
    assert cache.clear() == 0
    energy(Kernel(pendulum()))
    assert cache.size() == sum(path.stat().st_size for path in folder.iterdir()) > 0
    assert cache.clear() == 1
    assert cache.size() == 0


def test_without_cache_nothing_is_written(folder: Path) -> None:
    energy(Kernel(pendulum(), cache=False))
    assert not folder.exists()


def test_a_directory_that_cannot_be_written_costs_a_warning(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").write_text("not a directory")
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="KOMPONO_CACHE"):
        assert energy(Kernel(pendulum())) == 1.0


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_directory_costs_a_warning(folder: Path) -> None:
    folder.mkdir(mode=0o500)
    with pytest.warns(UserWarning, match="KOMPONO_CACHE"):
        assert energy(Kernel(pendulum())) == 1.0


def test_processes_may_share_the_directory(folder: Path) -> None:
    script = (
        "from compile.programs import pendulum; from kompono.compile import Kernel; k = Kernel(pendulum());"
        "r = k.fixed('rk4', 0.0, [0.0, 1.0], step=0.1); r.advance(10); print(*r.state)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT)])}
    processes = [
        subprocess.Popen([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    answers = {process.communicate(timeout=300)[0] for process in processes}
    assert all(process.returncode == 0 for process in processes)
    assert len(answers) == 1
    assert len(list(folder.iterdir())) == 1  # no temporary files are left


def test_objects_that_need_what_nobody_has_are_refused() -> None:
    data = assembler.assemble(
        "declare void @nobody.has.this()\ndefine i64 @f(ptr %x) { call void @nobody.has.this() ret i64 0 }"
    )
    with pytest.raises(CompileError, match="linked"):
        jit.load([data], "f")


def test_invalid_code_is_reported() -> None:
    with pytest.raises(CompileError, match="invalid"):
        parallel.assemble_all([("define void @f() { nonsense }", False)])


def test_the_default_directory_belongs_to_the_user(monkeypatch) -> None:
    monkeypatch.delenv("KOMPONO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    if sys.platform.startswith("linux"):
        assert cache.directory() == Path("/somewhere/kompono")


FUNCTIONS = [(f"define i64 @f{k}(i64 %x) {{ %y = add i64 %x, {k} ret i64 %y }}", k % 2 == 0) for k in range(6)]


def test_helpers_make_the_same_objects(monkeypatch) -> None:
    alone = parallel.assemble_all(FUNCTIONS)
    asked: list[str] = []
    ask = parallel._Helper._ask

    def spy(self: Any, process: Any, text: str, loops: bool) -> bytes | str:
        asked.append(text)
        return ask(self, process, text, loops)

    monkeypatch.setattr(parallel._Helper, "_ask", spy)
    monkeypatch.setattr(parallel, "_helpers", lambda _: 2)
    monkeypatch.setattr(assembler, "assemble", _slowly(assembler.assemble))  # so that the helpers get their share
    assert parallel.assemble_all(FUNCTIONS) == alone
    assert asked
    with pytest.raises(CompileError, match="invalid"):
        parallel.assemble_all([*FUNCTIONS, ("nonsense", True)])


def test_work_goes_on_here_if_helpers_fail(monkeypatch) -> None:
    monkeypatch.setattr(parallel, "_helpers", lambda _: 1)
    monkeypatch.setattr(parallel.sys, "executable", "/no/such/python")
    assert len(parallel.assemble_all(FUNCTIONS)) == len(FUNCTIONS)


def _slowly(function: Any) -> Any:
    def slow(*arguments: Any, **options: Any) -> Any:
        time.sleep(0.5)
        return function(*arguments, **options)

    return slow


def test_objects_are_named_by_all_that_makes_them() -> None:
    """What the generator imports from the stages before it is in the hash of its sources; sealed files have hashes."""
    texts = [path.read_text(encoding="utf-8") for path in Path(cache.__file__).parent.rglob("*.py")]
    taken = {name for text in texts for name in re.findall(r"from kompono\.((?:translate|foreign|sealed)[.\w]*)", text)}
    assert {f"{name.replace('.', '/')}.py" for name in taken} - {"sealed/code.py"} == set(cache.BESIDE)
