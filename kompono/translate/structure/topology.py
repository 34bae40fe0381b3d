"""The spanning tree ("sequence of dependencies") and what closes its loops.

The tree grows from the world: grounds first, then always the joint of best rank that reaches a new body. Rank prefers
joints that cannot close a loop, then those whose coordinates are used and welds, then those with start values given,
then shallow trees, then few freedoms, then order of declaration. A joint with a gear or a rotor must be in the tree: if
that leaves it out, the tree grows once more with it before the others. Bodies no chain of joints leads to get a free
joint to the world: one of each island is "independent", the one of whose start most is given, then the one with most
joints. Joints left over close loops. Pairs that mates hold firmly are welded in the tree before anything else; pairs
for which mates are another joint are taken after the joints.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import casadi as ca

from kompono.errors import ModelError, TranslationError, suggest
from kompono.model.body import Body, Carrier, Frame, Ground
from kompono.model.element import Element
from kompono.model.free import Crossing, Free, Placed
from kompono.model.joint import Joint
from kompono.model.subsystem import Subsystem, relative_path
from kompono.spatial.pose import symbolic_pose
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.references import referenced_joints
from kompono.translate.structure.flying import flying_bodies
from kompono.translate.structure.mates import MatedPair, mated_pairs

E = TypeVar("E", bound=Element)


@dataclass(frozen=True)
class Link:
    """How a carrier hangs in the tree: on `parent` through `joint` (None: a ground moved as prescribed)."""

    carrier: Carrier
    parent: Carrier
    joint: Joint | None
    reverse: bool  # the child is the joint's first body
    depth: int
    independent: bool = False

    @property
    def moved_by(self) -> Joint:
        """The joint of a carrier that is no ground."""
        assert self.joint is not None
        return self.joint

    @property
    def rigid(self) -> bool:
        """Whether the carrier cannot move relative to its parent."""
        return self.joint is not None and not self.joint.freedoms

    @property
    def crosses(self) -> bool:
        """Whether a closed part moves the carrier from inside."""
        return isinstance(self.joint, Crossing)


@dataclass(frozen=True)
class Topology:
    """The tree, roots first, the joints that close loops, and the mates that joints of either stand for."""

    world: Ground
    links: tuple[Link, ...]
    closing: tuple[Joint, ...]
    mated: tuple[MatedPair, ...] = ()
    placed: bool = False  # every body is placed in the world by itself

    def link(self, carrier: Carrier) -> Link:
        """The link of a carrier (not of the world)."""
        return self._table[carrier]

    @cached_property
    def _table(self) -> dict[Carrier, Link]:
        return {link.carrier: link for link in self.links}

    @property
    def tree_joints(self) -> tuple[Joint, ...]:
        """Joints of the tree, roots first."""
        return tuple(link.joint for link in self.links if link.joint is not None and not link.crosses)

    def path(self, start: Carrier, end: Carrier) -> tuple[tuple[Link, ...], tuple[Link, ...]]:
        """Links to climb from `start` and to descend to `end` through their nearest common ancestor."""
        up, down = self._ancestors(start), self._ancestors(end)
        while up and down and up[-1].carrier is down[-1].carrier:
            up.pop()
            down.pop()
        return tuple(up), tuple(reversed(down))

    def _ancestors(self, carrier: Carrier) -> list[Link]:
        chain = []
        while carrier is not self.world:
            link = self.link(carrier)
            chain.append(link)
            carrier = link.parent
        return chain


@dataclass(frozen=True)
class ContractedPart:
    """Frames of a closed part: the tree reaches it at one of them, the base, and goes on from all others at once. One
    that `stands` on a ground of its own is reached from the start, and has no base. Where every body is placed by
    itself, a part may still need a `placed` base, from which the others are seen.
    """

    ports: tuple[Frame, ...]
    stands: bool
    owner: Subsystem
    path: str
    placed: Carrier | None = None


def find_topology(
    model: Elaborated,
    *,
    cut: Iterable[str] = (),
    independent: Iterable[str] = (),
    closed: Sequence[ContractedPart] = (),
    world: Ground | None = None,
    flying: Container[Carrier] | None = None,
) -> Topology:
    """Choose the tree; `cut` names joints that shall close loops, `independent` bodies that shall be roots, `closed`
    parts that are known by their ports. Bodies that are `flying` are known where this is a model divided.
    """
    cut_joints = {_named(model, path, model.joints, "joint") for path in cut}
    roots = [_named(model, path, model.bodies, "body") for path in independent]
    world, pairs = world or Ground(), mated_pairs(model)
    coupled = {joint for coupling in model.couplings for joint in coupling.joints}
    coupled |= {lump.joint for lump in model.lumps}
    flying = flying_bodies(model, cut_joints, pairs) if flying is None else flying
    first: set[Joint] = set()
    while True:
        links = _Growth(model, world, cut_joints, first, closed, flying).links_of_all(pairs, roots)
        missed = coupled - cut_joints - first - {link.joint for link in links.values()}
        if not missed:
            break
        first |= missed
    used = {link.joint for link in links.values()}
    mated = tuple(pair for pair in pairs if pair.joint in used or pair.joint.freedoms)
    left = (*model.joints, *(pair.joint for pair in mated))
    closing = tuple(joint for joint in left if joint not in used)
    for joint in closing:
        if joint.conditions(symbolic_pose()) is None:
            raise TranslationError(
                f"this {type(joint).__name__} closes a loop but defines no conditions(pose).",
                path=model.path(joint),
                fix="Write conditions(pose) for it, or cut the loop at another joint (cut=...).",
            )
    return Topology(world, tuple(links.values()), closing, mated)


def place_all(
    model: Elaborated, placed: type[Free] = Placed, closed: Sequence[ContractedPart] = (), world: Ground | None = None
) -> Topology:
    """The topology of absolute coordinates: every body is placed in the world by itself, every joint closes a loop.
    Ports of `closed` parts are placed by these, but for a base that is placed itself.
    """
    world = world or Ground()
    links = [Link(ground, world, None, False, 1) for ground in model.grounds]
    ports = {port.body: (part, port) for part in closed for port in part.ports}
    for body in model.bodies:
        part = ports[body][0] if body in ports else None
        if part is not None and body is not part.placed:
            base, depth = (part.placed, 2) if part.placed is not None else (world, 1)
            links.append(Link(body, base, _crossing(*ports[body], base), False, depth))
            continue
        joint = placed(world, body)
        joint._name = model.path(body)
        links.append(Link(body, world, joint, False, 1, independent=True))
    for joint in model.joints:
        if joint.conditions(symbolic_pose()) is None:
            raise TranslationError(
                f"this {type(joint).__name__} defines no conditions(pose), which absolute coordinates need.",
                path=model.path(joint),
                fix="Write conditions(pose) for it, or use engine='relative'.",
            )
    links.sort(key=lambda link: link.depth)
    return Topology(world, tuple(links), model.joints, placed=True)


def _crossing(part: ContractedPart, port: Frame, base: Carrier) -> Crossing:
    joint = Crossing(base, port)
    joint._name, joint._owner = f"{part.path}.{port.body._name}", part.owner
    return joint


class _Growth:
    """Prim's algorithm on the joints of a model."""

    def __init__(
        self,
        model: Elaborated,
        world: Ground,
        cut: set[Joint],
        first: set[Joint],
        closed: Sequence[ContractedPart],
        flying: Container[Carrier],
    ) -> None:
        self.model, self.world, self.parts, self.flying = model, world, closed, flying
        self.links: dict[Carrier, Link] = {ground: Link(ground, world, None, False, 1) for ground in model.grounds}
        self.closed = {port.body: part for part in closed for port in part.ports}
        self.neighbours: dict[Carrier, list[tuple[tuple[int, bool, int], Joint]]] = {
            carrier: [] for carrier in (*model.bodies, *model.grounds, world)
        }
        referenced = {*referenced_joints(model), *(lump.joint for lump in model.lumps)}
        closing: dict[type, bool] = {}  # whether joints of a class can close a loop, asked of one of them
        for order, joint in enumerate(model.joints):
            if joint in cut:
                continue
            if type(joint) not in closing:
                closing[type(joint)] = joint.conditions(symbolic_pose()) is not None
            welds = not joint.freedoms
            needed = 0 if joint in first or not closing[type(joint)] else 1 if welds or joint in referenced else 2
            self._offer(joint, (needed, not (welds or joint.start), order))

    def links_of_all(self, pairs: Iterable[MatedPair], roots: Sequence[Body]) -> dict[Carrier, Link]:
        """Links of all bodies, roots first."""
        self._mate(pairs)
        standing = [body for part in self.parts if part.stands for body in self._cross(part, self.world)]
        for body in roots:
            self._free(body)
        self._grow([self.world, *self.model.grounds, *standing, *roots])
        loose = [body for body in self.model.bodies if body not in self.links]
        for body in sorted(loose, key=lambda body: (-len(body.given_start), -len(self.neighbours[body]))):
            if body not in self.links:
                self._free(body)
                self._grow([body])
        return self.links

    def _mate(self, pairs: Iterable[MatedPair]) -> None:
        """Take rigid pairs before all joints, those that move after them."""
        for order, pair in enumerate(pairs):
            moves = bool(pair.joint.freedoms)
            if moves:
                pair.joint._owner = common_owner(self.model, pair.constraints)
                pair.joint._name = relative_path(pair.constraints[0], pair.joint._owner)
            self._offer(pair.joint, (3 if moves else -1, moves, order))

    def _offer(self, joint: Joint, rank: tuple[int, bool, int]) -> None:
        self.neighbours[joint.first.body].append((rank, joint))
        self.neighbours[joint.second.body].append((rank, joint))

    def _depth(self, carrier: Carrier) -> int:
        return 0 if carrier is self.world else self.links[carrier].depth

    def _free(self, body: Body) -> None:
        joint = (Placed if body in self.flying else Free)(self.world, body)
        joint._name = self.model.path(body)
        self.links[body] = Link(body, self.world, joint, False, 1, independent=True)

    def _cross(self, part: ContractedPart, base: Carrier) -> list[Carrier]:
        """Reach all ports of a closed part that are not reached yet, from its base or from the world."""
        reached = []
        for port in part.ports:
            if port.body not in self.links:
                joint = _crossing(part, port, base)
                self.links[port.body] = Link(port.body, base, joint, False, self._depth(base) + 1)
                reached.append(port.body)
        return reached

    def _grow(self, seeds: list[Carrier]) -> None:
        frontier: list[tuple[tuple[int, bool, int, int, int], int, Joint]] = []
        offers = itertools.count()  # of two alike the first

        def offer(carrier: Carrier) -> None:
            for (needed, no_start, order), joint in self.neighbours[carrier]:
                key = (needed, no_start, self._depth(carrier), joint.freedoms, order)
                heapq.heappush(frontier, (key, next(offers), joint))

        def reach(carrier: Carrier) -> None:
            offer(carrier)
            if carrier in self.closed:
                for other in self._cross(self.closed[carrier], carrier):
                    offer(other)

        for seed in seeds:
            reach(seed)
        while frontier:
            _, _, joint = heapq.heappop(frontier)
            first, second = joint.first.body, joint.second.body
            known_first, known_second = (c is self.world or c in self.links for c in (first, second))
            if known_first and known_second:
                continue
            parent, child = (first, second) if known_first else (second, first)
            self.links[child] = Link(child, parent, joint, child is first, self._depth(parent) + 1)
            reach(child)


def _named(model: Elaborated, path: str, known: Iterable[E], what: str) -> E:
    paths = {model.path(element): element for element in known}
    if path not in paths:
        raise ModelError(f"there is no {what} {path!r}.", fix=suggest(path, paths))
    return paths[path]


def common_owner(model: Elaborated, elements: Iterable[Element]) -> Subsystem:
    """The lowest subsystem that contains all elements."""
    chains = []
    for element in elements:
        chain = []
        owner = element.owner
        while owner is not None and owner is not model.model:
            chain.append(owner)
            owner = owner.owner
        chains.append(list(reversed(chain)))
    common = model.model
    for level in zip(*chains, strict=False):
        if any(owner is not level[0] for owner in level):
            break
        common = level[0]
    return common


def free_symbols(expression: Any) -> list[ca.SX]:
    """The scalar symbols of an expression."""
    return ca.symvar(ca.vec(ca.SX(expression)))
