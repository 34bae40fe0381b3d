"""Keepers in memory: from the functions of a part to the addresses of its native keeper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import casadi as ca

from kompono.compile import assembler, cache, jit, keeper, sealed
from kompono.compile.closed import closed_key, closed_text
from kompono.compile.keeper_frames import ANSWER, RECEIVE, TRANSMIT
from kompono.compile.lanes import Lanes
from kompono.compile.numbers import filled
from kompono.sealed.kept import KeptPart
from kompono.translate.laws.naming import is_solver


def place_keeper(
    part: KeptPart, functions: Mapping[str, ca.Function], lanes: int, use_cache: bool = True
) -> tuple[dict[str, int], Any]:
    """Addresses of `answer`, `transmit` and `receive`, and what keeps them in memory; functions that are not given are
    those of sealed parts.
    """
    width = Lanes(lanes)

    def made(key: str, text: Any, loops: bool) -> bytes:
        data = cache.find(key) if use_cache else None
        if data is None:
            data = assembler.assemble(text(), loops=loops)
            if use_cache:
                cache.keep(key, data)
        return data

    objects = [made(cache.key("keeper", [], (part, width)), lambda: keeper.keeper_text(part, width), True)]
    own = _all(functions.values())
    for name, function in own.items():
        objects.append(made(closed_key(name, width), lambda f=function: closed_text(f, width), is_solver(name)))
    files = [name for name in part.called if name not in own]
    objects += sealed.objects(files, width).values()
    for text, shape in sealed.joints(files, width):
        objects.append(filled(made(cache.key("joint", [], text), lambda t=text: t, False), shape))
    return jit.place(objects, (ANSWER, TRANSMIT, RECEIVE))


def _all(functions: Iterable[ca.Function]) -> dict[str, ca.Function]:
    """Functions and all they call, by name."""
    found = {function.name(): function for function in functions}
    for function in list(found.values()):
        found |= {inner.name(): inner for inner in function.find_functions()}
    return {name: function for name, function in found.items() if function.class_name() == "SXFunction"}
