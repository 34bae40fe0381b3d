"""Keys of the tests, sealed parts, and suppliers in the same process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from elsewhere.caught import Siding
from elsewhere.machines import Controlled, Conveyor
from elsewhere.suppliers import PARTS, Supplier
from nonsmooth.grazing import Chamber
from nonsmooth.held_from_both_sides import Braked, Jaws
from nonsmooth.loose_parts import Yard
from nonsmooth.rubbing_parts import Double, Rough, Skid, Tray
from sealed.machines import PAIRS

from kompono import seal
from kompono.compile import targets
from kompono.examples.car import standing_damper
from kompono.sealed import keys

MADE = {
    "damper": standing_damper, "skid": Skid, "tray": Tray, "double": Double, "rough": Rough, "controlled": Controlled,
    "chamber": Chamber, "siding": Siding, "conveyor": Conveyor, "yard": Yard,
    "jaws": Jaws, "braked": Braked, "harder": partial(Braked, 2.0),
}  # fmt: skip


@pytest.fixture(autouse=True, scope="package")
def _keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KOMPONO_CONFIG", str(tmp_path_factory.mktemp("keys") / "config"))
        keys.make("Ada")
        yield


@pytest.fixture(scope="package")
def supplier(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Supplier]:
    """A supplier of a part, by name."""
    folder, made = tmp_path_factory.mktemp("parts"), dict[str, Supplier]()

    def find(name: str) -> Supplier:
        if name not in made:
            path: Path = folder / f"{name}.part"
            part = MADE[name]() if name in MADE else PAIRS[name][0]()
            seal(part, path, public=PARTS.get(name, ()), targets=[str(targets.fitting(targets.TARGETS))])
            made[name] = Supplier(str(path))
        return made[name]

    return find
