"""Native code of closed functions: each is an object of its own, whoever calls it. Most are lowered from their graphs;
the solvers of laws and of networks are known by their names and written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from kompono.compile import cache, law_solver, newton, schedule
from kompono.compile.called import seen
from kompono.compile.emit import prelude
from kompono.compile.lanes import ONE, Lanes
from kompono.compile.law_columns import define_columns
from kompono.compile.law_lanes import define_lanes
from kompono.translate.laws.naming import is_solver, rows_asked, sizes


def closed_key(name: str, lanes: Lanes) -> str:
    """The name of a closed function's object in the cache."""
    versions = [law_solver.VERSION] if is_solver(name) else [newton.VERSION, "newton"] if newton.is_newton(name) else []
    return cache.key("closed", [], (name, lanes, *versions))


def closed_text(function: ca.Function, lanes: Lanes) -> str:
    """A closed function as LLVM text."""
    body = closed_body(function, lanes)
    return prelude(body, lanes) + body


def closed_body(function: ca.Function, lanes: Lanes) -> str:
    """The same without what must stand before it."""
    name = function.name()
    if is_solver(name):
        return law_solver.define(name, lanes) if lanes == ONE else define_lanes(name, lanes)
    if newton.is_newton(name):
        return newton.define(name, lanes)
    columns = define_columns(function) if lanes == ONE and rows_asked(name) is not None else ""
    return schedule.define_called(function, lanes) + columns


def asked_alone(found: Mapping[str, Any]) -> dict[str, Any]:
    """Closed functions that are asked lane by lane: solvers of laws, and what these ask."""
    known = [(name, size) for name in found if (size := sizes(name)) is not None]
    needed = [name for name, _ in known] + [size.respond for _, size in known]
    inner = [f.name() for name in needed if name in found for f in _all_called(found[name])]
    return {name: found[name] for name in dict.fromkeys([*needed, *inner]) if name in found}


def _all_called(function: Any) -> list[Any]:
    return [] if sizes(function.name()) is not None else list(seen(function).find_functions())
