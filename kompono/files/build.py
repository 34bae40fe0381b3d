"""The one builder: from an assembly to the recipe of a component, and of the components in it.

Groups become bodies, edges joints, mates constraints. An assembly that occurs twice with equal content is one recipe,
so one class with two instances.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kompono.errors import FileError, ModelWarning, warn
from kompono.files.assembly import Assembly, Coupled, End, Noted, Part, Path, Step, Summed
from kompono.files.efforts import acting, coupled
from kompono.files.fit import mated
from kompono.files.graph import Graph, Group
from kompono.files.joints import joined
from kompono.files.machine import Machine, machine_class
from kompono.files.masses import possible
from kompono.files.names import Names, camel
from kompono.files.place import Place
from kompono.files.recipe import At, Make, Recipe, Start, at
from kompono.files.sameness import content
from kompono.files.starts import named_controls, named_starts
from kompono.files.table import Table
from kompono.files.touching import touched
from kompono.spatial.vectors import check_inertia

MOST_BODIES = 20_000


@dataclass(frozen=True)
class Choices:
    """What the user may choose for the build."""

    repair: bool = False
    limits: bool = True
    friction: bool = True
    ignore: frozenset[str] = frozenset()
    gravity: Any = None  # (3) [m/s^2], None for none


@dataclass
class Told:
    """What the table will say, collected over all components."""

    lines: dict[Noted, None] = field(default_factory=dict)
    masses: dict[str, tuple[float, str]] = field(default_factory=dict)  # mass [kg] and where from, by body
    named: list[tuple[str, str]] = field(default_factory=list)
    ignored: set[str] = field(default_factory=set)

    def note(self, fate: str, name: str, words: str) -> None:
        """Add a line; the same one only once."""
        self.add([Noted(fate, name, words)])

    def add(self, lines: Iterable[Noted]) -> None:
        """Add lines; the same one only once."""
        self.lines.update(dict.fromkeys(lines))


def build(assembly: Assembly, choices: Choices) -> Machine:
    """The model of an assembly."""
    told = Told(dict.fromkeys(assembly.notes), ignored={line.name for line in assembly.notes if line.fate == "ignored"})
    level = Level(assembly, choices, told, {}, standing=True, inner=())
    recipe = level.recipe()
    unknown = choices.ignore - told.ignored
    if unknown:
        fix = "Connections, actuators, couplings, contacts can be ignored, by the names of the file, see `imported`."
        raise FileError(f"there is no {sorted(unknown)[0]!r} to ignore.", path=assembly.file, fix=fix)
    masses = tuple((body, *mass) for body, mass in told.masses.items())
    table = Table(assembly.file, tuple(told.lines), masses, tuple(told.named))
    _warn(assembly, told)
    return machine_class(recipe, imported=table, starts=named_starts(level), inputs=named_controls(level))()


def _warn(assembly: Assembly, told: Told) -> None:
    """Warn of what changes the motion: once for each fate, with the first of them; and where nothing moves."""
    if not told.masses:
        warn(f"{assembly.file}: nothing in it moves: all of it is held on the ground (see .imported).", ModelWarning)
    for fate in ("repaired", "ignored"):
        lines = [line for line in told.lines if line.fate == fate]
        if fate == "ignored":
            lines = [line for line in lines if "moves nothing" in line.told]
        if lines:
            more = f", and {len(lines) - 1} more (see .imported)" if len(lines) > 1 else ""
            warn(f"{assembly.file}: {lines[0].name} was {fate}: {lines[0].told}{more}.", ModelWarning)


class Level:
    """One component while it is built."""

    def __init__(
        self, assembly: Assembly, choices: Choices, told: Told, known: dict[Any, Recipe], *, standing: bool,
        inner: Path,
    ) -> None:  # fmt: skip
        self.assembly, self.choices, self.told, self.known = assembly, choices, told, known
        self.standing, self.inner = standing, inner
        self.graph = Graph(assembly, standing=standing)
        told.add(self.graph.notes)
        self.names = Names(name for name in dir(Machine) if not name.startswith("_"))
        self.members: dict[str, Make | Mapping[str, Make]] = {}
        self.homes: dict[Path, tuple[str, Place]] = {}
        self.coordinates: dict[str, tuple[str, str, Step]] = {}  # by name in the file: member, coordinate, step
        self.drawn: dict[Path, Place] = {
            (each.name,): each.place for each in assembly.instances if each.place is not None
        }
        self.motions: dict[Path, Any] = {(each.name,): each.motion for each in assembly.instances}
        self.bodies: dict[Path, str] = {}
        self.controls: dict[str, str] = {}  # inputs by actuator
        self.ropes: dict[str, str] = {}  # by name in the file
        self.activations: dict[str, str] = {}  # states between input and force, by actuator

    def recipe(self) -> Recipe:
        """All declarations."""
        if self.standing:
            self._ground()
        if not self.inner and self.choices.gravity is not None:
            self.members["gravity"] = Make("Gravity", (tuple(self.choices.gravity),))
            self.names.give("gravity")
        for group in self.graph.groups.values():
            if not (self.standing and group.lead == ()):
                self._body(group)
        self._parts()
        for edge in self.graph.edges:
            joined(self, edge)
        mated(self)
        for each in self.assembly.connections:
            if isinstance(each, Coupled | Summed):
                coupled(self, each)
        acting(self)
        touched(self)
        channels = {of: f"{name}.{own}" if own else name for of, (name, own, _) in self.coordinates.items()}
        what = f"From {self.assembly.file or 'a file'}." if not self.inner else f"A part, {'.'.join(self.inner)}."
        title = f"{self.assembly.name}. {what}" if self.assembly.name else what
        return Recipe(
            camel(self.assembly.name or "machine"), title, self.members, self._exposed(), self.homes, channels,
            bool(self.inner), self._hints(),
        )  # fmt: skip

    def _hints(self) -> tuple[str, ...]:
        """What the written file says at its end."""
        bodies = [name for path, (name, _) in self.homes.items() if path] or ["body"]
        two = (bodies[0], next((name for name in bodies if name != bodies[0]), bodies[0]))
        return tuple(line.format(*two) for line in self.assembly.hints)

    def _exposed(self) -> tuple[str, ...]:
        """What an owner may use: of a part, all its bodies, which other parts may be connected to."""
        return tuple(dict.fromkeys(name for name, _ in self.homes.values())) if self.inner else ()

    # -- bodies

    def _ground(self) -> None:
        group = self.graph.groups[()]
        name = self.names.give("ground")
        shapes = self._shapes(group, np.zeros(3))
        keywords: dict[str, Any] = {"shape": shapes} if shapes else {}
        if self.inner:
            keywords["start"] = Start((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
        self.members[name] = Make("Ground", (), keywords)
        self.bodies[()] = name
        self._settle(group, name, np.zeros(3))
        for path in group.members:
            if path and self.graph.parts[path].mass > 0:
                self.told.note("merged", ".".join(path), "it is fixed to the ground")

    def _body(self, group: Group) -> None:
        if len(self.told.masses) >= MOST_BODIES:
            raise FileError(f"there are more than {MOST_BODIES} bodies.", path=self.assembly.file)
        part = self.graph.parts[group.lead]
        name = self.called(".".join(group.lead), "body")
        inertia = self._inertia(group, part)
        keywords: dict[str, Any] = {"mass": group.mass, "inertia": inertia}
        drawn = next(
            (self.drawn[path] @ place.inverse() for path, place in group.members.items() if path in self.drawn), None
        )
        if drawn is not None:
            world = drawn @ Place(group.centre)
            keywords["start"] = Start(tuple(world.position.tolist()), world.quaternion)
        motion = self.motions.get(group.lead)
        if motion is not None and drawn is not None:
            arm = drawn.rotation @ group.centre
            keywords["start_velocity"] = tuple((motion[0] + np.cross(motion[1], arm)).tolist())
            keywords["start_angular_velocity"] = tuple(motion[1].tolist())
        shapes = self._shapes(group, group.centre)
        if shapes:
            keywords["shape"] = shapes
        self.members[name] = Make("Body", (), keywords, part.where)
        self.bodies[group.lead] = name
        self._settle(group, name, group.centre)
        origins = {self.graph.parts[path].origin for path in group.members if path in self.graph.parts}
        full = ".".join((*self.inner, name))
        self.told.masses.setdefault(full, (group.mass, " and ".join(sorted(origins))))
        for path in group.members:
            if path not in ((), group.lead):
                self.told.note("merged", ".".join(path), f"into {name}")

    def _drawn(self, group: Group) -> Place | None:
        """Where the frame of a group is in the component as drawn, if the file says it of one of its parts."""
        places = (self.drawn[path] @ at.inverse() for path, at in group.members.items() if path in self.drawn)
        return next(places, None)

    def _inertia(self, group: Group, part: Part) -> tuple[tuple[float, ...], ...]:
        inertia = group.inertia
        problem = check_inertia(group.mass, inertia)
        if problem and not (np.isfinite(group.mass) and group.mass > 0 and np.isfinite(inertia).all()):
            raise FileError(f"{part.name}: {problem}.", path=part.where or self.assembly.file)
        if problem:
            best = possible(inertia)
            moments = ", ".join(f"{moment:.6g}" for moment in np.linalg.eigvalsh(best))
            if not self.choices.repair:
                raise FileError(
                    f"{part.name}: {problem}.", path=part.where or self.assembly.file,
                    fix=f"Correct the file; repair=True takes the nearest possible moments, {moments} kg m^2.",
                )  # fmt: skip
            self.told.note("repaired", part.name, f"{problem}; now {moments}")
            inertia = best
        return tuple(tuple(row) for row in inertia.tolist())

    def _shapes(self, group: Group, centre: np.ndarray) -> tuple[Any, ...]:
        found = []
        for path, place in group.members.items():
            if path in self.graph.parts:
                shift = Place(-centre) @ place
                shapes = self.graph.parts[path].shapes
                found += [shape.at(*shift.position.tolist(), orientation=shift.rotation) for shape in shapes]
        return tuple(found)

    def _settle(self, group: Group, name: str, centre: np.ndarray) -> None:
        for path, place in group.members.items():
            self.homes[path] = name, Place(-centre) @ place

    def called(self, name: str, word: str) -> str:
        """A name for a member, told in the table where it is not that of the file."""
        given = self.names.give(name, word)
        if given != name:
            self.told.named.append((".".join((*self.inner, name)), ".".join((*self.inner, given))))
        return given

    # -- parts that are assemblies

    def _parts(self) -> None:
        for instance in self.assembly.instances:
            what = self.assembly.parts[instance.of]
            if not isinstance(what, Assembly):
                continue
            standing = self.standing and instance.fixed
            key = content(what), standing, self.choices.limits, self.choices.friction
            name = self.called(instance.name, "part")
            inner = (*self.inner, name)
            level = Level(what, self.choices, self.told, self.known, standing=standing, inner=inner)
            found = level.recipe()  # also of an equal one: the table names its bodies
            recipe = self.known.setdefault(key, found)
            place = instance.place or Place()
            self.members[name] = Make(recipe, (), {"place": place})
            for inner, (member, offset) in recipe.homes.items():
                self.homes[(instance.name, *inner)] = f"{name}.{member}", offset
            self.bodies[(instance.name,)] = name

    def carrier(self, path: Path) -> tuple[str, Place]:
        """The member that carries a group or inner part, and the place of the part's frame on it."""
        if path not in self.homes:
            named = ".".join(path) or "the assembly's own frame"
            raise FileError(f"{named} is on no body.", path=self.assembly.file, fix="Fix one of its parts.")
        return self.homes[path]

    def frame(self, path: Path, place: Place) -> At:
        """A frame on a group or inner part."""
        carrier, offset = self.carrier(path)
        return at(carrier, offset @ place)

    def end(self, end: End) -> At:
        """A frame of the file as a frame on a body."""
        return self.frame(*self.graph.place(end))
