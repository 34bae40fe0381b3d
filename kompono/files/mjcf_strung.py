"""Tendons of an MJCF model that run through sites, limits of tendons, and the medium bodies move in.

A tendon through sites is a rope; one that wraps around a cylinder or sphere is refused, unless it does nothing. The
medium acts on each body as on a box of its mass and inertia, as MuJoCo has it where no geom says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kompono.files.assembly import Bounded, End, Resisted, Strung
from kompono.files.mjcf_equal import reference, terms_of
from kompono.files.mjcf_names import Compiled, finite, wrapped
from kompono.files.place import Place


def wraps(model: Compiled, tendon: int) -> bool:
    """Whether a tendon winds around something."""
    return any(model.word("mjtWrap", model.m.wrap_type[k]) in ("sphere", "cylinder") for k in wrapped(model, tendon))


def ropes(model: Compiled) -> Iterable[Strung]:
    """Tendons through sites that do something."""
    m = model.m
    for tendon in range(m.ntendon):
        if terms_of(model, tendon) is not None:
            continue
        name = model.name("TENDON", tendon, "tendon")
        stiffness, damping = float(m.tendon_stiffness[tendon]), float(m.tendon_damping[tendon])
        limits = finite(m.tendon_range[tendon]) if m.tendon_limited[tendon] else None
        driven = any(
            model.word("mjtTrn", m.actuator_trntype[k]) == "tendon" and m.actuator_trnid[k, 0] == tendon
            for k in range(m.nu)
        )
        if wraps(model, tendon):
            if stiffness or damping:
                model.refuse(name, "a tendon that wraps around something")
            elif limits:
                model.note("ignored", name, "limits of the length of a tendon that wraps around something")
            continue
        if stiffness or damping or limits or driven:
            points, factors = _run(model, tendon)
            rest = finite(m.tendon_lengthspring[tendon])
            where = f"{model.file}: {name}"
            yield Strung(name, points, factors, stiffness, damping, rest, limits, where)


def _run(model: Compiled, tendon: int) -> tuple[tuple[End, ...], tuple[float, ...]]:
    """The points of a tendon and the factors of its spans; behind a pulley another part begins, with a factor less."""
    points: list[End] = []
    factors: list[float] = []
    divisor, begins = 1.0, True
    for entry in wrapped(model, tendon):
        if model.word("mjtWrap", model.m.wrap_type[entry]) == "pulley":
            divisor, begins = float(model.m.wrap_prm[entry]), True
            continue
        if points:
            factors.append(0.0 if begins else 1.0 / divisor)
        points.append(model.site(int(model.m.wrap_objid[entry])))
        begins = False
    return tuple(points), tuple(factors)


def bounded(model: Compiled) -> Iterable[Bounded]:
    """Limits of fixed tendons, for coordinates that are zero where the file has them."""
    m = model.m
    for tendon in np.flatnonzero(m.tendon_limited):
        terms = terms_of(model, int(tendon))
        if terms is not None:
            name, shift = model.name("TENDON", int(tendon), "tendon"), reference(model, terms)
            low, high = finite(m.tendon_range[tendon])
            yield Bounded(name, terms, (low - shift, high - shift), f"{model.file}: {name}")


def resisting(model: Compiled) -> Iterable[Resisted]:
    """The medium, and damping of free joints."""
    m = model.m
    for joint in range(m.njnt):
        damping = float(m.dof_damping[m.jnt_dofadr[joint]])
        if model.kind(joint) == "free" and damping:
            three = (damping, damping, damping)
            frame = End((model.body(int(m.jnt_bodyid[joint])),))
            yield Resisted(f"{model.joint(joint)}_damping", frame, linear=three, angular=three)
    if not (m.opt.density or m.opt.viscosity) or model.left_out("fluid", "drag of the medium"):
        return
    if np.any(m.geom_fluid[:, 0] > 0):
        model.refuse("fluid", "drag of the medium on ellipsoids (fluidshape)")
        return
    for body in range(1, m.nbody):
        if m.body_weldid[body] and m.body_mass[body] > 0:
            yield _boxed(model, body)


def _boxed(model: Compiled, body: int) -> Resisted:
    """The medium on a box of the same mass and inertia, of uniform density."""
    m, density, viscosity = model.m, float(model.m.opt.density), float(model.m.opt.viscosity)
    inertia = m.body_inertia[body]
    x, y, z = np.sqrt(6 / m.body_mass[body] * np.maximum(inertia.sum() - 2 * inertia, 1e-15))
    mean = (x + y + z) / 3
    sticky, turned = float(3 * np.pi * mean * viscosity), float(np.pi * mean**3 * viscosity)
    faces = density / 2 * np.array([y * z, x * z, x * y])
    edges = density / 64 * np.array([x * (y**4 + z**4), y * (x**4 + z**4), z * (x**4 + y**4)])
    name = model.body(body)
    return Resisted(
        f"{name}_drag", End((name,), Place.of(m.body_ipos[body], m.body_iquat[body])),
        (sticky, sticky, sticky), tuple(faces.tolist()), (turned, turned, turned), tuple(edges.tolist()),
        tuple(m.opt.wind.tolist()),
    )  # fmt: skip
