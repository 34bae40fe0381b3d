"""A part at a supplier's: `self.damper = Remote("supplier.example:7443/damper", damping=5e3)`.

Ports, public parameters, inputs, outputs and channels are those of the sealed part that is served there. What the
translator asks before a run (assembly, decisions about rank) is asked of states that are so far from the part's start:
the customer knows these offsets, never x.
"""

from __future__ import annotations

import struct
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import casadi as ca
import numpy as np

from kompono.compile.far import FRAME, HEADER, Op
from kompono.elsewhere.greeting import Hello, PartWelcome
from kompono.elsewhere.session import KeptSession, PartSession, Through
from kompono.errors import KomponoError, RemoteError
from kompono.sealed.code import Native
from kompono.sealed.element import Sealed
from kompono.sealed.kept import kept_variant, numbered
from kompono.sealed.shape import Described, Shape

REMEMBERED = 1 << 14  # values asked before a run that are not asked again

# A hello to a line, which has `welcome`, `post`, `collect`, `ask` and `close`; one that has `keep`, too, can be opened
# again with what that gave (`kept=`).
Connect = Callable[..., Any]


@dataclass(frozen=True)
class _Manifest:
    shape: Shape
    digest: str


class RemoteCode:
    """What is known of a part at a supplier's, in the place of a sealed file."""

    shows_states = False
    wall = ""  # it does not run here

    def __init__(self, address: str, connect: Connect) -> None:
        self.address, self._connect = address, connect
        line = connect(Hello(None).pack())
        self.welcome = PartWelcome.unpack(line.welcome, address)
        self.lasts = hasattr(line, "keep")  # so that runs can go on later
        line.close()
        self.manifest = _Manifest(self.welcome.shape, self.welcome.digest)
        self.stem = f"remote_{self.welcome.digest[:24]}"
        self._lines: dict[str | None, _Questions] = {}
        self._lock = threading.Lock()

    @property
    def starts(self) -> tuple[np.ndarray, ...]:
        """Offsets from the start, when a run begins."""
        return tuple(np.zeros(variant.size) for variant in self.manifest.shape.variants)

    def start(self, entry: str | None) -> np.ndarray:
        """The same by the entry of a variant."""
        return np.zeros(self.manifest.shape.variant(entry).size)

    def turns(self, entry: str | None) -> bool:
        """Whether any coordinates have to be kept of unit length."""
        shape = self.manifest.shape
        return self.welcome.turns[shape.variants.index(shape.variant(entry))]

    def function(self, entry: str | None, name: str) -> ca.Function:
        """One of its functions, of offsets; it is asked over the line."""
        key = entry, name
        if key not in self._functions:
            described = self.manifest.shape.variant(entry).functions[name]
            asked = _Asked(self, entry, name, f"{self.stem}_{len(self._functions)}")
            self._functions[key] = Native(asked, described.number, described)
        return self._functions[key]

    @cached_property
    def _functions(self) -> dict[tuple[str | None, str], ca.Function]:
        return {}

    def evaluate(self, entry: str | None, name: str, column: np.ndarray) -> np.ndarray:
        """What a function gives for a column with offsets in the place of x."""
        with self._lock:
            if entry not in self._lines:
                self._lines[entry] = _Questions(self, entry)
            return self._lines[entry].ask(name, column)

    def line(self, entry: str | None, lanes: int, kept: bytes | None = None) -> Any:
        """A new session, or one that goes on from what was kept of another."""
        hello = Hello(entry, lanes).pack()
        line = self._connect(hello) if kept is None else self._connect(hello, kept=kept)
        if PartWelcome.unpack(line.welcome, self.address).digest != self.welcome.digest:
            line.close()
            raise RemoteError(
                "the supplier has another part there since the model was made.", path=self.address,
                fix="Make the model again.",
            )  # fmt: skip
        return line


class _Asked:
    """One function of a remote part, for CasADi (`Native` asks it)."""

    def __init__(self, code: RemoteCode, entry: str | None, name: str, label: str) -> None:
        self._code, self._entry, self._name = weakref.proxy(code), entry, name
        self.stem = label

    def evaluate(self, _: int, column: np.ndarray) -> np.ndarray:
        """What it gives."""
        return self._code.evaluate(self._entry, self._name, np.asarray(column, dtype=float).ravel())


