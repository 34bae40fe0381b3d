"""What acts in an MJCF model: springs, damping, friction, armature, fixed tendons, actuators, gravity compensation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kompono.files.assembly import Actuated, End, Loaded, Pushed
from kompono.files.mjcf_equal import reference, terms_of
from kompono.files.mjcf_names import Compiled, armatures, finite
from kompono.files.mjcf_strung import wraps

ACTED = {  # what actuators act on that is not read
    "joint": "a joint of several coordinates",
    "tendon": "a tendon that wraps around something",
    "site": "a site, seen from another one",
}
LAGS = ("none", "integrator", "filter", "filterexact")  # kinds of dynamics that are read


def loads(model: Compiled) -> Iterable[Loaded]:
    """What acts on single coordinates."""
    m = model.m
    for joint in range(m.njnt):
        kind, name, dofs = model.kind(joint), model.joint(joint), model.dofs(joint)
        stiffness, damping = float(m.jnt_stiffness[joint]), float(m.dof_damping[dofs[0]])
        friction, armature = float(m.dof_frictionloss[dofs[0]]), float(m.dof_armature[dofs[0]])
        if kind in ("free", "ball"):
            several = {"stiffness": stiffness, "friction": friction} | (
                {} if kind == "free" else {"armature": armature}
            )
            for what, value in several.items():
                if value:
                    model.refuse(name, f"{what} of a {kind} joint")
            if kind == "ball" and damping:
                yield Loaded(name, damping=damping)
            continue
        at = m.jnt_qposadr[joint]
        rest = float(m.qpos_spring[at] - m.qpos0[at]) if stiffness else 0.0
        if stiffness or damping or friction or armature:
            yield Loaded(name, stiffness, damping, rest, friction, armature)


def actuators(model: Compiled) -> Iterable[Actuated]:
    """Actuators of joints, tendons and sites, and fixed tendons that are springs."""
    for index in range(model.m.nu):
        found = _actuator(model, index)
        if found is not None:
            yield found
    yield from _tendons(model)


def _actuator(model: Compiled, index: int) -> Actuated | None:
    m = model.m
    name = model.name("ACTUATOR", index, "actuator")
    if name in model.ignore:
        model.note("ignored", name, "as asked")
        return None
    terms, along = _driven(model, index), _pushing(model, index)
    gain, bias = m.actuator_gainprm[index], m.actuator_biasprm[index, :3]
    if terms is None and along is None:
        kind = model.word("mjtTrn", m.actuator_trntype[index])
        return model.refuse(name, f"an actuator of {ACTED.get(kind, f'a {kind}')}")
    strung = is_strung(model, index)
    dynamics = model.word("mjtDyn", m.actuator_dyntype[index])
    if dynamics not in LAGS:
        return model.refuse(name, f"an actuator with dynamics of the kind {dynamics}")
    lag = {"none": None, "integrator": 0.0}.get(dynamics, float(m.actuator_dynprm[index, 0]))
    held = finite(m.actuator_actrange[index]) if lag is not None and m.actuator_actlimited[index] else None
    kinds = model.word("mjtGain", m.actuator_gaintype[index]), model.word("mjtBias", m.actuator_biastype[index])
    fixed = kinds[0] == "fixed" or (kinds[0] == "affine" and not gain[1:3].any())
    if not fixed or kinds[1] not in ("none", "affine"):
        return model.refuse(name, f"an actuator of gain {kinds[0]} and bias {kinds[1]}")
    if np.any(np.asarray(getattr(m, "actuator_delay", np.zeros((m.nu, 1)))[index]) > 0):
        return model.refuse(name, "an actuator with delay")
    b = bias.tolist() if kinds[1] == "affine" else [0.0, 0.0, 0.0]
    if along is not None and any(b[1:]):
        return model.refuse(name, "an actuator of a site that depends on its motion")
    if terms is not None and not strung:
        b[0] += b[1] * reference(model, terms)
    limits = finite(m.actuator_ctrlrange[index]) if m.actuator_ctrllimited[index] else None
    force = finite(m.actuator_forcerange[index]) if m.actuator_forcelimited[index] else None
    lasting: dict[str, Any] = {"lag": max(lag, 1e-10) if lag else lag, "level_limits": held}
    if along is not None:
        rest: dict[str, Any] = {"frame": along[0], "load": along[1]}
    else:
        force, rest = _limited_below(model, index, terms or (), force), {"strung": strung}
    return Actuated(name, terms or (), float(gain[0]), (b[0], b[1], b[2]), limits, force, where=f"{model.file}: {name}",
                    **lasting, **rest)  # fmt: skip


def is_strung(model: Compiled, index: int) -> bool:
    """Whether an actuator acts on a tendon through sites."""
    m = model.m
    tendon = model.word("mjtTrn", m.actuator_trntype[index]) == "tendon"
    return tendon and terms_of(model, int(m.actuator_trnid[index, 0])) is None


def _pushing(model: Compiled, index: int) -> tuple[End, tuple[float, ...]] | None:
    """The site an actuator pushes, and along what (6) in its axes."""
    m = model.m
    site, seen_from = (int(k) for k in m.actuator_trnid[index])
    if model.word("mjtTrn", m.actuator_trntype[index]) != "site" or seen_from >= 0:
        return None
    return model.site(site), tuple(m.actuator_gear[index].tolist())


def _driven(model: Compiled, index: int) -> tuple[tuple[str, float], ...] | None:
    """(joint, factor) an actuator acts on, or (tendon, factor) of one through sites; None if it is of another kind."""
    m = model.m
    kind = model.word("mjtTrn", m.actuator_trntype[index])
    target, gear = int(m.actuator_trnid[index, 0]), float(m.actuator_gear[index, 0])
    if kind in ("joint", "jointinparent") and model.kind(target) in ("turn", "slide"):
        return ((model.joint(target), gear),)
    if kind == "tendon":
        terms = terms_of(model, target)
        if terms is None:
            return None if wraps(model, target) else ((model.name("TENDON", target, "tendon"), gear),)
        return tuple((joint, gear * factor) for joint, factor in terms)
    return None


def _limited_below(model: Compiled, index: int, terms: Any, force: tuple[float, float] | None) -> Any:
    """Limits of the force, with those of the tendon or joint for all its actuators together."""
    m = model.m
    if model.word("mjtTrn", m.actuator_trntype[index]) != "tendon":
        return _joint_limited(model, terms, force)
    tendon = int(m.actuator_trnid[index, 0])
    if not m.tendon_actfrclimited[tendon]:
        return force
    same = (m.actuator_trntype == m.actuator_trntype[index]) & (m.actuator_trnid[:, 0] == tendon)
    if np.count_nonzero(same) != 1:
        name = model.name("TENDON", tendon, "tendon")
        model.note("ignored", name, "limits of the force of several actuators together")
        return force
    return _narrower(force, m.tendon_actfrcrange[tendon], 1.0)  # of the force itself, before the gear


def _joint_limited(model: Compiled, terms: Any, force: tuple[float, float] | None) -> Any:
    """Limits of the force, with those the joint has for all its actuators together."""
    m = model.m
    if len(terms) != 1:
        return force
    joint = next(j for j in range(m.njnt) if model.joint(j) == terms[0][0])
    if not m.jnt_actfrclimited[joint]:
        return force
    ids = m.actuator_trnid[:, 0][m.actuator_trntype == model.constant("mjtTrn", "mjTRN_JOINT")]
    if np.count_nonzero(ids == joint) != 1 or not terms[0][1]:
        model.note("ignored", terms[0][0], "limits of the force of several actuators together")
        return force
    if m.jnt_actgravcomp[joint]:
        model.note("assumed", terms[0][0], "what carries the weight does not count towards the limits of its force")
    return _narrower(force, m.jnt_actfrcrange[joint], terms[0][1])


def _narrower(force: tuple[float, float] | None, below: Any, gear: float) -> tuple[float, float]:
    own = sorted(float(x) / gear for x in below)
    low, high = force or (-np.inf, np.inf)
    return max(low, own[0]), min(high, own[1])


def _tendons(model: Compiled) -> Iterable[Actuated]:
    """Springs and dampers of fixed tendons, as actuators without control; what tendons cannot do here is told."""
    m = model.m
    for tendon in range(m.ntendon):
        name, terms = model.name("TENDON", tendon, "tendon"), terms_of(model, tendon)
        stiffness, damping = float(m.tendon_stiffness[tendon]), float(m.tendon_damping[tendon])
        for what, value in (("friction", m.tendon_frictionloss[tendon]), ("armature", m.tendon_armature[tendon])):
            if value:
                model.refuse(name, f"{what} of a tendon")
        if terms is None or (not stiffness and not damping):
            continue
        low, high = finite(m.tendon_lengthspring[tendon])
        if stiffness and low != high:
            model.refuse(name, "a tendon with a slack spring")
            continue
        offset = stiffness * (low - reference(model, terms))
        yield Actuated(name, terms, 0.0, (offset, -stiffness, -damping), controlled=False)


def pushed(model: Compiled) -> Iterable[Pushed]:
    """What carries the weight of bodies, wholly or in part; the inertia of free joints has none."""
    m = model.m
    for body in np.flatnonzero(m.body_gravcomp):
        mass, name = float(m.body_gravcomp[body] * m.body_mass[body]), model.body(int(body))
        yield Pushed(f"{name}_gravcomp", (name,), m.body_ipos[body].copy(), mass)
    for body, mass in armatures(model):
        yield Pushed(f"{body}_armature_gravcomp", (body,), np.zeros(3), mass)
