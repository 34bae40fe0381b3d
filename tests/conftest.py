"""`pytest --changed`: only the tests of what was changed, nearest first, and no new one after `--seconds`.

Most machines here run for a moment, so their code is walked or compiled as soon as can be; in some folders (WELL) it is
compiled well before anything moves, as `KOMPONO_EFFORT=full` does. What only repeats on one more machine what others
show, and takes long, is named in sweeps.txt, and runs with `KOMPONO_LAWS=1`.
A test that takes very long says so, `@pytest.mark.takes(60)`, and is not begun when it would end after that.
Of all tests, files with such ones come first, so that no processor is left alone with one of them at the end.
"""

from __future__ import annotations

import gc
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from changed import changed, rank, wanted

WELL = ("compile", "realtime", "reference")
EFFORT = "quick"  # elsewhere
OUT_OF_TIME = "left out, time is up"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--changed", action="store_true", help="run the tests of what differs from the main branch")
    parser.addoption("--seconds", type=float, default=float("inf"), help="begin no test after this time [s]")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "takes(seconds): about how long it takes, for --seconds")
    config.stash[DEADLINE] = time.monotonic() + config.getoption("--seconds")


@pytest.fixture(scope="session", autouse=True)
def no_keys_of_yours(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test sees, or makes, keys and trusted authors of whoever runs it."""
    os.environ["KOMPONO_CONFIG"] = str(tmp_path_factory.mktemp("config") / "kompono")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _leave_out_sweeps(config, items)
    if config.getoption("--changed"):
        order = wanted(changed())
        ranks = {item: rank(item.nodeid, order) for item in items}
        chosen = sorted((item for item in items if ranks[item] is not None), key=lambda item: ranks[item] or 0)
        config.hook.pytest_deselected(items=[item for item in items if ranks[item] is None])
        items[:] = chosen
    else:
        long: Counter[Path] = Counter()
        for item in items:
            long[item.path] += _takes(item)
        items.sort(key=lambda item: -long[item.path])


def _leave_out_sweeps(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests of sweeps.txt out, unless asked for; a name there that fits none is a mistake."""
    lines = (HERE / "sweeps.txt").read_text(encoding="utf-8").splitlines()
    names = tuple(line for line in lines if line and not line.startswith("#"))
    found = [item for item in items if item.nodeid.startswith(names)]
    collected = {item.nodeid.partition("::")[0] for item in items}
    for name in names:
        file = name.partition("::")[0]
        narrowed = config.option.keyword or config.option.markexpr or any("::" in word for word in config.args)
        if file in collected and not narrowed and not any(item.nodeid.startswith(name) for item in found):
            raise pytest.UsageError(f"tests/sweeps.txt: {name} fits no test")
    if not os.environ.get("KOMPONO_LAWS") and not any("::" in word for word in config.args):
        config.hook.pytest_deselected(items=found)
        left = set(found)
        items[:] = [item for item in items if item not in left]


def _takes(item: pytest.Item) -> float:
    """About how long a test takes [s], if it says so."""
    mark = item.get_closest_marker("takes")
    return mark.args[0] if mark else 0.0


def pytest_collection_finish() -> None:
    """The million objects of modules and tests stay to the end: garbage is looked for among what tests make."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    os.environ["KOMPONO_EFFORT"] = "full" if item.path.relative_to(HERE).parts[0] in WELL else EFFORT
    if time.monotonic() + _takes(item) > item.config.stash[DEADLINE]:
        pytest.skip(OUT_OF_TIME)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    left_out = [report for report in terminalreporter.stats.get("skipped", []) if OUT_OF_TIME in str(report.longrepr)]
    if left_out:
        folders = Counter("/".join(report.nodeid.split("/")[:2]) for report in left_out)
        counts = ", ".join(f"{count} of {folder}" for folder, count in folders.items())
        terminalreporter.write_line(f"time was up before {len(left_out)} tests ({counts}): make test runs all")


HERE = Path(__file__).parent
DEADLINE: pytest.StashKey[float] = pytest.StashKey()
