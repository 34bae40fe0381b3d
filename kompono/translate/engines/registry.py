"""The engines: one entry each, with its options, its defaults, what it refuses, and what others must know about it.

To add one, write its class (see `engine.Engine`) and its entry here. Nothing else in the package knows engines by name.
Classes are imported when they are first used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kompono.errors import RunError, RunWarning, either, nearest, warn
from kompono.given import shown
from kompono.model.free import Free, Placed, Turned
from kompono.request import Request

if TYPE_CHECKING:
    from kompono.translate.engines.traced import TracedEngine


class Feature(Enum):
    """What an engine may refuse."""

    SEALED_PARTS = "sealed parts"
    MANY_RUNS = "many runs side by side"
    LAWS = "contact and dry friction"


@dataclass(frozen=True)
class EngineOption:
    """An option of one engine: the names it may have (none: checked elsewhere), and which of them is the default."""

    names: tuple[str, ...] = ()
    default: str | None = None


@dataclass(frozen=True)
class EngineEntry:
    """One engine. `made` is its class, as module:name; it is made with a model, a topology, kernels, and `takes`."""

    name: str
    about: str  # its coordinates, in a few words
    made: str
    takes: tuple[str, ...]
    places: type[Free] | None = None  # how it places every body; None: its coordinates are those of a spanning tree
    own: Mapping[str, EngineOption] = field(default_factory=dict)  # options that no other engine has
    holds: str = ""  # how it holds joints, for who gives it an option of another engine
    refuses: Mapping[Feature, str] = field(default_factory=dict)  # with the reason
    steps: str = "derivative"  # the routine that methods make steps of
    method: str = "rk4"  # what it is best run with, with steps [s], each so-many-th recorded
    step: float = 1e-3
    every: int = 1
    grows: bool = False  # whether large trees are translated by types of components
    links: bool = False  # whether joints are stiff links with forces of their own
    keeps: str = "condition"  # what a joint or constraint outside its tree is, in reports
    counted: tuple[str, ...] = ()  # projections whose operations `cost` counts

    @property
    def by_joints(self) -> bool:
        """Whether the state is that of joints."""
        return self.places is None

    def load(self) -> type[TracedEngine]:
        """Its class."""
        module, _, name = self.made.partition(":")
        return getattr(import_module(module), name)

    def options(self, request: Request) -> dict[str, Any]:
        """The options of its own that have names, each as asked for or by default; RunError for a name there is not."""
        found = {}
        for name, choice in self.own.items():
            if choice.names:
                found[name] = getattr(request, name) or choice.default
                _check_name(name, found[name], choice.names)
        return found

    def refusal(self, feature: Feature) -> tuple[str, str] | None:
        """Why it refuses something, and which engines do not."""
        if feature not in self.refuses:
            return None
        able = [repr(entry.name) for entry in ENGINES.values() if feature not in entry.refuses]
        return self.refuses[feature], f"Use engine={either(able)}"


_ALL = (
    EngineEntry(
        "relative",
        about="joint coordinates",
        made="kompono.translate.engines.relative:RelativeEngine",
        takes=("close",),
        holds="The relative engine keeps loops closed by itself; stabilize=False switches that off.",
        grows=True,
        keeps="closes a loop",
        counted=("post-stabilization",),
    ),
    EngineEntry(
        "absolute",
        about="all bodies",
        made="kompono.translate.engines.absolute:AbsoluteEngine",
        takes=("projection", "metric", "baumgarte", "close"),
        places=Placed,
        own={
            "projection": EngineOption(("standard", "successive", "distributed", "baumgarte", "none"), "distributed"),
            "metric": EngineOption(("identity", "mass"), "mass"),
        },
        holds="The absolute engine keeps its joints exactly.",
        counted=("standard", "successive", "distributed"),
    ),
    EngineEntry(
        "discrete",
        about="tiny steps",
        made="kompono.translate.engines.discrete.engine:DiscreteEngine",
        takes=(),
        places=Turned,
        own={"stiffness": EngineOption(), "damping": EngineOption()},
        holds="The discrete engine holds its joints by stiffness=... and damping=...",
        refuses={
            Feature.SEALED_PARTS: "the inside of a sealed part is in joint coordinates",
            Feature.LAWS: "it solves for no forces",
        },
        steps="kick",
        method="leapfrog",
        step=1e-5,
        every=100,
        links=True,
        keeps="stiff link",
    ),
)
ENGINES: dict[str, EngineEntry] = {entry.name: entry for entry in _ALL}


def engine_named(name: str) -> EngineEntry:
    """The entry of an engine; RunError if there is none."""
    _check_name("engine", name, tuple(ENGINES))
    return ENGINES[name]


def check_options(request: Request) -> None:
    """Raise for an option that only another engine has."""
    chosen = engine_named(request.engine)
    for entry in ENGINES.values():
        for name in entry.own:
            value = getattr(request, name)
            if value is not None and name not in chosen.own:
                raise RunError(f"{name} {shown(value)} belongs to engine={entry.name!r}.", fix=chosen.holds)
    if request.baumgarte != Request.baumgarte and request.projection != "baumgarte":
        what = f"baumgarte {shown(request.baumgarte)}: it belongs to projection='baumgarte' of the absolute engine"
        warn(f"{what}, and does nothing here.", RunWarning)


def _check_name(what: str, name: Any, known: tuple[str, ...]) -> None:
    if name not in known:
        raise RunError(f"there is no {what} {name!r}.", fix=nearest(name, known) or f"Known: {', '.join(known)}.")
