"""`connect`, one verb: what it does depends on what is connected.

Each kind of end has a rule, kept here by type; a module with another kind of end adds its own (`joins`). Of signals,
the first is the source and all others are inputs that it feeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import scalar, shown
from kompono.model.element import Element
from kompono.model.signal import Input

if TYPE_CHECKING:
    from kompono.model.subsystem import Subsystem

Rule = Callable[["Subsystem", Sequence[Any]], None]
_RULES: dict[type, Rule] = {}
_FIX = "Use self.connect(source, input), e.g. self.connect(self.pid.command, self.servo.voltage)."


def joins(kind: type) -> Callable[[Rule], Rule]:
    """Let a rule connect ends of which one is of a kind; rules are asked in the order in which they came."""

    def keep(rule: Rule) -> Rule:
        _RULES[kind] = rule
        return rule

    return keep


def connect(owner: Subsystem, ends: Sequence[Any]) -> None:
    """Connect ends by the rule for their kind."""
    if len(ends) < 2:
        raise ModelError("connect needs at least two ends.", path=owner.label, fix=_FIX)
    for kind, rule in _RULES.items():
        if any(isinstance(end, kind) for end in ends):
            rule(owner, ends)
            return
    listed = ", ".join(shown(end) for end in ends)
    raise ModelError(f"there is nothing to connect in {listed}.", path=owner.label, fix=_FIX)


class Connection(Element):
    """A source that feeds an input; declared by an owner of both, and no member of it."""

    def __init__(self, owner: Subsystem, source: Any, target: Input) -> None:
        self._owner, self.target = owner, target
        self._name = f"connect({_label(source)}, {target.label})"
        self.source = ca.SX(source)


def _label(source: Any) -> str:
    return source.label if isinstance(source, Element) else "an expression"


@joins(Input)
def _feed(owner: Subsystem, ends: Sequence[Any]) -> None:
    """Feed inputs from a source."""
    source, *targets = ends
    for target in targets:
        if not isinstance(target, Input):
            where = target.label if isinstance(target, Element) else owner.label
            given = "it" if isinstance(target, Element) else shown(target)
            raise ModelError(f"{given} is no input, and cannot be fed.", path=where, fix=_FIX)
    if not isinstance(source, ca.SX):
        source = scalar(source, "the source", owner.label, truth=True, fix=_FIX)
    elif not source.is_scalar():
        size = f"{source.shape[0]} by {source.shape[1]}"
        raise ModelError(
            f"the source has {size} components, not one.", path=owner.label, fix="Connect them one by one."
        )
    for target in targets:
        _check_target(owner, source, target)
        made = Connection(owner, source, target)
        target.feed, target._fed_by = made.source, made
        owner._connections.append(made)


def _check_target(owner: Subsystem, source: Any, target: Input) -> None:
    where = target.label
    if not owner.contains(target):
        fix = "Connect in the component that owns both; assign them to self first."
        raise ModelError(f"it is no input of {owner.label} or of its parts.", path=where, fix=fix)
    if source is target:
        raise ModelError("an input cannot feed itself.", path=where, fix=_FIX)
    fed = target._fed_by
    if fed is not None and any(fed is known for known in fed.owner._connections):
        raise ModelError(f"it is fed already, by {fed._name} in {fed.owner.label}.", path=where, fix="Feed it once.")
    if target._has_source:
        raise ModelError("it has a source of its own.", path=where, fix="Declare it without one: Input(unit=...).")
    unit = getattr(source, "unit", "") if isinstance(source, Element) else ""
    if unit and target.unit and _plain(unit) != _plain(target.unit):
        raise ModelError(
            f"{_label(source)} is in {unit}, and this input in {target.unit}.", path=where,
            fix="Convert it by an expression, or correct a unit.",
        )  # fmt: skip


def _plain(unit: str) -> str:
    return unit.translate({ord(" "): None, ord("*"): None, ord("·"): None})
