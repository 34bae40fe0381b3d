"""translate(model) -> Translation: the program, and what people and solvers want to know about how it was made."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca

from kompono import kinds
from kompono.errors import RunError
from kompono.foreign.element import Fmu
from kompono.garbage import uncollected
from kompono.model.subsystem import Subsystem
from kompono.request import EVENTS, IMPACTS, SOFT, Request
from kompono.sealed.element import Sealed
from kompono.translate.declared.allowed import check_conditions, check_constants
from kompono.translate.declared.elaborate import Elaborated, elaborate
from kompono.translate.declared.idle import check_idle
from kompono.translate.declared.joint_laws import check_joints
from kompono.translate.declared.sampling import told_samples
from kompono.translate.declared.stored import Head, KeptTranslation, Shelf, find_kept
from kompono.translate.elimination.plan import closing_elements
from kompono.translate.engines.engine import Engine
from kompono.translate.engines.judging import Close
from kompono.translate.engines.placing import PlacingEngine
from kompono.translate.engines.posed import PosedEngine
from kompono.translate.engines.registry import EngineEntry, engine_named
from kompono.translate.engines.relative import RelativeEngine
from kompono.translate.engines.solved import SolvedEngine
from kompono.translate.engines.traced import TracedEngine
from kompono.translate.kernels import Kernels
from kompono.translate.laws.changing import samples_catch, sealed_with_laws
from kompono.translate.laws.refused import refuse_laws
from kompono.translate.laws.softened import softened
from kompono.translate.lengths import lengths_of
from kompono.translate.motion.conditions import Closing, group_sizes
from kompono.translate.numbers import OpenNumbers
from kompono.translate.opened import all_numbers, open_numbers, open_places, with_numbers
from kompono.translate.parts.enclosed import closed_subsystems, isolated_subsystems
from kompono.translate.parts.refused import refuse_engine
from kompono.translate.program import IMPLICIT, TIED, Channel, Program, Routine, law_events
from kompono.translate.routines import Routines
from kompono.translate.structure.lumps import lumped
from kompono.translate.structure.topology import Topology, find_topology, place_all
from kompono.translate.texts import callbacks

if TYPE_CHECKING:
    from kompono.translate.parts.owner import Parted

INLINE_LIMIT = 60_000  # operations of the derivative; a larger model stays a schedule of shared kernels


@dataclass(frozen=True)
class Translation:
    """A program with the model and topology it came from."""

    model: Elaborated
    topology: Topology
    engine: Engine
    program: Program
    make_engine: Callable[[bool], TracedEngine]  # the same engine traced anew, with shared kernels or inlined

    def kept_together(self) -> AbstractContextManager[None]:
        """Routines that are traced meanwhile are kept on the shelf at the end, all at once."""
        routines = self.program.routines
        kept = routines.kept if isinstance(routines, Routines) else None
        return nullcontext() if kept is None else kept.together()

    def select(self, columns: Sequence[int]) -> str:
        """The name of a routine that gives only these columns of the channels: nobody else's are compiled or
        computed.
        """
        routines, channels = self.program.routines, self.program.channels
        if (isinstance(channels, tuple) and len(columns) == len(channels)) or not isinstance(routines, Routines):
            return "outputs"
        name = "outputs_" + hashlib.sha256(repr(list(columns)).encode()).hexdigest()[:12]
        for kind in ("", TIED) if "tied_outputs" in routines else ("",):
            routines.add(kind + name, lambda kind=kind: self.engine.outputs(kind + name, columns))
        return name


def translate(
    model: Subsystem,
    *,
    inline_limit: int = INLINE_LIMIT,
    shelf: Shelf | None = None,
    close: Close | None = None,
    **options: Any,
) -> Translation:
    """Translate a model for an engine; `options` are those of a `Request` that concern the solution: engine, cut,
    independent, closed, isolate, projection, metric, baumgarte, nested_from. The rest is as of `translated`.
    """
    return translated(model, Request(**options), inline_limit=inline_limit, shelf=shelf, close=close)


@uncollected()
def translated(
    model: Subsystem,
    request: Request,
    *,
    inline_limit: int = INLINE_LIMIT,
    shelf: Shelf | None = None,
    close: Close | None = None,
) -> Translation:
    """Translate a model as it is asked for; from `nested_from` bodies on by types of components, where that is
    possible. What is on the `shelf` is not traced again; `close` finds a start where the loops are closed, at which
    redundant conditions are judged; without it that is left to pivots at run time.
    """
    entry = engine_named(request.engine)
    chosen = {**entry.options(request), "baumgarte": kinds.frequencies("baumgarte", request.baumgarte)}
    elaborated = _checked(model)
    kernels = _kernels(elaborated)
    refuse_engine(elaborated, entry)
    parts = closed_subsystems(elaborated, request.closed)
    refuse_laws(elaborated, entry, request.contact)
    declared = elaborated
    if request.contact == SOFT:
        elaborated = softened(elaborated, request.step or entry.step, entry.links)
    away = isolated_subsystems(elaborated, parts, request.isolate)
    parted, numbers = _divided(elaborated, parts, entry, request, close, away, declared) if parts else (None, None)
    topology = parted.topology if parted else _topology(elaborated, entry, request)
    if entry.grows and parted is None and len(elaborated.bodies) >= request.nested_from:
        nested = _nested(elaborated, topology, kernels)
        if nested is not None:
            return nested
    if entry.by_joints and parted is None:
        named = (*request.cut, *request.independent)
        elaborated, topology = lumped(elaborated, topology, lambda model: _topology(model, entry, request), named)

    if not parts:
        numbers = all_numbers(elaborated, topology, declared)
    tabled = elaborated if numbers is None else with_numbers(elaborated, numbers)

    def make(shared: bool) -> TracedEngine:
        if parted is not None:
            return parted.engine(kernels, shared)
        given = {name: value for name, value in {**chosen, "close": close}.items() if name in entry.takes}
        return entry.load()(tabled, topology, kernels, shared=shared, **given)

    asked = (entry.name, tuple(request.cut), tuple(request.independent), *chosen.values(), inline_limit, close is None)
    asked = (*asked, *(elaborated.path(part) for part in parts), *([f"away {elaborated.path(p)}" for p in away]))
    contact = EVENTS if request.contact == IMPACTS else request.contact  # the same equations
    asked = (*asked, contact) if declared.laws else asked
    asked = (*asked, *parted.marks) if parted and shelf is not None else asked
    kept = find_kept(shelf, declared, asked, kernels, numbers)
    closing = () if entry.by_joints else closing_elements(elaborated, topology)
    hidden = tuple(elaborated.path(part) for part in elaborated.subsystems if isinstance(part, Sealed | Fmu))
    choose = functools.partial(_chosen, make, elaborated, closing, inline_limit)
    found = _finished(make, kept, choose, opens=not hidden)
    found = replace(found, program=replace(found.program, hidden=hidden))
    if parted is None:
        return found
    groups = getattr(found.engine, "groups", ()) if request.errors == "parts" else ()
    return replace(found, program=replace(found.program, away=parted.away, groups=groups))


def structured(model: Subsystem, cut: Iterable[str], independent: Iterable[str]) -> tuple[Elaborated, Topology]:
    """A model, checked, and its tree, for who translates a part of it."""
    elaborated = _checked(model)
    return elaborated, find_topology(elaborated, cut=cut, independent=independent)


def _finished(
    make: Callable[[bool], TracedEngine],
    kept: KeptTranslation | None,
    choose: Callable[[TracedEngine | None], TracedEngine],
    opens: bool,
) -> Translation:
    """The translation by an engine, chosen anew or as it was kept; what `opens` can be differentiated."""
    head = kept.head() if kept else None
    chosen = make(head.shared) if head else None
    if chosen is None and kept and (head := kept.open_head()):
        chosen = make(head.shared)
        judged = (chosen.shared, *chosen.independence, _locked(chosen), _pattern(kept.numbers, chosen))
        head = head if head.judged == judged else kept.open_head(judged[-1])
        head = head if head is not None and head.judged == judged else None
        if head is not None:
            kept.put_head(head)
    if chosen is None or head is None:
        chosen = choose(chosen)
        head = Head(chosen.shared, chosen.channels, chosen.strays, *chosen.independence, _locked(chosen))
        if kept:
            head = head._replace(pattern=_pattern(kept.numbers, chosen))
            kept.put_head(head)
    chosen.shelved = kept
    routines = _routines(chosen, kept, head.strays)
    judged = {"independent": head.independent, "slips": head.slips, "locked": head.locked}
    program = replace(_program(chosen, routines, head.channels), **judged)
    if opens:
        _add_slopes(program, routines, lambda: make(False).opened_derivative())
    return Translation(chosen.model, chosen.topology, chosen, program, make)


def _locked(engine: TracedEngine) -> tuple[int, ...]:
    """Places in the state of coordinates and speeds that conditions keep at zero."""
    return engine.locked_places if isinstance(engine, RelativeEngine) else ()


def _pattern(numbers: OpenNumbers | None, engine: TracedEngine) -> str:
    """What lengths have decided, if they are put in after tracing; they themselves where they are not."""
    if numbers is None or numbers.frames is None:
        return ""
    return numbers.pattern if engine.model.numbers is numbers else repr(lengths_of(numbers))


def _kernels(model: Elaborated) -> Kernels:
    return Kernels(callbacks((model.path(part), part) for part in model.subsystems))


def _checked(model: Subsystem) -> Elaborated:
    elaborated = elaborate(model)
    for check in (check_constants, check_joints, check_conditions, check_idle):
        check(elaborated)
    return elaborated


def _parted(
    model: Elaborated, parts: list[Subsystem], entry: EngineEntry, request: Request, close: Close | None,
    away: Sequence[Subsystem],
) -> Parted:  # fmt: skip
    from kompono.translate.parts.owner import Parted  # others start without it

    return Parted(model, parts, entry, request, close, away)


def _divided(
    model: Elaborated, parts: list[Subsystem], entry: EngineEntry, request: Request, close: Close | None,
    away: Sequence[Subsystem], declared: Elaborated,
) -> tuple[Parted, OpenNumbers]:  # fmt: skip
    """The same with numbers that are put in after tracing; and these."""
    numbers = open_numbers(model, declared)
    parted = _parted(with_numbers(model, numbers), parts, entry, request, close, away)
    open_places(numbers, model, parted.topology, declared, parted.models)
    return parted, numbers


def _topology(model: Elaborated, entry: EngineEntry, request: Request) -> Topology:
    if entry.places is None:
        return find_topology(model, cut=request.cut, independent=request.independent)
    return place_all(model, entry.places)


def _chosen(
    make: Callable[[bool], TracedEngine], model: Elaborated, closing: Iterable[Closing], limit: int,
    made: TracedEngine | None,
) -> TracedEngine:  # fmt: skip
    """The engine with kernels inlined, or shared if that would be too much code; conditions of `closing` are costly.
    Laws are always inlined: their answer is cut out of the whole. One that is `made` is not made again.
    """
    from kompono.translate.counted import exceeds

    inlined = bool(model.laws) or sealed_with_laws(model)
    rows = sum(sum(group_sizes(element)) for element in closing)
    shared = not inlined and 100 * len(model.bodies) + 600 * rows > limit
    chosen = made if made is not None and made.shared is shared else make(shared)
    if inlined:
        return chosen
    if not chosen.shared and exceeds(chosen.derivative(), chosen.kernels, limit):
        chosen = make(True)
    return chosen


def _program(engine: Engine, routines: Routines, channels: Sequence[Channel]) -> Program:
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
        (*(model.path(event) for event in model.events), *law_events(engine.law_rows.units)),
        stops=tuple(k for k, event in enumerate(model.events) if event.stop),
        laws=engine.law_units,
        states=tuple(map(model.path, model.states)),
        catching=samples_catch(model),
        **told_samples(model, engine.sample_rates, engine.ticks),
        iterated=tuple(network.bent(model) for network in engine.iterated) if isinstance(engine, TracedEngine) else (),
        coded=model.numbers.coded if model.numbers is not None else {},
    )


def closed_parts(model: Subsystem, request: Request, close: Close | None = None) -> tuple[Any, ...]:
    """The outermost closed parts of a model, without anything of the model around them being traced."""
    elaborated = _checked(model)
    parts = closed_subsystems(elaborated, request.closed)
    if not parts:
        return ()
    return _divided(elaborated, parts, engine_named(request.engine), request, close, (), elaborated)[0].parts


def away_translation(near: Translation, paths: Sequence[str]) -> Translation:
    """The same model with some of its closed parts kept elsewhere: the state has handles in their place."""
    from kompono.translate.parts.away import AwayEngine  # others start without it
    from kompono.translate.parts.owner import PartedEngine

    if not isinstance(near.engine, PartedEngine):
        raise RunError(
            f"{', '.join(paths)}: parts elsewhere are closed components of a model in joint coordinates.",
            fix="Use engine='relative', and close the components.",
        )
    engine = AwayEngine(near.engine, paths)
    routines = _routines(engine, near.engine.shelved, "gap" in near.program.routines, f"away {list(paths)} ")
    for name in ("conditions", "placement", "rates", "normalize", "holds", "measured"):
        routines.remove(name)  # who needs them asks `near`
    program = replace(
        near.program, kernels=engine.kernels, routines=routines, coordinates=engine.coordinate_names(),
        speeds=engine.speed_names(), modes=engine.mode_names(), states=engine.state_names(), groups=engine.groups,
        laws=engine.law_units, **engine.kept_away,
        iterated=tuple(network.bent(near.model) for network in engine.iterated),
    )  # fmt: skip
    return Translation(near.model, near.topology, engine, program, near.make_engine)


def _nested(model: Elaborated, topology: Topology, kernels: dict[str, ca.Function]) -> Translation | None:
    """The translation of a large model by types of components, if it is made of such."""
    from kompono.translate.engines.large.cells import Apart
    from kompono.translate.engines.large.engine import NestedEngine

    try:
        engine = NestedEngine(model, topology, kernels)
    except Apart:
        return None

    def make(shared: bool) -> TracedEngine:
        return RelativeEngine(model, engine.topology, kernels, shared=shared)

    routines = _routines(engine)
    program = _program(engine, routines, engine.channels)
    _add_slopes(program, routines, lambda: make(False).derivative())
    return Translation(model, engine.topology, engine, program, make)


def _add_slopes(program: Program, routines: Routines, whole: Callable[[], Routine]) -> None:
    """Offer derivatives of the rate, which `whole` gives inlined; what is sealed cannot be differentiated."""

    def of_rate() -> Routine:
        from kompono.translate.slopes import jacobian

        return jacobian(whole(), kernels)

    def of_stages() -> Routine:
        from kompono.translate.slopes import implicit, moving_places

        return implicit(whole(), kernels, len(program.coordinates), moving_places(program))

    kernels: Any = program.kernels
    routines.add("jacobian", of_rate)
    routines.add(IMPLICIT, of_stages)


def _routines(
    engine: Engine, kept: KeptTranslation | None = None, strays: bool = False, label: str = ""
) -> Routines:  # fmt: skip
    """All routines an engine offers, each traced when first asked for; names of those `kept` begin with a label."""
    makers = engine.routines()
    if strays and isinstance(engine, SolvedEngine):
        makers["gap"] = engine.gap
    return Routines(makers, kept, label)


def assembly_program(
    model: Elaborated, *, cut: Iterable[str] = (), independent: Iterable[str] = (), shelf: Shelf | None = None,
    around: RelativeEngine | None = None,
) -> Translation:  # fmt: skip
    """What is needed to close the loops in joint coordinates and place the bodies, without dynamics; `around` sealed
    parts an engine knows how.
    """
    if around is not None:
        return Translation(model, around.topology, around, placing_program(around), lambda _: around)
    opens, model = model.numbers is not None, replace(model, numbers=None)  # those of another engine
    topology = find_topology(model, cut=cut, independent=independent)
    kernels = _kernels(model)
    numbers = all_numbers(model, topology, model) if opens else None
    traced = model if numbers is None else with_numbers(model, numbers)
    engine = PlacingEngine(traced, topology, kernels, shared=False)
    kept = find_kept(shelf, model, ("assembly", tuple(cut), tuple(independent), bool(model.soft)), kernels, numbers)
    if kept:
        kept.decide()
    return Translation(traced, topology, engine, placing_program(engine, kept), lambda _: engine)


def placing_program(engine: PosedEngine, kept: KeptTranslation | None = None) -> Program:
    """The routines of an engine that assembly needs."""
    model = engine.model
    kinds = model.inputs, model.parameters, model.modes, model.states
    inputs, parameters, modes, states = (tuple(map(model.path, kind)) for kind in kinds)
    names = engine.coordinate_names(), engine.speed_names(), inputs, parameters
    routines = Routines(engine.placing_routines(), kept)
    coded = model.numbers.coded if model.numbers is not None else {}
    return Program(engine.kernels, routines, *names, modes=modes, states=states, coded=coded, away=engine.walled_parts)
