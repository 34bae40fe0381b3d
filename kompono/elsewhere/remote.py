"""A part at a supplier's: `self.damper = Remote("supplier.example:7443/damper", damping=5e3)`.

Ports, public parameters, inputs, outputs and channels are those of the sealed part that is served there. What the
translator asks before a run (assembly, decisions about rank) is asked of states that are so far from the part's start:
the customer knows these offsets, never x.
"""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from typing import Any, TypeVar

import casadi as ca
import numpy as np

from kompono.elsewhere.greeting import Hello, PartWelcome
from kompono.elsewhere.questions import Questions
from kompono.elsewhere.session import KeptSession, PartSession, Through
from kompono.errors import KomponoError, RemoteError
from kompono.foreign.places import Placed
from kompono.sealed.code import Native
from kompono.sealed.element import Sealed
from kompono.sealed.kept import numbered
from kompono.sealed.shape import Shape

T = TypeVar("T")

# A hello to a line, which has `welcome`, `post`, `collect`, `ask` and `close`; one that has `keep`, too, can be opened
# again with what that gave (`kept=`).
Connect = Callable[..., Any]


@dataclass(frozen=True)
class _Manifest:
    shape: Shape
    digest: str


class RemoteCode(Placed):
    """What is known of a part at a supplier's, in the place of a sealed file."""

    shows_states = False
    wall = ""  # it does not run here
    secret = b""

    def __init__(self, address: str, connect: Connect) -> None:
        super().__init__("remote")
        self.address, self._connect = address, connect
        line = connect(Hello(None).pack())
        self._heard, self.welcome = line.welcome, PartWelcome.unpack(line.welcome, address)
        self.lasts = hasattr(line, "keep")  # so that runs can go on later
        line.close()
        self.manifest = _Manifest(self.welcome.shape, self.welcome.digest)
        self._lines: dict[str | None, Questions] = {}
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

    @property
    def placed(self) -> Placed:
        """What its functions are named by."""
        return self

    @property
    def known_by(self) -> tuple[str, ...]:
        """What the supplier says of the part, and where it is in its model; `mark` is what it does."""
        return "remote", hashlib.sha256(self._heard).hexdigest(), self.place

    def mark(self, entry: str | None) -> str:
        """A name for what all its functions give for two states: a part that is changed has another one, whatever it is
        called. Asked once.
        """
        if entry not in self._marks:
            self._marks[entry] = hashlib.sha256(self._asking(entry, Questions.sample)).hexdigest()
        return self._marks[entry]

    def makers(self) -> Mapping[int, Callable[[], ca.Function]]:
        return {k: partial(self.function, *both) for both, k in self._numbers.items()}

    @cached_property
    def _numbers(self) -> dict[tuple[str | None, str], int]:
        """Its functions by number, for each entry."""
        variants = self.manifest.shape.variants
        return {both: k for k, both in enumerate((v.entry, name) for v in variants for name in sorted(v.functions))}

    def function(self, entry: str | None, name: str) -> ca.Function:
        """One of its functions, of offsets; it is asked over the line."""
        key = entry, name
        if key not in self._functions:
            described = self.manifest.shape.variant(entry).functions[name]
            asked = _Asked(self, entry, name, self.stem)
            self._functions[key] = Native(asked, self._numbers[key], described)
        return self._functions[key]

    @cached_property
    def _functions(self) -> dict[tuple[str | None, str], ca.Function]:
        return {}

    @cached_property
    def _marks(self) -> dict[str | None, str]:
        return {}

    def evaluate(self, entry: str | None, name: str, column: np.ndarray) -> np.ndarray:
        """What a function gives for a column with offsets in the place of x."""
        return self._asking(entry, lambda questions: questions.ask(name, column))

    def _asking(self, entry: str | None, ask: Callable[[Questions], T]) -> T:
        with self._lock:
            if entry not in self._lines:
                self._lines[entry] = Questions(self, entry)
            return ask(self._lines[entry])

    def line(self, entry: str | None, lanes: int, kept: bytes | None = None) -> Any:
        """A new session, or one that goes on from what was kept of another."""
        hello = Hello(entry, lanes).pack()
        line = self._connect(hello) if kept is None else self._connect(hello, kept=kept)
        if line.welcome != self._heard:
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
