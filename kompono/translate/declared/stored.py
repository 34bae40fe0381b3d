"""Routines of a translated model as text and back, so that a model translated before is not traced again.

A `Shelf` keeps texts by name (the compiler's cache on disk is one). The *head* of a translation says what must be known
before any routine is asked for, such as its channels; routines are kept one by one, as they are first asked for, with
the kernels they call.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import casadi as ca

from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.sameness import Nameless, fingerprint
from kompono.translate.program import Call, Channel, Routine
from kompono.translate.tracer import kernel_text


class Shelf(Protocol):
    """Where texts are kept between processes."""

    def get(self, name: str) -> bytes | None:
        """What was put under a name, or nothing."""
        ...

    def put(self, name: str, data: bytes) -> None:
        """Keep something under a name."""
        ...


class Head(NamedTuple):
    """Whether kernels are shared, all channels, whether stages of a step may leave the conditions, and how many of
    these are independent and how many implied by others wherever the machine can go.
    """

    shared: bool
    channels: tuple[Channel, ...]
    strays: bool
    independent: int
    slips: int


class KeptTranslation:
    """The translation of one model on a shelf."""

    def __init__(self, shelf: Shelf, name: Callable[[], str], kernels: dict[str, ca.Function]) -> None:
        self.shelf, self.kernels = shelf, kernels
        self._find_name, self.fingerprint = name, name()

    def head(self) -> Head | None:
        """What can be known of a translation without tracing anything; nothing if this model is new."""
        data = self._read("head")
        if data is None:
            return None
        channels = tuple(Channel(*item) for item in data["channels"])
        return Head(data["shared"], channels, data["strays"], data["independent"], data["slips"])

    def put_head(self, head: Head) -> None:
        """Remember that this model was translated."""
        channels = [[channel.name, channel.unit, channel.angle] for channel in head.channels]
        self._write("head", head._asdict() | {"channels": channels})

    def routine(self, name: str, make: Callable[[], Routine]) -> Routine:
        """The routine as it was kept, or a new one."""
        data = self._read(name)
        if data is not None:
            return self._routine(data)
        routine = make()
        if type(routine) is Routine:
            self._write(name, self._text(routine))
        return routine

    def _text(self, routine: Routine) -> dict[str, Any]:
        used = {call.kernel: kernel_text(call.kernel, self.kernels[call.kernel]) for call in routine.calls}
        return {
            "kernels": used,
            "inputs": routine.inputs,
            "outputs": routine.outputs,
            "calls": [[call.kernel, call.inputs, call.outputs, call.path] for call in routine.calls],
            "result": routine.result,
            "workspace": routine.workspace,
            "name": routine.name,
        }

    def _routine(self, data: dict[str, Any]) -> Routine:
        for name, text in data["kernels"].items():
            if name not in self.kernels:
                self.kernels[name] = ca.Function.deserialize(text)
        calls = tuple(Call(kernel, tuple(i), tuple(o), path) for kernel, i, o, path in data["calls"])
        sizes = [tuple((name, size) for name, size in data[key]) for key in ("inputs", "outputs")]
        result = tuple(tuple(row) for row in data["result"])
        return Routine(data["name"], sizes[0], sizes[1], calls, result, data["workspace"])

    def _name(self, part: str) -> str:
        return hashlib.sha256(f"{self.fingerprint} {part}".encode()).hexdigest()

    def _read(self, part: str) -> Any:
        data = self.shelf.get(self._name(part))
        return None if data is None else json.loads(data)

    def _write(self, part: str, content: Any) -> None:
        """Keep what was just made, unless the model is no longer what it was when it got its name."""
        try:
            same = self._find_name() == self.fingerprint
        except Nameless:
            same = False
        if same:
            self.shelf.put(self._name(part), json.dumps(content).encode())


def find_kept(
    shelf: Shelf | None, model: Elaborated, options: Any, kernels: dict[str, ca.Function]
) -> KeptTranslation | None:
    """The place of a model's translation on a shelf, if there is one and the model can be named."""
    if shelf is None:
        return None
    try:
        return KeptTranslation(shelf, lambda: fingerprint(model, options), kernels)
    except (Nameless, RecursionError):
        return None
