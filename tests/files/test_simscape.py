"""Simscape Multibody XML: mates as drawn, equal assemblies as one class, motion as of the same machine by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from files.drawings import drawing, four_bar, instance, mate, part, side, turned, two_arms
from files.robots import MACHINES

from kompono import Body, FileError, Ground, Subsystem, evaluate, inspect, load, simulate
from kompono.library import Gravity, Revolute

Write = Callable[..., Path]
real = pytest.mark.skipif(not MACHINES.is_dir(), reason="the machines are not beside this checkout")
INERTIA = np.array([[20, 3, 0], [3, 1700, 0], [0, 0, 1705]]) * 1e-6


class FourBar(Subsystem):
    """The parallelogram by hand."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity((0, -9.81, 0))
        self.left, self.right, self.top = (Body(mass=0.5, inertia=INERTIA) for _ in range(3))
        self.a = Revolute(self.ground, self.left.at(-0.1, 0, 0), angle=1.0)
        self.b = Revolute(self.ground.at(0.2, 0, 0), self.right.at(-0.1, 0, 0), angle=1.0)
        self.c = Revolute(self.left.at(0.1, 0, 0), self.top.at(-0.1, 0, 0), angle=-1.0)
        self.d = Revolute(self.right.at(0.1, 0, 0), self.top.at(0.1, 0, 0))


def test_a_linkage_of_mates_moves_as_one_of_hinges(written: Write) -> None:
    drawn, hand = load(written(four_bar(), "bars.xml"), gravity=(0, -9.81, 0)), FourBar()
    assert inspect(drawn).degrees_of_freedom == 1
    names = [f"{name}.position.{axis}" for name in ("left", "right", "top") for axis in "xy"]
    runs = [simulate(model, until=0.3, step=1e-3, channels=[*names, "energy.*"]) for model in (drawn, hand)]
    assert max(np.abs(runs[0][name] - runs[1][name]).max() for name in names) < 1e-9
    energy = runs[0]["energy.total"]
    assert np.abs(energy - energy[0]).max() < 1e-9
    assert "largest misfit" in str(drawn.imported)
    masses = {name: mass for name, mass, _ in drawn.imported.masses}
    assert masses == {"base": 0.5, "left": 0.5, "right": 0.5, "top": 0.5}


def test_equal_assemblies_are_one_class(written: Write) -> None:
    arms = load(written(two_arms(), "arms.xml"))
    assert type(arms.one) is type(arms.two)
    assert inspect(arms).degrees_of_freedom == 4
    here = evaluate(arms)
    for name, angle, x in (("one", 0.4, 0.0), ("two", -0.7, 0.2)):
        elbow = np.array([x + 0.2 * np.cos(angle), 0.2 * np.sin(angle), 0])
        fore = elbow + 0.1 * np.array([np.cos(angle + 0.5), np.sin(angle + 0.5), 0])
        assert np.allclose(here.vector(f"{name}.fore.position"), fore, atol=1e-14)


def test_a_drawing_that_does_not_fit_is_assembled(written: Write) -> None:
    apart = load(written(four_bar(miss=0.5), "bars.xml"))
    assert {line.name for line in apart.imported.of("assembled")} == {"a_face", "c_face"}
    near = load(written(four_bar(miss=1e-3), "bars.xml"))
    assert not near.imported.of("assembled")
    assert "1.0e-06 m" in str(near.imported)


