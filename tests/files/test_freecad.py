"""FreeCAD assemblies: joints from the XML, masses from the shapes; a pendulum of two boxes as one by hand."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from files.robots import MACHINES

from kompono import Body, FileError, Ground, Subsystem, evaluate, inspect, load
from kompono.library import Gravity, Revolute, solids

pytest.importorskip("OCP")
Write = Callable[..., Path]
KINDS = ("Fixed", "Revolute", "Cylindrical", "Slider", "Ball", "Distance")


def box(tmp_path: Path, x: float, y: float, z: float) -> bytes:
    """A box [mm] from the origin as BREP."""
    from OCP.BRepPrimAPI import BRepPrimAPI_MakeBox
    from OCP.BRepTools import BRepTools

    file = tmp_path / "box.brp"
    BRepTools.Write_s(BRepPrimAPI_MakeBox(x, y, z).Shape(), str(file))
    return file.read_bytes()


def placement(name: str, position: tuple[float, float, float], turn: tuple[float, ...] = (0, 0, 0, 1)) -> str:
    values = zip(("Px", "Py", "Pz", "Q0", "Q1", "Q2", "Q3"), (*position, *turn), strict=True)
    words = " ".join(f'{key}="{value}"' for key, value in values)
    return f'<Property name="{name}" type="App::PropertyPlacement"><PropertyPlacement {words}/></Property>'


def label(text: str) -> str:
    return f'<Property name="Label"><String value="{text}"/></Property>'


def document(kind: str = "Revolute", turn: tuple[float, ...] = (0, 0, 0, 1)) -> str:
    """A base, and a bar that hangs on it by one joint about z at (10, 10, 0) mm of both."""
    names = "".join(f'<Enum value="{each}"/>' for each in KINDS)
    objects = {
        "Box": ("Part::Feature", '<Property name="Shape"><Part file="box.brp"/></Property>'
                + placement("Placement", (5, 5, 5))),
        "Base": ("App::Link", label("base") + placement("LinkPlacement", (0, 0, 0))
                 + '<Property name="LinkedObject"><XLink file="" name="Box"/></Property>'),
        "Bar": ("App::Link", label("the bar") + placement("LinkPlacement", (0, 0, 0))
                + '<Property name="LinkedObject"><XLink file="" name="Box"/></Property>'),
        "Ground": ("App::FeaturePython", '<Property name="ObjectToGround"><Link value="Base"/></Property>'),
        "Joint": ("App::FeaturePython", label("hinge") + '<Property name="JointType"><Integer value="'
                  f'{KINDS.index(kind)}" CustomEnum="true"/><CustomEnumList>{names}</CustomEnumList>'
                  '</Property><Property name="Reference1"><XLinkSub file="" name="Base"><Sub value="Face1"/></XLinkSub>'
                  '</Property><Property name="Reference2"><XLinkSub file="" name="Bar"><Sub value="Face1"/></XLinkSub>'
                  "</Property>" + placement("Placement1", (10, 10, 0)) + placement("Placement2", (10, 10, 0), turn)),
    }  # fmt: skip
    listed = "".join(f'<Object type="{kind}" name="{name}"/>' for name, (kind, _) in objects.items())
    data = "".join(
        f'<Object name="{name}"><Properties>{text}</Properties></Object>' for name, (_, text) in objects.items()
    )
    return f'<?xml version="1.0"?><Document><Objects>{listed}</Objects><ObjectData>{data}</ObjectData></Document>'


def packed(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return content.getvalue()


class Pendulum(Subsystem):
    """The same by hand: a box 200 x 20 x 20 mm of 1000 kg/m^3, hung beside its corner."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity((0, -9.81, 0))
        self.bar = Body(solids.box(mass=0.08, size=(0.2, 0.02, 0.02)))
        self.hinge = Revolute(self.ground, self.bar.at(-0.09, 0, -0.01), axis="z")


