"""One self-contained page with the machine in 3D: opened from a file, without a network, in any present browser.

The page holds its data (JSON and one gzipped block of numbers), its code and three.js. Nothing is loaded from
elsewhere, and its policy lets the browser run nothing but these two scripts, known by their hashes: names and messages
are shown as the text they are.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from kompono.edges.view.content import content
from kompono.edges.view.living import Living
from kompono.result import Result
from kompono.scene import Scene

CODE = (
    "elements.js", "data.js", "stored.js", "history.js", "running.js", "living.js", "inpage.js", "streamed.js",
    "stage.js", "machine.js", "physics.js", "tree.js", "details.js", "curves.js", "channels.js", "knobs.js",
    "tools.js", "keys.js", "main.js",
)  # fmt: skip


def page(
    scene: Scene,
    result: Result | None = None,
    *,
    channels: str | Iterable[str] | None = None,
    speed: float = 1.0,
    living: Living | None = None,
) -> str:
    """The page as text; without a result the machine stands still at its start. `channels` are globs of the curves. A
    `living` machine runs in the page, beside the result if there is one.
    """
    data, numbers = content(scene, result, living, channels, speed)
    read = {name: _asset(name) for name in ("page.html", "style.css")}
    three, code = scripts()
    fields = {
        "policy": policy(living),
        "title": html.escape(scene.model),
        "style": read["style.css"],
        "scene": json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
        "numbers": base64.b64encode(gzip.compress(numbers, 6, mtime=0)).decode(),
        "three": three,
        "code": code,
    }
    head, *rest = read["page.html"].split("{{")
    return head + "".join(fields[name] + text for name, text in (piece.split("}}", 1) for piece in rest))


def scripts() -> tuple[str, str]:
    """All that runs in the page: three.js, and its own code; in ASCII, so that no other encoding changes its hash."""
    own = "\n".join(_asset(name).replace('"use strict";', "") for name in CODE)
    return _ascii(_asset("three.min.js")), _ascii(own)


def _ascii(code: str) -> str:
    """JavaScript with other letters, which occur in strings and comments only, written as \\uXXXX."""
    return code if code.isascii() else "".join(c if c.isascii() else json.dumps(c)[1:-1] for c in code)


def policy(living: Living | None = None) -> str:
    """What a browser may do in the page, and in one that holds it: run its scripts, show its pictures, nothing else. In
    one with a `living` machine also compile WebAssembly, which can do no more than these scripts let it, or, if it runs
    elsewhere, ask the server it came from.
    """
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts()]
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    own = "" if living is None else " 'wasm-unsafe-eval'" if living.module is not None else "; connect-src 'self'"
    allowed += own
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'"


def fragment(scene: Scene, result: Result | None = None, *, height: int = 480, **options: Any) -> str:
    """The page inside an `iframe`, to be put into another page or a notebook."""
    inner = html.escape(page(scene, result, **options), quote=True)
    style = f"width:100%;height:{height}px;border:1px solid #d6dbe1;border-radius:6px"
    return f'<iframe class="kompono-scene" style="{style}" srcdoc="{inner}"></iframe>'


def _asset(name: str) -> str:
    return (files("kompono.edges.view") / "assets" / name).read_text(encoding="utf-8")