BASE = instance("base", "bar_prt", turned(0.0), grounded=True)
MATES = {
    "point on point": (mate("Coincident", "m", side("point", ("base",), "0 0 0"), side("point", ("bar",), "0 0 0")), 3),
    "point on line": (mate("Coincident", "m", side("point", ("base",), "0 0 0"), side("line", ("bar",), "0 0 0")), 4),
    "point in plane": (mate("Coincident", "m", side("plane", ("base",), "0 0 0"), side("point", ("bar",), "9 0 0")), 5),
    "line in plane": (
        mate("Coincident", "m", side("line", ("base",), "0 0 0", "1 2 0"), side("plane", ("bar",), "0 0 0")), 4,
    ),
    "angle": (
        mate("Angle", "m", side("line", ("base",), "0 0 0", "1 0 0"), side("line", ("bar",), "0 0 0", "1 0 0")), 5,
    ),
    "perpendicular": (
        mate("Perpendicular", "m", side("plane", ("base",), "0 0 0"), side("plane", ("bar",), "0 0 0", "1 0 0")), 5,
    ),
    "parallel": (mate("Parallel", "m", side("line", ("base",), "0 0 0"), side("line", ("bar",), "0 0 0")), 4),
    "tangent": (
        mate("Tangent", "m", side("plane", ("base",), "0 0 -30"), side("cylinder", ("bar",), "0 0 0", "1 0 0")), 4,
    ),
    "ball on cylinder": (
        mate("Tangent", "m", side("cylinder", ("base",), "0 0 -30", "1 0 0"), side("sphere", ("bar",), "0 0 0")), 5,
    ),
    "distance of points": (
        mate("Distance", "m", side("point", ("base",), "0 0 0"), side("point", ("bar",), "150 0 0")), 5,
    ),
    "rigid": ('<Rigid name="m"><InstancePath><Uid>ubase</Uid></InstancePath><InstancePath><Uid>ubar</Uid>'
              "</InstancePath></Rigid>", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", MATES)
def test_every_mate_takes_its_freedoms(written: Write, name: str) -> None:
    text, freedoms = MATES[name]
    tree = BASE + instance("bar", "bar_prt", turned(0.3))
    machine = load(written(drawing(tree, text, part("bar")), "pair.xml"))
    assert not machine.imported.of("assembled")
    assert inspect(machine).degrees_of_freedom == freedoms


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("</Constraints>", '<Gear name="g"/></Constraints>', "g: a mate of 0 geometries"),
        ('<Concentric name="a_axis">', '<Symmetric name="a_axis">', "a_axis: a mate symmetric .*base and left.*ignore"),
        ("<Uid>uleft</Uid>", "<Uid>nobody</Uid>", "no instance nobody"),
        ("<Mass>0.5</Mass>", "<Mass>nan</Mass>", "not a number"),
        ('length="mm"', 'length="league"', "unit 'league'"),
        ('entityUid="bar_prt"', 'entityUid="gone"', "no part or assembly 'gone'"),
        ("<Rotation>1.0", "<Rotation>2.0", "rotation is none"),
    ],
)
def test_what_is_wrong_is_told(written: Write, old: str, new: str, words: str) -> None:
    text = four_bar().replace(old, new)
    if old.startswith("<Concentric"):
        place = text.index("</Concentric>")
        text = text[:place] + "</Symmetric>" + text[place + len("</Concentric>") :]
    with pytest.raises(FileError, match=words) as error:
        load(written(text, "bars.xml"))
    assert "bars.xml" in str(error.value)


def test_a_mate_that_is_ignored_is_left_out(written: Write) -> None:
    text = four_bar().replace("</Constraints>", mate("Tangent", "rub", side("cone", ("left",), "0 0 0"), side(
        "cone", ("right",), "0 0 0")) + "</Constraints>", 1)  # fmt: skip
    with pytest.raises(FileError, match="rub: a mate tangent of cone and cone"):
        load(written(text, "bars.xml"))
    assert inspect(load(written(text, "bars.xml"), ignore="rub")).degrees_of_freedom == 1


@real
def test_masses_of_a_real_file_are_those_of_its_geometry() -> None:
    """All twelve parts: densities are those of steel and aluminium, centres and tensors agree to 1e-5."""
    pytest.importorskip("OCP")
    from kompono.files.geometry import step_solid
    from kompono.files.xml import parse

    file = MACHINES / "cad" / "icub_wrist" / "mk2_1" / "IC_021_G_207_MECH.xml"
    nodes = parse(file.read_bytes(), "x").needed("Parts").children
    assert len(nodes) == 12
    for node in nodes:
        properties, name = node.needed("MassProperties"), node.named("name")
        solid = step_solid(file.parent / f"{name.lower()}_prt.step", None)
        density = float(properties.needed("Mass").content(1)[0]) / solid.volume
        assert density == pytest.approx({"618-4": 6238.4187}.get(name, round(density, -1)), rel=1e-5)
        assert np.allclose(solid.centre, properties.needed("CenterOfMass").content(3) * 1e-3, atol=1e-7)
        xx, yy, zz, yz, zx, xy = properties.needed("Inertia").content(6) * 1e-6
        tensor = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
        assert np.abs(solid.inertia * density - tensor).max() < 1e-5 * np.abs(tensor).max()


@real
def test_the_hinges_of_a_real_wrist_are_recognized() -> None:
    wrist = load(MACHINES / "cad" / "icub_wrist" / "mk2" / "SPHERICAL_WRIST_V1.xml")
    report = inspect(wrist)
    assert report.degrees_of_freedom == 3
    assert sum("revolute" in line for line in (*report.spanning_tree, *report.loops)) == 9
    assert (report.conditions, report.redundant_count) == (63, 24)
    assert report.operations["derivative"] <= 7300


@real
def test_a_real_wrist_keeps_its_energy_and_moves_alike_on_both_engines() -> None:
    """At 0.1608 s it passes so near to a singular position that its hinges turn round within a millisecond."""
    wrist = load(MACHINES / "cad" / "icub_wrist" / "mk2" / "SPHERICAL_WRIST_V1.xml")
    one, other = (
        simulate(wrist, until=0.2, step=1e-3, method="dopri5", rtol=1e-12, atol=1e-14, engine=engine)
        for engine in ("relative", "absolute")
    )
    for result in (one, other):
        assert result.status.ok
        assert np.ptp(result["energy.total"]) < 1e-9 * result["energy.kinetic"].max()
    names = [name for name in one.names if ".position." in name]
    assert max(np.abs(one[name] - other[name]).max() for name in names) < 1e-12