@pytest.mark.parametrize("turn", [(0, 0, 0, 1), (1, 0, 0, 0)], ids=["along", "against"])
def test_a_pendulum(written: Write, tmp_path: Path, turn: tuple[float, ...]) -> None:
    content = packed({"Document.xml": document(turn=turn).encode(), "box.brp": box(tmp_path, 200, 20, 20)})
    drawn = load(written(content, "pendulum.FCStd"), density=1000.0, gravity=(0, -9.81, 0))
    assert inspect(drawn).degrees_of_freedom == 1
    assert drawn.the_bar.solid.mass == pytest.approx(0.08, rel=1e-12)
    assert "your density 1000" in str(drawn.imported)
    one, other = evaluate(drawn), evaluate(Pendulum())
    assert np.allclose(one.vector("the_bar.acceleration"), other.vector("bar.acceleration"), atol=1e-10)


def test_what_is_refused(written: Write, tmp_path: Path) -> None:
    shape = box(tmp_path, 200, 20, 20)
    whole = packed({"Document.xml": document().encode(), "box.brp": shape})
    for content, words in (
        (whole[: len(whole) // 2], "no whole zip"),
        (packed({"other.xml": b"<a/>"}), "no Document.xml"),
        (
            packed({"Document.xml": document("Distance").encode(), "box.brp": shape}),
            "hinge: a joint Distance of base and",
        ),
        (packed({"Document.xml": document().encode()}), "no box.brp"),
        (packed({"Document.xml": b"0" * 200_000_000}), "would have 200000000 bytes"),
        (
            packed({"Document.xml": document().replace('name="Box"/></Property>', 'name="Bar"/></Property>').encode()}),
            "itself",
        ),
    ):
        with pytest.raises(FileError, match=words):
            load(written(content, "machine.FCStd"))


@pytest.mark.skipif(not MACHINES.is_dir() or "KOMPONO_LAWS" not in os.environ, reason="a real file, with KOMPONO_LAWS")
def test_a_real_excavator() -> None:
    report = inspect(load(MACHINES / "cad" / "freecad" / "AssemblyExample.FCStd"))
    assert (report.bodies, report.degrees_of_freedom, len(report.loops)) == (13, 4, 4)


def wheels(kind: str, axis: float = 1.0) -> str:
    """A base with a wheel on a hinge, and another part beside it: a wheel, or a rack on a slider along x."""
    names = "".join(f'<Enum value="{each}"/>' for each in (*KINDS, kind))

    def joint(name: str, what: str, one: str, two: str, places: str, more: str = "") -> tuple[str, str]:
        number = (*KINDS, kind).index(what)
        refs = "".join(
            f'<Property name="Reference{k}"><XLinkSub file="" name="{each}"><Sub value="Face1"/></XLinkSub></Property>'
            for k, each in ((1, one), (2, two))
        )
        enum = f'<Integer value="{number}" CustomEnum="true"/><CustomEnumList>{names}</CustomEnumList>'
        return "App::FeaturePython", f'{label(name)}<Property name="JointType">{enum}</Property>{refs}{places}{more}'

    def value(name: str, number: float) -> str:
        return f'<Property name="{name}"><Float value="{number}"/></Property>'

    def both(first: tuple[float, float, float], second: tuple[float, float, float], turn: tuple[float, ...]) -> str:
        return placement("Placement1", first, turn) + placement("Placement2", second, turn)

    half = np.sqrt(0.5)
    up, flat = (0, 0, 0, 1) if axis > 0 else (1, 0, 0, 0), (0, half, 0, half)  # z along z (or -z), and z along x
    rack = kind == "RackPinion"
    on = '<Property name="EnableLengthMax"><Bool value="true"/></Property>' + value("LengthMax", 30)
    sliding = both((0, 100, 0), (0, 0, 0), flat), on
    other = joint("b", "Slider", "Base", "Two", *sliding) if rack else (
        joint("b", "Revolute", "Two", "Base", both((0, 0, 0), (0, 100, 0), (0, 0, 0, 1))))  # fmt: skip
    objects = {
        "Box": ("Part::Feature", '<Property name="Shape"><Part file="box.brp"/></Property>'
                + placement("Placement", (0, 0, 0))),
        "Case": ("App::Part", '<Property name="Group"><LinkList><Link value="Box"/><Link value="Old"/></LinkList>'
                 "</Property>" + placement("Placement", (0, 0, 0))),
        "Old": ("Part::Feature", '<Property name="Shape"><Part file="box.brp"/></Property><Property name="Visibility">'
                '<Bool value="false"/></Property>' + placement("Placement", (7, 0, 0))),
        **{name: ("App::Link", label(name) + placement("LinkPlacement", at)
                  + f'<Property name="LinkedObject"><XLink file="" name="{of}"/></Property>')
           for name, at, of in (("Base", (0, 0, 0), "Box"), ("One", (0, 0, 0), "Box"), ("Two", (0, 100, 0), "Case"))},
        "Ground": ("App::FeaturePython", '<Property name="ObjectToGround"><Link value="Base"/></Property>'),
        "A": joint("a", "Revolute", "Base", "One", both((0, 0, 0), (0, 0, 0), (0, 0, 0, 1))),
        "B": other,
        "C": joint("c", kind, "One", "Two", both((0, 0, 0), (0, 0, 0), up if not rack else (0, 0, 0, 1)),
                   value("Distance", 40) + value("Distance2", 60)),
    }  # fmt: skip
    listed = "".join(f'<Object type="{each}" name="{name}"/>' for name, (each, _) in objects.items())
    data = "".join(f'<Object name="{n}"><Properties>{text}</Properties></Object>' for n, (_, text) in objects.items())
    return f'<?xml version="1.0"?><Document><Objects>{listed}</Objects><ObjectData>{data}</ObjectData></Document>'


@pytest.mark.parametrize("axis", [1.0, -1.0])
@pytest.mark.parametrize(("kind", "way"), [("Gears", -40 / 60), ("Belt", 40 / 60), ("RackPinion", -0.04)])
def test_wheels_turn_as_drawn(written: Write, tmp_path: Path, kind: str, way: float, axis: float) -> None:
    content = packed({"Document.xml": wheels(kind, axis).encode(), "box.brp": box(tmp_path, 200, 20, 20)})
    drawn = load(written(content, "wheels.FCStd"), density=1000.0, limits=False)
    assert inspect(drawn).degrees_of_freedom == 1
    assert drawn.Two.solid.mass == pytest.approx(0.08, rel=1e-12)  # what is hidden in its container does not count
    here = evaluate(drawn, {"a.angle.rate": 1.0})
    if kind == "RackPinion":  # the rim moves against x where the rack is
        assert here["Two.velocity.x"] == pytest.approx(way, abs=1e-12)
        held = load(tmp_path / "wheels.FCStd", density=1000.0).b._stops
        assert held is not None
        assert [name for name, _ in held.gaps] == ["upper"]
    else:
        assert here["Two.angular_velocity.z"] == pytest.approx(way, abs=1e-12)


def test_axes_at_an_angle_and_wheels_that_hang_on_nothing(written: Write, tmp_path: Path) -> None:
    shape = box(tmp_path, 200, 20, 20)
    content = packed({"Document.xml": wheels("Parallel").encode(), "box.brp": shape})
    assert inspect(load(written(content, "wheels.FCStd"))).degrees_of_freedom == 2  # hinges hold that already
    loose = wheels("Gears").replace(
        '<XLinkSub file="" name="One"><Sub value="Face1"/>', '<XLinkSub file="" name="Two"><Sub/>', 1
    )
    content = packed({"Document.xml": loose.encode(), "box.brp": shape})
    with pytest.raises(FileError, match="c: One turns on no hinge"):
        load(written(content, "wheels.FCStd"))
