"""The supplier's side: sealed parts that are asked from elsewhere. What carries the frames does not matter here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kompono.compile.sealed import check_target
from kompono.elsewhere.greeting import Hello, PartWelcome
from kompono.elsewhere.keeper import Keeper
from kompono.errors import RemoteError, SealedError
from kompono.sealed.code import SealedCode, load_sealed
from kompono.sealed.kept import kept_variant

Opener = Callable[[str, bytes, str], tuple[Keeper, bytes]]  # name, hello, customer -> what answers, and the welcome


def opener(part: SealedCode | str | Path) -> Opener:
    """What opens sessions of a sealed part (or its file): each is a keeper of its own that begins where the part
    starts.
    """
    code = part if isinstance(part, SealedCode) else load_sealed(part)
    manifest = code.manifest
    check_target(manifest.targets, code.file.path)
    shape = manifest.shape.in_joints  # a customer is not told where bodies inside are
    turns = tuple(code.turns(variant.entry) for variant in shape.variants)
    welcome = PartWelcome(shape, turns, manifest.digest).pack()

    def open_session(name: str, hello: bytes, customer: str) -> tuple[Keeper, bytes]:
        wanted = Hello.unpack(hello)
        try:
            variant = shape.variant(wanted.entry)
        except SealedError:
            if wanted.entry is not None:
                raise RemoteError(f"{shape.name} cannot be entered by that port.") from None
            variant = shape.variants[0]  # somebody who does not know its ports yet
        part = kept_variant(variant, code.stem)
        return Keeper(part, {}, code.start(variant.entry), lanes=wanted.lanes), welcome

    return open_session


def told_of_laws(path: str | Path) -> str:
    """What customers will see of contact and friction inside a sealed part, in words; empty if there is none."""
    shape = load_sealed(path).manifest.shape
    count = max(len(variant.laws.units) for variant in shape.variants)
    if not count:
        return ""
    return f"{shape.name}: customers see gaps, slip and friction of its {count} laws, without names (docs/remote.md)"
