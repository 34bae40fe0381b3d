"""Where a result comes from: versions, a hash of the equations, parameters, inputs, starts and options of its run.

Files of results keep it, so that years later it is known what was run, and whether a model is still the same.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import casadi as ca
import numpy as np

from kompono.keeping import equations, plain
from kompono.request import Request
from kompono.solve.inputs import Feed, Source

LONGEST = 1000  # entries of a table that are told one by one


def origin_of(
    simulation: Any, request: Request, parameters: np.ndarray, feed: Feed, routine: str, begin: float
) -> dict[str, Any]:
    """All of it as plain data; `routine` is the one that computes the channels."""
    program = simulation.program
    names = [simulation.translation.model.path(parameter) for parameter in simulation.translation.model.parameters]
    return {
        "kompono": import_module("kompono").__version__,
        "casadi": ca.CasadiMeta.version(),
        "equations": equations(program, routine),
        "parameters": dict(zip(names, map(float, parameters), strict=False)),
        "inputs": {source.name: _told(source) for source in feed.sources},
        "initial": plain(dict(request.initial or {})),
        "begin": begin,
        "went_on": request.start is not None,
        "options": {name: plain(value) for name, value in request.noted().items() if name not in _APART},
    }


_APART = ("parameters", "initial", "begin")


def _told(source: Source) -> Any:
    """What feeds an input: a number, a table (of a long one its ends and size), or how often a callable is asked."""
    if source.table is not None:
        times, values = (np.asarray(column).tolist() for column in source.table)
        short = len(times) <= LONGEST
        return {"times": times, "values": values} if short else {"times": [times[0], times[-1]], "rows": len(times)}
    if source.is_callable:
        function = source.function or source.factory
        return {"callable": getattr(function, "__qualname__", type(function).__qualname__), "every": source.period}
    return float(source.value)
