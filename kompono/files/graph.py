"""Parts and joints of one assembly as a graph: firm parts become one group, frames without mass are composed away.

A group is what becomes one body. An edge is a joint between two groups: a frame on each and the steps between them. A
group without mass between two joints makes one joint of them; one at the end of a joint moves nothing, and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from kompono.errors import FileError
from kompono.files.assembly import Assembly, End, Joined, Mate, Noted, Part, Path, Step
from kompono.files.masses import together
from kompono.files.place import Place

IN_CHAIN = ("turn", "slide")


@dataclass(eq=False)
class Group:
    """Parts that are one body: their places in the frame of the `lead`, and mass properties there."""

    lead: Path
    members: dict[Path, Place]
    mass: float
    centre: np.ndarray
    inertia: np.ndarray


@dataclass(frozen=True, eq=False)
class Edge:
    """A joint: `steps` lead from a frame on the group (or inner part) `first` to one on `second`."""

    name: str
    first: Path
    first_place: Place
    steps: tuple[Step, ...]
    second: Path
    second_place: Place
    where: str = ""

    def reversed(self) -> Edge:
        """The same joint seen from its other end; coordinates mean the same."""
        steps, before = [], Place()
        for step in reversed(self.steps):
            steps.append(replace(step, before=before, axis=tuple((-np.array(step.axis)).tolist())))
            before = step.before.inverse()
        place = self.first_place @ before.inverse() if self.steps else self.first_place
        return replace(
            self, first=self.second, first_place=self.second_place, steps=tuple(steps), second=self.first,
            second_place=place,
        )  # fmt: skip

    def then(self, other: Edge) -> Edge:
        """This joint and another that goes on where it ends."""
        between = self.second_place.inverse() @ other.first_place
        if not other.steps:
            place = other.second_place @ between.inverse()
            return replace(self, name=other.name, second=other.second, second_place=place)
        head = replace(other.steps[0], before=between @ other.steps[0].before)
        steps = (*self.steps, head, *other.steps[1:])
        return replace(other, first=self.first, first_place=self.first_place, steps=steps)


class Graph:
    """The groups of an assembly by lead, where each part is in them, and the edges between them."""

    def __init__(self, assembly: Assembly, *, standing: bool) -> None:
        self.assembly, self.standing = assembly, standing
        self.notes: list[Noted] = []
        self.gone: set[str] = set()  # names of joints that were left out
        self.parts: dict[Path, Part] = {}
        for instance in assembly.instances:
            what = assembly.parts[instance.of]
            if isinstance(what, Part):
                self.parts[(instance.name,)] = what
        self.mates = [each for each in assembly.connections if isinstance(each, Mate)]
        joined = [*_fixing(assembly, standing), *(each for each in assembly.connections if isinstance(each, Joined))]
        self.home: dict[Path, tuple[Path, Place]] = {}
        self.groups: dict[Path, Group] = {}
        firm = [each for each in joined if not each.steps and self._merges(each)]
        self._merge(firm)
        edges = [self._edge(each) for each in joined if each not in firm]
        self.edges = [edge for edge in edges if edge is not None]
        while self._reduce_one():
            pass

    def _merges(self, joined: Joined) -> bool:
        """Whether a firm connection makes one body of two parts, or holds a frame without mass."""
        paths = joined.first.path, joined.second.path
        if not all(path == () or path in self.parts for path in paths):
            return False
        return joined.merges or any(self._massless(path) for path in paths)

    def _massless(self, path: Path) -> bool:
        if path == ():
            return not self.standing
        return path in self.parts and self.parts[path].mass <= 0

    def _merge(self, firm: list[Joined]) -> None:
        neighbours: dict[Path, list[tuple[Path, Place]]] = {}
        for each in firm:
            a, b = each.first, each.second
            offset = a.place @ b.place.inverse()
            neighbours.setdefault(a.path, []).append((b.path, offset))
            neighbours.setdefault(b.path, []).append((a.path, offset.inverse()))
        for start in [(), *self.parts]:
            if start in self.home:
                continue
            found, queue = {start: Place()}, [start]
            while queue:
                path = queue.pop(0)
                for other, offset in neighbours.get(path, ()):
                    place = found[path] @ offset
                    if other not in found:
                        found[other] = place
                        queue.append(other)
                    elif _apart(found[other], place) > 1e-6:
                        names = f"{'.'.join(path) or 'the ground'} and {'.'.join(other) or 'the ground'}"
                        raise FileError(f"fixed joints hold {names} in two places.", path=self.assembly.file)
            self._group(found)

    def _group(self, found: dict[Path, Place]) -> None:
        known = [path for path in found if path in self.parts]
        heavy = [path for path in known if self.parts[path].mass > 0]
        lead = () if () in found and (self.standing or not heavy) else (heavy or known or [()])[0]
        back = found[lead].inverse()
        members = {path: back @ place for path, place in found.items()}
        mass, centre, inertia = together((self.parts[path], members[path]) for path in known)
        self.groups[lead] = Group(lead, members, mass, centre, inertia)
        lost = [path for path in known if not mass and self.parts[path].inertia.any()]
        self.notes += [Noted("ignored", ".".join(path), "its inertia: it has no mass") for path in lost]
        for path, place in members.items():
            self.home[path] = lead, place

    def place(self, end: End) -> tuple[Path, Place]:
        """The group (or inner part) an end is on, and its place there."""
        lead, place = self.home.get(end.path, (end.path, Place()))
        return lead, place @ end.place

    def _edge(self, joined: Joined) -> Edge | None:
        first, second = self.place(joined.first), self.place(joined.second)
        if first[0] == second[0]:
            self.notes.append(Noted("ignored", joined.name, "joins parts that are one body"))
            self.gone.update(step.name for step in joined.steps)
            return None
        return Edge(joined.name, *first, joined.steps, *second, joined.where)

    def _reduce_one(self) -> bool:
        """Take one group without mass away; False if there is none."""
        for lead, group in self.groups.items():
            if group.mass <= 0 and not (self.standing and lead == ()):
                self._take_away(group)
                return True
        return False

    def _take_away(self, group: Group) -> None:
        lead, name = group.lead, ".".join(group.lead) or self.assembly.name
        edges = [edge for edge in self.edges if lead in (edge.first, edge.second)]
        held = [mate for mate in self.mates if lead in [self.place(End(g.path))[0] for g in (mate.first, mate.second)]]
        others = {other for edge in edges for other in (edge.first, edge.second)}
        others |= {self.place(End(g.path))[0] for mate in held for g in (mate.first, mate.second)}
        if len(edges) == 2 and not held and len(others) == 3:
            self._compose(group, *edges)
        elif len(others - {lead}) > 1:
            raise FileError(
                f"{name} has no mass, and {len(edges) + len(held)} joints or mates hold it: how it moves is not known.",
                path=self._where(lead), fix=f'Give it a mass: masses={{"{name}": ...}}.',
            )  # fmt: skip
        else:
            self._leave_out(group, edges, held, name)
        del self.groups[lead]

    def _leave_out(self, group: Group, edges: list[Edge], held: list[Mate], name: str) -> None:
        steps = [step.name for edge in edges for step in edge.steps]
        if group.lead != ():
            by = f"; the joint {', '.join(steps)} moves nothing" if steps else ""
            self.notes.append(Noted("ignored", name, f"it has no mass{by}"))
        self.gone.update(steps)
        self.edges = [edge for edge in self.edges if edge not in edges]
        self.mates = [mate for mate in self.mates if mate not in held]

    def _compose(self, group: Group, one: Edge, other: Edge) -> None:
        first = one if one.second == group.lead else one.reversed()
        second = other if other.first == group.lead else other.reversed()
        joined = first.then(second)
        if len(joined.steps) > 1 and any(step.kind not in IN_CHAIN for step in joined.steps):
            kinds = ", ".join(f"{step.name} ({step.kind})" for step in joined.steps)
            raise FileError(
                f"{'.'.join(group.lead)} has no mass, and the joints on both of its sides cannot be one: {kinds}.",
                path=self._where(group.lead), fix="Give it a mass.",
            )  # fmt: skip
        self.edges[self.edges.index(other)] = joined
        self.edges.remove(one)
        names = ", ".join(step.name for step in joined.steps)
        told = f"it has no mass; its joints are one, with coordinates {names}"
        self.notes.append(Noted("composed", ".".join(group.lead), told))

    def _where(self, lead: Path) -> str:
        return (self.parts[lead].where if lead in self.parts else "") or self.assembly.file


def _fixing(assembly: Assembly, standing: bool) -> Iterable[Joined]:
    """Connections of what is held in the frame of the assembly; assemblies that stand have a ground of their own."""
    for instance in assembly.instances:
        if instance.fixed and (isinstance(assembly.parts[instance.of], Part) or not standing):
            place = instance.place or Place()
            yield Joined(f"{instance.name}_fixed", End((), place), End((instance.name,)))


def _apart(one: Place, other: Place) -> float:
    return float(np.abs(one.position - other.position).max() + np.abs(one.rotation - other.rotation).max())
