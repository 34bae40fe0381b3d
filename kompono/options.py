"""What a run may be asked for: who may watch it; names must exist, options belong to the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from kompono.errors import RunError, nearest


class Watcher(Protocol):
    """Who looks on while a run is going, about ten times a second: a live view, a recorder."""

    channels: tuple[str, ...]

    def update(self, time: float, values: np.ndarray, /) -> None:
        """The values of its channels at a time [s]."""
        ...


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
                raise RunError(f"{name} {value!r} belongs to engine={owner!r}.", fix=fix)


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
        if name not in known:
            raise RunError(
                f"there is no {what} {name!r}.", fix=nearest(name, known) or f"There are {', '.join(known) or 'none'}."
            )
