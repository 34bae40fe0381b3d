"""Cut a model without loops into cells: components, or single bodies, entered through one joint from outside.

A cell is what gets kernels of its own. It is the largest component of at most `LARGEST` bodies that hangs on the rest
by a single tree joint; what fits into no such component is a cell by itself, body by body. The joint a cell hangs by
belongs to it, whoever declares it. A force belongs to the cell that holds both its bodies, one of which may also be the
body the cell hangs on. Where a force spans more than that, the lowest component around it becomes one cell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kompono.model.body import Body, Carrier
from kompono.model.element import Element
from kompono.model.force import Effort, Field, Force
from kompono.model.joint import Joint
from kompono.model.load_cell import LoadCell
from kompono.model.sensor import Sensor
from kompono.model.subsystem import Subsystem
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.structure.topology import Link, Topology, common_owner

LARGEST = 10  # bodies of a cell: straight-line code for many more does not stay in a processor's instruction cache
BLOCK = 4000  # bodies of a block: what they keep takes about 1 MB
LARGEST_WITH_FORCES = 64  # bodies of a cell that has to be larger because of the forces in it


class Apart(Exception):
    """The model cannot be cut into cells that only meet at single bodies."""


@dataclass(slots=True, eq=False)
class Cell:
    """Links of the tree, roots first; the first hangs on `links[0].parent`, outside."""

    links: list[Link] = field(default_factory=list)
    forces: list[Force] = field(default_factory=list)
    efforts: list[Effort] = field(default_factory=list)
    sensors: list[Sensor] = field(default_factory=list)
    cells: list[LoadCell] = field(default_factory=list)
    fields: tuple[Field, ...] = ()
    owner: Cell | None = None  # the cell of the body this one hangs on
    children: list[tuple[Body, Cell]] = field(default_factory=list)
    level: int = 0  # cells between this one and a ground
    block: int = 0  # 0: above all blocks, see `find_blocks`; below: of all processes, see `share`
    place: int = 0  # in the order of all cells; below 0: it is elsewhere

    @property
    def parent(self) -> Carrier:
        """The body or ground the cell hangs on."""
        return self.links[0].parent


def find_cells(model: Elaborated, topology: Topology, largest: int = LARGEST) -> list[Cell]:
    """All cells, level by level from the grounds. Raises Apart if there is no such cut."""
    entries, sizes = _component_counts(topology)
    whole: set[Subsystem] = set()  # components that forces make one cell
    for _ in range(8):
        of_body, cells = _group(topology, entries, sizes, largest, whole)
        crossing = _give_forces(model, of_body)
        if not crossing:
            break
        for force in crossing:
            whole.add(_cell_around(model, force, entries, sizes))
    else:
        raise Apart
    for effort in model.efforts:
        _cell_of_joint(topology, of_body, effort.joint).efforts.append(effort)
    for sensor in model.sensors:
        _cell_of_sensor(of_body, sensor).sensors.append(sensor)
    for load in model.cells:
        _cell_of_load(topology, of_body, load).cells.append(load)
    _give_fields(model, cells)
    return _connect(cells, of_body)


def _component_counts(topology: Topology) -> tuple[dict[Subsystem, int], dict[Subsystem, int]]:
    """By component: links that enter it from outside, bodies in it."""
    entries: dict[Subsystem, int] = {}
    sizes: dict[Subsystem, int] = {}
    for link in topology.links:
        if link.joint is None:
            continue
        around = set()
        owner = link.parent.owner if isinstance(link.parent, Body) else None
        while owner is not None:
            around.add(owner)
            owner = owner.owner
        owner = link.carrier.owner
        while owner is not None:
            sizes[owner] = sizes.get(owner, 0) + 1
            if owner not in around:
                entries[owner] = entries.get(owner, 0) + 1
            owner = owner.owner
    return entries, sizes


def _group(
    topology: Topology, entries: dict[Subsystem, int], sizes: dict[Subsystem, int], largest: int, whole: set[Subsystem]
) -> tuple[dict[Carrier, Cell], list[Cell]]:
    cells: dict[Element, Cell] = {}
    of_body: dict[Carrier, Cell] = {}
    for link in topology.links:
        if link.joint is None:
            continue
        key: Element = link.carrier
        owner = key.owner
        while owner is not None:
            if owner in whole or (sizes[owner] <= largest and entries.get(owner) == 1):
                key = owner
            owner = owner.owner
        cell = cells.get(key)
        if cell is None:
            cell = cells[key] = Cell()
        cell.links.append(link)
        of_body[link.carrier] = cell
    return of_body, list(cells.values())


def _give_forces(model: Elaborated, of_body: dict[Carrier, Cell]) -> list[Force]:
    """Put each force into its cell; those that span several are returned."""
    crossing = []
    for force in model.forces:
        first = force.first.body if force.first is not None else None
        second = force.second.body
        one, two = (of_body.get(end) if end is not None else None for end in (first, second))
        if one is None and two is None:  # between grounds: it moves nothing, but it has channels and energy
            next(iter(of_body.values())).forces.append(force)
            continue
        if one is two or one is None:
            home = two
        elif two is None:
            home = one
        elif two.parent is first:
            home = two
        elif one.parent is second:
            home = one
        else:
            crossing.append(force)
            continue
        assert home is not None
        home.forces.append(force)
    return crossing


def _cell_around(
    model: Elaborated, force: Force, entries: dict[Subsystem, int], sizes: dict[Subsystem, int]
) -> Subsystem:
    """The lowest component around both bodies of a force that can be a cell."""
    assert force.first is not None
    component: Subsystem | None = common_owner(model, [force.first.body, force.second.body])
    while component is not None and sizes[component] <= LARGEST_WITH_FORCES:
        if entries.get(component) == 1:
            return component
        component = component.owner
    raise Apart


def _cell_of_joint(topology: Topology, of_body: dict[Carrier, Cell], joint: Joint) -> Cell:
    for frame in (joint.second, joint.first):
        cell = of_body.get(frame.body)
        if cell is not None and topology.link(frame.body).joint is joint:
            return cell
    raise Apart


def _cell_of_load(topology: Topology, of_body: dict[Carrier, Cell], load: LoadCell) -> Cell:
    """The cell of what a load cell measures, which must hold the frames it refers to."""
    element: Any = load.element
    if isinstance(element, Force):
        found = next((cell for cell in of_body.values() if any(element is force for force in cell.forces)), None)
    else:
        found = _cell_of_joint(topology, of_body, element.joint if isinstance(element, Effort) else element)
    if found is None or any(of_body.get(frame.body) is not found for frame in load.frames):
        raise Apart
    return found


def _cell_of_sensor(of_body: dict[Carrier, Cell], sensor: Sensor) -> Cell:
    """The cell of all bodies a sensor looks at."""
    found = [of_body.get(frame.body) for frame in sensor.frames]
    if found[0] is None or any(cell is not found[0] for cell in found):
        raise Apart
    return found[0]


def _give_fields(model: Elaborated, cells: Iterable[Cell]) -> None:
    kept: dict[Subsystem | None, tuple[Field, ...]] = {}
    for cell in cells:
        if not model.fields:
            return
        owners = {link.carrier.owner: link.carrier for link in cell.links}
        for owner, body in owners.items():
            if owner not in kept:
                kept[owner] = tuple(f for f in model.fields if f.owner is not None and f.owner.contains(body))
        cell.fields = tuple(dict.fromkeys(f for owner in owners for f in kept[owner]))


def _connect(cells: list[Cell], of_body: dict[Carrier, Cell]) -> list[Cell]:
    """Owners and children, and the cells ordered by level; like children of like cells come next to each other."""
    roots = []
    for cell in cells:
        parent: Any = cell.parent
        cell.owner = of_body.get(parent)
        if cell.owner is None:
            roots.append(cell)
        else:
            cell.owner.children.append((parent, cell))
    ordered: list[Cell] = []
    level, number = roots, 0
    while level:
        for cell in level:
            cell.level, cell.place = number, len(ordered)
            ordered.append(cell)
        most = max(len(cell.children) for cell in level)
        level = [cell.children[k][1] for k in range(most) for cell in level if k < len(cell.children)]
        number += 1
    return ordered


def find_blocks(cells: list[Cell], largest: int = BLOCK) -> None:
    """Number the blocks: whole subtrees, or neighbouring ones together, of about `largest` bodies.

    What a block keeps fits into a processor's own cache, and blocks do not depend on each other.
    """
    sizes = [len(cell.links) for cell in cells]
    numbers = {cell: k for k, cell in enumerate(cells)}
    for cell in reversed(cells):
        if cell.owner in numbers:
            sizes[numbers[cell.owner]] += sizes[numbers[cell]]
    block, filled = 0, largest
    for size, cell in zip(sizes, cells, strict=True):
        above = cell.owner.block if cell.owner in numbers else 0
        if above:
            cell.block = above
        elif size <= largest:
            if filled + size > largest:
                block, filled = block + 1, 0
            filled += size
            cell.block = block
