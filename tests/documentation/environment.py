"""A checkout with an environment that has exactly what `make run` installs, made without the network.

The environment is a real one (`python -m venv`), only that its packages are links to those of the environment the tests
run in: those that the extras named in the Makefile need, and what these need in turn, but nothing else.
"""

from __future__ import annotations

import re
import shutil
import sys
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

from documentation.pages import ROOT
from documentation.test_blocks import PROJECT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SCRIPT = """#!{python}
import sys
from kompono.edges.cli import main
sys.exit(main())
"""


def checkout(folder: Path) -> Path:
    """The project as a clone would have it: all but what .gitignore names."""
    ignored = [line.strip("/\n") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines() if line]
    return shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".git", *ignored))


def extras_of_make_run() -> set[str]:
    """The extras in the recipe of the stamp `.ready-run`."""
    recipe = re.search(
        r"^\$\(VENV\)/\.ready-run:.*\n\t.*'\.\[([\w,]+)\]'", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    assert recipe is not None
    return set(recipe[1].split(","))


def packages(extras: set[str]) -> dict[str, Distribution]:
    """What an installation of the project with `extras` brings, without the project itself, by name."""
    found: dict[str, Distribution] = {}
    optional = PROJECT["optional-dependencies"]
    waiting = [*PROJECT["dependencies"], *(text for extra in sorted(extras) for text in optional[extra])]
    while waiting:
        wanted = Requirement(waiting.pop())
        name = canonicalize_name(wanted.name)
        if name == "kompono":
            waiting += [text for extra in wanted.extras for text in optional[extra]]
            continue
        if name in found and not wanted.extras:
            continue
        found[name] = distribution(name)
        for text in found[name].requires or []:
            marker = Requirement(text).marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *wanted.extras)):
                waiting.append(text)
    return found


def install(project: Path, extras: set[str]) -> None:
    """Make `.venv` in a checkout as `make run` would, with its stamp, so that make does not install anything."""
    folder = project / ".venv"
    venv.create(folder, symlinks=True)
    site = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    for package in packages(extras).values():
        tops = {file.parts[0] for file in package.files or [] if file.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            if not (site / top).exists():
                (site / top).symlink_to(str(package.locate_file(top)))
    (site / "kompono.pth").write_text(f"{project}\n")
    script = folder / "bin" / "kompono"
    script.write_text(SCRIPT.format(python=folder / "bin" / "python"))
    script.chmod(0o755)
    (folder / ".ready-run").touch()
