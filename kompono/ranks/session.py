"""A run on all processes, from the model to the result.

The first process makes a `Simulation` of the whole model and leads; the others make their parts and do what they are
told until the run is over. All get the same result, or the same error. Ctrl-C is the first one's concern: the others
end when it tells them to.
"""

from __future__ import annotations

import functools
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from kompono.compile import Kernel
from kompono.elsewhere.hosts import InProcess
from kompono.errors import KomponoError, RunError
from kompono.interruption import listening
from kompono.keeping import checked_file
from kompono.model.subsystem import Subsystem
from kompono.notice import tell
from kompono.ranks import tree
from kompono.ranks.by_parts import run_by_parts
from kompono.ranks.conductor import Conductor
from kompono.ranks.member import Member
from kompono.ranks.vigil import Vigil
from kompono.ranks.world import Dismissal, World
from kompono.request import Request
from kompono.result import Result
from kompono.running import run
from kompono.simulation import Simulation
from kompono.solve.settings import Settings
from kompono.starting import closed_start
from kompono.translate import Translation, closed_parts
from kompono.translate.declared.elaborate import Elaborated, elaborate
from kompono.translate.structure.topology import Topology
from kompono.translate.translate import structured

T = TypeVar("T")
ENDINGS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGUSR1") if hasattr(signal, name))
KINDS = (tree,)  # models that can be spread, each a module like `tree`; a model that is none is refused by `tree`
METHODS = ("rk2", "rk4", "adams", "dopri5")


@dataclass(frozen=True)
class Wish:
    """How a model shall be on ranks: homes of components by path, and what its translation and compilation take."""

    place: Mapping[str, Any] | None = None
    cut: Iterable[str] = ()
    independent: Iterable[str] = ()
    cache: bool = True
    threads: int | None = None


def run_on_ranks(model: Subsystem, settings: Settings, request: Request) -> Result:
    """Make a simulation and run it as it is asked for, on all processes there are; each must call this with the same
    model.
    """
    file = request.hdf5
    wish = Wish(request.place, tuple(request.cut), tuple(request.independent), request.cache, request.threads)

    def made() -> Simulation:
        _refuse(settings, request)
        checked_file(file, "hdf5")
        return Simulation.of(model, replace(request, nested_from=1))

    def work(simulation: Simulation) -> Result:
        return run(simulation, settings, request, request.noted())

    if parts := closed_parts(model, request, closed_start):
        _refuse(settings, request)

        def lead(hosts: dict[str, Any]) -> Result:
            with listening() as heard:
                heard.install(ENDINGS)
                checked_file(file, "hdf5")
                return work(Simulation.of(model, replace(request, elsewhere={**home, **hosts})))

        # where laws settle, parts are asked by rows if one is elsewhere: so they are on any number of ranks
        settles = elaborate(model).laws or any(part.laws.size for part in parts)
        home = {part.path: InProcess() for part in parts} if settles else {}
        with nullcontext() if World().leads else _deaf():
            return run_by_parts(parts, dict(request.place or {}), lead, _plain)

    return on_ranks(model, wish, made, work)


def on_ranks(model: Subsystem, wish: Wish, make: Callable[[], Simulation], work: Callable[[Simulation], T]) -> T:
    """What `work` makes of a simulation whose kernel leads all processes; it is called in the first one alone, all get
    its answer, a `Result` without its scene.
    """
    world = World()
    World.dismissed = False
    return _lead(world, wish, make, work) if world.leads else _follow(world, model, wish)


def _refuse(settings: Settings, request: Request) -> None:
    """What cannot be done on ranks."""
    if settings.method not in METHODS:
        raise RunError(f"method {settings.method!r} does not run on ranks.", fix=f"Use {', '.join(METHODS)}.")
    if request.realtime:
        raise RunError("a run in real time does not go on ranks.", fix="Leave ranks or realtime out.")


