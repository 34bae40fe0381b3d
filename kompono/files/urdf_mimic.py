"""Where joints of a URDF start that follow others: where their leader has them, once that is inside its limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kompono.files.assembly import Coupled, Joined, Step


def following(joints: Sequence[Joined], mimics: Sequence[Coupled]) -> list[Joined]:
    """The joints, those that mimic others with their start values; else limits could be broken where loops close."""
    steps = {joint.name: joint.steps[0] for joint in joints if len(joint.steps) == 1}
    rules = {each.first: each for each in mimics}

    def start(name: str, depth: int = 0) -> float:
        step, rule = steps[name], rules.get(name)
        if rule is None or rule.second not in steps or depth > len(rules):
            return _inside(step, float(step.start or 0.0))
        offset, factor = rule.coefficients
        return offset + factor * start(rule.second, depth + 1)

    led = {name: start(name) for name, rule in rules.items() if name in steps and rule.second in steps}
    return [
        replace(joint, steps=(replace(joint.steps[0], start=led[joint.name]),)) if joint.name in led else joint
        for joint in joints
    ]


def _inside(step: Step, value: float) -> float:
    lower, upper = step.limits
    value = value if lower is None else max(value, lower)
    return value if upper is None else min(value, upper)
