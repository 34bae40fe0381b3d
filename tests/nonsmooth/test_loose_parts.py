"""Closed, nested and sealed parts that show a body which nothing joins to the rest and which touches something: they
have the events and the motion of the open model, whoever has the floor, and whether the owner holds the body or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nonsmooth.loose_parts import (
    Armed,
    Both,
    Brick,
    Coin,
    Floored,
    Hanging,
    Hinged,
    Owner,
    Room,
    Seen,
    Swinging,
    Tethered,
    Tied,
    Touched,
    Welded,
    Wrapped,
    Yard,
)
from nonsmooth.same_events import same_events

from kompono import Body, Result, Sealed, Subsystem, seal, simulate
from kompono.compile import targets
from kompono.errors import SealedError
from kompono.model.free import Free, Placed
from kompono.sealed import Shape, keys, load_sealed
from kompono.translate import translate

HERE = [targets.fitting(targets.TARGETS) or "wasm32"]
Kind = Callable[[], Any]
Case = tuple[Callable[[Kind], Subsystem], Kind, str, float]


def _thin() -> Coin:
    return Coin(floor=False)


# owner, part, what is compared, until when [s]: later rounding decides which of several feet bears what
CASES: dict[str, Case] = {
    "yard": (Owner, Yard, "brick", 0.147),
    "brick": (Floored, Brick, "brick", 0.147),
    "touched": (Touched, Seen, "brick", 0.147),
    "armed": (Floored, Armed, "brick", 0.147),
    "room": (Owner, Room, "box", 0.3),
    "both": (Owner, Both, "ball", 0.3),
    "tied": (Floored, Tied, "other", 0.147),
    "coin": (Owner, Coin, "coin", 0.2),
    "thin": (Floored, _thin, "coin", 0.2),
    "tethered": (Tethered, Yard, "brick", 0.147),
    "hinged": (Hinged, Yard, "brick", 0.147),
    "welded": (Welded, Yard, "brick", 0.147),
    "swinging": (Swinging, Yard, "brick", 0.4),
}
HELD = ("armed", "hinged", "welded", "swinging")


@pytest.fixture(autouse=True, scope="module")
def _keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KOMPONO_CONFIG", str(tmp_path_factory.mktemp("keys") / "config"))
        keys.make("Ada")
        yield


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Kind], Path]:
    """Files of parts, each sealed once."""
    folder, made = tmp_path_factory.mktemp("parts"), dict[Kind, Path]()

    def find(kind: Kind) -> Path:
        if kind not in made:
            made[kind] = folder / f"{kind.__name__}.part"
            seal(kind(), made[kind], targets=HERE)
        return made[kind]

    return find


def _run(case: Case, kind: Kind | None = None, initial: dict[str, float] | None = None, **options: Any) -> Result:
    owner, own, _, until = case
    return simulate(owner(kind or own), until=until, step=1e-3, initial=initial or {}, **options)


def _alike(one: Result, other: Result, port: str, *, named: bool = True) -> None:
    same_events(one, other, 2, named=named)
    for axis in "xyz":
        name = f"part.{port}.position.{axis}"
        assert np.abs(one[name] - other[name]).max() < 1e-12, name


def _start(part: Any, entered: str | None) -> dict[str, float]:
    """Where the base of a part starts, which its owner says of a sealed one."""
    body = getattr(part, entered) if entered is not None else None
    if not isinstance(body, Body):
        return {}
    kinds = {"position": "xyz", "velocity": "xyz", "angular_velocity": "xyz"}
    found = {
        f"part.{entered}.{kind}.{axis}": float(value)
        for kind, axes in kinds.items()
        for axis, value in zip(axes, getattr(body, f"start_{kind}"), strict=True)
    }
    turned = zip(range(4), body.start_orientation, strict=True)
    return found | {f"part.{entered}.orientation.e{k}": float(value) for k, value in turned}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:(start values|assembly moved):kompono.errors.ModelWarning")
def test_closed_and_nested(name: str) -> None:
    case = CASES[name]
    first = _run(case)
    _alike(first, _run(case, closed=["part"]), case[2])
    if name in ("yard", "tied", "armed"):
        nested = _run(case, lambda: Wrapped(case[1]), closed=["part", "part.core"])
        same_events(first, nested, 2, named=False)
        assert np.abs(first[f"part.{case[2]}.position.x"] - nested[f"part.core.{case[2]}.position.x"]).max() < 1e-12


@pytest.mark.parametrize("name", [name for name in CASES if name != "room"])
@pytest.mark.filterwarnings("ignore:(start values|assembly moved):kompono.errors.ModelWarning")
def test_sealed(name: str, sealed: Callable[[Kind], Path]) -> None:
    case = CASES[name]
    file = sealed(case[1])
    base = load_sealed(file).manifest.shape.variants[0].base
    start = _start(case[1](), base)
    _alike(_run(case, initial=start), _run(case, lambda: Sealed(file), start), case[2], named=False)


@pytest.mark.parametrize("name", ["yard", "tied"])
def test_absolute_coordinates(name: str, sealed: Callable[[Kind], Path]) -> None:
    """A loose body has the same coordinates there, so a file need not know its bodies placed one by one."""
    case = CASES[name]
    start = _start(case[1](), load_sealed(sealed(case[1])).manifest.shape.variants[0].base)
    first = _run(case, initial=start, engine="absolute")
    _alike(first, _run(case, initial=start, closed=["part"], engine="absolute"), case[2])
    _alike(first, _run(case, lambda: Sealed(sealed(case[1])), start, engine="absolute"), case[2], named=False)


@pytest.mark.parametrize("engine", ["relative", "absolute"])
@pytest.mark.filterwarnings("ignore:assembly moved:kompono.errors.ModelWarning")
def test_conditions_on_a_port_that_does_not_move_with_the_base(engine: str, sealed: Callable[[Kind], Path]) -> None:
    """They are seen from the world, in assembly as well."""
    case: Case = (Hanging, Tied, "other", 0.1)
    first = _run(case, initial=_start(Tied(), "brick"), engine=engine)
    second = _run(case, lambda: Sealed(sealed(Tied)), _start(Tied(), "brick"), engine=engine)
    exact = 1e-12 if engine == "relative" else 1e-9  # there the inside keeps joint coordinates
    for name in ("part.other.position.x", "part.other.position.z", "part.brick.position.x"):
        assert np.ptp(first[name]) > 1e-3
        assert np.abs(first[name] - second[name]).max() < exact, name


def test_older_files_do_not_say_which_ports_move_with_the_base(
    sealed: Callable[[Kind], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path))  # nothing is known of the model as it is with the file
    monkeypatch.setattr(Shape, "loose", lambda *_: frozenset())
    with pytest.raises(SealedError, match="part: nothing inside holds some of its ports, and its file does not say"):
        simulate(Hanging(lambda: Sealed(sealed(Tied))), until=0.01, step=1e-3)


@pytest.mark.parametrize("name", CASES)
def test_bodies_that_joints_hold_do_not_fly(name: str) -> None:
    """Open and closed parts have the same coordinates."""
    owner, kind, port, _ = CASES[name]
    for closed in ([], ["part"]):
        found = translate(owner(kind), closed=closed).topology
        joints = [link.joint for link in found.links if isinstance(link.joint, Free)]
        flying = [joint.second.body._name for joint in joints if isinstance(joint, Placed)]
        assert (port in flying) == (name not in HELD), closed


def test_a_file_tells_what_its_owner_must_know(sealed: Callable[[Kind], Path]) -> None:
    yard, tied, armed, seen = (load_sealed(sealed(kind)).manifest.shape for kind in (Yard, Tied, Armed, Seen))
    assert {port.name: port.on for port in seen.ports} == {"brick": "", "eye": "brick"}
    assert [variant.entry for variant in yard.variants] == [None, "~brick"]
    assert {variant.entry for variant in tied.variants} == {"brick", "other", "brick~other", "other~brick"}
    assert [variant.entry for variant in armed.variants] == ["brick"]
    assert [(port.joined, port.touched) for port in (*yard.ports, *armed.ports)] == [(False, True), (True, False)]
    assert yard.flown(None, []).flying == ()
    assert tied.flown("brick", ["brick", "other"]).flying == ("other",)