def _lead(world: World, wish: Wish, make: Callable[[], Simulation], work: Callable[[Simulation], T]) -> T:
    with listening() as heard:
        heard.install(ENDINGS)
        try:
            simulation = make()
            translation = simulation.translation
            kind = next((kind for kind in KINDS if kind.takes(translation)), tree)
            plan = kind.make_plan(translation, world.size, wish.place)
            if not isinstance(simulation.kernel, Kernel):
                raise RunError("ranks run native code.", fix="Leave native out.")
        except BaseException as error:
            world.dismiss(error)
            raise
        world.say(plan)
        member = _member(world, (translation.model, _tree_of(translation)), plan, wish)
        homes = world.group.gather(member.places[member.tells])
        timed = functools.partial(tell_whether_it_pays, plan, world.size)
        simulation.kernel = Conductor(simulation.kernel, member, homes, timed)
        _tell_shares(world, member)
        try:
            with Vigil(world, member.name):
                answer = work(simulation)
        except BaseException as error:
            world.dismiss(error)
            raise
        if isinstance(answer, Result):
            answer.statistics.update(ranks=world.size, cut=plan.cut)
        world.dismiss(_plain(answer) if isinstance(answer, Result) else answer)
        return answer


def _follow(world: World, model: Subsystem, wish: Wish) -> Any:
    with _deaf(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first process tells
        try:
            structure = structured(model, wish.cut, wish.independent)
        except KomponoError:
            structure = None  # the first process meets it, too
        plan = world.hear()
        if isinstance(plan, Dismissal):
            raise plan.word
        if structure is None:
            world.fail(RunError("the model cannot be translated here."), "")
        member = _member(world, structure, plan, wish)
        world.group.gather(member.places[member.tells])
        _tell_shares(world, member)
        Vigil(world, member.name)
        while not isinstance(command := world.hear(), Dismissal):
            member.perform(*command)
    if isinstance(command.word, BaseException):
        raise command.word
    return command.word() if isinstance(command.word, functools.partial) else command.word


def _tree_of(translation: Translation) -> Topology:
    """The tree as it was found; an engine may order its own anew."""
    return getattr(translation.engine, "tree", translation.topology)


def _member(world: World, structure: tuple[Elaborated, Topology], plan: tree.Plan, wish: Wish) -> Member:
    try:
        return plan.member(world, *structure, wish.cache, wish.threads or 1)
    except RunError:
        World.dismissed = True  # all have it
        raise
    except Exception as error:
        world.fail(error, "")


def _tell_shares(world: World, member: Member) -> None:
    """Say who has what, to who listens: a message library only tells the number of a process that was killed."""
    for rank, (name, size) in enumerate(world.group.allgather((member.name, len(member.places)))):
        if world.leads:
            tell(f"rank {rank}: {name}, {size:,} of {member.whole:,} coordinates and speeds")


def tell_whether_it_pays(plan: tree.Plan, ranks: int, evaluation: float, message: float) -> None:
    """Compare the time of an evaluation on ranks, and of its message [s], with what one process would need by the
    operations it has.
    """
    if ranks == 1:
        return
    alone = (evaluation - message) * plan.total / plan.work
    told = f"an evaluation takes {1e6 * evaluation:.0f} us on {ranks} ranks, {1e6 * message:.1f} us of it a message"
    if plan.by_levels:
        tell(f"{told}. This tree has no forks to cut at: its ranks work in turn, no faster than one.", urgent=True)
    elif alone < evaluation:
        tell(f"{told}; one process would need about {1e6 * alone:.0f} us. Leave ranks out.", urgent=True)
    else:
        tell(f"{told}; one process would need about {1e6 * alone:.0f} us")


@contextmanager
def _deaf() -> Iterator[None]:
    """Leave signals to the first process."""
    if threading.current_thread() is not threading.main_thread():
        yield  # nobody hears them here
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, *ENDINGS)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _plain(result: Result) -> functools.partial[Result]:
    """A result as it can be sent."""
    about = {"status": result.status, "statistics": result.statistics, "model": result.model}
    return functools.partial(Result, result.time, result.names, result.table, units=result.units, **about)
