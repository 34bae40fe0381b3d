"""What an engine in joint coordinates decides by lengths, in words: part of the pattern a kept translation must have.

Numbers that stand in the equations as they are (joints of a user's own in other axes) are told in full: another one is
another pattern.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from kompono.model.body import Ground
from kompono.model.constraint import Coupling
from kompono.model.element import Element
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.elimination.linear import Form, LinearSet
from kompono.translate.lengths import is_number, told_pose, with_lengths
from kompono.translate.motion.conditions import Closing
from kompono.translate.motion.hanging import find_poses
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import uniform_field
from kompono.translate.motion.readings import shares_in
from kompono.translate.structure.axes import ChosenAxes
from kompono.translate.structure.lumps import traced_lump
from kompono.translate.structure.topology import Topology

if TYPE_CHECKING:
    from kompono.translate.engines.judging import JudgingEngine


def decided_by_lengths(engine: JudgingEngine) -> dict[str, object]:
    """All that is, by name; numbers that are put in after tracing are not told."""
    model, path = engine.model, engine.model.path
    return {
        "tree": told_tree(model, engine.topology),
        "forms": told_forms(model, engine.forms.values(), engine.sets),
        "loops": [path(element) for element in engine.loops],
        "solved": [(path(one.element), [_path(model, joint) for joint in one.dependent]) for one in engine.solved],
        "turned": told_axes(model, engine.topology, engine.axes),
    }


def find_places(kinematics: Kinematics, closing: Iterable[Closing]) -> None:
    """Have the places of all frames, and what follows from them alone, among the numbers of a model."""
    fields = [uniform_field(kinematics.model, field) for field in kinematics.model.fields]
    kinematics.in_working_axes(sum((value for value in fields if value is not None), ca.SX(3, 1)))
    numbers, pair = kinematics.model.numbers, kinematics.model.pair
    opens = numbers is not None and numbers.pairs is not None
    for element in () if numbers is None else (*numbers.lengths, *numbers.directions):
        pair(element) if opens else with_lengths(kinematics.model, element, element)
    if kinematics.axes is not None:
        for element, one in (*kinematics.axes.joints.items(), *kinematics.axes.closing.items()):
            pair(element, one.element)
    for soft in kinematics.model.soft:
        soft.find_numbers()
    find_poses(kinematics, (one for one in closing if not isinstance(one, Coupling)))


def find_ratios(model: Elaborated, topology: Topology, sets: Iterable[LinearSet]) -> None:
    """Have what linear conditions are solved for, inertia on coordinates, and what each mate bears of a weld, among the
    numbers of a model.
    """
    for pair in topology.mated:
        if not pair.joint.freedoms:
            shares_in(model, pair)
    for linear in sets:
        linear.find_numbers(model)
    for lump in model.lumps:
        traced_lump(model, lump)


def told_tree(model: Elaborated, topology: Topology) -> list[Any]:
    """Who hangs on whom by what, what closes loops, and what mates are."""
    links = [(_path(model, link.carrier), _path(model, link.parent), link.reverse) for link in topology.links]
    joints = [_joint(model, link.joint) for link in topology.links]
    mated = [
        (_joint(model, pair.joint), [model.path(one) for one in pair.constraints], pair.bearing,
         [matrix.shape for matrix in pair.implied.values()])
        for pair in topology.mated
    ]  # fmt: skip
    return [links, joints, [_joint(model, joint) for joint in topology.closing], mated]


def _path(model: Elaborated, element: Element) -> str:
    return model.path(element) if element.owner is not None else ""


def _joint(model: Elaborated, joint: Any) -> Any:
    """A joint by its path and kind, and by what numbers it has, if it is one that the translator made."""
    return None if joint is None else (_path(model, joint), type(joint).__qualname__, _numbers(model, joint))


def _numbers(model: Elaborated, declared: Element, turned: Any = None) -> list[Any]:
    """Numbers an element has among its attributes, as `declared` or `turned`; none if they are put in after tracing."""
    element = declared if turned is None else turned
    if model.pair(declared, turned) is not element:
        return []
    return [
        (name, np.asarray(value).tolist())
        for name, value in vars(element).items()
        if isinstance(value, float | np.ndarray | ca.DM)
    ]


def told_forms(model: Elaborated, forms: Iterable[Form], sets: Iterable[LinearSet]) -> list[Any]:
    """Conditions that are linear, and what they are solved for."""
    linear = [(model.path(one.element), [_path(model, j) for j in one.joints], one.rows, one.measured) for one in forms]
    return [linear, [[_path(model, joint) for joint in one.dependent] for one in sets]]


def told_axes(model: Elaborated, topology: Topology, axes: ChosenAxes | None) -> list[Any]:
    """Elements about other axes, as far as they have numbers of their own, and grounds that move as seen from these."""
    if axes is None:
        return []
    joints, closing = (
        [(_path(model, element), _numbers(model, element, one.element)) for element, one in several.items()]
        for several in (axes.joints, axes.closing)
    )
    moved = [
        (model.path(link.carrier), told_pose(axes.frames[link.carrier]), told_pose(axes.frames[topology.world]))
        for link in topology.links
        if isinstance(link.carrier, Ground) and not is_number(link.carrier.motion)
    ]
    return [joints, closing, moved]
