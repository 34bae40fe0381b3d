"""Contact and friction with sealed parts, beside them and inside: events and motion of the open model."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nonsmooth.law_machines import DenHartog, DryGuide, DryPin
from nonsmooth.rubbing_machines import Belt, Oscillator
from nonsmooth.rubbing_parts import Carried, Double, Heavy, Rocked, Rough, Skid, Swung, Tray
from nonsmooth.same_events import same_events
from nonsmooth.test_soft_parts import Floored, Hung

from kompono import Body, Ground, Input, ModelError, Sealed, SealedError, State, Subsystem, seal, simulate
from kompono.compile import targets
from kompono.examples.servo import TARGET, GearedServo, Servo
from kompono.library import Weld
from kompono.sealed import keys, load_sealed
from kompono.sealed.shape_data import from_data, to_data

LONG = bool(os.environ.get("KOMPONO_LAWS"))
HERE = [targets.fitting(targets.TARGETS) or "wasm32"]
RUN: dict[str, Any] = {"until": 1.0, "step": 1e-3, "progress": False}


@pytest.mark.parametrize(
    ("machine", "kind", "names", "exact", "engine"),
    [
        (Heavy, Double, ["rail.displacement", "rubs.friction", "stops.upper.normal"], 1e-8, "relative"),
        (Rocked, Skid, ["pin.angle", "base.angle", "base.torque.x"], 1e-11, "relative"),
        (Carried, Tray, ["rail.displacement", "tilt.angle"], 1e-9, "absolute"),
        (
            Swung,
            Rough,
            ["pin.angle", "arm.position.z"],
            1e-9,
            "relative",
        ),  # rows of rough contact, asked four at a time
        *([(Carried, Tray, ["rail.displacement", "tilt.angle"], 1e-9, "relative")] if LONG else []),
    ],
)
def test_a_sealed_part_is_like_an_open_one(
    machine: Any, kind: Any, names: list[str], exact: float, engine: str, tmp_path: Path, me: keys.Identity
) -> None:
    file = tmp_path / "made.part"
    seal(kind, file, author=me, targets=HERE)
    models = (machine(), machine(lambda: Sealed(file)))
    first, second = (simulate(model, engine=engine, **RUN) for model in models)
    same_events(first, second, 3, named=False)
    for name in names:
        assert np.abs(first[name] - second[name]).max() < exact, name


def test_stiff_machines_with_sealed_friction_are_stepped_implicitly(tmp_path: Path, me: keys.Identity) -> None:
    """Slopes are differences there; modes inside are not moved by them."""
    file = tmp_path / "made.part"
    seal(Skid, file, author=me, targets=HERE)
    results = []
    for model in (Rocked(), Rocked(lambda: Sealed(file))):
        stiff: Any = model
        stiff.shadow = State(0.0)
        stiff.shadow.rate = 1e5 * (stiff.pin.angle - stiff.shadow)
        results.append(simulate(stiff, **{**RUN, "step": 1e-2}, method="esdirk4", rtol=1e-9).check())
    for result in results:
        assert result.statistics["implicit_steps"] > 50
    events = [result.statistics["events"] for result in results]
    assert len(events[0]) == len(events[1]) >= 3
    assert np.abs(np.subtract(*[[when for when, _ in found] for found in events])).max() < 1e-6


def test_names_are_told_if_they_are_public(tmp_path: Path, me: keys.Identity) -> None:
    for public, name in (((), "part.law_0"), (("rubs*",), "part.rubs")):
        file = tmp_path / f"{name}.part"
        seal(Skid, file, author=me, targets=HERE, public=public)
        result = simulate(Rocked(lambda file=file: Sealed(file)), **{**RUN, "until": 0.3})
        assert [event for _, event in result.statistics["events"]] == [f"{name}.slips"]
        assert ("part.rubs.friction" in result) == bool(public)


def test_guards_without_slopes_are_refused(tmp_path: Path, me: keys.Identity) -> None:
    """As files of older versions have them: a short touch inside would be missed."""
    file = tmp_path / "made.part"
    seal(Skid, file, author=me, targets=HERE)
    data = to_data(load_sealed(file).manifest.shape)
    for variant in data["variants"]:
        variant["functions"]["law_guards"]["results"] = len(variant["laws"]["units"])
    with pytest.raises(SealedError, match=r"guards of laws without their slopes.*[Ss]eal it again"):
        from_data(data, "made.part")


def test_slip_in_a_plane_that_does_not_tell_its_speed_is_refused(tmp_path: Path, me: keys.Identity) -> None:
    """As in files of older versions: steps would be too long where it is slow."""
    file = tmp_path / "made.part"
    seal(Tray, file, author=me, targets=HERE)
    data = to_data(load_sealed(file).manifest.shape)
    from_data(data, "made.part")
    for variant in data["variants"]:
        units = variant["laws"]["units"]
        variant["functions"]["law_guards"]["zeros"] = list(range(len(units), 2 * len(units)))
    with pytest.raises(SealedError, match=r"slip in a plane without its speed.*[Ss]eal it again"):
        from_data(data, "made.part")


def test_behind_walls(tmp_path: Path, me: keys.Identity) -> None:
    file = tmp_path / "made.part"
    seal(Skid, file, author=me, targets=[*HERE, "wasm32"])
    first = simulate(Rocked(), **RUN)
    for wall in ("process", "wasm") if LONG else ("process",):
        second = simulate(Rocked(lambda wall=wall: Sealed(file, wall=wall)), **RUN)
        same_events(first, second, 3, named=False)
        assert np.abs(first["pin.angle"] - second["pin.angle"]).max() < 1e-11


def test_soft_contact_is_refused(tmp_path: Path, me: keys.Identity) -> None:
    file = tmp_path / "made.part"
    seal(Skid, file, author=me, targets=HERE)
    with pytest.raises(ModelError, match=r"part: contact='soft' does not go with laws in sealed parts"):
        simulate(Rocked(lambda: Sealed(file)), contact="soft", **RUN)


def test_what_is_sealed_softly_is_as_stiff_as_the_step_allows(tmp_path: Path, me: keys.Identity) -> None:
    """Its laws are forces then, with bristles in its state; owners have soft laws of their own, or others."""
    file = tmp_path / "made.part"
    seal(Floored, file, author=me, targets=HERE, contact="soft")
    for step in (1e-3, 4e-4):
        run: dict[str, Any] = {"until": 0.4, "step": step, "progress": False}
        first = simulate(Hung(), contact="soft", **run).check()
        for contact in ("soft", "events"):
            second = simulate(Hung(kind=lambda: Sealed(file)), contact=contact, **run).check()
            assert np.abs(first["cord.length"] - second["cord.length"]).max() < 1e-12
    stiffer = simulate(Hung(kind=lambda: Sealed(file, contact_step=2e-4)), **run).check()
    assert np.abs(first["cord.length"] - stiffer["cord.length"]).max() > 1e-6
    with pytest.raises(SealedError, match=r"contact is 'steps'. Give 'events' or 'soft'"):
        seal(Floored, file, author=me, targets=HERE, contact="steps")


PROBLEMS: dict[str, tuple[Callable[[], Any], str, float]] = {
    "n02": (lambda: Oscillator(2.0, 50.0, 3.924, x=0.5), "mass", 3.0),
    "n05": (lambda: Belt(1.0, 20.0, 0.3, 0.4, 0.5), "mass", 6.0),
    "n06": (DenHartog, "mass", 5.0),
    "n22": (DryPin, "bob", 5.0),
    "n23": (DryGuide, "slider", 1.0),
}


class Alone(Subsystem):
    """A machine that is one component."""

    def __init__(self, part: Any) -> None:
        self.part = part


@pytest.mark.parametrize("name", PROBLEMS if LONG else ["n05"])
@pytest.mark.filterwarnings("ignore:assembly moved")
def test_known_problems(name: str, tmp_path: Path, me: keys.Identity) -> None:
    make, port, until = PROBLEMS[name]

    def shown() -> Any:
        made = make()
        made.expose(getattr(made, port))
        return made

    file = tmp_path / "made.part"
    seal(shown(), file, author=me, targets=HERE)
    options = {**RUN, "until": until}
    first = simulate(Alone(shown()), **options)
    same_events(first, simulate(Alone(shown()), closed=["part"], **options), 3)
    for wall in (None, "process") if LONG else (None,):
        same_events(first, simulate(Alone(Sealed(file, wall=wall)), **options), 3, named=False)


def test_the_servo_of_the_examples(tmp_path: Path, me: keys.Identity) -> None:
    """A light shaft inside carries a heavy arm outside: digits are lost if ports are not solved with care."""
    file = tmp_path / "servo.part"
    seal(GearedServo, file, author=me, targets=HERE, public=["target"])
    arm, options = Servo().arm.solid, {**RUN, "until": 0.2}
    first = simulate(Servo(closed=False), **options)

    class Turned(Subsystem):
        def __init__(self) -> None:
            self.base, self.servo = Ground(), Sealed(file, target=Input(table=TARGET))
            self.arm = Body(arm)
            self.foot = Weld(self.base, self.servo.housing)
            self.flange = Weld(self.servo.shaft.at(0, 0, 0.03), self.arm.at(-0.12, 0, 0))

    for second in (simulate(Servo(), **options), simulate(Turned(), **options)):
        same_events(first, second, 8, named=False)
