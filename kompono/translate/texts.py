"""Functions as text and back, those that call machine code of sealed files and FMUs, and parts elsewhere, as well.

CasADi can write a call of such a callback, but not read it. So callbacks are written apart: only their names stand in
the text, and whoever reads it has functions of these names at hand, those of the model that is translated. A function
of a sealed file is named by what is in the file; one of an FMU by where that is in the model, for each has an instance
of its own, and so is one that asks a supplier before a run, for each has a line of its own. One of a part elsewhere
says all in its name. Nothing of a file is ever in a text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

import casadi as ca

from kompono.foreign.element import Fmu, functions_of
from kompono.foreign.places import Placed, spelled
from kompono.model.element import Element
from kompono.sealed.code import find as find_sealed
from kompono.sealed.element import Sealed, code_of
from kompono.translate.far_calls import find_far


def written(function: ca.Function) -> str:
    """A function as text."""
    called = {f.name(): f for f in function.find_functions() if f.class_name() == "CallbackInternal"}
    if not called:
        return function.serialize()
    names = sorted(called, key=spelled)
    return json.dumps([spelled(name) for name in names]) + _after([called[name] for name in names], function)


def read(text: str, closed: Mapping[str, ca.Function]) -> ca.Function:
    """The function of a text; callbacks of FMUs and suppliers are those that are `closed`, by their names in texts."""
    if not text.startswith("["):
        return ca.Function.deserialize(text)
    names, begin = json.JSONDecoder().raw_decode(text)
    reader, known = ca.StringDeserializer(text[begin:]), ca.StringSerializer()
    known.connect(reader)  # what is written to the one is known to the other
    for name in names:
        known.pack(_callback(name, closed))
    return reader.unpack()


def _after(called: Iterable[ca.Function], function: ca.Function) -> str:
    """A function as it is written after others."""
    writer = ca.StringSerializer()
    head = writer.encode()
    for one in called:
        writer.pack(one)
    writer.encode()
    writer.pack(function)
    return head + writer.encode()


def _callback(name: str, closed: Mapping[str, ca.Function]) -> ca.Function:
    far, found = find_far(name), find_sealed(name)
    if far is not None:
        return far
    return closed[name] if found is None else found[0].functions[found[1]]


class Callbacks(Mapping[str, ca.Function]):
    """Functions by their names in texts, each made when it is first asked for."""

    def __init__(self, makers: Mapping[str, Callable[[], ca.Function]]) -> None:
        self._makers = makers

    def __getitem__(self, name: str) -> ca.Function:
        return self._makers[name]()

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def callbacks(parts: Iterable[tuple[str, Element]]) -> Callbacks:
    """Functions of FMUs and suppliers among the parts of a model, which are told with their paths, by their names in
    texts.
    """
    found: dict[str, Callable[[], ca.Function]] = {}
    taken = set[str]()
    for path, part in parts:
        owner: Placed | None = functions_of(part) if isinstance(part, Fmu) else None
        if isinstance(part, Sealed):
            owner = code_of(part).placed
        if owner is not None:
            owner.have_place(path, taken)
            taken.add(owner.place)
            found |= {f"{owner.known_as}_{number}": make for number, make in owner.makers().items()}
    return Callbacks(found)
