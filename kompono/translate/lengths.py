"""Where frames sit on their bodies, where grounds are, and lengths of joints and constraints, as numbers put in after
tracing (see `numbers`).

A length is edited more often than anything else, and decides a lot: where it is zero terms vanish, axes that meet or
are parallel make loops planar, redundant or linear. So lengths are no symbols from the beginning. All that is decided
by numbers (the tree, axes of working frames, live rows, slips, locked freedoms, loops that are solved) is found anew
for each model, from numbers, by the same code as always. What comes of it in the end, places of frames in working
frames, goes into the equations as symbols: 0, 1 and -1 stay these, and equal entries of a rotation stay equal. Which
these are, and all that was decided, is part of the pattern that a kept translation must have.

A pose that nobody can name from the structure of a model has its numbers in its name.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from kompono.model.body import Carrier, Frame, Ground
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.spatial.pose import Pose
from kompono.spatial.rotation import skew
from kompono.translate.declared.ours import is_ours
from kompono.translate.declared.words import told_numbers
from kompono.translate.numbers import OpenNumbers, like_places

if TYPE_CHECKING:
    from kompono.translate.declared.elaborate import Elaborated
    from kompono.translate.structure.topology import Topology

_LENGTHS = ("length", "radius", "angle")  # attributes of constraints
_SIZES = ("length", "radius", "pitch")  # attributes of joints
ROUNDING = 1e-15  # of the largest of a position, or of 1: what is smaller is zero, and what differs less is equal


def is_number(pose: Pose) -> bool:
    """Whether nothing in a pose is a symbol."""
    return all(_constant(part) for part in (pose.position, pose.rotation))


def _constant(part: Any) -> bool:
    return type(part) is ca.DM or ca.SX(part).is_constant()


def named_frames(model: Elaborated, topology: Topology) -> dict[Frame, str]:
    """Names of all frames on bodies whose poses are numbers, and of those of joints that mates are."""
    found: dict[Frame, str] = {}
    for element in model.model.walk():
        path = model.path(element)
        for name, frame in _frames(vars(element)):
            if frame not in found and is_number(frame.pose):
                found[frame] = f"{path}.{name}"
    for pair in topology.mated:
        for name, frame in _frames({end: getattr(pair.joint, end) for end in ("first", "second")}):
            found[frame] = f"{model.path(pair.constraints[0])} mated {name}"
    return found


def _frames(values: Mapping[Any, Any]) -> Iterator[tuple[str, Frame]]:
    for name, value in values.items():
        several = value if isinstance(value, list | tuple) else value.values() if isinstance(value, dict) else (value,)
        for number, one in enumerate(several):
            if isinstance(one, Frame) and not isinstance(one, Carrier):
                yield f"{name} {number}", one


def named_lengths(model: Elaborated) -> dict[Element, tuple[str, ...]]:
    """Attributes of joints and constraints of ours that are lengths, or an angle, and enter nothing but their laws."""
    found: dict[Element, tuple[str, ...]] = {}
    for one in (*model.joints, *model.constraints):
        known = _SIZES if isinstance(one, Joint) else _LENGTHS
        names = tuple(name for name in known if type(vars(one).get(name)) is float)
        if names and is_ours(type(one)):
            found[one] = names
    return found


def named_grounds(model: Elaborated) -> frozenset[Element]:
    """Grounds of ours that rest."""
    return frozenset(one for one in model.grounds if is_ours(type(one)) and is_number(one.motion))


def with_lengths(model: Elaborated | None, declared: Element, element: Any) -> Any:
    """An element, as `declared` or about other axes, with symbols for its lengths where these are numbers."""
    if model is None or model.numbers is None or declared not in model.numbers.lengths:
        return element
    twin = copy.copy(element)
    for name in model.numbers.lengths[declared]:
        if name not in vars(element):  # it is inside another one
            continue
        values = np.array([getattr(declared, name)])
        setattr(twin, name, model.numbers.found(f"{model.path(declared)} {name}", values, ones=True))
    return twin


def put_in(model: Elaborated, name: str, values: np.ndarray) -> ca.SX:
    """Numbers (rows, columns) as they are traced: as such, or as symbols of numbers that are put in afterwards."""
    if model.numbers is None or model.numbers.pairs is None:
        return ca.SX(ca.sparsify(ca.DM(values)))
    return model.numbers.found(name, values, ones=True)


class OpenPoses:
    """Poses of a model as symbols; what is found with other working axes has another `prefix`. `signed`: numbers that
    differ in their signs are two symbols, so that no sign is changed at run time.
    """

    def __init__(self, model: Elaborated, prefix: str, *, signed: bool = False) -> None:
        assert model.numbers is not None
        self._model, self._prefix, self._numbers = model, prefix, model.numbers
        self._places = _equal_places if signed else like_places

    def frame(self, frame: Frame, place: Pose, working: Pose) -> Pose:
        """Where a frame is in the `working` frame of its body, by its own name: nowhere else, where it misses the
        origin or an axis of that by what rounding makes of the two.
        """
        made_of = [part for part in (frame.pose.position, working.position) if _constant(part)]
        size = max((float(np.abs(ca.DM(part).full()).max()) for part in made_of), default=0.0)
        return self.pose(f"{self._name(frame)} place", place, size)

    def whole(self, frame: Frame, place: Pose) -> Pose:
        """Where a frame is at a place of numbers, with symbols for zeros, ones and equal numbers, too, unless there is
        no way or no turn.
        """
        name, position, rotation = f"{self._prefix}{self._name(frame)} whole", place.position, place.rotation
        if _constant(position):
            values = ca.DM(position).full().ravel()
            places = range(1, 4) if values.any() else [0] * 3
            position = self._numbers.found(f"{name} at", values, places=places)
        if _constant(rotation):
            matrix = ca.DM(rotation).full()
            turned = not np.array_equal(matrix, np.eye(3))
            self._numbers.decided(f"{name} turned", turned)
            rotation = self._numbers.found(name, matrix, places=range(1, 10)) if turned else rotation
        return Pose(position, rotation)

    def declared(self, frame: Frame) -> Pose:
        """Where a frame is on its body."""
        return self.pose(f"{self._name(frame)} declared", frame.pose)

    def _name(self, frame: Frame) -> str:
        frames = self._numbers.frames or {}
        if frame in frames:
            return frames[frame]
        if isinstance(frame, Carrier):
            return self._model.path(frame) or "world"
        return f"{self._model.path(frame.body)} {told_pose(frame.pose)}"

    def back(self, frame: Frame, place: Pose, working: Pose) -> Pose:
        """What a frame that is at a place of numbers sees its body at."""
        found, origin = self.frame(frame, place, working), ca.DM(place.inverse().position).full().ravel()
        return Pose(self.values(f"{self._name(frame)} back", _without_rounding(origin)), found.rotation.T)

    def lever(self, frame: Frame, place: Pose) -> ca.SX:
        """What turning a body moves a frame of it by that is at a place of numbers: the block (3, 3) of a twist
        matrix.
        """
        block = ca.DM(-place.rotation.T @ skew(place.position)).full()
        return self.values(f"{self._name(frame)} lever", _without_rounding(block))

    def pose(self, name: str, pose: Pose, size: float = 0.0) -> Pose:
        """Symbols for what of a pose is numbers; its position is made of some of a `size`."""
        position, rotation = pose.position, pose.rotation
        if _constant(position):
            position = self.values(f"{name} at", _without_rounding(ca.DM(position).full().ravel(), size))
        if _constant(rotation):
            values = _put_right(ca.DM(rotation).full())
            places = self._places(values.ravel().tolist())
            rotation = self._numbers.found(f"{self._prefix}{name} turned", values, places=places, ones=True)
        return Pose(position, rotation)

    def alike(self, name: str, values: np.ndarray) -> ca.SX:
        """Symbols for numbers (n, 3), those that are equal but for the sign by one; 1 and -1 stay."""
        places = like_places(values.ravel().tolist())
        return self._numbers.found(f"{self._prefix}{name}", values, places=places, ones=True)

    def values(self, name: str, values: np.ndarray) -> ca.SX:
        """Symbols for numbers (n,) or (n, m); 1 and -1 stay, for products vanish by them."""
        return self._numbers.found(f"{self._prefix}{name}", values, ones=True)


def lengths_of(numbers: OpenNumbers) -> list[tuple[str, str]]:
    """All poses, lengths, directions and numbers of couplings that are put in after tracing, as declared."""
    named = (*numbers.lengths.items(), *numbers.directions.items())
    lengths = [(e.label, repr([told_numbers(getattr(e, name))[1] for name in names])) for e, names in named]
    grounds = [(one.label, told_pose(one.motion)) for one in numbers.grounds if isinstance(one, Ground)]
    coupled = [(one.label, repr(law.values)) for one, law in numbers.laws.items() if one in numbers.coupled]
    frames = [(name, told_pose(frame.pose)) for frame, name in (numbers.frames or {}).items()]
    return [*frames, *lengths, *sorted(grounds), *coupled]


def told_pose(pose: Pose) -> str:
    """The numbers of a pose."""
    return repr([ca.DM(part).full().ravel().tolist() for part in (pose.position, pose.rotation)])


def _equal_places(values: Sequence[float]) -> list[int]:
    """For each value the number of those that are the same, counted from 1; 0 for zeros."""
    known = {value: place for place, value in enumerate(dict.fromkeys(value for value in values if value), 1)}
    return [known.get(value, 0) for value in values]


def _without_rounding(position: np.ndarray, size: float = 0.0) -> np.ndarray:
    return np.where(np.abs(position) < ROUNDING * max(size, np.abs(position).max()), 0.0, position)


def _put_right(rotation: np.ndarray) -> np.ndarray:
    """A rotation matrix in which entries that are 0, 1 or as large as others but for rounding are so."""
    sizes: list[float] = [0.0, 1.0]
    found = rotation.copy()
    for place, value in np.ndenumerate(rotation):
        near = [size for size in sizes if abs(abs(value) - size) < ROUNDING]
        if near:
            found[place] = np.copysign(near[0], value) if near[0] else 0.0
        else:
            sizes.append(abs(float(value)))
    return found
