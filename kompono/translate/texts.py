"""Functions as text and back, those that call machine code of sealed files and FMUs as well.

CasADi can write a call of such a callback, but not read it. So callbacks are written apart: only their names stand in
the text, and whoever reads it has functions of these names at hand, those of the model that is translated. A function
of a sealed file is named by what is in the file; one of an FMU by where that is in the model, for each has an instance
of its own. Nothing of a file is ever in a text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import casadi as ca

from kompono.foreign.code import spelled
from kompono.foreign.element import Fmu, functions_of
from kompono.model.element import Element
from kompono.sealed.code import find as find_sealed


def written(function: ca.Function) -> str:
    """A function as text."""
    called = {f.name(): f for f in function.find_functions() if f.class_name() == "CallbackInternal"}
    if not called:
        return function.serialize()
    names = sorted(called, key=spelled)
    return json.dumps([spelled(name) for name in names]) + _after([called[name] for name in names], function)


def read(text: str, closed: Mapping[str, ca.Function]) -> ca.Function:
    """The function of a text; callbacks of FMUs it calls are those that are `closed`, by their names in texts."""
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
    found = find_sealed(name)
    return closed[name] if found is None else found[0].functions[found[1]]


def callbacks(parts: Iterable[tuple[str, Element]]) -> dict[str, ca.Function]:
    """Functions of the FMUs among the parts of a model, which are told with their paths, by their names in texts."""
    found: dict[str, ca.Function] = {}
    taken = set[str]()
    for path, part in parts:
        functions = functions_of(part) if isinstance(part, Fmu) else None
        if functions is not None:
            functions.have_place(path, taken)
            taken.add(functions.place)
            found |= {spelled(one.name()): one for one in functions.native.values()}
    return found
