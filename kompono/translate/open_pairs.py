"""Joints and constraints with symbols in the place of their numbers: directions, pitches, radii (see `numbers`).

A direction is read as numbers all over a joint, which chooses axes across it and leaves out what is zero. So a joint is
asked for all its laws on symbols for motion, with its directions as they are, and each number in what it returns
becomes a symbol, as in laws of forces (see `open_laws`): 0, 1/2, 1, 2 and their negatives stay, numbers that are equal
but for rounding are one. Lengths, radii and pitches are symbols before that (see `lengths`). What is left of the laws
is part of the pattern that a kept translation must have, so nothing else need be known about a joint: another direction
in which other terms vanish is another pattern. Elements about axes that the translator chose are opened in the same
way.

Whatever is decided by such numbers is found from the elements as they are declared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from kompono.model.constraint import Constraint
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.spatial.pose import Motion, Pose, symbolic_motion
from kompono.translate.declared.laws import ask_holds
from kompono.translate.declared.open_laws import opened
from kompono.translate.declared.ours import is_ours
from kompono.translate.declared.words import told_numbers
from kompono.translate.lengths import named_grounds, with_lengths
from kompono.translate.numbers import OpenNumbers
from kompono.translate.patterns import Instance
from kompono.translate.recipes import Lasting
from kompono.translate.structure.turned import FollowedBy
from kompono.translate.texts import written

if TYPE_CHECKING:
    from kompono.translate.declared.elaborate import Elaborated
    from kompono.translate.structure.topology import Topology

ROUNDING = 1e-14  # numbers of one element that differ less, relative, are equal
_MOVING = ("pose", "subspace", "subspace_rate", "rate", "normalize")  # laws of what is in the tree
_CLOSING = ("conditions", "velocity_conditions")  # of what closes a loop in other axes
_ALL = (*_MOVING, *_CLOSING, "measure", "holds")


def is_directed(element: Any) -> bool:
    """Whether an element is given by numbers that may be put in after tracing: directions that are no coordinate
    axes, steps of a chain.
    """
    return any(not np.all(np.isin(np.abs(value), (0.0, 1.0))) for value in _arrays(element).values())


def _arrays(element: Any) -> dict[str, np.ndarray]:
    found = {}
    for name, value in vars(element).items():
        if isinstance(value, np.ndarray | ca.DM):
            array = np.asarray(value)
        elif isinstance(value, tuple) and value and all(is_dataclass(part) for part in value):
            array = np.concatenate([np.ravel(part) for part in told_numbers(value)[1]])
        else:
            continue
        if array.dtype == float:
            found[name] = array
    return found


def named_directions(model: Elaborated, topology: Topology) -> dict[Element, tuple[str, ...]]:
    """Attributes of joints, constraints and joints that mates are, all of ours, that are such directions."""
    found: dict[Element, tuple[str, ...]] = {}
    for one in (*model.joints, *model.constraints, *(pair.joint for pair in topology.mated)):
        if is_directed(one) and is_ours(type(one)):
            found[one] = tuple(_arrays(one))
    return found


def open_elements(numbers: OpenNumbers, model: Elaborated, topology: Topology, declared: Elaborated) -> None:
    """Have directions, places of grounds and numbers of couplings among those that are put in after tracing; `declared`
    is the model with all that was left out of it.
    """
    numbers.directions, numbers.grounds = named_directions(model, topology), named_grounds(declared)
    numbers.coupled = frozenset(declared.couplings)
    numbers.pairs = OpenPairs(replace(model, numbers=numbers), topology)


class OpenPairs:
    """Of one model. Called with a joint or constraint, and what it is in other axes, if that is meant, it gives what
    is to be traced.
    """

    def __init__(self, model: Elaborated, topology: Topology) -> None:
        self._model = model
        self._names: dict[Element, str] = {}
        for pair in topology.mated:
            self._names[pair.joint] = f"{model.path(pair.constraints[0])} mated"
        for link in topology.links:
            if link.joint is not None:
                self._names[link.joint] = f"{model.path(link.carrier)} hung by"
        self._moving = frozenset(topology.tree_joints)
        self._made: dict[tuple[Element, bool], OpenPair] = {}

    def opens(self, declared: Element, turned: Any = None) -> bool:
        """Whether an element, as `declared` or `turned`, has numbers that are symbols."""
        numbers = self._model.numbers
        assert numbers is not None
        if declared in numbers.lengths or declared in numbers.directions:
            return True
        if turned is None or turned is declared:
            return False
        return is_directed(turned) and (isinstance(turned, FollowedBy) or is_ours(type(turned)))

    def __call__(self, declared: Element, turned: Any = None) -> Any:
        """The element, with symbols in the place of its numbers if it has such."""
        element = declared if turned is None else turned
        if not self.opens(declared, turned):
            return element
        key = declared, element is declared  # other engines of the model choose the same axes
        if key not in self._made:
            name = self._names.get(declared) or self._model.path(declared)
            prefix = "" if element is declared else "turned "
            laws = _MOVING if declared in self._moving else _CLOSING if prefix else _ALL
            self._made[key] = OpenPair(self._model, declared, element, f"{prefix}{name} laws", laws)
        return self._made[key]


class OpenPair(Lasting):
    """The face of a joint or constraint with some of its laws; what is no law is as in the element itself."""

    def __init__(self, model: Elaborated, declared: Element, element: Any, name: str, laws: Sequence[str]) -> None:
        numbers = model.numbers
        assert numbers is not None
        self._element = element
        asked = with_lengths(model, declared, element)
        arguments, answers = _asked(asked, laws)
        columns = [ca.SX(part) for parts in answers.values() for part in parts or ()]
        found = opened(columns, [], rounding=ROUNDING)
        expressions, symbols, values = found or (tuple(columns), (), ())
        for k, (symbol, value) in enumerate(zip(symbols, values, strict=True)):
            numbers.note(f"{name} {k}", symbol, value)
        parts = iter(expressions)
        self._laws = {law: [next(parts) for _ in answer or ()] for law, answer in answers.items()}
        self._arguments, self._functions = arguments, dict[str, Instance]()
        numbers.decided(name, _text(arguments, expressions, symbols))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._element, name)

    def pose(self, q: Any) -> Pose:
        """The second frame seen from the first."""
        return Pose(*self._at("pose", q))

    def rate(self, q: Any, v: Any) -> Any:
        """q_dot from the speeds."""
        return self._at("rate", q, v)[0] if "rate" in self._laws else v

    def subspace(self, q: Any) -> Any:
        """S in second-frame axes."""
        return self._at("subspace", q)[0]

    def subspace_rate(self, q: Any, v: Any) -> Any:
        """S_dot v at constant v."""
        return self._at("subspace_rate", q, v)[0]

    def normalize(self, q: Any) -> Any:
        """q back on its manifold."""
        return self._at("normalize", q)[0] if "normalize" in self._laws else q

    def conditions(self, pose: Pose) -> list[Any] | None:
        """Groups of like conditions on the relative pose."""
        return self._groups("conditions", pose.position, pose.rotation)

    def measure(self, pose: Pose) -> Any:
        """The coordinates of a relative pose."""
        found = self._groups("measure", pose.position, pose.rotation)
        return None if found is None else found[0]

    def holds(self, pose: Pose) -> Any:
        """Positive where the element holds as it is meant."""
        found = self._groups("holds", pose.position, pose.rotation)
        return None if found is None else found[0]

    def velocity_conditions(self, motion: Motion) -> list[Any]:
        """Groups of conditions on velocities."""
        return self._groups("velocity_conditions", *_parts(motion)) or []

    def _at(self, law: str, *arguments: Any) -> list[Any]:
        if law not in self._functions:
            self._functions[law] = Instance(self._arguments[law], self._laws[law])
        return self._functions[law](*[ca.SX(argument) for argument in arguments])

    def _groups(self, law: str, *arguments: Any) -> list[Any] | None:
        return self._at(law, *arguments) if self._laws[law] else None


def _asked(element: Any, wanted: Sequence[str]) -> tuple[dict[str, list[ca.SX]], dict[str, list[Any] | None]]:
    """Arguments of laws of an element, and what they are for these; None where there is no such law."""
    laws: dict[str, tuple[list[ca.SX], Callable[[], list[Any] | None]]] = {}
    if isinstance(element, Joint | FollowedBy):
        q, v = ca.SX.sym("q", len(element.coordinates)), ca.SX.sym("v", element.freedoms)
        laws |= {
            "pose": ([q], lambda: _both(element.pose(q))),
            "subspace": ([q], lambda: [element.subspace(q)]),
            "subspace_rate": ([q, v], lambda: [element.subspace_rate(q, v)]),
            "rate": ([q, v], lambda: [element.rate(q, v)]),
        }
    if isinstance(element, Joint):
        laws["normalize"] = [q], lambda: [element.normalize(q)]
        if type(element).rate is Joint.rate:
            del laws["rate"]
        if type(element).normalize is Joint.normalize:
            del laws["normalize"]
    if isinstance(element, Joint | Constraint):
        motion = symbolic_motion()
        pose, place = Pose(motion.position, motion.rotation), [motion.position, motion.rotation]
        laws |= {
            "conditions": (place, lambda: element.conditions(pose)),
            "holds": (place, lambda: _maybe(ask_holds(element, pose))),
            "velocity_conditions": (_parts(motion), lambda: element.velocity_conditions(motion)),
        }
        if isinstance(element, Joint):
            laws["measure"] = place, lambda: _maybe(element.measure(pose))
    chosen = {law: laws[law] for law in wanted if law in laws}
    return {law: given for law, (given, _) in chosen.items()}, {law: ask() for law, (_, ask) in chosen.items()}


def _both(pose: Pose) -> list[Any]:
    return [pose.position, pose.rotation]


def _maybe(value: Any) -> list[Any] | None:
    return None if value is None else [value]


def _parts(motion: Motion) -> list[Any]:
    return [motion.position, motion.rotation, motion.velocity, motion.angular_velocity]


def _text(arguments: dict[str, list[ca.SX]], expressions: Any, symbols: Any) -> str:
    """What laws are left without their numbers."""
    known = ca.veccat(ca.SX(0, 1), *[given for several in arguments.values() for given in several], *symbols)
    column = ca.veccat(ca.SX(0, 1), *[ca.densify(part) for part in expressions])
    seen = {symbol.element_hash() for symbol in ca.symvar(known)}
    free = [symbol for symbol in ca.symvar(column) if symbol.element_hash() not in seen]
    inputs = ca.vertcat(*{s.element_hash(): s for s in ca.symvar(known)}.values(), *free)
    shapes = [(part.shape, part.sparsity().compress()) for part in map(ca.SX, expressions)]
    places = ca.SX.sym("x", inputs.numel())  # whatever symbols are called
    text = written(ca.Function("laws", [places], [ca.Function("laws", [inputs], [column])(places)]))
    return hashlib.sha256(f"{list(arguments)} {shapes} {text}".encode()).hexdigest()
