"""What channels are called in a picture: quantity and unit on the axis, the part they share in the title of the panel,
only what tells them apart in the legend.
"""

from __future__ import annotations

from collections.abc import Sequence

from kompono.request import Request
from kompono.result import Result
from kompono.solve.methods import METHODS

COMPONENTS = ("x", "y", "z", "e0", "e1", "e2", "e3")


def is_drift(name: str) -> bool:
    """Whether a channel measures how far conditions are violated."""
    return name.startswith("drift.")


def quantity(name: str) -> str:
    """`left.ring.acceleration.z` is an acceleration, `hinge.angle.rate` an angle rate."""
    *path, last = name.split(".")
    if last in COMPONENTS and path:
        return path[-1]
    if last in ("rate", "acceleration") and path:
        return f"{path[-1]} {last}"
    if path == ["energy"]:
        return "energy"
    return f"drift of {last}" if is_drift(name) else last


def label(names: Sequence[str], unit: str) -> str:
    """Text of an axis: the quantity and component if all channels share them, and the unit."""
    quantities = {quantity(name) for name in names}
    components = {name.rpartition(".")[2] for name in names}
    words = []
    if len(quantities) == 1:
        words.append(quantities.pop().replace("_", " "))
        component = components.pop() if len(components) == 1 else ""
        if component in COMPONENTS and component != words[0]:
            words.append(component)
    elif all(map(is_drift, names)):
        words.append("drift")
    return " ".join([*words, *in_brackets(unit)]) or "value"


def in_brackets(unit: str) -> list[str]:
    """`[m/s²]` for m/s^2, nothing for what has no unit or lost it (a CSV file keeps none)."""
    raised = unit.replace("^2", "²").replace("^3", "³").replace("^-1", "⁻¹").replace("^-2", "⁻²")
    return [f"[{raised}]"] if unit else []


def shorten(names: Sequence[str]) -> tuple[str, list[str]]:
    """What names share, as a glob, and the rest of each: `arm.*.angle` and link1, link2. One name shares all it has."""
    if len(names) == 1:
        return names[0], [names[0]]
    split = [name.split(".") for name in names]
    shortest = min(map(len, split))
    head = _shared(split, shortest - 1)
    tail = _shared([parts[::-1] for parts in split], shortest - 1 - head)
    rest = [".".join(parts[head : len(parts) - tail]) for parts in split]
    if not head and not tail:
        return "", rest
    return ".".join([*split[0][:head], "*", *(split[0][-tail:] if tail else [])]), rest


def _shared(split: Sequence[Sequence[str]], most: int) -> int:
    """How many leading entries all have in common, at most `most`."""
    count = 0
    while count < most and len({parts[count] for parts in split}) == 1:
        count += 1
    return count


def method(result: Result) -> str:
    """How a result was computed, in a few words: `rk4, 1 ms`; empty if it does not know."""
    known = result.statistics
    adaptive = known.get("method") in [method.name for method in METHODS.values() if method.chooses_steps]
    words = [str(known["method"])] if "method" in known else []
    words += [duration(float(known["step"]))] if "step" in known and not adaptive else []
    words += [str(known["engine"])] if known.get("engine", Request.engine) != Request.engine else []
    return ", ".join(words)


def duration(seconds: float) -> str:
    """`2 ms` for 0.002, `0.1 ms` for 0.0001."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds > 0.099 * size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds:.4g} s"


def run_labels(results: Sequence[Result]) -> list[str]:
    """Labels that tell runs apart: by model, else by method and step, else by number."""
    for texts in ([result.model for result in results], [method(result) for result in results]):
        if len(set(texts)) == len(texts) and all(texts):
            return texts
    return [f"run {i}" for i in range(1, len(results) + 1)]
