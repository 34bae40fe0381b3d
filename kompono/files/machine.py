"""A recipe carried out: the class of machines from files, and the words recipes are written in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from kompono import library
from kompono.errors import FileError, KomponoError, ModelError, suggest
from kompono.files.place import Place
from kompono.files.recipe import At, Make, On, Recipe, Ref, Start
from kompono.files.table import Table
from kompono.given import numbers
from kompono.model.body import Body, Carrier, Frame, Ground
from kompono.model.signal import Input
from kompono.model.subsystem import Subsystem

WORDS: dict[str, Any] = {
    **{name: getattr(library, name) for name in library.__all__},
    "Body": Body,
    "Ground": Ground,
    "Input": Input,
}


class Machine(Subsystem):
    """A machine, or a part of one, from a file. Members have the names of the file.

    `imported` is the table of what became of the file; `frame(name)` a frame of the file; `keyframe(name)` one of its
    named starts, for `simulate(machine, initial=machine.keyframe("home"))`. No file says which steps suit its machine,
    so commands take a method that finds out.
    """

    run_defaults: ClassVar[dict[str, Any]] = {"until": 1.0, "step": 1e-3, "method": "dopri5"}
    recipe: ClassVar[Recipe]
    imported: ClassVar[Table]
    starts: ClassVar[Mapping[str, Mapping[str, float]]] = {}
    inputs: ClassVar[Mapping[str, Mapping[str, float]]] = {}

    if TYPE_CHECKING:  # members are those of the file

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, *, place: Place | None = None) -> None:
        here = place or Place()
        for name, make in self.recipe.members.items():
            if isinstance(make, Make):
                setattr(self, name, _made(self, make, here))
            else:
                setattr(self, name, {key: _made(self, each, here) for key, each in make.items()})
        self.expose(*[_member(self, name) for name in self.recipe.exposes])

    def frame(self, name: str, at: Any = (0.0, 0.0, 0.0)) -> Frame:
        """The frame of a part (link, body, site) of the file, by its name there; of an inner one by a dotted path. `at`
        (3) [m] is a place in it: a point as the drawing of the part has it.
        """
        homes = {".".join(path): home for path, home in self.recipe.homes.items()}
        if name not in homes:
            raise ModelError(f"there is no frame {name!r}.", path=self.label, fix=suggest(name, homes))
        carrier, place = homes[name]
        place = place @ Place(numbers(at, (3,), "the place", self.label, fix="at=(x, y, z)"))
        return _member(self, carrier).at(*place.position.tolist(), orientation=place.rotation)

    @property
    def coordinates(self) -> dict[str, str]:
        """Channels of coordinates by the names of joints in the file; of a ball or plane, the joint."""
        prefix = f"{self.path}." if self.path else ""
        found = {name: f"{prefix}{channel}" for name, channel in self.recipe.coordinates.items()}
        return _Coordinates(found, self.label)

    def keyframe(self, name: str) -> dict[str, float]:
        """Start values by channel, of a named start of the file."""
        return self._named(self.starts, name)

    def controls(self, name: str) -> dict[str, float]:
        """Values of inputs by path, of a named start of the file."""
        return self._named(self.inputs, name)

    def _named(self, known: Mapping[str, Mapping[str, float]], name: str) -> dict[str, float]:
        if name not in known:
            raise ModelError(f"there is no keyframe {name!r}.", path=self.label, fix=suggest(name, known))
        prefix = f"{self.path}." if self.path else ""
        return {f"{prefix}{path}": value for path, value in known[name].items()}


class _Coordinates(dict[str, str]):
    """Channels by names of joints; a name that is not there is refused with the nearest one."""

    def __init__(self, found: dict[str, str], label: str) -> None:
        super().__init__(found)
        self.label = label

    def __missing__(self, name: str) -> str:
        raise ModelError(f"there is no joint {name!r} with a coordinate.", path=self.label, fix=suggest(name, self))


def machine_class(recipe: Recipe, **attributes: Any) -> type[Machine]:
    """The class of a recipe; one recipe has one class."""
    known = vars(recipe).get("_class")
    if known is None:
        known = type(recipe.name, (Machine,), {"recipe": recipe, "__doc__": recipe.title, **attributes})
        object.__setattr__(recipe, "_class", known)
    return known


def _member(machine: Subsystem, path: str) -> Any:
    found: Any = machine
    for name in path.split("."):
        found = getattr(found, name)
    return found


def _made(machine: Subsystem, make: Make, here: Place) -> Any:
    """The element of a declaration; what is wrong with it is told with its place in the file."""
    what = machine_class(make.what) if isinstance(make.what, Recipe) else WORDS[make.what]
    arguments = [_value(machine, each, here) for each in make.arguments]
    keywords: dict[str, Any] = {}
    for key, value in make.keywords.items():
        if isinstance(value, Start):
            keywords.update(_started(what, here @ Place.of(value.position, value.quaternion)))
        else:
            keywords[key] = _value(machine, value, here)
    try:
        return what(*arguments, **keywords)
    except KomponoError as error:
        if make.where and not isinstance(error, FileError):
            raise FileError(error.message, path=make.where, fix=error.fix) from error
        raise


def _started(what: Any, world: Place) -> dict[str, Any]:
    position = tuple(world.position.tolist())
    if what is Body:
        return {"start_position": position, "start_orientation": world.quaternion}
    return {"position": position, "orientation": world.quaternion}


def _value(machine: Subsystem, value: Any, here: Place) -> Any:
    if isinstance(value, Make):
        return _made(machine, value, here)
    if isinstance(value, At):
        carrier: Carrier = _member(machine, value.carrier)
        if value.orientation is None and not any(value.position):
            return carrier
        return carrier.at(*value.position, orientation=value.orientation)
    if isinstance(value, On):
        return getattr(_value(machine, value.frame, here), value.kind)(**value.keywords)
    if isinstance(value, Ref):
        found = _member(machine, value.path)
        return found if value.key is None else found[value.key]
    if isinstance(value, Place):
        return here @ value
    if isinstance(value, tuple):
        return tuple(_value(machine, each, here) for each in value)
    return value
