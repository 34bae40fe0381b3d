"""What the model is: its tree of components, its bodies, joints, loads, freedoms and redundant conditions."""

from __future__ import annotations

import inspect as source
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kompono.edges.report.html import bullets, escape, folded, pairs, table
from kompono.model.controller import Controller
from kompono.model.law import Law, PairLaw
from kompono.model.subsystem import Subsystem
from kompono.report import Report
from kompono.scene.values import SymbolValues
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.engines.registry import ENGINES
from kompono.translate.laws.told import tell_units

MOST = 2000  # lines of the tree
OPEN = 60  # members up to which the components of a model are open at first


def purpose(thing: Any) -> str:
    """The first paragraph of a class's docstring, as one line."""
    return " ".join((source.getdoc(type(thing)) or "").split("\n\n")[0].replace("`", "").split())


def tree(model: Subsystem) -> str:
    """The components, each foldable; of very many only the first."""
    count = sum(1 for _ in model.walk())
    levels = 2 if count <= OPEN else 1
    return f'<div class="tree">{_branch(type(model).__name__, model, levels, iter(range(MOST)))}</div>'


def _branch(name: str, component: Subsystem, levels: int, left: Iterator[int]) -> str:
    """A component and what is in it, its first `levels` levels open; lists of equal members are one line."""
    inside, counts = [], Counter(_family(key, member) for key, member in component.members.items())
    for key, member in component.members.items():
        if next(left, None) is None:
            inside.append("<div>and more</div>")
            break
        if isinstance(member, Subsystem):
            inside.append(_branch(key, member, levels - 1, left))
        elif count := counts.pop(_family(key, member), 0):
            inside.append(_leaf(component, key, member, count))
    kind = "" if name == type(component).__name__ else f"<i>{escape(type(component).__name__)}</i>"
    head = f'<summary title="{escape(purpose(component))}">{escape(name)}{kind}</summary>'
    return f"<details{' open' if levels > 0 else ''}>{head}{''.join(inside)}</details>"


def _leaf(owner: Subsystem, name: str, member: Any, count: int) -> str:
    shown = f"{name.rpartition('.')[0]} ({count})" if count > 1 else name
    port = ' class="port" title="exposed: what is outside may connect to it"' if owner.exposes(member) else ""
    return f"<div><span{port}>{escape(shown)}</span><i>{escape(type(member).__name__)}</i></div>"


def _family(name: str, member: Any) -> tuple[str, str]:
    """What members of one list have in common: its name and their class."""
    stem, _, last = name.rpartition(".")
    return (stem if last.isdigit() else name), type(member).__name__


def bodies(model: Elaborated, parameters: Mapping[str, float] | None) -> str:
    """Mass and inertia of every body."""
    values = SymbolValues(model.model, parameters)
    rows, total = [], 0.0
    for body in model.bodies:
        mass, inertia = values.array(body.solid.mass), values.array(body.solid.inertia)
        weight: Any = "depends on the motion" if mass is None else float(np.ravel(mass)[0])
        total += weight if isinstance(weight, float) else 0.0
        moments: Any = ("", "", "") if inertia is None else np.diag(inertia.reshape(3, 3)).tolist()
        shape = body.solid.shape[0] if body.solid.shape else ""
        rows.append((model.path(body), weight, *moments, _products(inertia), shape))
    head = ("body", "mass [kg]", "Jxx [kg m²]", "Jyy", "Jzz", "products", "solid")
    return f"<h3>{len(rows)} bodies, {total:.6g} kg</h3>" + table(head, rows)


def _products(inertia: np.ndarray | None) -> str:
    """Jxy, Jxz, Jyz where they are not zero."""
    if inertia is None:
        return ""
    values = inertia.reshape(3, 3)[[0, 0, 1], [1, 2, 2]]
    return "" if np.all(np.abs(values) < 1e-15) else ", ".join(f"{value:.4g}" for value in values)


