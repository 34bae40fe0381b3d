"""What acts on coordinates: couplings, springs, damping, friction, turning inertia, actuators, as declarations."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kompono.errors import FileError, suggest
from kompono.files.assembly import Actuated, Coupled, Loaded, Summed
from kompono.files.recipe import Make, Ref
from kompono.files.strung import carried, resisted, strung, wound

if TYPE_CHECKING:
    from kompono.files.build import Level


def coupled(level: Level, each: Coupled | Summed) -> None:
    """A condition on coordinates as a gear, polynomial, sum or held value."""
    names = [name for name, _ in each.terms] if isinstance(each, Summed) else [each.first, each.second]
    if each.name in level.choices.ignore:
        level.told.ignored.add(each.name)
        level.told.note("ignored", each.name, "as asked")
        return
    if _gone(level, each.name, [name for name in names if name is not None]):
        return
    name = level.called(each.name, "coupling")
    if isinstance(each, Summed):
        terms = tuple((*_joint(level, of), factor, level.coordinates[of][1]) for of, factor in each.terms)
        level.members[name] = Make("Sum", terms, {"value": each.value}, each.where)
        return
    coefficients = list(each.coefficients)
    while len(coefficients) > 1 and coefficients[-1] == 0:
        coefficients.pop()
    first = level.coordinates[each.first]
    if each.second is None or len(coefficients) == 1:
        keywords: dict[str, Any] = {"coordinate": first[1]}
        level.members[name] = Make("Drive", (*_joint(level, each.first), coefficients[0]), keywords, each.where)
        return
    second = level.coordinates[each.second]
    if len(coefficients) == 2:
        keywords = {"ratio": coefficients[1], "offset": coefficients[0]}
        keywords |= {"first_coordinate": second[1], "second_coordinate": first[1]}
        arguments = (*_joint(level, each.second), *_joint(level, each.first))
        level.members[name] = Make("Gear", arguments, keywords, each.where)
        return
    keywords = {"first_coordinate": first[1], "second_coordinate": second[1]}
    arguments = (*_joint(level, each.first), *_joint(level, each.second), tuple(coefficients))
    level.members[name] = Make("Polynomial", arguments, keywords, each.where)


def acting(level: Level) -> None:
    """Springs, friction, rotors, constant forces, ropes and actuators."""
    carried(level)
    resisted(level)
    strung(level)
    _bounded(level)
    for each in level.assembly.loads:
        if not _gone(level, f"{each.joint} (what acts on it)", [each.joint]):
            _loaded(level, each)
    wanted = [each for each in level.assembly.actuators if not _left_out(level, each)]
    if not wanted:
        return
    for each in wanted:
        if not each.controlled:
            _actuator(level, each, 0.0)
    keys = type(level.names)()
    named = [(each, keys.give(each.name)) for each in wanted if each.controlled]
    if not named:
        return
    table = level.names.give("ctrl")
    level.members[table] = {key: Make("Input", (), {"unit": each.unit} if each.unit else {}) for each, key in named}
    for each, key in named:
        level.controls[each.name] = f"{table}.{key}"
        control = Ref(table, key)
        if each.lag is not None:
            control, each = _activation(level, each, control)
        _actuator(level, each, control)


def _left_out(level: Level, each: Actuated) -> bool:
    if each.name in level.choices.ignore:
        level.told.ignored.add(each.name)
        level.told.note("ignored", each.name, "as asked")
        return True
    known = level.ropes if each.strung else level.coordinates
    return _gone(level, each.name, [name for name, _ in each.terms], known)


def _bounded(level: Level) -> None:
    """Limits of sums of coordinates."""
    for each in level.assembly.bounded:
        if each.name in level.choices.ignore:
            level.told.ignored.add(each.name)
            level.told.note("ignored", each.name, "its limits, as asked")
        elif level.choices.limits and not _gone(level, f"{each.name} (its limits)", [of for of, _ in each.terms]):
            terms = tuple((*_joint(level, of), factor, level.coordinates[of][1]) for of, factor in each.terms)
            lower, upper = each.limits
            keywords = {"lower": lower, "upper": upper}
            level.members[level.names.give(f"{each.name}_limits")] = Make("SumStops", terms, keywords, each.where)


def _gone(level: Level, name: str, joints: Iterable[str], known: Container[str] | None = None) -> bool:
    """Whether something acts on joints (or ropes) that were left out; then it is, too."""
    lost = [joint for joint in joints if joint not in (level.coordinates if known is None else known)]
    if not lost:
        return False
    if not set(lost) <= level.graph.gone:
        fix = suggest(lost[0], level.coordinates) or f'Leave it out: ignore=["{name}"].'
        raise FileError(f"{name}: there is no joint {lost[0]!r}.", path=level.assembly.file, fix=fix)
    level.told.note("ignored", name, f"{lost[0]}, which it acts on, was left out")
    return True


def _joint(level: Level, joint: str) -> tuple[Ref]:
    return (Ref(level.coordinates[joint][0]),)


def _loaded(level: Level, each: Loaded) -> None:
    member, coordinate, step = level.coordinates[each.joint]
    joint = Ref(member)
    if step.kind == "ball":
        if each.damping:
            level.members[level.names.give(f"{each.joint}_damping")] = Make("Damping", (joint, each.damping))
        return
    if each.stiffness or each.damping:
        keywords = {"k": each.stiffness, "c": each.damping, "rest": each.rest, "coordinate": coordinate}
        keywords = {key: value for key, value in keywords.items() if value}
        name = level.names.give(f"{each.joint}_{'spring' if each.stiffness else 'damping'}")
        level.members[name] = Make("RotationalSpringDamper", (joint,), keywords)
    if each.friction and level.choices.friction:
        name = level.names.give(f"{each.joint}_friction")
        level.members[name] = Make("DryFriction", (joint,), {"preload": each.friction, "coordinate": coordinate})
    if each.inertia:
        name = level.names.give(f"{each.joint}_rotor")
        level.members[name] = Make("Rotor", (joint,), {"inertia": each.inertia, "coordinate": coordinate})


def _activation(level: Level, each: Actuated, control: Ref) -> tuple[Ref, Actuated]:
    """What lies between signal and force, and the actuator behind it."""
    keywords: dict[str, Any] = {"lag": each.lag} if each.lag else {}
    keywords |= {"limits": each.level_limits} if each.level_limits else {}
    keywords |= {"control_limits": each.control_limits} if each.control_limits else {}
    name = level.names.give(f"{each.name}_activation")
    level.members[name] = Make("Activation", (control,), keywords, each.where)
    level.activations[each.name] = f"{name}.level"
    return Ref(f"{name}.level"), replace(each, control_limits=None)


def _actuator(level: Level, each: Actuated, control: Any) -> None:
    keywords: dict[str, Any] = {}
    if each.gain != 1.0:
        keywords["gain"] = each.gain
    if any(each.bias):
        keywords["bias"] = each.bias
    if each.control_limits is not None:
        keywords["control_limits"] = each.control_limits
    if each.force_limits is not None:
        keywords["force_limits"] = each.force_limits
    if each.strung or each.frame is not None:
        wound(level, each, control, keywords)
        return
    if len(each.terms) > 1:
        terms = tuple((*_joint(level, of), factor, level.coordinates[of][1]) for of, factor in each.terms)
        keywords["tendon"] = Make("tendon", terms)
    for of, factor in each.terms:
        own = {"gear": factor} if factor != 1.0 else {}
        coordinate = level.coordinates[of][1]
        own |= {"coordinate": coordinate} if coordinate else {}
        word = f"{each.name}_{of}" if len(each.terms) > 1 else each.name
        name = level.names.give(f"{word}_drive")
        level.members[name] = Make("Actuator", (*_joint(level, of), control), {**own, **keywords}, each.where)
