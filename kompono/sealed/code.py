"""A sealed part that may be used: its author is trusted or a wall is around it, its numbers are open, its code fits.

Its functions are CasADi functions without instructions, which stay calls in the code of an owner. They are known by
their names, which are made of the hash of the manifest, so the compiler finds the machine code again (`find`), and
CasADi's own interpreter is answered by the same code; derivatives CasADi takes as differences.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import casadi as ca
import numpy as np

from kompono.callback import Callback
from kompono.errors import SealedError
from kompono.given import shown

if TYPE_CHECKING:
    from kompono.foreign.places import Placed
    from kompono.sealed.manifest import Manifest
    from kompono.sealed.read import SealedFile
    from kompono.sealed.shape import Described

_loaded: dict[str, SealedCode] = {}  # by the beginning of the names of their functions
_NAME = re.compile(r"((?:sealed|walled|wasm)_[0-9a-f]{24})_(\d+)")
WALLS = ("process", "wasm")
_STEMS = {"": "sealed", "process": "walled", "wasm": "wasm"}


@dataclass(frozen=True, eq=False)
class SealedCode:
    """Machine code of a part, and the numbers it works with."""

    file: SealedFile
    numbers: bytes  # the table, little-endian doubles
    starts: tuple[np.ndarray, ...]  # of x, by variant
    wall: str = ""  # around it, one of WALLS
    secret: bytes = field(default=b"", repr=False)  # what is kept of it is locked by, where its numbers are
    shows_states = True  # x is here, not only how far it is from its start
    placed: ClassVar[Placed | None] = None  # what its functions are named by, if not by the file

    @property
    def manifest(self) -> Manifest:
        """What the file says about itself."""
        return self.file.manifest

    @property
    def known_by(self) -> tuple[str, bytes]:
        """What says all about it."""
        return self.stem, self.manifest.key

    def mark(self, entry: str | None) -> str:
        """A name for what its functions do: that of the file is one."""
        return self.manifest.digest

    @property
    def stem(self) -> str:
        """The beginning of the names of its functions."""
        return f"{_STEMS[self.wall]}_{self.manifest.digest[:24]}"

    def object(self, target: str, lanes: int) -> bytes:
        """Machine code for a target."""
        from kompono.sealed.manifest import member

        return self.file.members[member(target, lanes)]

    def start(self, entry: str | None) -> np.ndarray:
        """x when a run begins, by the entry of a variant."""
        return self.starts[self.manifest.shape.variants.index(self.manifest.shape.variant(entry))]

    def function(self, entry: str | None, name: str) -> ca.Function:
        """One of its functions as a CasADi function, from one column to one column."""
        described = self.manifest.shape.variant(entry).functions.get(name)
        if described is None or described.number < 0:
            raise SealedError(f"{self.manifest.shape.name} has no function {name!r} with results.", path=self.file.path)
        return self.functions[described.number]

    def turns(self, entry: str | None) -> bool:
        """Whether any coordinates have to be kept of unit length."""
        variant = self.manifest.shape.variant(entry)
        x, described = np.linspace(0.3, 0.8, variant.size), variant.functions["normalize"]
        known = {"time": np.zeros(1), "x": x}
        column = np.concatenate([np.zeros(0), *[known[group] for group in described.groups]])
        return bool(described.results) and not np.array_equal(self.evaluate(described.number, column), x)

    @cached_property
    def described(self) -> dict[int, Described]:
        """Its functions by number."""
        variants = self.manifest.shape.variants
        return {f.number: f for variant in variants for f in variant.functions.values() if f.number >= 0}

    @cached_property
    def functions(self) -> dict[int, ca.Function]:
        """Its functions as CasADi functions, by number."""
        return {number: Native(self, number, described) for number, described in self.described.items()}

    def evaluate(self, number: int, column: Any) -> np.ndarray:
        """What a function gives for a column, by the machine code."""
        return _machine().evaluate(self, number, np.ascontiguousarray(column, dtype=np.float64).ravel())


class Native(Callback):
    """A function of a sealed part for CasADi."""

    def __init__(self, code: Any, number: int, described: Described) -> None:
        super().__init__(f"{code.stem}_{number}", described.arguments, described.results, {"enable_fd": True})
        self._code, self._number, self._described = code, number, described

    def eval(self, arguments: Any) -> list[Any]:
        try:
            return [ca.DM(self._code.evaluate(self._number, np.array(arguments[0])))]
        except SealedError as error:
            if not _listening:
                raise
            _listening[-1].append((self._code.stem, error))
            return [ca.DM(np.full(self._described.results, np.nan))]


_listening: list[list[tuple[str, SealedError]]] = []


@contextmanager
def complaints() -> Iterator[list[tuple[str, SealedError]]]:
    """What goes wrong behind walls meanwhile, by stem; otherwise CasADi would make words and noise of it."""
    _listening.append([])
    try:
        yield _listening[-1]
    finally:
        _listening.pop()


def _machine() -> Any:
    """What runs machine code, found when it is needed: the translator knows sealed parts, but no machine."""
    return importlib.import_module("kompono.compile.sealed")


def load_sealed(path: str | Path, wall: str = "") -> SealedCode:
    """A sealed part ready for use; anything that is not in order raises SealedError with what to do.

    Its author must be trusted (`kompono trust add FILE`): machine code runs with the user's rights. With a `wall`
    ("process", "wasm") it has none of them; then anybody may be its author, if this system has that wall.
    """
    from kompono.sealed import trust
    from kompono.sealed.read import read_sealed

    if wall not in _STEMS:
        raise SealedError(
            f"there is no wall {shown(wall)}.", path=str(path), fix=f"Use {' or '.join(map(repr, WALLS))}."
        )
    file = read_sealed(path)
    manifest = file.manifest
    if not _machine().holds(wall):
        trust.check(manifest.key, manifest.author, file.path)
    _machine().check_code(manifest.targets, file.path, wall)
    numbers, secret = _open_numbers(file)
    sizes = [variant.size for variant in manifest.shape.variants]
    if len(numbers) != 8 * (manifest.numbers + sum(sizes)):
        fix = "Ask its author to seal it again."
        raise SealedError("its numbers are not as many as its code uses.", path=file.path, fix=fix)
    table, rest = numbers[: 8 * manifest.numbers], np.frombuffer(numbers[8 * manifest.numbers :], dtype="<f8")
    code = SealedCode(file, table, tuple(np.split(rest, np.cumsum(sizes)[:-1])), wall, secret)
    return _loaded.setdefault(code.stem, code)


def _open_numbers(file: SealedFile) -> tuple[bytes, bytes]:
    """Its numbers, and what only their recipient can have."""
    from kompono.sealed import crypto, keys
    from kompono.sealed.manifest import plain

    manifest = file.manifest
    if not manifest.recipients:
        return file.members["numbers.bin"], b""
    locked = f"its numbers are locked for {' and '.join(manifest.recipients)}"
    identity = keys.own()
    if identity is None:
        fix = "Make a key (kompono keys new), and send its card to the author."
        raise SealedError(f"{locked}, and you have no key.", path=file.path, fix=fix)
    mark = crypto.fingerprint(identity.card.recipient)
    if mark not in manifest.recipients:
        fix = "Send your card (kompono keys show --out FILE) to the author."
        raise SealedError(f"{locked}, your key is {mark}.", path=file.path, fix=fix)
    numbers = crypto.unlock(file.members[f"numbers/{plain(mark)}.box"], identity.opening, manifest.bound)
    if numbers is None:
        raise SealedError(
            "its numbers do not open with your key.", path=file.path, fix="Ask its author for a new file."
        )
    return numbers, crypto.keeping_key(identity.opening, manifest.bound)


def find(name: str) -> tuple[SealedCode, int] | None:
    """The sealed part a CasADi function belongs to, and its number there; None for any other function."""
    matched = _NAME.fullmatch(name)
    code = _loaded.get(matched[1]) if matched else None
    return (code, int(matched[2])) if matched and code is not None else None
