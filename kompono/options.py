"""Options as they are given to the functions users call: each of its kind, by names that exist; and who may watch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass, replace
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from kompono.errors import RunError, nearest
from kompono.given import how_to_call, misused, number, shown
from kompono.request import KINDS

F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S")


class Watcher(Protocol):
    """Who looks on while a run is going, about ten times a second: a live view, a recorder."""

    channels: tuple[str, ...]

    def update(self, time: float, values: np.ndarray, /) -> None:
        """The values of its channels at a time [s]."""
        ...


def checked(**given: Any) -> tuple[Any, ...]:
    """The values of options, in order, each as its kind; RunError for the first that is not. None stays what it is
    where an option may be left to itself.
    """
    return tuple(_checked(name, value) for name, value in given.items())


def with_kinds(function: F) -> F:
    """The same function with its options as their kinds: what is given by a name known here is checked."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        found = {name: _checked(name, value) if name in KINDS else value for name, value in options.items()}
        try:
            return function(*arguments, **found)
        except TypeError as error:
            if not misused(error):
                raise
            message, fix = how_to_call(function, error, options)
            raise RunError(message, fix=fix) from None

    return cast(F, call)


def typed(settings: S) -> S:
    """Settings of a run with values of their kinds."""
    names = ("method", "until", "step", "every", "rtol", "atol", "stabilize")
    if not is_dataclass(settings) or not all(hasattr(settings, name) for name in names):
        fix = 'Use kompono.solve.integrate.Settings("rk4", until=1.0, step=1e-3), or simulate(model, until=1.0).'
        raise RunError(f"{shown(settings)} are no settings of a run.", fix=fix)
    values = checked(**{name: getattr(settings, name) for name in names})
    return replace(cast(Any, settings), **dict(zip(names, values, strict=True)))


def _checked(name: str, value: Any) -> Any:
    kind, may_be_none = KINDS[name]
    if value is not None:
        return kind(name, value)
    if not may_be_none:
        raise RunError(f"{name} is None.", fix=f"Leave {name} out, or give it a value.")
    return None


def check_known(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Raise for the first name given that is not known."""
    for name in given:
        if not isinstance(name, str) or name not in known:
            raise RunError(
                f"there is no {what} {shown(name)}.",
                fix=nearest(str(name), known) or f"There are {', '.join(known) or 'none'}.",
            )


def overridden(declared: Mapping[str, float], given: Mapping[str, Any] | None) -> list[float]:
    """Values of tunable parameters in the order of their declaration, some replaced by path."""
    (replaced,) = checked(parameters=given)
    check_known(replaced or {}, declared, "tunable parameter")
    values = {**declared, **(replaced or {})}
    return [number(value, "the value", path, error=RunError, fix="Give a number.") for path, value in values.items()]
