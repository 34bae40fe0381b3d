"""What a run may be asked for: who may watch it; values have their kind, names exist, options belong to the engine."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass, replace
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from kompono.errors import RunError, nearest
from kompono.given import entries_of, how_to_call, misused, number, numbers, shown, text, texts

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
        found = {name: _checked(name, value) if name in _KINDS else value for name, value in options.items()}
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
    if value is not None:
        return _KINDS[name](name, value)
    if name not in _MAY_BE_NONE:
        raise RunError(f"{name} is None.", fix=f"Leave {name} out, or give it a value.")
    return None


def check_options(engine: str, projecting: Mapping[str, Any], linking: Mapping[str, Any]) -> None:
    """Raise for an option of another engine."""
    for options, owner in ((projecting, "absolute"), (linking, "discrete")):
        for name, value in options.items():
            if value is not None and engine != owner:
                fix = {
                    "relative": "The relative engine keeps loops closed by itself; stabilize=False switches that off.",
                    "absolute": "The absolute engine keeps its joints exactly.",
                    "discrete": "The discrete engine holds its joints by stiffness=... and damping=...",
                }.get(engine, "")
                raise RunError(f"{name} {shown(value)} belongs to engine={owner!r}.", fix=fix)


def check_method(engine: str, method: str) -> None:
    """Raise for a method of another engine."""
    if (engine == "discrete") != (method == "leapfrog"):
        raise RunError(
            f"method {method!r} does not go with engine {engine!r}.",
            fix="The discrete engine steps with method='leapfrog', its default; other engines cannot.",
        )


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


def _time(name: str, value: Any) -> float:
    return number(value, name, error=RunError, finite=False, fix=f"Give {name} in seconds, e.g. {name}=0.5.")


def _tolerance(name: str, value: Any) -> float:
    return number(value, name, error=RunError, finite=False, fix=f"Give {name} as a positive number, e.g. 1e-8.")


def _name(name: str, value: Any) -> str:
    return text(value, name, error=RunError, fix=f"Give {name} by its name.")


def _names(name: str, value: Any) -> tuple[str, ...]:
    example = '["*.angle", "energy.*"]' if name == "channels" else '["left.pin"]'
    return texts(value, name, error=RunError, fix=f"Use e.g. {name}={example}.")


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise RunError(f"{name} = {shown(value)} is neither True nor False.", fix=f"Use {name}=True or {name}=False.")
    return bool(value)


def _count(name: str, value: Any) -> int:
    value = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if not isinstance(value, int | np.integer) or isinstance(value, bool | np.bool_) or not 0 < value < 2**62:
        what = {"every": "steps", "runs": "runs", "threads": "threads"}.get(name, "things")
        raise RunError(f"{name} = {shown(value)} is not a number of {what}.", fix="Give a whole number from 1.")
    return int(value)


def _by_path(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise RunError(f"{name} {shown(value)} are no values by path.", fix=f'Use {name}={{"left.pin": 0.3}}.')
    _names(name, list(value))
    return value


def _frequencies(name: str, value: Any) -> tuple[float, float]:
    fix = "Give two frequencies, e.g. baumgarte=(20, 20) [1/s]."
    first, second = numbers(value, (2,), name, error=RunError, fix=fix).tolist()
    if first < 0 or second < 0:
        raise RunError(f"{name} = {shown(value)} are not two frequencies.", fix=fix)
    return first, second


def _strength(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        paths = _names(name, list(value))
        return {path: _strengths(name, value[path]) for path in paths}
    return _strengths(name, value)


def _strengths(name: str, value: Any) -> float | list[float]:
    """One number, or one for each group of conditions."""
    fix = f"Give {name} as a number that is not negative, or by path: {{'pin': 1e6}}."
    size = (-1,) if entries_of(value).ndim else ()
    found = numbers(value, size, name, error=RunError, fix=fix)
    if np.min(found, initial=0.0) < 0:
        raise RunError(f"{name} {shown(value)} is negative.", fix=fix)
    return found.tolist()


def _realtime(name: str, value: Any) -> Any:
    if not isinstance(value, bool | np.bool_) and not callable(getattr(value, "settings", None)):
        fix = "Use realtime=True or RealTime(frame=0.01)."
        raise RunError(f"{name} = {shown(value)} is not understood.", fix=fix)
    return value


def _watcher(name: str, value: Any) -> Any:
    if not callable(getattr(value, "update", None)) or not hasattr(value, "channels"):
        fix = "Give a LiveView, or any object with `channels` and update(time, values)."
        raise RunError(f"{name} {shown(value)} cannot look on.", fix=fix)
    return value


def _before(name: str, value: Any) -> Any:
    if not callable(value):
        raise RunError(f"{name} = {shown(value)} cannot be told anything.", fix="Give a function of one argument.")
    return value


_MAY_BE_NONE = {
    "before", "step", "method", "atol", "every", "inputs", "parameters", "initial", "projection", "metric", "threads",
    "stiffness", "damping", "progress", "realtime", "watcher", "runs", "lanes",
}  # fmt: skip
_KINDS: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("until", "step"), _time),
    **dict.fromkeys(("rtol", "atol"), _tolerance),
    **dict.fromkeys(("engine", "method", "projection", "metric"), _name),
    **dict.fromkeys(("channels", "cut", "independent", "closed"), _names),
    **dict.fromkeys(("stabilize", "native", "cache", "progress"), _flag),
    **dict.fromkeys(("every", "threads", "nested_from", "runs", "lanes"), _count),
    **dict.fromkeys(("inputs", "parameters", "initial"), _by_path),
    **dict.fromkeys(("stiffness", "damping"), _strength),
    "baumgarte": _frequencies,
    "realtime": _realtime,
    "watcher": _watcher,
    "before": _before,
}
