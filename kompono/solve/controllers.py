"""Python callables that feed inputs: each run has its own, and none remembers another run.

What a user gives may be a function, a callable object, a bound method, or a class whose instances can be called. When a
run begins, a class is instantiated, an object with `reset()` is told, and everything else is set back to what it was
(see `memory`). When it is over, an object with `run_over()` is told. Runs of an ensemble go on at the same time: each
gets a copy, one for all inputs that share it.
"""

from __future__ import annotations

import copy
import functools
import inspect
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kompono.errors import RunError

if TYPE_CHECKING:
    from kompono.solve.inputs import Source
    from kompono.solve.memory import Left

_LEFT: dict[int, tuple[Any, Left]] = {}  # who remembers (weakly, if possible), and what the last run left, by id
_WAYS = (
    "Give a class whose instances can be called (one is made for each run), an object with reset(), or "
    "Input(factory=make, period=...) with a function that makes the callable."
)


def makes_callables(given: Any) -> bool:
    """Whether this is a class whose instances can be called, to be instantiated for each run."""
    return isinstance(given, type) and any("__call__" in vars(base) for base in given.__mro__)


def takes_reader(function: Callable[..., Any], name: str) -> bool:
    """Whether a callable wants to read channels: its second positional argument is required, or is called `read`."""
    try:
        arguments = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-in functions do not tell
        return False
    spread = any(a.kind is a.VAR_POSITIONAL for a in arguments)
    places = [a for a in arguments if a.kind in (a.POSITIONAL_ONLY, a.POSITIONAL_OR_KEYWORD)]
    needed = [a for a in places if a.default is a.empty]
    missing = [a.name for a in arguments if a.kind is a.KEYWORD_ONLY and a.default is a.empty]
    if len(needed) > 2 or missing or not (places or spread):
        raise RunError(
            f"the callable takes {inspect.signature(function)}.", path=name, fix="It is called with (t) or (t, read)."
        )
    return len(needed) == 2 or (len(places) > 1 and places[1].name == "read") or (spread and len(places) < 2)


@contextmanager
def at_work(sources: Sequence[Source]) -> Iterator[list[Source]]:
    """The sources of one run, fresh: made, told or set back; what they remember of it is noted when it is over."""
    if not sources:
        yield []
        return
    from kompono.solve.memory import Left, content, owner_of, reach

    fresh = [_made(source) for source in sources]
    owners = {id(owner_of(source.function)): (source.name, owner_of(source.function)) for source in fresh}
    entries = {}
    for key, (name, owner) in owners.items():
        if owner is None or _told(name, owner):
            continue
        left = _left(owner)
        if left is not None:
            _refuse_iterators(name, owner)
            left.set_back()
        entries[key] = [(place, content(place)) for place in reach([owner]).places]
    try:
        yield fresh
    finally:
        for key, before in entries.items():
            _keep(owners[key][1], Left.between(before))
        for _, owner in owners.values():
            over = getattr(owner, "run_over", None)
            if callable(over):
                over()


@contextmanager
def copies(sources: Sequence[Source]) -> Iterator[Callable[[], list[Source]]]:
    """A function that gives fresh copies of the sources for each of many runs; the originals stay as they are."""
    with at_work([source for source in sources if not makes_callables(source.function) and not source.factory]):
        memo = _kept_apart(sources)

        def fresh() -> list[Source]:
            known = dict(memo)
            return [_copied(_made(source), known) for source in sources]

        yield fresh


def _made(source: Source) -> Source:
    """The source with a callable of its own if it is a class or has a factory."""
    make: Any = source.factory or (source.function if makes_callables(source.function) else None)
    if make is None:
        return source
    try:
        function = make()
    except Exception as error:
        raise RunError(
            f"{getattr(make, '__name__', make)}() raised {type(error).__name__}: {error}.",
            path=source.name,
            fix="It is called without arguments when a run begins.",
        ) from error
    if not callable(function):
        fix = "Let it return a function of (t) or (t, read)."
        raise RunError(f"the factory made {function!r}, which cannot be called.", path=source.name, fix=fix)
    return replace(source, function=function, factory=None)


