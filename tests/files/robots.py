"""Small robots as text, and random ones, for tests of readers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

MACHINES = Path(__file__).parents[2].parent / "shared" / "machines"  # real files, where they lie beside the checkout

REST = 'ixy="0" ixz="0" iyz="0"'
ARM = f"""<?xml version="1.0"?>
<robot name="small arm">
  <material name="blue"><color rgba="0 0 1 0.5"/></material>
  <link name="base"><inertial><mass value="4"/><inertia ixx="1" iyy="1" izz="1" {REST}/></inertial></link>
  <link name="upper">
    <inertial><origin xyz="0 0 0.2" rpy="0.3 0 0"/><mass value="1.5"/>
      <inertia ixx="0.02" iyy="0.03" izz="0.012" ixy="0.001" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0 0 0.2"/><geometry><cylinder length="0.4" radius="0.03"/></geometry>
      <material name="blue"/></visual>
    <visual><geometry><mesh filename="package://nowhere/upper.stl"/></geometry></visual>
    <collision><geometry><box size="1 1 1"/></geometry></collision>
  </link>
  <link name="plate"/>
  <link name="weight"><inertial><mass value="0.5"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001" {REST}/></inertial></link>
  <link name="cross"/>
  <link name="fore"><inertial><origin xyz="0.1 0 0"/><mass value="0.8"/>
    <inertia ixx="0.001" iyy="0.004" izz="0.004" {REST}/></inertial></link>
  <link name="tool0"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.1" rpy="0 0.2 0"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="10" velocity="1"/><dynamics damping="0.3"/></joint>
  <joint name="glue" type="fixed"><parent link="upper"/><child link="plate"/>
    <origin xyz="0 0.1 0.4" rpy="0 0 1"/></joint>
  <joint name="screws" type="fixed"><parent link="plate"/><child link="weight"/><origin xyz="0.05 0 0"/></joint>
  <joint name="yaw" type="continuous"><parent link="plate"/><child link="cross"/><origin xyz="0 0 0.05"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="reach" type="prismatic"><parent link="cross"/><child link="fore"/><origin xyz="0 0 0.02" rpy="0 0.4 0"/>
    <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/><dynamics damping="2"/></joint>
  <joint name="flange" type="fixed"><parent link="fore"/><child link="tool0"/><origin xyz="0.2 0 0"/></joint>
</robot>
"""


def random_urdf(seed: int, links: int = 6) -> str:
    """A random tree of links with possible inertias."""
    rng = np.random.default_rng(seed)

    def three(scale: float = 0.3) -> str:
        return " ".join(repr(x) for x in rng.uniform(-scale, scale, 3).tolist())

    text = ['<robot name="random"><link name="l0"/>']
    for k in range(1, links + 1):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        second = turn @ np.diag(rng.uniform(0.01, 0.05, 3)) @ turn.T
        inertia = np.trace(second) * np.eye(3) - second
        xx, yy, zz, xy, xz, yz = (inertia[i] for i in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        kind = rng.choice(["revolute", "continuous", "prismatic", "fixed"], p=[0.4, 0.1, 0.3, 0.2])
        axis = rng.normal(size=3)
        axis = " ".join(repr(x) for x in (axis / np.linalg.norm(axis)).tolist())
        text.append(
            f'<link name="l{k}"><inertial><origin xyz="{three()}" rpy="{three(3)}"/>'
            f'<mass value="{rng.uniform(0.5, 2)}"/>'
            f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="{xy}" ixz="{xz}" iyz="{yz}"/></inertial></link>'
            f'<joint name="j{k}" type="{kind}"><parent link="l{rng.integers(0, k)}"/><child link="l{k}"/>'
            f'<origin xyz="{three()}" rpy="{three(3)}"/><axis xyz="{axis}"/>'
            '<limit lower="-9" upper="9" effort="1" velocity="1"/></joint>'
        )
    return "".join([*text, "</robot>"])


FOUR_BAR = f"""<robot name="four bar">
  <link name="base"/>
  <link name="crank"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.001" iyy="0.004" izz="0.004" {REST}/></inertial></link>
  <link name="rocker"><inertial><origin xyz="0.15 0 0"/><mass value="1"/>
    <inertia ixx="0.001" iyy="0.008" izz="0.008" {REST}/></inertial></link>
  <link name="coupler"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
    <inertia ixx="0.001" iyy="0.02" izz="0.02" {REST}/></inertial></link>
  <link name="end"/> <link name="tip"/>
  <joint name="drive" type="continuous"><parent link="base"/><child link="crank"/><origin rpy="0 -1.2 0"/>
    <axis xyz="0 1 0"/></joint>
  <joint name="swing" type="continuous"><parent link="base"/><child link="rocker"/>
    <origin xyz="0.5 0 0" rpy="0 -1.5 0"/><axis xyz="0 1 0"/></joint>
  <joint name="knee" type="continuous"><parent link="crank"/><child link="coupler"/><origin xyz="0.2 0 0" rpy="0 1 0"/>
    <axis xyz="0 1 0"/></joint>
  <joint name="hold" type="fixed"><parent link="coupler"/><child link="end"/><origin xyz="0.4 0 0"/></joint>
  <joint name="hold2" type="fixed"><parent link="rocker"/><child link="tip"/><origin xyz="0.3 0 0"/></joint>
</robot>
"""
