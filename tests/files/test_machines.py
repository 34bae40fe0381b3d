"""Every file of the real machines beside this checkout loads and runs, or is refused for what is wrong with it. What
takes long runs with KOMPONO_LAWS.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest
from files.robots import MACHINES

from kompono import KomponoError, load, simulate

MESH = "the mass of right_silicone_pad is that of the mesh silicone_pad, which is not there"
KNOWN: dict[str, int | str] = {  # freedoms, or why it is refused
    "cad/freecad/AssemblyExample.FCStd": 4,
    "cad/icub_wrist/mk2/SPHERICAL_WRIST_V1.xml": 3,
    "cad/icub_wrist/mk2_1/IC_021_G_207_MECH.xml": 3,
    "cad/step/1143_micro_servo.step": 12,
    "cad/step/324_nema17_stepper.step": 12,
    "cad/step/nested_robot_own.step": 48,
    "closed_loop/5bar_linkage/robot.urdf": 3,
    "closed_loop/5bar_linkage_iso3d/robot.urdf": 2,
    "closed_loop/5bar_linkage_iso6d/robot.urdf": 2,
    "closed_loop/cassie_like/robot.urdf": 7,
    "closed_loop/robot_delta/robot.urdf": 5,
    "closed_loop/wl16_like/robot.urdf": 12,  # drawn half a turn off, in all five loops
    "mjcf/agility_cassie/cassie.nomesh.xml": 22,
    "mjcf/agility_cassie/cassie.xml": 22,
    "mjcf/iit_softfoot/softfoot.nomesh.xml": 37,
    "mjcf/iit_softfoot/softfoot.xml": 37,
    "mjcf/robotiq_2f85/2f85.nomesh.xml": 3,
    "mjcf/robotiq_2f85/2f85.xml": MESH,
    "mjcf/universal_robots_ur5e/ur5e.nomesh.xml": 6,
    "mjcf/universal_robots_ur5e/ur5e.xml": 6,
    "urdf/double_pendulum_description/double_pendulum.urdf": 2,
    "urdf/panda_description/panda.urdf": 8,
    "urdf/romeo_description/romeo_small.urdf": "break the triangle inequality",
    "urdf/talos_data/talos_reduced.urdf": 32,
    "urdf/ur_description/ur5_robot.urdf": 6,
}
PARTS = {"mk2", "mk2_1"}  # folders of bare parts, each of which is a body that falls
QUICK = ("servo", "5bar_linkage_iso3d", "2f85.xml", "pendulum", "romeo")
STEPS = {"closed_loop/5bar_linkage/robot.urdf": 1e-4}  # it has links of 654 t and of 1e-9 kg


ALL = [file for file in sorted(MACHINES.rglob("*")) if file.suffix in (".xml", ".urdf", ".FCStd", ".step")]


def _files() -> list[Path]:
    return ALL if "KOMPONO_LAWS" in os.environ else [file for file in ALL if any(word in str(file) for word in QUICK)]


@pytest.mark.skipif(not MACHINES.is_dir(), reason="the machines are not beside this checkout")
@pytest.mark.parametrize("file", _files(), ids=lambda file: str(file.relative_to(MACHINES)))
def test_it_runs_or_is_refused(file: Path) -> None:
    if file.suffix in (".FCStd", ".step"):
        pytest.importorskip("OCP")
    name = str(file.relative_to(MACHINES))
    bare = file.suffix == ".step" and file.parent.name in PARTS
    expected = 6 if bare else KNOWN[name]
    loops = {"loops": "robot.yaml"} if (file.parent / "robot.yaml").is_file() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(expected, str):
            with pytest.raises(KomponoError, match=expected):
                simulate(load(file, **loops), until=1e-3)
            return
        result = simulate(load(file, **loops), until=0.002, step=STEPS.get(name, 2e-4))
    assert result.status.ok, result.status.message
    assert result.statistics["degrees_of_freedom"] == expected


@pytest.mark.skipif(not MACHINES.is_dir(), reason="the machines are not beside this checkout")
def test_all_of_them_are_known() -> None:
    there = {str(file.relative_to(MACHINES)) for file in ALL}
    assert {name for name in there if Path(name).parent.name not in PARTS or name.endswith(".xml")} == set(KNOWN)
