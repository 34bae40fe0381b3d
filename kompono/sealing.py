"""Seal a part: from its functions to a file with machine code, without structure, names and readable numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np

import kompono
from kompono.compile import lifted, targets
from kompono.compile.lanes import Lanes
from kompono.compile.lower import check_shape, zero_results
from kompono.errors import SealedError
from kompono.notice import Notice
from kompono.sealed import keys
from kompono.sealed.read import SealedFile
from kompono.sealed.shape import Described, Shape, Variant
from kompono.sealed.shape_data import from_data, to_data
from kompono.sealed.write import write_sealed


def seal_functions(
    functions: Sequence[Mapping[str, ca.Function]],
    shape: Shape,
    path: str | Path,
    *,
    author: keys.Identity | None = None,
    recipients: Iterable[keys.Card | str | Path] = (),
    targets: Iterable[str] | None = None,
) -> SealedFile:
    """Compile closed functions and write them to a sealed file.

    `functions` has one mapping for each variant of the shape, from names to CasADi SX functions of one dense column to
    one dense column, which may call others that are closed. The shape says what is public; numbers, lengths and zeros
    of its functions are filled in. It is signed by `author`, the user's own key if None. With `recipients` (cards, or
    files of cards) the numbers can be read by these only. `targets` are names of `compile.targets.TARGETS`, all if
    None.
    """
    wanted = _targets(targets)
    signer = author or keys.needed()
    cards = [card if isinstance(card, keys.Card) else keys.read_card(card) for card in recipients]
    shape, native = _numbered(shape, functions)
    from_data(to_data(shape), str(path))  # what a reader would refuse is refused here
    code = lifted.lift(native)
    objects: dict[str, dict[int, bytes]] = {}
    with Notice("sealing") as notice:
        for target in wanted:
            notice.text = f"sealing, code for {target.name}"
            objects[target.name] = {lanes: _compiled(code, lanes, target) for lanes in target.lanes}
    return write_sealed(
        path, shape, code.digest, objects, code.numbers, author=signer, version=kompono.__version__, recipients=cards
    )


def _targets(names: Iterable[str] | None) -> list[targets.Target]:
    return targets.chosen(names)


def _compiled(code: lifted.Lifted, lanes: int, target: targets.Target) -> bytes:
    return targets.assemble([code.text(Lanes(lanes))], target)[0]


def _numbered(shape: Shape, functions: Sequence[Mapping[str, ca.Function]]) -> tuple[Shape, list[ca.Function]]:
    """The shape with what only the functions know, and these, equal ones once."""
    numbers: dict[str, int] = {}
    native: list[ca.Function] = []

    def described(known: Described, function: ca.Function) -> Described:
        sizes = {"arguments": function.nnz_in(), "results": function.nnz_out()}
        if not function.nnz_out():
            return replace(known, number=-1, zeros=(), **sizes)
        check_shape(shape.name, function)
        if function.name() not in numbers:
            numbers[function.name()] = len(native)
            native.append(function)
        return replace(known, number=numbers[function.name()], zeros=zero_results(function), **sizes)

    if len(functions) != len(shape.variants):
        raise SealedError(f"{len(shape.variants)} variants need as many sets of functions.", path=shape.name)
    variants: list[Variant] = []
    for variant, given in zip(shape.variants, functions, strict=True):
        if set(given) != set(variant.functions):
            raise SealedError("functions and their descriptions do not have the same names.", path=shape.name)
        if len(variant.start) != variant.size or not np.all(np.isfinite(variant.start)):
            raise SealedError(f"a start of x is {variant.size} finite numbers.", path=shape.name)
        made = {name: described(variant.functions[name], given[name]) for name in sorted(given)}
        variants.append(replace(variant, functions=made))
    return replace(shape, variants=tuple(variants)), native
