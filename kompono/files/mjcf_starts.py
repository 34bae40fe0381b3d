"""Keyframes as named starts, and which of them a machine starts from."""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono.errors import FileError, suggest
from kompono.files.mjcf_names import Compiled
from kompono.files.place import Place
from kompono.files.starts import CONTROL, LEVEL, RATE


def starts(model: Compiled) -> dict[str, dict[str, Any]]:
    """Values of joints, bodies and controls by name, for each keyframe."""
    m = model.m
    return {model.name("KEY", key, "key"): _values(model, key) for key in range(m.nkey)}


def _values(model: Compiled, key: int) -> dict[str, Any]:
    m, found = model.m, {}
    q, v = m.key_qpos[key], m.key_qvel[key]
    for joint in range(m.njnt):
        name, kind, at, dof = model.joint(joint), model.kind(joint), m.jnt_qposadr[joint], m.jnt_dofadr[joint]
        if kind == "free":
            place = Place.of(q[at : at + 3], q[at + 3 : at + 7])
            turning = place.rotation @ v[dof + 3 : dof + 6]
            found[model.body(int(m.jnt_bodyid[joint]))] = place, np.array([v[dof : dof + 3], turning])
        elif kind == "ball":
            found[name], found[name + RATE] = q[at : at + 4].tolist(), v[dof : dof + 3].tolist()
        else:
            found[name], found[name + RATE] = float(q[at] - m.qpos0[at]), float(v[dof])
    for index in range(m.nu):
        name, state = model.name("ACTUATOR", index, "actuator"), int(m.actuator_actadr[index])
        found[name + CONTROL] = float(m.key_ctrl[key, index])
        if state >= 0:
            found[name + LEVEL] = float(m.key_act[key, state])
    return found


def chosen_start(model: Compiled, start: str | None) -> np.ndarray:
    """Coordinates as MuJoCo counts them: of the keyframe that is asked for, else those of the file, or of its first
    keyframe where these break limits or equalities.
    """
    m = model.m
    names = [model.name("KEY", key, "key") for key in range(m.nkey)]
    if start is not None:
        if start not in names:
            raise FileError(f"there is no keyframe {start!r}.", path=model.file, fix=suggest(start, names))
        return m.key_qpos[names.index(start)].copy()
    if names and not _fits(model, m.qpos0):
        model.note("assumed", "start", f"the keyframe {names[0]}: the position of the file breaks limits or equalities")
        return m.key_qpos[0].copy()
    return m.qpos0.copy()


def _fits(model: Compiled, q: np.ndarray) -> bool:
    """Whether a position keeps limits and equalities."""
    m = model.m
    data = model.mujoco.MjData(m)
    data.qpos[:] = q
    model.mujoco.mj_forward(m, data)
    for joint in np.flatnonzero(m.jnt_limited):
        if model.kind(int(joint)) in ("turn", "slide"):
            low, high = m.jnt_range[joint]
            if not low <= q[m.jnt_qposadr[joint]] <= high:
                return False
    held = np.flatnonzero(m.tendon_limited)
    length, (low, high) = data.ten_length[held], m.tendon_range[held].T
    if not np.all((low <= length) & (length <= high)):
        return False
    equal = data.efc_type[: data.nefc] == model.constant("mjtConstraint", "mjCNSTR_EQUALITY")
    return not equal.any() or float(np.abs(data.efc_pos[: data.nefc][equal]).max()) < 1e-6
