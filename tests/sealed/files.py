"""Small sealed files for the tests, made without a translator."""

from __future__ import annotations

import ctypes
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from kompono.compile import assembler, jit
from kompono.sealed import Described, Port, Quantity, Shape, Variant, archive, crypto, keys
from kompono.sealed.manifest import spell
from kompono.sealing import seal_functions

SECRETS = (13.23, 3.4, 5e4)
HERE = ("x86_64-linux-v3", "x86_64-linux", "aarch64-linux", "x86_64-windows-v3", "arm64-macos")


def functions() -> dict[str, ca.Function]:
    """Two functions of time, a state of two and a parameter; the second calls a third that is closed."""
    t, x, c = ca.SX.sym("t"), ca.SX.sym("x", 2), ca.SX.sym("c")
    inner = ca.Function("secret_spring", [x], [5e4 * (x[0] - 13.23) ** 3], {"never_inline": True})
    force = inner.call([x], False, True)[0]
    move = ca.Function("secret_move", [ca.vertcat(t, x)], [ca.vertcat(ca.sin(3.4 * t) * x[0], 0, 13.23)])
    resolve = ca.Function("secret_resolve", [ca.vertcat(x, c)], [ca.vertcat(x[1], (force - c * x[1]) / 3.4)])
    return {"move": move, "resolve": resolve}


def shape() -> Shape:
    described = {"move": Described(("time", "x")), "resolve": Described(("x",), ("damping",))}
    variant = Variant(None, ("end",), 2, described, (0.125, -7.25))
    return Shape("Spring", (Port("end"),), (variant,), parameters=(Quantity("damping", "N s/m", 2.5),))


def write(path: Path, author: keys.Identity | None = None, **options: Any) -> Path:
    """A sealed file."""
    seal_functions([functions()], shape(), path, author=author, **options)
    return path


def changed(data: bytes, change: Callable[[dict[str, Any], dict[str, bytes]], None], author: keys.Identity) -> bytes:
    """A file with its manifest or members changed, signed again by `author`."""
    members = archive.unpack(data, "")
    manifest = json.loads(members.pop("manifest.json"))
    del members["signature"]
    change(manifest, members)
    manifest["members"] = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    text = spell(manifest)
    return archive.pack({"manifest.json": text, "signature": crypto.sign(author.signing, text), **members})


def run(objects: list[bytes], symbol: str, arguments: list[np.ndarray]) -> None:
    """Call a native function of addresses."""
    places = "".join(
        f"%q{k} = getelementptr ptr, ptr %a, i64 {k}\n%p{k} = load ptr, ptr %q{k}\n" for k in range(len(arguments))
    )
    kinds, values = ", ".join(["ptr"] * len(arguments)), ", ".join(f"ptr %p{k}" for k in range(len(arguments)))
    text = f"declare void @{symbol}({kinds})\ndefine i64 @enter(ptr %a) {{\n{places}"
    text += f"call void @{symbol}({values})\nret i64 0\n}}\n"
    pointers = (ctypes.c_void_p * len(arguments))(*[array.ctypes.data for array in arguments])
    jit.load([*objects, assembler.assemble(text)], "enter")(ctypes.addressof(pointers))
