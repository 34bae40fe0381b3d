"""What `make check` runs: every folder of the package and of the tests is known to it, the nearest comes first."""

from __future__ import annotations

import pytest
from changed import AREAS, FIRST, LAST, ROOT, rank, wanted


def test_what_is_named_exists() -> None:
    places = [*AREAS, FIRST, LAST, *(place for tests in AREAS.values() for place in tests)]
    assert not [place for place in places if not (ROOT / place).exists()]


def test_every_folder_of_the_package_has_tests_of_its_own() -> None:
    folders = {f"kompono/{path.name}/" for path in (ROOT / "kompono").iterdir() if (path / "__init__.py").is_file()}
    assert not folders - set(AREAS)


def test_every_folder_of_tests_is_asked_for() -> None:
    folders = {f"tests/{path.name}/" for path in (ROOT / "tests").iterdir() if list(path.glob("test_*.py"))}
    assert not folders - {"/".join(place.split("/")[:2]) + "/" for tests in AREAS.values() for place in tests}


@pytest.mark.parametrize(
    ("file", "first"),
    [
        ("tests/edges/test_cli.py", "tests/edges/test_cli.py"),
        ("tests/edges/conftest.py", "tests/edges/"),
        ("tests/laws/mechanisms.py", "tests/laws/"),
        ("kompono/edges/cli/load.py", "tests/edges/"),
        ("kompono/translate/engines/absolute.py", "tests/absolute/"),
        ("examples/README.md", "[examples/README.md:"),
        ("tests/conftest.py", LAST),
        ("LICENSE", LAST),
    ],
)
def test_a_changed_file_asks_for(file: str, first: str) -> None:
    assert wanted([file])[:2] == [FIRST, first]


def test_changed_tests_come_before_those_of_the_package() -> None:
    order = wanted(["kompono/compile/jit.py", "tests/result/test_store.py"])
    tests = ["tests/style/test_x.py::test_c", "tests/result/test_store.py::test_a", "tests/compile/test_jit.py::test_b"]
    ranks = [rank(test, order) for test in tests]
    assert None not in ranks
    assert ranks == sorted(ranks, key=lambda rank: rank or 0)
    assert rank("tests/view/test_page.py::test_d", order) is None


def test_blocks_of_a_changed_page() -> None:
    order = wanted(["docs/plots.md"])
    assert rank("tests/documentation/test_blocks.py::test_blocks_run[docs/plots.md:12]", order) is not None
    assert rank("tests/documentation/test_blocks.py::test_blocks_run[docs/viewer.md:12]", order) is None