class _Questions:
    """Questions before a run: each is one frame that makes a state from offsets and asks a function about it."""

    def __init__(self, code: RemoteCode, entry: str | None) -> None:
        self._line, self._address = code.line(entry, 1), code.address
        variant = code.manifest.shape.variant(entry)
        self._described: Mapping[str, Described] = variant.functions
        self._numbers, self._turns = numbered(variant.functions), code.turns(entry)
        self._part = kept_variant(variant, "")
        self._sequence, self._number, self._known = 0, 1, dict[tuple[str, bytes], np.ndarray]()

    def ask(self, name: str, column: np.ndarray) -> np.ndarray:
        """What a function gives; `rates` are those of the offsets of speeds, not of the speeds themselves."""
        key = name, column.tobytes()
        if key not in self._known:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[key] = self._asked(name, column)
        return self._known[key]

    def _asked(self, name: str, column: np.ndarray) -> np.ndarray:
        function = self._part.functions[self._numbers[name]]
        before, size = function.before, self._part.size if function.takes else 0
        operations = self._made(Op.START, column[before : before + size] if size else np.zeros(self._part.size))
        if self._turns:
            operations += self._made(Op.FUNCTION + self._numbers["normalize"], [self._number - 1])
        rest = [*column[:before], self._number - 1, *column[before + size :]]
        operations += [Op.FUNCTION + self._numbers[name], 0, len(rest), *rest]
        self._sequence += 1
        frame = [FRAME, self._sequence, HEADER + len(operations), function.results, *operations]
        reply = self._line.ask(struct.pack(f"<{len(frame)}d", *frame))
        values = np.frombuffer(reply[: len(reply) // 8 * 8], dtype="<f8")
        whole = len(reply) == 8 * (HEADER + 1 + function.results)
        if not whole or values[0] != FRAME or values[1] != self._sequence or values[2] != 0:
            raise RemoteError("the supplier did not answer a question about the part.", path=self._address)
        return values[HEADER + 1 :].copy()

    def _made(self, op: int, arguments: Any) -> list[float]:
        self._number += 1
        return [op, self._number - 1, len(arguments), *arguments]


class RemoteHost:
    """The supplier as who keeps the part; each run is a session of its own."""

    may_be_lost, is_here = True, False

    def __init__(self, code: RemoteCode) -> None:
        self.code, self.lasts = code, code.lasts

    def open(self, part: Any, lanes: int, kept: KeptSession | None = None) -> PartSession:
        """A session over a new line."""
        try:
            line = self.code.line(part.near.entry, lanes, kept and kept.line)
        except KomponoError as error:
            raise RemoteError(str(error), path=part.path) from error
        return PartSession(Through(line), part.path, part.near.variant.size, lanes, kept)

    def start(self, part: Any, session: PartSession, given: np.ndarray) -> np.ndarray:
        """The part's own start, moved by what assembly moved it."""
        number = numbered(part.near.variant.functions)["normalize"] if part.near.turns else None
        return session.start(given, number)


class Remote(Sealed):
    """A part at a supplier's, with its ports as attributes.

    The address is `host:port/part`. Keywords are its public parameters and inputs: numbers, `Parameter(...)`,
    `Input(...)`. `insecure` leaves out certificates (addresses of this machine only), `patience` [s] is how long a lost
    link is tried again. `connect` opens lines in another way than by the network (`kompono.elsewhere.direct`).
    """

    def __init__(
        self, address: str, *, insecure: bool = False, patience: float | None = None, connect: Connect | None = None,
        **values: Any,
    ) -> None:  # fmt: skip
        self._file = str(address)
        options = {"insecure": insecure} | ({} if patience is None else {"patience": patience})
        try:
            self._code: Any = RemoteCode(self._file, connect or _network(self._file, options))
            self._declare(self._code, values)
        except KomponoError as problem:
            self._problem = problem

    @property
    def _remote_host(self) -> RemoteHost:
        """Who keeps it."""
        return RemoteHost(self._code)


def _network(address: str, options: dict[str, Any]) -> Connect:
    """Lines by the network."""
    try:
        line = import_module("kompono.remote.line").Line
    except ImportError as error:
        raise RemoteError(
            "lines to suppliers need the extra `remote`.", path=address, fix="pip install 'kompono[remote]'."
        ) from error
    return lambda hello, **kept: line(address, hello, **options, **kept)
