"""Equalities of MJCF as rigid joints and couplings."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kompono.files.assembly import Connection, Coupled, End, Joined, Step, Summed
from kompono.files.mjcf_names import WORLD, Compiled, wrapped
from kompono.files.place import Place


def equalities(model: Compiled) -> Iterable[Connection]:
    """All equalities that are active."""
    m = model.m
    connect, weld, joints, tendons = (
        model.constant("mjtEq", f"mjEQ_{k}") for k in ("CONNECT", "WELD", "JOINT", "TENDON")
    )
    for index in range(m.neq):
        name = model.name("EQUALITY", index, "equality")
        if name in model.ignore:
            model.note("ignored", name, "as asked")
        elif not m.eq_active0[index]:
            model.note("ignored", name, "it is not active at the start")
        elif m.eq_type[index] in (connect, weld):
            yield _between_bodies(model, index, name)
        elif m.eq_type[index] == joints:
            second = int(m.eq_obj2id[index])
            first = model.joint(int(m.eq_obj1id[index]))
            factors = tuple(m.eq_data[index, :5].tolist())
            yield Coupled(name, first, model.joint(second) if second >= 0 else None, factors, f"{model.file}: {name}")
        elif m.eq_type[index] == tendons:
            found = _tendons(model, index, name)
            if found is not None:
                yield found
        else:
            model.refuse(name, f"an equality of the kind {model.word('mjtEq', m.eq_type[index])}")


def _between_bodies(model: Compiled, index: int, name: str) -> Joined:
    m, data = model.m, model.m.eq_data[index]
    weld = m.eq_type[index] == model.constant("mjtEq", "mjEQ_WELD")
    ids = int(m.eq_obj1id[index]), int(m.eq_obj2id[index])
    if m.eq_objtype[index] == model.constant("mjtObj", "mjOBJ_SITE"):
        bodies = [int(m.site_bodyid[site]) for site in ids]
        places = [Place.of(m.site_pos[site], m.site_quat[site]) for site in ids]
        if not weld:
            places = [Place(place.position) for place in places]
    else:
        bodies = list(ids)
        if weld:  # data: a point of the second body, then the same point and its axes in the first
            places = [Place.of(data[3:6], data[6:10]), Place(data[0:3].copy())]
        else:
            places = [Place(data[0:3].copy()), Place(data[3:6].copy())]
    if weld and data[10] == 0:
        weld = False
        model.note("assumed", name, "it holds a point only: its torquescale is 0")
    ends = [End((model.body(b) if b else WORLD,), place) for b, place in zip(bodies, places, strict=True)]
    return Joined(name, ends[0], ends[1], () if weld else (Step("ball", name),), where=f"{model.file}: {name}")


def _tendons(model: Compiled, index: int, name: str) -> Summed | None:
    """c0 + c1 (second tendon) = first tendon, lengths counted from the reference position."""
    m = model.m
    first, second = int(m.eq_obj1id[index]), int(m.eq_obj2id[index])
    factors = m.eq_data[index, :5]
    if factors[2:].any() or any(terms_of(model, each) is None for each in (first, second) if each >= 0):
        model.refuse(name, "an equality of tendons through sites, or not linear")
        return None
    terms = dict(terms_of(model, first) or ())
    for joint, factor in (terms_of(model, second) or ()) if second >= 0 else ():
        terms[joint] = terms.get(joint, 0.0) - float(factors[1]) * factor
    where = f"{model.file}: {name}"
    return Summed(name, tuple((joint, c) for joint, c in terms.items() if c), float(factors[0]), where)


def terms_of(model: Compiled, tendon: int) -> tuple[tuple[str, float], ...] | None:
    """(joint, factor) of a fixed tendon; None of one through sites."""
    m = model.m
    entries = wrapped(model, tendon)
    joint = model.constant("mjtWrap", "mjWRAP_JOINT")
    if any(m.wrap_type[entry] != joint for entry in entries):
        return None
    terms: dict[str, float] = {}
    for entry in entries:
        of = model.joint(int(m.wrap_objid[entry]))
        terms[of] = terms.get(of, 0.0) + float(m.wrap_prm[entry])
    return tuple(terms.items())


def reference(model: Compiled, terms: Iterable[tuple[str, float]]) -> float:
    """The length of a fixed tendon where all our coordinates are zero."""
    at = {model.joint(j): float(model.m.qpos0[model.m.jnt_qposadr[j]]) for j in range(model.m.njnt)}
    return float(np.sum([factor * at[joint] for joint, factor in terms]))
