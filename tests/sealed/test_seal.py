"""Components sealed as they are declared: what is public, what is not, and the same motion as the open ones."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sealed.test_lifted import readable

from kompono import Body, Event, Ground, Input, Mode, Output, Parameter, Subsystem, seal, simulate
from kompono.compile import sealed
from kompono.errors import KomponoError, ModelError, SealedError
from kompono.examples.car import Damper, DamperBench
from kompono.examples.engine import Cylinder
from kompono.examples.kuka import DRIVEN, DRIVES, Axis
from kompono.library import JointEffort, Prismatic, Revolute, shapes, solids
from kompono.sealed import SealedCode, archive, keys, load_sealed, read_sealed
from kompono.translate.parts.inside import Part

DECLARED = (13.23, 3.4, 5e4, 0.35, 0.6)
INNER = ("slide", "spring", "displacement", "stiffness", "rest", "Cylindrical", "part_", "examples", "car")


@pytest.fixture
def damper(me: keys.Identity, tmp_path: Path) -> SealedCode:
    seal(Damper, tmp_path / "damper.part", public=["damping"])
    return load_sealed(tmp_path / "damper.part")


def test_ports_and_public_parameters_are_all_it_shows(damper: SealedCode) -> None:
    shape = damper.manifest.shape
    assert shape.name == "Damper"
    assert [port.name for port in shape.ports] == ["piston", "cylinder"]
    assert [(p.name, p.default) for p in shape.parameters] == [("damping", 1e4)]
    assert [variant.base for variant in shape.variants] == ["piston", "cylinder"]
    assert {channel.name.split(".")[0] for channel in shape.channels} == {"piston", "cylinder"}
    assert shape.variants[0].functions["condense"].signals == ("damping",)
    assert damper.start("piston").tolist() == [0.25, 0, 0, 0]


def test_nothing_declared_can_be_read_in_the_file(damper: SealedCode) -> None:
    members = dict(archive.unpack(Path(damper.file.path).read_bytes(), ""))
    numbers = members.pop("numbers.bin")
    assert any(readable(numbers, value) for value in DECLARED)  # the table is locked for recipients, or open
    for name, data in members.items():
        words = b" ".join(re.findall(rb"[ -~]{3,}", data)).decode()
        assert not [word for word in INNER if word in words and name != "manifest.json"], name
        if name.startswith("code/"):
            assert not [value for value in DECLARED if readable(data, value)], name
    manifest = members["manifest.json"].decode()
    assert not [word for word in INNER if word in manifest]
    assert not [value for value in DECLARED if str(value) in manifest]


class Turned(Cylinder):
    """A cylinder of the engine that is told the angle of the crank."""

    def __init__(self) -> None:
        self.crank = Input(0.0, unit="rad")
        super().__init__(angle=self.crank, y=0.042)


MACHINES: list[tuple[Any, list[str], tuple[float, ...], tuple[str, ...]]] = [
    (Turned, ["crank"], (0.35, 6.1e-4, 1.4e-4, 0.042, 101325.0), ("piston", "bore", "gas", "wall", "volume", "Otto")),
    (
        lambda: Axis(DRIVES[5], DRIVEN[5], welded=True),
        [],
        (16.6, 0.22, 6e-5, 1.1e-4, 3.5e-4),
        ("rotor", "disc", "eccentric", "mesh", "pins", "torque", "bearing"),
    ),
]


@pytest.mark.parametrize(
    ("make", "public", "declared", "inner"), MACHINES if "KOMPONO_LAWS" in os.environ else MACHINES[:1]
)
def test_nothing_of_an_engine_or_a_robot_can_be_read(
    me: keys.Identity, tmp_path: Path, make: Any, public: list[str], declared: tuple[float, ...], inner: tuple[str, ...]
) -> None:
    seal(make(), tmp_path / "one.part", public=public)
    members = dict(archive.unpack((tmp_path / "one.part").read_bytes(), ""))
    numbers = members.pop("numbers.bin")
    assert any(readable(numbers, value) for value in declared)
    manifest = members.pop("manifest.json").decode()
    assert not [word for word in inner if word in manifest]
    assert not [value for value in declared if repr(value) in manifest]
    assert len([name for name in members if name.startswith("code/")]) > 4
    for name, data in members.items():
        words = b" ".join(re.findall(rb"[ -~]{3,}", data)).decode()
        assert not [word for word in inner if word in words], name
        if name.startswith("code/"):
            assert not [value for value in declared if readable(data, value)], name


class Bench(DamperBench):
    """A damper that hangs from a shaker and carries a load."""

    def __init__(self) -> None:
        super().__init__()
        self.load = Body(solids.sphere(mass=20.0, radius=0.1))
        self.hook = Revolute(self.damper.cylinder.at(0, 0, -0.3), self.load.at(0, 0, 0.1), axis="y", angle=0.3)


def test_a_sealed_damper_moves_as_the_open_one(
    me: keys.Identity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its functions in the place of those of the closed part, in native code."""
    seal(Damper(length=0.35), tmp_path / "damper.part")
    code = load_sealed(tmp_path / "damper.part")
    channel = "load.position.z"
    options = {"until": 0.3, "step": 2e-4, "method": "rk4", "channels": [channel], "cache": False}
    whole = simulate(Bench(), **options)
    traced, asked = Part.closed, []

    def from_file(part: Part, name: str):
        closed = traced(part, name)
        if name == "report" or not closed.function.nnz_out():
            return closed
        assert code.manifest.shape.variant("piston").functions[name].groups == closed.groups
        return replace(closed, function=code.function("piston", name))

    objects = sealed.objects
    monkeypatch.setattr(Part, "closed", from_file)
    translator = sys.modules["kompono.translate.translate"]
    monkeypatch.setattr(translator, "with_numbers", lambda model, _: model)  # numbers stay in the code, as in a file
    monkeypatch.setattr(translator, "open_places", lambda *_: None)
    monkeypatch.setattr(sealed, "objects", lambda names, lanes: asked.extend(names) or objects(names, lanes))
    parted = simulate(Bench(), closed=["damper"], **options)
    assert asked  # native code of the file was linked
    assert np.ptp(whole[channel]) > 1e-3
    assert np.abs(parted[channel] - whole[channel]).max() < 1e-13


