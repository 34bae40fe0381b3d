"""Signals in order: no signal may depend on itself without a state or a sample on the way.

Outputs, connected inputs, what pins have and new values of samples are expressions; whoever uses one gets what it is at
that instant. A cycle of such would be an equation to solve, and is refused with all that is on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kompono.errors import ModelError
from kompono.model.connection import Connection
from kompono.model.element import Element
from kompono.model.event import Next
from kompono.model.signal import Output
from kompono.sealed.element import Sealed, code_of

if TYPE_CHECKING:
    from kompono.translate.declared.elaborate import Elaborated

Follows = dict[Element, Connection]  # by the input it feeds
WAYS_OUT = "Filter it (State) or sample it (Mode, every=) on the way."


def check_signal_loops(model: Elaborated) -> None:
    """Raise ModelError for the first signal that depends on itself, with the whole way around."""
    follows: Follows = {connection.target: connection for connection in model.connections}
    done: set[Element] = set()
    nexts = [mode._next for mode in model.sampled if mode._next is not None]
    fed = [connection.target for connection in model.connections]
    for start in (*model.outputs, *fed, *nexts, *model.networks):
        _visit(model, start, follows, [], done)


def _visit(model: Elaborated, node: Element, follows: Follows, way: list[Element], done: set[Element]) -> None:
    if node in done:
        return
    for k, known in enumerate(way):
        if known is node:
            _refuse(model, way[k:])
    way.append(node)
    for used in _depends(model, node, follows):
        _visit(model, used, follows, way, done)
    way.pop()
    done.add(node)


def _depends(model: Elaborated, node: Element, follows: Follows) -> Iterable[Element]:
    """Signals whose present values a signal follows from."""
    if isinstance(node, Output) and isinstance(node.owner, Sealed):
        names = _through(node)
        return [member for name, member in node.owner._members.items() if name in names]
    written = node.mode if isinstance(node, Next) else follows.get(node, node)
    used = model.uses.get(written, ())
    pins = {pin: network for network in model.networks for pin in network.pins} if model.networks else {}
    found = [u for u in used if isinstance(u, Output | Next) or u in follows]
    found += [pins[u] for u in used if u in pins and pins[u] is not node]  # type: ignore[index]
    found += [member for part in used if isinstance(part, Sealed) for member in _answering(part) if member in follows]
    return found  # type: ignore[return-value]


def _through(output: Output) -> frozenset[str]:
    """Inputs of a sealed part that one of its outputs follows at once."""
    part = output.owner
    assert isinstance(part, Sealed)
    shape = code_of(part).manifest.shape
    described = shape.variants[0].functions.get(f"signal_{shape.outputs.index(output._name)}")
    return frozenset(described.signals if described is not None else ())


def _answering(part: Sealed) -> list[Element]:
    """Inputs of a sealed part that its answers at pins follow at once."""
    variant = code_of(part).manifest.shape.variants[0]
    names = {name for key, f in variant.functions.items() if key.startswith("network_") for name in f.signals}
    return [member for name, member in part._members.items() if name in names]


def _refuse(model: Elaborated, way: list[Element]) -> None:
    around = [model.path(node) for node in reversed(way)]
    text = " -> ".join([*around, around[0]])
    raise ModelError(f"the signal depends on itself at once: {text}.", path=around[0], fix=WAYS_OUT)
