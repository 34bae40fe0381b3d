"""MJCF, through MuJoCo's own compiler (`kompono[mjcf]`): its defaults, includes and frames are resolved by the program
that defines them, and what it compiles is read.

Bodies without joints are parts of their parents; several joints of a body are one. Equalities are rigid: the softness
MuJoCo gives them is not taken, nor that of contact, which is taken when asked for. What has no counterpart here is
refused by its name, and `ignore=[name]` leaves it out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from kompono.errors import FileError
from kompono.files.assembly import Assembly, End, Instance, Joined, Part, Step
from kompono.files.mjcf_acting import actuators, loads, pushed
from kompono.files.mjcf_compiled import compiled
from kompono.files.mjcf_contact import touching
from kompono.files.mjcf_equal import equalities
from kompono.files.mjcf_looks import looks
from kompono.files.mjcf_names import WORLD, Compiled, armatures
from kompono.files.mjcf_starts import chosen_start, starts
from kompono.files.mjcf_strung import bounded, resisting, ropes
from kompono.files.place import Place
from kompono.files.xml import Node


def read_mjcf(
    root: Node, file: Path, *, start: str | None = None, ignore: Iterable[str] = (), contact: str = "none",
    folders: Iterable[Path] = (),
) -> Assembly:  # fmt: skip
    """The assembly of a `<mujoco>`; `start` names the keyframe to start from, `contact` says which is taken; `folders`
    may be included from.
    """
    spoken, notes = compiled(root, file, folders)
    model = Compiled(spoken, file.name, frozenset(ignore), notes)
    model.refuse_whole()
    named = starts(model)
    q = chosen_start(model, start)
    joints = list(_joints(model, q))
    parts: dict[str, Part | Assembly] = {}
    instances = []
    for body in range(1, model.m.nbody):
        name = model.body(body)
        parts[name] = _part(model, body)
        instances.append(Instance(name, name, *_floating(model, body, q)))
    for body, size in armatures(model):  # inertia in all directions alike: that of a ball at the origin of the body
        extra = f"{body}_armature"
        parts[extra] = Part(extra, size, inertia=size * np.eye(3), origin="armature")
        instances.append(Instance(extra, extra))
        joints.append(Joined(extra, End((body,)), End((extra,)), merges=True))
    parts[WORLD] = Part(WORLD, shapes=looks(model, 0))
    base = Joined(WORLD, End(()), End((WORLD,)), merges=True)
    gravity = tuple(model.m.opt.gravity.tolist()) if not model.disabled("GRAVITY") else (0.0, 0.0, 0.0)
    acting = tuple(loads(model)), tuple(actuators(model)), tuple(pushed(model))
    held = tuple(resisting(model)), tuple(ropes(model)), tuple(bounded(model))
    connections = (base, *joints, *equalities(model))
    meeting = touching(model, contact)
    model.count()
    return Assembly(
        root.get("model") or file.stem, parts, (Instance(WORLD, WORLD), *instances), connections, loads=acting[0],
        actuators=acting[1], pushes=acting[2], resisted=held[0], strung=held[1], bounded=held[2], touching=meeting,
        starts=named, gravity=gravity, notes=tuple(notes), file=file.name,
    )  # fmt: skip


def _part(model: Compiled, body: int) -> Part:
    m = model.m
    place = Place.of(m.body_ipos[body], m.body_iquat[body])
    inertia = place.rotation @ np.diag(m.body_inertia[body]) @ place.rotation.T
    return Part(
        model.body(body), float(m.body_mass[body]), place.position, (inertia + inertia.T) / 2, looks(model, body),
        where=f"{model.file}: body {model.body(body)}",
    )  # fmt: skip


def _floating(model: Compiled, body: int, q: np.ndarray) -> tuple[Place | None]:
    for joint in model.joints_of(body):
        if model.kind(joint) == "free":
            at = model.m.jnt_qposadr[joint]
            return (Place.of(q[at : at + 3], q[at + 3 : at + 7]),)
    return (None,)


def _joints(model: Compiled, q: np.ndarray) -> Iterable[Joined]:
    m = model.m
    for body in range(1, m.nbody):
        name, parent = model.body(body), int(m.body_parentid[body])
        above = End((model.body(parent) if parent else WORLD,))
        place = Place.of(m.body_pos[body], m.body_quat[body])
        kinds = [(joint, model.kind(joint)) for joint in model.joints_of(body)]
        if any(kind == "free" for _, kind in kinds):
            continue
        if not kinds:
            yield Joined(f"{name}_fixed", replace(above, place=place), End((name,)), merges=True)
            continue
        if len(kinds) > 1 and any(kind == "ball" for _, kind in kinds):
            raise FileError(f"body {name} has a ball joint among others, which is not read.", path=model.file)
        steps, before = [], place
        for joint, kind in kinds:
            anchor = Place(np.zeros(3) if kind == "slide" else m.jnt_pos[joint].copy())
            steps.append(_step(model, joint, kind, before @ anchor, q))
            before = anchor.inverse()
        yield Joined(steps[-1].name, above, End((name,), before.inverse()), tuple(steps), where=f"{model.file}: {name}")


def _step(model: Compiled, joint: int, kind: str, before: Place, q: np.ndarray) -> Step:
    m, name, at = model.m, model.joint(joint), model.m.jnt_qposadr[joint]
    if kind == "ball":
        most = float(m.jnt_range[joint].max()) if m.jnt_limited[joint] else math.pi
        start = tuple(q[at : at + 4].tolist())
        turned = start if start != (1.0, 0.0, 0.0, 0.0) else 0.0
        return Step("ball", name, before, limits=(None, most if most < math.pi else None), start=turned)
    zero = m.qpos0[at]
    limits: tuple[float | None, float | None] = (None, None)
    if m.jnt_limited[joint]:
        limits = float(m.jnt_range[joint, 0] - zero), float(m.jnt_range[joint, 1] - zero)
    return Step(kind, name, before, tuple(m.jnt_axis[joint].tolist()), limits, float(q[at] - zero))