class Actuator(Subsystem):
    """A cart on a base, with everything that may or may not be public."""

    def __init__(self) -> None:
        self.housing = Body(solids.box(mass=2.7, size=(0.1, 0.1, 0.1)))
        self.cart = Body(solids.box(mass=1.9, size=(0.1, 0.1, 0.1)))
        self.rail = Prismatic(self.housing, self.cart, axis="x", displacement=0.37)
        self.gain, self.hidden = Parameter(3.3, unit="N"), Parameter(7.7)
        self.command, self.inner = Input(0.0, unit="1"), Input(4.4)
        self.on = Mode(1.0)
        self.motor = JointEffort(self.rail, self.on * self.gain * self.command + self.hidden * self.inner)
        self.limit = Event(self.rail.displacement - 0.5, {self.on: 0.0})
        self.stroke = Output(self.rail.displacement, unit="m")
        self.secret = Output(self.rail.v[0], unit="m/s")
        self.expose(self.housing, self.cart)


def test_signals_events_and_outputs(me: keys.Identity, tmp_path: Path) -> None:
    path = tmp_path / "actuator.part"
    seal(Actuator(), path, public=["gain", "command", "stroke"])
    code = load_sealed(path)
    shape = code.manifest.shape
    assert [q.name for q in (*shape.parameters, *shape.inputs)] == ["gain", "command"]
    assert shape.outputs == ("stroke",)
    assert shape.events == 1
    assert shape.parameters[0].unit == "N"
    assert not [word for word in (b"secret", b"hidden", b"rail", b"motor") if word in path.read_bytes()]
    variant = shape.variant("housing")
    assert code.start("housing").tolist() == [0.37, 0, 1]
    x = np.array([0.1, 0.0, 1.0])  # displacement, speed, mode
    known = {"time": [0.0], "base": [*[0.0] * 3, *np.eye(3).ravel(), *[0.0] * 6], "fields": [0.0] * 9, "x": x}
    for gain, command in ((3.3, 0.0), (2.0, 5.0)):
        values = known | {"given": [0.0] * 12}
        described = variant.functions["resolve"]
        signals = [{"gain": gain, "command": command}[name] for name in described.signals]
        rates = code.evaluate(described.number, np.concatenate([*[values[g] for g in described.groups], signals]))
        assert rates[1] == pytest.approx((gain * command + 7.7 * 4.4) / 1.9)
    assert code.evaluate(variant.functions["guards"].number, x)[0] == pytest.approx(-0.4)
    assert code.evaluate(variant.functions["switch_0"].number, [])[0] == 0


