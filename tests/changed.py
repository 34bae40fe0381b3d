"""Which tests `make check` runs: those of what differs from the main branch, or on it, of what is not committed.

A changed test file is run; so are the folders that test a changed file of the package (AREAS), the blocks of a changed
page, the rules of style and the first law. What is nearest to the change comes first, what takes no time before it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAIN = ("main", "origin/main")
FIRST, LAST = "tests/style/", "tests/laws/test_accelerations.py"  # run in any case

# Beginnings of paths, and where what lies there is tested; the longest that fits counts.
AREAS = {
    "kompono/": ("tests/solve/", "tests/reference/test_car.py"),
    "kompono/errors.py": ("tests/model/", "tests/solve/test_failures.py"),
    "kompono/given.py": ("tests/model/", "tests/fuzz/"),
    "kompono/kinds.py": ("tests/solve/test_options.py", "tests/fuzz/"),
    "kompono/request.py": ("tests/solve/", "tests/fuzz/", "tests/edges/test_cli.py"),
    "kompono/spatial/": ("tests/library/", "tests/laws/"),
    "kompono/model/law.py": ("tests/nonsmooth/", "tests/model/"),
    "kompono/translate/laws/": ("tests/nonsmooth/", "tests/compile/test_law_solver.py"),
    "kompono/solve/laws/": ("tests/solve/laws/", "tests/nonsmooth/"),
    "kompono/solve/settling.py": ("tests/nonsmooth/",),
    "kompono/model/state.py": ("tests/signals/",),
    "kompono/model/signal.py": ("tests/signals/", "tests/model/"),
    "kompono/model/controller.py": ("tests/signals/",),
    "kompono/compile/sampling.py": ("tests/signals/",),
    "kompono/solve/asking.py": ("tests/signals/",),
    "kompono/realtime/lockstep.py": ("tests/signals/",),
    "kompono/model/connection.py": ("tests/signals/", "tests/networks/"),
    "kompono/model/pin.py": ("tests/networks/",),
    "kompono/library/pairs.py": ("tests/networks/",),
    "kompono/library/electric.py": ("tests/networks/",),
    "kompono/library/motors.py": ("tests/networks/",),
    "kompono/library/shafts.py": ("tests/networks/",),
    "kompono/library/hydraulic.py": ("tests/networks/",),
    "kompono/library/thermal.py": ("tests/networks/",),
    "kompono/model/": ("tests/model/", "tests/library/", "tests/translate/"),
    "kompono/library/": ("tests/library/", "tests/laws/test_joints.py"),
    "kompono/library/friction.py": ("tests/nonsmooth/",),
    "kompono/library/clutches.py": ("tests/nonsmooth/",),
    "kompono/library/gears.py": ("tests/library/", "tests/nonsmooth/"),
    "kompono/files/": ("tests/files/",),
    "kompono/analyses/": ("tests/analyses/", "tests/solve/test_evaluation.py"),
    "kompono/translate/": ("tests/translate/", "tests/rank/", "tests/laws/", "tests/solve/test_assembly.py"),
    "kompono/translate/engines/absolute.py": ("tests/absolute/", "tests/laws/"),
    "kompono/translate/engines/large/": ("tests/translate/test_nested.py", "tests/laws/"),
    "kompono/translate/engines/discrete/": ("tests/discrete/",),
    "kompono/compile/": ("tests/compile/", "tests/solve/test_methods.py"),
    "kompono/compile/walls/": ("tests/walls/", "tests/sealed/test_load.py"),
    "kompono/compile/lifted.py": ("tests/sealed/", "tests/compile/"),
    "kompono/compile/sealed.py": ("tests/sealed/", "tests/compile/"),
    "kompono/compile/targets.py": ("tests/sealed/", "tests/compile/"),
    "kompono/compile/linker/": ("tests/fmu/",),
    "kompono/compile/fmi/": ("tests/fmu/",),
    "kompono/edges/fmu/": ("tests/fmu/",),
    "kompono/foreign/": ("tests/fmu/",),
    "kompono/compile/foreign.py": ("tests/fmu/",),
    "kompono/remote/": ("tests/remote/",),
    "kompono/elsewhere/": ("tests/elsewhere/",),
    "kompono/compile/far.py": ("tests/elsewhere/", "tests/compile/"),
    "kompono/compile/desk.py": ("tests/elsewhere/", "tests/compile/"),
    "kompono/compile/keeper.py": ("tests/elsewhere/",),
    "kompono/compile/keeper_frames.py": ("tests/elsewhere/",),
    "kompono/compile/carry.py": ("tests/elsewhere/",),
    "kompono/translate/parts/away.py": ("tests/elsewhere/",),
    "kompono/translate/parts/far.py": ("tests/elsewhere/",),
    "kompono/sealed/": ("tests/sealed/", "tests/walls/", "tests/elsewhere/"),
    "kompono/sealing.py": ("tests/sealed/",),
    "kompono/translate/parts/alone.py": ("tests/sealed/",),
    "kompono/translate/parts/": ("tests/parts/", "tests/sealed/", "tests/laws/"),
    "kompono/ranks/": ("tests/ranks/",),
    "kompono/compile/messages.py": ("tests/ranks/",),
    "kompono/compile/together.py": ("tests/ranks/", "tests/solve/test_methods.py"),
    "kompono/compile/spread.py": ("tests/ranks/",),
    "kompono/translate/engines/large/share.py": ("tests/ranks/",),
    "kompono/solve/": ("tests/solve/", "tests/laws/test_convergence.py"),
    "kompono/solve/many.py": ("tests/ensembles/",),
    "kompono/result/": ("tests/result/",),
    "kompono/realtime/": ("tests/realtime/",),
    "kompono/scene/": ("tests/view/test_scene.py",),
    "kompono/many/": ("tests/ensembles/",),
    "kompono/edges/cli/": ("tests/edges/", "tests/plots/test_commands.py"),
    "kompono/edges/view/": ("tests/view/",),
    "kompono/edges/": ("tests/plots/",),
    "kompono/examples/": ("tests/examples/", "tests/edges/test_load.py"),
    "tests/": (),
    "Makefile": ("tests/documentation/test_first_contact.py",),
    "pyproject.toml": ("tests/documentation/test_first_contact.py", "tests/style/"),
    "README.md": ("tests/documentation/test_first_contact.py", "tests/documentation/test_site.py"),
    "docs/": ("tests/documentation/test_site.py",),
    "mkdocs.yml": ("tests/documentation/test_site.py",),
    "examples/notebooks/": ("tests/documentation/test_notebooks.py",),
}


def changed() -> list[str]:
    """Files, as paths from the root, that differ from the common ancestor with the main branch or are not committed."""
    base = next((found for name in MAIN if (found := _git("merge-base", "HEAD", name))), ["HEAD"])
    names = _git("diff", "--name-only", base[0]) + _git("ls-files", "--others", "--exclude-standard")
    return sorted(set(names))


def wanted(files: Iterable[str]) -> list[str]:
    """What to run for changed files, nearest first: beginnings of the names of tests, or pages of the documentation."""
    tests: list[str] = []
    areas: list[str] = []
    pages: list[str] = []
    for file in files:
        folder, _, name = file.rpartition("/")
        if folder.startswith("tests/") and name.endswith(".py"):
            tests.append(file if name.startswith("test_") else f"{folder}/")
        elif name.endswith(".md"):
            pages.append(f"[{file}:")
        fitting = [area for area in AREAS if file.startswith(area)]
        areas += AREAS[max(fitting, key=len)] if fitting else ()
    return list(dict.fromkeys([FIRST, *tests, *areas, *pages, LAST]))


def rank(test: str, order: list[str]) -> int | None:
    """The place in `order` of what asks for a test (`tests/edges/test_cli.py::test_...[docs/plots.md:12]`)."""
    return next((k for k, part in enumerate(order) if test.startswith(part) or (part[0] == "[" and part in test)), None)


def _git(*words: str) -> list[str]:
    """Lines that git prints; none where there is no git, or nothing of that name."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []
