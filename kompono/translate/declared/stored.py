"""Routines of a translated model as text and back, so that a model translated before is not traced again.

A `Shelf` keeps texts by name (the compiler's cache on disk is one). The *head* of a translation says what must be known
before any routine is asked for, such as its channels; routines are kept one by one, as they are first asked for, with
the kernels they call.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import casadi as ca
import numpy as np

from kompono.foreign.places import spelled
from kompono.sealed.shelf import shelf_for
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.sameness import Nameless, Names, names_of
from kompono.translate.kernels import Kernels, kernel_text
from kompono.translate.numbered import Numbered, worked_out
from kompono.translate.numbers import Open, OpenNumbers, Schedule
from kompono.translate.program import Call, Channel, Coded, Routine


class Shelf(Protocol):
    """Where texts are kept between processes."""

    def get(self, name: str) -> bytes | None:
        """What was put under a name, or nothing."""
        ...

    def put(self, name: str, data: bytes) -> None:
        """Keep something under a name."""
        ...


class Head(NamedTuple):
    """Whether kernels are shared, all channels, whether stages of a step may leave the conditions, how many of
    these are independent and how many implied by others wherever the machine can go, and where locked coordinates and
    their speeds are in the state.
    """

    shared: bool
    channels: tuple[Channel, ...]
    strays: bool
    independent: int
    slips: int
    locked: tuple[int, ...] = ()
    pattern: str = ""  # what was decided by lengths, where these are put in after tracing

    @property
    def judged(self) -> tuple[Any, ...]:
        """What must be the same in a model that differs in numbers alone."""
        return self.shared, self.independent, self.slips, self.locked, self.pattern


class KeptTranslation:
    """The translation of one model on a shelf: with its numbers, and of all models that differ in `numbers` alone."""

    def __init__(self, shelf: Shelf, name: Callable[..., Names], kernels: Kernels, numbers: OpenNumbers | None) -> None:
        self.shelf, self.kernels, self.numbers = shelf, kernels, numbers
        self._find_names, self.names = name, name()
        self._waiting: list[tuple[str, str, Any]] | None = None  # what is kept when somebody is done
        self._heads: list[tuple[str, str, Any]] = []  # the same with the next of that
        self._tabled: dict[str, Routine] = {}  # routines that are kept together with others
        self._open = self.names.open  # where routines without numbers are: with what lengths have decided, once known

    @contextmanager
    def together(self) -> Iterator[None]:
        """Keep all that is made meanwhile at the end: the model is looked at once."""
        if self._waiting is not None:
            yield
            return
        self._waiting = []
        try:
            yield
        finally:
            waiting, self._waiting = self._waiting, None
            self._put(waiting)

    def head(self) -> Head | None:
        """What can be known of a translation without tracing anything; nothing if this model is new."""
        head = self._head(self.names.exact)
        self._open = self._decided(head.pattern) if head is not None else self._open
        return head

    def open_head(self, pattern: str = "") -> Head | None:
        """The same of a model that differs in numbers alone, without what is found from numbers: of the last one, or of
        one with the same `pattern`.
        """
        return self._head(self._decided(pattern)) if self.numbers is not None else None

    def decide(self) -> None:
        """Be the place of models in which lengths decide the same, without a head that says what they decide."""
        if self.numbers is None:
            return
        known = self._read(self.names.exact, "pattern")
        pattern = self.numbers.pattern if known is None else known
        if known is None:
            self._heads.append((self.names.exact, "pattern", pattern))
        self._open = self._decided(pattern)

    def _decided(self, pattern: str) -> str:
        """The name of models that differ in numbers alone, and in which lengths decide the same."""
        return f"{self.names.open} {pattern}" if pattern else self.names.open

    def _head(self, model: str) -> Head | None:
        data = self._read(model, "head")
        if data is None:
            return None
        channels = tuple(Channel(*item) for item in data["channels"])
        judged = (data["independent"], data["slips"], tuple(data["locked"]))
        return Head(data["shared"], channels, data["strays"], *judged, data["pattern"])

    def put_head(self, head: Head) -> None:
        """Remember that this model was translated, with the first routine that is kept."""
        channels = [[channel.name, channel.unit, channel.angle] for channel in head.channels]
        self._open = self._decided(head.pattern)
        for model in dict.fromkeys((*self.names, self._open)) if self.numbers is not None else self.names[:1]:
            self._heads.append((model, "head", head._asdict() | {"channels": channels}))

    def routine(self, name: str, make: Callable[[], Routine]) -> Routine:
        """The routine as it was kept, or a new one."""
        if name in self._tabled:
            return self._tabled[name]
        data = self._read(self.names.exact, name)
        if data is not None and "values" in data:
            opened = self._read(self._open, name)
            if opened is not None and opened["numbers"] == data["numbers"]:
                return self._scheduled(opened, data["values"])
        elif data is not None:
            return self._promised(data, name, make) if "coded" in data else self._routine(data)
        opened = self._read(self._open, name) if self.numbers is not None else None
        routine = self._filled(opened)
        if routine is None:
            routine = make()
            opened = self._opened(routine)
            if opened is not None:
                self._write(self._open, name, opened)
        if type(routine) is Routine and (opened is None or opened["numbers"] or opened["pattern"]):
            self._write(self.names.exact, name, self._exact(routine))
        return routine

    def numbered(self, name: str, make: Callable[[], Numbered]) -> Numbered:
        """Routines of tables with their numbers, as they were kept, or new ones."""
        where = self.names.exact if self.numbers is None else self._open
        known, opened = self._read(self.names.exact, f"{name} values"), self._read(where, name)
        found = self._with_values(opened, known)
        if found is None:
            found = make()
            told = self._told(found.names) if self.numbers is not None else {}
            self._write(where, name, found.text(self.kernels) | told)
        if known is None or known["table"] != _digest(found.table):
            values = {"table": _digest(found.table), "values": found.values.tolist()}
            self._write(self.names.exact, f"{name} values", values)
        self._tabled |= found.routines
        return found

    def _with_values(self, opened: dict[str, Any] | None, known: dict[str, Any] | None) -> Numbered | None:
        """Kept routines with the values that are known, or those of this model; nothing where it needs others."""
        if opened is None:
            return None
        if known is not None and known["table"] == _digest(opened["table"]):
            return Numbered.of(opened, self.kernels, np.array(known["values"]))
        if self.numbers is None or not self._fits(opened):
            return None
        values = worked_out(opened["table"], self.numbers.values(opened["numbers"]))
        return Numbered.of(opened, self.kernels, values)

    def _exact(self, routine: Routine) -> dict[str, Any]:
        """A routine with its numbers; its code is kept without them."""
        schedule = self._schedule(routine)
        if schedule is not None and self.numbers is not None:
            return {"numbers": schedule.names, "values": self.numbers.values(schedule.names)}
        coded = self.numbers.coded.get(routine.calls[0].kernel) if self.numbers and len(routine.calls) == 1 else None
        if coded is None:
            return self._text(routine)
        told = [
            coded.digest,
            coded.numbers.astype("<f8").tobytes().hex(),
            coded.length,
            [*map(spelled, coded.called)],
            coded.timed,
        ]
        return self._plain(routine) | {"kernels": {}, "coded": told}

    def _promised(self, data: dict[str, Any], name: str, make: Callable[[], Routine]) -> Routine:
        """A routine whose kernel is made when somebody wants to see it."""
        assert self.numbers is not None
        routine = self._routine(data)
        (call,), (digest, numbers, length, called, timed) = routine.calls, data["coded"]

        @cache
        def code() -> ca.Function:
            kept = self._read(self._open, name)
            if kept is not None and hashlib.sha256(kept["open"][0].encode()).hexdigest() == digest:
                return self.kernels.read(kept["open"][0])
            return found.opened[make().calls[0].kernel].code  # it is gone, or another one by now

        def kernel() -> ca.Function:
            x = ca.SX.sym("x", len(call.inputs))
            return ca.Function("kernel", [x], [code()(ca.vertcat(x, ca.DM(values)))])

        found, values = self.numbers, np.frombuffer(bytes.fromhex(numbers), dtype="<f8").astype(float)
        if call.kernel not in self.kernels:
            self.kernels.promised[call.kernel] = kernel
        found.coded.setdefault(call.kernel, Coded(code, digest, values, length, self.kernels.names(called), timed))
        return routine

    def _opened(self, routine: Routine) -> dict[str, Any] | None:
        """A routine of one kernel, or a schedule, without its numbers."""
        schedule = self._schedule(routine)
        if schedule is not None:
            return self._text(schedule.routine) | self._told(schedule.names) | {"slots": schedule.slots}
        if self.numbers is None or type(routine) is not Routine or len(routine.calls) > 1:
            return None
        if not routine.calls:
            return self._text(routine) | self._told(())
        kernel = routine.calls[0].kernel
        if kernel in self.numbers.without:
            return self._text(routine) | self._told(())
        opened = self.numbers.opened.get(kernel)
        if opened is None:  # made of kernels that have their numbers
            return None
        return self._plain(routine) | {"kernels": {}, "open": opened.texts} | self._told(opened.names)

    def _told(self, names: Sequence[str]) -> dict[str, Any]:
        assert self.numbers is not None
        given = self.numbers.frames is None and not self.numbers.deciding and self.numbers.are_declared(names)
        return {"numbers": names, "pattern": "" if given else self.numbers.pattern}

    def _schedule(self, routine: Routine) -> Schedule | None:
        """What a routine of several calls was before its numbers were put in."""
        made, schedule = self.numbers.scheduled.get(routine.name, (None, None)) if self.numbers else (None, None)
        return schedule if made is routine else None

    def _scheduled(self, data: dict[str, Any], values: Sequence[float] | None = None) -> Routine:
        assert self.numbers is not None
        schedule = Schedule(self._routine(data), tuple(data["numbers"]), tuple(data["slots"]))
        return self.numbers.closed_schedule(self.kernels, schedule, values)

    def _filled(self, data: dict[str, Any] | None) -> Routine | None:
        """A routine with the numbers of this model; nothing where it needs others."""
        if data is None or self.numbers is None or not self._fits(data):
            return None
        if "slots" in data:
            return self._scheduled(data)
        if not data["numbers"]:
            return self._routine(data)
        (call,) = data["calls"]
        kernel = self.numbers.closed(self.kernels, Open.of(data["open"], data["numbers"], self.kernels))
        return self._routine(data | {"calls": [[kernel, *call[1:]]]})

    def _fits(self, data: dict[str, Any]) -> bool:
        """Whether this model has the numbers that were left out, and decides the same by them."""
        assert self.numbers is not None
        if not self.numbers.known(data["numbers"]):
            return False
        return not data["pattern"] or data["pattern"] == self.numbers.pattern

    def _text(self, routine: Routine) -> dict[str, Any]:
        used = {kernel: kernel_text(kernel, self.kernels) for kernel in routine.counts()}
        return {"kernels": used, **self._plain(routine)}

    def _plain(self, routine: Routine) -> dict[str, Any]:
        return {
            "inputs": routine.inputs,
            "outputs": routine.outputs,
            "calls": [[call.kernel, call.inputs, call.outputs, call.path] for call in routine.calls],
            "result": routine.result,
            "workspace": routine.workspace,
            "name": routine.name,
            "entries": routine.entries,
        }

    def _routine(self, data: dict[str, Any]) -> Routine:
        for name, text in data["kernels"].items():
            if name not in self.kernels:
                self.kernels.promised[name] = partial(self.kernels.read, text)
        calls = tuple(Call(kernel, tuple(i), tuple(o), path) for kernel, i, o, path in data["calls"])
        sizes = [tuple((name, size) for name, size in data[key]) for key in ("inputs", "outputs")]
        result = tuple(tuple(row) for row in data["result"])
        entries = tuple(tuple(row) for row in data["entries"])
        return Routine(data["name"], sizes[0], sizes[1], calls, result, data["workspace"], entries=entries)

    def _read(self, model: str, part: str) -> Any:
        data = self.shelf.get(_name(model, part))
        return None if data is None else json.loads(data)

    def _write(self, model: str, part: str, content: Any) -> None:
        """Keep what was just made, unless the model is no longer what it was when it got its name."""
        if self._waiting is not None:
            self._waiting.append((model, part, content))
        else:
            self._put([(model, part, content)])

    def _put(self, waiting: Sequence[tuple[str, str, Any]]) -> None:
        if not waiting and not self._heads:
            return
        try:
            same = self._find_names(again=True) == self.names
        except Nameless:
            same = False
        heads, self._heads = self._heads, []
        for model, part, content in (*heads, *waiting) if same else ():
            self.shelf.put(_name(model, part), json.dumps(content).encode())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _name(model: str, part: str) -> str:
    return hashlib.sha256(f"{model} {part}".encode()).hexdigest()


def find_kept(
    shelf: Shelf | None,
    model: Elaborated,
    options: Any,
    kernels: Kernels,
    numbers: OpenNumbers | None = None,
) -> KeptTranslation | None:
    """The place of a model's translation on a shelf, if there is one and the model can be named; of one with `numbers`
    in the place of others.
    """
    if shelf is None:
        return None

    def name(*, again: bool = False) -> Names:
        return names_of(model, options, again=again, numbers=numbers)

    try:
        return KeptTranslation(shelf_for(shelf, model.subsystems), name, kernels, numbers)
    except (Nameless, RecursionError):
        return None