class Standing(Subsystem):
    def __init__(self) -> None:
        self.ground = Ground()
        self.arm = Body(solids.rod(mass=2.3, length=1.1, radius=0.02))
        self.pin = Revolute(self.ground, self.arm.at(0, 0, -0.55), axis="y", angle=0.4)
        self.expose(self.arm)


def test_a_part_on_its_own_ground_has_no_base(me: keys.Identity, tmp_path: Path) -> None:
    seal(Standing(), tmp_path / "arm.part", pictures={"arm": shapes.box((0.1, 0.1, 1.2))})
    shape = load_sealed(tmp_path / "arm.part").manifest.shape
    assert [variant.base for variant in shape.variants] == [None]
    assert shape.pictures["arm"][0].kind == "box"


@pytest.mark.parametrize(
    ("public", "reason"),
    [
        (["dampin"], "no parameter, input, output or channel 'dampin'"),
        (["inner.*"], "inner"),
        (["piston.position.z", "x"], "'x'"),
    ],
)
def test_a_public_name_that_is_not_there(me: keys.Identity, tmp_path: Path, public: list[str], reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        seal(Damper, tmp_path / "f.part", public=public)
    assert not (tmp_path / "f.part").exists()


def test_what_cannot_be_sealed(me: keys.Identity, tmp_path: Path) -> None:
    class Unexposed(Subsystem):
        def __init__(self) -> None:
            self.body = Body(solids.sphere(mass=1.0, radius=0.1))

    class Joint(Standing):
        def __init__(self) -> None:
            super().__init__()
            self.expose(self.pin)

    class Fed(Actuator):
        def __init__(self) -> None:
            super().__init__()
            self.inner.value, self.inner.period = (lambda t: t), 0.1

    reasons = {Unexposed: "exposes nothing", Joint: "neither a body nor a pin", Fed: "is not public"}
    for component, reason in ((make(), reason) for make, reason in reasons.items()):
        with pytest.raises(ModelError, match=reason):
            seal(component, tmp_path / "f.part")
    mesh = shapes.box((1, 1, 1))
    with pytest.raises(SealedError, match="not in order"):
        seal(Standing(), tmp_path / "f.part", pictures={"arm": replace(mesh, sizes={"file": "/home/me/arm.stl"})})
    with pytest.raises(SealedError, match="not in order"):
        seal(Standing(), tmp_path / "f.part", pictures={"leg": mesh})
    assert not (tmp_path / "f.part").exists()


def test_sealing_needs_a_key(tmp_path: Path) -> None:
    with pytest.raises(KomponoError, match="kompono keys new"):
        seal(Standing(), tmp_path / "f.part")


class Tuned(Subsystem):
    """A keyword that the component makes a parameter of by itself."""

    def __init__(self, gain: float = 3.0) -> None:
        self.gain, self.frame, self.cart = Parameter(gain, unit="N"), *(Body(mass=1, inertia=(1, 1, 1)) for _ in "ab")
        self.rail = Prismatic(self.frame, self.cart, axis="x")
        self.push = JointEffort(self.rail, self.gain)
        self.expose(self.frame)


def test_a_keyword_that_is_a_parameter_already(me: keys.Identity, tmp_path: Path) -> None:
    seal(Tuned, tmp_path / "tuned.part", public=["gain"], targets=["x86_64-linux"])
    (gain,) = read_sealed(tmp_path / "tuned.part").manifest.shape.parameters
    assert (gain.name, gain.unit, gain.default) == ("gain", "N", 3.0)
