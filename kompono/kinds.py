"""The kinds of values that options have: each makes what was given its kind, or refuses it by the option's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kompono.errors import RunError, nearest
from kompono.given import entries_of, number, numbers, shown, text, texts
from kompono.run_end import RunEnd

CONTACTS = ("events", "impacts", "steps", "soft")
ERRORS = ("whole", "parts")


def contact(name: str, value: Any) -> str:
    """How contact and dry friction are treated."""
    return _one_of(name, value, CONTACTS)


def errors(name: str, value: Any) -> str:
    """How errors of steps are measured where there are closed parts."""
    return _one_of(name, value, ERRORS)


def _one_of(name: str, value: Any, known: tuple[str, ...]) -> str:
    found = text(value, name, error=RunError, fix=f"Give {name} by its name.")
    if found not in known:
        fix = nearest(found, known) or f"Known: {', '.join(known)}."
        raise RunError(f"there is no {name} {found!r}.", fix=fix)
    return found


def time(name: str, value: Any) -> float:
    """A time [s]."""
    return number(value, name, error=RunError, finite=False, fix=f"Give {name} in seconds, e.g. {name}=0.5.")


def end(name: str, value: Any) -> RunEnd:
    """Where another run ended."""
    found = value if isinstance(value, RunEnd) else getattr(value, "end", None)
    if not isinstance(found, RunEnd):
        fix = f"Give the result of a run, or the `end` of one: {name}=simulate(...)."
        raise RunError(f"{name} = {shown(value)} is not where a run ended.", fix=fix)
    return found


def tolerance(name: str, value: Any) -> float:
    """A tolerance."""
    return number(value, name, error=RunError, finite=False, fix=f"Give {name} as a positive number, e.g. 1e-8.")


def one_name(name: str, value: Any) -> str:
    """A name, such as that of an engine."""
    return text(value, name, error=RunError, fix=f"Give {name} by its name.")


def names(name: str, value: Any) -> tuple[str, ...]:
    """Names or globs: one, or several."""
    example = '["*.angle", "energy.*"]' if name == "channels" else '["left.pin"]'
    return texts(value, name, error=RunError, fix=f"Use e.g. {name}={example}.")


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise RunError(f"{name} = {shown(value)} is neither True nor False.", fix=f"Use {name}=True or {name}=False.")
    return bool(value)


def count(name: str, value: Any) -> int:
    """A whole number from 1 on."""
    value = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if not isinstance(value, int | np.integer) or isinstance(value, bool | np.bool_) or not 0 < value < 2**62:
        what = {"every": "steps", "runs": "runs", "threads": "threads"}.get(name, "things")
        raise RunError(f"{name} = {shown(value)} is not a number of {what}.", fix="Give a whole number from 1.")
    return int(value)


def by_path(name: str, value: Any) -> Mapping[str, Any]:
    """Values by path."""
    if not isinstance(value, Mapping):
        raise RunError(f"{name} {shown(value)} are no values by path.", fix=f'Use {name}={{"left.pin": 0.3}}.')
    names(name, list(value))
    return value


def frequencies(name: str, value: Any) -> tuple[float, float]:
    """Two frequencies [1/s]."""
    fix = "Give two frequencies, e.g. baumgarte=(20, 20) [1/s]."
    first, second = numbers(value, (2,), name, error=RunError, fix=fix).tolist()
    if first < 0 or second < 0:
        raise RunError(f"{name} = {shown(value)} are not two frequencies.", fix=fix)
    return first, second


def strength(name: str, value: Any) -> Any:
    """Stiffness or damping: for all, or by path."""
    if isinstance(value, Mapping):
        paths = names(name, list(value))
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


def clock(name: str, value: Any) -> Any:
    """Whether and how a run keeps in step with the clock."""
    if not isinstance(value, bool | np.bool_) and not callable(getattr(value, "settings", None)):
        fix = "Use realtime=True or RealTime(frame=0.01)."
        raise RunError(f"{name} = {shown(value)} is not understood.", fix=fix)
    return value


def onlooker(name: str, value: Any) -> Any:
    """Who looks on while a run is going."""
    if not callable(getattr(value, "update", None)) or not hasattr(value, "channels"):
        fix = "Give a LiveView, or any object with `channels` and update(time, values)."
        raise RunError(f"{name} {shown(value)} cannot look on.", fix=fix)
    return value


def listener(name: str, value: Any) -> Any:
    """Who is told something once."""
    if not callable(value) or type(value).__module__.startswith("casadi"):  # those take numbers
        raise RunError(f"{name} = {shown(value)} cannot be told anything.", fix="Give a function of one argument.")
    from inspect import signature  # few runs have one

    try:
        signature(value).bind(None)
    except TypeError:
        raise RunError(f"{name} cannot be told one thing.", fix="Give a function of one argument.") from None
    except ValueError:
        pass  # it does not say what it takes
    return value
