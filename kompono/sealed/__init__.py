"""Sealed parts: files with machine code that answers at its ports, and the keys behind them.

    shape.py      what a sealed part publishes: ports, parameters, channels, sizes, functions
    shape_data.py that as plain data, and checked on the way back
    manifest.py   that and who sealed it, as JSON; versions
    archive.py    the zip around it: bounded, and of one spelling only
    crypto.py     signing, locking for a recipient, fingerprints
    files.py      files that nobody else may write (or read)
    keys.py       a user's own key and the public card of it
    trust.py      authors whose machine code a user runs
    write.py      from machine code and a shape to a file
    read.py       from a file to what is in it: limits, hashes, signature, trust, in this order
    code.py       a file that may be used: its functions as CasADi functions, its numbers

Nothing here makes or runs machine code (`kompono.compile` does), so that the translator can know sealed parts.
"""

from typing import TYPE_CHECKING

from kompono.later import later

if TYPE_CHECKING:
    from kompono.sealed.code import SealedCode, load_sealed
    from kompono.sealed.read import SealedFile, read_sealed
    from kompono.sealed.shape import Described, Port, Published, Quantity, Shape, Variant

__all__ = [
    "Described",
    "Port",
    "Published",
    "Quantity",
    "SealedCode",
    "SealedFile",
    "Shape",
    "Variant",
    "load_sealed",
    "read_sealed",
]

_SHAPES = ("Described", "Port", "Published", "Quantity", "Shape", "Variant")
_WHERE = {
    **{"SealedCode": "code", "load_sealed": "code", "SealedFile": "read", "read_sealed": "read"},
    **dict.fromkeys(_SHAPES, "shape"),
}
__getattr__ = later(__name__, _WHERE)
