"""translate(model) -> Translation: the program, and what people and solvers want to know about how it was made."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

import casadi as ca

from kompono.errors import RunError, nearest
from kompono.model.free import Placed, Turned
from kompono.model.subsystem import Subsystem
from kompono.translate.absolute import METRICS, PROJECTIONS, AbsoluteEngine
from kompono.translate.allowed import check_conditions, check_constants
from kompono.translate.closure import group_sizes
from kompono.translate.condense import closing_elements
from kompono.translate.elaborate import Elaborated, elaborate
from kompono.translate.engine import Engine
from kompono.translate.joint_laws import check_joints
from kompono.translate.keep import Head, Kept, Shelf, find_kept
from kompono.translate.nested.cells import Apart
from kompono.translate.nested.engine import NestedEngine
from kompono.translate.parts.enclosed import closed_subsystems
from kompono.translate.parts.sealed import refuse_engine
from kompono.translate.program import Program, Routine
from kompono.translate.relative import Close, RelativeEngine
from kompono.translate.topology import Topology, find_topology, place_all
from kompono.translate.tracer import add_kernel, operations

if TYPE_CHECKING:
    from kompono.translate.parts.owner import Parted

ENGINES = ("relative", "absolute", "discrete")
NESTED_FROM = 1000  # bodies from which on a model is translated by types of components, if it can be
INLINE_LIMIT = 60_000  # operations of the derivative; a larger model stays a schedule of shared kernels


@dataclass(frozen=True)
class Translation:
    """A program with the model and topology it came from."""

    model: Elaborated
    topology: Topology
    engine: Engine
    program: Program
    make_engine: Callable[[bool], Engine]  # the same engine traced anew, with shared kernels or inlined

    def select(self, columns: Sequence[int]) -> str:
        """The name of a routine that gives only these columns of the channels: nobody else's are compiled or
        computed.
        """
        routines = self.program.routines
        channels = self.program.channels
        everything = isinstance(channels, tuple) and len(columns) == len(channels)
        if everything or not isinstance(routines, Routines):
            return "outputs"
        name = "outputs_" + hashlib.sha256(repr(list(columns)).encode()).hexdigest()[:12]
        routines.add(name, lambda: self.engine.outputs(name, columns))
        return name


class Routines(Mapping[str, Routine]):
    """Routines by name, traced when first asked for: a run without Jacobian never makes one."""

    def __init__(self, makers: dict[str, Callable[[], Routine]], kept: Kept | None = None) -> None:
        self._makers, self._kept = makers, kept
        self._made: dict[str, Routine] = {}

    def __getitem__(self, name: str) -> Routine:
        if name not in self._made:
            make = self._makers[name]
            self._made[name] = make() if self._kept is None else self._kept.routine(name, make)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def add(self, name: str, maker: Callable[[], Routine]) -> None:
        """Offer one more routine."""
        self._makers.setdefault(name, maker)

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


@contextmanager
def _uncollected() -> Iterator[None]:
    """No garbage collection: a large model is many objects that all stay, and looking at them again and again takes
    longer than translating them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_uncollected()
