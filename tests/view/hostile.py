"""A machine whose names, types, units and last words would be code in a page that took them as they are."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser

from kompono import Body, Ground, Output, Parameter, Result, Subsystem, simulate
from kompono.library import Gravity, Revolute
from kompono.result.result import Status

CODE = "window['hacked']=1"
PAYLOADS = (
    f"<script>{CODE}</script>",
    f"</script><script>{CODE}</script>",
    f"--></script></title></style></textarea><script>{CODE}</script>",
    f"<img src=x onerror={CODE}>",
    f'"><svg onload="{CODE}">',
    f"' onmouseover='{CODE}' autofocus onfocus='{CODE}' x='",
    f"javascript:{CODE}",
    f"[x](javascript:{CODE})",
    f"{{{CODE}}}",
    "{{scene}}",
    f"${{{CODE}}}",
    "$\\frac$",
    "toString",
    "constructor",
    "\\u003cscript>",
    "<!--",
)


class Hostile(Subsystem):
    """<script>window['hacked']=1</script> <img src=x onerror="window['hacked']=1">"""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        below = self.ground.at(0, 0, 0)
        for k, name in enumerate(PAYLOADS):
            body = type(name, (Body,), {})(mass=1.0, inertia=(1, 1, 1))
            setattr(self, name, body)
            setattr(self, f"{name} joint", type(f"{name} kind", (Revolute,), {})(below, body, axis="y", angle=0.1 * k))
            setattr(self, f"{name} number", Parameter(1.0, unit=name))
            setattr(self, f"{name} out", Output(1.0 * k, unit=name))
            below = body.at(0, 0, -0.5)


@cache
def hostile_run() -> Result:
    """A short run of it that says all of it again in its message, and ends early."""
    result = simulate(Hostile(), until=0.02, progress=False)
    return Result(
        result.time, result.names, result.table, units=result.units, statistics=dict(result.statistics),
        status=Status(False, " ".join(PAYLOADS), 0.01), model="".join(PAYLOADS), scene=result.scene,
    )  # fmt: skip


class Markup(HTMLParser):
    """What a page asks a browser to do: its scripts, handlers and addresses; pages within it are read too."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.handlers: list[str] = []
        self.addresses: list[str] = []
        self.within: list[str] = []
        self._open = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kinds = dict(attrs)
        self._open = tag == "script" and kinds.get("type") in (None, "module", "text/javascript")
        self.handlers += [name for name in kinds if name.startswith("on")]
        self.addresses += [
            value or "" for name, value in attrs if name in ("href", "src", "action", "data", "formaction")
        ]
        self.within += [kinds["srcdoc"] or ""] if "srcdoc" in kinds else []

    def handle_endtag(self, tag: str) -> None:
        self._open = False

    def handle_data(self, data: str) -> None:
        if self._open and data.strip():
            self.scripts.append(data)


def check(text: str) -> None:
    """Nothing in a page runs but our own scripts."""
    found = Markup(text)
    assert not found.handlers
    assert all(address.startswith(("#", "data:")) for address in found.addresses)
    assert not [script for script in found.scripts if script.startswith(CODE)]
    for inner in found.within:
        check(inner)
