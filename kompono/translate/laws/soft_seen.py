"""Channels of laws that are forces: gap, slip, normal force and friction of each unit, by their usual names."""

from __future__ import annotations

import casadi as ca

from kompono.model.law import JointLaw
from kompono.model.reading import effort_unit
from kompono.translate.laws.soft import Rows, SoftLaw
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.program import Channel
from kompono.translate.symbolic import Vector

AXES = (".x", ".y")


def soft_channels(kinematics: Kinematics) -> tuple[list[Channel], list[Vector]]:
    """Channels of all soft laws and their values."""
    channels: list[Channel] = []
    values: list[Vector] = []
    for soft in kinematics.model.soft:
        names = _names(soft, kinematics.model.path(soft.law))
        channels += names
        values.append(ca.densify(_values(soft, kinematics)))
    return channels, values


def soft_shares(kinematics: Kinematics) -> Vector:
    """h^2 k a (laws): how stiff each is for the step, the stiffest of its units."""
    found = []
    for soft in kinematics.model.soft:
        found.append(soft.traced(kinematics, soft.share))
    return ca.vertcat(*found)


def _names(soft: SoftLaw, path: str) -> list[Channel]:
    """In the order of `_told`."""
    law, found = soft.law, []
    unit = law.joints[0].units[0] if isinstance(law, JointLaw) and law.joints[0].units else "m"
    for shape in law._shapes():
        stem = f"{path}.{shape.name}" if shape.name else path
        if shape.normal:
            found += [Channel(f"{stem}.gap", unit)] if shape.gap is not None else []
            found += [Channel(f"{stem}.speed", f"{unit}/s")] if shape.gap is None else []
            found.append(Channel(f"{stem}.normal", effort_unit(unit)))
        axes = ("",) if shape.slips == 1 else AXES[: shape.slips]
        found += [Channel(f"{stem}.slip{axis}", f"{unit}/s") for axis in axes]
        found += [Channel(f"{stem}.friction{axis}", effort_unit(unit)) for axis in axes]
    return found


def _values(soft: SoftLaw, kinematics: Kinematics) -> Vector:
    return soft.traced(kinematics, lambda rows: _told(soft, rows))


def _told(soft: SoftLaw, rows: Rows) -> Vector:
    forces, found = soft.exerted(rows).forces, []
    gap, row = 0, sum(unit.gap is not None for unit in rows.units)
    for unit in rows.units:
        if unit.gap is not None:
            found += [rows.gap[gap], forces[gap]]
            gap += 1
        elif unit.speed is not None:
            found += [rows.rate[row], forces[row]]
            row += 1
        span = slice(row, row + unit.slips)
        found += [rows.rate[span], forces[span]] if unit.slips else []
        row += unit.slips
    return ca.vertcat(*found)