def translate(
    model: Subsystem,
    *,
    engine: str = "relative",
    cut: Iterable[str] = (),
    independent: Iterable[str] = (),
    projection: str = "distributed",
    metric: str = "mass",
    baumgarte: tuple[float, float] = (20.0, 20.0),
    inline_limit: int = INLINE_LIMIT,
    nested_from: int = NESTED_FROM,
    shelf: Shelf | None = None,
    close: Close | None = None,
    closed: Iterable[str] = (),
) -> Translation:
    """Translate a model for an engine; from `nested_from` bodies on by types of components, where that is possible.
    What is on the `shelf` is not traced again; `close` finds a start where the loops are closed, at which redundant
    conditions are judged; without it that is left to pivots at run time.

    relative: `cut` names joints that shall close loops, `independent` bodies that shall be roots. absolute:
    `projection` and its `metric`; `baumgarte` are the two frequencies [1/s] of that method. `closed` (globs of paths)
    names components that stay closed, beside those declared so.
    """
    _check_names(engine, projection, metric)
    _check_frequencies(baumgarte)
    elaborated = _checked(model)
    relative = engine == "relative"
    kernels: dict[str, ca.Function] = {}
    refuse_engine(elaborated, engine)
    parts = closed_subsystems(elaborated, closed)
    parted = _parted(elaborated, parts, (engine, projection, metric), cut, independent, close) if parts else None
    topology = parted.topology if parted else _topology(elaborated, engine, cut, independent)
    if relative and parted is None and len(elaborated.bodies) >= nested_from:
        nested = _nested(elaborated, topology, kernels)
        if nested is not None:
            return nested

    def make(shared: bool) -> Engine:
        if parted is not None:
            return parted.engine(kernels, shared)
        if relative:
            return RelativeEngine(elaborated, topology, kernels, shared=shared, close=close)
        if engine == "discrete":
            from kompono.translate.discrete import DiscreteEngine  # others start without it

            return DiscreteEngine(elaborated, topology, kernels, shared=shared)
        options = {"projection": projection, "metric": metric, "baumgarte": baumgarte, "close": close}
        return AbsoluteEngine(elaborated, topology, kernels, shared=shared, **options)

    asked = (engine, tuple(cut), tuple(independent), projection, metric, tuple(baumgarte), inline_limit, close is None)
    sealed = parted is not None and parted.sealed
    asked = (*asked, *(elaborated.path(part) for part in parts))
    kept = None if sealed else find_kept(shelf, elaborated, asked, kernels)
    closing = () if relative else closing_elements(elaborated, topology)
    return _finished(make, kept, lambda: _chosen(make, elaborated, closing, inline_limit), opens=not sealed)


def _finished(
    make: Callable[[bool], Engine], kept: Kept | None, choose: Callable[[], Engine], opens: bool
) -> Translation:
    """The translation by an engine, chosen anew or as it was kept; what `opens` can be differentiated."""
    head = kept.head() if kept else None
    chosen = make(head.shared) if head else choose()
    kernels = chosen.kernels
    if head is None:
        head = Head(chosen.shared, chosen.channels, _strays(chosen), *chosen.independence)
        if kept:
            kept.put_head(head)
    opened = (lambda: jacobian(make(False).opened_derivative(), kernels)) if opens else None
    routines = _routines(chosen, opened, kept, head.strays)
    program = replace(_program(chosen, routines, head.channels), independent=head.independent, slips=head.slips)
    return Translation(chosen.model, chosen.topology, chosen, program, make)


def _checked(model: Subsystem) -> Elaborated:
    elaborated = elaborate(model)
    for check in (check_constants, check_joints, check_conditions):
        check(elaborated)
    return elaborated


def _parted(
    model: Elaborated, parts: list[Subsystem], way: tuple[str, str, str], cut: Iterable[str],
    independent: Iterable[str], close: Close | None,
) -> Parted:  # fmt: skip
    from kompono.translate.parts.owner import Parted  # others start without it

    return Parted(model, parts, way, cut, independent, close)


def _strays(engine: Engine) -> bool:
    """Whether stages of a step may leave the conditions."""
    return engine.projects and any(group_sizes(element) for element in engine.straying)


def _topology(model: Elaborated, engine: str, cut: Iterable[str], independent: Iterable[str]) -> Topology:
    if engine == "relative":
        return find_topology(model, cut=cut, independent=independent)
    return place_all(model, Turned if engine == "discrete" else Placed)


def _chosen(make: Callable[[bool], Engine], model: Elaborated, closing: Iterable[Any], limit: int) -> Engine:
    """The engine with kernels inlined, or shared if that would be too much code; conditions of `closing` are costly."""
    rows = sum(sum(group_sizes(element)) for element in closing)
    chosen = make(100 * len(model.bodies) + 600 * rows > limit)
    if not chosen.shared and operations(chosen.derivative(), chosen.kernels) > limit:
        chosen = make(True)
    return chosen


def _program(engine: Engine, routines: Routines, channels: Any) -> Program:
    model = engine.model
    return Program(
        engine.kernels,
        routines,
        engine.coordinate_names(),
        engine.speed_names(),
        tuple(model.path(signal) for signal in model.inputs),
        (*(model.path(signal) for signal in model.parameters), *engine.hidden_names()),
        channels,
        tuple(model.path(mode) for mode in model.modes),
        tuple(model.path(event) for event in model.events),
    )


def _nested(model: Elaborated, topology: Topology, kernels: dict[str, ca.Function]) -> Translation | None:
    """The translation of a large model by types of components, if it is made of such."""
    try:
        engine = NestedEngine(model, topology, kernels)
    except Apart:
        return None

    def make(shared: bool) -> Engine:
        return RelativeEngine(model, engine.topology, kernels, shared=shared)

    routines = _routines(engine, lambda: jacobian(make(False).derivative(), kernels))
    return Translation(model, engine.topology, engine, _program(engine, routines, engine.channels), make)