def connections(model: Elaborated, report: Report | None, engine: str) -> str:
    """Joints, constraints and couplings: what they connect, and how they are kept."""
    closing = {line.partition(" (")[0] for line in report.loops} if report else set()
    dropped = {line.partition(":")[0]: line.partition(":")[2].split(" conditions")[0] for line in report.redundant} \
        if report else {}  # fmt: skip
    rows = []
    for element in (*model.joints, *model.constraints):
        path = model.path(element)
        first, second = (_place(model, frame) for frame in (element.first, element.second))
        kept = ENGINES[engine].keeps if path in closing else "tree"
        freedoms = getattr(element, "freedoms", "")
        rows.append((path, type(element).__name__, first, second, freedoms, kept, dropped.get(path, "").strip()))
    for coupling in model.couplings:
        joined = ", ".join(model.path(joint) for joint in coupling.joints)
        rows.append((model.path(coupling), type(coupling).__name__, joined, "", "", "condition", ""))
    head = ("joint or constraint", "kind", "first", "second", "freedoms", "kept as", "redundant")
    title = f"<h3>{len(model.joints)} joints" + (
        f", {len(rows) - len(model.joints)} constraints" * (len(rows) > len(model.joints))
    )
    return f"{title}</h3>{table(head, rows)}" if rows else ""


def _place(model: Elaborated, frame: Any) -> str:
    return model.path(frame.body)


def loads(model: Elaborated) -> str:
    """Forces, and what drives and describes the model from outside."""
    rows = []
    ends: list[tuple[Any, list[Any]]] = [(f, [end.body for end in (f.first, f.second) if end]) for f in model.forces]
    ends += [(effort, [effort.joint]) for effort in model.efforts] + [(field, []) for field in model.fields]
    for element, touched in ends:
        rows.append((model.path(element), type(element).__name__, ", ".join(model.path(end) for end in touched)))
    for parameter in model.parameters:
        rows.append((model.path(parameter), "Parameter", f"{parameter.value:g} {parameter.unit}".strip()))
    modes = (mode for mode in model.modes if not isinstance(mode._owner, Law | Controller))
    for signal in (*model.inputs, *model.fed, *model.outputs, *modes, *model.states, *model.controllers, *model.events):
        rows.append((model.path(signal), type(signal).__name__, getattr(signal, "unit", "")))
    return "<h3>Forces and signals</h3>" + table(("name", "kind", "on, value or unit"), rows) if rows else ""


def laws(model: Elaborated) -> str:
    """Contacts, stops, friction: what holds, slides and opens by itself."""
    rows = []
    for law in model.laws:
        on = (law.first.body, law.second.body) if isinstance(law, PairLaw) else getattr(law, "joints", ())
        between = ", ".join(model.path(end) for end in on)
        for unit in tell_units(law, model.path):
            rows.append((unit.path, type(law).__name__, between, unit.kind, unit.limit, unit.restitution))
    head = ("law", "kind", "on", "holds", "friction up to", "restitution")
    return f"<h3>{len(rows)} units of laws</h3>{table(head, rows)}" if rows else ""


def structure(report: Report) -> str:
    """Freedoms, spanning tree, loops, and conditions that say nothing new."""
    rows = [
        ("coordinates of the state", report.coordinates),
        ("conditions on them", report.conditions),
        ("of these redundant", report.redundant_count),
        ("degrees of freedom", report.degrees_of_freedom),
    ]
    parts = [pairs(rows), *_redundant(report)]
    parts.append(folded(f"Spanning tree ({len(report.spanning_tree)} links)", _lines(report.spanning_tree)))
    parts.append(folded(f"Closing conditions ({len(report.loops)} elements)", bullets(report.loops)))
    if report.moved:
        moved = [f"{name} by {change:+.6g}" for name, change in report.moved.items() if abs(change) > 1e-12]
        parts.append(folded(f"Assembly moved {len(moved)} coordinates", bullets(moved)) if moved else "")
    types = [(kind.name, kind.instances, kind.kernels, kind.operations) for kind in report.types]
    head = ("component type", "instances", "shared kernels", "operations of one")
    return "\n".join([*parts, folded(f"Component types ({len(types)})", table(head, types))])


def _redundant(report: Report) -> Iterator[str]:
    if not report.redundant:
        yield "<p>No condition is redundant.</p>"
        return
    note = "Reactions of these and of the joints of their loops are one of many sets that fit the motion."
    count = f"{report.redundant_count} redundant conditions in {len(report.redundant)} elements. {note}"
    lines = bullets(report.redundant)
    yield f"<p>{escape(count)}</p>"
    yield lines if len(report.redundant) <= 8 else folded("Which", lines)


def _lines(lines: tuple[str, ...]) -> str:
    return f"<pre>{escape(chr(10).join(lines))}</pre>" if lines else ""
