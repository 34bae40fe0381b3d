"""Bare STEP assemblies: bodies, masses, colours and hierarchy, and a file of Python to write the joints in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from files.robots import MACHINES
from files.test_write import executed

from kompono import FileError, evaluate, inspect, load
from kompono.edges.cli import main

pytest.importorskip("OCP")
quiet = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")


def written(path: Path, *, twice: bool = True) -> Path:
    """A base and two arms of a bar and a ball each, as STEP, in mm."""
    from OCP.BRepPrimAPI import BRepPrimAPI_MakeBox, BRepPrimAPI_MakeSphere
    from OCP.gp import gp_Ax1, gp_Dir, gp_Pnt, gp_Trsf, gp_Vec
    from OCP.Quantity import Quantity_Color, Quantity_TypeOfColor
    from OCP.STEPCAFControl import STEPCAFControl_Writer
    from OCP.TCollection import TCollection_ExtendedString
    from OCP.TDataStd import TDataStd_Name
    from OCP.TDocStd import TDocStd_Document
    from OCP.TopLoc import TopLoc_Location
    from OCP.XCAFDoc import XCAFDoc_ColorType, XCAFDoc_DocumentTool

    document = TDocStd_Document(TCollection_ExtendedString("x"))
    shapes = XCAFDoc_DocumentTool.ShapeTool_s(document.Main())
    colours = XCAFDoc_DocumentTool.ColorTool_s(document.Main())

    def named(label, name):
        TDataStd_Name.Set_s(label, TCollection_ExtendedString(name))
        return label

    def moved(x, y, z, turn=0.0):
        turned, shifted = gp_Trsf(), gp_Trsf()
        turned.SetRotation(gp_Ax1(gp_Pnt(0, 0, 0), gp_Dir(0, 0, 1)), turn)
        shifted.SetTranslation(gp_Vec(x, y, z))
        return TopLoc_Location(shifted.Multiplied(turned))

    bar = named(shapes.AddShape(BRepPrimAPI_MakeBox(200.0, 20.0, 10.0).Shape(), False), "bar")
    ball = named(shapes.AddShape(BRepPrimAPI_MakeSphere(15.0).Shape(), False), "ball")
    colours.SetColor(bar, Quantity_Color(0.2, 0.4, 0.8, Quantity_TypeOfColor.Quantity_TOC_sRGB),
                     XCAFDoc_ColorType.XCAFDoc_ColorSurf)  # fmt: skip
    arm, whole = named(shapes.NewShape(), "arm"), named(shapes.NewShape(), "whole")
    named(shapes.AddComponent(arm, bar, moved(0, 0, 0)), "bar")
    named(shapes.AddComponent(arm, ball, moved(200, 10, 5)), "ball")
    named(shapes.AddComponent(whole, bar, moved(0, 0, -10)), "base")
    named(shapes.AddComponent(whole, arm, moved(0, 0, 0, 0.5)), "left arm")
    if twice:
        named(shapes.AddComponent(whole, arm, moved(100, 0, 0, -0.3)), "right arm")
    shapes.UpdateAssemblies()
    writer = STEPCAFControl_Writer()
    writer.SetNameMode(True)
    writer.SetColorMode(True)
    writer.Transfer(document)
    writer.Write(str(path))
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("step") / "whole.step")


@quiet
def test_parts_are_bodies_and_equal_assemblies_one_class(file: Path) -> None:
    whole = load(file, density={"bar": 1000.0})
    assert type(whole.left_arm) is type(whole.right_arm)
    masses = {name: mass for name, mass, _ in whole.imported.masses}
    assert masses["left_arm.bar"] == pytest.approx(0.04, rel=1e-12)
    assert masses["right_arm.ball"] == pytest.approx(7850 * 4 / 3 * np.pi * 0.015**3, rel=1e-9)
    told = str(whole.imported)
    assert "no joints" in told
    assert "your density 1000" in told
    assert "steel" in told
    assert whole.base.shape[0].colour == "#3366cc"  # screens take it as it was chosen, not as the file stores it
    assert inspect(whole).degrees_of_freedom == 5 * 6
    here = evaluate(whole)
    c, s = np.cos(0.5), np.sin(0.5)
    ball = np.array([0.2 * c - 0.01 * s, 0.2 * s + 0.01 * c, 0.005])
    assert np.allclose(here.vector("left_arm.ball.position"), ball, atol=1e-12)


@quiet
def test_fixed_and_rigid(file: Path) -> None:
    whole = load(file, fixed="base", rigid=["left arm"])
    assert inspect(whole).degrees_of_freedom == 3 * 6
    with pytest.raises(FileError, match=r"no part 'bse'.*base"):
        load(file, fixed=["bse"])


@quiet
def test_the_python_to_write_joints_in_is_the_machine(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "machine.py"
    assert main(["import", str(file), "--out", str(out), "--set", "fixed=base"]) == 0
    source = out.read_text()
    assert "# STEP has no joints. Write them here" in source
    assert max(map(len, source.splitlines())) < 400
    again = executed(source, out).Whole()
    one, other = evaluate(load(file, fixed="base")), evaluate(again)
    assert one.names == other.names
    assert max(abs(one[channel] - other[channel]) for channel in one.names) < 1e-12
    joined = source.replace(
        "        # STEP", "        self.hinge = Weld(self.ground, self.left_arm.bar)\n        # STEP"
    )
    joined = joined.replace("import Gravity", "import Gravity, Weld")
    assert inspect(executed(joined, out).Whole()).degrees_of_freedom == inspect(again).degrees_of_freedom - 6
    assert again.left_arm.bar.shape[0].kind == "mesh"


def test_what_is_no_step_file_is_refused(tmp_path: Path, file: Path) -> None:
    cut = tmp_path / "cut.step"
    for content in (b"ISO-10303-21;\nrubbish", file.read_bytes()[:300]):
        cut.write_bytes(content)
        with pytest.raises(FileError, match=r"cut\.step"):
            load(cut)


@quiet
@pytest.mark.skipif(not MACHINES.is_dir(), reason="the machines are not beside this checkout")
def test_a_real_servo_has_the_density_of_its_file() -> None:
    servo = load(MACHINES / "cad" / "step" / "1143_micro_servo.step")
    assert "density of the file, 7850" in str(servo.imported)
    robot = load(MACHINES / "cad" / "step" / "nested_robot_own.step", density=1e9)
    masses = {name: mass for name, mass, _ in robot.imported.masses}
    assert masses["base"] == pytest.approx(1.6e6, rel=1e-12)
    assert masses["link2.tube"] == pytest.approx(np.pi * (20**2 - 15**2) * 300, rel=1e-12)
    assert masses["pin"] == pytest.approx(np.pi * 64 * 60, rel=1e-12)
