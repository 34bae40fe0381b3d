"""MJCF beside joints: tendons through sites, limits of tendons, the medium, actuators of sites, free joints.

Accelerations against MuJoCo's own mass matrix, bias and passive forces.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files.test_mjcf import apart

from kompono import FileError, load, simulate
from kompono.files.write import as_python

mujoco = pytest.importorskip("mujoco")
Write = Callable[..., Path]

CRAFT = """<mujoco model="craft">
  <compiler angle="radian"/>
  <option density="900" viscosity="0.3" wind="0.4 -0.2 0.1" gravity="0 1 -9"/>
  <worldbody>
    <site name="post" pos="0.5 0 2"/>
    <body name="goal" mocap="true" pos="0 0 3"><geom size="0.1" contype="0" conaffinity="0"/></body>
    <body name="hull" pos="0 0 1" gravcomp="0.3">
      <joint name="float" type="free" damping="0.7" armature="0.4"/>
      <geom type="box" size="0.1 0.2 0.05" mass="3" pos="0.03 0.01 0"/>
      <geom type="sphere" size="0.04" mass="0.5" pos="0.1 -0.1 0.05"/>
      <site name="jet" pos="0.1 0.05 0" quat="0.8 0.1 0.5 0.2"/><site name="eye" pos="0.05 0 0.05"/>
      <site name="lug" pos="-0.1 0.1 0"/>
      <body name="arm" pos="0.1 0 0"><joint name="hip" axis="0 1 0" pos="0.01 0.02 0.03" ref="0.2"/>
        <geom type="capsule" fromto="0 0 0 0 0.02 -0.4" size="0.04" mass="1.5"/><site name="tip" pos="0 0 -0.35"/>
        <body name="fore" pos="0 0 -0.4"><joint name="knee" axis="1 1 0" ref="-0.3"/>
          <geom type="cylinder" size="0.03 0.2" pos="0.02 0 -0.2" mass="1"/><site name="end" pos="0 0.05 -0.3"/></body>
      </body>
    </body>
  </worldbody>
  <tendon>
    <spatial name="long rope" stiffness="40" damping="3" springlength="0.2 0.5">
      <site site="post"/><site site="eye"/><site site="lug"/><site site="tip"/>
      <pulley divisor="2"/><site site="tip"/><site site="end"/><site site="post"/></spatial>
    <spatial name="cord" range="0 1.9" limited="true" actuatorfrclimited="true" actuatorfrcrange="-5 5">
      <site site="post"/><site site="end"/></spatial>
    <spatial name="idle"><site site="post"/><site site="lug"/></spatial>
    <fixed name="belt" range="-0.5 0.45" limited="true"><joint joint="hip" coef="0.5"/><joint joint="knee" coef="-1"/>
    </fixed>
  </tendon>
  <actuator>
    <general name="thrust" site="jet" gear="1 0.5 2 0.1 0 0.3" gainprm="4" ctrlrange="0 3" ctrllimited="true"/>
    <position name="reel" tendon="long rope" gear="-1.5" kp="20" kv="1"/>
    <motor name="hoist" tendon="cord" gear="-2"/>
  </actuator>
</mujoco>
"""


@pytest.mark.parametrize("push", [1.0, 9.0])
def test_a_craft_moves_as_in_mujoco(written: Write, push: float) -> None:
    error, machine = apart(
        written(CRAFT, "craft.xml"), seed=1, controls={"thrust": push, "reel": -0.3, "hoist": push / 2}
    )
    assert error < 1e-12
    assert {"long_rope", "cord", "thrust_drive", "hull_drag", "float_damping"} <= set(machine.recipe.members)
    assert "idle" not in machine.recipe.members
    told = {(line.fate, line.name) for line in machine.imported.lines}
    assert {("assumed", "goal"), ("merged", "hull_armature")} <= told


def test_the_python_of_a_craft_is_the_craft(written: Write, tmp_path: Path) -> None:
    craft = load(written(CRAFT, "craft.xml"))
    out = tmp_path / "written.py"
    out.write_text(as_python(craft), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("written", out)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    given: dict[str, Any] = {"until": 0.02, "step": 1e-3, "inputs": {"ctrl.thrust": 1.0, "ctrl.reel": 0.1}}
    one, other = (simulate(each, **given) for each in (craft, module.Craft()))
    assert np.array_equal(one["fore.position.x"], other["fore.position.x"])


def test_limits_of_tendons_hold(written: Write) -> None:
    craft = load(written(CRAFT, "craft.xml"), gravity=(0, 0, -9))
    inputs = {"ctrl.thrust": 0.0, "ctrl.reel": 0.0, "ctrl.hoist": 0.0}
    result = simulate(craft, until=0.4, step=1e-3, inputs=inputs, initial={"hull.velocity.z": -9.0})
    assert result.status.ok
    for gap in ("cord_limits.longest", "belt_limits.upper"):
        assert -1e-10 < result[f"{gap}.gap"].min() < 1e-6  # it is reached, and held
    free = load(written(CRAFT, "craft.xml"), ignore=["belt", "cord"])
    assert not {"belt_limits", "cord_limits", "cord", "hoist_drive"} & set(free.recipe.members)
    assert "SumStops" not in as_python(load(written(CRAFT, "craft.xml"), limits=False))


def test_without_gravity_no_weight_is_carried(written: Write) -> None:
    craft = load(written(CRAFT, "craft.xml"), gravity=False)
    assert "AppliedLoad" not in as_python(craft)
    assert {"hull_gravcomp", "hull_armature_gravcomp"} <= {line.name for line in craft.imported.of("ignored")}


def test_what_winds_around_something_is_refused(written: Write) -> None:
    wound = CRAFT.replace('<site site="eye"/>', '<geom geom="drum"/><site site="eye"/>')
    wound = wound.replace("<worldbody>", '<worldbody><geom name="drum" type="sphere" size="0.05" pos="0.2 0 1.5"/>', 1)
    file = written(wound, "craft.xml")
    with pytest.raises(FileError, match="reel: an actuator of a tendon that wraps around something"):
        load(file)
    with pytest.raises(FileError, match="long rope: a tendon that wraps around something"):
        load(file, ignore=["reel"])
    assert load(file, ignore=["reel", "long rope"])