def _told(name: str, owner: Any) -> bool:
    """Whether an owner takes care of its memory itself; it is told that a run begins."""
    reset = getattr(owner, "reset", None)
    if not callable(reset):
        return False
    try:
        reset()
    except Exception as error:
        raise RunError(
            f"reset() raised {type(error).__name__}: {error}.",
            path=name,
            fix="It is called without arguments when a run begins.",
        ) from error
    return True


def _left(owner: Any) -> Left | None:
    alive, left = _LEFT.get(id(owner), (lambda: None, None))
    return left if alive() is owner else None


def _keep(owner: Any, left: Left) -> None:
    key = id(owner)
    try:
        alive: Any = weakref.ref(owner, lambda _: _LEFT.pop(key, None))
    except TypeError:
        alive = lambda: owner  # noqa: E731
    _LEFT[key] = alive, left


def _refuse_iterators(name: str, owner: Any) -> None:
    """An iterator that an earlier run has moved on cannot be moved back."""
    from kompono.solve.memory import reach

    for thing in reach([owner]).others:
        if hasattr(thing, "__next__") and not hasattr(thing, "read"):  # a file has no say in what comes out
            raise RunError(
                f"the callable remembers an earlier run by {thing!r}, which cannot be set back.", path=name, fix=_WAYS
            )


def _kept_apart(sources: Sequence[Source]) -> dict[int, Any]:
    """For `copy.deepcopy`: what is not copied (components, expressions, modules)."""
    from kompono.solve.memory import owner_of, reach

    found = reach(owner_of(source.function) for source in sources if source.function is not None)
    return {id(thing): thing for thing in found.outside}


def _copied(source: Source, memo: dict[int, Any]) -> Source:
    if source.function is None:
        return source
    try:
        return replace(source, function=_copy(source.function, memo))
    except Exception as error:
        raise RunError(
            f"the callable cannot be copied for each run ({type(error).__name__}: {error}).",
            path=source.name,
            fix=_WAYS,
        ) from error


def _copy(thing: Any, memo: dict[int, Any]) -> Any:
    """A deep copy that copies functions with their variables, too."""
    from kompono.solve.memory import reach

    for function in reach([thing]).functions:
        _copy_function(function, memo)
    if isinstance(thing, functools.partial):
        arguments, keywords = copy.deepcopy((thing.args, thing.keywords), memo)
        return functools.partial(_copy(thing.func, memo), *arguments, **keywords)
    return copy.deepcopy(thing, memo)


def _copy_function(function: types.FunctionType, memo: dict[int, Any]) -> None:
    """Enter a copy of a function with cells, defaults and globals of its own."""
    from kompono.solve.memory import Globals, content, reach

    if id(function) in memo:
        return
    places = reach([function]).places
    cells = tuple(_copy_cell(cell, memo) for cell in function.__closure__ or ())
    table = function.__globals__
    names = {name for p in places if isinstance(p, Globals) and p.table is table for name in p.names}
    twin = types.FunctionType(function.__code__, _copy_globals(function, memo), function.__name__, None, cells)
    memo[id(function)] = twin
    memo.setdefault(id(memo), []).append(function)  # alive as long as its number is used
    twin.__defaults__ = copy.deepcopy(function.__defaults__, memo)
    twin.__kwdefaults__ = copy.deepcopy(function.__kwdefaults__, memo)
    twin.__dict__.update(copy.deepcopy(vars(function), memo))
    for cell, new in zip(function.__closure__ or (), cells, strict=True):
        held = content(cell)
        if held:
            new.cell_contents = _copy(held[""], memo)
    for name in names & set(table):
        with suppress(Exception):  # a lock, a file: what cannot be copied is shared
            twin.__globals__[name] = _copy(table[name], memo)


def _copy_cell(cell: types.CellType, memo: dict[int, Any]) -> types.CellType:
    if id(cell) not in memo:
        memo[id(cell)] = types.CellType()
    return memo[id(cell)]


def _copy_globals(function: types.FunctionType, memo: dict[int, Any]) -> dict[str, Any]:
    """One table of globals for all functions of a module, as it is now."""
    key = id(function.__globals__)
    if key not in memo:
        memo[key] = dict(function.__globals__)
    return memo[key]
