"""What else a part answers when it is sealed, so that an owner who cannot open it can assemble it and judge conditions:

    rates       x                how speeds move coordinates, and angles that are counted: q_dot
    reach       time, x          of each other port: S (6 x nv, column by column) on the speeds inside, S_dot v (6)
    conditions  time, x          of the conditions inside: g, g_dot, u, G (rows x nv, column by column)
    masses      time, x          inertia on the twist of the base and the speeds, its upper triangle row by row

    placed      time, base, x    where it is: coordinates of bodies placed one by one, counted angles, speeds

Inside, speeds are those of joints, and of free joints beside the base for what conditions hold to it, so no condition
inside moves with the base. Where bodies are placed one by one there is no base, and nobody asks where they are.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from kompono.spatial.rotation import matrix_quaternion
from kompono.spatial.vectors import carry_twist
from kompono.translate.motion.conditions import trace_closure
from kompono.translate.motion.loads import body_inertia
from kompono.translate.parts.border import port_in
from kompono.translate.parts.compartment import Compartment
from kompono.translate.parts.moment import Moment, counted_rates
from kompono.translate.symbolic import Vector


def assembling(inside: Compartment, placed: Compartment | None) -> dict[str, Callable[[Moment, Vector], Vector]]:
    """These functions by name, to be traced at a moment of the inside; `placed` is the same with bodies placed one by
    one, if it can be asked for that.
    """
    made: dict[str, Callable[[Moment, Vector], Vector]] = {
        "rates": lambda now, _: _rates(inside, now),
        "reach": lambda now, _: _reach(inside, now),
        "conditions": lambda now, _: _conditions(inside, now),
        "masses": lambda now, _: _masses(inside, now),
    }
    if placed is not None:
        made["placed"] = lambda now, _: _placed(placed, now)
    return made


def _placed(placed: Compartment, now: Moment) -> Vector:
    motions = [now.kinematics.motion(None, joint.second) for joint in placed.joints]
    turned = [now.tracer.call(matrix_quaternion, motion.rotation) for motion in motions]
    q = [column for motion, e in zip(motions, turned, strict=True) for column in (motion.position, e)]
    counted = [now.kinematics.joint_state(joint)[0] for joint in placed.counted]
    v = [column for motion in motions for column in (motion.velocity, motion.angular_velocity)]
    return ca.vertcat(ca.SX(0, 1), *map(ca.densify, map(ca.SX, (*q, *counted, *v))))


def _speeds(inside: Compartment, now: Moment) -> Vector:
    return ca.vertcat(ca.SX(0, 1), *[now.values.v[joint] for joint in inside.joints])


def _rates(inside: Compartment, now: Moment) -> Vector:
    links = {link.joint: link for link in inside.topology.links if link.joint is not None}
    own = [now.kinematics.step(links[joint]).rate for joint in inside.joints]
    return ca.vertcat(ca.SX(0, 1), *own, *counted_rates(now).values())


def _reach(inside: Compartment, now: Moment) -> Vector:
    kinematics, border = now.kinematics, inside.border
    assert border is not None
    start = border.base.body if border.base is not None else kinematics.topology.world
    found = [ca.SX(0, 1)]
    for port in border.others:
        relative, at = kinematics.relative(start, port.body), port_in(kinematics, port)
        twist, bias = carry_twist(at, relative.twist), carry_twist(at, relative.bias)
        found += [ca.vec(ca.densify(ca.jacobian(ca.SX(twist), _speeds(inside, now)))), ca.densify(ca.SX(bias))]
    return ca.vertcat(*found)


def _conditions(inside: Compartment, now: Moment) -> Vector:
    twin, kinematics = inside.twin, now.kinematics
    rows = {level: [ca.SX(0, 1)] for level in ("residual", "rate", "bias")}
    for element in inside.closing:
        closure = twin.live[element].closure(trace_closure(kinematics, element, twin.laws), now.tracer)
        for level, column in rows.items():
            column.append(ca.densify(ca.SX(getattr(closure, level))))
    levels = [ca.vertcat(*column) for column in rows.values()]
    return ca.vertcat(*levels, ca.vec(ca.densify(ca.jacobian(levels[1], _speeds(inside, now)))))


def _masses(inside: Compartment, now: Moment) -> Vector:
    moving = _speeds(inside, now)
    if inside.border is not None and inside.border.based:
        assert now.base is not None
        moving = ca.vertcat(now.base[12:18], moving)
    total = ca.SX(moving.numel(), moving.numel())
    for body in inside.bodies:
        columns = ca.jacobian(ca.SX(now.kinematics.absolute(body).twist), moving)
        total += columns.T @ body_inertia(now.kinematics, body) @ columns
    return ca.vertcat(
        ca.SX(0, 1), *[ca.densify(total)[i, j] for i in range(total.shape[0]) for j in range(i, total.shape[0])]
    )
