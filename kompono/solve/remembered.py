"""What the callables of a run remember, as plain data that a file can keep, and back into callables of another process.

The places a callable can remember by (`memory.py`) are found anew in each process, in the same order, because the same
code made them; so a place is known by its number. What a place holds is kept if it consists of numbers, texts, arrays
and containers of these, or is another place. Iterators, open files and other objects cannot be kept.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import types
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.errors import RunError
from kompono.solve.memory import ABSENT, Reachable, content, fill, has_names, is_same, owner_of, reach

if TYPE_CHECKING:
    from kompono.solve.inputs import Source

_PLAIN = (bool, int, float, str, type(None))
_CONTAINERS: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset, "deque": deque}


class NotInWords(Exception):
    """Something that cannot be put into words."""


class Remembered:
    """The memory of the callables of one run, looked at when it begins."""

    def __init__(self, sources: Sequence[Source]) -> None:
        owners: dict[int, tuple[str, Any, Any]] = {}
        for source in sources:
            if source.function is not None:
                owner = owner_of(source.function)
                owners.setdefault(id(owner), (source.name, owner, source.function))
        self._functions = [(name, function) for name, _, function in owners.values()]
        found = [(name, reach([owner])) for name, owner, _ in owners.values()]
        self._hidden = [f"{name}: it remembers by {thing}" for name, one in found for thing in _hidden(one)]
        self._places = [(name, place) for name, one in found for place in one.places]
        self._before = [content(place) for _, place in self._places]
        self._numbers = {id(place): number for number, (_, place) in enumerate(self._places)}

    def words(self) -> dict[str, Any]:
        """What has changed since the run began; or why that cannot be said."""
        if self._hidden:
            return {"lost": self._hidden[0]}
        changes = []
        for number, ((name, place), before) in enumerate(zip(self._places, self._before, strict=True)):
            now = content(place)
            try:
                if has_names(place):
                    keys = [key for key in {**before, **now} if before.get(key, ABSENT) is not now.get(key, ABSENT)]
                    pairs = [[self._word(key), self._word(now.get(key)), key in now] for key in keys]
                    changes += [[number, pairs]] if pairs else []
                elif not is_same(before, now):
                    changes.append([number, self._content(now)])
            except NotInWords as cause:
                return {"lost": f"{name}: it remembers by {cause}"}
        return {"changes": changes}

    def recall(self, words: dict[str, Any]) -> None:
        """Let the callables remember what others did; RunError if that was not kept."""
        if "lost" in words:
            text = f"the run cannot be resumed, for a callable's memory could not be kept ({words['lost']})."
            raise RunError(text, fix="Let it remember by numbers, lists and arrays in its attributes, and run again.")
        try:
            for number, change in words["changes"]:
                place = self._places[number][1]
                if has_names(place):
                    fill(place, {self._thing(k): self._thing(word) if there else ABSENT for k, word, there in change})
                else:
                    fill(place, self._thing(change))
        except (IndexError, KeyError, TypeError, ValueError) as cause:
            raise RunError("what callables remembered does not fit those of this run.") from cause

    def digest(self) -> str:
        """A name for the code of the callables and what they know at the start."""
        parts: list[Any] = []
        for name, function in self._functions:
            parts += [name, *_code(function)]
        for before in self._before:
            try:
                parts.append(self._content(before) if not isinstance(before, dict) else self._known(before))
            except NotInWords:
                parts.append("?")
        return hashlib.sha256(json.dumps(parts, default=repr).encode()).hexdigest()

    def _known(self, held: dict[Any, Any]) -> list[Any]:
        found = []
        for key, value in held.items():
            try:
                found.append([str(key), self._word(value)])
            except NotInWords:
                found.append([str(key), type(value).__qualname__])
        return found

    def _content(self, held: Any) -> Any:
        """The content of a place that is no table of names."""
        return self._word(held, content=True)

    def _word(self, value: Any, content: bool = False) -> Any:
        """A value as JSON data: plain ones as they are, others as {kind: ...}."""
        if type(value) in _PLAIN:
            return value
        if not content and id(value) in self._numbers:
            return {"place": self._numbers[id(value)]}
        if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
            array = np.asarray(value)
            kind = "array" if isinstance(value, np.ndarray) else "scalar"
            return {kind: [array.dtype.str, list(array.shape), base64.b64encode(array.tobytes()).decode()]}
        if isinstance(value, bytes | bytearray):
            return {type(value).__name__: value.hex()}
        if type(value) is complex:
            return {"complex": [value.real, value.imag]}
        if type(value) is dict:
            return {"dict": [[self._word(key), self._word(entry)] for key, entry in value.items()]}
        for kind, type_ in _CONTAINERS.items():
            if type(value) is type_ and isinstance(value, Iterable):
                entries = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
                most = {"most": value.maxlen} if isinstance(value, deque) else {}
                return {kind: [self._word(entry) for entry in entries], **most}
        raise NotInWords(f"{type(value).__name__} {value!r}"[:100])

    def _thing(self, word: Any) -> Any:
        """The inverse of `_word`."""
        if not isinstance(word, dict):
            return word
        kind, data = next(iter(word.items()))
        if kind == "place":
            return self._places[data][1]
        if kind in ("array", "scalar"):
            array = np.frombuffer(base64.b64decode(data[2]), dtype=np.dtype(data[0])).reshape(data[1]).copy()
            return array if kind == "array" else array[()]
        if kind in ("bytes", "bytearray"):
            return (bytes if kind == "bytes" else bytearray).fromhex(data)
        if kind == "complex":
            return complex(*data)
        if kind == "dict":
            return {self._thing(key): self._thing(entry) for key, entry in data}
        entries = [self._thing(entry) for entry in data]
        return deque(entries, maxlen=word["most"]) if kind == "deque" else _CONTAINERS[kind](entries)


def _hidden(found: Reachable) -> Iterable[str]:
    """What hides a memory that nobody can look at."""
    for thing in found.others:
        if hasattr(thing, "__next__") or hasattr(thing, "read") or hasattr(thing, "recv"):
            yield f"{thing!r}"
    for place in found.places:
        thing = getattr(place, "get", lambda: None)() if not isinstance(place, dict) else None
        if isinstance(thing, random.Random):
            yield "a generator of the module random (use numpy.random.default_rng)"


def _code(function: Any) -> list[Any]:
    """The code of a callable, as far as Python tells."""
    called = function.__func__ if isinstance(function, types.MethodType) else function
    if not isinstance(called, types.FunctionType):
        called = getattr(type(called), "__call__", None)  # noqa: B004 (its code, not whether there is one)
    code = getattr(called, "__code__", None)
    return [getattr(called, "__qualname__", ""), *(_instructions(code) if code is not None else [])]


def _instructions(code: types.CodeType) -> list[Any]:
    inner: list[Any] = []
    for part in code.co_consts:
        known = sorted(map(repr, part)) if isinstance(part, frozenset) else repr(part)
        inner.append(_instructions(part) if isinstance(part, types.CodeType) else known)
    return [code.co_code.hex(), list(code.co_names), inner]
