"""The rough problems in MuJoCo: soft contacts and friction loss of joints. Forces that change come from Python.

Once with its default settings, once as hard as 1 ms allows: elliptic cones, impratio 100, time constants of 2 ms.
"""

from __future__ import annotations

from time import process_time

import mujoco
import numpy as np
from rough import FORCE, FREQUENCY, FRICTION, MASS, RESTITUTION, SIZE, SLOPE, SPAN, STIFFNESS, G, Slope

NAME = "MuJoCo"
Setting = tuple[float, str]
HARD = 'solreffriction="0.002 1" solimpfriction="0.9999 0.9999 0.001 0.5 2"'


def version() -> str:
    """That which runs."""
    return mujoco.__version__


def settings() -> dict[str, Setting]:
    """Names and settings of what is run."""
    return {
        "2 ms, default": (2e-3, ""),
        "1 ms, hard": (1e-3, 'cone="elliptic" impratio="100"'),
    }


def _model(setting: Setting, gravity: tuple[float, float, float], inside: str) -> tuple[mujoco.MjModel, mujoco.MjData]:
    step, option = setting
    down = " ".join(str(part) for part in gravity)
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{step}" gravity="{down}" {option}/><worldbody>{inside}</worldbody></mujoco>'
    )
    return model, mujoco.MjData(model)


def _hard(setting: Setting) -> str:
    return HARD if setting[1] else ""


def _down() -> tuple[float, float, float]:
    return G * np.sin(SLOPE), 0.0, -G * np.cos(SLOPE)


def brick(setting: Setting, run: Slope) -> tuple[float, float]:
    """How far a box slides [m], seconds per second."""
    half, rough = " ".join(str(edge / 2) for edge in SIZE), f'friction="{run.mu} 0.005 0.0001"'
    model, data = _model(
        setting, _down(),
        f'<geom type="plane" size="50 50 1" {rough}/><body pos="0 0 {SIZE[2] / 2}"><freejoint/>'
        f'<geom type="box" size="{half}" mass="{MASS}" {rough}/></body>',
    )  # fmt: skip
    data.qvel[0] = run.speed
    seconds = _stepped(model, data, run.until)
    return float(data.qpos[0]), seconds


def slider(setting: Setting, run: Slope) -> tuple[float, float]:
    """How far a mass slides [m], seconds per second."""
    loss = run.mu * MASS * G * np.cos(SLOPE)
    model, data = _model(
        setting, _down(),
        f'<body><joint type="slide" axis="1 0 0" frictionloss="{loss}" {_hard(setting)}/>'
        f'<geom type="sphere" size="0.1" mass="{MASS}" contype="0" conaffinity="0"/></body>',
    )  # fmt: skip
    data.qvel[0] = run.speed
    seconds = _stepped(model, data, run.until)
    return float(data.qpos[0]), seconds


def _stepped(model: mujoco.MjModel, data: mujoco.MjData, until: float) -> float:
    begun = process_time()
    mujoco.mj_step(model, data, nstep=round(until / model.opt.timestep))
    return (process_time() - begun) / until


def oscillator(setting: Setting) -> tuple[np.ndarray, np.ndarray, float]:
    """Times, positions, seconds per second."""
    model, data = _model(
        setting, (0, 0, 0),
        f'<body><joint type="slide" axis="1 0 0" stiffness="{STIFFNESS}" frictionloss="{FRICTION}" {_hard(setting)}/>'
        '<geom type="sphere" size="0.1" mass="1" contype="0" conaffinity="0"/></body>',
    )  # fmt: skip
    found, begun = [(0.0, 0.0)], process_time()
    for _ in range(round(SPAN / setting[0])):
        data.qfrc_applied[0] = FORCE * np.cos(FREQUENCY * data.time)
        mujoco.mj_step(model, data)
        found.append((data.time, data.qpos[0]))
    seconds = (process_time() - begun) / SPAN
    return *np.array(found).T, seconds


def ball(setting: Setting) -> tuple[np.ndarray, float]:
    """Heights [m] at all steps of 3 s, seconds per second: a spring of 1e5 N/m with the damping that gives e."""
    share = -np.log(RESTITUTION) / np.hypot(np.pi, np.log(RESTITUTION))
    soft = f'solref="-1e5 {-2 * share * np.sqrt(1e5):.9g}" solimp="0.9999 0.9999 0.001 0.5 2"'
    model, data = _model(
        setting, (0, 0, -G),
        f'<geom type="plane" size="5 5 1" {soft}/><body pos="0 0 1.1"><freejoint/>'
        f'<geom type="sphere" size="0.1" mass="1" {soft}/></body>',
    )  # fmt: skip
    found, begun = [], process_time()
    for _ in range(round(3.0 / setting[0])):
        mujoco.mj_step(model, data)
        found.append(data.qpos[2] - 0.1)
    return np.array(found), (process_time() - begun) / 3.0