def _check_names(engine: str, projection: str, metric: str) -> None:
    for name, value, known in (
        ("engine", engine, ENGINES),
        ("projection", projection, PROJECTIONS),
        ("metric", metric, METRICS),
    ):
        if value not in known:
            raise RunError(f"there is no {name} {value!r}.", fix=nearest(value, known) or f"Known: {', '.join(known)}.")


def _check_frequencies(baumgarte: tuple[float, float]) -> None:
    try:
        good = len(baumgarte) == 2 and all(0 <= float(value) < inf for value in baumgarte)
    except (TypeError, ValueError):
        good = False
    if not good:
        raise RunError(f"baumgarte = {baumgarte!r} are not two frequencies.", fix="Use e.g. baumgarte=(20, 20) [1/s].")


def _routines(
    engine: Engine, jacobian: Callable[[], Routine] | None, kept: Kept | None = None, strays: bool = False
) -> Routines:
    """All routines an engine offers, each traced when first asked for; what is sealed cannot be differentiated."""
    makers: dict[str, Callable[[], Routine]] = {
        "derivative": engine.derivative,
        "outputs": engine.outputs,
        "conditions": engine.conditions,
        "placement": engine.placement,
        "rates": engine.rates,
        "normalize": engine.normalize,
        "holds": engine.holds,
        "measured": engine.measured,
        **({"jacobian": jacobian} if jacobian is not None else {}),
        **engine.own_routines(),
    }
    if engine.projects:
        makers["project"] = engine.project
    if strays:
        makers["gap"] = engine.gap
    if engine.model.events:
        makers["guards"] = engine.guards
        for k in range(len(engine.model.events)):
            makers[f"switch_{k}"] = lambda k=k: engine.switch(k)
    return Routines(makers, kept)


def assembly_program(
    model: Elaborated, *, cut: Iterable[str] = (), independent: Iterable[str] = (), shelf: Shelf | None = None
) -> Translation:
    """What is needed to close the loops in joint coordinates and place the bodies, without dynamics."""
    topology = find_topology(model, cut=cut, independent=independent)
    kernels: dict[str, ca.Function] = {}
    engine = RelativeEngine(model, topology, kernels, shared=False)
    kept = find_kept(shelf, model, ("assembly", tuple(cut), tuple(independent)), kernels)
    return Translation(model, topology, engine, placing_program(engine, kept), lambda _: engine)


def placing_program(engine: Engine, kept: Kept | None = None) -> Program:
    """The routines of an engine that assembly needs."""
    model = engine.model
    wanted = "conditions", "rates", "placement", "normalize", "holds", "measured"
    makers: dict[str, Callable[[], Routine]] = {name: getattr(engine, name) for name in wanted}
    inputs, parameters, modes = (
        tuple(model.path(signal) for signal in kind) for kind in (model.inputs, model.parameters, model.modes)
    )
    names = engine.coordinate_names(), engine.speed_names()
    return Program(engine.kernels, Routines(makers, kept), *names, inputs, parameters, modes=modes)


def jacobian(whole: Routine, kernels: dict[str, ca.Function]) -> Routine:
    """d rate / d state (column by column), exact, from the inlined derivative."""
    count = sum(size for _, size in whole.inputs)
    if not whole.calls:  # nothing moves
        size = len(whole.result[0])
        zeros = ((0.0,) * size**2,)
        return Routine("jacobian", whole.inputs, (("jacobian", size**2),), (), zeros, count)
    call = whole.calls[0]
    x = ca.SX.sym("x", count)
    values = ca.vertcat(x, kernels[call.kernel](x))
    rate = ca.vertcat(*[values[s] if isinstance(s, int) else ca.SX(s) for s in whole.result[0]])
    size = rate.shape[0]
    matrix = ca.vec(ca.densify(ca.jacobian(rate, x[1 : 1 + size])))
    name = add_kernel(kernels, x, matrix)
    call = type(call)(name, tuple(range(count)), tuple(range(count, count + size * size)), "jacobian")
    return Routine(
        "jacobian", whole.inputs, (("jacobian", size * size),), (call,), (call.outputs,), count + size * size
    )
