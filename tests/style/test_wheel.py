"""What is installed is complete: the wheel has all files of the package, and works in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = "import sys; from kompono.edges.cli import main; sys.exit(main())"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the contents of the wheel."""
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = folder.glob("kompono-*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run(installed: Path, folder: Path, *words: str) -> str:
    """What a new Python prints that sees the wheel before any other installation."""
    environment = {**os.environ, "PYTHONPATH": f"{installed}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-c", *words]
    return subprocess.run(command, cwd=folder, env=environment, check=True, text=True, capture_output=True).stdout


def test_every_file_of_the_package_is_in_the_wheel(installed: Path) -> None:
    own = {path.relative_to(ROOT) for path in (ROOT / "kompono").rglob("*") if path.is_file()}
    own = {path for path in own if "__pycache__" not in path.parts}
    packed = {path.relative_to(installed) for path in installed.rglob("*") if path.is_file()}
    assert own == {path for path in packed if path.parts[0] == "kompono"}
    assert Path("kompono/examples/reference/bennett.py") in packed
    assert Path("kompono/edges/view/assets/three.min.js") in packed


def test_an_example_is_imported_from_it(installed: Path, tmp_path: Path) -> None:
    code = "import kompono.examples.car as car; print(car.__file__)"
    assert run(installed, tmp_path, code).strip() == str(installed / "kompono" / "examples" / "car.py")


def test_its_viewer_has_all_it_needs(installed: Path, tmp_path: Path) -> None:
    assert "MB" in run(installed, tmp_path, COMMAND, "view", "examples/car.py:DamperBench", "--html", "bench.html")
    assert "THREE" in (tmp_path / "bench.html").read_text(encoding="utf-8")
