"""Which native code goes into which object, and how it gets from the program through the cache into memory.

A routine is an object, and so is each loop around routines: a method's steps call `derivative`, `project` and what
events need, a map calls any one routine. Loops and routines are compiled apart and linked in memory, so that nothing is
compiled twice, and a loop is shared by all models of the same size. Only with very small routines does a loop bring its
own copy, so that LLVM can inline them. Objects are made on first use.

A loop is `waiting` as long as all gaps of laws are open: what is asked for only from the first that closes is neither
traced nor made until then. It is the same loop, linked with functions in their place that nobody calls.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kompono.compile import cache, jit, schedule, sealed, tiers
from kompono.compile.block import late_names, loop_names, loop_routines, workspace
from kompono.compile.called import called, seen
from kompono.compile.emit import prelude
from kompono.compile.lanes import ONE, Lanes
from kompono.compile.lower import called_symbol
from kompono.compile.numbers import Shape, Table, filled, shape_of, table_of_instances, without_numbers
from kompono.compile.parallel import assemble_all
from kompono.compile.resting import can_rest
from kompono.compile.settle_block import SETTLE, SETTLE_ASKS, settles
from kompono.compile.walked import can_walk, walker_text
from kompono.compile.walked_calls import may_walk, walks
from kompono.compile.walls.places import Places, asking, grouped, stem_of, stubs
from kompono.errors import CompileError
from kompono.garbage import uncollected
from kompono.translate.program import Program, Routine, TableRoutine

if TYPE_CHECKING:
    from kompono.compile.walls.station import Station


METHODS = ("rk2", "rk4", "adams", "leapfrog", "dopri5", "esdirk4")  # of ours that have loops; all are in `loops`
CHOOSING = ("dopri5", "esdirk4")  # loops that choose their steps
SOLVING = ("esdirk4",)  # loops that solve for their stages
_WAITING = " waiting"  # behind the method of such a loop
_INLINE = 100  # instructions up to which routines go into the object of their loop


@dataclass(frozen=True)
class NeededObject:
    """An object that is needed: its name in the cache, how to write its text, and whether that has loops. One that is
    `made` already is never kept in the cache: it is that of a file, or has addresses of this process. With a `place` it
    is not for this process, but for a worker, which shall be able to answer for the function `symbol`. What can be
    `walked` is ready at once as such a text (see `tiers`).
    """

    key: str
    text: Callable[[], str]
    loops: bool
    made: bytes | None = None
    place: Station | None = None
    symbol: str = ""
    walked: Callable[[], str] | None = None
    shapes: tuple[Shape, ...] = ()  # of code whose numbers are filled in when it is taken
    walks: float = 1.0  # through its code in one evaluation, where that is walked


_known_functions: dict[str, Any] = {}  # those that are the same for all programs
PartsOf = Callable[[str, Lanes], list[NeededObject]]


class Objects:
    """The native functions of a program."""

    def __init__(self, program: Program, use_cache: bool) -> None:
        self._program = program
        self._use_cache = use_cache
        self._made: dict[str, bytes] = {}
        self._shapes: dict[str, Shape] = {}  # of kernels
        self._functions: dict[tuple[str, str, Lanes], Any] = {}
        self._walked: dict[tuple[str, str, Lanes], dict[str, float]] = {}  # objects of functions that are walked
        self.places = Places(program.away)

    def make(self, maps: Iterable[str], method: str, lanes: Lanes, soon: bool) -> None:
        """Have all objects of some routines over rows and of a method's loop, those that are missing at once; what
        shall be there `soon` is walked.
        """
        keys = [("kompono.map", name, lanes) for name in maps]
        method = self.loop_named(method, lanes) if method and soon else method
        keys += [("kompono.loop", method, lanes)] if method else []
        if all(key in self._functions and (soon or key not in self._walked) for key in keys):
            return
        parts = [part for _, name, _ in keys[: len(keys) - bool(method)] for part in self._map_parts(name, lanes)]
        self._objects(parts + (self._loop_parts(method, lanes) if method else []), soon and not tiers.patient())

    def map_function(self, name: str, lanes: Lanes, rows: int = 0) -> Any:
        """The function that evaluates a routine over rows; so many are to be evaluated."""
        return self._often("kompono.map", name, lanes, self._map_parts, rows)

    def map_walks(self, name: str, lanes: Lanes) -> bool:
        """Whether that function is walked, so that native code may follow."""
        return ("kompono.map", name, lanes) in self._walked

    def loop_named(self, method: str, lanes: Lanes, acting: bool = False) -> str:
        """The name of a method's loop: of one that is waiting, if that can be, unless a gap is closed or the whole one
        is there.
        """
        whole = acting or ("kompono.loop", method, lanes) in self._functions or lanes != ONE or method in SOLVING
        return method if whole or not self._can_wait else method + _WAITING

    @functools.cached_property
    def _can_wait(self) -> bool:
        program = self._program
        if not late_names(program) or program.away or program.spread or tiers.patient():
            return False
        return not schedule.are_short(program, loop_routines(program, waiting=True), _INLINE)

    def loop_function(self, method: str, lanes: Lanes) -> Any:
        """The function that runs a step loop, by the name of the loop."""
        return self._often("kompono.loop", method, lanes, self._loop_parts, 0)

    def loop_takeover(self, method: str, lanes: Lanes, counted: int = 0) -> tiers.Takeover | None:
        """What gives the native step loop when it is worth its while, if the loop calls routines that are walked; a run
        that comes from another loop has `counted` its evaluations.
        """
        key = "kompono.loop", method, lanes
        keys = self._walked.get(key)
        if keys is None:
            return None
        return tiers.Takeover(self._functions[key], keys, lambda: self._native(*key, self._loop_parts), counted)

    def settler_beside(self, settle: object) -> Callable[[int], tuple[Any, ...]] | None:
        """What gives native code for events of laws, beside who settles them otherwise; None if that is to do all."""
        return self._settler if settles(self._program, settle) else None

    def _settler(self, events: int) -> tuple[Any, ...]:
        """The native function that settles events of laws, and those it asks; so many more are to be settled."""
        own = _known_functions.get(SETTLE)
        if own is None:
            part = NeededObject(cache.key("settle", []), _settle_text, True)
            own = _known_functions[SETTLE] = jit.load(self._objects([part]), SETTLE)
        asked = [name for name in SETTLE_ASKS if name in self._program.routines]
        return own, *(self.map_function(name, ONE, events) for name in asked)

    def _often(self, symbol: str, name: str, lanes: Lanes, parts: PartsOf, rows: int) -> Any:
        """A function, native from when it was asked often."""
        key = symbol, name, lanes
        if key not in self._functions:
            self._function(symbol, name, lanes, parts, soon=not tiers.patient())
        if tiers.asked_often(self._walked.get(key, {}), rows):
            self._native(symbol, name, lanes, parts)
        return self._functions[key]

    def _native(self, symbol: str, name: str, lanes: Lanes, parts: PartsOf) -> Any:
        """The same function, not walked any more."""
        key = symbol, name, lanes
        if key in self._walked:
            self._function(symbol, name, lanes, parts, soon=False)
            self._walked.pop(key, None)
        return self._functions[key]

    def _function(self, symbol: str, name: str, lanes: Lanes, parts: PartsOf, soon: bool) -> None:
        """Load a function into memory."""
        from kompono.compile import desk

        needed = parts(name, lanes)
        made = list(zip(needed, self._objects(needed, soon), strict=True))
        here = list({part.key: data for part, data in made if part.place is None}.values())
        walked = {part.key: part.walks for part in needed if part.walked is not None and part.key not in self._made}
        if walked:
            here.append(self._objects([WALKER])[0])
            self._walked[symbol, name, lanes] = walked
        for station in {part.place: None for part in needed if part.place is not None}:
            sent = [(part, data) for part, data in made if part.place is station]
            station.add(list({data: None for _, data in sent}), [part.symbol for part, _ in sent if part.symbol])
        kept = self.places.kept(lanes)
        for place in kept:
            place.ready()
        imports = {**self.places.imports(lanes), **(desk.addresses() if self._program.opaque else {})}
        self._functions[symbol, name, lanes] = jit.load(here, symbol, imports, kept)

    def worker_function(self, name: str) -> Any:
        """The function by which a thread helps with a table routine."""
        from kompono.compile import sweeps

        part = self._part("routine", [self._program.routines[name]], ONE)
        return jit.load(self._objects([part]), sweeps.worker(name))

    def _map_parts(self, name: str, lanes: Lanes) -> list[NeededObject]:
        def text() -> str:
            from kompono.compile.loop_map import map_loop

            return map_loop(routine, "kompono.map")

        routine = self._program.routines[name]
        return self._parts("map", [routine], lanes, text)

    def _loop_parts(self, method: str, lanes: Lanes) -> list[NeededObject]:
        method, waiting = method.removesuffix(_WAITING), method.endswith(_WAITING)
        program, solves = self._program, method in SOLVING
        routines = loop_routines(program, solves, waiting)
        for routine in routines:
            outline = program.outline(routine.name)
            if outline.outputs != routine.outputs or workspace(outline) < workspace(routine):
                raise CompileError(f"internal: routine {routine.name} is not what its callers take it for.")
        parts = self._parts(
            "loop", routines, lanes,
            lambda: _loop_text(program, method, lanes, solves, waiting),
            method, *(_patterns(program) if solves else ()),
            program.state_size, len(program.inputs), len(program.coordinates), len(program.speeds),
            program.spread and program.spread.state_size, [size for _, size in program.opaque], program.groups,
            *program.away, len(program.rates), program.ticks, len(program.modes), program.stops,
            can_rest(program, waiting), [(u.kind, u.modes, u.shifts) for u in program.laws],
            program.modes_here, program.modes_away, program.catching,
            seen_as=[program.outline(name) for name in loop_names(program, solves)],
        )  # fmt: skip
        return [*parts, *([self._nobody(late_names(program))] if waiting else [])]

    def _nobody(self, names: Iterable[str]) -> NeededObject:
        """Functions in the place of routines that are not made yet; whoever called one would get no number."""
        outlines = [self._program.outline(name) for name in names]
        text = "".join(schedule.define_nobody(outline) for outline in outlines)
        return NeededObject(cache.key("nobody", [], text), lambda: text, False)

    def _parts(
        self, kind: str, routines: list[Routine], lanes: Lanes, loop: Callable[[], str], *settings: object,
        seen_as: list[Routine] | None = None,
    ) -> list[NeededObject]:  # fmt: skip
        """A loop and the routines it calls, or of which it knows how to call them."""
        outlines = routines if seen_as is None else seen_as
        inline = schedule.are_short(self._program, routines, _INLINE)
        tables = self._tables(routines, lanes, alone=False) if inline else {}

        def text() -> str:
            whole = inline and schedule.define(self._program, routines, lanes, tables, turns=True)
            return (whole or "".join(map(schedule.declare, outlines))) + loop()

        shapes = [(r.name, r.inputs, r.outputs, workspace(r)) for r in outlines]
        parts = [self._part(kind, routines if inline else [], lanes, (inline, settings, shapes), text, tables)]
        parts += [] if inline else [self._part("routine", [routine], lanes) for routine in routines]
        return parts + self._called_parts(routines, lanes)

    def _called_parts(self, routines: list[Routine], lanes: Lanes) -> list[NeededObject]:
        """Closed functions, each an object of its own that does not depend on who calls it; of those that run
        elsewhere, what hands their columns over.
        """
        found = called(self._program, routines)
        here = {name: function for name, function in found.items() if not stem_of(name)}
        parts = self._closed_parts(here, lanes)
        for stem, functions in grouped(seen(f) for n, f in found.items() if stem_of(n)).items():
            from kompono.compile.walls.station import Station

            place = self.places.get(stem, lanes)
            text = stubs(place, stem, functions, lanes)
            parts.append(NeededObject(cache.key("stubs", [], text), lambda t=text: t, False))
            parts.append(NeededObject(place.asks, str, False, asking(place)))
            if isinstance(place, Station):
                parts += [part for function in functions for part in self._sent_parts(place, function, lanes)]
        return parts

    def _sent_parts(self, station: Station, function: Any, lanes: Lanes) -> list[NeededObject]:
        """A closed function that runs in a worker, and all it calls there."""
        if sealed.known(function.name(), function):
            return []  # the worker of a sealed file has all of it
        needed = {f.name(): f for f in (function, *function.find_functions())}
        symbol = called_symbol(function.name(), lanes)
        parts = [replace(part, place=station) for part in self._closed_parts(needed, lanes)]
        return [replace(parts[0], symbol=symbol), *parts[1:]]

    def _closed_parts(self, found: Mapping[str, Any], lanes: Lanes) -> list[NeededObject]:
        if not found:
            return []
        from kompono.compile import foreign
        from kompono.compile.closed import asked_alone, closed_key, closed_text
        from kompono.translate.laws.naming import is_solver

        alone = {} if lanes == ONE else asked_alone(found)
        others = [name for name in found if foreign.known(name)]  # functions of FMUs
        found = {name: function for name, function in found.items() if name not in others}
        own = {name: function for name, function in found.items() if not sealed.known(name, function)}
        files = [name for name in found if name not in own]
        closed = sealed.objects(files, lanes)
        closed |= {f"{name} {lanes.count}": foreign.foreign_object(name, lanes) for name in others}
        parts = [
            NeededObject(closed_key(name, lanes), lambda f=f: closed_text(seen(f), lanes), is_solver(name))
            for name, f in own.items()
        ]
        parts += [NeededObject(key, str, False, data) for key, data in closed.items()]
        for text, shape in sealed.joints(files, lanes):
            parts.append(NeededObject(cache.key("joint", [], text), lambda t=text: t, False, shapes=(shape,)))
        return parts + self._closed_parts(alone, ONE) if alone else parts

    def _part(
        self,
        kind: str,
        routines: list[Routine],
        lanes: Lanes,
        extra: object = (),
        text: Callable[[], str] | None = None,
        tables: Mapping[str, Table] | None = None,
    ) -> NeededObject:
        given = self._tables(routines, lanes) if tables is None else tables

        def whole() -> str:
            from kompono.compile import sweeps

            body = text() if text else schedule.define(self._program, routines, lanes, given, turns=True)
            own = [sweeps.widest(routine) for routine in routines]  # large models have lanes inside
            return prelude(body, max([lanes, *own], key=lambda width: width.count)) + body

        walked = None
        if kind == "routine" and lanes == ONE and (may_walk(routines[0]) or can_walk(self._program, routines[0])):
            walked = functools.partial(schedule.define_walked, self._program, routines[0], given.get(routines[0].name))
        named = [without_numbers(one, given[one.name].shape) if one.name in given else one for one in routines]
        shapes, often = tuple(table.shape for table in given.values()), walks(routines) if walked else 1.0
        key = cache.key(kind, named, (lanes, extra))
        return NeededObject(key, whole, kind != "routine", walked=walked, shapes=shapes, walks=often)

    def _tables(self, routines: Iterable[Routine], lanes: Lanes, alone: bool = True) -> dict[str, Table]:
        """Tables for the numbers of routines, each `alone` in an object or several in one."""
        found = {}
        for routine in routines:
            if isinstance(routine, TableRoutine):
                found |= {routine.name: table_of_instances(routine)} if len(routine.numbers) else {}
                continue
            shape = self._shape(routine) if lanes == ONE else None
            if shape is not None:
                shape = shape if alone else shape._replace(digest=f"{shape.digest} {routine.name}")
                found[routine.name] = Table(routine.name, shape, self._program.coded.get(routine.calls[0].kernel))
        return found

    def _shape(self, routine: Routine) -> Shape | None:
        """What a routine of one call, or one whose first call has its numbers, is without them."""
        single = len(routine.calls) == 1 or schedule.has_numbers(self._program, routine)
        if not single:
            return None
        name = routine.calls[0].kernel
        coded = self._program.coded.get(name)
        if name not in self._shapes and coded:
            self._shapes[name] = Shape(coded.digest, coded.numbers)
        elif name not in self._shapes and self._program.kernels[name].class_name() == "SXFunction":
            self._shapes[name] = shape_of(self._program.kernels[name])
        return self._shapes.get(name)

    @uncollected()
    def _objects(self, parts: list[NeededObject], soon: bool = False) -> list[bytes]:
        """The object code of each part: from this run, from the disk, or new; what is new, and shall be there `soon`,
        is walked where that can be.
        """
        self._made.update({part.key: part.made for part in parts if part.made is not None})
        unknown = {part.key: part for part in parts if part.key not in self._made}
        if self._use_cache:
            self._made.update({key: data for key in unknown if (data := cache.find(key)) is not None})
        new = [part for key, part in unknown.items() if key not in self._made]
        walking = {part.key: _as_walked(part) for part in new if part.walked is not None} if soon else {}
        if walking:
            walked = dict(zip(walking, self._objects([*walking.values(), WALKER]), strict=False))
            new = [part for part in new if part.key not in walking]
        else:
            walked = {}
        for part, data in zip(new, assemble_all([(part.text(), part.loops) for part in new]), strict=True):
            self._made[part.key] = data
            if self._use_cache:
                cache.keep(part.key, data)
        return [_whole(part, self._made[part.key]) if part.key in self._made else walked[part.key] for part in parts]


def _loop_text(*asked: Any) -> str:
    from kompono.compile.loops import loop_text  # what is in the cache is not written

    return loop_text(*asked)


def _patterns(program: Program) -> list[Any]:
    from kompono.compile.stage_matrix import patterns

    return patterns(program)


def _as_walked(part: NeededObject) -> NeededObject:
    assert part.walked is not None
    return NeededObject(f"{part.key}-walked", part.walked, False, shapes=part.shapes)


def _whole(part: NeededObject, data: bytes) -> bytes:
    return functools.reduce(filled, part.shapes, data)


def _settle_text() -> str:
    from kompono.compile.law_settle import settle_text  # what is in the cache is not written

    return settle_text()


def _walker() -> str:
    body = walker_text()
    return prelude(body, ONE) + body


WALKER = NeededObject(cache.key("walker", []), _walker, False)
